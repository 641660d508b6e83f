"""WebSocket at `/ws`: one JSON-RPC message a text frame, subprotocol `mcp`.

The SDK has no WebSocket; a connection is a pair of streams for its server, which reads and writes the frames of
hypercorn directly. Bytes, what is too long, and what is not a message, are answered as JSON-RPC wants it, and the
connection goes on. Pings are hypercorn's, and so is close code 1009 for what is too long to look for its id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import trio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from starlette.requests import HTTPConnection

from pegboard.config import get_logger
from pegboard_mcp.server._flights import Watched
from pegboard_mcp.server.auth import CALLER, answer_plainly
from pegboard_mcp.server.messages import NoMessageError, message_of
from pegboard_mcp.streams import MessageReader, MessageWriter
from pegboard_serving import LAST_S
from pegboard_serving.sharing import Place, Places, owner_of

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.settings import McpSettings

log = get_logger("pegboard.mcp.serve")

SUBPROTOCOL = "mcp"
GOING_AWAY = 1001
INTERNAL = 1011
TRY_AGAIN = 1013
"""Others needed the place, and nothing was being answered."""


class WebSockets:
    """The endpoint `/ws`."""

    def __init__(self, server: Server[Any], flights: Flights, settings: McpSettings, places: Places) -> None:
        self._server = server
        self._flights = flights
        self._settings = settings
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        serving = trio.CancelScope()
        frames = _Frames(scope, receive, send, self._settings.max_body_bytes)
        watched = Watched(self._flights, frames, frames, on_request=lambda: self._places.touch(place))
        place = Place(owner_of(scope[CALLER], scope), lambda: watched.is_idle, serving.cancel)
        if self._flights.stopping or not self._places.take(place):
            await answer_plainly(scope, send, 503, b"no new connections now", retry=True)
            return
        code = INTERNAL
        try:
            offered = SUBPROTOCOL in scope.get("subprotocols", ())
            await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL if offered else None})
            with serving, self._flights.lasting(serving.cancel):
                await self._server.run(watched.reader, watched.writer, self._server.create_initialization_options())
            code = self._code_of(serving)
        except Exception:
            log.exception("a WebSocket connection failed")
        finally:
            self._places.give_back(place)
            with trio.CancelScope(shield=True, deadline=trio.current_time() + LAST_S):
                if self._flights.stopping:
                    await watched.cut_off()
                watched.close()
                await frames.leave(code)

    def _code_of(self, serving: trio.CancelScope) -> int:
        if not serving.cancelled_caught:
            return 1000
        return GOING_AWAY if self._flights.stopping else TRY_AGAIN


class _Frames(MessageReader, MessageWriter):
    """The frames of one connection, as the two streams that the SDK's server wants."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        self._connection = HTTPConnection(scope)
        self._receive = receive
        self._send = send
        self._limit = limit
        self._gone = False
        self._closed = False

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: the client left.
        """
        while not self._gone:
            frame = await self._receive()
            if frame["type"] != "websocket.receive":
                self._gone = True
                break
            try:
                message = message_of(b"" if frame.get("text") is None else frame["text"], self._limit)
            except NoMessageError as problem:
                await self.send(SessionMessage(problem.answer))
            else:
                return SessionMessage(message, ServerMessageMetadata(request_context=self._connection))
        raise anyio.EndOfStream

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message; one that comes too late is dropped, as nobody is there to read it."""
        if not self._gone and not self._closed:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await self._send({"type": "websocket.send", "text": text})

    async def leave(self, code: int) -> None:
        """Close the connection, if the client has not."""
        if not self._gone and not self._closed:
            self._closed = True
            await self._send({"type": "websocket.close", "code": code})

    async def aclose(self) -> None:
        """The connection is closed by `leave`, after the last answers."""
