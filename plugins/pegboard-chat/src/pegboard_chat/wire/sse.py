"""Server-sent events, as bytes come in: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6.

However the bytes are cut into pieces, the same events come out, each with the piece that ends it. Every byte is looked
at once; an event is bounded. `id` and `retry` are read over: nobody goes on with a model's answer after a lost
connection.
"""

from __future__ import annotations

from typing import NamedTuple

from pegboard import ErrorCode
from pegboard_chat.contract import ModelError

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""Of one event, or of a line that does not end: arguments of 10 MB, escaped, still fit."""

_BOM = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event: its name (empty where it has none) and its data, lines joined with a line feed.

    .. versionadded:: 0.1
    """

    event: str
    data: str


class SseReader:
    """Bytes in, events out. Broken UTF-8 is replaced; lines end with CR, LF or both.

    Args:
        provider: whom an error names.
        max_bytes: of one event.

    .. versionadded:: 0.1
    """

    def __init__(self, provider: str = "the server", *, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._provider = provider
        self._max_bytes = max_bytes
        self._start: bytes | None = b""  # what may be the beginning of a byte order mark; None: that is decided
        self._tail: list[bytes] = []  # of a line that has not ended
        self._after_cr = False
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that these bytes end.

        Raises:
            ModelError: an event is longer than is read here.
        """
        if self._start is not None:
            data = self._start + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._start = data
                return []
            self._start = None
            data = data.removeprefix(_BOM)
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        lines = data.splitlines(keepends=True)
        events: list[ServerEvent] = []
        for line in lines:
            if line[-1] not in b"\r\n":
                self._tail.append(line)
                self._weigh(len(line))
                break
            line = line.rstrip(b"\r\n")
            if self._tail:
                line = b"".join([*self._tail, line])
                self._tail.clear()
            if line:
                self._field(line)
            elif event := self._event():
                events.append(event)
        else:
            self._after_cr = data.endswith(b"\r")
        return events

    def close(self) -> list[ServerEvent]:
        """The bytes are over: the last event, where only the empty line after it is missing."""
        self._tail.clear()
        event = self._event()
        return [event] if event else []

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._weigh(len(value) + 1)
        elif name == b"event":
            self._name = value.removeprefix(b" ")
            self._weigh(len(value) + 1)

    def _event(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = b"", [], 0
        if not data:
            return None
        return ServerEvent(name.decode("utf-8", "replace"), b"\n".join(data).decode("utf-8", "replace"))

    def _weigh(self, count: int) -> None:
        self._size += count
        if self._size > self._max_bytes:
            raise ModelError(
                ErrorCode.UPSTREAM_ERROR,
                f"{self._provider} sent an event of more than {self._max_bytes:,} bytes; ask for less at once",
                provider=self._provider,
                reason="refused",
            )
