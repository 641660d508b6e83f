"""Streamable HTTP: the SDK's session manager, with bodies read once, calls counted, and the lane before it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from pegboard_mcp.server._flights import refusal
from pegboard_mcp.server.http import answer_error, answer_json, in_flight, lasting, read_message, replaying
from pegboard_mcp.server.messages import NoMessageError, message_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.lowlevel import Server
    from starlette.types import Message, Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.server.lane import Lane
    from pegboard_mcp.settings import McpSettings

CALL = "tools/call"
LISTEN = "subscriptions/listen"


class Streamable:
    """The endpoint `/mcp`."""

    def __init__(
        self, manager: StreamableHTTPSessionManager, lane: Lane | None, flights: Flights, settings: McpSettings
    ) -> None:
        self._manager = manager
        self._lane = lane
        self._flights = flights
        self._limit = settings.max_body_bytes

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, server: Server[Any], flights: Flights, settings: McpSettings) -> AsyncIterator[Streamable]:
        """The endpoint; its sessions end with the block."""
        manager = StreamableHTTPSessionManager(
            server,
            session_idle_timeout=settings.session_idle_s,
            max_request_body_size=settings.max_body_bytes,
            max_sessions=settings.max_sessions,
        )
        async with contextlib.AsyncExitStack() as stack:
            lane = make_lane(server, flights, settings)
            opened = await stack.enter_async_context(lane) if lane is not None else None
            await stack.enter_async_context(manager.run())
            yield cls(manager, opened, flights, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        if method == "POST":
            await self._post(scope, receive, send)
        elif method == "GET":
            await lasting(self._flights, self._manager.handle_request, scope, receive, send)
        else:
            await self._end_session(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = await read_message(scope, receive, send, self._limit)
        if read is None:
            return
        body, message = read
        lane, flights = self._lane, self._flights
        if isinstance(message, dict) and lane is not None:
            if message.get("method") == CALL and not flights.stopping:
                if await lane.serve(scope, receive, send, message):
                    return
            elif "method" not in message and lane.take_answer(scope, message):
                lane.seen(scope)
                await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
        try:
            message_in(message)
        except NoMessageError as problem:
            await answer_error(send, 400, problem)
            return
        is_request = "method" in message and "id" in message
        if is_request and flights.stopping:
            await answer_json(send, 503, refusal(message["id"]), retry=True)
            return
        if lane is not None:
            lane.seen(scope)
            lane.note_cancel(scope, message)
        again = replaying(body, receive)
        if not is_request:
            await self._manager.handle_request(scope, again, send)
        elif message["method"] == LISTEN:
            await lasting(flights, self._manager.handle_request, scope, again, send)
        else:
            await in_flight(flights, self._manager.handle_request, scope, again, send, message["id"])

    async def _end_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and self._lane is not None:
                self._lane.forget(scope)
            await send(message)

        await self._manager.handle_request(scope, receive, watch)


def make_lane(
    server: Server[Any], flights: Flights, settings: McpSettings
) -> contextlib.AbstractAsyncContextManager[Lane] | None:
    """A lane before the board's own server; none before another, of whose tools nothing is known here."""
    from pegboard_mcp.server.app import BoardServer
    from pegboard_mcp.server.lane import open_lane

    return open_lane(server, flights, settings.session_idle_s) if isinstance(server, BoardServer) else None
