"""The fast path: `tools/call` over streamable HTTP, answered in the task of its request.

The SDK takes a request through a stream pair, a task and a message router for its answer. A call whose headers are
plain, whose session is known and whose tool declares no header of its own needs none of that: it goes to the SDK's
kernel (`ServerRunner`) directly, so the gate of the handshake, the envelope, middleware and errors are the SDK's own.
Whatever is not plain is left to the SDK, untouched.

The answer is JSON, until the call has something to say before: then it becomes a stream of events, which the client
accepts as well, or the fast path would not have taken the call. Questions to the client (handshake era) go out on that
stream under ids of the fast path's own, and the answers, which clients POST, come back through `take_answer`.

As on the SDK's path: a client that leaves cancels its call from 2026-07-28 on, and does not before; a cancelled call of
the handshake era is answered -32800. Who leaves is looked for only in calls that take longer than `GLANCE_S`.

The SDK ends a session that was idle, and does not see what the fast path does: now and then (`REFRESH`) it gets a call.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio
import trio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, authorization_context
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT, ErrorData, server_notification_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import Request

from pegboard_mcp.server._answers import sse_event
from pegboard_mcp.server._flights import cut_off
from pegboard_mcp.server._sdk import (
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    MCP_SESSION_ID_HEADER,
    REQUEST_CANCELLED,
    X_MCP_HEADER_KEY,
    Connection,
    InboundModernRoute,
    ServerRunner,
    TransportContext,
    aclose_shielded,
    cancelled_request_id_from_params,
    check_accept_headers,
    classify_inbound_request,
    coerce_request_id,
    modern_error_data,
    progress_token_from_params,
)
from pegboard_serving import LAST_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp.server.session import ServerSession
    from starlette.types import Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.server.app import BoardServer

GLANCE_S = 0.1
"""Calls that take longer are looked after: whether the client left, and whether a proxy needs to see life."""
PING_S = 15.0
REFRESH = 8
"""A session's call is left to the SDK after this part of the time after which an idle session ends."""
MAX_ASKED = 64
"""Questions of one session that are open at once."""

_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_SINGLE = frozenset(
    {
        b"accept",
        b"content-type",
        b"mcp-method",
        b"mcp-name",
        MCP_PROTOCOL_VERSION_HEADER.encode(),
        MCP_SESSION_ID_HEADER.encode(),
    }
)
_PARAM = b"mcp-param-"
_SESSION = MCP_SESSION_ID_HEADER.encode()
_VERSION = MCP_PROTOCOL_VERSION_HEADER.encode()
_PRESET = "fast-"


