"""The type of a parameter that no annotation gives: by the words of its docstring, by its use, by its default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard_manifest import sanitise
from pegboard_toolgen.discover._shapes import TEXT, Shape
from pegboard_toolgen.discover._types import MISSING, Scope, constant, list_of, parse, shape_of, unite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard_toolgen.discover._bodies import Facts

_WORDS: Mapping[str, Shape] = {
    "int": Shape({"type": "integer"}),
    "integer": Shape({"type": "integer"}),
    "float": Shape({"type": "number"}),
    "number": Shape({"type": "number"}),
    "scalar": Shape({"type": "number"}),
    "str": Shape(TEXT),
    "string": Shape(TEXT),
    "text": Shape(TEXT),
    "bool": Shape({"type": "boolean"}),
    "boolean": Shape({"type": "boolean"}),
    "none": Shape({"type": "null"}),
    "list": Shape({"type": "array"}),
    "sequence": Shape({"type": "array"}),
    "iterable": Shape({"type": "array"}),
    "array_like": Shape({"type": ["number", "array"]}),
    "tuple": Shape({"type": "array"}, ("tuple",)),
    "set": Shape({"type": "array", "uniqueItems": True}, ("set",)),
    "dict": Shape({"type": "object"}),
    "mapping": Shape({"type": "object"}),
    "callable": Shape({}, lacks="a callable"),
    "function": Shape({}, lacks="a callable"),
    "file": Shape({}, lacks="an open file"),
    "file-like": Shape({}, lacks="an open file"),
}
_LIST_OF = re.compile(r"(?:list|sequence|iterable|array|tuple)s? of (\w+?)s?")


_SAYS_LIST = re.compile(
    r"(?:^|[;:(]\s*)(?:an? |the )?(?:list|sequence|iterable|tuple|collection)s? of\b", re.IGNORECASE
)


def type_in_description(text: str) -> Shape | None:
    """What a description begins with, or goes on with: `a sequence of addresses`, `a point; tuple of two numbers`."""
    return Shape({"type": "array"}) if _SAYS_LIST.search(text.strip()) else None


def type_in_words(text: str | None, scope: Scope) -> Shape | None:
    """The type that a docstring names in words: `int or None`, `{"a", "b"}`, `list of str, optional`."""
    if not text or len(text) > 300:
        return None
    text = text.strip().rstrip(".")
    if isinstance(inner := constant(parse(text)), str):  # how griffe gives numpy's choices
        text = inner
    if not text:
        return None
    choices = re.search(r"\{([^{}]{1,200})\}", text)
    if choices or text[0] in "\"'":
        values = constant(parse(f"[{choices[1] if choices else text}]"))
        if isinstance(values, list) and values and all(isinstance(value, str | int) for value in values):
            return Shape({"enum": list(dict.fromkeys(values))})
    shapes = []
    for word in re.split(r",|\||\bor\b|\bOR\b", text):
        plain = word.strip().strip("`").lower()
        if found := _LIST_OF.fullmatch(plain):
            items = _WORDS.get(found[1])
            shapes.append(list_of(items) if items is not None and not items.coerce else Shape({"type": "array"}))
        elif plain in _WORDS:
            shapes.append(_WORDS[plain])
        elif re.fullmatch(r"[A-Za-z_][\w.]*(\[[\w., \[\]|]*\])?", word.strip()) and plain not in {
            "optional",
            "any",
            "object",
        }:
            shape = shape_of(word.strip(), scope)
            if shape.lacks is None:
                shapes.append(shape)
    return unite(shapes) if shapes else None


_STREAMS = frozenset({"read", "readline", "readlines", "write", "writelines", "seek", "fileno"})
_DATES = frozenset({"year", "month", "day", "weekday", "isoformat", "strftime", "toordinal", "isocalendar"})
_BY_USE: tuple[tuple[frozenset[str], Shape], ...] = (
    (frozenset(dir(str)), Shape(TEXT)),
    (frozenset(dir(list)), Shape({"type": "array"})),
    (frozenset(dir(dict)), Shape({"type": "object"})),
    (frozenset(dir(float) + dir(int)), Shape({"type": "number"})),
    (_DATES, Shape({"type": "string", "format": "date"}, ("date",))),
)


def type_by_use(name: str, facts: Facts) -> Shape | None:
    """The type that the attributes which a body takes of a parameter show; None where they show none."""
    asked = facts.asked.get(name)
    if name in facts.judged:
        return None
    if not asked:
        return Shape({"type": "object"}) if name in facts.keyed else None
    if asked & _STREAMS:
        return Shape({}, lacks="an open file")
    for known, shape in _BY_USE:
        if asked <= known:
            return shape
    return Shape({}, lacks=f"an object that has {sanitise(min(asked), 60)}")


def type_of_default(default: str | None) -> Shape | None:
    """The type that a default value shows."""
    value = constant(parse(default)) if default is not None else MISSING
    if value is MISSING or value is None:
        return None
    if isinstance(value, bool):
        return Shape({"type": "boolean"})
    if isinstance(value, int | float):
        return Shape({"type": "number"})
    if isinstance(value, str):
        return Shape(TEXT)
    return Shape({"type": "array"} if isinstance(value, list) else {"type": "object"})


def type_of_values(values: Sequence[object]) -> Shape | None:
    """The type that all values of examples are of; None for no values, and for several types."""
    kinds: tuple[tuple[Any, dict[str, Any]], ...] = (
        (list | tuple, {"type": "array"}),
        (dict, {"type": "object"}),
        (str, TEXT),
        (bool, {"type": "boolean"}),
        (int | float, {"type": "number"}),
    )
    found = (schema for kind, schema in kinds if values and all(isinstance(value, kind) for value in values))
    return next((Shape(dict(schema)) for schema in found), None)
