"""What the modules of the compiler share: where a schema stands, what became of it, and what a compiled form says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.schema import are_equal
from pegboard_chat.portable.merge import Schema, types_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_chat.portable.restore import Plan, Shape

Path = tuple[str | int, ...]

KINDS = ("string", "number", "boolean", "array", "object", "null")
SCALARS = ("string", "number", "integer", "boolean", "null")
NOTHING: Any = object()
"""What stands for a member that is not there, since null may be."""
HOISTED = "(hoisted)"
"""Marks a merged schema that had alternatives."""


class NotStrictError(Exception):
    """The schema cannot be said in a strict profile."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(why)
        self.path = path
        self.why = why


class At(NamedTuple):
    """Where a schema stands: its path, the definitions that were entered on the way, and how deep it lies."""

    path: Path = ()
    trail: tuple[int, ...] = ()
    level: int = 0

    def step(self, *steps: str | int) -> At:
        """A schema that looks at the same value."""
        return At((*self.path, *steps), self.trail, self.level)

    def inside(self, *steps: str | int) -> At:
        """A schema that looks at what is inside of the value."""
        return At((*self.path, *steps), self.trail, self.level + 1)


class Out(NamedTuple):
    """One compiled schema; None where no value fits the original."""

    schema: dict[str, Any] | None
    plan: Plan | None = None
    exact: bool = True
    shape: Shape | None = None


NEVER = Out(None)


def without_integer(types: list[str]) -> list[str]:
    """The types, without `integer` beside `number`, which holds it."""
    return [name for name in types if name != "integer"] if "number" in types else types


def values_of(flat: Schema) -> list[Any]:
    """The values that `enum` and `const` leave, of a schema that has one of them."""
    if "const" not in flat:
        return list(flat["enum"])
    if "enum" in flat and not any(are_equal(flat["const"], value) for value in flat["enum"]):
        return []
    return [flat["const"]]


def kind_of(value: Any, types: list[str] | None = None) -> str:
    """The JSON type of a value; a whole number is an integer, or a number where that alone is asked for."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "number" if types is not None and "number" in types else "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def first_apart(schemas: list[dict[str, Any]]) -> bool:
    """Whether no two objects among compiled alternatives begin with the same property, unless its values differ."""
    firsts: dict[str, list[Any]] = {}
    for form in schemas:
        for name, item in list(form.get("properties", {}).items())[:1]:
            values = [item["const"]] if "const" in item else item.get("enum")
            if name in firsts and (not values or not firsts[name] or any(value in firsts[name] for value in values)):
                return False
            firsts[name] = [*firsts.get(name, ()), *(values or ())]
    return True


def is_scalar(form: Mapping[str, Any]) -> bool:
    """Whether a compiled schema takes neither objects nor arrays, by its type or its values."""
    if "type" in form:
        return set(types_of(form["type"])) <= set(SCALARS)
    return "enum" in form or "const" in form


def takes_null(form: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    """Whether a compiled schema takes null; where that is not known, it does."""
    if "$ref" in form:
        target = definitions.get(form["$ref"].rpartition("/")[2])
        return not target or takes_null(target, definitions)
    if form.get("nullable"):
        return True
    if "const" in form:
        return form["const"] is None
    if "enum" in form:
        return None in form["enum"]
    if "type" in form:
        kinds = types_of(form["type"])
        return "null" in kinds or "NULL" in kinds
    if "anyOf" in form:
        return any(takes_null(one, definitions) for one in form["anyOf"])
    return True