class _Standalone:
    """The way to a client outside of its requests: the session's own."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        message = {"method": method, **({} if params is None else {"params": params})}
        await self._session.send_notification(server_notification_adapter.validate_python(message))


class _FastSession:
    """What the fast path knows of one session of the handshake era."""

    def __init__(self, server: BoardServer, session: ServerSession, lifespan: Any, owner: Any, session_id: str) -> None:
        connection = Connection(
            _Standalone(session),
            protocol_version=session.protocol_version,
            session_id=session_id,
            client_params=session.client_params,
        )
        connection.initialized.set()
        self.runner = ServerRunner(server, connection, lifespan)
        self.owner = owner
        self.header = (_SESSION, session_id.encode("latin-1"))
        self.seen = monotonic()
        self.calls: dict[Any, _FastCall] = {}
        self.asked: dict[str, _Question] = {}


class _Question:
    def __init__(self) -> None:
        self.answered = trio.Event()
        self.result: dict[str, Any] | None = None
        self.error: ErrorData | None = None


class _FastCall:
    """One call, and its answer; what the SDK's kernel knows as a `DispatchContext`."""

    def __init__(
        self,
        fast_path: FastPath,
        message: dict[str, Any],
        scope: Scope,
        receive: Receive,
        send: Send,
        session: _FastSession | None,
    ) -> None:
        self.request_id = message["id"]
        self.params: dict[str, Any] = message["params"]
        self.session = session
        self.receive = receive
        self.scope: trio.CancelScope
        self.began = monotonic()
        self.watched = False
        self.gone = False
        self.ended = False
        self.message_metadata = ServerMessageMetadata(request_context=Request(scope, receive))
        self._fast_path = fast_path
        self._scope = scope
        self._send = send
        self._turn: trio.Lock | None = None
        self._streaming = False
        self._done = False
        self._cancel: anyio.Event | None = None

    @property
    def transport(self) -> TransportContext:
        """What the kernel is told of the transport."""
        headers = Headers(scope=self._scope)
        return TransportContext(kind="streamable-http", can_send_request=self.can_send_request, headers=headers)

    @property
    def can_send_request(self) -> bool:
        """Whether the client can be asked on this stream."""
        return self.session is not None and not self._done

    @property
    def cancel_requested(self) -> anyio.Event:
        """Set when the client cancels the call."""
        if self._cancel is None:
            self._cancel = anyio.Event()
        return self._cancel

    @property
    def is_cancelled(self) -> bool:
        """Whether the client cancelled the call."""
        return self._cancel is not None and self._cancel.is_set()

    def cancel(self) -> None:
        """The client cancels the call."""
        self.cancel_requested.set()
        self.scope.cancel()

    # -- what the call says before its answer

    async def say(self, event: bytes) -> None:
        """Send an event; the first makes the answer a stream."""
        if self._turn is None:
            self._turn = trio.Lock()
        async with self._turn:
            if self._done or self.gone:
                return
            if not self._streaming:
                self._streaming = True
                headers = [
                    (b"content-type", b"text/event-stream"),
                    (b"cache-control", b"no-cache, no-transform"),
                    (b"x-accel-buffering", b"no"),
                ]
                if self.session is not None:
                    headers.append(self.session.header)
                await self._send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        """Tell the client something beside the answer."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self.say(sse_event(message))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far it is, if it wants to know."""
        token = progress_token_from_params(self.params)
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.notify("notifications/progress", params)

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> dict[str, Any]:
        """Ask the client, and wait for what it posts.

        Raises:
            MCPError: it answered with an error, or not in time.
            NoBackChannelError: it cannot be asked here.
        """
        session = self.session
        if session is None or self._done or len(session.asked) >= MAX_ASKED:
            raise NoBackChannelError(method)
        key = self._fast_path.next_key()
        question = session.asked[key] = _Question()
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": key, "method": method}
        if params is not None:
            message["params"] = params
        limit = (opts or {}).get("timeout")
        try:
            with trio.move_on_after(float("inf") if limit is None else limit):
                await self.say(sse_event(message))
                await question.answered.wait()
        finally:
            session.asked.pop(key, None)
            if not question.answered.is_set():
                with trio.CancelScope(shield=True, deadline=trio.current_time() + LAST_S):
                    await self.notify(
                        "notifications/cancelled", {"requestId": key, "reason": "not waited for any more"}
                    )
        if question.error is not None:
            raise MCPError.from_error_data(question.error)
        if question.result is None:
            raise MCPError(REQUEST_TIMEOUT, f"the client did not answer {method} within {limit} s")
        return question.result

    # -- the answer

    async def answer(self, message: dict[str, Any]) -> None:
        """Send the answer, as JSON or as the last event."""
        self._done = True
        if self._turn is not None:
            async with self._turn:  # an event on its way comes first
                pass
        if self._streaming:
            await self._send({"type": "http.response.body", "body": sse_event(message), "more_body": False})
            return
        body = json.dumps(message, separators=(",", ":")).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        status = 200
        if self.session is not None:
            headers.append(self.session.header)
        elif "error" in message:
            status = ERROR_CODE_HTTP_STATUS.get(message["error"]["code"], 200)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})


