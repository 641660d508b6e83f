"""Calls in flight, whatever transport they came by, and the orderly end of serving.

An end has three steps. New calls are refused, and those in flight go on; nothing else changes, so that a client can
still answer what a running call asks, be it by another request. When all are answered, or the limit is over, what lasts
is ended: streams that wait for news, and calls that took too long, which are answered with OUTCOME_UNKNOWN. Then the
port is closed.

A call is in flight from the moment it was read to the moment its answer was given to the operating system, so that no
answer is lost which the client could have been told of.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ErrorCode, ToolError
from pegboard_mcp.server.errors import error_answer
from pegboard_mcp.streams import MessageReader, MessageWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.shared.message import SessionMessage

    from pegboard_mcp.server._sdk import ReadStream, WriteStream

MAX_IN_FLIGHT = 256
"""Requests of one connection that are in flight at once. An answer that was not read counts: who only writes is read no
more than it reads, since a refusal waits for its reader too."""
LOOK_S = 0.1
"""How often it is looked whether what runs is done, in seconds."""
CHECKPOINT_S = 0.1
"""What ends itself has this long for its last words."""


class Flights:
    """Of one server: how many calls are in flight, what lasts, and whether it is stopping.

    Attributes:
        stopping: whether new calls are refused.
        count: of calls in flight.
        overdue: scopes of calls, cancelled when the limit is over.
        on_last: called when all calls are answered, before what lasts is ended; what waits for news may end itself.
        running: how many calls run though they are answered, as tasks do; they are waited for as those in flight.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.count = 0
        self.on_last: list[Callable[[], None]] = []
        self.running: Callable[[], int] = lambda: 0
        self._none = trio.Event()
        self._limit = trio.CancelScope()
        self.overdue: set[trio.CancelScope] = set()
        self._lasting: set[Callable[[], None]] = set()

    @property
    def lasting_count(self) -> int:
        """How many streams wait for news."""
        return len(self._lasting)

    def refuses(self, method: Any, params: Any) -> bool:
        """Whether a request is not begun because serving ends. One is that belongs to what has begun: a call that asks
        something waits for the answer, and one that is a task is asked for."""
        if not self.stopping:
            return False
        is_about_task = isinstance(method, str) and method.startswith("tasks/")
        return not (is_about_task or (isinstance(params, dict) and "requestState" in params))

    def begin(self) -> None:
        """A call was read."""
        self.count += 1

    def end(self) -> None:
        """Its answer was written, or nobody waits for one any more."""
        self.count -= 1
        if self.stopping and self.count == 0:
            self._none.set()

    @contextlib.contextmanager
    def call(self) -> Iterator[trio.CancelScope]:
        """A call, as long as the block; its scope is cancelled when the limit is over."""
        self.count += 1
        try:
            with trio.CancelScope() as scope:
                self.overdue.add(scope)
                yield scope
        finally:
            self.overdue.discard(scope)
            self.end()

    @contextlib.contextmanager
    def lasting(self, end: Callable[[], None]) -> Iterator[None]:
        """What waits for news: `end` is called when all calls are answered."""
        self._lasting.add(end)
        try:
            yield
        finally:
            self._lasting.discard(end)

    async def stop(self, limit_s: float) -> int:
        """Refuse new calls, wait for those in flight, end what lasts; returns how many calls were cut off."""
        self.stopping = True
        self._limit.deadline = min(self._limit.deadline, trio.current_time() + limit_s)
        with self._limit:
            while self.count:
                self._none = trio.Event()
                await self._none.wait()
            while self.running():
                await trio.sleep(LOOK_S)
        left = self.count + self.running()
        for scope in tuple(self.overdue):
            scope.cancel()
        for tell in self.on_last:
            tell()
        if self._lasting and self.on_last:
            await trio.sleep(CHECKPOINT_S)
        for end in tuple(self._lasting):
            end()
        return left

    def hurry(self) -> None:
        """The limit of `stop` is over now."""
        self._limit.deadline = -math.inf


def refusal(request_id: Any) -> dict[str, Any]:
    """The JSON-RPC answer to a call that is not begun because serving ends."""
    message = "the server is stopping; the call was not begun"
    error = ToolError(ErrorCode.UPSTREAM_ERROR, message, reason="stopping", executed=False, retry="same")
    return error_answer(request_id, error)


def too_many(request_id: Any) -> dict[str, Any]:
    """The JSON-RPC answer to a call that is not begun because its connection has too many."""
    message = f"a connection may have {MAX_IN_FLIGHT} requests in flight; this one was not begun"
    error = ToolError(ErrorCode.RATE_LIMITED, message, reason="in_flight", executed=False)
    return error_answer(request_id, error)


