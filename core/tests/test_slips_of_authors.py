"""What authors get wrong first, and what they are told: the tool, what it did, and what to write instead."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pegboard import ToolResult, open_host_sync, tool
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
