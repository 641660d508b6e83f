"""Check a schema when its tool is registered, so that no call fails because of it.

Checked are the values of keywords, patterns, references (each points somewhere, and none circles back to the same value
without a step down into it, or goes on for long before one) and bounds on size and depth. A keyword or format that
nobody knows is a mistake in a plugin's own schema, where it is misspelt; in a foreign one it is an annotation.
The table of keywords is `pegboard.schema.keywords`; what the core's own validator leaves to others is
`pegboard.validation.DECLINED`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard._frozen import FrozenDict
from pegboard.errors import Fault
from pegboard.limits import JSON_LEVELS, PLAIN_LEVELS
from pegboard.schema import patterns
from pegboard.schema.jsontext import check_value, shorten, shorten_text
from pegboard.schema.keywords import (
    DIALECTS,
    DRAFT_7,
    FORMATS,
    IN_PLACE,
    KEYWORDS,
    TYPES,
    Dialect,
    dialect_of,
    subschemas,
)
from pegboard.schema.refs import References, base_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pegboard.errors import Step

    Path = tuple[Step, ...]
    Shape = Callable[[Any, Path, Dialect], Iterator[Fault]]
    """Gives the faults of the value of a keyword."""

MAX_FAULTS = 50
MAX_VALUES = 50_000
"""How many JSON values a schema may consist of."""
MAX_CHARACTERS = 1_000_000
"""How long all its texts may be together."""
MAX_REFERENCES = 64
"""How many references may follow one another without a step down into the value."""
MAX_COMPILED = 1_200
"""How many values a schema may consist of for code to be generated from it."""
LONG_TEXT = 64
_ANNOTATIONS = frozenset({"title", "description", "format", "$comment", "$schema", "contentEncoding"})
MAX_PLAIN = 20_000

_TYPE_NAMES = frozenset(TYPES)


def _near(word: str, known: Iterable[str]) -> str | None:
    from pegboard.schema.near import nearest  # right schemas need none

    return nearest(word[:100], known)


def faults_of(schema: Any, *, foreign: bool) -> list[Fault]:
    """What is wrong with a schema of draft 7 or 2020-12 (`$schema` says which, 2020-12 where it does not).

    Args:
        schema: any Python value.
        foreign: whether it came from outside; then what is unknown in it is an annotation (see `annotations_of`).

    Returns:
        At most `MAX_FAULTS` faults, with paths into the schema; none where it is right. A schema of another dialect is
        not looked into: no validator here holds it (see `pegboard.validation.why_declined`).

    .. versionadded:: 0.1
    """
    global _last_looked_at
    last = _last_looked_at  # another host's thread may replace it meanwhile
    if schema is last[0] and foreign is last[1]:  # as with `is_plain`
        return list(last[2])
    faults = _faults_of(schema, foreign=foreign)
    if type(schema) is FrozenDict:
        _last_looked_at = (schema, foreign, tuple(faults))
    return faults


def _faults_of(schema: Any, *, foreign: bool) -> list[Fault]:
    if not isinstance(schema, (dict, bool)):
        return [Fault((), "a schema, which is an object", shorten(schema))]
    if fault := check_value(schema, max_depth=JSON_LEVELS, max_nodes=MAX_VALUES) or _too_long(schema):
        return [fault]
    dialect = dialect_of(schema)
    if dialect is None:
        named = schema.get("$schema") if isinstance(schema, dict) else None
        if foreign and isinstance(named, str):
            return []
        return [Fault(("$schema",), f"one of {', '.join(sorted(DIALECTS))}", shorten(named))]
    faults: list[Fault] = []
    _look_at(schema, (), dialect, faults, foreign=foreign)
    if not faults:
        faults += _reference_faults(schema, dialect)
    return faults[:MAX_FAULTS]


def is_plain(schema: Any) -> bool:
    """Whether a schema is of the few keywords that most tools need, each with a right value: then it has no faults,
    every validator of this project holds it, and nothing more needs to be looked at.

    A tenth of the price of `faults_of`, which matters where tools are registered by the thousand. False says nothing.

    .. versionadded:: 0.1
    """
    global _last_plain
    last, before = _last_plain  # another host's thread may replace it meanwhile
    if schema is last:  # every validator on the board asks for it, one after the other
        return True
    if schema is before:  # tools that answer alike share an output schema
        _last_plain = before, last
        return True
    plain = isinstance(schema, dict) and 0 <= _plain_size(schema, 0) <= MAX_PLAIN
    if plain and type(schema) is FrozenDict:
        _last_plain = schema, last
    return plain


_last_plain = FrozenDict(), FrozenDict()
_last_looked_at: tuple[FrozenDict, bool, tuple[Fault, ...]] = (FrozenDict(), False, ())


def is_large(schema: Any) -> bool:
    """Whether a schema, one without faults, is of more than `MAX_COMPILED` values, long texts counted as some.

    Code is generated from every value of it, those of an enum included; the loop waits for it, some 25 µs each.
    Annotations count for nothing. A schema that is large is known to be so after as many steps.
    """
    size, waiting = 0, [schema]
    while waiting and size <= MAX_COMPILED:
        item = waiting.pop()
        size += 1
        if isinstance(item, dict):
            for name, value in item.items():
                if not (isinstance(value, str) and name in _ANNOTATIONS):
                    size += len(name) // LONG_TEXT
                    waiting.append(value)
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, str):
            size += len(item) // LONG_TEXT
    return size > MAX_COMPILED


_NOT_PLAIN = -1_000_000_000
_PLAIN_LIMITS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_PLAIN_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_PLAIN_SCALARS = frozenset({str, int, float, bool, type(None)})


def _plain_size(schema: dict[str, Any], depth: int) -> int:
    """The characters of a plain schema, roughly; below zero where it is not plain."""
    size = len(schema)
    for name, value in schema.items():
        kind = value.__class__
        if name == "type":
            if kind is str and value in _TYPE_NAMES:
                continue
            names = value if isinstance(value, list) and value else (None,)
            if not all(item.__class__ is str and item in _TYPE_NAMES for item in names) or len(set(names)) < len(names):
                return _NOT_PLAIN
        elif name == "description" or name == "title":
            if kind is not str or not value.isascii():
                return _NOT_PLAIN
            size += len(value)
        elif name == "properties":
            if not isinstance(value, dict) or depth > PLAIN_LEVELS:
                return _NOT_PLAIN
            for key, item in value.items():
                if key.__class__ is not str or not key.isascii() or not isinstance(item, dict):
                    return _NOT_PLAIN
                size += len(key) + _plain_size(item, depth + 1)
        elif name == "items" or name == "additionalProperties":
            if isinstance(value, dict) and depth <= PLAIN_LEVELS:
                size += _plain_size(value, depth + 1)
            elif kind is not bool:
                return _NOT_PLAIN
        elif name == "anyOf":
            if not isinstance(value, list) or not value or depth > PLAIN_LEVELS:
                return _NOT_PLAIN
            for item in value:
                size += _plain_size(item, depth + 1) if isinstance(item, dict) else _NOT_PLAIN
        elif name == "required" or name == "enum":
            texts = set(map(_text_or_none, value)) if isinstance(value, list) else {None}
            if None in texts or len(texts) < len(value):
                return _NOT_PLAIN
            size += sum(map(len, value))
        elif name == "default":
            if (
                kind not in _PLAIN_SCALARS
                or (kind is not str and not _is_small(value))
                or (kind is str and not value.isascii())
            ):
                return _NOT_PLAIN
            size += len(value) if kind is str else 0
        elif name in _PLAIN_LIMITS:
            if kind not in (int, float) or not _is_small(value):
                return _NOT_PLAIN
        elif name not in _PLAIN_COUNTS or kind is not int or not 0 <= value < _SMALL:
            return _NOT_PLAIN
    return size


_SMALL = 2**53


def _is_small(value: Any) -> bool:
    return value is None or -_SMALL < value < _SMALL


def _text_or_none(value: Any) -> str | None:
    return value if value.__class__ is str and value.isascii() else None


def annotations_of(schema: Any) -> list[Fault]:
    """What a foreign schema says that nobody here knows: unknown keywords and formats, for `doctor` to report.

    Args:
        schema: a schema for which `faults_of(schema, foreign=True)` has nothing.

    .. versionadded:: 0.1
    """
    dialect = dialect_of(schema)
    faults: list[Fault] = []
    if dialect is not None:
        _look_at(schema, (), dialect, faults, foreign=False)
    return faults[:MAX_FAULTS]


def _too_long(schema: Any) -> Fault | None:
    length, waiting = 0, [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            length += sum(map(len, item))
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
        elif isinstance(item, str):
            length += len(item)
    return (
        Fault((), f"a schema of at most {MAX_CHARACTERS:,} characters", "a longer one")
        if length > MAX_CHARACTERS
        else None
    )


def _look_at(schema: Any, path: Path, dialect: Dialect, faults: list[Fault], *, foreign: bool) -> None:
    if not isinstance(schema, dict) or len(faults) >= MAX_FAULTS:
        return
    hidden = dialect == DRAFT_7 and isinstance(schema.get("$ref"), str)
    for name, value in schema.items():
        keyword = KEYWORDS.get(name)
        if keyword is None or dialect not in keyword.dialects:
            if not foreign and not name.startswith("x-"):
                faults.append(_unknown(name, path, dialect))
        elif not hidden or name in ("$ref", "definitions", "$defs"):
            at = (*path, name)
            faults += _SHAPES[keyword.shape](value, at, dialect)
            if name == "format" and not foreign and isinstance(value, str) and value not in FORMATS:
                near = _near(value, FORMATS)
                hint = f"did you mean {near}?" if near else None
                faults.append(Fault(at, "a format that is known", shorten(value), hint))
    for steps, item in subschemas(schema, dialect):
        _look_at(item, (*path, *steps), dialect, faults, foreign=foreign)


def _unknown(name: str, path: Path, dialect: Dialect) -> Fault:
    if name in KEYWORDS:
        return Fault((*path, name), f"a keyword of {dialect}", f"one of {KEYWORDS[name].dialects[0]}")
    near = _near(name, [key for key, word in KEYWORDS.items() if dialect in word.dialects])
    hint = f"did you mean {near}?" if near else "annotations of your own begin with x-"
    return Fault((*path, name), "a keyword of JSON Schema", shorten_text(name), hint)


# References.


def _reference_faults(schema: Any, dialect: Dialect) -> list[Fault]:
    refs = References(schema, dialect)
    faults: list[Fault] = []
    edges: dict[int, list[tuple[int, Path]]] = {}
    waiting: list[tuple[Any, Path, str]] = [(schema, (), refs.root.base)]
    seen: set[int] = set()
    while waiting:
        here, path, base = waiting.pop()
        if not isinstance(here, dict) or id(here) in seen:
            continue
        seen.add(id(here))
        out = edges.setdefault(id(here), [])
        for keyword in _REFERENCES:
            ref = here.get(keyword)
            if not isinstance(ref, str) or (keyword == "$dynamicRef" and dialect == DRAFT_7):
                continue
            target = refs.resolve(ref, base)
            if target is not None:
                if not isinstance(target.schema, bool) and id(target.schema) not in seen:
                    # It may stand where no schema does, under a keyword that nobody knows.
                    _look_at(target.schema, (*path, keyword), dialect, faults, foreign=True)
                    waiting.append((target.schema, (*path, keyword), target.base))
                out.append((id(target.schema), (*path, keyword)))
            elif not refs.is_remote(ref, base):
                faults.append(Fault((*path, keyword), "a reference to a schema in this schema", shorten(ref)))
        for steps, item in subschemas(here, dialect):
            waiting.append((item, (*path, *steps), base_inside(item, base, dialect)))
            if steps[0] in IN_PLACE:
                out.append((id(item), (*path, *steps)))
    return faults or _circles(edges)


def _circles(edges: dict[int, list[tuple[int, Path]]]) -> list[Fault]:
    """Depth first, without recursion: an edge back to a schema that is still being left is a circle, and more than
    `MAX_REFERENCES` edges that are references, one after the other, are too many for the stack of any validator."""
    # White, grey and black of the textbook (Cormen et al., "Introduction to Algorithms", depth-first search): what is
    # in none of the two, in `active`, in `longest`.
    longest: dict[int, int] = {}  # for a schema that was left: the references that follow one another from it on
    for start in edges:
        active = {start}
        stack = [(start, iter(edges[start]))]
        while stack:
            here, out = stack[-1]
            for target, path in out:
                if target in active:
                    return [Fault(path, "a reference that steps down into the value before it comes back", "a circle")]
                if target not in longest and target in edges:
                    active.add(target)
                    stack.append((target, iter(edges[target])))
                    break
            else:
                counts = [longest.get(target, 0) + (path[-1] in _REFERENCES) for target, path in edges[here]]
                longest[here] = max(counts, default=0)
                if longest[here] > MAX_REFERENCES:
                    path = edges[here][counts.index(longest[here])][1]
                    return [Fault(path, f"at most {MAX_REFERENCES} references to the same value", "a longer chain")]
                active.discard(here)
                stack.pop()
    return []


_REFERENCES = ("$ref", "$dynamicRef")


# Shapes of keyword values: each gives the faults of one value.


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _that(holds: Callable[[Any], bool], words: str) -> Shape:
    """The shape of a value of which one thing is asked."""

    def faults(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
        if not holds(value):
            yield Fault(path, words, shorten(value))

    return faults


def _types(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not names:
        yield Fault(path, "the name of a type, or some of them", shorten(value))
        return
    for name in names:
        if name not in TYPES:
            near = _near(name, TYPES) if isinstance(name, str) else None
            yield Fault(path, f"one of {', '.join(TYPES)}", shorten(name), f"did you mean {near}?" if near else None)
    if all(isinstance(name, str) for name in names) and len(set(names)) < len(names):
        yield Fault(path, "types that differ", shorten(value))


def _names(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        yield Fault(path, "an array of names", shorten(value))
    elif len(set(value)) < len(value):
        yield Fault(path, "names that differ", shorten(value))


def _pattern(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault(path, "a regular expression", shorten(value))
        return
    try:
        patterns.compiled(value)
    except patterns.PatternError as problem:
        yield Fault(path, "a regular expression", shorten(value), str(problem))
    except patterns.ForeignPatternError:
        pass  # right as far as can be told here; a validator that knows better will say


_schema = _that(lambda value: isinstance(value, (dict, bool)), "a schema")


def _schemas(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    if not isinstance(value, (list, tuple)) or not value:
        yield Fault(path, "an array of at least one schema", shorten(value))
        return
    for n, item in enumerate(value):
        yield from _schema(item, (*path, n), dialect)


def _items(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    if not isinstance(value, (list, tuple)):
        yield from _schema(value, path, dialect)
    elif dialect != DRAFT_7:
        yield Fault(path, "a schema", shorten(value), "2020-12 calls this prefixItems")
    elif value:  # an empty one is right in draft 7, other than elsewhere
        yield from _schemas(value, path, dialect)


def _by_name(each: Shape) -> Shape:
    def faults(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(path, "an object", shorten(value))
            return
        for name, item in value.items():
            yield from each(item, (*path, name), dialect)

    return faults


def _by_pattern(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    yield from _by_name(_schema)(value, path, dialect)
    for pattern in value if isinstance(value, dict) else ():
        yield from _pattern(pattern, (*path, pattern), dialect)


def _dependency(value: Any, path: Path, dialect: Dialect) -> Iterator[Fault]:
    return (_names if isinstance(value, (list, tuple)) else _schema)(value, path, dialect)


_SHAPES: dict[str, Shape] = {
    "anything": _that(lambda value: True, "anything"),
    "text": _that(lambda value: isinstance(value, str), "text"),
    "boolean": _that(lambda value: isinstance(value, bool), "true or false"),
    "object": _that(lambda value: isinstance(value, dict), "an object"),
    "array": _that(lambda value: isinstance(value, (list, tuple)), "an array"),
    "number": _that(_is_number, "a number"),
    "number above zero": _that(lambda value: _is_number(value) and value > 0, "a number above zero"),
    # A whole number may be written with a fraction of zero (2020-12, core, 6.3).
    "count": _that(
        lambda value: _is_number(value) and value >= 0 and value == int(value), "a whole number, zero or above"
    ),
    "types": _types,
    "names": _names,
    "names by name": _by_name(_names),
    "pattern": _pattern,
    "schema": _schema,
    "schemas": _schemas,
    "schemas by name": _by_name(_schema),
    "schemas by pattern": _by_pattern,
    "items": _items,
    "dependencies": _by_name(_dependency),
}
