"""A database that is locked, full, read-only, gone or killed: an error in time, nothing lost, no restart."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard.testing import assert_error, assert_ok

CALLS = {
    "add_task": ({"title": "new"}, "Failed to create task"),
    "list_tasks": ({}, "Failed to list tasks"),
    "complete_task": ({"task_identifier": "old"}, "Failed to complete task"),
    "delete_task": ({"task_identifier": "old"}, "Failed to delete task"),
    "update_task": ({"task_identifier": "old", "new_title": "newer"}, "Failed to update task"),
}
WRITES = [name for name in CALLS if name != "list_tasks"]


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)


async def expect_failures(session: Any, *names: str, timeout_s: float = 3) -> None:
    """Each tool answers that it failed, before its deadline and without a word about why."""
    for name in names:
        arguments, message = CALLS[name]
        began = trio.current_time()
        result = await session.call(name, arguments, timeout_s=timeout_s)
        assert trio.current_time() - began < timeout_s
        error = assert_error(result, "UPSTREAM_ERROR").error
        assert error.message == message
        assert error.details == {"executed": False, "retry": "same", "retry_after_s": 1}


async def expect_old_alone(session: Any) -> None:
    """Everything works, and what had failed did not happen."""
    listed = assert_ok(await session.call("list_tasks"))
    assert listed.data["tasks"][0]["title"] == "old"
    assert listed.data["pending"] == 1
    assert_ok(await session.call("add_task", {"title": "new"}))
    assert_ok(await session.call("delete_task", {"task_identifier": "new"}))


async def with_an_old_task(host: Any) -> Any:
    session = host.session("ada")
    assert_ok(await session.call("add_task", {"title": "old"}))
    return session


@pytest.mark.parametrize(
    ("pages", "other", "why"),
    [
        (1, "", "tasks cannot be kept or read: the database cannot grow: its disk is full; pegboard doctor"),
        (
            None,
            "BEGIN IMMEDIATE",
            "tasks cannot be kept or read: the database is locked by another program; pegboard doctor",
        ),
    ],
)
async def test_who_runs_the_host_is_told_why_once_and_no_caller_is(
    sqlite_url: str, open_tasks: Any, disk: dict[str, int | None], caplog: pytest.LogCaptureFixture,
    pages: int | None, other: str, why: str,
) -> None:  # fmt: skip
    caplog.set_level(logging.WARNING)

    def told() -> list[str]:
        return [one.getMessage() for one in caplog.records if one.name == "pegboard.notice"]

    ada = await with_an_old_task(await open_tasks(sqlite_url, wait_s=0.2))
    disk["pages"] = pages
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url), isolation_level=None)) as beside:
        late = (await open_tasks(sqlite_url, wait_s=0.2)).session("ada") if pages else ada
        if other:
            beside.execute(other)
        for _ in range(20):
            result = await late.call("add_task", {"title": "x" * 400})
            if not result.ok:
                break
        await late.call("add_task", {"title": "x" * 400})
        assert assert_error(result, "UPSTREAM_ERROR").error.message == "Failed to create task"
        assert len(told()) == 1
        assert told()[0].startswith(why)
        assert str(file_of(sqlite_url)) not in told()[0]


# -- locked


async def test_writes_to_a_locked_file_fail_in_time_and_never_happen(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url, wait_s=0.2))
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await expect_failures(ada, *WRITES)
        assert assert_ok(await ada.call("list_tasks")).text.startswith("Found 1 task\n")
        other.execute("ROLLBACK")
    await expect_old_alone(ada)


async def test_a_callers_own_deadline_is_kept_by_a_locked_file(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await expect_failures(ada, "add_task", timeout_s=1)
    await expect_old_alone(ada)


async def test_a_write_waits_for_a_lock_that_is_given_back(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:

            async def add() -> None:
                assert_ok(await ada.call("add_task", {"title": "patient"}))

            nursery.start_soon(add)
            await trio.testing.wait_all_tasks_blocked()
            other.execute("ROLLBACK")
    assert assert_ok(await ada.call("list_tasks")).text.startswith("Found 2 tasks\n")


async def test_a_file_that_another_keeps_for_itself_fails_every_call(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    late = (await open_tasks(f"{sqlite_url}2", wait_s=0.2)).session("ada")
    shutil.copy(file_of(sqlite_url), f"{file_of(sqlite_url)}2")
    with contextlib.closing(sqlite3.connect(f"{file_of(sqlite_url)}2", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        await expect_failures(late, *CALLS)
    assert_ok(await late.call("list_tasks"))
    await expect_old_alone(ada)


async def test_a_locked_table_on_a_server_fails_in_time(postgresql: Any, open_tasks: Any) -> None:
    import psycopg

    url = postgresql.new_database()
    ada = await with_an_old_task(await open_tasks(url, wait_s=0.6))
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE pegboard_tasks IN ACCESS EXCLUSIVE MODE")
        await expect_failures(ada, *CALLS)
        other.rollback()
    await expect_old_alone(ada)


async def test_a_user_whose_lock_is_held_does_not_hinder_others(postgresql: Any, open_tasks: Any) -> None:
    import psycopg

    url = postgresql.new_database()
    host = await open_tasks(url, wait_s=0.6)
    ada, bob = await with_an_old_task(host), host.session("bob")
    assert_ok(await bob.call("add_task", {"title": "old"}))
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('ada', 0))")
        await expect_failures(ada, "delete_task")
        assert_ok(await bob.call("delete_task", {"task_identifier": "old"}))
        other.rollback()
    await expect_old_alone(ada)


# -- full


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int | None]:
    """`disk["pages"] = n` lets no file of a new connection grow beyond n pages; there is room again at None."""
    from pegboard_tasks._sqlite import SqliteFile

    limit: dict[str, int | None] = {"pages": None}
    begin = SqliteFile.begin_writing

    def begin_with_limit(self: SqliteFile) -> Any:
        connection = begin(self)
        statements: Any = connection.connection.driver_connection
        statements.execute(f"PRAGMA max_page_count = {limit['pages'] or 1_000_000}")
        return connection

    monkeypatch.setattr(SqliteFile, "begin_writing", begin_with_limit)
    return limit


async def test_a_full_file_fails_what_needs_room_and_no_more(
    sqlite_url: str, open_tasks: Any, disk: dict[str, int | None]
) -> None:
    host = await open_tasks(sqlite_url)
    ada = await with_an_old_task(host)
    disk["pages"] = 1  # SQLite takes the pages that there are as the least
    failed = 0
    for _ in range(100):
        result = await ada.call("add_task", {"title": "x" * 500})
        if not result.ok:
            failed += 1
            assert assert_error(result, "UPSTREAM_ERROR").error.message == "Failed to create task"
    assert failed > 80
    assert_ok(await ada.call("complete_task", {"task_identifier": "old"}))
    there = assert_ok(await ada.call("list_tasks")).data["total"]
    assert there == 101 - failed
    disk["pages"] = None
    assert_ok(await ada.call("add_task", {"title": "room again"}))
    assert assert_ok(await ada.call("list_tasks")).data["total"] == there + 1


async def test_a_write_that_finds_no_room_does_not_fail_those_beside_it(
    sqlite_url: str, open_tasks: Any, disk: dict[str, int | None]
) -> None:
    host = await open_tasks(sqlite_url)
    ada = await with_an_old_task(host)
    await add_many(ada, 20)
    disk["pages"] = 1
    outcomes: dict[str, list[bool]] = {"add_task": [], "complete_task": []}

    async def call(name: str, arguments: dict[str, Any]) -> None:
        outcomes[name].append((await ada.call(name, arguments)).ok)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(call, "add_task", {"title": "y" * 500})
            nursery.start_soon(call, "complete_task", {"task_identifier": f"number {number:03}"})
    assert outcomes["complete_task"] == [True] * 20
    assert outcomes["add_task"].count(False) > 10
    data = assert_ok(await ada.call("list_tasks")).data
    assert data["total"] == 21 + outcomes["add_task"].count(True)
    assert data["completed"] == 20


async def add_many(session: Any, count: int) -> None:
    async def add(number: int) -> None:
        assert_ok(await session.call("add_task", {"title": f"number {number:03}"}))

    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(add, number)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=1m", "tasks", folder], stderr=subprocess.DEVNULL
        ).returncode
    ):
        pytest.skip("who runs the tests may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


async def test_a_full_disk_fails_adds_and_recovers_with_room(small_disk: Path, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(f"sqlite:///{small_disk}/tasks.db"))
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    written = 1
    for _ in range(300):
        result = await ada.call("add_task", {"title": "x" * 500})
        written += result.ok
        if not result.ok:
            break
    assert_error(result, "UPSTREAM_ERROR", says="Failed to create task")
    assert assert_ok(await ada.call("list_tasks")).data["total"] == written
    ballast.unlink()
    assert_ok(await ada.call("add_task", {"title": "room again"}))
    assert assert_ok(await ada.call("list_tasks")).data["total"] == written + 1


# -- read-only


async def test_a_disk_that_turns_read_only_fails_writes_and_recovers(small_disk: Path, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(f"sqlite:///{small_disk}/tasks.db", wait_s=0.6))
    # Files that are open for writing keep a disk from turning read-only; a bind mount does not ask.
    subprocess.run(["mount", "--bind", small_disk, small_disk], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", small_disk], check=True)
        await expect_failures((await open_tasks(f"sqlite:///{small_disk}/tasks.db")).session("ada"), *WRITES)
        subprocess.run(["mount", "-o", "remount,bind,rw", small_disk], check=True)
        await expect_old_alone(ada)
    finally:
        subprocess.run(["umount", "-l", small_disk], check=True)


async def test_a_file_without_write_permission_fails_writes_until_it_has_it(
    sqlite_url: str, open_tasks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_tasks._sqlite import SqliteFile

    ada = await with_an_old_task(await open_tasks(sqlite_url))
    late = (await open_tasks(sqlite_url)).session("ada")
    is_root = os.geteuid() == 0  # whom no permission keeps out
    connect = SqliteFile._connect

    def connect_by_permission(self: SqliteFile) -> sqlite3.Connection:
        if is_root and not file_of(sqlite_url).stat().st_mode & 0o200:
            for_reading = f"file:{file_of(sqlite_url)}?mode=ro"
            return sqlite3.connect(for_reading, uri=True, isolation_level=None, check_same_thread=False)
        return connect(self)

    monkeypatch.setattr(SqliteFile, "_connect", connect_by_permission)
    file_of(sqlite_url).chmod(0o400)
    await expect_failures(late, *WRITES)
    assert assert_ok(await late.call("list_tasks")).text.startswith("Found 1 task\n")
    file_of(sqlite_url).chmod(0o600)
    await expect_old_alone(late)
    await expect_old_alone(ada)


async def test_a_server_that_is_read_only_fails_writes_until_it_is_not(postgresql: Any, open_tasks: Any) -> None:
    import psycopg

    url = postgresql.new_database()
    name = url.rpartition("/")[2]
    ada = await with_an_old_task(await open_tasks(url))
    late = (await open_tasks(url)).session("ada")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        await expect_failures(late, *WRITES)
        assert assert_ok(await late.call("list_tasks")).text.startswith("Found 1 task\n")
        other.execute("SET default_transaction_read_only = off")
        other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = off")
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    await expect_old_alone(late)
    await expect_old_alone(ada)


# -- gone


async def test_a_file_that_is_gone_is_an_error_until_it_is_back(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    file, away = file_of(sqlite_url), Path(f"{file_of(sqlite_url)}.away")
    for _ in range(2):
        file.rename(away)
        await expect_failures(ada, *CALLS)
        assert not file.exists(), "no empty one is made in its place"
        away.rename(file)
        await expect_old_alone(ada)


async def test_a_folder_that_is_gone_is_an_error_until_it_is_back(tmp_path: Path, open_tasks: Any) -> None:
    folder = tmp_path / "folder"
    host = await open_tasks(f"sqlite:///{folder}/tasks.db")
    await expect_failures(host.session("ada"), *CALLS)
    folder.mkdir()
    ada = await with_an_old_task(host)
    folder.rename(tmp_path / "away")
    await expect_failures(ada, *CALLS)
    (tmp_path / "away").rename(folder)
    await expect_old_alone(ada)


async def test_a_file_that_was_deleted_is_replaced_by_an_empty_one(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    for path in file_of(sqlite_url).parent.glob("tasks.db*"):
        path.unlink()
    await expect_failures(ada, *CALLS)
    file_of(sqlite_url).touch()
    assert_ok(await ada.call("list_tasks"), text="No tasks found")
    await expect_old_alone(await with_an_old_task_of(ada))


async def with_an_old_task_of(session: Any) -> Any:
    assert_ok(await session.call("add_task", {"title": "old"}))
    return session


async def test_a_file_that_is_another_one_now_is_opened_anew(sqlite_url: str, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    other = (await open_tasks(f"{sqlite_url}2")).session("ada")
    assert_ok(await other.call("add_task", {"title": "from the backup"}))
    with contextlib.closing(sqlite3.connect(f"{file_of(sqlite_url)}2")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(f"{file_of(sqlite_url)}2", f"{file_of(sqlite_url)}3")
    for path in (file_of(sqlite_url), Path(f"{file_of(sqlite_url)}-wal"), Path(f"{file_of(sqlite_url)}-shm")):
        path.unlink()
    Path(f"{file_of(sqlite_url)}3").rename(file_of(sqlite_url))
    listed = assert_ok(await ada.call("list_tasks"))
    assert listed.data["tasks"][0]["title"] == "from the backup"
    assert_ok(await ada.call("delete_task", {"task_identifier": "backup"}))


async def test_a_file_that_is_not_a_database_is_an_error_until_it_is_one(sqlite_url: str, open_tasks: Any) -> None:
    file_of(sqlite_url).write_text("this is a diary\n" * 1000)
    host = await open_tasks(sqlite_url)
    await expect_failures(host.session("ada"), *CALLS)
    assert file_of(sqlite_url).read_text().startswith("this is a diary")
    file_of(sqlite_url).write_bytes(b"")
    await expect_old_alone(await with_an_old_task(host))


async def test_a_server_that_was_restarted_is_used_at_the_first_call(postgresql: Any, open_tasks: Any) -> None:
    ada = await with_an_old_task(await open_tasks(postgresql.new_database()))
    postgresql.stop()
    postgresql.start()
    await expect_old_alone(ada)


async def test_a_server_that_is_gone_is_an_error_until_it_is_back(postgresql: Any, open_tasks: Any) -> None:
    url = postgresql.new_database()
    ada = await with_an_old_task(await open_tasks(url))
    late = (await open_tasks(url)).session("ada")
    postgresql.stop()
    try:
        await expect_failures(ada, *CALLS)
        await expect_failures(late, *CALLS)
    finally:
        postgresql.start()
    await expect_old_alone(ada)
    await expect_old_alone(late)


async def test_tables_that_somebody_dropped_are_made_again(postgresql: Any, open_tasks: Any) -> None:
    import psycopg

    url = postgresql.new_database()
    ada = await with_an_old_task(await open_tasks(url))
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("DROP TABLE pegboard_tasks, pegboard_tasks_version")
    await expect_failures(ada, "list_tasks")
    assert_ok(await ada.call("list_tasks"), text="No tasks found")


async def test_a_server_that_does_not_answer_fails_in_time(open_tasks: Any) -> None:
    with trio.socket.socket() as silent:
        await silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        url = f"postgresql://ada:s3cret@127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=2"
        ada = (await open_tasks(url, wait_s=0.6)).session("ada")
        for name in ("list_tasks", "add_task"):
            error = assert_error(await ada.call(name, CALLS[name][0], timeout_s=3), "UPSTREAM_ERROR").error
            assert error.message == CALLS[name][1]
            assert error.details["retry"] == "same"  # the server was never reached


async def test_neither_the_log_nor_an_answer_holds_the_password(
    open_tasks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ada = (await open_tasks("postgresql://ada:s3cret@127.0.0.1:1/tasks")).session("ada")
    await expect_failures(ada, *CALLS)
    assert "Connection refused" in caplog.text or "connection failed" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("url", ["postgresql://ada@s3cret@h:port/x", "postgresql://s3cret:[::/x"])
async def test_a_url_that_cannot_be_read_fails_every_call(
    open_tasks: Any, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    await expect_failures((await open_tasks(url)).session("ada"), *CALLS)
    assert "the URL cannot be read" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("option", ["no_such_option=1", "connect_timeout=soon", "sslmode=perhaps", "port=http"])
async def test_an_option_of_a_url_that_cannot_be_used_fails_every_call(open_tasks: Any, option: str) -> None:
    await expect_failures((await open_tasks(f"postgresql://127.0.0.1:1/x?{option}")).session("ada"), *CALLS)


async def test_titles_of_a_failed_write_are_not_in_the_log(
    sqlite_url: str, open_tasks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    ada = await with_an_old_task(await open_tasks(sqlite_url))
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url))) as other:
        other.execute("DROP TABLE pegboard_tasks")
    assert_error(await ada.call("add_task", {"title": "my diary"}), "UPSTREAM_ERROR")
    assert "no such table" in caplog.text
    assert "my diary" not in caplog.text


# -- killed

CHILD = """
import os
import sys

