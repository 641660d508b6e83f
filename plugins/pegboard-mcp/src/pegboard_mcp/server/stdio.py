"""stdio for `pegboard serve`: one JSON message a line, on the descriptors that the program was started with.

Nothing here makes a descriptor non-blocking: stdin, stdout and stderr are often one open file, and the flag would break
the others' writes and outlive this process. A descriptor is waited for, then read or written no more than it takes
without blocking: what a read gives, and at most `PIPE_BUF` bytes of a pipe. Files and devices that cannot be waited for
are always ready.

A line is read in linear time and is bounded. What is not a message is answered here, since the SDK would drop it in
silence: -32700 for what is not JSON, -32600 for JSON that is not a message.

A client that closes its end, or is killed, is gone: calls in flight may still be answered if they take no longer than
`CLOSED_S`, and where nobody reads the answers they are cancelled at once. A file has no client that could go: there,
and where serving is told to end, they go on up to a limit of their own. The end reaches the SDK, which cancels them,
only after that. Requests of ours that the client can no longer answer fail at once.
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import stat
import termios
import time
from typing import TYPE_CHECKING, Any

import anyio
import trio
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from pegboard_mcp.client.transports._lines import LineSplitter
from pegboard_mcp.defaults import MAX_MESSAGE_BYTES
from pegboard_mcp.server.messages import NoMessageError, message_of
from pegboard_mcp.streams import MessageReader, MessageWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.lowlevel import Server

READ_BYTES = 65536
MAX_IN_FLIGHT = 1_000
"""With so many calls in flight nothing more is read, unless a person is asked, whose answer comes that way. An answer
that was not read counts: a client that only writes would otherwise fill the memory."""
PIECE_BYTES = select.PIPE_BUF
HURRY_S = 1.0
"""How long calls in flight may go on when their end is asked for a second time: MCP clients wait 2 s, and then kill."""
CLOSED_S = 0.75
"""How long calls in flight may go on when the client closed its end, in seconds."""
GONE_S = 1.5
"""How long the process may live then, in seconds, whatever holds it."""
LAST_WORDS_S = 1.0
"""How long what is still to be written may take when everything ends."""


class Stdio(MessageReader):
    """Both ends of the wire, as the SDK's stream pair: `Stdio` is read from, and `Stdio.out` is written to."""

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        drain_s: float = 10.0,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        on_end: Callable[[], None] = lambda: None,
        on_closed: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_end = on_end
        self._on_closed = on_closed
        self._fd = read_fd
        self._drain_s = drain_s
        self._max_bytes = max_message_bytes
        self._lines = LineSplitter(max_message_bytes)
        self._ready: list[SessionMessage] = []
        self._can_wait = _can_wait(read_fd)
        self._is_at_end = self._is_ended = self._is_draining = False
        self._deadline = float("inf")
        self.reads = 0
        self.out = Out(write_fd, self)
        self.in_flight: set[Any] = set()
        self.asked: set[Any] = set()
        self.settled = trio.Event()
        self._room = trio.Event()

    # -- the SDK's read stream

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: stdin ended, and what was in flight was answered or took too long.
        """
        while not self._ready:
            if self._is_at_end:
                await self._drain()
            else:
                await self._read()
        return self._ready.pop()

    async def aclose(self) -> None:
        """Nothing more is read."""
        self._is_at_end, self._deadline = True, trio.current_time()

    async def _read(self) -> None:
        while len(self.in_flight) >= MAX_IN_FLIGHT and not self.asked and not self._is_ended:
            self._room = trio.Event()
            await self._room.wait()
        data = b"" if self._is_ended else await self._some()
        lines = self._lines.feed(data) if data else [self._lines.rest()]
        self._is_at_end = not data
        self.reads += 1
        for line in lines:
            if isinstance(line, bytes) and not line.strip():
                continue
            try:
                message = message_of(line, self._max_bytes)
            except NoMessageError as problem:
                await self.out.send(SessionMessage(problem.answer))
                continue
            self._note(message)
            self._ready.append(SessionMessage(message))
        self._ready.reverse()

    def _note(self, message: JSONRPCMessage) -> None:
        """What is in flight: requests that were read and neither answered nor cancelled."""
        if isinstance(message, JSONRPCRequest):
            self.in_flight.add(message.id)
        elif isinstance(message, JSONRPCNotification):
            if message.method == "notifications/cancelled":
                self.answered((message.params or {}).get("requestId"))
        else:
            self.asked.discard(message.id)

    def answered(self, request_id: Any) -> None:
        """A request needs no answer any more."""
        if isinstance(request_id, (str, int)):
            self.in_flight.discard(request_id)
            self._room.set()
        if self._is_at_end and not self.in_flight:
            self.settled.set()

    def ask(self, request_id: Any) -> None:
        """A request of ours goes out, and its answer is to come in."""
        self.asked.add(request_id)
        self.settled.set()
        self._room.set()

    async def _some(self) -> bytes:
        if self._can_wait:
            try:
                await trio.lowlevel.wait_readable(self._fd)
            except trio.ClosedResourceError:  # `end` was called
                return b""
        else:
            await trio.lowlevel.checkpoint()
        if self._is_ended:
            return b""
        try:
            return os.read(self._fd, READ_BYTES)
        except OSError:  # gone: a reset socket, a terminal that hung up
            return b""

    async def _drain(self) -> None:
        if not self._is_draining:
            self._is_draining = True
            self._deadline = min(self._deadline, trio.current_time() + self._left_s())
            self._on_end()
        if self.asked:
            gone = ErrorData(code=CONNECTION_CLOSED, message="Connection closed")
            self._ready += [SessionMessage(JSONRPCError(jsonrpc="2.0", id=one, error=gone)) for one in self.asked]
            self.asked.clear()
            return
        if self.in_flight and not self.out.is_broken:
            self.settled = trio.Event()
            with trio.move_on_at(self._deadline):
                await self.settled.wait()
                return
        raise anyio.EndOfStream

    def _left_s(self) -> float:
        """How long calls in flight may go on now."""
        if self._is_ended or not self._can_wait:
            return self._drain_s
        self._on_closed()
        return min(self._drain_s, CLOSED_S) if self.out.is_read else 0.0

    def watch(self) -> None:
        """Notice that the client is gone though the loop does not turn, as it does not while a handler blocks it; for a
        thread of its own. What the client left to be read counts as long as it is read on."""
        if not self._can_wait:
            return
        poll = select.poll()
        poll.register(self._fd, 0)  # wakes when the other end is closed
        poll.poll()
        seen = -1
        while _holds_data(self._fd) and seen != self.reads:
            seen = self.reads
            time.sleep(GONE_S)
        self._on_closed()

    def end(self) -> None:
        """Read no more, as if the client had closed its end; calls in flight go on as long as they may then. Said once
        more, or when the client has closed it, they have little time: who says it will not wait long."""
        if self._is_at_end or self._is_ended:
            self._deadline = min(self._deadline, trio.current_time() + HURRY_S)
            self.settled.set()
        self._is_ended = True
        self._room.set()
        if self._can_wait and not self._is_at_end:
            trio.lowlevel.notify_closing(self._fd)


class Out(MessageWriter):
    """The way out. A line that was begun is ended by whoever writes next, if its own sender was cancelled."""

    def __init__(self, fd: int, stdio: Stdio) -> None:
        self._fd = fd
        self._stdio = stdio
        self._left = bytearray()
        self._lock = trio.Lock()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._can_wait = _can_wait(fd)
        self._piece = PIECE_BYTES if self._can_wait else 1 << 20
        self.is_broken = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message, whole.

        Raises:
            anyio.BrokenResourceError: the client is gone.
        """
        message = item.message
        if isinstance(message, JSONRPCRequest):
            self._stdio.ask(message.id)
        self._left += message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8")
        self._left += b"\n"
        try:
            if not self._lock.locked():
                self._write_now()
            while self._left:
                async with self._lock:
                    await self._write_rest()
        except OSError:
            self.is_broken = True
            self._left.clear()
            self._stdio.end()
            raise anyio.BrokenResourceError from None
        finally:
            if isinstance(message, (JSONRPCResponse, JSONRPCError)):
                self._stdio.answered(message.id)

    @property
    def is_read(self) -> bool:
        """Whether anybody could still read it."""
        return not any(event & (select.POLLERR | select.POLLHUP) for _, event in self._poll.poll(0))

    def _write_now(self) -> None:
        while self._left and self._poll.poll(0):
            del self._left[: os.write(self._fd, self._left[: self._piece])]

    async def _write_rest(self) -> None:
        while self._left:
            if self._can_wait:
                await trio.lowlevel.wait_writable(self._fd)
            self._write_now()

    async def aclose(self) -> None:
        """Write what is left; it has little time."""
        with trio.move_on_after(LAST_WORDS_S, shield=True):
            try:
                async with self._lock:
                    await self._write_rest()
            except OSError:
                self.is_broken = True


def _holds_data(fd: int) -> bool:
    count = array.array("i", [0])
    try:
        fcntl.ioctl(fd, termios.FIONREAD, count)
    except OSError:
        return False
    return count[0] > 0


def _can_wait(fd: int) -> bool:
    """Whether the system tells when a descriptor is ready: of a file or a device such as /dev/null it does not."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and os.isatty(fd))


async def serve_stdio(
    server: Server[Any],
    read_fd: int,
    write_fd: int,
    *,
    drain_s: float = 10.0,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    on_end: Callable[[], None] = lambda: None,
) -> None:
    """Serve one client on two descriptors, until it closes its end; they stay open.

    Args:
        server: any server of the SDK.
        read_fd, write_fd: what the client writes to and reads from.
        drain_s: how long calls in flight may go on then, in seconds.
        max_message_bytes: a longer line is refused.
        on_end: called when the client closed its end, to end what would otherwise last.

    .. versionadded:: 0.1
    """
    stdio = Stdio(read_fd, write_fd, drain_s=drain_s, max_message_bytes=max_message_bytes, on_end=on_end)
    await server.run(stdio, stdio.out, server.create_initialization_options())
