"""The board over HTTP: streamable HTTP at `/mcp`, HTTP with SSE at `/sse`, WebSocket at `/ws`.

One ASGI app on hypercorn's trio worker (`pegboard_serving.worker`), without a router: a request meets the check of Host
and Origin, the gatekeeper, the bounds of its body, and then the endpoint of its path. What the SDK does on streamable
HTTP it does here too, sessions and eras included; `fast_path.FastPath` answers the calls that it can answer without it.

Host and Origin are always held, as `pegboard_serving` says.
"""

from __future__ import annotations

import contextlib
import json
import logging
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any

import trio

from pegboard.schema.envelope import TooLong
from pegboard_mcp.server._flights import Flights, cut_off, refusal
from pegboard_mcp.server.auth import CALLER, Gatekeeper, answer_plainly
from pegboard_mcp.server.messages import NoMessageError, value_of
from pegboard_serving import LAST_S, HostCheck, bound_socket, require_credential
from pegboard_serving.bodies import SKIPPED, Bodies, BodyError
from pegboard_serving.sharing import Places, most_of_one, owner_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from typing import Literal

    from hypercorn.config import Config
    from mcp.server.lowlevel import Server
    from starlette.types import Message, Receive, Scope, Send

    from pegboard.host import Host
    from pegboard_mcp.settings import McpSettings

    Endpoint = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("pegboard.mcp.serve")

HURRY_S = 0.4
"""How long all may take once the end is asked for a second time: after a Ctrl-C the program has a second to live."""

JSON = b"application/json"
PATHS = {"http": "/mcp", "sse": "/sse", "websocket": "/ws"}


class HttpApp:
    """The ASGI app, and what lives as long as it is served.

    Args:
        transport: which endpoint there is.
        gatekeeper: decides who calls.
        settings: bounds, hosts and origins.
        bind: the address that it is bound to.
    """

    def __init__(
        self,
        *,
        transport: Literal["http", "sse", "websocket"],
        gatekeeper: Gatekeeper,
        settings: McpSettings,
        bind: str,
    ) -> None:
        self.flights = Flights()
        self.closing = trio.Event()
        self._transport = transport
        self._gatekeeper = gatekeeper
        self._settings = settings
        self._check = HostCheck(bind, allowed_hosts=settings.allowed_hosts, allowed_origins=settings.allowed_origins)
        self._endpoints: dict[str, Endpoint] = {}
        self._open: dict[str, Endpoint] = {}

    @contextlib.asynccontextmanager
    async def open(self, server: Server[Any]) -> AsyncIterator[None]:
        """Let the SDK's `server` answer; sessions live inside."""
        settings = self._settings
        end_listening = getattr(server, "end_listening", None)
        if end_listening is not None:
            self.flights.on_last.append(end_listening)
        for route in self._gatekeeper.routes():
            self._open[route.path] = route.app
        places = Places(settings.max_sessions, most_of_one(settings.max_sessions, is_shared=self._gatekeeper.is_shared))
        async with contextlib.AsyncExitStack() as stack:
            if self._transport == "http":
                from pegboard_mcp.server.streamable import Streamable

                streamable = await stack.enter_async_context(Streamable.open(server, self.flights, settings, places))
                self._endpoints["http:/mcp"] = self._endpoints["http:/"] = streamable
            elif self._transport == "sse":
                from pegboard_mcp.server.sse import SseEndpoints

                sse = await stack.enter_async_context(SseEndpoints.open(server, self.flights, settings, places))
                self._endpoints |= {"http:/sse": sse.listen, "http:/messages": sse.post}
            else:
                from pegboard_mcp.server.websocket import WebSockets

                sockets = await stack.enter_async_context(WebSockets.open(server, self.flights, settings, places))
                self._endpoints["websocket:/ws"] = sockets
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if status := self._check.judge(scope["headers"]):
            await answer_plainly(scope, send, status, b"this host or origin is not served here")
            return
        path = scope["path"]
        if scope["type"] == "http" and path in self._open:
            await self._open[path](scope, receive, send)
            return
        if not await self._gatekeeper.admit(scope, receive, send):
            return
        endpoint = self._endpoints.get(f"{scope['type']}:{path.rstrip('/') or '/'}")
        if endpoint is None:
            where = f"nothing is served here; the endpoint is {PATHS[self._transport]}"
            await answer_plainly(scope, send, 404, where.encode())
            return
        await endpoint(scope, receive, send)


async def read_message(scope: Scope, receive: Receive, send: Send, bodies: Bodies) -> tuple[bytes, Any] | None:
    """The body of a POST and the JSON in it; None: it was answered, with 400, 408, 413 or 503, or nobody is there."""
    try:
        body = await bodies.read(scope, receive, owner_of(scope[CALLER], scope))
    except BodyError as problem:
        await answer_plainly(scope, send, problem.status, str(problem).encode(), retry=problem.status == 503, end=True)
        return None
    if body is None:
        return None
    try:
        value = value_of(body, bodies.limit)
    except NoMessageError as problem:
        await answer_error(send, 413 if isinstance(body, TooLong) else 400, problem)
        return None
    assert not isinstance(body, TooLong), "it has no value"
    return body.removeprefix(BOM_UTF8), value


async def answer_error(send: Send, status: int, problem: NoMessageError) -> None:
    """Answer what is not a message."""
    await answer_json(send, status, problem.answer.model_dump(mode="json", by_alias=True, exclude_unset=True))


