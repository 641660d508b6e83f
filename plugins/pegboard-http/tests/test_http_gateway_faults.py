"""The gateway against clients that mean no good: raw bytes over real sockets, and what is left afterwards."""

from __future__ import annotations

import gc
import json
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from hypercorn.protocol.h11 import H11Protocol
from trio.testing import wait_all_tasks_blocked

from pegboard import CallContext, Tool, ToolError, tool
from pegboard_http import app, plugin
from pegboard_http.serving import serve_gateway
from pegboard_http.settings import HttpSettings
from pegboard_serving import bodies, worker

HOST = b"Host: 127.0.0.1\r\n"
BODY = b'{"a": 1, "b": 2}'
WAIT_S = 200.0
"""Nothing here takes that long; who waits for it has failed."""


@tool(read_only=True)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool
async def whoami(context: CallContext) -> str:
    """Say who calls."""
    return f"{context.session.user_id}"


class Waiting:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.free = trio.Event()

    def tool(self) -> Tool:
        @tool(name="wait_here", timeout_s=60)
        async def wait_here() -> str:
            """Wait."""
            self.begun += 1
            await self.free.wait()
            return "done"

        return wait_here


@asynccontextmanager
async def gateway(host_with: Any, *tools: Tool, **said: Any) -> AsyncIterator[tuple[int, trio.CancelScope]]:
    """Its port, and the scope that ends it."""
    host = await host_with(plugin)
    for one in (add, whoami, *tools):
        host.add(one)
    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings(**said))
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        yield int(url.rpartition(":")[2]), nursery.cancel_scope
        nursery.cancel_scope.cancel()


def post(target: bytes = b"/tools/add", body: bytes = BODY, *lines: bytes, close: bool = True) -> bytes:
    head = [b"POST " + target + b" HTTP/1.1", HOST.strip(), b"Content-Type: application/json", *lines]
    head += [b"Connection: close"] if close else []
    if not any(line.lower().startswith((b"content-length", b"transfer-encoding")) for line in lines):
        head.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*head, b"", b""]) + body


