"""The happy path of plain schemas: most calls are right, and a look at the types of their values tells.

The host asks a tool's `signature` first whether it knows the arguments to be right, and its validator only where the
signature steps aside. One is derived here of schemas that say no more than types and closed values, so that a plain
function of a manifest is called as fast as one with `@tool`. There is one rule to hold (by property test):

    what the quick look takes, the validator accepts; and nothing is ever changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.schema import Signature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Take = Callable[[Any], dict[str, Any] | None]

LEAST, MOST = -(2**63), 2**63
"""Beyond these an integer may have more digits than are read or written; such a one is the validator's."""

_ANNOTATIONS = frozenset(
    {
        "$comment",
        "contentEncoding",
        "contentMediaType",
        "default",
        "deprecated",
        "description",
        "examples",
        "format",
        "readOnly",
        "title",
        "writeOnly",
    }
)
_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_PLAIN_OBJECT = _OBJECT | _ANNOTATIONS
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


class PlainSignature(Signature):
    """A signature that knows a plain schema, and hands on the arguments as they are."""

    def quick(self) -> Take | None:
        """The quick look, where the schema leaves room for one."""
        return None if self.schema is None else quick_look(self.schema)

    def binder(self) -> Callable[[Any], Any]:
        """The arguments themselves: nothing is structured."""
        return _same


def _same(arguments: Any) -> Any:
    return arguments


def signature_of(input_schema: Mapping[str, Any], output_schema: Mapping[str, Any] | None) -> PlainSignature | None:
    """A signature for a tool whose handler takes no context; None where the host must look at everything."""
    if not _is_plain_object(input_schema) or not _is_told_by_its_result(output_schema):
        return None
    return PlainSignature()


def _is_plain_object(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("type") == "object"
        and schema.get("additionalProperties") is False
        and schema.keys() <= _PLAIN_OBJECT
        and isinstance(schema.get("properties", {}), dict)
    )


def _is_told_by_its_result(schema: Mapping[str, Any] | None) -> bool:
    """With a signature the host believes a schema of `{"result": {"type": T}}` by the type of the value alone: then
    the schema must say nothing else."""
    if schema is None:
        return True
    inner = schema.get("properties", {})
    inner = inner.get("result", {}) if isinstance(inner, dict) else {}
    if not isinstance(inner, dict) or inner.keys() != {"type"}:
        return True
    return (
        schema.get("type") == "object"
        and schema.keys() <= _PLAIN_OBJECT
        and schema["properties"].keys() == {"result"}
        and set(schema.get("required", ())) <= {"result"}
        and schema.get("additionalProperties", True) in (True, False)
    )


def quick_look(schema: Mapping[str, Any]) -> Take | None:
    """A function that gives back arguments which are right for sure, and None for all others; it never raises."""
    table: dict[str, frozenset[type]] = {}
    closed: dict[str, frozenset[str]] = {}
    for name, one in schema.get("properties", {}).items():
        kinds = _kinds_of(one)
        if kinds is not None:
            table[name] = kinds
            if "enum" in one:
                closed[name] = frozenset(one["enum"])
    required = frozenset(schema.get("required", ()))
    if not required <= table.keys():
        return None
    count = len(schema.get("properties", {}))
    unknown: frozenset[type] = frozenset()

    def take(arguments: Any) -> dict[str, Any] | None:
        if arguments.__class__ is not dict:
            return None
        for name, value in arguments.items():
            kind = value.__class__
            if kind not in table.get(name, unknown):
                return None
            if kind is int:
                if not LEAST < value < MOST:
                    return None
            elif kind is float and value - value != 0:
                return None
            if name in closed and value not in closed[name]:
                return None
        if len(arguments) != count and not required <= arguments.keys():
            return None
        taken: dict[str, Any] = arguments
        return taken

    return take


def _kinds_of(schema: Any) -> frozenset[type] | None:
    """The types of which every value fits (if it is in `enum`, where there is one); None: not to be told by type."""
    if not isinstance(schema, dict):
        return None
    declared = schema.get("type")
    names = (declared,) if isinstance(declared, str) else declared if isinstance(declared, (list, tuple)) else ()
    if not names or any(name not in _TYPES for name in names if isinstance(name, str)):
        return None
    beyond = schema.keys() - _ANNOTATIONS - {"type"}
    if beyond == {"enum"}:
        if (
            names == ("string",)
            and isinstance(schema["enum"], list)
            and all(type(one) is str for one in schema["enum"])
        ):
            return frozenset((str,))
        return None
    return None if beyond else frozenset(kind for name in names for kind in _TYPES[name])