async def answer_json(send: Send, status: int, message: Mapping[str, Any], *, retry: bool = False) -> None:
    """One whole JSON answer."""
    body = json.dumps(message, separators=(",", ":")).encode()
    headers = [(b"content-type", JSON), (b"content-length", b"%d" % len(body))]
    if retry:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def replaying(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body once more, and then what comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class Answering:
    """A `send` that knows how far the answer is, so that one which was cut off can be ended properly."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self.done = False

    async def __call__(self, message: Message) -> None:
        await self._send(message)
        if message["type"] == "http.response.start":
            self.started = True
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.done = True

    async def end(self, message: Mapping[str, Any] | None = None) -> None:
        """End the answer where it stands, with a last message where there is one."""
        if self.done:
            return
        if not self.started:
            await answer_json(self._send, 503, message or refusal(None), retry=True)
            return
        last = b"" if message is None else sse_event(message)
        await self._send({"type": "http.response.body", "body": last, "more_body": False})


def sse_event(message: Mapping[str, Any]) -> bytes:
    """A JSON-RPC message as one server-sent event."""
    return b"event: message\r\ndata: " + json.dumps(message, separators=(",", ":")).encode() + b"\r\n\r\n"


async def lasting(flights: Flights, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve what waits for news, and end it properly when serving ends."""
    answering = Answering(send)
    with trio.CancelScope() as waiting, flights.lasting(waiting.cancel):
        await endpoint(scope, receive, answering)
    if waiting.cancelled_caught:
        with trio.move_on_after(LAST_S):
            await answering.end()


async def in_flight(
    flights: Flights, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send, request_id: Any
) -> None:
    """Serve one call, counted; one that takes too long when serving ends is answered OUTCOME_UNKNOWN."""
    answering = Answering(send)
    with flights.call() as limit:
        await endpoint(scope, receive, answering)
    if limit.cancelled_caught:
        with trio.move_on_after(LAST_S):
            await answering.end(cut_off(request_id))


# -- serving


def _config(settings: McpSettings) -> Config:
    from pegboard_serving.worker import config_for

    config = config_for(logging.getLogger("pegboard.mcp.http"))
    config.websocket_max_message_size = settings.max_body_bytes * SKIPPED
    config.websocket_ping_interval = 20.0
    return config


async def serve_http(
    host: Host,
    *,
    transport: Literal["http", "sse", "websocket"],
    bind: str,
    port: int,
    user_id: str | None,
    settings: McpSettings,
    hurry: trio.Event | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the board until it is cancelled; then refuse new calls, and finish those in flight.

    Args:
        host: whose tools are served.
        transport: which endpoint there is.
        bind: the address, as in `127.0.0.1` or `::1`.
        port: 0: any that is free.
        user_id: whose calls they are where no credential is needed.
        settings: tokens, OAuth, bounds.
        hurry: set while serving ends, it cuts off the calls that are still in flight.
        task_status: told the URL as soon as it is served.

    Raises:
        ConfigError: other machines would reach it without a credential, or it cannot listen there.

    .. versionadded:: 0.1
    """
    from pegboard_mcp.server.app import make_server

    server = make_server(host, user_id=user_id)
    await serve_server(
        server,
        transport=transport,
        bind=bind,
        port=port,
        user_id=user_id,
        settings=settings,
        hurry=hurry,
        task_status=task_status,
    )


async def serve_server(
    server: Server[Any],
    *,
    transport: Literal["http", "sse", "websocket"],
    bind: str,
    port: int,
    user_id: str | None,
    settings: McpSettings,
    hurry: trio.Event | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """The same for any server of the SDK."""
    from pegboard_serving.worker import Worker

    require_credential(
        bind,
        asks_for_credential=bool(settings.tokens) or settings.oauth is not None,
        hint="map tokens to users in [plugins.mcp.tokens], set [plugins.mcp.oauth]",
    )
    gatekeeper = Gatekeeper(settings, user_id)
    http_app = HttpApp(transport=transport, gatekeeper=gatekeeper, settings=settings, bind=bind)
    bound = bound_socket(bind, port)
    address = bound.getsockname()
    path = PATHS[transport] if transport == "websocket" else None
    worker = Worker(http_app, _config(settings), log=logging.getLogger("pegboard.mcp.http"), websocket_path=path)
    shield = trio.CancelScope(shield=True)

    async def run(task_status: trio.TaskStatus[Any]) -> None:
        with shield:
            async with http_app.open(server):
                await worker.serve(bound, http_app.closing, task_status)

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        scheme = "ws" if transport == "websocket" else "http"
        task_status.started(f"{scheme}://{shown}:{address[1]}{PATHS[transport]}")
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await _end(http_app, shield, settings.stop_timeout_s, trio.Event() if hurry is None else hurry)


async def _end(http_app: HttpApp, serving: trio.CancelScope, limit_s: float, hurry: trio.Event) -> None:
    """Let the calls in flight finish, up to the limit or until there is hurry, and have `serving` end soon after."""

    async def press() -> None:
        await hurry.wait()
        http_app.flights.hurry()
        serving.deadline = trio.current_time() + HURRY_S

    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press)
            left = await http_app.flights.stop(limit_s)
            nursery.cancel_scope.cancel()
        if left:
            why = "at once, as was asked for" if hurry.is_set() else f"after {limit_s:g} s"
            log.warning("%d calls were not done and were cut off %s", left, why)
    finally:
        http_app.closing.set()
        serving.deadline = min(serving.deadline, trio.current_time() + 2 * LAST_S)
