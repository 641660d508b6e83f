"""The keywords that look at a value alone, not into it: whether it holds, and what is said where it does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.errors import Fault
from pegboard.schema import patterns
from pegboard.schema.equality import identity, same
from pegboard.schema.jsontext import shorten, shorten_text
from pegboard.schema.near import NearNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from fractions import Fraction

    from pegboard.errors import Step

    Tell = Callable[[Any, Any, Sequence[Step]], Iterable[Fault]]

MAX_NAMED = 8
"""How many names or values an expectation lists."""
MAX_FOLDED = 1_000
"""How many texts of an enum are compared in lower case, where a near one is looked for."""


class Assertion(NamedTuple):
    """A keyword.

    Args:
        holds: whether a value is right, of the keyword's value and that value.
        tell: the faults of one that is not, of both and the path.
    """

    holds: Callable[[Any, Any], bool]
    tell: Tell


# Types.


def type_names(value: Any) -> tuple[str, ...]:
    """The JSON types of a value; a whole number is both integer and number, whatever Python holds it in."""
    if isinstance(value, str):
        return ("string",)
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return ("integer", "number")
    if isinstance(value, float):
        return ("number",)
    return ("object",) if isinstance(value, dict) else ("array",)


def is_of_type(expected: Any, value: Any) -> bool:
    """The keyword `type`."""
    allowed = (expected,) if isinstance(expected, str) else expected
    for name in type_names(value):  # noqa: SIM110 - a generator would cost as much again
        if name in allowed:
            return True
    return False


def tell_type(expected: Any, value: Any, path: Sequence[Step]) -> Iterable[Fault]:
    """The fault of a value that has none of the types."""
    allowed = (expected,) if isinstance(expected, str) else expected
    return (Fault(tuple(path), type_words(expected), shorten(value), None, frozenset(allowed)),)


def type_words(expected: Any) -> str:
    """What the keyword `type` asks for."""
    return expected if isinstance(expected, str) else alternatives(list(expected))


# Values.


def tell_enum(allowed: Any, value: Any, path: Sequence[Step], near: NearNames | None = None) -> Iterator[Fault]:
    """The fault of a value that is not one of those; a text that is near to one of them is meant to be that."""
    hint, expected = None, frozenset[str]()
    if isinstance(value, str):
        texts = [item for item in allowed if isinstance(item, str)]
        folded = {text.casefold(): text for text in reversed(texts[:MAX_FOLDED])}
        found = (near or NearNames()).find(value.casefold(), folded)
        hint = f"did you mean {shorten_text(folded[found[0]])}?" if found else None
        expected = frozenset(type_names(item)[0] for item in allowed if not isinstance(item, str))
    yield Fault(tuple(path), one_of(allowed), shorten(value), hint, expected)


def is_in(allowed: Any, value: Any) -> bool:
    """The keyword `enum`."""
    return any(same(item, value) for item in allowed)


# Numbers, sizes, texts.


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(holds: Callable[[Any, Any], bool], words: str) -> Assertion:
    def tell(limit: Any, value: Any, path: Sequence[Step]) -> Iterator[Fault]:
        yield Fault(tuple(path), words.format(shorten(limit)), shorten(value))

    return Assertion(lambda limit, value: not _is_number(value) or holds(limit, value), tell)


def _is_multiple(of: Any, value: Any) -> bool:
    # As the decimals that were written: 0.3 is a multiple of 0.1.
    return (_exact(value) / _exact(of)).denominator == 1


def _exact(number: Any) -> Fraction:
    from fractions import Fraction

    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


def _at_least(kind: Any, noun: str) -> Assertion:
    return Assertion(
        lambda limit, value: not isinstance(value, kind) or len(value) >= limit,
        lambda limit, value, path: (Fault(tuple(path), f"at least {counted(limit, noun)}", _measured(value)),),
    )


def _at_most(kind: Any, noun: str) -> Assertion:
    return Assertion(
        lambda limit, value: not isinstance(value, kind) or len(value) <= limit,
        lambda limit, value, path: (Fault(tuple(path), at_most(limit, noun), _measured(value)),),
    )


def _measured(value: Any) -> str:
    return f"{shorten(value)} ({len(value)} characters)" if isinstance(value, str) else shorten(value)


def _matches(pattern: Any, value: Any) -> bool:
    try:
        # A pattern that has no exact and bounded form here cannot be told; a validator declines it before.
        return not isinstance(value, str) or patterns.search(pattern, value) is not False
    except patterns.TooLongError:
        return False


def tell_pattern(pattern: Any, value: Any, path: Sequence[Step]) -> Iterator[Fault]:
    """The fault of a text that does not match, or that is too long to be searched."""
    try:
        patterns.search(pattern, value)
        expected = f"text that matches {shorten_text(pattern)}"
    except patterns.TooLongError as problem:
        expected = f"texts of at most {problem.longest:,} characters where a pattern is expected"
    yield Fault(tuple(path), expected, shorten(value))


def _twice(value: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Each item that was there before: its index, and that of the first like it."""
    seen: dict[Any, int] = {}
    for n, item in enumerate(value):
        first = seen.setdefault(identity(item), n)
        if first != n:
            yield n, first


