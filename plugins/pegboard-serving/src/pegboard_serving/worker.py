"""hypercorn's trio worker, with connections that cost less and end when they are told to.

The protocol is hypercorn's, from its `TCPServer` down. Two things of a connection are done here instead, since they
were most of what a small answer cost. hypercorn writes the head, the body and the end of an answer one by one, each
under a lock and a scope; here a head that says how long its body is waits for it, and an end that has no bytes is not
written. And hypercorn starts a task after each answer that closes the connection if it stays idle; here that is a
deadline.

hypercorn shields its writes, so that a client which does not read would hold up the end for ever. Here a write has a
time, which grows with its size, and the end cuts such connections off. A head has to come within `HEAD_S`; connections
are shared by the addresses that they come from. What two readers could frame in two ways, so that one of them takes a
part of a body for the next request, is refused, and the connection is closed (RFC 9112, sections 2.2, 5.2, 6.1, 6.3).
What a client makes a connection fail by is the end of that connection alone. And HTTP/2 in the clear is not offered: a
client could leave its answers unread there for ever, since its window is its own affair and the system sees a
connection that lives.

It imports hypercorn and trio: import it where a server begins to serve.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import h11
import trio
from h11._receivebuffer import ReceiveBuffer, blank_line_regex
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, RawData, Updated
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr

from pegboard_serving import LAST_S, UNREAD_S
from pegboard_serving.bodies import RATE
from pegboard_serving.sharing import Place, Places

if TYPE_CHECKING:
    import logging
    import socket
    import ssl

    from hypercorn.events import Event

__all__ = ["Connection", "Worker", "config_for"]

MAX_HEAD = 64 * 1024
"""The longest head of a request, in bytes."""
KEPT_S = 75.0
"""How long a connection is kept for the next request."""
HEAD_S = 10.0
"""How long the head of a request may take from its first byte on, in seconds."""
MAX_CONNECTIONS = 1_000
"""Connections at once; less where the system allows fewer descriptors."""

HEAD = b"HTTP/1.1 "
LENGTH = b"\r\ncontent-length: "


def config_for(log: logging.Logger) -> Config:
    """hypercorn's configuration of an HTTP server: HTTP/1.1 alone, bounded heads, no log but warnings.

    .. versionadded:: 0.1
    """
    config = Config()
    config.accesslog = None
    config.errorlog = log
    config.loglevel = "WARNING"
    config.include_date_header = config.include_server_header = False
    config.keep_alive_timeout = KEPT_S
    config.keep_alive_max_requests = 2**62
    config.alpn_protocols = ["http/1.1"]
    config.graceful_timeout = LAST_S
    config.h11_max_incomplete_size = MAX_HEAD
    config.max_app_queue_size = 16
    return config


class _Context(WorkerContext):
    """What hypercorn's protocol knows of its worker, for one connection: its pings end with it."""

    def __init__(self, context: WorkerContext, gone: trio.Event) -> None:
        super().__init__(None)
        self.terminate, self.terminated = context.terminate, context.terminated
        self._gone = gone

    async def sleep(self, wait: float) -> None:  # type: ignore[override]
        """Wait, no longer than the connection lasts."""
        with trio.move_on_after(wait):
            await self._gone.wait()


class _Heads(ReceiveBuffer):
    """Heads and trailers that every reader of HTTP/1.1 ends and frames in the same way; h11 is lenient."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines up to the first blank one; None: it is not there yet.

        Raises:
            h11.RemoteProtocolError: readers differ about what they say.
        """
        blank = blank_line_regex.search(self._data, self._multiple_lines_search)
        if blank is not None or self._data[:1] == b"\n":
            head = bytes(self._data[: blank.end() if blank is not None else 1])
            breaks = head.count(b"\r\n")
            if not breaks == head.count(b"\n") == head.count(b"\r") or b"\n " in head or b"\n\t" in head:
                raise h11.RemoteProtocolError("a line is folded, or does not end in CR LF")
        lines: list[bytearray] | None = super().maybe_extract_lines()
        if lines:
            framing = [line for line in lines if line.partition(b":")[0].lower() in _FRAMING]
            is_old = bool(framing) and lines[0].endswith(b"HTTP/1.0") and framing[0][:1] in b"tT"
            if len(framing) > 1 or is_old or any(b"," in line and line[:1] in b"cC" for line in framing):
                raise h11.RemoteProtocolError("the length of the body is said twice")
        return lines


