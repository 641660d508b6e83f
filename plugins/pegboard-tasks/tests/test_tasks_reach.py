"""How far it reaches: adds of many callers, pages of a long list. What is bounded is counted, not timed."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from pegboard.testing import assert_ok
from pegboard_tasks._sqlite import SqliteFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CALLERS = 64
MANY = 100_000

FILL_SQLITE = f"""
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MANY})
INSERT INTO pegboard_tasks (user_id, id, title, folded, completed, created_at)
SELECT 'ada', printf('%012x7000', n) || lower(hex(randomblob(8))), 'Task ' || n, 'task ' || n, n % 10 = 0, '2026'
FROM numbers
"""
FILL_POSTGRESQL = f"""
INSERT INTO pegboard_tasks (user_id, id, title, folded, completed, created_at)
SELECT 'ada', (lpad(to_hex(n), 12, '0') || '7000' || substr(md5(n::text), 1, 16))::uuid, 'Task ' || n, 'task ' || n,
mod(n, 10) = 0, '2026' FROM generate_series(1, {MANY}) AS n
"""


@pytest.fixture
def steps() -> Iterator[Callable[[], int]]:
    """`steps()`: how many steps SQLite's own machine did since it was last asked, in thousands.

    A count is the same on every machine, busy or not; a time is not.
    """
    from sqlalchemy import Engine, event

    done = [0]

    def count() -> None:
        done[0] += 1

    def watch(connection: Any, record: Any) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.set_progress_handler(count, 1_000)

    def since() -> int:
        done[0], before = 0, done[0]
        return before

    event.listen(Engine, "connect", watch)
    yield since
    event.remove(Engine, "connect", watch)


async def test_adds_of_64_callers_share_one_commit(
    sqlite_url: str, open_tasks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await open_tasks(sqlite_url)
    sessions = [host.session(f"user {number}") for number in range(CALLERS)]
    assert_ok(await sessions[0].call("list_tasks"))
    commits: list[None] = []
    commit = SqliteFile.commit
    monkeypatch.setattr(SqliteFile, "commit", lambda self, connection: commits.append(commit(self, connection)))

    async def add(session: Any) -> None:
        assert_ok(await session.call("add_task", {"title": "a task"}))

    with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")  # they all wait
        async with trio.open_nursery() as nursery:
            for session in sessions:
                nursery.start_soon(add, session)
            await wait_all_tasks_blocked()
            lock.execute("ROLLBACK")
    assert len(commits) == 1


async def test_a_page_of_100_000_tasks_is_whole_and_costs_no_more_than_it_has_to(
    database_url: str, open_tasks: Any, steps: Callable[[], int]
) -> None:
    from sqlalchemy import create_engine

    host = await open_tasks(database_url)
    ada = host.session("ada")
    assert_ok(await ada.call("list_tasks"))
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(FILL_POSTGRESQL)
            connection.exec_driver_sql("VACUUM ANALYZE pegboard_tasks")  # what the server does by itself in a while
        else:
            connection.exec_driver_sql(FILL_SQLITE)
    engine.dispose()
    middle = f"{MANY // 2:012x}"
    middle = f"{middle[:8]}-{middle[8:]}-7000-8000-000000000000"
    steps()
    for arguments in (
        {},
        {"limit": 500},
        {"cursor": middle},
        {"status": "completed"},
        {"status": "completed", "cursor": middle},
        {"status": "pending", "cursor": middle, "limit": 500},
    ):
        result = assert_ok(await ada.call("list_tasks", arguments))
        assert result.data["total"] == MANY
        assert len(result.data["tasks"]) == arguments.get("limit", 100)
        took = steps()
        print(f"{arguments}: {result.duration_ms:.1f} ms, {took} thousand steps")
        assert took < 10 * MANY / 1_000  # all are counted, by an index; none is sorted


async def test_acting_on_one_of_100_000_tasks_costs_what_one_of_few_does(
    sqlite_url: str, open_tasks: Any, steps: Callable[[], int]
) -> None:
    from sqlalchemy import create_engine

    ada = (await open_tasks(sqlite_url)).session("ada")
    assert_ok(await ada.call("list_tasks"))

    async def add_and_delete() -> int:
        steps()
        for _ in range(50):
            task_id = assert_ok(await ada.call("add_task", {"title": "the newest"})).data["id"]
            assert_ok(await ada.call("delete_task", {"task_identifier": task_id}))
        return steps()

    of_few = await add_and_delete()
    engine = create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(FILL_SQLITE)
    engine.dispose()
    assert await add_and_delete() <= 2 * of_few + 5
    steps()
    assert_ok(await ada.call("update_task", {"task_identifier": "task 77777", "new_title": "found"}))
    found = steps()
    print(f"of few: {of_few}; found among {MANY}: {found} thousand steps")
    assert found < 20 * MANY / 1_000
