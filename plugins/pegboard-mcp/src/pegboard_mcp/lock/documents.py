"""A schema taken apart: what calls are checked by, and what is only read, acted on, or known to no draft; and where its
references lead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from pegboard.schema import DRAFT_7, KEYWORDS, SCHEMA_KEYWORDS, SCHEMAS_BY_NAME, dialect_of

Step = str | int
Path = tuple[Step, ...]
Schema = Any
"""An object or a boolean."""

TEXT = frozenset(("title", "description", "$comment", "examples", "deprecated"))
"""Annotations that are read and never acted on."""
SOFT = frozenset(("default", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"))
"""Annotations that somebody may act on; no call is refused for them."""
INERT = frozenset(("$schema", "$id", "$defs", "definitions", "$vocabulary"))
"""Keywords that by themselves refuse nothing."""
_OWN_NAMES = {"$anchor", "$dynamicAnchor", "$dynamicRef"}
"""Keywords that may change what references mean."""
_BRANCHES = ("allOf", "anyOf", "oneOf")
_BESIDE = frozenset(("$ref", "$schema", "$defs", "definitions"))
"""What counts beside a reference in draft 7; it hides all else, which need not even be right."""
ANYTHING: dict[str, Any] = {}


class Parts(NamedTuple):
    """A schema taken apart: its constraints, and by place its describing texts, its other annotations, and what no
    draft knows; `places` are those of all its schemas."""

    bare: Any
    text: dict[Path, Any]
    soft: dict[Path, Any]
    odd: dict[Path, Any]
    places: set[Path]


def split(schema: Any) -> Parts:
    """Take a schema apart."""
    parts = Parts(None, {}, {}, {}, set())
    return parts._replace(bare=_bare(schema, (), parts, draft_7=dialect_of(schema) == DRAFT_7))


def _bare(schema: Any, path: Path, parts: Parts, *, draft_7: bool) -> Any:
    if isinstance(schema, (list, tuple)):
        return [_bare(item, (*path, index), parts, draft_7=draft_7) for index, item in enumerate(schema)]
    if not isinstance(schema, Mapping):
        return schema
    parts.places.add(path)
    hides = draft_7 and isinstance(schema.get("$ref"), str)
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        here = (*path, name)
        if name in TEXT:
            parts.text[here] = value
        elif name in SOFT:
            parts.soft[here] = value
        elif hides and name not in _BESIDE:
            continue
        elif name in SCHEMAS_BY_NAME and isinstance(value, Mapping):
            kept[name] = {key: _bare(item, (*here, key), parts, draft_7=draft_7) for key, item in value.items()}
        elif name in SCHEMA_KEYWORDS:
            kept[name] = _bare(value, here, parts, draft_7=draft_7)
        elif name in KEYWORDS:
            kept[name] = value
        else:
            parts.odd[here] = value
    return kept


class Document:
    """A schema in which references are followed."""

    def __init__(self, bare: Schema, *, draft_7: bool) -> None:
        self.root = bare
        self.draft_7 = draft_7
        self.references = {one["$ref"] for one in _schemas_in(bare) if "$ref" in one}
        self.definitions = {name: bare.get(name) for name in ("$defs", "definitions")}
        self.has_own_names = any(
            _OWN_NAMES & one.keys() or ("$id" in one and one is not bare) for one in _schemas_in(bare)
        )

    def follow(self, reference: str) -> Schema | None:
        """The schema that a reference points to; None where that cannot be said."""
        if reference != "#" and not reference.startswith("#/"):
            return None
        here, by_name = self.root, False
        for step in unquote(reference[2:]).split("/") if len(reference) > 1 else ():
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(here, list):
                here = here[int(step)] if step.isdecimal() and len(step) < 7 and int(step) < len(here) else None
            elif isinstance(here, dict) and (by_name or step in SCHEMA_KEYWORDS or step in SCHEMAS_BY_NAME):
                here, by_name = here.get(step), not by_name and step in SCHEMAS_BY_NAME
            else:
                return None
        return here if isinstance(here, bool) or (isinstance(here, dict) and not by_name) else None

    def resolved(self, schema: Schema) -> Schema:
        """The schema itself where it only refers to one or wraps it; an object for true."""
        while isinstance(schema, dict):
            names = schema.keys() - INERT
            inner = None
            if names == {"$ref"}:
                inner = self.follow(schema["$ref"])
            elif len(names) == 1 and (name := next(iter(names))) in _BRANCHES and len(schema[name]) == 1:
                inner = schema[name][0]
            if inner is None:
                return schema
            schema = inner
        return ANYTHING if schema else False

    def items(self, schema: dict[str, Any]) -> tuple[list[Schema], Schema]:
        """The schemas of the first items, and that of all others."""
        items = schema.get("items", True)
        if not self.draft_7:
            return schema.get("prefixItems", []), items
        return (items, schema.get("additionalItems", True)) if isinstance(items, list) else ([], items)


def _schemas_in(schema: Schema) -> Iterator[dict[str, Any]]:
    """Every schema in a schema that is an object, itself included."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            yield one
            waiting += (value for name, value in one.items() if name in SCHEMA_KEYWORDS)
            waiting += (item for name in SCHEMAS_BY_NAME & one.keys() for item in one[name].values())