_FRAMING = (b"content-length", b"transfer-encoding")


class _Http1(H11Protocol):
    """HTTP/1.1, and WebSocket where it is served."""

    websocket_path: str | None = None
    connection: Any

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connection._receive_buffer = _Heads()

    async def _check_protocol(self, event: Any) -> None:
        pass

    async def _create_stream(self, request: h11.Request) -> None:
        """A request to go over to what is not served is one that asks for nothing else (RFC 9110, section 7.8).
        hypercorn would refuse a handshake of WebSocket and keep the connection without any timeout."""
        if any(name == b"upgrade" for name, _ in request.headers) and not self._is_handshake(request):
            request = type(request)(
                method=request.method,
                target=request.target,
                headers=[(name, value) for name, value in request.headers if name != b"upgrade"],
                http_version=request.http_version,
            )
        await super()._create_stream(request)

    def _is_handshake(self, request: h11.Request) -> bool:
        """RFC 6455, section 4.2.1, as far as hypercorn would not say itself what is wrong."""
        given = {bytes(name): bytes(value).strip().lower() for name, value in request.headers}
        path = request.target.split(b"?", 1)[0].decode("latin-1").rstrip("/")
        return (
            self.websocket_path == path
            and request.method == b"GET"
            and given.get(b"upgrade") == b"websocket"
            and given.get(b"sec-websocket-version") == b"13"
            and bool(given.get(b"sec-websocket-key"))
        )


class Connection(TCPServer):
    """One connection of a client.

    Attributes:
        is_idle: whether it is between two requests.

    .. versionadded:: 0.1
    """

    stream: Any
    protocol: Any

    def __init__(self, worker: Worker, stream: trio.SocketStream) -> None:
        self._gone = trio.Event()
        self._socket = stream.socket
        context = _Context(worker.context, self._gone)
        covered = stream if worker.tls is None else _covered(stream, worker.tls)
        super().__init__(worker.app, worker.config, context, {}, covered)  # type: ignore[arg-type]
        self.is_idle = True
        self._worker = worker
        self._held = b""
        self._has_begun = False  # a head of which not all is there
        self._waiting = trio.CancelScope()

    async def run(self) -> None:
        """Serve it until either side closes it."""
        self._worker.connections.add(self)
        try:
            sock = self._socket
            client = parse_socket_addr(sock.family, sock.getpeername())
            server = parse_socket_addr(sock.family, sock.getsockname())
            if not await self._agree():
                return
            async with TaskGroup() as tasks:
                self._task_group = tasks
                self.protocol = _Http1(
                    self.app,
                    self.config,
                    self.context,
                    tasks,
                    ConnectionState({}),
                    self._worker.tls is not None,
                    client,
                    server,
                    self.protocol_send,
                )
                self.protocol.websocket_path = self._worker.websocket_path
                await self.protocol.initiate()
                self._waiting.deadline = trio.current_time() + self.config.keep_alive_timeout
                with self._waiting:
                    await self._read_data()
                if self._waiting.cancelled_caught:
                    with trio.CancelScope(shield=True):
                        await self._initiate_server_close()
        except OSError:
            pass  # it was gone before it began
        finally:
            try:
                await self._close()
            finally:
                self.cut()  # if that was cancelled
                self._worker.left(self)

    async def _agree(self) -> bool:
        """Whether TLS stands, where there is any: a client that speaks none, or trusts no such server, is gone."""
        if self._worker.tls is None:
            return True
        with trio.move_on_after(HEAD_S), contextlib.suppress(trio.BrokenResourceError):
            await self.stream.do_handshake()
            return True
        self.cut()
        return False

    async def protocol_send(self, event: Event) -> None:
        """Write what the protocol gives, and note when a request begins and ends."""
        if isinstance(event, RawData):
            data = event.data
            if data.startswith(HEAD) and LENGTH in data:
                self._held += data
                return
            if self._held:
                data, self._held = self._held + data, b""
            if data:
                await self._write(data)
        elif isinstance(event, Updated):
            self.is_idle, self._has_begun = event.idle, False
            if not event.idle:
                self._waiting.deadline = float("inf")
            elif self.context.terminated.is_set():
                self._waiting.cancel()
            else:
                self._waiting.deadline = trio.current_time() + self.config.keep_alive_timeout
        elif isinstance(event, Closed):
            # Shielded: the app, in whose task this may be, is told first, and may cancel what still sends for it.
            with trio.CancelScope(shield=True):
                await self._close()
            await self.protocol.handle(Closed())

    async def _write(self, data: bytes) -> None:
        try:
            async with self.send_lock:
                with trio.CancelScope(
                    shield=True, deadline=trio.current_time() + UNREAD_S + len(data) / RATE
                ) as sending:
                    await self.stream.send_all(data)
            if not sending.cancelled_caught:
                return
            self.cut()  # it reads too slowly
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        await self.protocol.handle(Closed())

    async def _read_data(self) -> None:
        while True:
            try:
                data = await self.stream.receive_some(MAX_RECV)
            except (trio.ClosedResourceError, trio.BrokenResourceError):
                break
            await self.protocol.handle(RawData(bytes(data)))
            if not data:
                break
            if self.is_idle and not self._has_begun:
                self._has_begun = True
                self._waiting.deadline = min(self._waiting.deadline, trio.current_time() + HEAD_S)
        self._gone.set()
        await self.protocol.handle(Closed())

    def leave(self) -> None:
        """Close it if it is idle; else the protocol closes it after its answer."""
        if self.is_idle:
            self._waiting.cancel()

    def cut(self) -> None:
        """Close it now, whatever it is doing."""
        self._socket.close()


