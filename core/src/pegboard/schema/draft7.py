"""Draft 7 said in the keywords of 2020-12, so that everything behind it knows one dialect.

The two mean the same by most keywords. What differs is rewritten, where a schema of draft 7 comes in:

- an array of `items` is `prefixItems`, and `additionalItems` beside it is `items`;
- `dependencies` are `dependentRequired` and `dependentSchemas`;
- `$ref` hides what stands beside it;
- whatever is referred to, by pointer, name or URI, gets a place of its own under `$defs`, so no `$id` is needed;
- keywords that only 2020-12 has are annotations in draft 7, and are left out.

References that point outside of the document stay, as absolute URIs.
"""

from __future__ import annotations

import re
from typing import Any

from pegboard.schema.keywords import DRAFT_7, KEYWORDS
from pegboard.schema.refs import References, Target, base_inside, joined

__all__ = ["in_2020_12"]


def in_2020_12(schema: Any, root: Any = None) -> Any:
    """The same rules in 2020-12.

    Args:
        schema: a schema of draft 7, without faults.
        root: the document that `schema` is a part of, where it is not the whole: references look there.

    .. versionadded:: 0.1
    """
    if not isinstance(schema, dict):
        return schema
    work = _Conversion(References(schema if root is None else root, DRAFT_7), is_whole=root is None)
    converted = work.schema(schema, work.refs.root.base, inside=root is None)
    while work.waiting:
        name, target = work.waiting.pop()
        work.definitions[name] = work.schema(target.schema, target.base, inside=True)
    return {**converted, "$defs": work.definitions} if work.definitions else converted


class _Conversion:
    def __init__(self, refs: References, *, is_whole: bool) -> None:
        self.refs = refs
        self.definitions: dict[str, Any] = {}
        self.waiting: list[tuple[str, Target]] = []
        self._places: dict[tuple[int, str], str] = {}
        self._taken: set[str] = set()
        if is_whole:
            self._places[_key(refs.root)] = "#"

    def schema(self, schema: Any, base: str, *, inside: bool = False) -> Any:
        """The same schema; `base` is in force around it, or `inside` it."""
        if not isinstance(schema, dict):
            return schema
        if not inside:
            base = base_inside(schema, base, DRAFT_7)
        if isinstance(schema.get("$ref"), str):
            return {"$ref": self.place(schema["$ref"], base)}
        out: dict[str, Any] = {}
        for name, value in schema.items():
            keyword = KEYWORDS.get(name)
            if keyword is None:
                out[name] = value
            elif name == "dependencies":
                out |= self.dependencies(value, base)
            elif name not in _LEFT_OUT and DRAFT_7 in keyword.dialects:
                out[name] = self.value(keyword.shape, value, base)
        if isinstance(schema.get("items"), list):
            first = out.pop("items")
            out |= {"prefixItems": first} if first else {}
            if "additionalItems" in schema:
                out["items"] = self.schema(schema["additionalItems"], base)
        return out

    def dependencies(self, dependencies: dict[str, Any], base: str) -> dict[str, Any]:
        """One keyword for names and schemas, as one for each."""
        names = {name: value for name, value in dependencies.items() if isinstance(value, list)}
        schemas = {name: self.schema(value, base) for name, value in dependencies.items() if name not in names}
        return ({"dependentRequired": names} if names else {}) | ({"dependentSchemas": schemas} if schemas else {})

    def value(self, shape: str, value: Any, base: str) -> Any:
        """What stands behind a keyword."""
        if shape in ("schemas by name", "schemas by pattern"):
            return {name: self.value("schema", item, base) for name, item in value.items()}
        if shape in ("schemas", "items") and isinstance(value, list):
            return [self.schema(item, base) for item in value]
        return self.schema(value, base) if shape in ("schema", "items") else value

    def place(self, ref: str, base: str) -> str:
        """Where the target of a reference stands in the new document."""
        target = self.refs.resolve(ref, base)
        if target is None:
            return joined(base, ref)
        if (key := _key(target)) not in self._places:
            name = self.name(ref)
            self._places[key] = f"#/$defs/{name}"
            self.waiting.append((name, target))
        return self._places[key]

    def name(self, ref: str) -> str:
        """A name that is not taken, made of the last step of a reference."""
        wanted = re.sub(r"[^A-Za-z0-9_.-]", "_", re.split("[/#]", ref)[-1]) or "root"
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}-{count}"
        self._taken.add(name)
        return name


def _key(target: Target) -> tuple[int, str]:
    return id(target.schema), target.base


_LEFT_OUT = frozenset(("$schema", "$id", "$ref", "$defs", "definitions", "additionalItems"))
