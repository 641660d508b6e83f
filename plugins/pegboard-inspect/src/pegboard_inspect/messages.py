"""What goes between the board and a source, for a person who looks: kept in bounds, each answer with its request.

A source tells of its messages as long as somebody listens (`pegboard.sources`). Here they wait for the page: the newest
are kept, the oldest go, and how many went is said. Nothing here does any I/O.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ErrorCode, ToolError
from pegboard.schema.jsontext import JsonTextError, loads

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard import ToolSource
    from pegboard.sources import SourceMessage

MAX_MESSAGES = 1_000
"""Messages and lines of one source that are kept."""
MAX_CHARS = 4_000_000
"""How long all of them together may be."""
MAX_WAITING = 1_000
"""Requests that wait for their answers; of more the oldest are given up."""
MAX_BATCH = 200
"""What the page is told at once: the newest; the others are counted."""


class History:
    """The messages of one source.

    Attributes:
        left_out: how many were kept once and are not any more.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._rows: deque[dict[str, Any]] = deque()
        self._chars = 0
        self._seq = 0
        self._waiting: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()
        self._more = trio.Event()
        self.stop: Callable[[], None] = lambda: None
        """Ends the listening."""

    def hear(self, message: SourceMessage) -> None:
        """Keep a message; it must not wait."""
        self._seq += 1
        row = {**message.to_json(), "seq": self._seq, "kind": _kind_of(message), "answers": None, "took_ms": None}
        if row["kind"] == "request":
            self._waiting[message.direction, str(message.id)] = {"method": message.method, "at": message.at}
            if len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)
        elif row["kind"] == "answer":
            asked = self._waiting.pop(
                ("sent" if message.direction == "received" else "received", str(message.id)), None
            )
            if asked is not None:
                row |= {"answers": asked["method"], "took_ms": round(1000 * (message.at - asked["at"]), 3)}
        self._rows.append(row)
        self._chars += len(message.text)
        while len(self._rows) > MAX_MESSAGES or self._chars > MAX_CHARS:
            self._chars -= len(self._rows.popleft()["text"])
            self.left_out += 1
        self._more.set()

    def after(self, seq: int) -> list[dict[str, Any]]:
        """The newest of what came after the one of that number, the oldest first."""
        return [row for row in self._rows if row["seq"] > seq][-MAX_BATCH:]

    async def wait_after(self, seq: int) -> None:
        """Wait until there is something after the one of that number."""
        while self._seq <= seq:
            self._more = trio.Event()
            await self._more.wait()

    def clear(self) -> None:
        """Forget all of it."""
        self._rows.clear()
        self._chars = self.left_out = 0


def _kind_of(message: SourceMessage) -> str:
    if message.direction in ("log", "unreadable"):
        return message.direction
    if message.method is None:
        return "answer"
    return "notification" if message.id is None else "request"


def object_of(text: Any) -> dict[str, Any]:
    """What a person wrote as JSON; numbers stay as they are written.

    Raises:
        ToolError: it is not a JSON object.
    """
    try:
        written = loads(text if isinstance(text, str) else "")
    except JsonTextError as problem:
        raise ToolError(ErrorCode.INVALID_INPUT, f"this is not JSON: {problem}") from problem
    if not isinstance(written, dict):
        raise ToolError(ErrorCode.INVALID_INPUT, "expected a JSON object")
    return written


_by_hand: weakref.WeakSet[ToolSource] = weakref.WeakSet()


def inspect_by_hand(source: ToolSource) -> None:
    """Let a person write messages to a source, and choose how they are spoken: it is alone on its board."""
    _by_hand.add(source)
    record(source)


def is_by_hand(source: ToolSource) -> bool:
    """Whether it is inspected alone."""
    return source in _by_hand


_histories: weakref.WeakKeyDictionary[ToolSource, History] = weakref.WeakKeyDictionary()


def history_of(source: ToolSource) -> History | None:
    """What is kept of a source; None: nobody recorded it."""
    return _histories.get(source)


def record(source: ToolSource) -> History | None:
    """Keep the messages of a source, from its next start on; None: it tells of none."""
    if (listen := getattr(source, "listen", None)) is None:
        return None
    history = _histories.get(source)
    if history is None:
        history = _histories[source] = History()
        history.stop = listen(history.hear)
    return history


def stop_recording(source: ToolSource) -> None:
    """Keep no more, and forget what was kept."""
    if (history := _histories.pop(source, None)) is not None:
        history.stop()
