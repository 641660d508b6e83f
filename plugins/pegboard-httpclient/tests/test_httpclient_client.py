"""The client against servers on this machine that answer, break off, drip and lie."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

from pegboard_httpclient import Failure, Kind
from pegboard_httpclient.client import PIECES_AT_ONCE, Answer, Client, tls_context

Script = bytes | Callable[[trio.SocketStream], Awaitable[object]]


class Server:
    """Answers one request after the other, the last way again and again; what talks itself ends the connection."""

    def __init__(self, *script: Script) -> None:
        self.script = list(script)
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.gone = trio.Event()
        self.url = ""

    async def talk(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        data = b""
        with contextlib.suppress(trio.BrokenResourceError):
            while True:
                while b"\r\n\r\n" not in data:
                    if not (piece := await stream.receive_some()):
                        break
                    data += piece
                if not data:
                    break
                head, _, data = data.partition(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                while len(data) < length:
                    data += await stream.receive_some()
                self.heads.append(head)
                self.bodies.append(data[:length])
                data = data[length:]
                answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                if not isinstance(answer, bytes):
                    await answer(stream)
                    break
                await stream.send_all(answer)
        self.gone.set()


@contextlib.asynccontextmanager
async def serving(*script: Script) -> AsyncIterator[Server]:
    server = Server(*script)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        server.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/"
        nursery.start_soon(trio.serve_listeners, server.talk, listeners)
        with trio.fail_after(30):
            yield server
        nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def client(**options: Any) -> AsyncIterator[Client]:
    made = Client(user_agent="tests/1", **options)
    try:
        yield made
    finally:
        await made.aclose()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, *headers, b"content-length: %d" % len(body)]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


async def answered(made: Client, url: str, *, limit: int = 10**6, method: str = "GET", **more: Any) -> bytes | Failure:
    got = await made.send(method, url, max_bytes=limit, **more)
    if isinstance(got, Failure):
        return got
    try:
        return await got.whole()
    finally:
        await got.aclose()


async def test_a_request_is_framed_once_and_says_who_asks() -> None:
    async with serving(whole(b"ok")) as server, client() as made:
        assert (
            await answered(made, server.url + "a?b=c", method="POST", headers=[("X-One", "1")], body=b"text") == b"ok"
        )
        assert await answered(made, server.url, method="POST") == b"ok"
        assert await answered(made, server.url, headers=[("accept-encoding", "identity")]) == b"ok"
    first, second, third = (head.decode().split("\r\n") for head in server.heads)
    authority = server.url.split("/")[2]
    asked = [f"Host: {authority}", "User-Agent: tests/1", "Accept-Encoding: gzip, deflate"]
    assert first == ["POST /a?b=c HTTP/1.1", *asked, "Content-Length: 4", "X-One: 1"]
    assert second == ["POST / HTTP/1.1", *asked, "Content-Length: 0"]
    assert third == ["GET / HTTP/1.1", *asked[:2], "accept-encoding: identity"]
    assert server.bodies == [b"text", b"", b""]
    assert server.connections == 1, "an answer that was read to its end gives its connection back"


async def test_no_cookie_is_kept_and_no_redirect_followed() -> None:
    moved = whole(b"", b"set-cookie: a=b; path=/", b"location: /there", status=b"302 Found")
    async with serving(moved) as server, client() as made:
        for _ in range(2):
            got = await made.send("GET", server.url, max_bytes=1_000)
            assert isinstance(got, Answer)
            assert (got.status, got.headers["location"]) == (302, "/there")
            await got.aclose()
    assert not any(b"cookie" in head.lower() for head in server.heads)
    assert len(server.heads) == 2


@pytest.mark.parametrize("size", [999, 1_000])
async def test_a_body_has_a_bound_declared_or_not_packed_or_not(size: int) -> None:
    body = b"x" * 1_000
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3e8\r\n" + body + b"\r\n0\r\n\r\n"
    packed = whole(gzip.compress(body), b"content-encoding: gzip")
    for answer in (whole(body), chunked, packed):
        async with serving(answer) as server, client() as made:
            got = await answered(made, server.url, limit=size)
            assert got == (body if size == 1_000 else Failure(Kind.TOO_LONG))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (whole(gzip.compress(b"text", mtime=0)[:-4], b"content-encoding: gzip"), Kind.LOST),
        (whole(b"\xff\xff plain", b"content-encoding: gzip"), Kind.PACKED),
        (whole(b"text", b"content-encoding: br"), Kind.PACKED),
    ],
)
async def test_what_is_packed_badly_is_a_failure_and_then_the_end(answer: bytes, kind: Kind) -> None:
    async with serving(answer) as server, client() as made:
        got = await made.send("GET", server.url, max_bytes=1_000)
        assert isinstance(got, Answer)
        while isinstance(piece := await got.piece(), bytes):
            pass
        assert isinstance(piece, Failure)
        assert piece.kind is kind
        assert await got.piece() is None
        await got.aclose()


async def test_answers_without_a_body_are_not_taken_for_broken_ones() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 5000000000\r\n\r\n"
    async with serving(head) as server, client() as made:
        assert await answered(made, server.url, method="HEAD") == b""
    for status in (b"204 No Content", b"304 Not Modified"):
        async with serving(b"HTTP/1.1 " + status + b"\r\ncontent-encoding: gzip\r\n\r\n") as server, client() as made:
            assert await answered(made, server.url) == b""


async def _break(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")


async def test_what_breaks_off_is_lost() -> None:
    async with serving(_break) as server, client() as made:
        assert await answered(made, server.url) == Failure(Kind.LOST)
    async with serving(lambda stream: stream.aclose()) as server, client() as made:
        assert await answered(made, server.url) == Failure(Kind.LOST)
    async with serving(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as server, client() as made:
        assert await answered(made, server.url) == Failure(Kind.LOST)
    async with serving(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2_000_000 + b"\r\n\r\n") as server, client() as made:
        assert await answered(made, server.url) == Failure(Kind.LOST)


async def _drip(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
    while True:
        await stream.send_all(b"x")
        await trio.sleep(1)


async def _stall(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
    await trio.sleep_forever()


async def test_a_drip_ends_with_the_deadline_and_silence_before_it(autojump_clock: trio.testing.MockClock) -> None:
    autojump_clock.autojump_threshold = 0.05
    async with serving(_drip) as server, client() as made:
        assert await answered(made, server.url, deadline=trio.current_time() + 5, idle_s=3) == Failure(Kind.LATE)
        await server.gone.wait()
    async with serving(_stall) as server, client() as made:
        assert await answered(made, server.url, deadline=trio.current_time() + 5, idle_s=3) == Failure(Kind.IDLE)
    async with serving(lambda stream: trio.sleep_forever()) as server, client() as made:
        assert await answered(made, server.url, deadline=trio.current_time() + 5, idle_s=3) == Failure(Kind.LATE)


async def test_of_an_error_the_beginning_is_enough(autojump_clock: trio.testing.MockClock) -> None:
    autojump_clock.autojump_threshold = 0.05
    async with serving(_drip) as server, client() as made:
        got = await made.send("GET", server.url, max_bytes=1_000)
        assert isinstance(got, Answer)
        assert 0 < len(await got.beginning(1_000, 5)) <= 6
        await got.aclose()
        await server.gone.wait()
    async with serving(whole(b"x" * 5_000, status=b"500 X")) as server, client() as made:
        got = await made.send("GET", server.url, max_bytes=10)
        assert isinstance(got, Answer)
        assert await got.beginning(1_000, 5) == b"x" * 1_000
        await got.aclose()


async def test_cancelling_closes_the_connection_at_once() -> None:
    async with serving(_drip) as server, client() as made:
        got = await made.send("GET", server.url, max_bytes=1_000)
        assert isinstance(got, Answer)
        with trio.CancelScope() as scope:
            try:
                while await got.piece():
                    scope.cancel()
            finally:
                await got.aclose()
        assert scope.cancelled_caught
        await server.gone.wait()


async def test_many_small_pieces_let_other_tasks_run() -> None:
    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(8 * PIECES_AT_ONCE):
                yield b"x"

    def reply(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, stream=Pieces())

    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with client(http=httpx2.MockTransport(reply)) as made, trio.open_nursery() as nursery:
        got = await made.send("GET", "http://api.example/", max_bytes=10_000)
        assert isinstance(got, Answer)
        nursery.start_soon(count)
        assert len(await got.whole()) == 8 * PIECES_AT_ONCE
        assert turns >= 4
        await got.aclose()
        nursery.cancel_scope.cancel()


async def test_what_http_cannot_carry_is_not_sent() -> None:
    async with serving(whole(b"")) as server, client() as made:
        for url in ("ftp://a.example/", "http://a.example:x/"):
            assert await answered(made, url) == Failure(Kind.UNSENDABLE)
        for value in ("a\r\nb: c", "\ud800"):
            assert await answered(made, server.url, headers=[("x", value)]) == Failure(Kind.UNSENDABLE)
        assert server.heads == []


async def test_who_calls_may_look_at_the_address_before_anything_is_sent() -> None:
    def refuse(url: httpx2.URL) -> None:
        raise PermissionError(url.host)

    async with serving(whole(b"")) as server, client() as made:
        with pytest.raises(PermissionError, match="127"):
            await made.send("GET", server.url, max_bytes=1_000, check=refuse)
        assert server.connections == 0


async def test_an_address_where_nobody_listens_is_refused_and_an_unknown_name_is_unknown() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    async with client() as made:
        assert await answered(made, f"http://127.0.0.1:{port}/") == Failure(Kind.REFUSED, may_pass=True)
        unknown = await answered(made, "http://no-such-host.invalid/")
        assert isinstance(unknown, Failure)
        assert unknown.kind is Kind.NAME


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "httpx2[socks]"),
        ("HTTP_PROXY", "gopher://a.example", "HTTP_PROXY"),
        ("SSL_CERT_FILE", "/no/such/file", "SSL_CERT_FILE"),
    ],
)
async def test_an_environment_that_cannot_be_used_is_named_or_left_alone(
    variable: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    async with client() as made:
        got = await made.send("GET", "http://a.example/", max_bytes=1)
        assert isinstance(got, Failure)
        assert got.kind is Kind.ENVIRONMENT
        assert said in got.words("a.example")[0]
    async with serving(whole(b"ok")) as server, client(trust_env=False) as made:
        assert await answered(made, server.url) == b"ok"


async def test_the_proxy_of_the_environment_is_asked_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(whole(b"proxied")) as proxy, serving(whole(b"here")) as server, client() as made:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert await answered(made, "http://api.example/a") == b"proxied"
        assert proxy.heads[0].startswith(b"GET http://api.example/a ")
        assert await answered(made, server.url) == b"here"
        assert await answered(made, server.url.replace("127.0.0.1", "localhost")) == b"here"
        async with client(trust_env=False) as alone:
            assert await answered(alone, server.url) == b"here"
    assert len(proxy.heads) == 1


def test_authorities_are_loaded_once_for_each_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert tls_context() is tls_context()
    assert tls_context() is not tls_context(trust_env=False)


async def test_no_exception_of_the_library_leaves_with_the_request() -> None:
    def fail(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("broke", request=request)

    async with client(http=httpx2.MockTransport(fail)) as made:
        got = await made.send("GET", "http://api.example/", [("authorization", "Bearer sesame")], max_bytes=1)
        assert got == Failure(Kind.LOST)
        assert "sesame" not in repr(got)
