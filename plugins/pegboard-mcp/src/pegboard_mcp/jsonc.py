"""JSON as editors write it: with comments and trailing commas, and with a byte order mark at the beginning.

`blank` replaces what JSON has not by blanks of the same length, so that every position stays what it is: what is found
in the blanked text can be changed in the real one. `members` says where each member of an object stands. Both take
linear time, whatever the text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pegboard.limits import SETTINGS_BYTES, SETTINGS_LEVELS

MAX_BYTES = SETTINGS_BYTES

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"?+'  # a string
    r"|//[^\n]*+"
    r"|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+",
    re.DOTALL,
)
_TRAILING = re.compile(r'"(?:[^"\\\n]|\\.)*+"?+|,(?=[ \t\r\n]*+[}\]])', re.DOTALL)
_BLANK = re.compile(r"[^\n\r]")
_SPACE = re.compile(r"[ \t\r\n]*+")


class JsoncError(ValueError):
    """A text that is not JSON, also without its comments; the text says why, with the line."""


class _Pairs(dict[str, Any]):
    """An object, and the keys that stand in it twice."""

    twice: tuple[str, ...] = ()


def read(text: str) -> Any:
    """The value of a JSON text with comments.

    Raises:
        JsoncError: it is not valid, or nested deeper than `SETTINGS_LEVELS`.
    """
    try:
        return _load(text)  # most files have no comments, and some are large
    except JsoncError:
        return _load(blank(text))


def blank(text: str) -> str:
    """The text with blanks in the place of comments, trailing commas and the byte order mark."""
    return _TRAILING.sub(lambda match: match[0] if match[0][0] == '"' else " ", blank_comments(text))


def blank_comments(text: str) -> str:
    """The text with blanks in the place of comments and the byte order mark."""
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    return _TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else _BLANK.sub(" ", match[0]), text)


def _load(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        raise JsoncError(f"{problem.msg[:1].lower()}{problem.msg[1:]} (line {problem.lineno})") from None
    except RecursionError:
        raise JsoncError(f"values nested deeper than {SETTINGS_LEVELS}") from None
    except ValueError as problem:
        raise JsoncError(str(problem)[:100]) from None
    if _is_deeper(value, SETTINGS_LEVELS):
        raise JsoncError(f"values nested deeper than {SETTINGS_LEVELS}")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = _Pairs(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        made.twice = tuple(dict.fromkeys(key for key in keys if keys.count(key) > 1)) if len(keys) < 1000 else ("...",)
    return made


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name}, which JSON has not")


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            item
            for parent in level
            if isinstance(parent, (dict, list))
            for item in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True


def twice_in(value: Any) -> tuple[str, ...]:
    """The keys that stood twice in an object that `read` gave."""
    return value.twice if isinstance(value, _Pairs) else ()


class Span(NamedTuple):
    """Where something stands: from `start` up to, not including, `end`."""

    start: int
    end: int


class Member(NamedTuple):
    """One member of an object: its key, and where key and value stand."""

    key: str
    where: Span
    value: Span


_SCALAR = re.compile(r"[^\s,\]}]++")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"', re.DOTALL)


def members(blanked: str, start: int = 0) -> tuple[list[Member], Span]:
    """The members of the object that begins at `start` or after blanks there, and where it stands itself.

    Args:
        blanked: what `blank` gave of a text that `read` takes.
        start: where to begin.

    Raises:
        JsoncError: no object stands there.
    """
    begin = _skip(blanked, start)
    if blanked[begin : begin + 1] != "{":
        raise JsoncError("no object")
    found: list[Member] = []
    at = _skip(blanked, begin + 1)
    while blanked[at] != "}":
        key = _STRING.match(blanked, at)
        assert key is not None, "the text was read"
        value = _skip(blanked, _skip(blanked, key.end()) + 1)
        end = _end_of(blanked, value)
        found.append(Member(json.loads(key[0]), Span(at, end), Span(value, end)))
        at = _skip(blanked, end)
        if blanked[at] == ",":
            at = _skip(blanked, at + 1)
    return found, Span(begin, at + 1)


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


_STRUCTURE = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[\[\]{}]', re.DOTALL)


def _end_of(text: str, at: int) -> int:
    if text[at] == '"' or text[at] not in "[{":
        match = (_STRING if text[at] == '"' else _SCALAR).match(text, at)
        assert match is not None, "the text was read"
        return match.end()
    depth = 0
    for match in _STRUCTURE.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    raise JsoncError("an object without an end")
