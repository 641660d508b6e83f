"""Lines out of chunks of bytes, in linear time and bounded memory. No I/O here.

A line over the limit is not kept: its head and its tail are, so that the answer's id can be found and that one request
fails, while the stream goes on behind the line.
"""

from __future__ import annotations

from pegboard.schema.envelope import EDGE, Pieces, TooLong


class LineSplitter:
    """Splits at newlines; a line over `limit` bytes comes out as `TooLong`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._line = Pieces(limit)

    @property
    def skipping(self) -> int:
        """How long the line is that is being skipped, as far as it has come; 0: none is."""
        return self._line.size if self._line.size > self.limit else 0

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that this chunk ends, without their newline; empty ones are left out."""
        first, *others = chunk.split(b"\n")
        self._line.add(first)
        if not others:
            return []
        lines: list[bytes | TooLong] = []
        last = others.pop()
        if self._line.size:
            lines.append(self._line.take())
        for line in others:
            if len(line) > self.limit:
                lines.append(TooLong(len(line), line[:EDGE], line[-EDGE:]))
            elif line:
                lines.append(line)
        self._line.add(last)
        return lines

    def rest(self) -> bytes:
        """What stands after the last newline, as far as it is kept."""
        return self._line.kept


def find_id(line: TooLong) -> str | int | None:
    """The id of the answer that the line is, where it stands beyond doubt in the outermost object."""
    members = line.members
    return None if "method" in members else members.get("id")
