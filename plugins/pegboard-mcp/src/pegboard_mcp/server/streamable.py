"""Streamable HTTP: the SDK's session manager, with bodies read once, calls counted, and the fast path before it."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from pegboard_mcp.server import _sdk
from pegboard_mcp.server._answers import in_flight, lasting, read_message, refuse, replaying
from pegboard_mcp.server._sdk import MCP_SESSION_ID_HEADER, SessionManager
from pegboard_mcp.server.auth import CALLER, answer_plainly
from pegboard_mcp.server.listening import LISTEN
from pegboard_serving.bodies import Bodies
from pegboard_serving.sharing import Place, Places, owner_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from mcp.server.lowlevel import Server
    from starlette.types import Message, Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.server.fast_path import FastPath
    from pegboard_mcp.server.handles import Name
    from pegboard_mcp.server.instances import Instances
    from pegboard_mcp.settings import McpSettings

LEFT_S = 60.0
"""A session that was not used for so long, in seconds, and has no stream open, makes room for its own client too: many
leave theirs without a word."""
CALL = "tools/call"
STATE = "requestState"
SESSION = MCP_SESSION_ID_HEADER.encode()


class _Session:
    """A session of the handshake era: its place, and how many of its requests are being answered."""

    def __init__(self, owner: str) -> None:
        self.id: str | None = None
        self.in_flight = 0
        self._used = trio.current_time()
        self.place = Place(owner, self._is_idle, is_left=self._is_left)

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """One of its requests, as long as the block."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._used = trio.current_time()

    def _is_idle(self) -> bool:
        return self.id is not None and not self.in_flight

    def _is_left(self) -> bool:
        return self._is_idle() and trio.current_time() - self._used >= LEFT_S