import trio

import pegboard_tasks.plugin
from pegboard import open_host


async def main():
    config = {"plugins": {"tasks": {"url": sys.argv[1]}}}
    async with open_host(config, plugins=[pegboard_tasks.plugin]) as host:
        async with trio.open_nursery() as nursery:
            for number in range(16):
                nursery.start_soon(add, host.session("ada"), number)


async def add(session, number):
    count = 0
    while True:
        result = await session.call("add_task", {"title": f"{number} {count}"})
        os.write(1, (result.data["id"] + "\\n").encode())
        count += 1


trio.run(main)
"""


@pytest.mark.parametrize("told", [1, 40, 700])
async def test_a_kill_in_the_middle_of_writes_loses_no_task_that_was_acknowledged(
    database_url: str, open_tasks: Any, told: int
) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, database_url], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        acknowledged = [child.stdout.readline().strip() for _ in range(told)]
        child.send_signal(signal.SIGKILL)
        acknowledged += [line.strip() for line in child.stdout if line.endswith("\n")]
    assert child.returncode == -signal.SIGKILL
    assert len(acknowledged) >= told
    ada = (await open_tasks(database_url)).session("ada")
    there: set[str] = set()
    cursor: dict[str, str] = {}
    while True:
        data = assert_ok(await ada.call("list_tasks", {"limit": 500, **cursor})).data
        there |= {task["id"] for task in data["tasks"]}
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert set(acknowledged) <= there
    assert len(there) <= len(acknowledged) + 16, "at most the writes of each caller that was not told yet"
    assert_ok(await ada.call("add_task", {"title": "after the kill"}))


async def test_a_file_is_whole_after_a_kill(sqlite_url: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", CHILD, sqlite_url], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        child.stdout.readline()
        child.kill()
    with contextlib.closing(sqlite3.connect(file_of(sqlite_url))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_commit_that_a_server_does_not_confirm_leaves_open_what_became_of_it(
    postgresql: Any, open_tasks: Any
) -> None:
    import psycopg
    from sqlalchemy import Engine, event

    url = postgresql.new_database()
    ada = await with_an_old_task(await open_tasks(url))

    def cut_the_connection(connection: Any) -> None:
        with psycopg.connect(url, autocommit=True) as other:
            server = connection.connection.driver_connection.info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [server])

    event.listen(Engine, "commit", cut_the_connection)
    try:
        error = assert_error(await ada.call("add_task", {"title": "new"}), "OUTCOME_UNKNOWN").error
    finally:
        event.remove(Engine, "commit", cut_the_connection)
    assert error.message == "it is not known whether the task was created; list the tasks first"
    assert error.details == {"retry": "unknown"}
    await expect_old_alone(ada)
