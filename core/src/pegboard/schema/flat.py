"""Closed objects of plain members, which is what nearly all tools take: checked and explained in one pass.

Models get arguments wrong all day, mostly in the type of one of them. A generated validator would raise, and the walker
(`schema.explain`) would then go through the whole schema; for such a schema both cost several times the call itself.
What is told here is what the walker tells, to the letter: a property test holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.errors import Fault
from pegboard.schema.jsontext import is_flat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_MEMBERS = 20
"""More faults than a schema of twice as many members could have are not listed (`explain.MAX_FAULTS`)."""

FITTING: Mapping[str, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
"""Python types of which every value has a JSON type; others may have it too, as 1.0 is an integer."""
ANNOTATIONS = frozenset({"type", "title", "description", "default", "examples"})
_OF_OBJECT = ANNOTATIONS | {"$schema", "properties", "required", "additionalProperties"}


def plain_types(schema: Any) -> frozenset[type]:
    """Types of which every value fits a schema that says no more than one type, or several; none where it says more."""
    if not isinstance(schema, dict) or not schema.keys() <= ANNOTATIONS:
        return frozenset()
    expected = schema.get("type")
    if isinstance(expected, str):
        return FITTING.get(expected, frozenset())
    if not (isinstance(expected, list) and expected and all(one in FITTING for one in expected)):
        return frozenset()
    return frozenset().union(*(FITTING[one] for one in expected))


class FlatObject:
    """The members of a closed object, and which of them are required.

    .. versionadded:: 0.1
    """

    __slots__ = ("_members", "_required")

    def __init__(self, members: Mapping[str, Any], required: Sequence[str]) -> None:
        self._members = {name: (member["type"], plain_types(member)) for name, member in members.items()}
        self._required = tuple(required)

    @classmethod
    def of(cls, schema: Any) -> FlatObject | None:
        """Read a schema without faults; None where it says more than the types of an object's members."""
        if not isinstance(schema, dict) or not schema.keys() <= _OF_OBJECT or schema.get("type") != "object":
            return None
        members = schema.get("properties", {})
        required = schema.get("required", ())
        if schema.get("additionalProperties", True) is not False or max(len(members), len(required)) > MAX_MEMBERS:
            return None
        if not all(map(plain_types, members.values())):
            return None
        return cls(members, required)

    def faults_of(self, value: Any) -> list[Fault] | None:
        """Every fault of a value, as `explain` lists them.

        None where the walker has to be asked: the value is not flat, or has names that may be meant for others.
        """
        if not is_flat(value):
            return None
        members, faults = self._members, []
        for name in self._required:
            if name not in value:
                expected = _words(members[name][0]) if name in members else "a value"
                faults.append(Fault((name,), expected, "nothing", "it is required"))
        for name, item in value.items():
            if name not in members:
                return None
            expected_types, fitting = members[name]
            if type(item) not in fitting:
                from pegboard.schema.assertions import is_of_type, tell_type

                if not is_of_type(expected_types, item):
                    faults += tell_type(expected_types, item, (name,))
        return faults


def _words(expected: Any) -> str:
    if isinstance(expected, str):
        return expected
    from pegboard.schema.assertions import type_words

    return type_words(expected)
