"""Lines out of chunks of bytes, in linear time and bounded memory. No I/O here.

A line over the limit is not kept: its head and its tail are, so that the answer's id can be found and that one request
fails, while the stream goes on behind the line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

EDGE = 512
"""How much of each end of a too long line is kept, in bytes."""

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")'
_AT_HEAD = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*,")
_AT_TAIL = re.compile(rb",\s*" + _ID + rb'(?:\s*,\s*"jsonrpc"\s*:\s*"2\.0")?\s*\}\s*\Z')
_TAIL_SWAPPED = re.compile(rb',\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*' + _ID + rb"\s*\}\s*\Z")
_REQUEST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*|' + _ID + rb'\s*,\s*)*"method"\s*:')


class TooLong(NamedTuple):
    """What is left of a line over the limit."""

    size: int
    head: bytes
    tail: bytes


class LineSplitter:
    """Splits at newlines; a line over `limit` bytes comes out as `TooLong`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.skipping = 0
        """How long the line is that is being skipped, as far as it has come; 0: none is."""
        self._parts: list[bytes] = []
        self._size = 0
        self._head = self._tail = b""

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that this chunk ends, without their newline; empty ones are left out."""
        first, *others = chunk.split(b"\n")
        self._add(first)
        if not others:
            return []
        lines: list[bytes | TooLong] = []
        last = others.pop()
        self._finish(lines)
        for line in others:
            if len(line) > self.limit:
                lines.append(TooLong(len(line), line[:EDGE], line[-EDGE:]))
            elif line:
                lines.append(line)
        self._add(last)
        return lines

    def rest(self) -> bytes:
        """What stands after the last newline, as far as it is kept."""
        return b"".join(self._parts)

    def _add(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self.skipping:
            self._head = self._head if len(self._head) == EDGE else (self._head + part[:EDGE])[:EDGE]
            self._tail = (self._tail + part[-EDGE:])[-EDGE:]
        elif self._size > self.limit:
            kept = b"".join(self._parts) + part
            self._head, self._tail = kept[:EDGE], kept[-EDGE:]
            self._parts = []
        else:
            self._parts.append(part)
            return
        self.skipping = self._size

    def _finish(self, lines: list[bytes | TooLong]) -> None:
        if self.skipping:
            lines.append(TooLong(self.skipping, self._head, self._tail))
        elif self._size:
            lines.append(self._parts[0] if len(self._parts) == 1 else b"".join(self._parts))
        self._parts, self._size, self.skipping = [], 0, 0
        self._head = self._tail = b""


def find_id(line: TooLong) -> bytes | None:
    """The id of the answer, as JSON, where it stands beyond doubt in the outermost object: as one of its first two
    members, or of its last two."""
    return None if _REQUEST.match(line.head) else find_any_id(line)


def find_any_id(line: TooLong) -> bytes | None:
    """The same of an answer or a request."""
    found = _AT_HEAD.match(line.head) or _TAIL_SWAPPED.search(line.tail) or _AT_TAIL.search(line.tail)
    return None if found is None else found[1]
