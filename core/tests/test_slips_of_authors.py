"""What authors get wrong first, and what they are told: the tool, what it did, and what to write instead."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import pegboard.asyncio
from pegboard import CallContext, ToolError, ToolResult, open_host_sync, tool
from pegboard.errors import ToolDefinitionError


def called(function: Any) -> ToolResult:
    with open_host_sync(plugins=[]) as host:
        host.add(tool(function, name="it"))
        return host.call("it")


def test_an_object_whose_call_is_async_is_awaited() -> None:
    class Doubles:
        async def __call__(self) -> int:
            """Answer."""
            return 5

    assert tool(Doubles(), name="it").run == "async"
    assert called(Doubles()).data == {"result": 5}


def test_a_generator_is_refused_where_it_is_defined() -> None:
    def lines() -> Iterator[str]:
        yield "a"

    async def pages() -> AsyncIterator[str]:
        yield "a"

    for function in (lines, pages):
        with pytest.raises(ToolDefinitionError, match=f"tool {function.__name__}: it is a generator") as raised:
            tool(function)
        assert raised.value.hint == "return a list of what it yields"


def test_what_a_decorator_makes_of_a_generator_is_the_decorators() -> None:
    def gathered(function: Any) -> Any:
        @functools.wraps(function)
        def gather() -> Any:
            return list(function())

        return gather

    @gathered
    def lines() -> list[str]:
        yield "a"

    assert called(lines).data == {"result": ["a"]}


async def sleeps() -> None:
    await asyncio.sleep(0)


async def makes_a_task() -> None:
    asyncio.get_running_loop()


@pytest.mark.parametrize("function", [sleeps, makes_a_task])
def test_a_tool_that_waits_for_asyncio_is_told_what_to_write(function: Any, caplog: pytest.LogCaptureFixture) -> None:
    result = called(function)
    assert result.error is not None
    assert result.error.code == "INTERNAL_ERROR"
    assert result.text.startswith("the tool 'it' waits for asyncio, and tools run on trio")
    assert "asyncio.run" in result.text
    assert caplog.records


def test_asyncio_in_a_plain_function_runs_in_its_thread() -> None:
    def wait() -> int:
        return asyncio.run(asyncio.sleep(0, 5))

    assert called(wait).data == {"result": 5}


def _round() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({1: "a"}, "a key of type int; keys are strings"),
        ({"a": {(1, 2): "b"}}, "a key of type tuple; keys are strings"),
        (_round(), "it is nested too deep, or holds itself"),
        ([float("nan")], "a number that is not finite"),
        ([object()], "a value of the type list, or one inside it"),
    ],
    ids=["number", "pair", "round", "nan", "object"],
)
def test_what_has_no_json_form_is_told_apart(value: Any, why: str) -> None:
    def give() -> Any:
        return value

    result = called(give)
    assert result.error is not None
    assert why in result.text


@pytest.mark.parametrize(
    ("given", "why", "hint"),
    [
        ("name", "@tool takes a function, got str", "an option has a name: @tool(name='name')"),
        ([sleeps], "@tool takes a function, got list", "give them one by one: add(*tools)"),
        (None, "@tool takes a function, got NoneType", None),
        (5, "@tool takes a function, got int", None),
    ],
)
def test_what_is_no_function_is_told_with_what_to_write(given: Any, why: str, hint: str | None) -> None:
    async def on_asyncio() -> None:
        async with pegboard.asyncio.open_host(plugins=[]) as host:
            host.add(given)

    with open_host_sync(plugins=[]) as host, pytest.raises(ToolDefinitionError) as there:
        host.add(given)
    with pytest.raises(ToolDefinitionError) as here:
        asyncio.run(on_asyncio())
    assert [(one.value.message, one.value.hint) for one in (there, here)] == [(why, hint)] * 2


def test_a_method_without_its_object_is_told_to_be_bound() -> None:
    class Dice:
        def roll(self, sides: int = 6) -> int:
            """Roll one."""
            return sides

    with pytest.raises(ToolDefinitionError, match="it is a method, which wants its object") as raised:
        tool(Dice.roll)
    assert raised.value.hint == "make a tool of a bound one: tool(an_object.method)"
    assert called(Dice().roll).data == {"result": 6}


@pytest.mark.parametrize("change", ["remove", "enable", "disable"])
def test_a_tool_is_named_to_change_it(change: str) -> None:
    with open_host_sync(plugins=[]) as host:
        host.add(sleeps)
        with pytest.raises(ToolError, match="name: expected the name of a tool, got Tool"):
            getattr(host, change)(host.tools["sleeps"])


@pytest.mark.parametrize("name", ["confirm", "on_progress"])
def test_what_cannot_be_called_answers_for_nobody(name: str) -> None:
    async def on_asyncio() -> None:
        async with pegboard.asyncio.open_host(plugins=[]) as host:
            host.session(**{name: True})

    with open_host_sync(plugins=[]) as host, pytest.raises(TypeError, match=f"{name}: expected an async function"):
        host.session(**{name: True})
    with pytest.raises(TypeError, match=f"{name}: expected an async function or None, got bool"):
        asyncio.run(on_asyncio())


@pytest.mark.parametrize("name", ["confirm", "on_progress"])
def test_a_plain_function_of_a_session_is_told_to_be_async(name: str) -> None:
    async def it(context: CallContext) -> None:
        """Ask, and tell."""
        await (context.confirm("Well?") if name == "confirm" else context.progress(1))

    async def on_asyncio() -> ToolResult:
        async with pegboard.asyncio.open_host(plugins=[]) as host:
            host.add(it)
            return await host.session(**{name: lambda *_: True}).call("it")

    with open_host_sync(plugins=[]) as host:
        host.add(it)
        told = [host.session(**{name: lambda *_: True}).call("it"), asyncio.run(on_asyncio())]
    for one in told:
        assert one.text == f"the function {name!r} of the session cannot be awaited: write it as `async def`"
