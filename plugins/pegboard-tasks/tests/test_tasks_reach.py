"""How far it reaches: adds of many callers, pages of a long list. Bounds are those that users are promised."""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter
from typing import Any

import pytest

from pegboard.testing import assert_ok

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


ADD = f"""
import sys
from time import perf_counter

import trio

import pegboard_tasks.plugin
from pegboard import open_host

CALLERS, EACH = {CALLERS}, 40


async def main():
    config = {{"plugins": {{"tasks": {{"url": sys.argv[1]}}}}}}
    async with open_host(config, plugins=[pegboard_tasks.plugin]) as host:

        async def add(number):
            session = host.session(f"user {{number}}")
            for count in range(EACH):
                result = await session.call("add_task", {{"title": f"task {{count}}"}})
                assert result.ok, result

        await add(0)
        rate = rounds = 0
        while rate < 5000 and rounds < 8:  # a round may meet other work on the machine
            began = perf_counter()
            async with trio.open_nursery() as nursery:
                for number in range(CALLERS):
                    nursery.start_soon(add, number)
            rate = max(rate, CALLERS * EACH / (perf_counter() - began))
            rounds += 1
        print(int(rate))


trio.run(main)
"""


def test_sqlite_takes_five_thousand_adds_a_second_from_64_callers(sqlite_url: str) -> None:
    # In a process of its own, where nothing counts the lines that run; again where the machine was busy with others.
    reached: list[int] = []
    while len(reached) < 5 and max(reached, default=0) < 5000:
        child = subprocess.run([sys.executable, "-c", ADD, sqlite_url], capture_output=True, text=True, timeout=60)
        assert child.returncode == 0, child.stderr
        reached.append(int(child.stdout))
    print(f"adds a second: {reached}")
    assert max(reached) >= 5000


async def test_a_page_of_100_000_tasks_takes_less_than_50_ms(database_url: str, open_tasks: Any) -> None:
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
    for arguments in (
        {},
        {"limit": 500},
        {"cursor": middle},
        {"status": "completed"},
        {"status": "completed", "cursor": middle},
        {"status": "pending", "cursor": middle, "limit": 500},
    ):
        times = []
        for _ in range(4):
            result = assert_ok(await ada.call("list_tasks", arguments))
            times.append(result.duration_ms)
        assert result.data["total"] == MANY
        assert len(result.data["tasks"]) == arguments.get("limit", 100)
        print(f"{arguments}: {', '.join(f'{one:.1f}' for one in times)} ms")
        assert min(times) < 50


@pytest.mark.parametrize("count", [1, 50])
async def test_acting_on_one_of_100_000_tasks_stays_quick(sqlite_url: str, open_tasks: Any, count: int) -> None:
    from sqlalchemy import create_engine

    ada = (await open_tasks(sqlite_url)).session("ada")
    assert_ok(await ada.call("list_tasks"))
    engine = create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(FILL_SQLITE)
    engine.dispose()
    began = perf_counter()
    for _ in range(count):
        task_id = assert_ok(await ada.call("add_task", {"title": "the newest"})).data["id"]
        assert_ok(await ada.call("delete_task", {"task_identifier": task_id}))
    assert perf_counter() - began < 0.05 * count + 0.2
    result = assert_ok(await ada.call("update_task", {"task_identifier": "task 77777", "new_title": "found"}))
    print(f"found among {MANY}: {result.duration_ms:.1f} ms")
    assert result.duration_ms < 1000
