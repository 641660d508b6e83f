"""The board over HTTP: streamable HTTP at `/mcp`, HTTP with SSE at `/sse`, WebSocket at `/ws`.

One ASGI app on hypercorn's trio worker (`pegboard_serving.worker`), without a router: a request meets the check of Host
and Origin, the gatekeeper, the bounds of its body, and then the endpoint of its path. What the SDK does on streamable
HTTP it does here too, sessions and eras included; `fast_path.FastPath` answers the calls that it can answer without it.

Host and Origin are always held, as `pegboard_serving` says.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from pegboard.config import get_logger
from pegboard_mcp.server._flights import LOOK_S, Flights
from pegboard_mcp.server.auth import Gatekeeper, answer_plainly
from pegboard_serving import LAST_S, REFUSED, HostCheck, bound_socket, finish_calls, require_credential, url_of
from pegboard_serving.bodies import SKIPPED
from pegboard_serving.sharing import Places, most_of_one

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Literal

    from hypercorn.config import Config
    from mcp.server.lowlevel import Server
    from starlette.types import Receive, Scope, Send

    from pegboard import Host
    from pegboard_mcp.server._answers import Endpoint
    from pegboard_mcp.server.instances import Instances
    from pegboard_mcp.server.processes import SharedPort
    from pegboard_mcp.settings import McpSettings

log = get_logger("pegboard.mcp.serve")

HURRY_S = 0.4
"""How long all may take once the end is asked for a second time: after a Ctrl-C the program has a second to live."""

PATHS = {"http": "/mcp", "sse": "/sse", "websocket": "/ws"}


class HttpApp:
    """The ASGI app, and what lives as long as it is served.

    Args:
        transport: which endpoint there is.
        gatekeeper: decides who calls.
        settings: bounds, hosts and origins.
        bind: the address that it is bound to.
        instances: those that it serves together with; None: it is alone.
    """

    def __init__(
        self,
        *,
        transport: Literal["http", "sse", "websocket"],
        gatekeeper: Gatekeeper,
        settings: McpSettings,
        bind: str,
        instances: Instances | None = None,
    ) -> None:
        self._instances = instances
        self.flights = Flights()
        self.closing = trio.Event()
        self._transport = transport
        self._gatekeeper = gatekeeper
        self._settings = settings
        self._check = HostCheck(bind, allowed_hosts=settings.allowed_hosts, allowed_origins=settings.allowed_origins)
        self._endpoints: dict[str, Endpoint] = {}
        self._open: dict[str, Endpoint] = {}
        self._held: list[Callable[[], int]] = []

    async def wait_empty(self, limit_s: float) -> None:
        """Wait until nothing is left that only this process has: calls, questions, sessions. Streams that every process
        can serve are ended: their clients open them anew, and meet another one."""
        for end in self.flights.on_last:
            end()
        with trio.move_on_after(limit_s):
            while self.flights.count or self.flights.lasting_count or sum(count() for count in self._held):
                await trio.sleep(LOOK_S)

    @contextlib.asynccontextmanager
    async def open(self, server: Server[Any]) -> AsyncIterator[None]:
        """Let the SDK's `server` answer; sessions live inside."""
        settings = self._settings
        end_listening = getattr(server, "end_listening", None)
        if end_listening is not None:
            self.flights.on_last.append(end_listening)
            self._held.append(server.held_count)  # type: ignore[attr-defined]
            self.flights.running = server.running_tasks  # type: ignore[attr-defined]
        for route in self._gatekeeper.routes():
            self._open[route.path] = route.app
        places = Places(settings.max_sessions, most_of_one(settings.max_sessions, is_shared=self._gatekeeper.is_shared))
        async with contextlib.AsyncExitStack() as stack:
            if self._transport == "http":
                from pegboard_mcp.server.streamable import Streamable

                streamable = await stack.enter_async_context(
                    Streamable.open(server, self.flights, settings, places, self._instances)
                )
                self._held.append(streamable.session_count)
                self._endpoints["http:/mcp"] = self._endpoints["http:/"] = streamable
            elif self._transport == "sse":
                from pegboard_mcp.server.sse import SseEndpoints

                sse = SseEndpoints(server, self.flights, settings, places, self._instances)
                self._endpoints |= {"http:/sse": sse.listen, "http:/messages": sse.post}
            else:
                from pegboard_mcp.server.websocket import WebSockets

                self._endpoints["websocket:/ws"] = WebSockets(server, self.flights, settings, places)
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._instances is not None:
            send = self._instances.marking(scope, send)
        if status := self._check.judge(scope["headers"]):
            await answer_plainly(scope, send, status, REFUSED[status].encode())
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


