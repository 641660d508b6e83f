"""JSON from outside, bounded: text into values, and values that somebody hands over in Python.

`json` of the standard library does the parsing; what it lets through is refused here: nesting deeper than the
handlers of this host can walk, NaN and Infinity (spelled out, or as `1e999`), integers of more than 4,300 digits,
bytes that are not UTF-8 and lone surrogates, which no UTF-8 can carry on. The checks are ordered so that an ordinary
small text pays two `str.count` calls for them.

An object that names a key twice keeps the last value, as most readers do: what is checked is what runs, and nobody
after this reader sees the text again. In an envelope, which says who asks for what, it is a fault.

.. versionadded:: 0.1
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from pegboard.errors import Fault
from pegboard.limits import JSON_BYTES, JSON_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard.errors import Step

__all__ = [
    "MAX_BYTES",
    "MAX_CHECKED",
    "MAX_DEPTH",
    "MAX_DIGITS",
    "JsonTextError",
    "check_value",
    "count_nodes",
    "is_half",
    "loads",
    "shorten",
    "shorten_text",
]

MAX_FLAT = 64
"""How many members an object may have that is seen at a glance."""
MAX_DEPTH = JSON_LEVELS
"""How deep objects and arrays may nest.

.. versionadded:: 0.1
"""
MAX_BYTES = JSON_BYTES
"""The longest text that is read, in bytes.

.. versionadded:: 0.1
"""
MAX_DIGITS = 4_300
"""The longest integer, in decimal digits: what Python itself reads as text (`sys.get_int_max_str_digits`).

.. versionadded:: 0.1
"""
MAX_NODES = 1_000_000
MAX_CHECKED = 250_000
"""Values that are held against a schema at once, which takes some 100 ms.

