"""How many calls of one tool run at once."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import CallContext, ErrorCode, ToolResult, tool


async def test_no_more_run_at_once_than_declared_all_users_together(hosted: Any, autojump_clock: MockClock) -> None:
    now = most = 0

    @tool(concurrency=3)
    async def work() -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await trio.sleep(1)
        now -= 1

    async with hosted(work) as host:
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for user in range(10):
                nursery.start_soon(host.session(str(user)).call, "work")
        assert trio.current_time() - began == pytest.approx(4)
    assert most == 3


async def test_a_call_that_waits_too_long_is_told_that_the_tool_is_busy(hosted: Any, autojump_clock: MockClock) -> None:
    release = trio.Event()

    @tool(concurrency=1)
    async def work() -> None:
        with trio.CancelScope(shield=True):
            await release.wait()

    async with hosted(work) as host, trio.open_nursery() as nursery:
        nursery.start_soon(host.session().call, "work")
        await wait_all_tasks_blocked()
        assert "waits until one of 1 running calls ends" in host.session().check("work").text
        result = await host.session().call("work")
        assert result.error.code is ErrorCode.RATE_LIMITED
        assert result.error.details["reason"] == "concurrency"
        assert result.error.details["retry"] == "same"
        release.set()
        await wait_all_tasks_blocked()
        assert (await host.session().call("work")).ok


async def test_a_place_is_free_again_however_the_call_before_ended(hosted: Any, autojump_clock: MockClock) -> None:
    ends: list[Any] = []

    @tool(concurrency=1, timeout_s=1)
    async def work(how: str) -> None:
        if how == "raise":
            raise SystemExit
        if how == "hang":
            await trio.sleep_forever()

    async with hosted(work) as host:
        session = host.session()
        for how in ("raise", "hang", "fine"):
            ends.append((await session.call("work", {"how": how})).ok)
        with trio.move_on_after(0.5):
            await session.call("work", {"how": "hang"})
        assert (await session.call("work", {"how": "fine"})).ok
    assert ends == [False, False, True]


async def test_a_nested_call_may_take_a_second_place_where_there_is_one(hosted: Any) -> None:
    @tool(concurrency=2)
    async def work(context: CallContext, n: int) -> ToolResult:
        return await context.call("work", {"n": n - 1}) if n else ToolResult.text("the bottom")

    async with hosted(work) as host:
        session = host.session()
        assert (await session.call("work", {"n": 1})).text == "the bottom"
        assert (await session.call("work", {"n": 2})).error.details["reason"] == "recursion"
        assert (await session.call("work", {"n": 1})).text == "the bottom"


async def test_siblings_of_one_call_wait_for_each_other_and_are_not_refused(
    hosted: Any, autojump_clock: MockClock
) -> None:
    @tool(concurrency=1)
    async def leaf() -> None:
        await trio.sleep(1)

    @tool
    async def both(context: CallContext) -> int:
        results: list[ToolResult] = []

        async def one() -> None:
            results.append(await context.call("leaf"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(one)
            nursery.start_soon(one)
        return sum(result.ok for result in results)

    async with hosted(leaf, both) as host:
        assert (await host.session().call("both")).data == {"result": 2}
