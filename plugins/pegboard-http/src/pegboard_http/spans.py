"""A request of the gateway as observers hear it, by OpenTelemetry's conventions for HTTP servers.

https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span: its name is the method and the route,
never the path, and only the server's own faults are errors of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pegboard import Host

MAX_PATH = 200
METHODS = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})
"""Clients make others up, which are told as `_OTHER`."""
ROUTES = frozenset({"/openapi.json", "/tools"})
CALLS = "/tools/"


async def observed(host: Host, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request by `app`, within a span of its own."""
    name, told = told_of(scope)
    with host.span(name, "server", told) as ended:

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = ended["http.response.status_code"] = message["status"]
                if status >= 500:
                    ended["error.type"] = str(status)
            await send(message)

        await app(scope, receive, noting)


def told_of(scope: Scope) -> tuple[str, dict[str, Any]]:
    """The name of the span, and what is known of the request before it is answered; nothing of its query or body."""
    path, is_known = scope["path"], scope["method"] in METHODS
    told = {
        "http.request.method": scope["method"] if is_known else "_OTHER",
        "url.path": path[:MAX_PATH],
        "url.scheme": scope.get("scheme", "http"),
    }
    route = path if path in ROUTES else f"{CALLS}{{name}}" if path.startswith(CALLS) else None
    name = scope["method"] if is_known else "HTTP"
    return (name, told) if route is None else (f"{name} {route}", {**told, "http.route": route})
