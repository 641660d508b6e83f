"""What a tool gets is what was validated: no guard and no layer changes it, and no handler changes the caller's."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import attrs
import pytest

from pegboard import Annotations, CallContext, ErrorCode, Guard, Layer, Limits, Stage, Tool, ToolResult, tool


class Named(TypedDict):
    """A record by its names."""

    inner: NotRequired[Any]
    items: NotRequired[list[int]]


@attrs.define
class Record:
    """A record as a class."""

    inner: Any = None


HINTS: list[tuple[Any, Any]] = [
    (Any, {"inner": [1]}),
    (Any, [{"inner": 1}]),
    (object, {"inner": [1]}),
    (Any | None, [[1]]),
    (dict, {"inner": [1]}),
    (dict[str, Any], {"inner": [1]}),
    (dict[str, list[int]], {"inner": [1]}),
    (Mapping[str, Any], {"inner": [1]}),
    (list, [[1]]),
    (list[Any], [[1]]),
    (list[list[int]], [[1]]),
    (Sequence[Any], [[1]]),
    (list[int] | None, [1]),
    (tuple[Any, int], [[1], 2]),
    (Named, {"inner": [1], "items": [1]}),
    (Record, {"inner": [1]}),
    (list[Record], [{"inner": [1]}]),
]


def spoil(value: Any) -> None:
    """Change everything that can be changed, from the inside out."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for one in [*inner, *([value.inner] if isinstance(value, Record) else [])]:
        spoil(one)
    if isinstance(value, dict):
        value["spoilt"] = True
    elif isinstance(value, list):
        value.append("spoilt")


def typed(hint: Any, run: str) -> Tool:
    def it(value):  # type: ignore[no-untyped-def]
        spoil(value)

    it.__annotations__ = {"value": hint, "return": None}
    it.__doc__ = "Spoil what it is given."
    return tool(run=run)(it)


def by_schema(run: str) -> Tool:
    def it(**arguments: Any) -> None:
        spoil(arguments)

    return Tool(name="it", description="Spoil.", input_schema={"type": "object"}, handler=it, run=run)  # type: ignore[arg-type]


@pytest.mark.parametrize("run", ["inplace", "thread"])
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(("hint", "value"), HINTS, ids=lambda one: str(one)[:30])
async def test_a_handler_changes_its_own_copy(
    hosted: Any, make_plugin: Any, run: str, guarded: bool, hint: Any, value: Any
) -> None:
    guards = [Guard(name="reads", stage=Stage.APPROVE, check=lambda context, arguments: None)] if guarded else []
    plugin = make_plugin("p", make_guards=lambda tool: guards)
    for one in (typed(hint, run), by_schema(run)):
        async with hosted(one, plugins=[plugin]) as host:
            given = {"value": copy.deepcopy(value)}
            assert (await host.session().call("it", given)).ok
        assert given == {"value": value}


def _writes(arguments: Any) -> None:
    arguments["value"] = ["other"]


def _writes_inside(arguments: Any) -> None:
    arguments["value"].append("other")


@pytest.mark.parametrize("write", [_writes, _writes_inside])
@pytest.mark.parametrize("where", ["around", "at once", "after", "approve", "limit", "filter", "of the context"])
@pytest.mark.parametrize("schema", [False, True])
async def test_nothing_changes_what_was_validated(
    hosted: Any, make_plugin: Any, write: Any, where: str, schema: bool
) -> None:
    got: list[Any] = []

    def it(value: list[Any]) -> None:
        """Note what it is given."""
        got.append(value)

    raw = Tool(name="it", description="Note.", input_schema={"type": "object"}, handler=it, run="inplace")
    noted = raw if schema else tool(run="inplace")(it)

    async def around(context: CallContext, arguments: Mapping[str, Any], call_next: Any) -> ToolResult:
        if where in ("around", "of the context"):
            write(arguments if where == "around" else context.arguments)
        result: ToolResult = await call_next()
        if where == "after":
            write(arguments)
        return result

    def at_once(context: CallContext, arguments: Any) -> None:
        write(arguments)

    def check(context: CallContext, arguments: Any, *result: Any) -> Any:
        write(arguments)
        return result[0] if result else None

    def judge(context: CallContext, result: ToolResult) -> ToolResult:
        write(context.arguments)
        return result

    layers = [Layer("writes", around, (), at_once if where == "at once" else None)]
    stage = {"approve": Stage.APPROVE, "limit": Stage.LIMIT, "filter": Stage.FILTER}.get(where)
    guards = [Guard(name="writes", stage=stage, check=judge if where == "filter" else check)] if stage else []
    plugin = make_plugin("p", make_layers=lambda tool: layers, make_guards=lambda tool: guards)
    async with hosted(noted, plugins=[plugin]) as host:
        given: dict[str, Any] = {"value": ["mine"]}
        result = await host.session().call("it", given)
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["executed"] is (where in ("after", "filter"))
    assert got == ([["mine"]] if where in ("after", "filter") else [])
    assert given == {"value": ["mine"]}


@pytest.mark.parametrize("value", ["mine", ["mine"], {"a": ["mine"]}], ids=str)
@pytest.mark.parametrize("hint", [None, Any, "its own"])
async def test_a_caller_that_changes_them_meanwhile_changes_no_call(hosted: Any, hint: Any, value: Any) -> None:
    """While a person is asked, for one: what they were shown is what the tool gets."""
    got: list[Any] = []
    given: dict[str, Any] = {"value": copy.deepcopy(value)}
    its_own = {str: str, list: list[str], dict: dict[str, list[str]]}[type(value)]

    def it(value):  # type: ignore[no-untyped-def]
        got.append(value)

    it.__annotations__ = {"value": its_own if hint == "its own" else hint, "return": None}
    it.__doc__ = "Note what it is given."
    limits = Limits(requires_confirmation=True)
    one = (
        Tool(name="it", description="Note.", input_schema={"type": "object"}, handler=it, run="inplace", limits=limits)
        if hint is None
        else tool(run="inplace", requires_confirmation=True)(it)
    )

    async def confirm(asked: Any) -> bool:
        spoil(given)
        given["value"] = "other"
        assert asked.arguments == {"value": value}
        return True

    async with hosted(one) as host:
        assert (await host.session(confirm=confirm).call("it", given)).ok
    assert got == [value]


@pytest.mark.parametrize("hint", [None, Any, list[int], dict[str, Any]])
async def test_a_run_that_is_repeated_gets_what_was_validated(hosted: Any, make_plugin: Any, hint: Any) -> None:
    value = {"inner": [1]} if hint == dict[str, Any] else [1, 2]
    got: list[Any] = []

    def it(value):  # type: ignore[no-untyped-def]
        got.append(copy.deepcopy(value))
        spoil(value)

    it.__annotations__ = {"value": hint, "return": None}
    it.__doc__ = "Note what it is given, and spoil it."
    one = (
        Tool(
            name="it", description="Note.", input_schema={"type": "object"}, handler=it, run="inplace",
            annotations=Annotations(idempotent=True),
        )
        if hint is None
        else tool(run="inplace", idempotent=True)(it)
    )  # fmt: skip

    async def twice(context: CallContext, arguments: Mapping[str, Any], call_next: Any) -> ToolResult:
        await call_next()
        result: ToolResult = await call_next()
        return result

    plugin = make_plugin("p", make_layers=lambda tool: Layer("twice", twice))
    async with hosted(one, plugins=[plugin]) as host:
        assert (await host.session().call("it", {"value": value})).ok
    assert got == [value, value]