class FastPath:
    """The fast path of one server; made by `open_fast_path`."""

    def __init__(self, server: BoardServer, flights: Flights, nursery: trio.Nursery, idle_s: float) -> None:
        self._server = server
        self._flights = flights
        self._nursery = nursery
        self._idle_s = idle_s
        self._sessions: dict[str, _FastSession] = {}
        self._lifespan: Any = None
        self._open: set[_FastCall] = set()
        self._some = trio.Event()
        self._keys = itertools.count(1)
        self._plain: dict[str, tuple[Any, bool]] = {}
        self._accepts: dict[bytes, bool] = {}

    def next_key(self) -> str:
        """An id for a question; the SDK's own are numbers."""
        return f"{_PRESET}{next(self._keys)}"

    # -- what passes by on the SDK's path

    async def observe(self, ctx: Any, call_next: Any) -> Any:
        """Middleware of the server: learn of sessions when they are ready, and of the server's lifespan."""
        self._lifespan = ctx.lifespan_context
        answer = await call_next(ctx)
        if ctx.method == "notifications/initialized" and isinstance(ctx.request, Request):
            key = ctx.request.headers.get(MCP_SESSION_ID_HEADER)
            if key is not None and ctx.session.client_params is not None:
                self._sweep()
                owner = _owner_of(ctx.request.scope)
                self._sessions[key] = _FastSession(self._server, ctx.session, ctx.lifespan_context, owner, key)
        return answer

    def _sweep(self) -> None:
        oldest = monotonic() - self._idle_s
        for key in [key for key, session in self._sessions.items() if session.seen < oldest]:
            del self._sessions[key]

    def forget(self, scope: Scope) -> None:
        """The session of a request was ended by it: its calls are too."""
        session = self._session_of(scope)
        if session is not None:
            self._sessions.pop(session.header[1].decode("latin-1"), None)
            for call in tuple(session.calls.values()):
                call.ended = True
                call.scope.cancel()

    def drop(self, session_id: str) -> None:
        """A session that is idle is no more."""
        self._sessions.pop(session_id, None)

    def seen(self, scope: Scope) -> None:
        """A request of a session goes the SDK's way: it is not idle."""
        session = self._session_of(scope)
        if session is not None:
            session.seen = monotonic()

    def take_answer(self, scope: Scope, message: dict[str, Any]) -> bool:
        """Whether a posted message answers a question of the fast path; it is passed on then."""
        key = message.get("id")
        if not isinstance(key, str) or not key.startswith(_PRESET):
            return False
        session = self._session_of(scope)
        question = session.asked.pop(key, None) if session is not None else None
        if question is None:
            return False
        if isinstance(message.get("result"), dict):
            question.result = message["result"]
        else:
            problem = message.get("error")
            problem = problem if isinstance(problem, dict) else {}
            code, text = problem.get("code"), problem.get("message")
            question.error = ErrorData(
                code=code if type(code) is int else CONNECTION_CLOSED,
                message=text if isinstance(text, str) else "the client answered what is not an answer",
                data=problem.get("data"),
            )
        question.answered.set()
        return True

    def note_cancel(self, scope: Scope, message: dict[str, Any]) -> None:
        """A posted notification: if it cancels a call of the fast path, cancel it."""
        if message.get("method") != "notifications/cancelled" or not isinstance(message.get("params"), dict):
            return
        session = self._session_of(scope)
        wanted = cancelled_request_id_from_params(message["params"])
        if session is not None and wanted is not None:
            call = session.calls.get(coerce_request_id(wanted))
            if call is not None:
                call.cancel()

    def _session_of(self, scope: Scope) -> _FastSession | None:
        key = _header(scope, _SESSION)
        session = self._sessions.get(key.decode("latin-1")) if key is not None else None
        if session is None or session.owner != _owner_of(scope):
            return None
        return session

    # -- calls

    async def serve(self, scope: Scope, receive: Receive, send: Send, message: dict[str, Any]) -> bool:
        """Answer a `tools/call`; False: it is not plain, and nothing was done."""
        taken = self._taken(scope, message)
        if taken is None:
            return False
        runner, session, connection = taken
        call = _FastCall(self, message, scope, receive, send, session)
        if not self._open:
            self._some.set()
        key = None
        flights = self._flights
        flights.begin()
        try:
            with trio.CancelScope() as call.scope:
                self._open.add(call)
                flights.overdue.add(call.scope)
                if session is not None:
                    key = coerce_request_id(call.request_id)
                    session.calls[key] = call
                answer: dict[str, Any] | None = await self._result(runner, call)
            if call.scope.cancelled_caught:
                answer = self._cancelled(call)
            if answer is not None and not call.gone:
                await call.answer(answer)
        finally:
            flights.overdue.discard(call.scope)
            self._open.discard(call)
            if session is not None and session.calls.get(key) is call:
                del session.calls[key]
            if call.watched:
                call.gone = True
            if connection is not None:
                await aclose_shielded(connection)
            flights.end()
        return True

    async def _result(self, runner: ServerRunner[Any], call: _FastCall) -> dict[str, Any]:
        try:
            result = await runner.on_request(call, "tools/call", call.params)
        except Exception as problem:  # noqa: BLE001 - the SDK's own table makes an answer of it
            error = modern_error_data(problem).model_dump(mode="json", by_alias=True, exclude_none=True)
            return {"jsonrpc": "2.0", "id": call.request_id, "error": error}
        return {"jsonrpc": "2.0", "id": call.request_id, "result": result}

    def _cancelled(self, call: _FastCall) -> dict[str, Any] | None:
        """What a call that was cancelled is answered; None: nobody waits."""
        if call.is_cancelled:
            error = {"code": REQUEST_CANCELLED, "message": "Request cancelled"}
            return {"jsonrpc": "2.0", "id": call.request_id, "error": error}
        if call.ended:
            error = {"code": CONNECTION_CLOSED, "message": "Session terminated"}
            return {"jsonrpc": "2.0", "id": call.request_id, "error": error}
        return None if call.gone else cut_off(call.request_id)

    def _taken(
        self, scope: Scope, message: dict[str, Any]
    ) -> tuple[ServerRunner[Any], _FastSession | None, Connection | None] | None:
        """Who answers a call, if it is plain."""
        params, request_id = message.get("params"), message.get("id")
        if (
            self._lifespan is None
            or message.keys() != _MEMBERS
            or message["jsonrpc"] != "2.0"
            or (type(request_id) is not int and type(request_id) is not str)
            or type(params) is not dict
            or not self._is_plain(params.get("name"))
        ):
            return None
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _SINGLE:
                if name in headers:
                    return None
                headers[name] = value
            elif name.startswith(_PARAM):
                return None
        if not headers.get(b"content-type", b"").lower().startswith(b"application/json") or not self._accepts_both(
            headers.get(b"accept", b"")
        ):
            return None
        version = headers.get(_VERSION, b"").decode("latin-1")
        if version in MODERN_PROTOCOL_VERSIONS:
            return self._modern(headers, message)
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return None
        return self._of_session(scope, headers, request_id)

    def _modern(
        self, headers: dict[bytes, bytes], message: dict[str, Any]
    ) -> tuple[ServerRunner[Any], None, Connection] | None:
        folded = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        route = classify_inbound_request(message, headers=folded)
        if not isinstance(route, InboundModernRoute):
            return None
        connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        return ServerRunner(self._server, connection, self._lifespan), None, connection

    def _of_session(
        self, scope: Scope, headers: dict[bytes, bytes], request_id: Any
    ) -> tuple[ServerRunner[Any], _FastSession, None] | None:
        session = self._sessions.get(headers.get(_SESSION, b"").decode("latin-1"))
        if session is None or session.owner != _owner_of(scope):
            return None
        if monotonic() - session.seen > self._idle_s / REFRESH or coerce_request_id(request_id) in session.calls:
            return None
        return session.runner, session, None

    def _is_plain(self, name: Any) -> bool:
        """Whether a tool is registered under that name and declares no header for any of its parameters."""
        tool = self._server.host.tools.get(name) if type(name) is str else None
        if tool is None:
            return False
        known = self._plain.get(name)
        if known is None or known[0] is not tool:
            if len(self._plain) > 10_000:
                self._plain.clear()
            plain = X_MCP_HEADER_KEY not in json.dumps(tool.input_schema, default=dict)
            known = self._plain[name] = (tool, plain)
        return known[1]

    def _accepts_both(self, accept: bytes) -> bool:
        known = self._accepts.get(accept)
        if known is None:
            known = all(check_accept_headers(Request({"type": "http", "headers": [(b"accept", accept)]})))
            if len(self._accepts) < 64:
                self._accepts[accept] = known
        return known

    # -- calls that take their time

    async def look_after(self) -> None:
        """Watch calls that take longer than a glance, each in a task of its own."""
        while True:
            if not self._open:
                self._some = trio.Event()
                await self._some.wait()
            await trio.sleep(GLANCE_S)
            late = monotonic() - GLANCE_S
            for call in self._open:
                if not call.watched and call.began < late:
                    call.watched = True
                    self._nursery.start_soon(self._watch, call)

    async def _watch(self, call: _FastCall) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ping, call)
            while (await call.receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()
        if not call.gone:
            call.gone = True
            if call.session is None:
                call.scope.cancel()


async def _ping(call: _FastCall) -> None:
    while not call.gone:
        await trio.sleep(PING_S)
        await call.say(b": ping\r\n\r\n")


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)


def _owner_of(scope: Scope) -> Any:
    """What the SDK tells credentials apart by."""
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


@contextlib.asynccontextmanager
async def open_fast_path(server: BoardServer, flights: Flights, idle_s: float) -> AsyncIterator[FastPath]:
    """A fast path before a server, as long as the block."""
    async with trio.open_nursery() as nursery:
        fast_path = FastPath(server, flights, nursery, idle_s)
        server.middleware.insert(0, fast_path.observe)
        nursery.start_soon(fast_path.look_after)
        try:
            yield fast_path
        finally:
            server.middleware.remove(fast_path.observe)
            nursery.cancel_scope.cancel()
