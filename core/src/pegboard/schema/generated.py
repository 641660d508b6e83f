"""Schemas that fastjsonschema holds as they are, for what it says yes to.

fastjsonschema turns a schema into Python source, which is many times as fast as any walk. It deviates from the
standard in places; so a schema is given to it where it says no more than keywords that were read against its source,
and only its yes counts: whatever the generated code refuses, or stumbles over, the walker (`explain`) judges. Left to
the walker are

- `const`, which it compiles into a format string, and `multipleOf`, which it computes in rounded decimals;
- `contentEncoding` and `contentMediaType`, which it decodes the value by;
- patterns that Python reads otherwise than ECMA-262 (`patterns.is_alike`), and all of `patternProperties`;
- `uniqueItems` of what is not plain: it tells `[true]` from `(true,)`;
- a list of `items`, and every keyword that is rare or new, which it would ignore;
- `$ref` with neighbours that say something, one that is not `#/$defs/NAME` or `#/definitions/NAME`, two names that are
  the same but for case or punctuation (its functions have one name then), and circles, which nothing would bound.

Defaults, formats and detailed messages are switched off, and what stays is a copy: it writes into what it is given.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from pegboard._frozen import thaw
from pegboard.schema.flat import FITTING
from pegboard.schema.keywords import KEYWORDS, dialect_of
from pegboard.schema.patterns import is_alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["generated", "steps_of"]

VALUES_A_STEP = 20
"""How many values of an enum are compared in the time of one step."""
UNIQUE = 3
"""What it costs to tell whether items are unique, in steps for each."""
TRIED = 2
"""What an alternative costs beside its own steps: it may end in an exception."""

_REFERENCE = re.compile(r"#/(?:\$defs|definitions)/([A-Za-z0-9_.-]+)")
_ANNOTATIONS = frozenset(
    ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "$comment")
)
_CHEAP = _ANNOTATIONS | frozenset(
    (
        "type",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "required",
    )
)
_DEFINITIONS = ("$defs", "definitions")
_MISREAD = ("id", "$recursiveRef", "$recursiveAnchor")
"""No keywords here, and keywords to fastjsonschema, in this version or by another draft."""


class _NotHeldError(Exception):
    pass


def steps_of(schema: Any) -> int | None:
    """How many steps, from above, the generated code takes for each value inside of a value; None where the schema is
    not one that fastjsonschema holds as it is.

    Args:
        schema: a schema without faults.

    .. versionadded:: 0.1
    """
    if not isinstance(schema, dict) or dialect_of(schema) is None:
        return None
    count = _Count(schema)
    try:
        return count.steps({name: value for name, value in schema.items() if name != "$schema"})
    except (_NotHeldError, RecursionError):
        return None


class _Count:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._known: dict[str, int] = {}
        self._functions: dict[str, str] = {}

    def steps(self, schema: Any) -> int:
        """What looks at the value itself is added up, and what looks into it counts by its largest part: what nests
        is paid for by the values there."""
        if not isinstance(schema, dict):
            return 1
        if "$ref" in schema:
            if not schema.keys() <= _ANNOTATIONS | {"$ref", *_DEFINITIONS}:
                raise _NotHeldError
            return 1 + self.referred(schema["$ref"])
        count, below = 1, 0
        for keyword, value in schema.items():
            if keyword in _CHEAP or keyword in _DEFINITIONS:
                continue
            if keyword == "properties":
                below = max(below, 0, *map(self.steps, value.values())) if value else below
            elif keyword in ("items", "additionalProperties") and isinstance(value, (dict, bool)):
                below = max(below, self.steps(value))
            elif keyword in ("anyOf", "oneOf", "allOf"):
                count += sum(TRIED + self.steps(item) for item in value)
            elif keyword == "enum" and not any(isinstance(item, (dict, list, tuple)) for item in value):
                count += len(value) // VALUES_A_STEP
            elif keyword == "uniqueItems" and (not value or _is_plain(schema.get("items"))):
                count += UNIQUE
            elif (keyword != "pattern" or not is_alike(value)) and (keyword in KEYWORDS or keyword in _MISREAD):
                raise _NotHeldError
        return count + below

    def referred(self, ref: str) -> int:
        """The steps of a definition."""
        found = _REFERENCE.fullmatch(ref)
        target = self.root.get(ref.split("/")[1], {}).get(found[1]) if found else None
        function = re.sub("[^a-z0-9]", "_", ref.lower()).rstrip("_")
        if target is None or self._functions.setdefault(function, ref) != ref or self._known.get(ref) == 0:
            raise _NotHeldError
        if ref not in self._known:
            self._known[ref] = 0
            self._known[ref] = self.steps(target)
        return self._known[ref]


def _is_plain(items: Any) -> bool:
    types = items.get("type") if isinstance(items, dict) else None
    names = [types] if isinstance(types, str) else types or ()
    return bool(names) and all(name in FITTING for name in names)


def generated(schema: Any) -> Callable[[Any], object] | None:
    """Compile a schema that has `steps_of`; None where fastjsonschema cannot after all.

    The function returns where a value is right, and raises anything where it may be wrong.

    .. versionadded:: 0.1
    """
    import fastjsonschema  # 12 ms that only the first validated call pays

    try:
        plain = _in_place(thaw(schema))
        return fastjsonschema.compile(
            plain, handlers=_NoHandlers(), use_default=False, use_formats=False, detailed_exceptions=False
        )
    except Exception:  # noqa: BLE001 - deeper than Python nests, or what nothing can satisfy: the walker is as right
        return None


def _in_place(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with each definition that is referred to once in the place of its reference: a function of generated
    code for each would take as long as all that it looks at."""
    # Inlining, as a compiler does with a function of one caller: the code grows by nothing.
    parts = list(_reached(schema, schema, set()))
    uses = Counter(part["$ref"] for part in parts if "$ref" in part)
    for part in parts:
        target = _target(schema, part["$ref"]) if uses[part.get("$ref")] == 1 else None
        if isinstance(target, dict):
            del part["$ref"]
            part.update({keyword: value for keyword, value in target.items() if keyword not in _DEFINITIONS})
    return schema


def _reached(root: dict[str, Any], schema: Any, known: set[str]) -> Iterator[dict[str, Any]]:
    """A schema, and every schema that it applies: what nothing refers to may go round in a circle."""
    if not isinstance(schema, dict):
        return
    yield schema
    if "$ref" in schema and schema["$ref"] not in known:
        known.add(schema["$ref"])
        yield from _reached(root, _target(root, schema["$ref"]), known)
    inner = [schema.get("items"), schema.get("additionalProperties"), *schema.get("properties", {}).values()]
    for keyword in ("anyOf", "oneOf", "allOf"):
        inner += schema.get(keyword, ())
    for part in inner:
        yield from _reached(root, part, known)


def _target(root: dict[str, Any], ref: str) -> Any:
    _, kind, name = ref.split("/")
    return root[kind][name]


class _NoHandlers(dict[str, Any]):
    """Answers for every scheme that nothing is fetched; what is compiled here points nowhere outside anyway."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Any:
        raise ValueError("references are never fetched")
