"""What a schema is made of: its parts, the references between schemas, and what may be widened without accepting
less.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pegboard.schema import KEYWORDS
from pegboard_manifest import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Json = Any

DEFS = "#/$defs/"
ANNOTATIONS = frozenset(("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"))


class UnusableError(Exception):
    """A part of a document that no tool can be made of; the message says why, and costs that part alone."""


class LostReferenceError(UnusableError):
    """A reference that leads nowhere, or where nothing is read."""


class Work:
    """A bound on what one discovery may convert, in schema nodes: a small document may name a large part often."""

    def __init__(self, limit: int = 6_000_000) -> None:
        self.limit = limit
        self.left = limit

    @property
    def is_scarce(self) -> bool:
        """Whether half of it is gone: what can be done in fewer steps has to be, so that something is left for all."""
        return self.left < self.limit // 2

    def spend(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise UnusableError("the document unfolds into more than is read")


def canonical(value: Json) -> str:
    """One text for one value, whatever the order of its keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def size_of(value: Json) -> int:
    """Bytes of a value as compact JSON in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")


def subschemas(schema: Json) -> Iterable[tuple[str, Json]]:
    """The schemas directly inside one, each with its keyword."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        shape = KEYWORDS[key].shape if key in KEYWORDS else ""
        if shape in ("schema", "items") and not isinstance(value, list):
            yield key, value
        elif shape in ("schemas", "items") and isinstance(value, list):
            for item in value:
                yield key, item
        elif shape in ("schemas by name", "schemas by pattern") and isinstance(value, dict):
            for item in value.values():
                yield key, item


_WITH_PARTS = frozenset(
    name for name, keyword in KEYWORDS.items() if "schema" in keyword.shape or keyword.shape == "items"
)


def has_parts(schema: Json) -> bool:
    """Whether there is a schema inside one; most have none, and are not walked through for that."""
    return not _WITH_PARTS.isdisjoint(schema) and any(True for _ in subschemas(schema))


