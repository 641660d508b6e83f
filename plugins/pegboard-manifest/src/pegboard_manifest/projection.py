"""What a model gets of a schema: all that it needs of the shared definitions, and nothing else.

In a manifest a schema says `{"$ref": "#/$defs/NAME"}` and means the manifest's own definitions. A model sees one schema
at a time, so what it refers to has to stand in it: put in place where it is small, used once and leads back to nothing;
as a definition of the schema's own otherwise. Cycles stay cycles.

Invariants: nothing in the outcome points outside of it, or to nothing; it accepts the very values that the schema
accepted with all definitions in reach; the order of keys is that of the source, so the same input gives the same bytes.
A schema that refers to nothing is given back as it is.

Only `#/$defs/NAME` and pointers below it are references here. `$id`, anchors and dynamic references, by which a schema
could mean another document, are refused.
"""

from __future__ import annotations

import json
import marshal
from typing import TYPE_CHECKING, Any

from pegboard.limits import SCHEMA_LEVELS
from pegboard.schema import SCHEMA_KEYWORDS, SCHEMAS_BY_NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

SMALL = 1_500
"""Up to so many characters a definition that is used once is put in the place of its reference."""
MAX_DEFINITIONS = 20_000
PREFIX = "#/$defs/"
REFERS_OUTSIDE = frozenset({"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"})
ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"}
)

Schema = Any


class ProjectionError(ValueError):
    """A schema refers to what is not there, or to what may not be referred to; `ref` is how it says so.

    .. versionadded:: 0.1
    """

    def __init__(self, ref: str, why: str) -> None:
        super().__init__(f"{ref[:80]!r} {why}")
        self.ref = ref


