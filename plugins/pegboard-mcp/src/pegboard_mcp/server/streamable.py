"""Streamable HTTP: the SDK's session manager, with bodies read once, calls counted, and the lane before it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard_mcp.server._flights import refusal
from pegboard_mcp.server.http import answer_json, in_flight, lasting, read_message, replaying

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.settings import McpSettings

LISTEN = "subscriptions/listen"


class Streamable:
    """The endpoint `/mcp`."""

    def __init__(self, manager: StreamableHTTPSessionManager, flights: Flights, settings: McpSettings) -> None:
        self._manager = manager
        self._flights = flights
        self._limit = settings.max_body_bytes

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, server: Server[Any], flights: Flights, settings: McpSettings) -> AsyncIterator[Streamable]:
        """The endpoint; its sessions end with the block."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            server,
            session_idle_timeout=settings.session_idle_s,
            max_request_body_size=settings.max_body_bytes,
            max_sessions=settings.max_sessions,
        )
        async with manager.run():
            yield cls(manager, flights, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            await lasting(self._flights, self._manager.handle_request, scope, receive, send)
            return
        if scope["method"] != "POST":
            await self._manager.handle_request(scope, receive, send)
            return
        read = await read_message(scope, receive, send, self._limit)
        if read is None:
            return
        body, message = read
        again = replaying(body, receive)
        if not (isinstance(message, dict) and "method" in message and "id" in message):
            await self._manager.handle_request(scope, again, send)
        elif self._flights.stopping:
            await answer_json(send, 503, refusal(message["id"]), retry=True)
        elif message["method"] == LISTEN:
            await lasting(self._flights, self._manager.handle_request, scope, again, send)
        else:
            await in_flight(self._flights, self._manager.handle_request, scope, again, send, message["id"])
