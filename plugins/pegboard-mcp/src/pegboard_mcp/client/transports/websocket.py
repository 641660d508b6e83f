"""A server over WebSocket, subprotocol `mcp`: one JSON-RPC message in each text message.

The SDK has no such transport any more; this one stands on trio-websocket. The connection lives in a task of its own, so
that its crash is not a crash of the body. A ping every `PING_S` finds a dead peer that no packet tells of: the answer
must come within `PONG_S`. A message over `max_message_bytes` closes the connection with 1009.

Specification: RFC 6455; close codes in section 7.4.1. The subprotocol is that of the SDK before 2.0.
"""

from __future__ import annotations

import collections
import contextlib
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import anyio
import httpx2
import trio
import trio_websocket
from mcp.shared.message import SessionMessage

from pegboard_httpclient.client import tls_context
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports._link import GARBAGE_LIMIT, Link, beside, shorten
from pegboard_mcp.client.transports._messages import read_message
from pegboard_mcp.client.transports._web import fault_of, mask_logs, status_fault
from pegboard_mcp.streams import MessageReader, MessageWriter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pegboard_mcp.client._errors import Kind
    from pegboard_mcp.definitions import ServerDefinition

PING_S = 20.0
PONG_S = 10.0
SEND_S = 10.0
"""How long a message may take to leave: a frame that is cut off would spoil the connection, so a task of the connection
sends it, whatever becomes of who waits for it."""
LEAVE_S = 2.0
"""How long the closing handshake may take."""
ABORT_S = 0.2
CHUNK = 65_536
QUEUE = 8
"""Messages that wait within the library."""

_CODES: dict[int, tuple[Kind, str, str]] = {
    1000: ("closed", "it closed the connection", "Try again."),
    1001: ("closed", "it is going away", "Try again when it is back."),
    1002: ("garbage", "it found a fault in the protocol", "Check that `url` is an MCP server over WebSocket."),
    1003: ("garbage", "it does not take this kind of message", "Check that `url` is an MCP server over WebSocket."),
    1006: ("lost", "the connection broke off without a word", "Check that the server still runs, then try again."),
    1007: ("garbage", "the text in a message is broken", "Look into the log of the server."),
    1008: ("unauthorized", "it refuses us by its rules", "Check the token in `headers`."),
    1011: ("closed", "it failed inside", "Look into the log of the server."),
    1012: ("lost", "it restarts", "Try again."),
    1013: ("refused", "it is overloaded", "Try again later."),
}  # fmt: skip


class WebSocketLink(Link):
    """A link over WebSocket."""

    def __init__(self, definition: ServerDefinition, on_gone: Callable[[], None]) -> None:
        super().__init__(definition, on_gone)
        self.over = trio.Event()
        """Set when the connection is to be closed."""

    def stop(self, cause: LinkError | None) -> None:
        """End the link from this side."""
        self.end(cause)
        self.over.set()

    def closed(self, fault: trio_websocket.ConnectionClosed) -> None:
        """The connection was closed, by whomever."""
        self.stop(self._close_fault(fault.reason))

    def _close_fault(self, reason: trio_websocket.CloseReason | None) -> LinkError:
        code = reason.code if reason is not None else 1006
        if code == 1009:
            limit = self.definition.max_message_bytes
            why = f"a message is too big; the limit here is {limit:,} bytes"
            return LinkError("oversized", why, "Ask it for less, or raise `max_message_bytes` of the server.")
        kind, why, fix = _CODES.get(code, ("closed", "it closed the connection", "Look into the log of the server."))
        text = shorten(self.definition.mask(reason.reason or ""), 100) if reason is not None else ""
        return LinkError(kind, f"{why} (close code {code}{f': {text}' if text else ''})", fix)


class _WebSocketReader(MessageReader):
    def __init__(self, link: WebSocketLink, connection: trio_websocket.WebSocketConnection) -> None:
        self._link = link
        self._connection = connection

    async def receive(self) -> SessionMessage:
        """The next message."""
        link = self._link
        while True:
            try:
                data = await self._connection.get_message()
            except trio_websocket.ConnectionClosed as fault:
                link.closed(fault)
                raise anyio.EndOfStream from None
            message = read_message(data)
            if message is None:
                link.garbled(data if isinstance(data, str) else data.decode("utf-8", "replace"))
                if not link.heard and link.garbage >= GARBAGE_LIMIT:
                    link.stop(link.garbage_fault())
                continue
            link.heard = True
            return SessionMessage(message)


class _Outgoing:
    """A message in the queue; without a text nobody waits for it any more."""

    __slots__ = ("done", "is_sent", "text")

    def __init__(self, text: str) -> None:
        self.text: str | None = text
        self.is_sent = False
        self.done = trio.Event()


