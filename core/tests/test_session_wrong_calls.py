"""What a program says of a call beside its name and arguments, said wrongly: an answer on every interface."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

import pegboard.asyncio
from pegboard import Board, ErrorCode, ToolResult, load_board, open_host, open_host_sync, tool
from pegboard.dialects import call_of
from pegboard.session import HOST_ENDED

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("in_place", "waits", "nowhere")


@tool
def in_place(x: int = 1) -> int:
    """Answer at once."""
    return x


@tool
async def waits(x: int = 1) -> int:
    """Answer after a checkpoint."""
    await trio.lowlevel.checkpoint()
    return x


def board() -> Board:
    board = load_board(plugins=[])
    board.add(in_place, waits)
    return board


def on_trio(name: str, **options: Any) -> ToolResult:
    async def main() -> ToolResult:
        async with open_host(board()) as host:
            return await host.session().call(name, {"x": 2}, **options)

    return trio.run(main)


def many_on_trio(name: str, **options: Any) -> ToolResult:
    async def main() -> ToolResult:
        async with open_host(board()) as host:
            (result,) = await host.session().call_many([{"name": name, "arguments": {"x": 2}}], **options)
            return result

    return trio.run(main)


def in_a_thread(name: str, **options: Any) -> ToolResult:
    with open_host_sync(board()) as host:
        return host.session().call(name, {"x": 2}, **options)


def on_asyncio(name: str, **options: Any) -> ToolResult:
    async def main() -> ToolResult:
        async with pegboard.asyncio.open_host(board()) as host:
            return await host.session().call(name, {"x": 2}, **options)

    return asyncio.run(main())


ALL = (on_trio, many_on_trio, in_a_thread, on_asyncio)
ONE = (on_trio, in_a_thread, on_asyncio)


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("timeout_s", "got"),
    [
        (float("nan"), "NaN"),
        (10**400, "an integer that is too large"),
        (True, "bool"),
        ("5", "str"),
        ([1], "list"),
        (Decimal(5), "Decimal"),
    ],
    ids=str,
)
def test_what_is_not_a_deadline_is_answered(call: Any, name: str, timeout_s: Any, got: str) -> None:
    result = call(name, timeout_s=timeout_s)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert result.text == f"timeout_s: expected a number of seconds or None, got {got}"
    assert (result.name, bool(result.id)) == (name, True)


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("timeout_s", [-1, -0.5, float("-inf"), 0])
def test_a_deadline_that_has_passed_is_one(call: Any, timeout_s: float) -> None:
    result = call("waits", timeout_s=timeout_s)
    assert (result.error.code, result.error.details["timeout_s"]) == (ErrorCode.TIMEOUT, 0)


@pytest.mark.parametrize("call", ALL)
@pytest.mark.parametrize("timeout_s", [None, float("inf"), 60, 60.5])
def test_endless_and_far_deadlines_end_nothing(call: Any, timeout_s: float | None) -> None:
    assert call("waits", timeout_s=timeout_s).text == "2"


@pytest.mark.parametrize("call", ONE)
@pytest.mark.parametrize("name", ["in_place", "waits"])
def test_an_integer_is_an_id_as_in_a_line_of_a_batch(call: Any, name: str) -> None:
    assert [call(name, id=given).id for given in (3, 0, "x", "x" * 1_000)] == ["3", "0", "x", "x" * 1_000]


WRONG = [1.5, True, ["a"], {"a": 1}, "x" * 1_001, 10**300]


@pytest.mark.parametrize("call", ONE)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", [*WRONG, b"x"], ids=lambda given: type(given).__name__)
def test_what_is_not_an_id_is_answered(call: Any, name: str, given: Any) -> None:
    result = call(name, id=given)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert result.text.startswith("id: expected text of at most 1,000 characters or an integer, got ")
    assert isinstance(result.id, str)
    assert 0 < len(result.id) < 100


@pytest.mark.parametrize("given", WRONG, ids=lambda given: type(given).__name__)
def test_a_line_with_another_id_is_not_a_valid_call(given: Any) -> None:
    result = call_of({"id": given, "name": "in_place"})
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert (result.error.code, result.id, result.name) == (ErrorCode.INVALID_INPUT, "", "in_place")
    assert result.text.startswith("id: expected ")


@pytest.mark.parametrize("name", NAMES)
def test_a_session_of_a_host_that_has_ended_refuses(name: str) -> None:
    ran: list[str] = []

    @tool(name="in_place")
    def noted() -> None:
        """Note that it ran."""
        ran.append("in_place")

    async def main() -> None:
        async with open_host(plugins=[]) as host:
            host.add(noted, waits)
            session = host.session()
            await session.call(name)  # a plan that is compiled has a way of its own
        ran.clear()
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await session.call(name)
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await session.call_many([{"name": name}])
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            session.check(name)
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            host.session()

    trio.run(main)
    assert not ran


def test_a_call_that_outlasts_its_host_opens_no_way_for_the_next() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery, open_host(plugins=[]) as host:
            host.add(in_place)
            session = host.session()
            await session.call("in_place")
            nursery.start_soon(host.checkpoint)
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await session.call("in_place")

    trio.run(main)


OF_A_HOST: dict[str, Callable[[Any], Any]] = {
    "add": lambda host: host.add(waits),
    "remove": lambda host: host.remove("in_place"),
    "enable": lambda host: host.enable("in_place"),
    "disable": lambda host: host.disable("in_place"),
    "add_observer": lambda host: host.add_observer(print),
    "session": lambda host: host.session(),
    "wait_for_sources": lambda host: host.wait_for_sources(),
    "wait_source_moved": lambda host: host.wait_source_moved(),
}


@pytest.mark.parametrize("asked", OF_A_HOST.values(), ids=OF_A_HOST)
def test_a_host_that_has_ended_changes_nothing_and_waits_for_nothing(asked: Callable[[Any], Any]) -> None:
    async def main() -> None:
        async with open_host(plugins=[]) as host:
            host.add(in_place)
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await checked(asked(host))
        assert set(host.tools) >= {"in_place"}

    async def checked(answer: Any) -> None:
        if answer is not None:
            await answer

    trio.run(main)


async def test_who_waits_for_a_source_while_the_host_ends_is_told() -> None:
    async def wait(host: Any) -> None:
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await host.wait_source_moved()

    async with trio.open_nursery() as nursery, open_host(plugins=[]) as host:
        nursery.start_soon(wait, host)
        await trio.testing.wait_all_tasks_blocked()
