"""The floors: the least that any host could do, written down by hand.

The fastjsonschema floor validates and awaits. The lean host looks a name up, validates, sets a deadline and makes a
result: what every host must do that keeps its promises. The rest says what the parts cost.
"""

from __future__ import annotations

import inspect
from contextlib import asynccontextmanager
from typing import Any, Literal, get_args, get_origin

import attrs
import cattrs
import fastjsonschema
import jsonschema_rs
import trio
from workload import (
    ADD_ARGS,
    ADD_SCHEMA,
    BAD_ADD_ARGS,
    RICH_ARGS,
    RICH_SCHEMA,
    SLEEP_SCHEMA,
    TOOL_MS,
    add,
    rich_untyped,
)

from contestants import Contestant, Path, Registry

RUNNER = "trio"

BARE = "bare await"
FLOOR = "fastjsonschema + await"
RUST = "jsonschema-rs + await"
LEAN = "lean host"
STRUCTURED = "lean host, structured"
TRIO = "trio nursery"


@attrs.frozen
class Result:
    value: Any
    error: Any


@attrs.frozen
class LeanTool:
    handler: Any
    validate: Any


@attrs.define
class Person:
    name: str
    email: str
    age: int


@attrs.define
class Item:
    sku: str
    qty: int
    price: float


def _validated(validate, handler, arguments):
    async def call():
        own = dict(arguments)
        validate(own)
        return await handler(**own)

    return call


def _rejected(validate, arguments):
    async def call():
        try:
            validate(dict(arguments))
        except (ValueError, fastjsonschema.JsonSchemaException) as fault:
            return str(fault)
        raise AssertionError("a wrong argument was let through")

    return call


def _lean(tools, name, arguments):
    async def call():
        tool = tools[name]
        own = dict(arguments)
        tool.validate(own)
        with trio.fail_after(30):
            value = await tool.handler(**own)
        return Result(value, None)

    return call


def _calls():
    check_add, check_rich = fastjsonschema.compile(ADD_SCHEMA), fastjsonschema.compile(RICH_SCHEMA)
    rust_add, rust_rich = jsonschema_rs.validator_for(ADD_SCHEMA), jsonschema_rs.validator_for(RICH_SCHEMA)
    converter = cattrs.Converter(detailed_validation=False)
    structure_person, structure_items = converter.get_structure_hook(Person), converter.get_structure_hook(list[Item])

    async def rich_structured(**arguments):
        arguments["owner"] = structure_person(arguments["owner"], Person)
        arguments["items"] = structure_items(arguments["items"], list[Item])
        return await rich_untyped(**arguments)

    async def bare_add():
        return await add(**dict(ADD_ARGS))

    async def bare_rich():
        return await rich_untyped(**dict(RICH_ARGS))

    tools = {
        "add": LeanTool(add, check_add),
        "rich": LeanTool(rich_untyped, check_rich),
        "structured": LeanTool(rich_structured, check_rich),
    }
    return {
        Path(BARE, "add"): bare_add,
        Path(BARE, "rich"): bare_rich,
        Path(FLOOR, "add"): _validated(check_add, add, ADD_ARGS),
        Path(FLOOR, "rich"): _validated(check_rich, rich_untyped, RICH_ARGS),
        Path(FLOOR, "bad"): _rejected(check_add, BAD_ADD_ARGS),
        Path(RUST, "add"): _validated(rust_add.validate, add, ADD_ARGS),
        Path(RUST, "rich"): _validated(rust_rich.validate, rich_untyped, RICH_ARGS),
        Path(RUST, "bad"): _rejected(rust_add.validate, BAD_ADD_ARGS),
        Path(LEAN, "add"): _lean(tools, "add", ADD_ARGS),
        Path(LEAN, "rich"): _lean(tools, "rich", RICH_ARGS),
        Path(STRUCTURED, "rich"): _lean(tools, "structured", RICH_ARGS),
    }


async def _sleep(i):
    await trio.sleep(TOOL_MS / 1000)
    return i


async def _parallel_bare(count):
    async with trio.open_nursery() as nursery:
        for index in range(count):
            nursery.start_soon(_sleep, index)


def _parallel_lean():
    validate = fastjsonschema.compile(SLEEP_SCHEMA)

    async def run(count):
        results = [None] * count

        async def one(index):
            arguments = {"i": index}
            validate(arguments)
            with trio.fail_after(30):
                value = await _sleep(**arguments)
            results[index] = Result(value, None)

        async with trio.open_nursery() as nursery:
            for index in range(count):
                nursery.start_soon(one, index)
        return results

    return run


_JSON_TYPES = {float: "number", str: "string", int: "integer", bool: "boolean"}


def _schema_of(function):
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        hint = function.__annotations__[name]
        schema = {"enum": list(get_args(hint))} if get_origin(hint) is Literal else {"type": _JSON_TYPES[hint]}
        if parameter.default is parameter.empty:
            required.append(name)
        else:
            schema["default"] = parameter.default
        properties[name] = schema
    return {"type": "object", "properties": properties, "required": required}


def _build(functions):
    return {f.__name__: [f, f.__doc__, _schema_of(f), None] for f in functions}


async def _listing(tools):
    return [{"name": name, "description": tool[1], "input_schema": tool[2]} for name, tool in tools.items()]


async def _call(tools, name, arguments):
    tool = tools[name]
    if tool[3] is None:
        tool[3] = fastjsonschema.compile(tool[2])
    tool[3](arguments)
    return await tool[0](**arguments)


def _loop(with_deadlines):
    """A fake provider, and every round's calls in a nursery."""
    tools = {"add": LeanTool(add, fastjsonschema.compile(ADD_SCHEMA))}

    async def run(rounds, calls):
        history = ["x"]
        for _ in range(rounds):
            asked = [("add", dict(ADD_ARGS)) for _ in range(calls)]
            results = [None] * calls

            async def one(index, name, arguments, results=results):
                tool = tools[name]
                tool.validate(arguments)
                if with_deadlines:
                    with trio.fail_after(30):
                        value = await tool.handler(**arguments)
                else:
                    value = await tool.handler(**arguments)
                results[index] = Result(value, None)

            async with trio.open_nursery() as nursery:
                for index, (name, arguments) in enumerate(asked):
                    nursery.start_soon(one, index, name, arguments)
            history.extend(results)
        assert len(history) == 1 + rounds * calls

    return run


@asynccontextmanager
async def open_contestant():
    yield Contestant(
        calls=_calls(),
        parallels={TRIO: _parallel_bare, LEAN: _parallel_lean()},
        registries={"a dict, lazy fastjsonschema": Registry(_build, _listing, _call)},
        loops={TRIO: _loop(with_deadlines=False), f"{TRIO}, with deadlines": _loop(with_deadlines=True)},
    )
