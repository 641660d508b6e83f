"""Server-sent events, as bytes come in: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6.

However the bytes are cut into pieces, the same events come out, each with the piece that ends it. Every byte is looked
at a bounded number of times; an event is bounded, comments and unknown fields included. `id` and `retry` are read over:
nobody goes on with a model's answer after a lost connection.
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
        self._size = 0  # of what has come since the last event
        self._error: ModelError | None = None

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that these bytes end.

        Raises:
            ModelError: an event is longer than is read here; those before it were given.
        """
        if self._error is not None:
            raise self._error
        if self._start is not None:
            data = self._start + data
            if len(data) < len(_BOM) and _BOM.startswith(data):
                self._start = data
                return []
            self._start = None
            data = data.removeprefix(_BOM)
        if not data:
            return []
        if self._after_cr:
            data = data.removeprefix(b"\n")
        self._after_cr = data.endswith(b"\r")
        events: list[ServerEvent] = []
        for line in data.splitlines(keepends=True):
            text = line.rstrip(b"\r\n")
            self._size += len(text)
            if self._size > self._max_bytes:
                self._error = self._too_long()
                break
            if len(text) == len(line):
                self._tail.append(line)
                break
            if self._tail:
                text = b"".join([*self._tail, text])
                self._tail.clear()
            if text:
                self._field(text)
            elif event := self._event():
                events.append(event)
        if self._error is not None and not events:
            raise self._error
        return events

    def close(self) -> list[ServerEvent]:
        """The bytes are over: the last event, where only the empty line after it is missing."""
        if self._error is not None:
            raise self._error
        self._tail.clear()
        event = self._event()
        return [event] if event else []

    def _field(self, line: bytes) -> None:
        self._size += 1
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._name = value.removeprefix(b" ")

    def _event(self) -> ServerEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = b"", [], 0
        if not data:
            return None
        return ServerEvent(name.decode("utf-8", "replace"), b"\n".join(data).decode("utf-8", "replace"))

    def _too_long(self) -> ModelError:
        return ModelError(
            ErrorCode.UPSTREAM_ERROR,
            f"{self._provider} sent an event of more than {self._max_bytes:,} bytes; ask for less at once",
            provider=self._provider,
            reason="refused",
        )
