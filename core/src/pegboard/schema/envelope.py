"""What can be known of a message that is refused: the members of its outermost object, so that it is answered under its
own id.

`loads` refuses a text for what stands anywhere in it: half a surrogate pair, a number that is too large, nesting that
is too deep, one byte that is not UTF-8, too many bytes. Who sent it waits for an answer under an id that can be read
all the same. What is not JSON has no members: JSON-RPC 2.0, section 5, wants null there.

.. versionadded:: 0.1
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pegboard.schema.jsontext import is_half

__all__ = [
    "EDGE",
    "Pieces",
    "TooLong",
    "members_of",
]

EDGE = 512
"""How much of each end of a text that is too long is kept, in bytes.

.. versionadded:: 0.1
"""
MAX_DIGITS = 200
"""A longer number is nobody's id."""

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_KEY = re.compile(rf"\s*({_STRING})\s*:\s*", re.DOTALL)
_OPEN, _NEXT, _END = re.compile(r"\s*\{"), re.compile(r"\s*,"), re.compile(r"\s*\}\s*\Z")
_TOKEN = re.compile(rf"{_STRING}|[\[{{]+|[\]}}]+", re.DOTALL)
_LAST = re.compile(rf"((?:,\s*{_STRING}\s*:\s*(?:{_STRING}|[-+.\w]+)\s*)+)\}}\s*\Z", re.DOTALL)


class _Unsaid:
    """A value that does not belong to an envelope: a constant, a fraction, a number without end."""


def _number(text: str) -> Any:
    return int(text) if len(text) <= MAX_DIGITS else _Unsaid


_decoder = json.JSONDecoder(
    parse_constant=lambda text: _Unsaid, parse_float=lambda text: _Unsaid, parse_int=_number, strict=False
)
_scan_once = json.scanner.make_scanner(_decoder)  # type: ignore[attr-defined]


class TooLong(NamedTuple):
    """What is kept of a text that is too long: how long it was, and both its ends.

    .. versionadded:: 0.1
    """

    size: int
    head: bytes
    tail: bytes

    @property
    def members(self) -> dict[str, str | int]:
        """As `members_of`, of what stands before and after the long part."""
        last = _LAST.search(_decoded(self.tail))
        pairs = _members(_decoded(self.head), whole=False)
        return _envelope(pairs if last is None else pairs + _members("{" + last[1][1:] + "}", whole=True))


class Pieces:
    """One text that comes in pieces, up to a limit; of a longer one both its ends, in memory that does not grow.

    Attributes:
        limit: in bytes.
        size: how much has come.

    .. versionadded:: 0.1
    """

    __slots__ = ("_head", "_parts", "_tail", "limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._begin()

    def _begin(self) -> None:
        self.size = 0
        self._parts: list[bytes] = []
        self._head = self._tail = b""

    @property
    def kept(self) -> bytes:
        """What has come, as far as it is kept whole."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def add(self, part: bytes) -> None:
        """The next piece."""
        if not part:
            return
        self.size += len(part)
        if self.size <= self.limit:
            self._parts.append(part)
            return
        if self._parts or not self._head:
            self._head = self._tail = b"".join(self._parts)
            self._parts = []
        self._head = self._head[:EDGE] + part[: max(0, EDGE - len(self._head))]
        self._tail = (self._tail[-EDGE:] + part[-EDGE:])[-EDGE:]

    def take(self) -> bytes | TooLong:
        """All of it; the next text begins."""
        whole = self.kept if self.size <= self.limit else TooLong(self.size, self._head, self._tail)
        self._begin()
        return whole


def members_of(text: str | bytes | bytearray) -> dict[str, str | int]:
    """Members of the outermost object that are texts or integers; none where it is not an object, or no JSON.

    A key that is there twice with different values is left out, and so is a text that no UTF-8 can carry.

    .. versionadded:: 0.1
    """
    return _envelope(_members(text if isinstance(text, str) else _decoded(text), whole=True))


def _decoded(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "surrogateescape")  # what is not UTF-8 is told from what is


def _envelope(pairs: list[tuple[str, Any]]) -> dict[str, str | int]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        is_word = type(value) is int or (type(value) is str and not is_half(value))
        found[key] = value if is_word and found.get(key, value) == value else _Unsaid
    return {key: value for key, value in found.items() if value is not _Unsaid}


def _members(text: str, *, whole: bool) -> list[tuple[str, Any]]:
    """The members of the outermost object: of a whole text, or of a beginning as far as it goes."""
    text = text.removeprefix("\ufeff")
    opened = _OPEN.match(text)
    at = opened.end() if opened is not None else len(text)
    found: list[tuple[str, Any]] = []
    while key := _KEY.match(text, at):
        try:
            value, at = _value(text, key.end())
        except (ValueError, StopIteration):  # no JSON, or the end of a beginning
            break
        following = _NEXT.match(text, at)
        if following is None and not (whole and _END.match(text, at)):
            break  # a number may go on behind the end of a beginning
        found.append((_scan_once(key[1], 0)[0], value))
        if following is None:
            return found
        at = following.end()
    return [] if whole else found


def _value(text: str, at: int) -> tuple[Any, int]:
    """The value that begins there, and where it ends."""
    try:
        return _scan_once(text, at)  # type: ignore[no-any-return]
    except RecursionError:  # nested too deep for any parser that recurses
        depth = 0
        for token in _TOKEN.finditer(text, at):
            if token[0][0] != '"':
                depth += len(token[0]) if token[0][0] in "[{" else -len(token[0])
            if depth <= 0:  # below: the brackets of the outermost object stand in one run with the last of the value
                return _Unsaid, token.end() + depth
        raise ValueError from None
