"""Where references in a schema point: `$ref`, `$id`, anchors and JSON pointers, inside one document.

Nothing is ever fetched. A schema is looked through once; a reference is then a look-up, kept for the next time. Bases
are URIs: the `$id` in force where a reference stands. They are what makes two equal texts `#/x` point to two places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.schema.keywords import DRAFT_7, DRAFT_2020, Dialect, subschemas

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = "https://pegboard.invalid/schema"
"""The base of a document that gives itself none."""


REFERENCES: dict[Dialect, tuple[str, ...]] = {DRAFT_7: ("$ref",), DRAFT_2020: ("$ref", "$dynamicRef")}
"""The keywords that refer to a schema."""
_NOT_MET = frozenset(("$defs", "definitions", "contentSchema"))
"""Keywords whose schemas no value meets by them."""


class Target(NamedTuple):
    """What a reference points to: a schema, and the base that is in force inside it."""

    schema: Any
    base: str


class References:
    """The references of one schema document.

    Args:
        schema: the document.
        dialect: how it is read.

    .. versionadded:: 0.1
    """

    def __init__(self, schema: Any, dialect: Dialect) -> None:
        self.dialect = dialect
        self.root = Target(schema, base_inside(schema, ROOT, dialect))
        self._resources: dict[str, Any] = {ROOT: schema, self.root.base: schema}
        self._anchors: dict[str, Target] = {}
        self._dynamic: set[str] = set()
        self._known: dict[tuple[str, str], Target | None] = {}
        self._look_through(schema, ROOT)

    def resolve(self, ref: str, base: str) -> Target | None:
        """What `ref` points to, standing where `base` is in force; None where this document does not hold it."""
        key = (ref, base)
        if key not in self._known:
            self._known[key] = self._find(ref, base)
        return self._known[key]

    def resolve_dynamic(self, ref: str, base: str, entered: tuple[str, ...]) -> Target | None:
        """What `$dynamicRef` points to, where the resources `entered`, the outermost first, were entered on the way."""
        target = self.resolve(ref, base)
        uri, name = _split(joined(base, ref))
        if target is None or f"{uri}#{name}" not in self._dynamic:
            return target
        # The outermost of them counts (2020-12, core, 8.2.3.2): so a schema that extends a recursive one is met all the
        # way down.
        for resource in entered:
            if f"{resource}#{name}" in self._dynamic:
                return self._anchors[f"{resource}#{name}"]
        return target

    def is_remote(self, ref: str, base: str) -> bool:
        """Whether `ref` points outside of this document."""
        return _split(joined(base, ref))[0] not in self._resources

    def reachable(self) -> Iterator[Target]:
        """Every object schema that a value can meet, with the base inside it; definitions only where they are used."""
        waiting, seen = [self.root], set[tuple[int, str]]()
        while waiting:
            here = waiting.pop()
            if not isinstance(here.schema, dict) or (id(here.schema), here.base) in seen:
                continue
            seen.add((id(here.schema), here.base))
            yield here
            for keyword in REFERENCES[self.dialect]:
                if target := self.resolve(here.schema[keyword], here.base) if keyword in here.schema else None:
                    waiting.append(target)
            for steps, item in reversed(subschemas(here.schema, self.dialect)):
                if steps[0] not in _NOT_MET:
                    waiting.append(Target(item, base_inside(item, here.base, self.dialect)))

    def _look_through(self, schema: Any, base: str) -> None:
        if not isinstance(schema, dict):
            return
        inside = base_inside(schema, base, self.dialect)
        if inside != base:
            self._resources.setdefault(inside, schema)
        for keyword, is_dynamic in (("$anchor", False), ("$dynamicAnchor", True)):
            name = schema.get(keyword)
            if isinstance(name, str) and self.dialect != DRAFT_7:
                self._anchors.setdefault(f"{inside}#{name}", Target(schema, inside))
                if is_dynamic:
                    self._dynamic.add(f"{inside}#{name}")
        identifier = schema.get("$id")
        if self.dialect == DRAFT_7 and isinstance(identifier, str) and "$ref" not in schema:
            uri, name = _split(joined(base, identifier))
            if name:
                self._anchors.setdefault(f"{uri}#{name}", Target(schema, inside))
        for _, item in subschemas(schema, self.dialect):
            self._look_through(item, inside)

    def _find(self, ref: str, base: str) -> Target | None:
        uri, fragment = _split(joined(base, ref))
        if uri not in self._resources:
            return None
        if fragment and not fragment.startswith("/"):
            return self._anchors.get(f"{uri}#{fragment}")
        return self._follow(_unquoted(fragment), Target(self._resources[uri], uri))

    def _follow(self, pointer: str, start: Target) -> Target | None:
        here, base = start
        for part in pointer.split("/")[1:]:
            # In this order: `~01` is `~1` and no slash (RFC 6901, section 4).
            step = part.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict) and step in here:
                here = here[step]
            elif (
                isinstance(here, list) and step.isascii() and step.isdigit() and len(step) < 7 and int(step) < len(here)
            ):
                here = here[int(step)]
            else:
                return None
            base = base_inside(here, base, self.dialect)
        return Target(here, base) if isinstance(here, (dict, bool)) else None


def base_inside(schema: Any, base: str, dialect: Dialect) -> str:
    """The base in force inside `schema`, where `base` is in force around it.

    .. versionadded:: 0.1
    """
    identifier = schema.get("$id") if isinstance(schema, dict) else None
    # In draft 7 a `$ref` hides what stands beside it, `$id` too (core, 8.3); since 2019-09 it does not.
    if not isinstance(identifier, str) or (dialect == DRAFT_7 and isinstance(schema.get("$ref"), str)):
        return base
    return _split(joined(base, identifier))[0] or base


def _split(uri: str) -> tuple[str, str]:
    """A URI without its fragment, and the fragment."""
    before, _, fragment = uri.partition("#")
    return before, fragment


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def joined(base: str, ref: str) -> str:
    """A reference as a whole URI, where `base` is in force."""
    if ref.startswith("#") or not ref:
        return base + ref  # urljoin would drop a base of a scheme that it does not know, such as urn:
    from urllib.parse import urljoin  # few schemas have a base of their own, and it costs milliseconds

    try:
        return urljoin(base, ref)
    except ValueError:  # a bracketed host that is not an address
        return ref