.. versionadded:: 0.1
"""
MAX_SHOWN = 60

_TOO_BIG = 10**MAX_DIGITS
_LONG_NUMBER = f"[0-9]{{{MAX_DIGITS + 1}}}"
_STRING = r'(?s)"[^"\\]*(?:\\.[^"\\]*)*"?'
_NOT_BRACKETS = r"[^\[\]{}]+"
_SURROGATE_ESCAPE = r"\\u[dD][89a-fA-F]"
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


class JsonTextError(ValueError):
    """A text is not JSON, or more of it than is read here; the message is fit for the caller who sent it.

    Args:
        reason: what is wrong, as words.
        position: characters (bytes, where the text is not UTF-8) before the place, or None where there is no one place.

    .. versionadded:: 0.1
    """

    def __init__(self, reason: str, position: int | None = None, place: str = "") -> None:
        super().__init__(f"{reason} at {place}" if place else reason)
        self.reason = reason
        self.position = position


def _constant(text: str) -> NoReturn:
    raise JsonTextError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise JsonTextError(f"the number {shorten_text(text, 20)} is too large")
    return number


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_finite).decode


def loads(
    text: str | bytes | bytearray,
    *,
    max_depth: int = MAX_DEPTH,
    max_bytes: int = MAX_BYTES,
    is_envelope: bool = False,
) -> Any:
    """Read one JSON value.

    Args:
        text: JSON as text, or its UTF-8 bytes (a byte order mark is skipped).
        max_depth: how deep objects and arrays may nest.
        max_bytes: the longest text that is read, in bytes of bytes or characters of text.
        is_envelope: the outermost object says who asks for what, so it may name no key twice: whoever reads the text
            before or after this reader might take the other one.

    Raises:
        JsonTextError: it is not JSON (RFC 8259), or breaks a bound.

    .. versionadded:: 0.1
    """
    if len(text) > max_bytes:
        raise JsonTextError(
            f"the text is longer than {max_bytes:,} {'characters' if isinstance(text, str) else 'bytes'}"
        )
    if not isinstance(text, str):
        text = _decoded(text)
    elif not text.isascii():
        _refuse_surrogates(text)
        text = text.removeprefix("\ufeff")
    if text.count("[") + text.count("{") > max_depth and _depth(text) > max_depth:
        raise JsonTextError(f"nested more than {max_depth} levels deep")
    # Before the parser: Python reads an integer in the square of its length, and refuses one of more digits by a plain
    # ValueError (CVE-2020-10735).
    if len(text) > MAX_DIGITS and (number := re.search(_LONG_NUMBER, re.sub(_STRING, "", text))):
        raise JsonTextError(f"a number of more than {MAX_DIGITS:,} digits ({shorten_text(number[0], 20)})")
    try:
        value = _decode(text)
    except json.JSONDecodeError as problem:
        reason = problem.msg[:1].lower() + problem.msg[1:]
        raise JsonTextError(
            f"not valid JSON: {reason}", problem.pos, f"line {problem.lineno}, column {problem.colno}"
        ) from None
    except RecursionError:
        raise JsonTextError("nested too deep") from None
    if "\\u" in text and re.search(_SURROGATE_ESCAPE, text) and (fault := check_value(value, max_depth=max_depth)):
        raise JsonTextError(f"a string holds half a surrogate pair ({fault.where or 'the value'})")
    if is_envelope and type(value) is dict and (twice := _named_twice(text, value)) is not None:
        raise JsonTextError(f"the key {shorten(twice)} is there twice")
    return value


def _named_twice(text: str, value: dict[str, Any]) -> str | None:
    if "\\" not in text and all(text.count(f'"{key}"') == 1 for key in value):
        return None
    return first_twice(text)


def first_twice(text: str | bytes | bytearray) -> str | None:
    """The first key that the outermost object of a JSON text names twice."""
    outermost: list[tuple[str, Any]] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = pairs  # the outermost object ends last

    json.loads(text, object_pairs_hook=note)
    seen: set[str] = set()
    return next((key for key, _ in outermost if key in seen or seen.add(key)), None)  # type: ignore[func-returns-value]


def _decoded(data: bytes | bytearray) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise JsonTextError("not valid UTF-8", problem.start, f"byte {problem.start}") from None
    # A mark at the beginning is not part of the text (RFC 8259, section 8.1, lets a reader skip it).
    return text.removeprefix("\ufeff")


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise JsonTextError("half a surrogate pair", problem.start, f"character {problem.start}") from None


def _depth(text: str) -> int:
    brackets = re.sub(_NOT_BRACKETS, "", re.sub(_STRING, "", text))
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def check_value(value: Any, *, max_depth: int = MAX_DEPTH, max_nodes: int = MAX_NODES) -> Fault | None:
    """The first thing in a Python value that JSON cannot say, or that breaks a bound; None where there is none.

    Dicts, lists, tuples, strings, numbers, booleans and None are JSON, and so are subclasses of them. Refused are other
    types, keys that are not strings, NaN and infinities, integers of more than 4,300 digits, lone surrogates, nesting
    deeper than `max_depth` (cycles included) and more than `max_nodes` values.

    .. versionadded:: 0.1
    """
    left = max_nodes
    # A stack of iterators, one a level: depth costs memory here, never the interpreter's stack.
    stack: list[tuple[Iterator[tuple[Any, Any]], bool]] = []
    path: list[Step] = []
    step: Any = None
    item = value
    while True:
        left -= 1
        if left < 0:
            return Fault((), f"at most {max_nodes:,} values", "more")
        if isinstance(item, (dict, list, tuple)):
            if len(stack) >= max_depth:
                return Fault(tuple(path[:8]), f"at most {max_depth} levels of nesting", "a deeper value")
            is_object = isinstance(item, dict)
            stack.append((iter(item.items() if is_object else enumerate(item)), is_object))  # type: ignore[union-attr]
            path.append("")
        elif fault := _scalar_fault(item):
            return Fault(tuple(path), *fault)
        while stack:
            step, item = next(stack[-1][0], _END)
            if step is not _ENDED:
                break
            stack.pop()
            path.pop()
        else:
            return None
        if stack[-1][1] and (got := _bad_key(step)):
            return Fault(tuple(path[:-1]), "an object with text as keys", got)
        path[-1] = step


def is_flat(value: Any) -> bool:
    """Whether a value is a small object of plain values of which none can be wrong as JSON: seen at a glance, where
    `check_value` would take ten times as long. False says nothing.

    .. versionadded:: 0.1
    """
    if type(value) is not dict or len(value) > MAX_FLAT:
        return False
    for name, item in value.items():
        kind = type(item)
        if type(name) is not str or not name.isascii():
            return False
        if not (
            (kind is str and item.isascii())
            or kind is bool
            or item is None
            # Nineteen digits at most: to look for 4,300 would cost more than the rest of the glance.
            or (kind is int and -(2**63) <= item < 2**63)
            or (kind is float and isfinite(item))
        ):
            return False
    return True


def count_nodes(value: Any, limit: int) -> int:
    """How many JSON values a value consists of, as far as `limit`; above it where there are more, or it never ends.

    For a container its length is added and only what nests is looked at: a tenth of the price of `check_value`.

    .. versionadded:: 0.1
    """
    count, waiting = 1, [value]
    while waiting and count <= limit:
        item = waiting.pop()
        if isinstance(item, dict):
            item = item.values()
        elif not isinstance(item, (list, tuple)):
            continue
        count += len(item)
        if count <= limit:
            waiting += [inner for inner in item if isinstance(inner, _CONTAINERS)]
    return count


_CONTAINERS = (dict, list, tuple)
_ENDED: Any = object()
_END = (_ENDED, None)


def _scalar_fault(item: Any) -> tuple[str, str] | None:
    if isinstance(item, str):
        return ("text", "a string with half a surrogate pair") if is_half(item) else None
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, int):
        return None if -_TOO_BIG < item < _TOO_BIG else (f"a number of at most {MAX_DIGITS:,} digits", "a longer one")
    if isinstance(item, float):
        return None if isfinite(item) else ("a finite number", str(item))
    return "a JSON value", f"a Python {type(item).__name__[:40]}"


def _bad_key(key: object) -> str | None:
    if not isinstance(key, str):
        return f"a key of type {type(key).__name__[:40]}"
    return "a key with half a surrogate pair" if is_half(key) else None


def is_half(text: str) -> bool:
    """Whether a text holds half a surrogate pair, which no UTF-8 can carry.

    .. versionadded:: 0.1
    """
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def reject_non_finite(value: Any) -> Fault | None:
    """The first thing in `value` that no JSON text could have brought; see `check_value`.

    For values that may not have come through `loads`, under a schema that leaves parts of them untyped.

    .. versionadded:: 0.1
    """
    return check_value(value)


def shorten_text(text: str, limit: int = MAX_SHOWN) -> str:
    """At most `limit` characters of a text, with the cut marked.

    .. versionadded:: 0.1
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


_quote = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make an encoder for each text


def shorten(value: Any, limit: int = MAX_SHOWN) -> str:
    """A JSON value as it may be shown in an error: its text where that is short, else what kind of thing it is.

    .. versionadded:: 0.1
    """
    if isinstance(value, str):
        return _quote(shorten_text(value, limit)) if value.isascii() or not is_half(value[:limit]) else "a string"
    if value is None or isinstance(value, (bool, float)):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if -(10**limit) < value < 10**limit else "a very long integer"
    if isinstance(value, dict):
        return (
            "an empty object"
            if not value
            else f"an object of {len(value)} {'property' if len(value) == 1 else 'properties'}"
        )
    if isinstance(value, (list, tuple)):
        return "an empty array" if not value else f"an array of {len(value)} {'item' if len(value) == 1 else 'items'}"
    return f"a Python {type(value).__name__[:40]}"
