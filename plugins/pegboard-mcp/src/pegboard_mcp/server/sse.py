"""HTTP with SSE, the transport of 2024-11-05: a stream at `/sse`, messages to `/messages/`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import trio
from mcp.server.sse import SseServerTransport

from pegboard.config import get_logger
from pegboard_mcp.server._answers import Answering, read_message, refuse, replaying, session_id_in
from pegboard_mcp.server._flights import Watched
from pegboard_mcp.server.auth import CALLER, answer_plainly
from pegboard_serving import LAST_S
from pegboard_serving.bodies import Bodies
from pegboard_serving.sharing import Place, Places, owner_of

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import Message, Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.server.instances import Instances
    from pegboard_mcp.settings import McpSettings

log = get_logger("pegboard.mcp.serve")

POSTS = "/messages/"
MAX_WAITING = 64
"""Messages of one session that were taken and not yet read: a session whose answers nobody reads is not read either."""


class SseEndpoints:
    """The endpoints `/sse` and `/messages/`."""

    def __init__(
        self,
        server: Server[Any],
        flights: Flights,
        settings: McpSettings,
        places: Places,
        instances: Instances | None = None,
    ) -> None:
        self._instances = instances
        self._server = server
        self._flights = flights
        self._transport = SseServerTransport(POSTS, max_request_body_size=settings.max_body_bytes)
        self._bodies = Bodies(settings.max_body_bytes)
        self._places = places
        self._waiting: Counter[UUID] = Counter()

    async def listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET `/sse`: one session, as long as the stream is open."""
        if scope["method"] != "GET":
            await answer_plainly(scope, send, 405, b"GET opens the stream")
            return
        if self._instances is not None:
            send = self._instances.place_of_stream(scope, send).send
        answering = Answering(send)
        watched: Watched | None = None
        ending, ended = trio.Event(), trio.Event()
        place = Place(owner_of(scope[CALLER], scope), lambda: watched is not None and watched.is_idle, ended.set)
        if self._flights.stopping or not self._places.take(place):
            await answer_plainly(scope, send, 503, b"no new sessions now", retry=True)
            return

        async def flush(message: Message) -> None:
            await answering(message)
            if watched is not None and bytes(message.get("body", b"")).startswith(b"event: message"):
                watched.flushed()

        async def receive_or_end() -> Message:
            """What comes; when serving ends it is as if the client left, which lets the SDK close in its own order."""
            message: Message = {"type": "http.disconnect"}

            async def read() -> None:
                nonlocal message
                message = await receive()
                nursery.cancel_scope.cancel()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(read)
                await ended.wait()
                nursery.cancel_scope.cancel()
            return message

        async def say_last(watched: Watched) -> None:
            await ending.wait()
            with trio.move_on_after(LAST_S):
                await watched.cut_off()
            ended.set()

        try:
            with self._flights.lasting(ending.set):
                async with self._transport.connect_sse(scope, receive_or_end, flush) as (read, write):
                    used = partial(self._places.touch, place)
                    watched = Watched(self._flights, read, write, flushes=True, on_request=used)
                    options = self._server.create_initialization_options()
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(say_last, watched)
                        await self._server.run(watched.reader, watched.writer, options)
                        nursery.cancel_scope.cancel()
        except Exception:
            log.exception("an SSE connection failed")
        finally:
            self._places.give_back(place)
            if watched is not None:
                watched.close()
        with trio.move_on_after(LAST_S):
            if answering.started:
                await answering.end()

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST `/messages/`: one message of a session."""
        if scope["method"] != "POST":
            await self._transport.handle_post_message(scope, receive, send)
            return
        read = await read_message(scope, receive, send, self._bodies)
        if read is None:
            return
        body, message = read
        if self._instances is not None:
            place = self._instances.place_of_stream(scope, send)
            if place.elsewhere is not None:
                await self._instances.forward_message(
                    self._flights, place.elsewhere, body, message, place.scope, receive, send, of_session=True
                )
                return
            scope = place.scope
        session = _session_of(scope)
        if session is None:  # nothing that the SDK would only log as it came
            await answer_plainly(scope, send, 400, b"session_id is not valid")
            return
        if await refuse(self._flights, message, send):
            return
        if self._waiting[session] >= MAX_WAITING:
            await answer_plainly(scope, send, 503, b"read the stream first", retry=True)
            return
        self._waiting[session] += 1
        try:
            await self._transport.handle_post_message(scope, replaying(body, receive), send)
        finally:
            self._waiting[session] -= 1
            if not self._waiting[session]:
                del self._waiting[session]


def _session_of(scope: Scope) -> UUID | None:
    try:
        return UUID(hex=session_id_in(scope))
    except ValueError:
        return None
