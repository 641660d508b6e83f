"""A web page that somebody visits talks to the ports of this machine: every HTTP server refuses what it sends.

A page needs no permission for an image, a script, a frame, a form, or a `fetch` whose answer it may not read; browsers
say that it was a page of another site (Fetch Metadata, W3C), and Origin with all but such a GET. Source: CVE-2025-49596
(MCP Inspector), CVE-2025-66414 (servers without a look at Host), "0.0.0.0 day" (Oligo, 2024).
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import hookimpl, tool

for needed in ("pegboard_mcp", "pegboard_http", "pegboard_inspect"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

BODY = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "mark", "arguments": {}}}'
marks: list[str] = []


@tool(run="inplace")
def mark() -> str:
    """Leave a mark."""
    marks.append("called")
    return "called"


class Tools:
    """It, as a plugin."""

    @hookimpl
    def provide_tools(self) -> list[Any]:
        return [mark]


PATHS = {
    "gateway": ("/tools", "/openapi.json", "/tools/mark"),
    "http": ("/mcp",),
    "sse": ("/sse", "/messages"),
    "websocket": ("/ws",),
    "inspector": ("/", "/enter", "/static/app.js"),
}
CROSS = "Sec-Fetch-Site: cross-site"
PAGES: dict[str, tuple[str, ...]] = {
    "an image": ("GET", CROSS, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
    "a script": ("GET", CROSS, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"),
    "a frame": ("GET", CROSS, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"),
    "a fetch of a stream": (
        "GET", CROSS, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty", "Accept: text/event-stream",
    ),
    "a form": (
        "POST", CROSS, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Origin: https://evil.example",
        "Content-Type: text/plain",
    ),
    "a form of a sandboxed frame": ("POST", CROSS, "Sec-Fetch-Mode: navigate", "Origin: null"),
    "a beacon": ("POST", CROSS, "Sec-Fetch-Mode: no-cors", "Origin: https://evil.example"),
    "a socket": (
        "GET", CROSS, "Sec-Fetch-Mode: websocket", "Origin: https://evil.example", "Connection: Upgrade",
        "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ),
    "a name that was made to lead here": ("POST", "Host: evil.example", "Origin: http://evil.example"),
    "the same as a page of its own": ("GET", "Host: evil.example", "Sec-Fetch-Site: same-origin"),
    "a question whether it may": (
        "OPTIONS", CROSS, "Origin: https://evil.example", "Access-Control-Request-Method: POST",
        "Access-Control-Request-Private-Network: true",
    ),
}  # fmt: skip


@asynccontextmanager
async def serving(kind: str, host_with: Any) -> AsyncIterator[int]:
    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings
    from pegboard_inspect import plugin as inspect
    from pegboard_inspect.serving import serve_inspector
    from pegboard_mcp.server.http import serve_http
    from pegboard_mcp.settings import McpSettings

    host = await host_with(Tools(), inspect)
    common: dict[str, Any] = {"bind": "127.0.0.1", "port": 0, "user_id": None}
    async with trio.open_nursery() as nursery:
        if kind == "gateway":
            serve: Any = partial(serve_gateway, host, settings=HttpSettings(), **common)
        elif kind == "inspector":
            serve = partial(serve_inspector, host, tell=str)
        else:
            serve = partial(serve_http, host, transport=kind, settings=McpSettings(), **common)  # type: ignore[arg-type]
        url = str(await nursery.start(serve))
        yield int(url.split("://127.0.0.1:")[1].partition("/")[0].partition("#")[0])
        nursery.cancel_scope.cancel()


async def answer_to(port: int, path: str, page: tuple[str, ...]) -> bytes:
    """The head of what a server answers a page."""
    method, *headers = page
    if not any(one.startswith("Host:") for one in headers):
        headers.append(f"Host: localhost:{port}")
    body = BODY if method == "POST" else b""
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, f"Content-Length: {len(body)}", "", ""])
    got = b""
    with trio.fail_after(20):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(head.encode() + body)
            while b"\r\n\r\n" not in got and (chunk := await stream.receive_some()):
                got += chunk
    return got


@pytest.mark.parametrize("kind", PATHS)
async def test_no_page_of_another_site_is_answered(kind: str, host_with: Any) -> None:
    marks.clear()
    async with serving(kind, host_with) as port:
        for path in PATHS[kind]:
            for name, page in PAGES.items():
                got = (await answer_to(port, path, page)).lower()
                assert got.split(b" ")[1] in (b"403", b"421"), (path, name, got[:200])
                assert b"access-control-allow" not in got, (path, name)
                assert b"set-cookie" not in got, (path, name)
    assert marks == []


@pytest.mark.parametrize("kind", PATHS)
async def test_a_program_and_whoever_follows_a_link_are_served(kind: str, host_with: Any) -> None:
    link = ("GET", CROSS, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: */*")
    async with serving(kind, host_with) as port:
        for page in (("GET", "Accept: */*"), link):
            got = await answer_to(port, PATHS[kind][0], page)
            assert got.split(b" ")[1] not in (b"403", b"421"), got[:200]
