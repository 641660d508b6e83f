"""hypercorn's trio worker, with connections that fail alone and end when they are told to.

The protocol is hypercorn's. Three things are done here instead. It shields its writes, so that a client which does not
read would hold up the end; here the end cuts such connections off. What a client makes its connection fail by is the
end of that connection alone. And HTTP/2 in the clear is not offered: a client could leave its answers unread there for
ever, since its window is its own affair and the system sees a connection that lives.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr

if TYPE_CHECKING:
    import socket

    import h11
    from hypercorn.config import Config

log = logging.getLogger("pegboard.http")


class _Http1(H11Protocol):
    """HTTP/1.1 and nothing that a client would rather speak."""

    async def _check_protocol(self, event: Any) -> None:
        pass

    async def _create_stream(self, request: h11.Request) -> None:
        """A request to go over to something else is one that asks for nothing else (RFC 9110, section 7.8). hypercorn
        would refuse a handshake of WebSocket and keep the connection without any timeout."""
        if any(name == b"upgrade" for name, _ in request.headers):
            request = type(request)(
                method=request.method,
                target=request.target,
                headers=[(name, value) for name, value in request.headers if name != b"upgrade"],
                http_version=request.http_version,
            )
        await super()._create_stream(request)


class Connection(TCPServer):
    """One connection of a client."""

    stream: Any
    protocol: Any

    def __init__(self, worker: Worker, stream: trio.SocketStream) -> None:
        super().__init__(worker.app, worker.config, worker.context, ConnectionState({}), stream)  # type: ignore[arg-type]
        self._worker = worker

    async def run(self) -> None:
        """Serve it until either side closes it."""
        self._worker.connections.add(self)
        try:
            sock = self.stream.socket
            client = parse_socket_addr(sock.family, sock.getpeername())
            server = parse_socket_addr(sock.family, sock.getsockname())
            async with TaskGroup() as tasks:
                self._task_group = tasks
                self.protocol = _Http1(
                    self.app,
                    self.config,
                    self.context,
                    tasks,
                    ConnectionState({}),
                    False,
                    client,
                    server,
                    self.protocol_send,
                )
                await self.protocol.initiate()
                await self.idle_task.restart(tasks, self._idle_timeout)
                await self._read_data()
        except OSError:
            pass  # it was gone before it began
        finally:
            try:
                await self._close()
            finally:
                self.cut()  # if that was cancelled
                self._worker.left(self)

    def cut(self) -> None:
        """Close it now, whatever it is doing."""
        self.stream.socket.close()


class Worker:
    """Serves an ASGI app on one socket.

    Args:
        app: the app; it is sent no events of a lifespan.
        config: hypercorn's.
    """

    def __init__(self, app: Any, config: Config) -> None:
        self.app = ASGIWrapper(app)
        self.config = config
        self.context = WorkerContext(None)
        self.connections: set[Connection] = set()
        self._left = trio.Event()

    def left(self, connection: Connection) -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        if not self.connections:
            self._left.set()

    async def serve(
        self, bound: socket.socket, closing: trio.Event, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Accept until `closing` is set; then let the answers that are being written leave, and cut the others off."""
        bound.listen(self.config.backlog)
        bound.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(bound))
        async with trio.open_nursery() as serving:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(partial(trio.serve_listeners, self._handle, [listener], handler_nursery=serving))
                task_status.started()
                await closing.wait()
                accepting.cancel_scope.cancel()
            await self.context.terminated.set()  # closes what is idle
            with trio.move_on_after(self.config.graceful_timeout):
                while self.connections:
                    self._left = trio.Event()
                    await self._left.wait()
            for connection in tuple(self.connections):
                connection.cut()
            serving.cancel_scope.cancel()

    async def _handle(self, stream: trio.SocketStream) -> None:
        try:
            await Connection(self, stream).run()
        except Exception:
            log.exception("a connection failed")  # of one client; the others have nothing to do with it