def project(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with what it needs of `defs`, and no reference to the outside.

    Args:
        schema: of a tool of a manifest; it may have `$defs` of its own, of other names.
        defs: the manifest's definitions.

    Raises:
        ProjectionError: it refers to a definition that is not there, or by other means than `#/$defs/NAME`.

    .. versionadded:: 0.1
    """
    if not may_refer(schema):
        return schema
    return _Projection(schema, defs).made()


def may_refer(value: Any) -> bool:
    """Whether anything in a value looks like a reference; a look at every key, and no more.

    Most schemas hold no dollar sign at all, and written out in one go that is seen ten times as fast.
    """
    try:
        if b"$" not in marshal.dumps(value):
            return False
    except ValueError:  # a subclass of dict or list, or what is nested too deep to be written so
        pass
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            for key, inner in item.items():
                if key.__class__ is str and key[:1] == "$" and (key == "$ref" or key in REFERS_OUTSIDE):
                    return True
                if inner.__class__ is not str and isinstance(inner, (dict, list)):
                    waiting.append(inner)
        elif isinstance(item, list):
            waiting += [inner for inner in item if isinstance(inner, (dict, list))]
    return False


def subschemas(schema: Schema) -> Iterator[Schema]:
    """Every schema directly inside a schema.

    .. versionadded:: 0.1
    """
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in SCHEMAS_BY_NAME:
            if isinstance(value, dict):
                yield from (item for item in value.values() if isinstance(item, (dict, bool)))
        elif key in SCHEMA_KEYWORDS and isinstance(value, list):
            yield from value
        elif key in SCHEMA_KEYWORDS and isinstance(value, (dict, bool)):
            yield value


def references(schema: Schema) -> Iterator[str]:
    """Every reference in a schema, where a schema stands and not where data does.

    Raises:
        ProjectionError: something in it means another document.
    """
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for key in one:
                if key in REFERS_OUTSIDE:
                    raise ProjectionError(str(key), "is not read in a manifest: refer by #/$defs/NAME")
            if "$ref" in one:
                yield _text(one["$ref"])
            waiting += subschemas(one)


def with_own(defs: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest's definitions and a schema's own.

    Raises:
        ProjectionError: a name stands for two things, and what a reference to it means would be anybody's guess.
    """
    for name in own.keys() & defs.keys():
        if own[name] != defs[name]:
            raise ProjectionError(PREFIX + _escaped(name), "is a definition of the manifest and another of the schema")
    return {**defs, **own}


def name_of(ref: str) -> str:
    """The definition that a reference means, or means a part of.

    Raises:
        ProjectionError: it is not of the form `#/$defs/NAME`.
    """
    if not ref.startswith(PREFIX):
        raise ProjectionError(ref, "is not a reference that is read here: write #/$defs/NAME")
    return _unescaped(ref[len(PREFIX) :].partition("/")[0])


def resolve(ref: str, defs: Mapping[str, Any]) -> Schema:
    """What a reference means.

    Raises:
        ProjectionError: nothing, or no schema.
    """
    name = name_of(ref)
    if name not in defs:
        raise ProjectionError(ref, "is not there")
    here: Any = defs[name]
    for part in ref[len(PREFIX) :].split("/")[1:]:
        step = _unescaped(part)
        if isinstance(here, dict) and step in here:
            here = here[step]
        elif isinstance(here, list) and step.isascii() and step.isdigit() and len(step) < 6 and int(step) < len(here):
            here = here[int(step)]
        else:
            raise ProjectionError(ref, "points to nothing in its definition")
    if not isinstance(here, (dict, bool)):
        raise ProjectionError(ref, "points to no schema")
    return here


def _text(ref: Any) -> str:
    if not isinstance(ref, str):
        raise ProjectionError(str(ref), "is not text")
    return ref


def _unescaped(part: str) -> str:
    if "%" in part:
        from urllib.parse import unquote

        part = unquote(part)
    return part.replace("~1", "/").replace("~0", "~")


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


class _Projection:
    def __init__(self, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> None:
        own = schema.get("$defs")
        self.schema = {key: value for key, value in schema.items() if key != "$defs"}
        self.defs = with_own(defs, own) if isinstance(own, dict) else defs
        self.uses: dict[str, int] = {}
        self.partly: set[str] = set()
        self.leads_to: dict[str, set[str]] = {}
        self.kept: list[str] = []
        """The definitions that are referred to; one that is copied may add others."""
        self._depths: dict[str, int] = {}

    def made(self) -> dict[str, Any]:
        self._count(self.schema)
        self.straight = self._in_no_circle()
        self.inlined = {name for name in self.uses if self._may_stand_in_place(name)}
        projected: dict[str, Any] = self._copy(self.schema, 0)
        local: dict[str, Any] = {}
        while self.kept:
            name = self.kept.pop()
            if name not in local:
                local[name] = self._copy(self.defs[name], 2)
        if local:
            projected["$defs"] = dict(sorted(local.items()))
        return projected

    def _count(self, schema: Schema) -> None:
        """Find every definition that is in reach, and how often each is referred to."""
        waiting: list[tuple[str | None, Schema]] = [(None, schema)]
        while waiting:
            owner, one = waiting.pop()
            for ref in references(one):
                resolve(ref, self.defs)
                name = name_of(ref)
                if owner is not None:
                    self.leads_to.setdefault(owner, set()).add(name)
                if ref != PREFIX + _escaped(name):
                    self.partly.add(name)
                if name not in self.uses:
                    if len(self.uses) >= MAX_DEFINITIONS:
                        raise ProjectionError(ref, f"is one definition too many: at most {MAX_DEFINITIONS:,}")
                    self.uses[name] = 0
                    waiting.append((name, self.defs[name]))
                self.uses[name] += 1

    def _may_stand_in_place(self, name: str) -> bool:
        if self.uses[name] > 1 or name in self.partly or name not in self.straight:
            return False
        return len(json.dumps(self.defs[name])) <= SMALL

    def _in_no_circle(self) -> set[str]:
        """The definitions that lead back to themselves by no way: taken away from either end of every row, each looked
        at once, however long the rows are. What stands between two circles stays with them."""
        led_from: dict[str, set[str]] = {}
        for name, targets in self.leads_to.items():
            for target in targets:
                led_from.setdefault(target, set()).add(name)
        return _taken_away(self.uses, self.leads_to, led_from) | _taken_away(self.uses, led_from, self.leads_to)

    def _copy(self, schema: Schema, depth: int) -> Schema:
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return self._copy_reference(schema, depth)
        return {key: self._copy_member(key, value, depth + 1) for key, value in schema.items()}

    def _copy_member(self, key: str, value: Any, depth: int) -> Any:
        if key in SCHEMAS_BY_NAME and isinstance(value, dict):
            return {name: self._copy(item, depth + 1) for name, item in value.items()}
        if key in SCHEMA_KEYWORDS and isinstance(value, list):
            return [self._copy(item, depth + 1) for item in value]
        return self._copy(value, depth) if key in SCHEMA_KEYWORDS else value

    def _copy_reference(self, schema: dict[str, Any], depth: int) -> Schema:
        ref = schema["$ref"]
        name = name_of(ref)
        beside = {key: self._copy_member(key, value, depth + 1) for key, value in schema.items() if key != "$ref"}
        if name not in self.inlined or depth > SCHEMA_LEVELS:
            self.kept.append(name)
            return {"$ref": ref, **beside}
        target = self._copy(self.defs[name], depth + 1)
        if not beside:
            return target
        if isinstance(target, dict) and beside.keys() <= ANNOTATIONS:
            return {**target, **beside}
        parts = [target, *beside.pop("allOf", [])]  # what stands beside a reference holds as well as what it means
        return {**beside, "allOf": parts}


def _taken_away(
    names: Collection[str], after: Mapping[str, Collection[str]], before: Mapping[str, Collection[str]]
) -> set[str]:
    """The names that are left with nothing after them, one after the other."""
    left = {name: len(after.get(name, ())) for name in names}
    waiting = [name for name, count in left.items() if not count]
    taken: set[str] = set()
    while waiting:
        name = waiting.pop()
        taken.add(name)
        for other in before.get(name, ()):
            left[other] -= 1
            if not left[other]:
                waiting.append(other)
    return taken
