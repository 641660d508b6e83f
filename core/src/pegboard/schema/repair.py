"""Strings that hold what was expected: the one repair of arguments, and how the program reads `KEY=VALUE`.

Models write `"[1, 2]"` where an array is expected and `"7"` where an integer is. Where the schema allows no string, the
meaning is plain, and the value is read as JSON. Nothing else is coerced: "true" stays a string and is refused, so does
"1.5" where an integer is expected, and true is not a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.schema.assertions import type_names
from pegboard.schema.explain import explain
from pegboard.schema.jsontext import JsonTextError, loads, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard.errors import Fault, Step

REPAIRABLE = frozenset({"object", "array", "integer", "number"})
MAX_REPAIRS = 50
MAX_ROUNDS = 3
MAX_TEXT = 1_000_000
_BEGINNINGS = tuple("{[-0123456789")


def repair(schema: Any, value: Any, faults: Iterable[Fault]) -> tuple[Any, list[dict[str, str]]] | None:
    """Replace strings that hold JSON where an object, an array or a number is expected.

    Args:
        schema: the schema that the value broke.
        value: the value; it is never changed.
        faults: what `explain` or a validator said of it.

    Returns:
        A copy of the value with the repairs made, and what they were, each as `{"path", "from", "to"}`: where, what
        stood there (shortened), the JSON type that stands there now. None where there is nothing to repair. The copy
        may still be wrong: validate it again.

    .. versionadded:: 0.1
    """
    reports: list[dict[str, str]] = []
    for _ in range(MAX_ROUNDS):  # what a string held may hold such strings itself
        before = len(reports)
        for fault in faults:
            if fault.expected_types.isdisjoint(REPAIRABLE) or len(reports) >= MAX_REPAIRS:
                continue
            old = _at(value, fault.path)
            if isinstance(old, str) and (read := _read_as(old, fault.expected_types)):
                value = _replaced(value, fault.path, read[0])
                reports.append({"path": fault.where, "from": shorten(old), "to": read[1]})
        if len(reports) == before:
            break
        faults = explain(schema, value)
    return (value, reports) if reports else None


def _read_as(text: str, expected: frozenset[str]) -> tuple[Any, str] | None:
    """The JSON value that the text holds, and its type, if it is one of those that are expected; "7.0" is not an
    integer.
    """
    stripped = text.strip()
    if not stripped.startswith(_BEGINNINGS) or len(stripped) > MAX_TEXT:
        return None
    try:
        value = loads(stripped)
    except JsonTextError:
        return None
    for name in type_names(value):
        if name in expected & REPAIRABLE and not (name == "integer" and isinstance(value, float)):
            return value, name
    return None


def _at(value: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        is_item = isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value)
        if not is_item and not (isinstance(value, dict) and step in value):
            return None  # what is missing has a path as well
        value = value[step]
    return value


def _replaced(value: Any, path: tuple[Step, ...], new: Any) -> Any:
    """A copy in which only what lies on the path is copied."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, step: _replaced(value[step], rest, new)}
    assert isinstance(step, int)
    items = list(value)
    items[step] = _replaced(items[step], rest, new)
    return items


def read_text(schema: Any, text: str, *, root: Any = None) -> Any:
    """Read what a person typed as the value of one property, by the schema of that property.

    A string stays a string where the schema allows it; `6`, `1.5`, `true`, `null`, `[1]` and `{"a": 1}` are read as
    JSON where the schema allows what they are. What fits nothing is returned as it is, so that validation explains it.

    Args:
        schema: the schema of the property, without faults.
        text: what was typed.
        root: the schema that `schema` is a part of, where it holds references.

    .. versionadded:: 0.1
    """
    if not explain(schema, text, root=root):
        return text
    try:
        value = loads(text)
    except JsonTextError:
        return text
    faults = explain(schema, value, root=root)
    # Of the right type and wrong in the rest, it is still what was meant: let the fault speak of that.
    return text if any(fault.expected_types for fault in faults if not fault.path) else value
