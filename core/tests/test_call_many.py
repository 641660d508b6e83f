"""`call_many`: what may overlap does, anything else keeps its order, and results come in order."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from pegboard import ErrorCode, ToolCall, tool


@pytest.fixture
def spans() -> list[tuple[str, str]]:
    """When each call began and ended."""
    return []


@pytest.fixture
def tools(spans: list[tuple[str, str]]) -> list[Any]:
    async def run(tag: str, fails: bool = False) -> str:
        spans.append(("+", tag))
        await trio.sleep(1)
        spans.append(("-", tag))
        if fails:
            raise ValueError(tag)
        return tag

    return [
        tool(name="reads", read_only=True)(run),
        tool(name="overlaps", parallel=True)(run),
        tool(name="writes")(run),
    ]


def call(name: str, tag: str, **more: Any) -> ToolCall:
    return ToolCall(f"id-{tag}", name, {"tag": tag, **more})


async def test_neighbours_that_may_overlap_do(hosted: Any, tools: Any, spans: Any, autojump_clock: MockClock) -> None:
    async with hosted(*tools) as host:
        began = trio.current_time()
        results = await host.session().call_many([call("reads", "a"), call("overlaps", "b"), call("reads", "c")])
        assert trio.current_time() - began == pytest.approx(1)
    assert [result.text for result in results] == ["a", "b", "c"]
    assert [result.id for result in results] == ["id-a", "id-b", "id-c"]
    assert [kind for kind, _ in spans] == ["+"] * 3 + ["-"] * 3


async def test_a_call_that_may_change_something_waits_and_holds_back(
    hosted: Any, tools: Any, spans: Any, autojump_clock: MockClock
) -> None:
    calls = [call("reads", "a"), call("reads", "b"), call("writes", "c"), call("writes", "d"), call("reads", "e")]
    async with hosted(*tools) as host:
        results = await host.session().call_many(calls)
    assert [result.text for result in results] == list("abcde")
    order = [f"{kind}{tag}" for kind, tag in spans]
    assert sorted(order[:2]) == ["+a", "+b"]
    assert order[4:] == ["+c", "-c", "+d", "-d", "+e", "-e"]


async def test_one_failure_cancels_nothing(
    hosted: Any, tools: Any, spans: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    calls = [call("reads", "a", fails=True), call("reads", "b"), ToolCall("x", "nope"), call("writes", "c", fails=True)]
    async with hosted(*tools) as host:
        results = await host.session().call_many([*calls, call("writes", "d")])
    codes = [result.error and result.error.code for result in results]
    assert codes == [ErrorCode.INTERNAL_ERROR, None, ErrorCode.NOT_FOUND, ErrorCode.INTERNAL_ERROR, None]


async def test_the_deadline_holds_for_each_call(hosted: Any, tools: Any, autojump_clock: MockClock) -> None:
    async with hosted(*tools) as host:
        results = await host.session().call_many([call("writes", "a"), call("reads", "b")], timeout_s=0.5)
    assert [result.error.code for result in results] == [ErrorCode.TIMEOUT] * 2


async def test_what_is_not_a_valid_call_is_answered_in_its_place(
    hosted: Any, tools: Any, autojump_clock: MockClock
) -> None:
    calls: list[Any] = [
        {"name": "reads", "arguments": {"tag": "a"}},
        {"id": "7", "arguments": {}},
        {"id": "8", "name": "reads", "arguments": []},
        5,
        None,
        {"id": 9, "name": "writes", "arguments": {"tag": "b"}, "surprise": 1},
    ]
    async with hosted(*tools) as host:
        results = await host.session().call_many(calls)
    assert [result.text for result in (results[0], results[5])] == ["a", "b"]
    assert [result.error.code for result in results[1:5]] == [ErrorCode.INVALID_INPUT] * 4
    assert [result.id for result in results[1:3]] == ["7", "8"]
    assert results[0].id
    assert results[5].id == "9"


async def test_no_calls_have_no_results(hosted: Any) -> None:
    async with hosted() as host:
        assert await host.session().call_many([]) == []


async def test_a_cancelled_turn_passes_on_the_cancellation(hosted: Any, tools: Any, autojump_clock: MockClock) -> None:
    async with hosted(*tools) as host:
        with trio.move_on_after(0.5) as scope:
            await host.session().call_many([call("reads", "a"), call("reads", "b")])
    assert scope.cancelled_caught


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from(["reads", "overlaps", "writes"]), max_size=8))
def test_order_is_kept_around_every_call_that_may_change_something(hosted: Any, names: list[str]) -> None:
    """Whatever the turn, a call that may not overlap runs alone, after all before it and before all after it."""
    spans: list[tuple[str, int]] = []

    async def run(n: int) -> int:
        spans.append(("+", n))
        await trio.lowlevel.checkpoint()
        spans.append(("-", n))
        return n

    tools = [
        tool(name="reads", read_only=True)(run),
        tool(name="overlaps", parallel=True)(run),
        tool(name="writes")(run),
    ]

    async def main() -> None:
        async with hosted(*tools) as host:
            results = await host.session().call_many(
                [{"name": name, "arguments": {"n": n}} for n, name in enumerate(names)]
            )
            assert [result.data["result"] for result in results] == list(range(len(names)))

    trio.run(main)
    for n, name in enumerate(names):
        if name == "writes":
            start = spans.index(("+", n))
            assert spans[start + 1] == ("-", n)
            assert {m for _, m in spans[:start]} == set(range(n))


async def test_many_calls_at_once_leave_the_loop_air(hosted: Any) -> None:
    @tool(run="inplace", read_only=True)
    def at_once() -> int:
        return 1

    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with hosted(at_once) as host, trio.open_nursery() as nursery:
        nursery.start_soon(count_turns)
        results = await host.session().call_many([ToolCall(str(n), "at_once") for n in range(1280)])
        nursery.cancel_scope.cancel()
    assert [result.id for result in results] == [str(n) for n in range(1280)]
    assert turns >= 15


async def test_a_number_too_long_to_be_an_id_is_refused(hosted: Any, tools: Any, autojump_clock: MockClock) -> None:
    async with hosted(*tools) as host:
        calls = [{"id": 7, "name": "reads", "arguments": {"tag": "a"}}, {"id": 10**6000, "name": "nope"}]
        first, second = await host.session().call_many(calls)
    assert first.id == "7"
    assert second.error.code is ErrorCode.INVALID_INPUT
    assert second.text.startswith("id: expected ")
