"""Lines of `batch`: bytes into lines, results into bytes. No I/O."""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from pegboard.cli._text import printable_json
from pegboard.content import TextContent
from pegboard.schema.envelope import EDGE, Pieces, TooLong

if TYPE_CHECKING:
    from pegboard.results import ToolResult

BOM = b"\xef\xbb\xbf"

Line = tuple[int, bytes | TooLong]
"""The number of a line, from 1, and its bytes; both its ends where there were too many of them."""


class Cutter:
    """Cuts chunks into lines. Blank ones are counted and left out, a byte order mark at the start is skipped.

    Args:
        longest: longer lines are not kept, in bytes.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._number = 0
        self._line = Pieces(longest)

    def cut(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk ends; an empty chunk ends the last."""
        if not chunk:
            return self._end_line(b"") if self._line.size else []
        first, *others = chunk.split(b"\n")
        if not others:
            self._line.add(first)
            return []
        lines = self._end_line(first)
        rest = others.pop()
        for line in others:
            self._number += 1
            if len(line) > self._longest:
                lines.append((self._number, TooLong(len(line), line[:EDGE], line[-EDGE:])))
            elif not line.isspace() and line:
                lines.append((self._number, line))
        self._line.add(rest)
        return lines

    def _end_line(self, part: bytes) -> list[Line]:
        self._line.add(part)
        self._number += 1
        line = self._line.take()
        if isinstance(line, TooLong):
            return [(self._number, line)]
        line = line.removeprefix(BOM) if self._number == 1 else line
        return [(self._number, line)] if line.strip() else []


_encode = json.JSONEncoder(ensure_ascii=False).encode


def line_of(result: ToolResult, *, careful: bool = False) -> bytes:
    """The line of a result: `ToolResult.to_json` as UTF-8.

    The commonest shape, a success that shows one text, is written without the dicts in between, which costs half.

    Args:
        careful: escape what a terminal would obey.
    """
    if careful:
        return printable_json(json.dumps(result.to_json(), ensure_ascii=False)).encode("utf-8", "replace") + b"\n"
    content = result.content
    try:
        if result.ok and not result.details and len(content) == 1 and type(content[0]) is TextContent:
            data = "null" if result.data is None else _encode(result.data)
            return (
                f'{{"id": {encode_basestring(result.id)}, "name": {encode_basestring(result.name)}, "ok": true, '
                f'"content": [{{"type": "text", "text": {encode_basestring(content[0].text)}}}], "data": {data}, '
                f'"error": null, "duration_ms": {round(result.duration_ms, 3)!r}}}\n'
            ).encode()
        return (_encode(result.to_json()) + "\n").encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return json.dumps(result.to_json()).encode() + b"\n"
