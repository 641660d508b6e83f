"""pegboard: `session.call` with the built-in plugins and their default guards, under trio."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any, TypedDict

import attrs
import trio
from workload import ADD_ARGS, BAD_ADD_ARGS, RICH_ARGS, RICH_SCHEMA, TOOL_MS, add, rich_typed, rich_untyped

from contestants import Contestant, Path, Registry
from pegboard import ToolCall, open_host, tool

RUNNER = "trio"

IN_PLACE = "session.call, in place"
ASYNC = "session.call, async"
TYPED_DICTS = "session.call, async, TypedDicts"
FOREIGN = "session.call, async, given schema"
CALL_MANY = "session.call_many"


@attrs.frozen
class Person:
    name: str
    email: str
    age: int


@attrs.frozen
class Item:
    sku: str
    qty: int
    price: float


class PersonDict(TypedDict):
    name: str
    email: str
    age: int


class ItemDict(TypedDict):
    sku: str
    qty: int
    price: float


def add_in_place(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


async def sleep10(i: int) -> int:
    """Sleep."""
    await trio.sleep(TOOL_MS / 1000)
    return i


async def _foreign(**arguments: Any) -> str:
    return await rich_untyped(**arguments)


def _tools():
    return [
        tool(run="inplace", name="add_in_place")(add_in_place),
        tool(name="add")(add),
        tool(name="rich")(rich_typed(Person, Item)),
        tool(name="rich_typed_dicts")(rich_typed(PersonDict, ItemDict)),
        tool(read_only=True)(sleep10),
    ]


async def _listing(host):
    return [
        {"name": one.name, "description": one.description, "input_schema": one.input_schema}
        for one in host.tools.values()
    ]


@asynccontextmanager
async def open_contestant():
    from pegboard import Tool

    async with open_host(plugins=[]) as host, open_host(plugins=[]) as crowded:
        host.add(*_tools(), Tool(name="rich_foreign", handler=_foreign, input_schema=RICH_SCHEMA))
        session, crowded_session = host.session(), crowded.session()

        def call(name, arguments):
            return lambda: session.call(name, dict(arguments))

        async def parallel(count):
            results = [None] * count

            async def one(index):
                results[index] = await session.call("sleep10", {"i": index})

            async with trio.open_nursery() as nursery:
                for index in range(count):
                    nursery.start_soon(one, index)
            assert all(result.ok for result in results)

        async def parallel_many(count):
            calls = [ToolCall(str(index), "sleep10", {"i": index}) for index in range(count)]
            assert all(result.ok for result in await session.call_many(calls))

        def build(functions):
            crowded.add(*functions)
            return crowded

        async def call_of_many(many, name, arguments):
            result = await crowded_session.call(name, arguments)
            assert result.ok

        for name, arguments, text in (
            ("add_in_place", ADD_ARGS, "4.0"),
            ("add", ADD_ARGS, "4.0"),
            ("rich", RICH_ARGS, "Quarterly report:5"),
            ("rich_typed_dicts", RICH_ARGS, "Quarterly report:5"),
            ("rich_foreign", RICH_ARGS, "Quarterly report:5"),
        ):
            result = await session.call(name, dict(arguments))
            assert result.text == text, result
        assert not (await session.call("add_in_place", dict(BAD_ADD_ARGS))).ok

        yield Contestant(
            calls={
                Path(IN_PLACE, "add"): call("add_in_place", ADD_ARGS),
                Path(IN_PLACE, "bad"): call("add_in_place", BAD_ADD_ARGS),
                Path(ASYNC, "add"): call("add", ADD_ARGS),
                Path(ASYNC, "rich"): call("rich", RICH_ARGS),
                Path(ASYNC, "bad"): call("add", BAD_ADD_ARGS),
                Path(TYPED_DICTS, "rich"): call("rich_typed_dicts", RICH_ARGS),
                Path(FOREIGN, "rich"): call("rich_foreign", RICH_ARGS),
            },
            parallels={ASYNC: parallel, CALL_MANY: parallel_many},
            registries={"host.add(*functions)": Registry(build, _listing, call_of_many)},
        )