class _WebSocketWriter(MessageWriter):
    def __init__(self, link: WebSocketLink, connection: trio_websocket.WebSocketConnection) -> None:
        self._link = link
        self._connection = connection
        self._closed = self._is_over = False
        self._queue: collections.deque[_Outgoing] = collections.deque()
        self._lot = trio.lowlevel.ParkingLot()

    async def send(self, item: SessionMessage, /) -> None:
        """Send one message, whole. A caller that is cancelled does not wait until it is gone."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self._is_over:
            raise anyio.BrokenResourceError
        one = _Outgoing(item.message.model_dump_json(by_alias=True, exclude_unset=True))
        self._queue.append(one)
        self._lot.unpark()
        try:
            await one.done.wait()
        except trio.Cancelled:
            one.text = None
            raise
        if not one.is_sent:
            raise anyio.BrokenResourceError

    async def run(self) -> None:
        """Send what is in the queue, until the connection ends."""
        try:
            while True:
                while self._queue:
                    if self._queue[0].text is not None:
                        await self._send(self._queue[0])
                    self._queue.popleft()
                await self._lot.park()
        finally:
            self._is_over = True
            for one in self._queue:
                one.done.set()
            self._queue.clear()

    async def _send(self, one: _Outgoing) -> None:
        with trio.move_on_after(SEND_S) as scope:
            try:
                await self._connection.send_message(cast("str", one.text))
            except trio_websocket.ConnectionClosed as fault:
                self._link.closed(fault)
            else:
                one.is_sent = True
        if scope.cancelled_caught:
            self._link.stop(LinkError("lost", "it takes no more messages", "Check that the server still runs."))
        one.done.set()

    async def aclose(self) -> None:
        """Send no more."""
        self._closed = True


@contextlib.asynccontextmanager
async def open_websocket(definition: ServerDefinition, on_gone: Callable[[], None]) -> AsyncIterator[WebSocketLink]:
    """Connect to a server and give the link to it. Raises `LinkError`."""
    mask_logs(definition)
    link = WebSocketLink(definition, on_gone)
    ready, carried = trio.Event(), trio.Event()
    shield = trio.CancelScope(shield=True)

    async def carry() -> None:
        try:
            with shield:
                async with contextlib.AsyncExitStack() as stack:
                    with trio.fail_after(definition.connect_s):
                        inner, host, path = await _open_stream(definition)
                    stream = _Stream(inner)
                    stack.push_async_callback(trio.aclose_forcefully, stream)  # the library does not, where it fails
                    nursery = await stack.enter_async_context(trio.open_nursery())
                    with trio.fail_after(definition.connect_s):
                        connection = await _shake_hands(nursery, definition, stream, host, path)
                    link.read, link.write = _WebSocketReader(link, connection), _WebSocketWriter(link, connection)
                    nursery.start_soon(_keep_alive, link, connection)
                    nursery.start_soon(link.write.run)
                    ready.set()
                    await link.over.wait()
                    lost = link.why().kind == "lost"  # a handshake with nobody
                    with trio.move_on_after(ABORT_S if lost else LEAVE_S):
                        await connection.aclose()
                    nursery.cancel_scope.cancel()
        except Exception as fault:  # noqa: BLE001 - whatever the transport raises ends the link, with its cause
            link.end(_handshake_fault(fault, definition))
        finally:
            link.end()
            carried.set()
            ready.set()

    async with beside() as nursery:
        nursery.start_soon(carry)
        try:
            await ready.wait()
            if link.gone.is_set():
                raise link.why()
            yield link
        finally:
            link.leave()
            link.over.set()
            if not ready.is_set():
                shield.cancel()
            with trio.move_on_after(LEAVE_S + 1, shield=True):
                await carried.wait()
            shield.cancel()


class _Stream(trio.abc.Stream):
    """The stream below; it says when it is over, which the library does not tell while it waits for the handshake."""

    def __init__(self, inner: trio.abc.Stream) -> None:
        self.over = trio.Event()
        self._inner = inner

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._inner.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._inner.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        data = await self._inner.receive_some(max_bytes)
        if not data:
            self.over.set()
        return data

    async def aclose(self) -> None:
        self.over.set()
        await self._inner.aclose()


async def _open_stream(definition: ServerDefinition) -> tuple[trio.abc.Stream, str, str]:
    """The stream to the server, the value of `Host`, and the path."""
    url = urlsplit(definition.url or "")
    secure = url.scheme in {"wss", "https"}
    host, port = url.hostname or "", url.port or (443 if secure else 80)
    shown = f"[{host}]" if ":" in host else host
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    stream: trio.abc.Stream = await trio.open_tcp_stream(host, port)
    if secure:
        covered = trio.SSLStream(stream, tls_context(), server_hostname=host, https_compatible=True)
        try:
            await covered.do_handshake()
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        stream = covered
    return stream, shown if url.port is None else f"{shown}:{port}", path


async def _shake_hands(
    nursery: trio.Nursery, definition: ServerDefinition, stream: _Stream, host: str, path: str
) -> trio_websocket.WebSocketConnection:
    async def watch(scope: trio.CancelScope) -> None:
        await stream.over.wait()
        scope.cancel()

    with trio.CancelScope() as scope:
        nursery.start_soon(watch, scope)
        return await trio_websocket.wrap_client_stream(
            nursery,
            cast("trio.SocketStream", stream),  # it takes any stream, whatever it declares
            host,
            path,
            subprotocols=["mcp"],
            extra_headers=[(name.encode(), value.encode()) for name, value in definition.headers.items()],
            max_message_size=definition.max_message_bytes,
            message_queue_size=QUEUE,
            receive_buffer_size=CHUNK,
        )
    fix = "Check `url` and `transport`: is it a WebSocket server?"
    raise LinkError("closed", "it closed the connection instead of a handshake", fix)


async def _keep_alive(link: WebSocketLink, connection: trio_websocket.WebSocketConnection) -> None:
    try:
        while True:
            await trio.sleep(PING_S)
            with trio.fail_after(PONG_S):
                await connection.ping()
    except trio.TooSlowError:
        why = f"it did not answer a ping within {PONG_S:g} s"
        link.stop(LinkError("lost", why, "Check that the server still runs, and the network."))
    except trio_websocket.ConnectionClosed as fault:
        link.closed(fault)


def _handshake_fault(fault: BaseException, definition: ServerDefinition) -> LinkError:
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, trio_websocket.ConnectionRejected):
        return status_fault(httpx2.Response(fault.status_code), definition)
    if isinstance(fault, trio_websocket.ConnectionTimeout):
        fault = trio.TooSlowError()
    return fault_of(fault, definition)