class Streamable:
    """The endpoint `/mcp`."""

    def __init__(
        self,
        manager: SessionManager,
        fast_path: FastPath | None,
        flights: Flights,
        settings: McpSettings,
        places: Places,
        instances: Instances | None,
        on_end: Callable[[str], object] | None,
    ) -> None:
        self._on_end = on_end
        self._instances = instances
        self._manager = manager
        self._fast_path = fast_path
        self._flights = flights
        self._bodies = Bodies(settings.max_body_bytes)
        self._places = places
        self._sessions: dict[str, _Session] = {}
        manager.on_discard = self._forget  # type: ignore[method-assign]

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        server: Server[Any],
        flights: Flights,
        settings: McpSettings,
        places: Places,
        instances: Instances | None = None,
    ) -> AsyncIterator[Streamable]:
        """The endpoint; its sessions end with the block."""
        manager = SessionManager(
            server,
            session_idle_timeout=settings.session_idle_s,
            max_request_body_size=settings.max_body_bytes,
            max_sessions=None,
        )
        async with contextlib.AsyncExitStack() as stack:
            fast_path = make_fast_path(server, flights, settings)
            opened = await stack.enter_async_context(fast_path) if fast_path is not None else None
            await stack.enter_async_context(manager.run())
            yield cls(manager, opened, flights, settings, places, instances, getattr(server, "end_session", None))

    def session_count(self) -> int:
        """How many sessions of the handshake era are open."""
        return len(self._sessions)

    def _forget(self, session_id: str) -> None:
        if self._on_end is not None:
            self._on_end(session_id)
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._places.give_back(session.place)

    def _evict(self, session: _Session) -> None:
        assert session.id is not None, "it was idle"
        self._manager.evict(session.id)
        if self._fast_path is not None:
            self._fast_path.drop(session.id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, wherever what it belongs to is."""
        if self._instances is None:
            await self._serve_here(scope, receive, send)
            return
        place = self._instances.place_of(scope, send)
        if place.elsewhere is None:
            await self._serve_here(place.scope, receive, place.send)
        else:
            await self._serve_there(place.elsewhere, place.scope, receive, send)

    async def _serve_there(self, name: Name, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a session of another instance."""
        assert self._instances is not None
        if scope["method"] != "POST":
            forward = partial(self._instances.forward, name, b"", None, of_session=True)
            await lasting(self._flights, forward, scope, receive, send)
            return
        read = await read_message(scope, receive, send, self._bodies)
        if read is not None:
            await self._instances.forward_message(self._flights, name, *read, scope, receive, send, of_session=True)

    async def _serve_here(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as one of its session."""
        key = next((value.decode("latin-1") for name, value in scope["headers"] if name == SESSION), None)
        session = self._sessions.get(key) if key is not None else None
        owner = owner_of(scope[CALLER], scope)
        if session is None or session.place.owner != owner:
            await self._serve(scope, receive, send)
            return
        self._places.touch(session.place)
        with session.request():
            await self._serve(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that may open a session."""
        session = _Session(owner_of(scope[CALLER], scope))
        session.place.leave = partial(self._evict, session)
        if not self._places.take(session.place):
            await answer_plainly(scope, send, 503, b"Too many open sessions", retry=True)
            return

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                header = next((value for name, value in message["headers"] if name.lower() == SESSION), None)
                if header is not None and session.id is None:
                    session.id = header.decode("latin-1")
                    self._sessions[session.id] = session
            await send(message)

        try:
            with session.request():
                await self._manager.handle_request(scope, receive, watch)
        finally:
            if session.id is None or session.id not in self._sessions:  # nothing was established
                self._places.give_back(session.place)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        if method == "POST":
            await self._post(scope, receive, send)
        elif method == "GET":
            # No event is kept, so none is sent again, to whomever: the SDK would answer nothing at all.
            headers = [one for one in scope["headers"] if one[0] != b"last-event-id"]
            await lasting(self._flights, self._manager.handle_request, {**scope, "headers": headers}, receive, send)
        else:
            await self._end_session(scope, receive, send)

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = await read_message(scope, receive, send, self._bodies)
        if read is None:
            return
        body, message = read
        if self._instances is not None and isinstance(message, dict):
            name = self._instances.owner_of(scope, message)
            if name is not None:
                # A suspended call is that process's alone; of anything else something may be known here.
                here = (
                    None if STATE in message["params"] else partial(self._answer, body, message, scope, receive, send)
                )
                await self._instances.forward_message(
                    self._flights, name, body, message, scope, receive, send, here=here
                )
                return
        await self._answer_as_reader(body, message, scope, receive, send)

    async def _answer_as_reader(
        self, body: bytes, message: Any, scope: Scope, receive: Receive, send: Send, tried: Name | None = None
    ) -> None:
        """Have what was posted answered where it is known what its caller was given."""
        instances = self._instances
        reader = instances.reader_of(scope, message) if instances is not None and isinstance(message, dict) else None
        if instances is None or reader is None:
            await self._answer(body, message, scope, receive, send)
        elif reader == tried:  # it is there, and cannot be reached: nobody else knows as much
            await instances.not_now(message.get("id"), scope, send)
        else:
            again = partial(self._answer_as_reader, body, message, scope, receive, send, reader)
            await instances.forward_message(self._flights, reader, body, message, scope, receive, send, here=again)

    async def _answer(self, body: bytes, message: Any, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what was posted here."""
        fast_path, flights = self._fast_path, self._flights
        if isinstance(message, dict) and fast_path is not None:
            if message.get("method") == CALL and not flights.stopping:
                if await fast_path.serve(scope, receive, send, message):
                    return
            elif "method" not in message and fast_path.take_answer(scope, message):
                fast_path.seen(scope)
                await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
        if await refuse(flights, message, send):
            return
        if fast_path is not None:
            fast_path.seen(scope)
            fast_path.note_cancel(scope, message)
        again = replaying(body, receive)
        if "method" not in message or "id" not in message:
            await self._manager.handle_request(scope, again, send)
        elif message["method"] == "initialize":
            await in_flight(flights, self._open, scope, again, send, message["id"])
        elif message["method"] == LISTEN:
            await lasting(flights, self._manager.handle_request, scope, again, send)
        else:
            await in_flight(flights, self._manager.handle_request, scope, again, send, message["id"])

    async def _end_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and self._fast_path is not None:
                self._fast_path.forget(scope)
            await send(message)

        await self._manager.handle_request(scope, receive, watch)


def make_fast_path(
    server: Server[Any], flights: Flights, settings: McpSettings
) -> contextlib.AbstractAsyncContextManager[FastPath] | None:
    """A fast path before the board's own server; none before another, of whose tools nothing is known here."""
    from pegboard_mcp.server.app import BoardServer
    from pegboard_mcp.server.fast_path import open_fast_path

    if not _sdk.FAST_PATH or not isinstance(server, BoardServer):
        return None
    return open_fast_path(server, flights, settings.session_idle_s)