async def answer_to(port: int, data: bytes) -> bytes:
    """All that comes until the server closes."""
    got = b""
    with trio.fail_after(WAIT_S):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            try:
                await stream.send_all(data)
                while chunk := await stream.receive_some():
                    got += chunk
            except trio.BrokenResourceError:  # it closed before it had read everything
                pass
    return got


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def body_of(answer: bytes) -> Any:
    return json.loads(answer.rpartition(b"\r\n\r\n")[2])


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (post(b"http://evil.example/tools/add"), 404),
        (post(b"//tools/add"), 404),
        (post(b"/tools/../tools/add"), 404),
        (post(b"/tools/%2e%2e/tools/add"), 404),
        (post(b"/tools/./add"), 404),
        (post(b"/tools/add/"), 404),
        (post(b"/tools/"), 404),
        (post(b"/tools/add%00"), 404),
        (post(b"/tools/%ff%fe"), 404),
        (post(b"/tools/add#x"), 404),
        (post(b"/tools/" + b"a" * 60_000), 404),
        (post(b"/tools/\xff"), 400),
        (post().replace(b"POST", b"TRACE", 1), 405),
        (post().replace(b"POST", b"FOO", 1), 405),
        (post(b"*").replace(b"POST", b"OPTIONS", 1), 404),
        (post(b"127.0.0.1:22").replace(b"POST", b"CONNECT", 1), 404),
        (post(b"/tools/add", BODY, b"Content-Length: 3", b"Content-Length: 16"), 400),
        (post(b"/tools/add", BODY, b"Content-Length: -1"), 400),
        (post(b"/tools/add", BODY, "Content-Length: \u00b2".encode("latin-1")), 400),
        (post(b"/tools/add", BODY, b"Content-Length: " + b"9" * 30), 400),
        (post(b"/tools/add", b"ZZ\r\nxx\r\n0\r\n\r\n", b"Transfer-Encoding: chunked"), 400),
        (post(b"/tools/add", b"", b"Transfer-Encoding: gzip, chunked"), 501),
        (post(b"/tools/add", b"\xff\xfe"), 400),
        (post(b"/tools/add", b"[" * 100_000), 400),
        (post(b"/tools/add", b'{"a": NaN, "b": 1e999}'), 400),
        (post(b"/tools/add", b'{"a": "\\ud800", "b": 1}'), 400),
        (post(b"/tools/add", b"null"), 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /tools HTTP/1.1\r\n\r\n", 400),
        (b"GET /tools HTTP/1.0\r\n\r\n", 421),
        (b"GET /tools HTTP/1.1\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n", 431),
    ],
)
async def test_garbage_is_refused_and_the_next_is_served(host_with: Any, data: bytes, status: int) -> None:
    async with gateway(host_with) as (port, _):
        assert status_of(await answer_to(port, data)) == status
        assert body_of(await answer_to(port, post()))["data"] == {"result": 3.0}


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((b"Host: evil.example",), 421),
        ((b"Host: evil.example:127.0.0.1",), 421),
        ((b"Host: 127.0.0.1@evil.example",), 421),
        ((b"Host: localhost.evil.example",), 421),
        ((b"Host: localhost.",), 421),
        ((b"Host: 127.0.0.1\xad",), 421),
        ((b"Host: 127.0.0.1", b"Origin: null"), 403),
        ((b"Host: 127.0.0.1", b"Origin: file://"), 403),
        ((b"Host: 127.0.0.1", b"Origin: http://127.0.0.1.evil.example"), 403),
        ((b"Host: 127.0.0.1", b"Origin: http://localhost@evil.example"), 403),
        ((b"Host: 127.0.0.1", b"Origin: http://localhost", b"Origin: http://evil.example"), 403),
        ((b"Host: 127.0.0.1", b"Origin: http://localhost:80"), 200),
        ((b"Host: [::1]:1",), 200),
    ],
)
async def test_hosts_and_origins_that_only_look_like_ours(
    host_with: Any, lines: tuple[bytes, ...], status: int
) -> None:
    async with gateway(host_with) as (port, _):
        data = b"\r\n".join([b"GET /tools HTTP/1.1", *lines, b"Connection: close", b"", b""])
        assert status_of(await answer_to(port, data)) == status


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        (b"/tools/whoami?access_token=good", ()),
        (b"/tools/whoami?token=good", ()),
        (b"/tools/whoami", (b"Cookie: authorization=good; token=good",)),
        (b"/tools/whoami", (b"X-Authorization: Bearer good",)),
        (b"/tools/whoami", (b"Proxy-Authorization: Bearer good",)),
        (b"/tools/whoami", (b"Authorization: Basic good",)),
        (b"/tools/whoami", (b"Authorization: good",)),
        (b"/tools/whoami", (b"Authorization: Bearer",)),
        (b"/tools/whoami", (b"Authorization: Bearer good, Bearer good",)),
        (b"/tools/whoami", (b"Authorization: Bearer good x",)),
        (b"/tools/whoami", (b"Authorization: Bearer GOOD",)),
        (b"/tools/whoami", (b"Authorization: Bearer good", b"Authorization: Bearer good")),
        (b"/tools/whoami", (b"Authorization: Bearer bad", b"Authorization: Bearer good")),
        (b"/tools/whoami", (b"Authorization: Bearer " + b"g" * 20_000,)),
        (b"/openapi.json", ()),
    ],
)
async def test_a_token_counts_in_its_own_place_alone(
    host_with: Any, target: bytes, lines: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(host_with, tokens={"good": "ada"}) as (port, _):
        answer = await answer_to(port, post(target, b"{}", *lines))
        assert status_of(answer) == 401
        assert b"www-authenticate: Bearer" in answer
        ok = await answer_to(port, post(b"/tools/whoami", b"{}", b"Authorization: bearer good"))
        assert body_of(ok)["data"] == {"result": "ada"}
        assert "good" not in caplog.text
        assert b"good" not in answer


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", 421),
        (
            b"GET /tools HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n",
            200,
        ),
    ],
)
async def test_http_2_is_not_spoken(host_with: Any, data: bytes, status: int) -> None:
    """A client that goes over to it could leave its answers unread for ever: its window is its own affair."""
    async with gateway(host_with) as (port, _):
        answer = await answer_to(port, data)
        assert (answer[:9], status_of(answer)) == (b"HTTP/1.1 ", status)


@pytest.mark.parametrize(
    "lines",
    [
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
        b"Sec-WebSocket-Version: 1\r\n",
        b"",
    ],
)
async def test_a_client_that_asks_for_a_websocket_gets_http_and_its_connection_ends(
    host_with: Any, lines: bytes
) -> None:
    """A handshake that is refused would be a connection that no timeout ends, before anybody asked for a token."""
    async with gateway(host_with, tokens={"good": "ada"}) as (port, _):
        head = b"GET /tools HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, close\r\nUpgrade: websocket\r\n"
        assert status_of(await answer_to(port, head + lines + b"\r\n")) == 401
        assert status_of(await answer_to(port, head + lines + b"Authorization: Bearer good\r\n\r\n")) == 200


