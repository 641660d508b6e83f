"""A TCP relay between a bridge and a server: it keeps every request that passes, and may cut an answer off."""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import attrs
import trio

PIECE = 65_536
LOOPBACK = "127.0.0.1"


class Sent(NamedTuple):
    """One request that passed."""

    path: str
    headers: dict[str, str]
    body: Any


@attrs.define
class Relay:
    """What stands in front of one server.

    Args:
        target: the server's address, with a path that every request's path begins with.
        url: where the bridge finds it instead.
        sent: every request with a body, in the order they came.
        cut_after: bytes of the next answer, its head included, after which the connection is dropped; None: all pass.
        answered: bytes that came back, by connection.
    """

    target: str
    url: str = ""
    sent: list[Sent] = attrs.field(factory=list)
    cut_after: int | None = None
    answered: list[int] = attrs.field(factory=list)
    connections: int = 0
    """How many are open now."""

    async def run(self, *, task_status: trio.TaskStatus[Relay] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen on loopback until cancelled."""
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        port = listeners[0].socket.getsockname()[1]
        self.url = f"http://{LOOPBACK}:{port}{urlsplit(self.target).path}"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, self._serve, listeners)
            task_status.started(self)

    async def _serve(self, client: trio.SocketStream) -> None:
        place = urlsplit(self.target)
        assert place.port is not None
        self.connections += 1
        try:
            server = await trio.open_tcp_stream(LOOPBACK, place.port)
            async with server, client, trio.open_nursery() as nursery:
                nursery.start_soon(self._there, client, server)
                await self._back(server, client)
                nursery.cancel_scope.cancel()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # one side went away, as sides do
        finally:
            self.connections -= 1

    async def _there(self, client: trio.SocketStream, server: trio.SocketStream) -> None:
        seen = b""
        while piece := await client.receive_some(PIECE):
            seen = self._note(seen + piece)
            await server.send_all(piece)
        await server.aclose()  # nobody listens for the rest of the answer

    async def _back(self, server: trio.SocketStream, client: trio.SocketStream) -> None:
        self.answered.append(0)
        at = len(self.answered) - 1
        try:
            while piece := await server.receive_some(PIECE):
                left = None if self.cut_after is None else self.cut_after - self.answered[at]
                if left is not None and len(piece) >= left:
                    await client.send_all(piece[:left])
                    self.answered[at] += left
                    self.cut_after = None
                    return
                self.answered[at] += len(piece)
                await client.send_all(piece)
        except trio.ClosedResourceError:
            return

    def _note(self, seen: bytes) -> bytes:
        """Keep the requests that are whole by now; what is left is the beginning of the next one."""
        while b"\r\n\r\n" in seen:
            head, _, rest = seen.partition(b"\r\n\r\n")
            line, *fields = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                break
            if length:
                self.sent.append(Sent(line.split(" ")[1], headers, json.loads(rest[:length])))
            seen = rest[length:]
        return seen