def cut_off(request_id: Any) -> dict[str, Any]:
    """The JSON-RPC answer to a call that was not done when the limit was over."""
    message = "the server stopped before the call was done; whether it ran is not known"
    return error_answer(request_id, ToolError(ErrorCode.OUTCOME_UNKNOWN, message, reason="stopping"))


class Watched:
    """A pair of streams of one connection, with its calls counted, and refused while serving ends.

    Both halves speak the SDK's stream protocols. `flushed` is called by the transport for each message that it gave to
    the operating system, in their order; `flushes=False` says that a message is there when `send` returns.
    """

    def __init__(
        self,
        flights: Flights,
        read: ReadStream[Any],
        write: WriteStream[Any],
        *,
        flushes: bool = False,
        on_request: Callable[[], object] = lambda: None,
    ) -> None:
        self._on_request = on_request
        self._flights = flights
        self._read = read
        self._write = write
        self._flushes = flushes
        self._open: dict[Any, int] = {}
        self._listening: set[Any] = set()
        self._count = 0
        self._sent: deque[Any] = deque()
        self._drained = trio.Event()
        self.reader = _CountedReader(self)
        self.writer = _CountedWriter(self)

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is being answered."""
        return not self._count

    def flushed(self) -> None:
        """The oldest message that is not yet out is out."""
        if self._sent:
            self._settle(self._sent.popleft())
        if not self._sent:
            self._drained.set()

    def _settle(self, key: Any) -> None:
        left = self._open.pop(key, 0) - 1
        if left > 0:  # a client that gave one id to several
            self._open[key] = left
        if left >= 0:
            self._count -= 1
            self._flights.end()
        else:
            self._listening.discard(key)

    def _each(self) -> list[Any]:
        return [key for key, count in self._open.items() for _ in range(count)]

    def close(self) -> None:
        """The connection is gone: nobody waits for its calls."""
        for key in self._each():
            self._settle(key)

    async def cut_off(self) -> None:
        """Answer what is still open, and wait until that is out."""
        for key in self._each():
            await self._refuse(cut_off(key))
            self._settle(key)
        while self._sent:
            self._drained = trio.Event()
            await self._drained.wait()

    async def _refuse(self, answer: dict[str, Any]) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCError

        if self._flushes:
            self._sent.append(None)  # it settles none of those that are open
        await self._write.send(SessionMessage(JSONRPCError.model_validate(answer)))

    async def take(self, item: SessionMessage | Exception) -> bool:
        """Note what was read; False: it was refused."""
        from mcp.shared.message import ServerMessageMetadata
        from mcp_types import JSONRPCRequest

        if isinstance(item, Exception) or not isinstance(item.message, JSONRPCRequest):
            return True
        key = item.message.id
        self._on_request()
        if self._flights.refuses(item.message.method, item.message.params):
            await self._refuse(refusal(key))
            return False
        if self._count + len(self._listening) >= MAX_IN_FLIGHT:
            await self._refuse(too_many(key))
            return False
        if item.message.method == "subscriptions/listen":
            self._listening.add(key)
        else:
            self._flights.begin()
            self._open[key] = self._open.get(key, 0) + 1
            self._count += 1
        if isinstance(item.metadata, ServerMessageMetadata):

            async def unanswered() -> None:
                self._settle(key)

            item.metadata.on_request_unanswered = unanswered
        return True

    async def give(self, item: SessionMessage) -> None:
        """Write a message, and note whose answer it is."""
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCError, JSONRPCResponse

        answered = item.message.id if isinstance(item.message, JSONRPCResponse | JSONRPCError) else None
        if self._flights.stopping and answered in self._open and _is_cut_off(item.message):
            item = SessionMessage(JSONRPCError.model_validate(cut_off(answered)))
        if self._flushes:
            self._sent.append(answered)
        await self._write.send(item)
        if not self._flushes:
            self._settle(answered)


def _is_cut_off(message: Any) -> bool:
    """Whether it is the SDK's answer to a call that it cancelled because its connection ends."""
    from mcp_types import CONNECTION_CLOSED, JSONRPCError

    return isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED


class _CountedReader(MessageReader):
    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    @property
    def last_context(self) -> Any:
        """The context of who sent the last message; the SDK runs its handler in it."""
        return getattr(self._watched._read, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message that is not refused."""
        while True:
            item: SessionMessage | Exception = await self._watched._read.receive()
            if await self._watched.take(item):
                return item

    async def aclose(self) -> None:
        """Close it."""
        await self._watched._read.aclose()


class _CountedWriter(MessageWriter):
    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message."""
        await self._watched.give(item)

    async def aclose(self) -> None:
        """Close it."""
        await self._watched._write.aclose()