# -- serving


def _config(settings: McpSettings) -> Config:
    from pegboard_serving.worker import config_for

    config = config_for(get_logger("pegboard.mcp.http"))
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
    shared: SharedPort | None = None,
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
        shared: what the processes of one program share; None: it is the only one.
        task_status: told the URL as soon as it is served.

    Raises:
        ConfigError: other machines would reach it without a credential, it cannot listen there, or a plugin that is
            named brings nothing.

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
        shared=shared,
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
    shared: SharedPort | None = None,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """The same for any server of the SDK."""
    from pegboard_serving.worker import Worker

    require_caller(bind, settings)
    instances = _instances_of(server, settings, shared)
    gatekeeper = Gatekeeper(settings, user_id)
    http_app = HttpApp(transport=transport, gatekeeper=gatekeeper, settings=settings, bind=bind, instances=instances)
    bound = bound_socket(bind, port) if shared is None else shared.bound
    address = bound.getsockname()
    path = PATHS[transport] if transport == "websocket" else None
    make_worker = partial(Worker, http_app, log=get_logger("pegboard.mcp.http"), websocket_path=path)
    worker = make_worker(_config(settings))
    shield = trio.CancelScope(shield=True)

    async def run(task_status: trio.TaskStatus[Any]) -> None:
        with shield:
            async with http_app.open(server), contextlib.AsyncExitStack() as stack:
                if instances is not None:
                    serve_others = partial(make_worker(_config(settings)).serve, closing=http_app.closing)
                    await stack.enter_async_context(instances.open(serve_others, http_app))
                await worker.serve(bound, http_app.closing, task_status)

    async with trio.open_nursery() as nursery:
        await nursery.start(run)
        task_status.started(endpoint_of(transport, address))
        try:
            if shared is None:
                await trio.sleep_forever()
            else:
                await shared.replaced.wait()
                worker.stop_accepting()
                await http_app.wait_empty(settings.replace_timeout_s)
        finally:
            with trio.CancelScope(shield=True):
                await _end(http_app, shield, settings.stop_timeout_s, trio.Event() if hurry is None else hurry)


def require_caller(bind: str, settings: McpSettings) -> None:
    """Require that other machines do not reach the board without a credential.

    Raises:
        ConfigError: they would.
    """
    require_credential(
        bind,
        asks_for_credential=bool(settings.tokens) or settings.oauth is not None,
        hint="map tokens to users in [plugins.mcp.tokens], set [plugins.mcp.oauth]",
    )


def _instances_of(server: Server[Any], settings: McpSettings, shared: SharedPort | None) -> Instances | None:
    """Those that a server serves together with; what it gives out to clients is sealed for all of them then."""
    if shared is None and settings.state_key is None:
        return None
    from pegboard_mcp.server.app import BoardServer
    from pegboard_mcp.server.instances import Instances

    carrier = None
    if isinstance(server, BoardServer) and settings.carrier is not None:
        from pegboard_mcp.server.brought import brought

        carrier = brought(server.host.board, "provide_carrier", "carrier", settings.carrier)
    instances = Instances(settings, shared, carrier)
    if isinstance(server, BoardServer):
        server.handles = instances.handles
        runtime = server.host.runtime
        instances.looks_at_words = lambda: runtime.flows is not None
    return instances


def endpoint_of(transport: str, address: Any) -> str:
    """Where it is served, as a client is told."""
    return url_of("ws" if transport == "websocket" else "http", *address[:2]) + PATHS[transport]


async def _end(http_app: HttpApp, serving: trio.CancelScope, limit_s: float, hurry: trio.Event) -> None:
    """Let the calls in flight finish, up to the limit or until there is hurry, and have `serving` end soon after."""

    def cut() -> None:
        http_app.flights.hurry()
        serving.deadline = trio.current_time() + HURRY_S

    try:
        await finish_calls(http_app.flights.stop, limit_s, hurry, cut, log)
    finally:
        http_app.closing.set()
        serving.deadline = min(serving.deadline, trio.current_time() + 2 * LAST_S)
