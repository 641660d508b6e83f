"""Both HTTP servers against clients that mean no good: raw bytes over real sockets."""

from __future__ import annotations

import contextlib
import gzip
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from pegboard import CallContext, hookimpl, tool
from pegboard_serving import bodies, worker

for needed in ("pegboard_mcp", "pegboard_http"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    HttpApp = Callable[..., Any]

WAIT_S = 30.0
"""Nothing here takes that long; who waits for it has failed."""
TOKENS = {"of-ada": "ada", "of-bob": "bob"}
INIT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@tool(run="inplace")
def who(context: CallContext) -> str:
    """Who calls."""
    return str(context.session.user_id)


@tool(run="inplace")
def much() -> str:
    """A long text."""
    return "x" * 5_000_000


class Tools:
    """Both, as a plugin."""

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        return [who, much]


@pytest.fixture(params=["gateway", "http"])
def front(request: Any, host_with: Any) -> HttpApp:
    """`async with front(**settings) as port`: one of the HTTP servers, on a free port."""
    return partial(serving, request.param, host_with)


@asynccontextmanager
async def serving(kind: str, host_with: Any, **said: Any) -> AsyncIterator[int]:
    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings
    from pegboard_mcp.server.http import serve_http
    from pegboard_mcp.settings import McpSettings

    host = await host_with(Tools(), config={"max_result_bytes": 10_000_000})
    async with trio.open_nursery() as nursery:
        common: dict[str, Any] = {"bind": "127.0.0.1", "port": 0, "user_id": None}
        if kind == "gateway":
            serve = partial(serve_gateway, host, settings=HttpSettings(**said), **common)
        else:
            serve = partial(serve_http, host, transport=kind, settings=McpSettings(**said), **common)  # type: ignore[arg-type]
        url = await nursery.start(serve)
        yield int(url.split("://127.0.0.1:")[1].partition("/")[0])
        nursery.cancel_scope.cancel()


def request(*lines: bytes, body: bytes = b"", path: bytes | None = None, token: str | None = None) -> bytes:
    """A POST to whichever front: both paths are served, and one of them is nowhere."""
    head = [b"POST " + (path or b"/mcp") + b" HTTP/1.1", b"Host: 127.0.0.1", b"Content-Type: application/json"]
    head += [b"Accept: application/json, text/event-stream", b"MCP-Protocol-Version: 2025-06-18"]
    head += [] if token is None else [b"Authorization: Bearer " + token.encode()]
    return b"\r\n".join([*head, *lines, b"", b""]) + body


async def answer_to(port: int, data: bytes) -> bytes:
    """All that comes until the server closes."""
    got = b""
    with trio.fail_after(WAIT_S):
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(data)
            try:
                while chunk := await stream.receive_some():
                    got += chunk
            except trio.BrokenResourceError:  # it closed before it had read everything
                pass
    return got


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
FRAMED_TWICE = {
    "length and coding": request(
        b"Content-Length: 5", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED
    ),
    "coding and length": request(
        b"Transfer-Encoding: chunked", b"content-length: 5", body=b"0\r\n\r\n" + SMUGGLED
    ),
    "two lengths": request(b"Content-Length: 2", b"Content-Length: 3", body=b"{} " + SMUGGLED),
    "two equal lengths": request(b"Content-Length: 2", b"Content-Length: 2", body=b"{}" + SMUGGLED),
    "a list of lengths": request(b"Content-Length: 2, 2", body=b"{}" + SMUGGLED),
    "two codings": request(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "chunked, identity": request(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + SMUGGLED),
    "identity": request(b"Transfer-Encoding: identity", b"Content-Length: 2", body=b"{}" + SMUGGLED),
    "xchunked": request(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + SMUGGLED),
    "a space before the colon": request(b"Transfer-Encoding : chunked", body=b"0\r\n\r\n" + SMUGGLED),
    "a folded line": request(b"Content-Length: 2", b"X: y", b" Content-Length: 60", body=b"{}" + SMUGGLED),
    "a folded coding": request(b"Transfer-Encoding:", b"\tchunked", body=b"0\r\n\r\n" + SMUGGLED),
    "a bare LF": request(b"X: y\nContent-Length: 60", b"Content-Length: 2", body=b"{}" + SMUGGLED),
    "bare LFs alone": request(b"Content-Length: 2", body=b"{}" + SMUGGLED).replace(b"\r\n", b"\n"),
    "a bare CR": request(b"X: y\rContent-Length: 60", b"Content-Length: 2", body=b"{}" + SMUGGLED),
    "a bare LF before it": b"\n" + request(b"Content-Length: 2", body=b"{}" + SMUGGLED),
    "chunked of HTTP/1.0": request(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED).replace(
        b"HTTP/1.1", b"HTTP/1.0", 1
    ),
    "a bare LF behind a chunk": request(b"Transfer-Encoding: chunked", body=b"2\n{}\n0\n\n" + SMUGGLED),
    "a length in the trailer": request(
        b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\nContent-Length: 1\nX: y\r\n\r\n" + SMUGGLED
    ),
}  # fmt: skip


@pytest.mark.parametrize("data", FRAMED_TWICE.values(), ids=FRAMED_TWICE)
async def test_what_could_be_framed_in_two_ways_ends_the_connection(front: HttpApp, data: bytes) -> None:
    async with front() as port:
        got = await answer_to(port, data)
        assert got.count(b"HTTP/1.1 ") <= 1
        assert not got or got.split(b" ")[1] in (b"400", b"501"), got
        assert b"nothing is served here" not in got


@pytest.mark.parametrize("kind", ["gateway", "http", "sse"])
@pytest.mark.parametrize("coding", [b"gzip", b"GZIP", b"br", b"identity, gzip", b"x-unknown", b"identity"])
async def test_a_body_that_is_packed_is_told_to_come_as_it_is(host_with: Any, kind: str, coding: bytes) -> None:
    path = {"gateway": b"/tools/who", "http": b"/mcp", "sse": b"/messages/?session_id=" + b"0" * 32}[kind]
    plain = b"{}" if kind == "gateway" else json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    body = plain if coding == b"identity" else gzip.compress(plain)
    lines = (b"Content-Encoding: " + coding, b"Content-Length: %d" % len(body), b"Connection: close")
    async with serving(kind, host_with) as port:
        answer = await answer_to(port, request(*lines, body=body, path=path))
    if coding == b"identity":
        assert not answer.startswith(b"HTTP/1.1 415")
    else:
        assert answer.startswith(b"HTTP/1.1 415")
        assert b"without Content-Encoding" in answer


async def test_a_body_in_chunks_and_a_trailer_are_taken(front: HttpApp) -> None:
    async with front() as port:
        body = b"2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n"
        got = await answer_to(port, request(b"Transfer-Encoding: chunked", b"Connection: close", body=body))
        assert got.split(b" ")[1] == (b"400" if b"32600" in got else b"404")


def call_of(port: int, token: str | None = None) -> bytes:
    """A call of `who`, through the gateway."""
    return request(b"Content-Length: 2", b"Connection: close", body=b"{}", path=b"/tools/who", token=token)


@asynccontextmanager
async def dripping(port: int, count: int, token: str | None, path: bytes) -> AsyncIterator[list[trio.SocketStream]]:
    """That many requests whose bodies do not end."""
    streams = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(count)]
    try:
        for stream in streams:
            await stream.send_all(request(b"Content-Length: 1000", body=b"{", path=path, token=token))
        await wait_all_tasks_blocked(0.05)
        yield streams
    finally:
        for stream in streams:
            with trio.CancelScope(shield=True):
                await stream.aclose()


@pytest.mark.parametrize("kind", ["gateway", "http", "sse"])
async def test_bodies_of_one_user_that_drip_starve_nobody(host_with: Any, kind: str) -> None:
    async with serving(kind, host_with, tokens=TOKENS) as port:
        path = {"gateway": b"/tools/who", "http": b"/mcp", "sse": b"/messages/?session_id=" + b"0" * 32}[kind]
        async with dripping(port, bodies.AT_ONCE, "of-ada", path):
            crowded = request(b"Content-Length: 2", b"Connection: close", body=b"{}", path=path, token="of-ada")
            assert (await answer_to(port, crowded)).split(b" ")[1] == b"503"
            other = crowded.replace(b"of-ada", b"of-bob")
            assert (await answer_to(port, other)).split(b" ")[1] in (b"200", b"400", b"404")
        await wait_all_tasks_blocked(0.05)
        assert (await answer_to(port, crowded)).split(b" ")[1] != b"503"  # the places came back


async def test_callers_without_a_token_share_by_their_address(host_with: Any) -> None:
    async with serving("gateway", host_with) as port, dripping(port, bodies.AT_ONCE, None, b"/tools/who"):
        assert (await answer_to(port, call_of(port))).split(b" ")[1] == b"503"
        with trio.socket.socket() as other:
            try:
                await other.bind(("127.0.0.2", 0))
            except OSError:
                pytest.skip("this system has one address of loopback")
            await other.connect(("127.0.0.1", port))
            stream = trio.SocketStream(other)
            await stream.send_all(call_of(port))
            assert (await stream.receive_some()).split(b" ")[1] == b"200"


@pytest.mark.parametrize("kind", ["gateway", "http", "sse"])
async def test_a_body_has_to_come_at_a_rate(host_with: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the grace a body that is whole at that rate is read; one that is slower is given up, and says so."""
    monkeypatch.setattr(bodies, "GRACE_S", 0.0)
    monkeypatch.setattr(bodies, "RATE", 10_000)
    async with serving(kind, host_with) as port:
        path = {"gateway": b"/tools/who", "http": b"/mcp", "sse": b"/messages/?session_id=" + b"0" * 32}[kind]
        got = await answer_to(port, request(b"Content-Length: 1000", body=b"{" * 500, path=path))
        assert got.split(b" ")[1] == b"408"


async def test_a_head_has_a_time_from_its_first_byte_on(front: HttpApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "HEAD_S", 0.05)
    async with front() as port:
        assert await answer_to(port, b"P") == b""
        whole = request(b"Content-Length: 2", body=b"{}", path=b"/tools/who")
        kept = await trio.open_tcp_stream("127.0.0.1", port)
        async with kept:
            for _ in range(2):  # the time is a head's, not the connection's
                await kept.send_all(whole)
                with trio.fail_after(WAIT_S):
                    assert await kept.receive_some()
                await wait_all_tasks_blocked(0.1)
            await kept.send_all(whole[:30])
            with trio.fail_after(WAIT_S):
                assert await kept.receive_some() == b""


async def test_idle_connections_make_room(front: HttpApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MAX_CONNECTIONS", 3)
    async with front() as port:
        idle = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(3)]
        await wait_all_tasks_blocked(0.05)
        assert (await answer_to(port, call_of(port))).startswith(b"HTTP/1.1 ")
        with trio.fail_after(WAIT_S):
            assert await idle[0].receive_some() == b""
        for stream in idle:
            await stream.aclose()


async def test_a_client_that_does_not_read_its_answer_is_cut_off(
    host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "UNREAD_S", 0.05)
    monkeypatch.setattr(worker, "RATE", 1e9)
    async with serving("gateway", host_with) as port:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        async with stream:
            stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
            await stream.send_all(request(b"Content-Length: 2", body=b"{}", path=b"/tools/much"))
            await wait_all_tasks_blocked(0.5)
            got = b""
            with trio.fail_after(WAIT_S), contextlib.suppress(trio.BrokenResourceError):
                while chunk := await stream.receive_some():
                    got += chunk
            assert len(got) < 5_000_000


@pytest.mark.parametrize("kind", ["sse", "websocket"])
async def test_a_client_that_never_reads_its_stream_is_cut_off(
    host_with: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "UNREAD_S", 0.1)
    monkeypatch.setattr(worker, "RATE", 1e9)
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INIT},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "much"}} for n in (1, 2, 3)),
    ]
    async with serving(kind, host_with) as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4096)
        if kind == "sse":
            await stream.send_all(b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
            got = b""
            while b"session_id=" not in got or not got.endswith(b"\r\n\r\n"):
                got += await stream.receive_some()
            path = got.split(b"data: ")[1].split(b"\r\n")[0]
            for message in messages:
                body = json.dumps(message).encode()
                length = b"Content-Length: %d" % len(body)
                await answer_to(port, request(length, b"Connection: close", body=body, path=path))
        else:
            from wsproto import ConnectionType, WSConnection
            from wsproto.events import Request, TextMessage

            client = WSConnection(ConnectionType.CLIENT)
            await stream.send_all(client.send(Request(host="127.0.0.1", target="/ws")))
            client.receive_data(await stream.receive_some())
            list(client.events())
            for message in messages:
                await stream.send_all(client.send(TextMessage(data=json.dumps(message))))
        await wait_all_tasks_blocked(1.0)
        got = b""
        with trio.fail_after(WAIT_S), contextlib.suppress(trio.BrokenResourceError):
            while chunk := await stream.receive_some():
                got += chunk
        assert len(got) < 15_000_000


async def opened(port: int, token: str | None) -> tuple[bytes, bytes]:
    """The status of `initialize`, and the session."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INIT}).encode()
    length = b"Content-Length: %d" % len(body)
    got = await answer_to(port, request(length, b"Connection: close", body=body, token=token))
    head = got.partition(b"\r\n\r\n")[0].lower()
    return head.split(b" ")[1], head.partition(b"mcp-session-id: ")[2].split(b"\r\n")[0]


async def listed(port: int, token: str | None, session: bytes) -> bytes:
    """The status of a request in a session."""
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).encode()
    length = b"Content-Length: %d" % len(body)
    lines = [length, b"Connection: close", b"Mcp-Session-Id: " + session]
    return (await answer_to(port, request(*lines, body=body, token=token))).split(b" ")[1]


async def test_sessions_of_one_token_lock_nobody_out(host_with: Any) -> None:
    async with serving("http", host_with, tokens=TOKENS, max_sessions=4) as port:
        ada = [(await opened(port, "of-ada"))[1] for _ in range(4)]
        assert (await opened(port, "of-ada"))[0] == b"503"
        assert await listed(port, "of-ada", ada[0]) == b"200"  # now the second is idle for longest
        status, bob = await opened(port, "of-bob")
        assert status == b"200"
        await wait_all_tasks_blocked(0.05)
        assert [await listed(port, "of-ada", one) for one in ada] == [b"200", b"404", b"200", b"200"]
        assert await listed(port, "of-bob", bob) == b"200"
        assert (await opened(port, "of-bob"))[0] == b"200"  # two and two
        assert (await opened(port, "of-bob"))[0] == b"503"


async def test_sessions_that_their_client_left_make_room_for_its_next(
    host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many clients end without a word: whoever opens one for each call is not locked out for half an hour."""
    from pegboard_mcp.server import streamable

    async with serving("http", host_with, max_sessions=3) as port:
        one, two, three = [(await opened(port, None))[1] for _ in range(3)]
        assert (await opened(port, None))[0] == b"503"
        monkeypatch.setattr(streamable, "LEFT_S", 0.0)
        assert await listed(port, None, one) == b"200"
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:  # the second one listens
            head = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: "
            await stream.send_all(head + two + b"\r\n\r\n")
            assert (await stream.receive_some()).split(b" ")[1] == b"200"
            assert (await opened(port, None))[0] == b"200"
            await wait_all_tasks_blocked(0.05)
            assert [await listed(port, None, at) for at in (one, two, three)] == [b"200", b"200", b"404"]


async def test_a_session_that_listens_is_in_use(host_with: Any) -> None:
    async with serving("http", host_with, tokens=TOKENS, max_sessions=2) as port:
        ada = [(await opened(port, "of-ada"))[1] for _ in range(2)]
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            head = (
                b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nAuthorization: Bearer of-ada\r\n"
            )
            await stream.send_all(head + b"Mcp-Session-Id: " + ada[0] + b"\r\n\r\n")
            assert (await stream.receive_some()).split(b" ")[1] == b"200"
            assert (await opened(port, "of-bob"))[0] == b"200"
            await wait_all_tasks_blocked(0.05)
            assert [await listed(port, "of-ada", one) for one in ada] == [b"200", b"404"]


@pytest.mark.parametrize("kind", ["sse", "websocket"])
async def test_connections_of_one_token_lock_nobody_out(host_with: Any, kind: str) -> None:
    shake = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    shake += b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

    async def connect(port: int, token: bytes) -> tuple[trio.SocketStream, bytes]:
        path, more = (b"/sse", b"Accept: text/event-stream\r\n") if kind == "sse" else (b"/ws", shake)
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(
            b"GET "
            + path
            + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
            + token
            + b"\r\n"
            + more
            + b"\r\n"
        )
        return stream, (await stream.receive_some()).split(b" ")[1]

    async with serving(kind, host_with, tokens=TOKENS, max_sessions=2) as port:
        taken = [await connect(port, b"of-ada") for _ in range(2)]
        assert {status for _, status in taken} == {b"200" if kind == "sse" else b"101"}
        refused, status = await connect(port, b"of-ada")
        assert status == b"503"
        other, status = await connect(port, b"of-bob")
        assert status == taken[0][1]
        got = b""
        with trio.fail_after(WAIT_S):
            while not got.endswith(b"\r\n0\r\n\r\n") and (chunk := await taken[0][0].receive_some()):
                got += chunk
        if kind == "websocket":
            assert (1013).to_bytes(2, "big") in got
        for stream in (refused, other, taken[0][0], taken[1][0]):
            await stream.aclose()