def _is_unique(wanted: Any, value: Any) -> bool:
    return not wanted or not isinstance(value, (list, tuple)) or next(_twice(value), None) is None


def _tell_unique(wanted: Any, value: Any, path: Sequence[Step]) -> Iterator[Fault]:
    for n, first in _twice(value):
        yield Fault((*path, n), "items that differ", f"{shorten(value[n])} again, as in item {first}")


_ARRAY = (list, tuple)
ASSERTIONS: dict[str, Assertion] = {
    "type": Assertion(is_of_type, tell_type),
    "enum": Assertion(is_in, tell_enum),
    "const": Assertion(same, lambda value, got, path: tell_enum([value], got, path)),
    "minimum": _number(lambda limit, value: value >= limit, "at least {}"),
    "exclusiveMinimum": _number(lambda limit, value: value > limit, "above {}"),
    "maximum": _number(lambda limit, value: value <= limit, "at most {}"),
    "exclusiveMaximum": _number(lambda limit, value: value < limit, "below {}"),
    "multipleOf": _number(_is_multiple, "a multiple of {}"),
    # Characters are code points (2020-12, validation, 6.3.1, by RFC 8259), which is what Python counts.
    "minLength": _at_least(str, "character"),
    "maxLength": _at_most(str, "character"),
    "pattern": Assertion(_matches, tell_pattern),
    "minItems": _at_least(_ARRAY, "item"),
    "maxItems": _at_most(_ARRAY, "item"),
    "uniqueItems": Assertion(_is_unique, _tell_unique),
    "minProperties": _at_least(dict, "property"),
    "maxProperties": _at_most(dict, "property"),
}
"""In the order in which faults are told."""

FORMATS = {
    "date": "a date such as 2026-11-21",
    "date-time": "a date and time with its offset, such as 2026-11-21T09:30:00Z",
    "time": "a time such as 09:30:00",
    "duration": "an ISO 8601 duration such as PT1H30M",
    "uuid": "a UUID",
}
"""What a format calls for, in words: a person is told these, not the pattern that stands beside it."""

WORDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}",
    "pattern": "text that matches {}",
}
"""What a schema of this keyword alone expects."""


def fixed_values(schema: Any) -> list[Any] | None:
    """The values that `const` or `enum` leave; None where neither is there."""
    if isinstance(schema, dict):
        if "const" in schema:
            return [schema["const"]]
        if isinstance(schema.get("enum"), list):
            return list(schema["enum"])
    return None


# Words.


def counted(count: Any, noun: str) -> str:
    """A number of things."""
    plural = "properties" if noun == "property" else f"{noun}s"
    return f"{shorten(count)} {noun if count == 1 else plural}"


def at_most(count: Any, noun: str) -> str:
    """No more than a number of things."""
    return f"at most {counted(count, noun)}" if count else f"no {'properties' if noun == 'property' else f'{noun}s'}"


def alternatives(words: list[str]) -> str:
    """One expectation or another."""
    if len(words) > MAX_NAMED:
        return f"{', '.join(words[:MAX_NAMED])} or {len(words) - MAX_NAMED} others"
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "nothing"


def one_of(allowed: list[Any]) -> str:
    """One of some values."""
    if not allowed:
        return "nothing"
    plain = all(isinstance(item, str) and item for item in allowed)
    shown = [shorten_text(item if plain else json.dumps(item, ensure_ascii=False), 40) for item in allowed[:MAX_NAMED]]
    if len(allowed) > MAX_NAMED:
        return f"one of {', '.join(shown)} or {len(allowed) - MAX_NAMED} others"
    return f"one of {', '.join(shown)}" if len(allowed) != 1 else shown[0]
