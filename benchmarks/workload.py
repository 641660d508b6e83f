"""What every contestant is given to do: the same arguments, the same schemas, the same functions.

The hints are objects and not strings (no `from __future__ import annotations`): every library resolves those, and
none pays for what another would not.
"""

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

ADD_ARGS: dict[str, Any] = {"a": 1.5, "b": 2.5}
BAD_ADD_ARGS: dict[str, Any] = {"a": "not a number", "b": 2.5}
RICH_ARGS: dict[str, Any] = {  # 9 of 12 given; limit, mode and meta take their defaults
    "title": "Quarterly report",
    "priority": "high",
    "owner": {"name": "Ann", "email": "ann@example.org", "age": 41},
    "items": [{"sku": f"SKU-{i}", "qty": i + 1, "price": 9.5 * i + 1} for i in range(5)],
    "tags": ["alpha", "beta", "gamma"],
    "count": 7,
    "ratio": 0.25,
    "dry_run": True,
    "note": "hello",
}
MANY_ARGS: dict[str, Any] = {"a": 1.0, "b": 2.0, "mode": "y", "tag": "q"}

ADD_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}
SLEEP_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"i": {"type": "integer"}}, "required": ["i"]}
_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}
_PERSON = {
    "type": "object",
    "properties": {"name": _TEXT, "email": _TEXT, "age": _WHOLE},
    "required": ["name", "email", "age"],
}
_ITEM = {
    "type": "object",
    "properties": {"sku": _TEXT, "qty": _WHOLE, "price": {"type": "number"}},
    "required": ["sku", "qty", "price"],
}
RICH_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": _TEXT,
        "priority": {"enum": ["low", "normal", "high"], "type": "string"},
        "owner": _PERSON,
        "items": {"type": "array", "items": _ITEM},
        "tags": {"type": "array", "items": _TEXT},
        "count": _WHOLE,
        "ratio": {"type": "number"},
        "dry_run": {"type": "boolean", "default": False},
        "note": {"anyOf": [_TEXT, {"type": "null"}], "default": None},
        "limit": {"type": "integer", "default": 10},
        "mode": {"enum": ["fast", "safe"], "default": "fast"},
        "meta": {"type": "object", "additionalProperties": _TEXT, "default": {}},
    },
    "required": ["title", "priority", "owner", "items", "tags", "count", "ratio"],
}

_HERE = Path(__file__).resolve().parent
MCP_SERVER = [str(_HERE / ".venvs/mcp/bin/python"), str(_HERE / "mcp_server.py"), "lowlevel", "stdio"]
"""The MCP server that every bridge talks to."""

TOOL_MS = 10
"""How long the tool of the parallel section sleeps."""


async def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


async def rich_untyped(
    title, priority, owner, items, tags, count, ratio, dry_run=False, note=None, limit=10, mode="fast", meta=None
):
    """Do a rich thing; the floors call it with what a validator let through."""
    return f"{title}:{len(items)}"


def rich_typed(person: type, item: type) -> Callable[..., Any]:
    """The 12-parameter tool, its nested objects in the class flavour that a contestant wants."""

    async def rich(
        title: str,
        priority: Literal["low", "normal", "high"],
        owner: person,  # type: ignore[valid-type]
        items: list[item],  # type: ignore[valid-type]
        tags: list[str],
        count: int,
        ratio: float,
        dry_run: bool = False,
        note: str | None = None,
        limit: int = 10,
        mode: Literal["fast", "safe"] = "fast",
        meta: dict[str, str] = {},  # noqa: B006 - the default is part of the schema
    ) -> str:
        """Do a rich thing."""
        return f"{title}:{len(items)}"

    rich.__qualname__ = "rich"
    return rich


def rich_with_pydantic() -> Callable[..., Any]:
    """The 12-parameter tool as users of pydantic write it."""
    from pydantic import BaseModel

    class Person(BaseModel):
        name: str
        email: str
        age: int

    class Item(BaseModel):
        sku: str
        qty: int
        price: float

    return rich_typed(Person, Item)


async def _many(a: float, b: float = 1.0, mode: Literal["x", "y"] = "x", tag: str = "t") -> float:
    return a + b


def many_functions(count: int, prefix: str = "tool") -> list[Callable[..., Any]]:
    """`count` functions of four parameters that differ in name and docstring."""
    functions: list[Callable[..., Any]] = []
    for index in range(count):
        name = f"{prefix}_{index}"
        code = _many.__code__.replace(co_name=name, co_qualname=name)
        function = types.FunctionType(code, globals(), name, _many.__defaults__)
        function.__annotations__ = dict(_many.__annotations__)
        function.__doc__ = f"Tool number {index}: adds a and b."
        functions.append(function)
    return functions


def some_names(count: int, wanted: int = 100) -> list[str]:
    """`wanted` names of `many_functions(count)`, spread over all of them."""
    return [f"tool_{index * 7919 % count}" for index in range(wanted)]
