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


LOGGED_LINES = 200
LOGGED_BYTES = 20_000
"""So much of what a server says beside its answers is logged in a second; the rest is counted."""


class LogBudget:
    """How much of what a server says is logged: so many lines and bytes in a second; what is beyond that is counted.

    Making a line fit for a log costs fifty times what reading it does, and a server may write thousands in a second.
    """

    def __init__(self, lines: int, size: int) -> None:
        self.left_out = 0
        """How many lines were not logged and not told of yet."""
        self.renews_at = float("-inf")
        self._limits = lines, size
        self._used = 0, 0

    def takes(self, size: int, now: float) -> bool:
        """Whether a line of so many bytes is logged."""
        if now >= self.renews_at:
            self.renews_at, self._used = now + 1, (0, 0)
        lines, used = self._used[0] + 1, self._used[1] + size
        fits = lines <= self._limits[0] and used <= self._limits[1]
        if fits:
            self._used = lines, used
        else:
            self.left_out += 1
        return fits

    def count(self) -> int:
        """How many lines were not logged since this was last asked."""
        left_out, self.left_out = self.left_out, 0
        return left_out
