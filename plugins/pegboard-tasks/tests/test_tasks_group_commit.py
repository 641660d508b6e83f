"""The writing thread: batches, savepoints, jobs that are withdrawn, and its end."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

import pegboard_tasks._threads as threads_module
from pegboard import ToolError, group_commit
from pegboard.group_commit import UnavailableError
from pegboard.testing import assert_error, assert_ok
from pegboard_tasks import _operations as operations
from pegboard_tasks._sqlite import SqliteDatabase, SqliteFile
from pegboard_tasks._store import open_store
from pegboard_tasks._threads import Threads


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    made = SqliteDatabase(tmp_path / "tasks.db")
    yield made
    with trio.CancelScope(shield=True):
        await made.close()


@pytest.fixture
async def lock(tmp_path: Path, database: SqliteDatabase) -> AsyncIterator[sqlite3.Connection]:
    """A connection that may lock the file."""
    await database.write(lambda connection: None, 5)
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)) as connection:
        yield connection


async def titles(database: SqliteDatabase) -> list[str]:
    data = await database.read(lambda connection: operations.page(connection, "ada", "all", 500, None), 5)
    return [task["title"] for task in data["tasks"]]


def adding(title: str) -> Any:
    return lambda connection: operations.add(connection, "ada", title)


async def test_writes_that_wait_share_one_commit(
    database: SqliteDatabase, lock: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    commit = SqliteFile.commit
    monkeypatch.setattr(SqliteFile, "commit", lambda self, connection: commits.append(commit(self, connection)))
    lock.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(database.write, adding(f"number {number}"), 5)
        await wait_all_tasks_blocked()
        lock.execute("ROLLBACK")
    assert len(await titles(database)) == 50
    assert len(commits) == 1


async def test_an_operation_that_fails_takes_back_its_own_writes_and_no_others(
    database: SqliteDatabase, lock: sqlite3.Connection
) -> None:
    def add_and_fail(connection: Any) -> None:
        operations.add(connection, "ada", "never")
        raise ToolError("CONFLICT", "changed my mind")

    failures = []

    async def fail() -> None:
        with pytest.raises(ToolError, match="changed my mind") as caught:
            await database.write(add_and_fail, 5)
        failures.append(caught.value)

    lock.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(database.write, adding(f"number {number}"), 5)
            nursery.start_soon(fail)
        await wait_all_tasks_blocked()
        lock.execute("ROLLBACK")
    assert len(failures) == 5
    assert sorted(await titles(database)) == [f"number {number}" for number in range(5)]


async def test_a_call_that_is_cancelled_while_it_waits_never_happens(
    database: SqliteDatabase, lock: sqlite3.Connection
) -> None:
    lock.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(database.write, adding("cancelled"), 5)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    lock.execute("ROLLBACK")
    await database.write(adding("later"), 5)
    assert await titles(database) == ["later"]


async def test_a_write_that_was_begun_is_waited_for_whatever_its_patience(database: SqliteDatabase) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Any) -> str:
        begun.set()
        go_on.wait(10)
        return "written"

    answers = []
    await database.write(lambda connection: None, 60)  # what opening the file takes is not waited for

    async def write() -> None:
        answers.append(await database.write(slow, 0.5))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await trio.to_thread.run_sync(begun.wait, 10)
        with trio.move_on_after(0.6):
            await trio.sleep_forever()
        assert answers == []
        go_on.set()
    assert answers == ["written"]


async def test_a_batch_that_breaks_runs_again_one_by_one(database: SqliteDatabase, lock: sqlite3.Connection) -> None:
    def break_it(connection: Any) -> None:
        connection.connection.driver_connection.execute("ROLLBACK")  # as SQLite does when a disk is full
        raise RuntimeError("the disk is full")

    broken = []

    async def fail() -> None:
        with pytest.raises(UnavailableError) as caught:
            await database.write(break_it, 5)
        broken.append(caught.value)

    lock.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(database.write, adding(f"number {number}"), 5)
            nursery.start_soon(fail)
        await wait_all_tasks_blocked()
        lock.execute("ROLLBACK")
    assert len(broken) == 4
    assert not any(problem.may_have_run for problem in broken)
    assert sorted(await titles(database)) == [f"number {number}" for number in range(4)]


async def test_a_commit_that_fails_leaves_open_what_became_of_the_write(
    sqlite_url: str, open_tasks: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: SqliteFile, connection: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    ada = (await open_tasks(sqlite_url)).session("ada")
    with monkeypatch.context() as patch:
        patch.setattr(SqliteFile, "commit", fail)
        error = assert_error(await ada.call("add_task", {"title": "x"}), "OUTCOME_UNKNOWN").error
    assert error.details == {"retry": "unknown"}
    assert_ok(await ada.call("list_tasks"), text="No tasks found")


async def test_a_mistake_of_the_package_is_not_called_trouble_of_the_database(
    sqlite_url: str, open_tasks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*arguments: Any) -> None:
        raise ZeroDivisionError

    ada = (await open_tasks(sqlite_url)).session("ada")
    with monkeypatch.context() as patch:
        patch.setattr(operations, "add", mistaken)
        assert_error(await ada.call("add_task", {"title": "x"}), "INTERNAL_ERROR")
    assert_ok(await ada.call("add_task", {"title": "x"}))


# -- reading


async def test_reading_waits_for_a_file_that_another_has_for_itself(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        database = SqliteDatabase(tmp_path / "tasks.db")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(titles, database)
            with trio.move_on_after(0.4):
                await trio.sleep_forever()
            assert nursery.child_tasks, "it is asked again and again"
            other.execute("ROLLBACK")
            other.close()
        assert await titles(database) == []
        await database.close()


async def test_a_connection_on_which_reading_failed_is_not_used_again(database: SqliteDatabase) -> None:
    seen = []

    def fail(connection: Any) -> None:
        seen.append(connection.connection.driver_connection)
        raise sqlite3.DatabaseError("malformed")

    for _ in range(3):
        with pytest.raises(sqlite3.DatabaseError, match="malformed"):
            await database.read(fail, 5)
    for connection in seen:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    assert await titles(database) == []


async def test_a_reader_that_outlives_its_engine_closes_its_own_connection(database: SqliteDatabase) -> None:
    seen = []

    def read(connection: Any) -> str:
        seen.append(connection.connection.driver_connection)
        database._file.close()
        return "read"

    assert await database.read(read, 5) == "read"
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        seen[0].execute("SELECT 1")


async def test_hosts_that_open_one_database_at_once_make_it_once(database_url: str, open_tasks: Any) -> None:
    hosts = [await open_tasks(database_url) for _ in range(6)]
    async with trio.open_nursery() as nursery:

        async def add(host: Any) -> None:
            assert_ok(await host.session("ada").call("add_task", {"title": "x"}))

        for host in hosts:
            nursery.start_soon(add, host)
    assert assert_ok(await hosts[0].session("ada").call("list_tasks")).text.startswith("Found 6 tasks\n")


# -- the end


async def test_closing_writes_what_was_queued(database: SqliteDatabase, lock: sqlite3.Connection) -> None:
    lock.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(database.write, adding(f"number {number}"), 5)
        await wait_all_tasks_blocked()
        lock.execute("ROLLBACK")
        assert await database.close()
    assert lock.execute("SELECT count(*) FROM pegboard_tasks").fetchone() == (5,)
    with pytest.raises(UnavailableError, match="closing"):
        await database.write(adding("too late"), 5)


async def test_closing_does_not_wait_for_a_lock(database: SqliteDatabase, lock: sqlite3.Connection) -> None:
    async def write() -> None:
        with pytest.raises(UnavailableError):
            await database.write(adding("never"), 60)

    lock.execute("BEGIN IMMEDIATE")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await wait_all_tasks_blocked()
        assert await database.close()
    lock.execute("ROLLBACK")
    assert lock.execute("SELECT count(*) FROM pegboard_tasks").fetchone() == (0,)


async def test_a_database_that_hangs_does_not_keep_the_host(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (group_commit, threads_module):
        monkeypatch.setattr(module, "CLOSE_S", 0.05)
    begun, go_on = threading.Event(), threading.Event()
    caplog.set_level(logging.WARNING)

    def hang(connection: Any) -> None:
        begun.set()
        go_on.wait(10)

    async with open_store(sqlite_url, 5) as store, trio.open_nursery() as nursery:
        database = store.database
        nursery.start_soon(database.write, hang, 5)
        await trio.to_thread.run_sync(begun.wait, 10)
        nursery.cancel_scope.cancel()
    assert "still at work" in caplog.text
    thread = database._writer._thread  # type: ignore[attr-defined]
    go_on.set()
    await trio.to_thread.run_sync(thread.join, 10)
    assert not thread.is_alive()


async def test_threads_that_hang_are_as_many_as_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads_module, "CLOSE_S", 0.05)
    threads = Threads(2)
    go_on = threading.Event()
    outcomes = []

    async def write() -> None:
        with pytest.raises(UnavailableError) as caught:
            await threads.write(lambda write: write.commit(lambda: go_on.wait(10)), 0.2, 0.3)
        outcomes.append(caught.value.may_have_run)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(write)
    assert sorted(outcomes) == [False, False, False, True, True]
    assert not await threads.close()
    go_on.set()
    monkeypatch.setattr(threads_module, "CLOSE_S", 10)
    assert await threads.close()
    assert await threads.run(lambda: "used again", 5) == "used again"


async def test_nothing_is_left_behind(database_url: str, host_with: Any) -> None:
    import pegboard_tasks.plugin
    from pegboard import open_host

    def count() -> tuple[int, int, str]:
        ours = [one for one in threading.enumerate() if not one.name.startswith("Trio thread")]
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        return len(ours), len(os.listdir("/proc/self/fd")), children.read_text() if children.exists() else ""

    async def use() -> None:
        config = {"plugins": {"tasks": {"url": database_url}}}
        async with open_host(config, plugins=[pegboard_tasks.plugin]) as host:
            session = host.session("ada")
            async with trio.open_nursery() as nursery:
                for number in range(20):
                    nursery.start_soon(session.call, "add_task", {"title": f"number {number}"})
                    nursery.start_soon(session.call, "list_tasks")
            with trio.move_on_after(0):
                await session.call("add_task", {"title": "cancelled"})
            await session.call("delete_task", {"task_identifier": "number"}, timeout_s=0)
            assert_error(await session.call("delete_task", {"task_identifier": "nothing"}), "NOT_FOUND")

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("there is no /proc to count in")
    await use()
    before = count()
    for _ in range(3):
        await use()
    assert count() == before
