"""Coroutines of trio under asyncio, and of asyncio under trio: whose they are is told, and what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import pegboard.asyncio
from pegboard import CallContext, ErrorCode, ToolResult, open_host, open_host_sync, tool


async def nursery() -> None:
    async with trio.open_nursery():
        pass


async def timeout() -> None:
    async with asyncio.timeout(1):
        pass


async def group() -> None:
    async with asyncio.TaskGroup():
        pass


async def clock() -> None:
    trio.current_time()


TRIO: dict[str, Callable[[], Awaitable[Any]]] = {
    "sleep": lambda: trio.sleep(0),
    "sleep longer": lambda: trio.sleep(1),
    "event": lambda: trio.Event().wait(),
    "thread": lambda: trio.to_thread.run_sync(int),
    "nursery": nursery,
    "clock": clock,
}
ASYNCIO: dict[str, Callable[[], Awaitable[Any]]] = {
    "sleep": lambda: asyncio.sleep(1),
    "event": lambda: asyncio.Event().wait(),
    "queue": lambda: asyncio.Queue[int]().get(),
    "thread": lambda: asyncio.to_thread(int),
    "timeout": timeout,
    "group": group,
}


def by_the_tool(wait: Callable[[], Awaitable[Any]]) -> tuple[Any, dict[str, Any]]:
    @tool
    async def it() -> None:
        """Wait."""
        await wait()

    return it, {}


def by_confirm(wait: Callable[[], Awaitable[Any]]) -> tuple[Any, dict[str, Any]]:
    @tool(requires_confirmation=True)
    def it() -> None:
        """Do what is to be confirmed."""

    return it, {"confirm": lambda _: wait()}


def by_confirm_in_the_tool(wait: Callable[[], Awaitable[Any]]) -> tuple[Any, dict[str, Any]]:
    @tool
    async def it(context: CallContext) -> None:
        """Ask."""
        await context.confirm("Well?")

    return it, {"confirm": lambda _: wait()}


def by_elicit(wait: Callable[[], Awaitable[Any]]) -> tuple[Any, dict[str, Any]]:
    @tool
    async def it(context: CallContext) -> None:
        """Ask."""
        await context.elicit("Well?", schema={"type": "object", "properties": {"a": {"type": "string"}}})

    return it, {"confirm": lambda _: wait()}


def by_progress(wait: Callable[[], Awaitable[Any]]) -> tuple[Any, dict[str, Any]]:
    @tool
    async def it(context: CallContext) -> None:
        """Tell."""
        await context.progress(1)

    return it, {"on_progress": lambda *_: wait()}


SAYS = {
    by_the_tool: "the tool 'it' waits for {loop}, ",
    by_confirm: "the guard 'confirmation' failed, so the call was refused; "
    "the function 'confirm' of the session waits for {loop}, ",
    by_confirm_in_the_tool: "the function 'confirm' of the session waits for {loop}, ",
    by_elicit: "the function 'confirm' of the session waits for {loop}, ",
    by_progress: "the function 'on_progress' of the session waits for {loop}, ",
}


def on_trio(it: Any, options: dict[str, Any]) -> ToolResult:
    async def main() -> ToolResult:
        async with open_host(plugins=[]) as host:
            host.add(it)
            return await host.session(**options).call("it")

    return trio.run(main)


def in_a_thread(it: Any, options: dict[str, Any]) -> ToolResult:
    with open_host_sync(plugins=[]) as host:
        host.add(it)
        return host.session(**options).call("it")


def on_asyncio(it: Any, options: dict[str, Any]) -> ToolResult:
    async def main() -> ToolResult:
        async with pegboard.asyncio.open_host(plugins=[]) as host:
            host.add(it)
            return await host.session(**options).call("it")

    return asyncio.run(main())


@pytest.mark.parametrize("run", [on_trio, in_a_thread])
@pytest.mark.parametrize("by", SAYS, ids=lambda by: by.__name__)
@pytest.mark.parametrize("wait", ASYNCIO)
def test_what_waits_for_asyncio_on_trio_is_named(run: Any, by: Any, wait: str) -> None:
    result = run(*by(ASYNCIO[wait]))
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.text.startswith(SAYS[by].format(loop="asyncio"))
    assert "write it with trio or anyio" in result.text


@pytest.mark.parametrize("by", SAYS, ids=lambda by: by.__name__)
@pytest.mark.parametrize("wait", TRIO)
def test_what_waits_for_trio_on_asyncio_is_named(by: Any, wait: str) -> None:
    result = on_asyncio(*by(TRIO[wait]))
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.text.startswith(SAYS[by].format(loop="trio"))
    assert "write it with asyncio" in result.text


@pytest.mark.parametrize("by", SAYS, ids=lambda by: by.__name__)
def test_any_other_failure_is_told_as_before(by: Any) -> None:
    async def fail() -> None:
        raise RuntimeError("no running event loops here")

    for run in (on_trio, in_a_thread, on_asyncio):
        result = run(*by(fail))
        assert result.error.code is ErrorCode.INTERNAL_ERROR
        assert "waits for" not in result.text


@pytest.mark.parametrize("run", [on_trio, in_a_thread, on_asyncio])
def test_a_plain_function_that_uses_trio_runs_in_a_thread_and_is_told_so(run: Any) -> None:
    @tool
    def it() -> float:
        """Look at a clock that is not there."""
        return trio.current_time()

    result = run(it, {})
    assert result.text.startswith("the tool 'it' waits for trio, which runs neither in a thread ")