async def test_a_connection_that_fails_fails_alone(
    host_with: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(self: Any, request: Any) -> None:
        raise RuntimeError("what no client should be able to cause")

    async with gateway(host_with) as (port, _):
        with monkeypatch.context() as patch:
            patch.setattr(H11Protocol, "_create_stream", fail)
            assert await answer_to(port, post()) == b""
        assert "a connection failed" in caplog.text
        assert status_of(await answer_to(port, post())) == 200


async def test_half_a_surrogate_pair_of_an_author_costs_nobody_an_answer(host_with: Any) -> None:
    @tool(name="halves", category="c", tags=frozenset({"t\ud800"}))
    async def halves() -> str:
        """Fail in strange words."""
        raise ToolError("CONFLICT", "half\ud800", said="\udfff", much=float("inf"))

    object.__setattr__(halves, "description", "half \ud800 of it")
    async with gateway(host_with, halves) as (port, _):
        for target in (b"/tools", b"/openapi.json"):
            answer = await answer_to(port, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
            assert status_of(answer) == 200
            assert "halves" in json.dumps(body_of(answer))
        answer = await answer_to(port, post(b"/tools/halves", b"{}"))
        assert (status_of(answer), body_of(answer)["error"]["message"]) == (409, "half")
        assert b"Infinity" not in answer


async def test_what_should_not_happen_is_said_in_the_shape_of_a_result(
    host_with: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("/home/user/secret")

    monkeypatch.setattr(app, "listed", fail)
    async with gateway(host_with) as (port, _):
        answer = await answer_to(port, b"GET /tools HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        assert (status_of(answer), body_of(answer)["error"]["code"]) == (500, "INTERNAL_ERROR")
        assert b"/home" not in answer
        assert "RuntimeError" in caplog.text
        assert status_of(await answer_to(port, post())) == 200


async def test_pipelined_requests_are_answered_in_their_order(host_with: Any) -> None:
    async with gateway(host_with) as (port, _):
        bodies = [b'{"a": %d, "b": 0}' % number for number in range(20)]
        data = b"".join(post(b"/tools/add", body, close=False) for body in bodies[:-1]) + post(
            b"/tools/add", bodies[-1]
        )
        answer = await answer_to(port, data)
        results = [
            json.loads(part.partition(b"\r\n\r\n")[2])["data"]["result"] for part in answer.split(b"HTTP/1.1 ")[1:]
        ]
        assert results == [float(number) for number in range(20)]


async def test_a_body_that_drips_is_given_up(host_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "READ_S", 0.05)
    async with gateway(host_with) as (port, _):
        answer = await answer_to(port, post(b"/tools/add", b'{"a"', b"Content-Length: 16", close=False))
        assert (status_of(answer), body_of(answer)["error"]["code"]) == (408, "TIMEOUT")


async def test_a_head_that_drips_is_given_up(host_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "KEPT_S", 0.05)
    async with gateway(host_with) as (port, _):
        assert await answer_to(port, b"POST /tools/add HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A") == b""


async def test_serving_that_ends_while_a_body_comes_says_so(host_with: Any, caplog: pytest.LogCaptureFixture) -> None:
    waiting = Waiting()
    got = b""
    with caplog.at_level(logging.WARNING), trio.fail_after(WAIT_S):
        async with gateway(host_with, waiting.tool(), stop_timeout_s=0.05) as (port, scope):
            half = await trio.open_tcp_stream("127.0.0.1", port)
            await half.send_all(post(b"/tools/add", b'{"a"', b"Content-Length: 16"))
            whole = await trio.open_tcp_stream("127.0.0.1", port)
            await whole.send_all(post(b"/tools/wait_here", b"{}"))
            while not waiting.begun:
                await wait_all_tasks_blocked(0.001)
            scope.cancel()
            with trio.CancelScope(shield=True):
                while chunk := await half.receive_some():
                    got += chunk
                cut = await whole.receive_some()
        await half.aclose()
        await whole.aclose()
    assert (status_of(got), body_of(got)["error"]["message"]) == (503, "serving ends; the call was not begun")
    assert (status_of(cut), body_of(cut)["error"]["code"]) == (500, "OUTCOME_UNKNOWN")
    assert "Traceback" not in caplog.text


@pytest.mark.unmeasured
async def test_a_thousand_calls_at_once_are_served_or_refused_and_leave_nothing(host_with: Any) -> None:
    """Each is answered with 200, or with 503 before it was begun; none is lost, and no descriptor is kept."""
    gc.collect()
    waiting = Waiting()
    statuses: list[int] = []
    async with gateway(host_with, waiting.tool(), max_calls=50) as (port, _):
        await answer_to(port, post())
        before, threads = (
            len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0,
            threading.active_count(),
        )

        async def call() -> None:
            async with gate:
                statuses.append(status_of(await answer_to(port, post(b"/tools/wait_here", b"{}"))))

        gate = trio.CapacityLimiter(100)
        async with trio.open_nursery() as nursery:
            for _ in range(1000):
                nursery.start_soon(call)
            with trio.fail_after(WAIT_S):
                while len(statuses) < 900:
                    await wait_all_tasks_blocked(0.001)
            waiting.free.set()
        assert len(statuses) == 1000
        assert statuses.count(200) == waiting.begun
        assert statuses.count(503) == 1000 - waiting.begun
        assert waiting.begun >= 50
        await answer_to(port, post())
        if before:
            assert len(os.listdir("/proc/self/fd")) <= before
        assert threading.active_count() <= threads


async def test_a_client_that_never_reads_does_not_hold_up_the_end(
    host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "LAST_S", 0.05)

    @tool
    async def large() -> str:
        """A long text."""
        return "x" * 90_000

    with trio.fail_after(WAIT_S):
        async with gateway(host_with, large, stop_timeout_s=0.05) as (port, scope):
            streams = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(5)]
            for stream in streams:
                stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
                await stream.send_all(post(b"/tools/large", b"{}", close=False) * 20)
            scope.cancel()
        for stream in streams:
            await trio.aclose_forcefully(stream)