class Worker:
    """Serves an ASGI app on one socket.

    Args:
        app: the app; it is sent no events of a lifespan.
        config: hypercorn's; see `config_for`.
        log: hears of connections that failed.
        websocket_path: where WebSocket is served; None: nowhere.
        tls: what covers the connections; None: nothing does. See `pegboard_serving.tls_of`.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        app: Any,
        config: Config,
        *,
        log: logging.Logger,
        websocket_path: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.app = ASGIWrapper(app)
        self.config = config
        self.tls = tls
        self.websocket_path = websocket_path
        self._log = log
        self.context = WorkerContext(None)
        self.connections: set[Connection] = set()
        self._places = Places(_most_connections(), own_too=True)
        self._left = trio.Event()
        self._accepting = trio.CancelScope()

    def stop_accepting(self) -> None:
        """Take no new connection, and have each that stands end with its next answer, which says so to its client.

        Nothing is refused by that: who shares the socket takes the new ones.
        """
        self._accepting.cancel()
        self.config.keep_alive_max_requests = 0

    def left(self, connection: Connection) -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        if not self.connections:
            self._left.set()

    async def serve(
        self, bound: socket.socket, closing: trio.Event, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Accept until `closing` is set; then let the answers that are being written leave, and cut the others off."""
        bound.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(bound))
        async with trio.open_nursery() as serving:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(self._accept, listener, serving)
                task_status.started()
                await closing.wait()
                accepting.cancel_scope.cancel()
            await self.context.terminated.set()
            for connection in tuple(self.connections):
                connection.leave()
            serving.start_soon(self._cut_off, serving.cancel_scope)

    async def _accept(self, listener: trio.SocketListener, serving: trio.Nursery) -> None:
        with self._accepting:
            await trio.serve_listeners(self._handle, [listener], handler_nursery=serving)

    async def _handle(self, stream: trio.SocketStream) -> None:
        connection = Connection(self, stream)
        place = Place(_peer_of(stream), lambda: connection.is_idle, connection.leave)
        if not self._places.take(place):
            connection.cut()
            return
        try:
            await connection.run()
        except Exception:  # noqa: BLE001 - of one client; the others have nothing to do with it
            self._log.exception("a connection failed")
        finally:
            self._places.give_back(place)

    async def _cut_off(self, scope: trio.CancelScope) -> None:
        with trio.move_on_after(self.config.graceful_timeout):
            while self.connections:
                self._left = trio.Event()
                await self._left.wait()
        for connection in tuple(self.connections):
            connection.cut()
        scope.cancel()


def _covered(stream: trio.SocketStream, tls: ssl.SSLContext) -> trio.SSLStream[trio.SocketStream]:
    return trio.SSLStream(stream, tls, server_side=True, https_compatible=True)


def _peer_of(stream: trio.SocketStream) -> str:
    try:
        return str(stream.socket.getpeername()[0])
    except (OSError, IndexError):  # it is gone
        return ""


def _most_connections() -> int:
    """Half of the descriptors that the system allows are left to what the calls need."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if allowed != resource.RLIM_INFINITY:
            return max(1, min(MAX_CONNECTIONS, allowed // 2))
    return MAX_CONNECTIONS
