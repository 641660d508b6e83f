"""What stands between the link and the SDK's dispatcher, and the requests that wait for what it takes out.

The dispatcher has what the server asks; answers to the requests of the board never reach it. A request is written by
the task that makes it, which then sleeps until the reader wakes it: no stream and no second task for each call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import trio

from pegboard_mcp.streams import MessageReader, MessageWriter, SteppingReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.shared.message import SessionMessage

    from pegboard_mcp.client.journal import Journal

    OnNews = Callable[[str, Mapping[str, Any]], None]
    """Hears of a notification on a stream: method and params."""


class Waiting:
    """A request that was sent: the task that sleeps for its answer, and what came."""

    __slots__ = ("answer", "news", "progress", "task")

    def __init__(self, *, progress: bool, news: OnNews | None = None) -> None:
        self.task: trio.lowlevel.Task | None = None
        self.answer: Any = None
        self.progress: list[tuple[float, float | None, str | None]] | None = [] if progress else None
        self.news = news  # of one that is answered with a stream

    def settle(self, answer: Any) -> None:
        """Give the answer: a dict, or an exception that the request raises. The first one counts."""
        if self.answer is None:
            self.answer = answer
            self.wake()

    def wake(self) -> None:
        """Let the task look at what came."""
        task, self.task = self.task, None
        if task is not None:
            trio.lowlevel.reschedule(task)

    def give_up(self, raise_cancel: Any) -> trio.lowlevel.Abort:
        """The task is cancelled."""
        self.task = None
        return trio.lowlevel.Abort.SUCCEEDED


class Tap(SteppingReader):
    """The link's read stream as the SDK's dispatcher sees it: without what answers the requests of the board.

    Args:
        inner: the stream.
        take: whether a message answers the board, and was handed to whoever waits for it.
        ended: told that nothing more comes.
    """

    def __init__(self, inner: Any, take: Callable[[Any], bool], ended: Callable[[], None]) -> None:
        self._inner = inner
        self._take = take
        self._ended = ended

    @property
    def last_context(self) -> Any:
        """The context of whoever wrote the last message, where the link knows it."""
        return getattr(self._inner, "last_context", None)

    async def __anext__(self) -> Any:
        inner, take = self._inner, self._take
        try:
            while True:
                item = await inner.__anext__()
                if not take(item):
                    return item
        except (StopAsyncIteration, anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._ended()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Read no more."""
        self._ended()
        await self._inner.aclose()


class HeardReader(MessageReader):
    """What comes from the link, told to the journal."""

    def __init__(self, inner: Any, journal: Journal) -> None:
        self._inner = inner
        self._journal = journal

    @property
    def last_context(self) -> Any:
        """As the link has it."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        item: SessionMessage | Exception = await self._inner.receive()
        self._journal.tell("received", item)
        return item

    async def aclose(self) -> None:
        """Close the link's."""
        await self._inner.aclose()


class HeardWriter(MessageWriter):
    """What goes to the link, told to the journal before it is written: its answer may come while that returns."""

    def __init__(self, inner: Any, journal: Journal) -> None:
        self._inner = inner
        self._journal = journal

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        self._journal.tell("sent", item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        """Close the link's."""
        await self._inner.aclose()


class Outbox(MessageWriter):
    """The link's write stream as the SDK's dispatcher sees it; it counts the answers that the server does not take."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.waiting = 0

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message."""
        self.waiting += 1
        try:
            await self._inner.send(item)
        finally:
            self.waiting -= 1

    async def aclose(self) -> None:
        """Close the link's."""
        await self._inner.aclose()


def number_of(told: Any) -> int | None:
    """An id as the board wrote it; some servers answer with a text."""
    if isinstance(told, str):
        return int(told) if len(told) < 16 and told.isascii() and told.isdigit() else None
    return told if type(told) is int else None