def names_in(schema: Json) -> set[str]:
    """The names of `$defs` that a schema points to, itself."""
    found, waiting = set(), [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(ref := item.get("$ref"), str) and ref.startswith(DEFS):
                found.add(ref.removeprefix(DEFS))
            waiting += [inner for _, inner in subschemas(item)]
    return found


def needed(schema: Json, defs: Mapping[str, Json]) -> dict[str, Json]:
    """The `$defs` that a schema needs, directly and by others, by name."""
    found: dict[str, Json] = {}
    waiting = sorted(names_in(schema))
    while waiting:
        name = waiting.pop()
        if name not in found and name in defs:
            found[name] = defs[name]
            waiting += names_in(defs[name])
    return dict(sorted(found.items()))


def break_circles(defs: Mapping[str, Json]) -> dict[str, Json]:
    """The same schemas, where none leads to itself without a descent into a value; such references say nothing.

    A parent that chooses among its children, each of which includes its parent by `allOf`, keeps the choice: what
    `allOf` names goes first, and the rest only where a circle is left. Which references go depends on the circle alone,
    never on the order of the names.
    """
    found = dict(defs)
    for is_gentle in (True, False):
        circles = _circles({name: _in_place(schema) & found.keys() for name, schema in found.items()})
        for name, names in circles.items():
            found[name] = _without(found[name], names, is_gone=not is_gentle, is_gentle=is_gentle)
    return found


def _in_place(schema: Json) -> set[str]:
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(ref := item.get("$ref"), str):
                found.add(ref.removeprefix(DEFS))
            waiting += [
                inner
                for key, inner in subschemas(item)
                if key in _IN_PLACE_LISTS or key in _IN_PLACE or key == "dependentSchemas"
            ]
    return found


def _circles(edges: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """For each name on a circle, the names of its strongly connected part (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: set[str] = set()
    stack: list[str] = []
    found: dict[str, frozenset[str]] = {}
    for start in edges:
        if start in index:
            continue
        work = [(start, iter(edges[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            name, waiting = work[-1]
            for other in waiting:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in on_stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    part = set()
                    while name not in part:
                        part.add(last := stack.pop())
                        on_stack.discard(last)
                    if len(part) > 1 or name in edges[name]:
                        found |= dict.fromkeys(part, frozenset(part))
    return found


def _without(schema: Json, names: frozenset[str], *, is_gone: bool, is_gentle: bool) -> Json:
    """A schema whose references to `names`, where they look at the same value, say nothing.

    Args:
        schema: to look through.
        names: that may not be referred to.
        is_gone: whether a reference of this very schema goes.
        is_gentle: whether only what `allOf` names goes.
    """
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Json] = {}
    for key, value in schema.items():
        goes = not is_gentle or key == "allOf"
        if key in _IN_PLACE_LISTS and isinstance(value, list):
            found[key] = [_without(item, names, is_gone=goes, is_gentle=is_gentle) for item in value]
        elif key == "dependentSchemas" and isinstance(value, dict):
            found[key] = {
                name: _without(item, names, is_gone=goes, is_gentle=is_gentle) for name, item in value.items()
            }
        elif key in _IN_PLACE:
            found[key] = _without(value, names, is_gone=goes, is_gentle=is_gentle)
        elif key != "$ref" or not is_gone or value.removeprefix(DEFS) not in names:
            found[key] = value
    wider = {key for key in schema if found.get(key, _GONE) != schema[key]}
    return kept_wide(found, wider) if wider else schema


_GONE: Any = object()


# Wider --------------------------------------------------------------------------------------------------------------


def plain(schema: Json, defs: Mapping[str, Json]) -> Json:
    """A schema with nothing but the type of another."""
    for _ in range(20):
        if not isinstance(schema, dict):
            return schema is not False
        if "type" in schema:
            return {"type": schema["type"]}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return {}
        schema = defs.get(ref.removeprefix(DEFS), {})
    return {}


def kept_wide(found: dict[str, Json], wider: set[str]) -> dict[str, Json]:
    """A node whose keywords `wider` hold wider schemas than they did."""
    gone = {"unevaluatedProperties", "unevaluatedItems"}
    if "contains" in wider:
        gone.add("maxContains")
    if "not" in wider:
        gone.add("not")
    if "if" in wider:
        gone |= {"if", "then", "else"}
    kept = {key: value for key, value in found.items() if key not in gone}
    if "oneOf" in wider:
        kept = any_of(kept)
    return kept


def any_of(found: dict[str, Json]) -> dict[str, Json]:
    """`oneOf` as `anyOf`: wider, and open to members that overlap."""
    if "oneOf" not in found:
        return found
    if "anyOf" not in found:
        return {("anyOf" if key == "oneOf" else key): value for key, value in found.items()}
    rest = {key: value for key, value in found.items() if key != "oneOf"}
    return {**rest, "allOf": [*rest.get("allOf", []), {"anyOf": found["oneOf"]}]}


def or_null(schema: Json) -> Json:
    """A schema that also takes null, as far as its own types say."""
    if not isinstance(schema, dict):
        return {}
    types = schema.get("type")
    if isinstance(types, str) and types != "null":
        return {**schema, "type": [types, "null"]}
    if isinstance(types, list) and "null" not in types:
        return {**schema, "type": [*types, "null"]}
    return schema


def told_apart_by(schema: Mapping[str, Json]) -> str:
    """What the `discriminator` of OpenAPI says, in words: no keyword of JSON Schema does."""
    said = schema.get("discriminator")
    said = said if isinstance(said, dict) else {}
    listed: list[Json] = next((schema[key] for key in ("oneOf", "anyOf") if isinstance(schema.get(key), list)), [])
    refs = [one["$ref"] for one in listed[:20] if isinstance(one, dict) and isinstance(one.get("$ref"), str)]
    name, mapping = said.get("propertyName"), said.get("mapping")
    if not isinstance(name, str) or not refs:
        return ""
    values = {str(ref).rpartition("/")[2]: value for value, ref in mapping.items()} if isinstance(mapping, dict) else {}
    kinds = [ref.rpartition("/")[2] for ref in refs]
    told = [f"{values[kind]} ({kind})" if values.get(kind, kind) != kind else kind for kind in kinds]
    return sanitise(f"{name} says which of them it is: {', '.join(told)}.", 500, one_line=True)
