"""Path parameters that take slashes: `/files/{path}` of a server that routes `/files/a/b.txt` there.

OpenAPI has no word for it. What says so are marks: `{path:path}` of Starlette and `{path+}` of API Gateway, where a
document keeps them, `x-multi-segment` of GitHub, `allowReserved`; and the name of the last segment, for FastAPI keeps
no mark. The server is the judge, and answers 404 where it routes otherwise. A value that would be the path of another
operation of the document is refused by the schema.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pegboard_toolgen.discover.openapi.parameters import Field

Json = Any
MAX_OTHERS = 20
_MARKED = re.compile(r"\{(?:[+*]([A-Za-z_][\w.-]*)|([A-Za-z_][\w.-]*)(?:\+|\*|:path|:\.[*+]))\}")
_NAMED = re.compile(r"(?:^|[_-])(?:file)?path$|(?:^|[_-])(?:subpath|wildcard|catch_?all)$|[a-z]Path$", re.IGNORECASE)
_LAST = re.compile(r"/\{([^{}]+)\}$")
_SLOT = re.compile(r"\{[^{}]*\}")


def plain_path(path: str) -> tuple[str, frozenset[str]]:
    """A path with plain placeholders, and the names of those that were marked."""
    marked = frozenset(found[1] or found[2] for found in _MARKED.finditer(path))
    return _MARKED.sub(lambda found: f"{{{found[1] or found[2]}}}", path), marked


def with_slashes(
    fields: Sequence[Field], path: str, marked: Iterable[str], said: Iterable[Mapping[str, Json]], others: Iterable[str]
) -> list[Field]:
    """The fields of an operation, the last segment of its path one that takes slashes where something says so.

    Args:
        fields: of the operation.
        path: with plain placeholders.
        marked: names that the path itself marks.
        said: the parameters as the document has them.
        others: all paths of the document, with plain placeholders.
    """
    last = _LAST.search(path)
    if last is None:
        return list(fields)
    name = last[1]
    told = [one for one in said if one.get("in") == "path" and one.get("name") == name]
    says = any(one.get("x-multi-segment") is True or one.get("allowReserved") is True for one in told)
    if not (says or name in marked or _NAMED.search(name)):
        return list(fields)
    below = list(dict.fromkeys(_below(path, others)))
    if None in below or len(below) > MAX_OTHERS:
        return list(fields)

    def of(field: Field) -> Field:
        if field.place != "path" or field.wire != name or field.binding or not _is_text(field.schema):
            return field
        text = f"{field.schema.get('description', '')} It may hold slashes.".strip()
        taken = {"not": {"pattern": f"^(?:{'|'.join(filter(None, below))})$"}} if below else {}
        return attrs.evolve(
            field, binding={"multi_segment": True}, schema={**field.schema, "description": text, **taken}
        )

    return [of(field) for field in fields]


def _is_text(schema: Mapping[str, Json]) -> bool:
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "pattern", "not"}


def _below(path: str, others: Iterable[str]) -> Iterator[str | None]:
    """Patterns of values that would be the path of another operation; None where any value of two segments would."""
    own = path.split("/")
    for other in others:
        parts = other.split("/")
        rest = parts[len(own) - 1 :]
        if len(rest) < 2 or not all(_may_meet(*pair) for pair in zip(own[:-1], parts, strict=False)):
            continue
        if all(_SLOT.fullmatch(part) for part in rest):
            yield None
        first = ".+" if _SLOT.fullmatch(rest[0]) else _pattern(rest[0])
        yield "/".join([first, *map(_pattern, rest[1:])])


def _may_meet(one: str, other: str) -> bool:
    return one == other or "{" in one or "{" in other


def _pattern(segment: str) -> str:
    return "[^/]+".join(re.escape(text) for text in _SLOT.split(segment))
