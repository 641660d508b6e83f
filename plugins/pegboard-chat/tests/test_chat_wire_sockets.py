"""Real sockets on loopback: how soon an event is passed on, when a connection is freed, networks that are not there."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import ssl
import subprocess
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from socket import EAI_AGAIN, EAI_NONAME, gaierror
from typing import Any

import pytest
import trio

from pegboard_chat import ModelError
from pegboard_chat.wire.faults import Place
from pegboard_chat.wire.transport import Transport, open_transport

KEY = "sk-proj-Zx81kQ0aVbN3mT7yLwE5RdJ2"
ACME = Place("acme", "m1", headers={"x-api-key": KEY}, key=KEY, key_variable="ACME_KEY")
OPEN = Place("acme", "m1")
KEPT = Place("acme", "m1", headers={"x-api-key": KEY, "connection": "keep-alive"}, key=KEY)
"""Where connections are used again, as over TLS."""

Answer = Callable[[trio.SocketStream], Awaitable[None]]


class Server:
    """A provider on a socket: a connection reads whole requests and answers each with the next line of the script."""

    def __init__(self, *script: bytes | Answer) -> None:
        self.script = list(script)
        self.requests: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.freed = trio.Event()
        self.port = 0
        self.handler = self.answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, stream: trio.SocketStream) -> None:
        await self.handler(stream)

    async def answer(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        self.open += 1
        try:
            async with stream:
                while (request := await _read_request(stream)) is not None:
                    self.requests.append(request)
                    answer = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                    if isinstance(answer, bytes):
                        await stream.send_all(answer)
                    else:
                        await answer(stream)
                        return
        except trio.BrokenResourceError:
            pass
        finally:
            self.open -= 1
            if not self.open:
                self.freed.set()


async def _read_request(stream: trio.SocketStream) -> bytes | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = await stream.receive_some()
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += await stream.receive_some()
    return head + b"\r\n\r\n" + body


@contextlib.asynccontextmanager
async def serving(*script: bytes | Answer) -> AsyncIterator[Server]:
    server = Server(*script)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        server.port = listeners[0].socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, server.serve, listeners)
        yield server
        nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def quick_transport(**limits: Any) -> AsyncIterator[Transport]:
    """Waits between tries are as short as they can be; everything ends by 20 s."""
    with trio.fail_after(20):
        async with open_transport(**{"jitter": lambda: 1.0, "tries": 2, "timeout_s": 10, **limits}) as transport:
            yield transport


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def whole(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"content-length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
OK = whole(b'{"ok": true}', b"content-type: application/json")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def failing(ask: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask
    error = caught.value
    assert error.__context__ is None
    assert error.__cause__ is None
    assert error.details["provider"] == "acme"
    return error


async def test_an_event_is_passed_on_within_a_millisecond() -> None:
    sent: list[float] = []
    seen: list[float] = []

    async def answer(stream: trio.SocketStream) -> None:
        await stream.send_all(STREAM)
        for _ in range(60):
            await turn.acquire()
            sent.append(trio.current_time())
            await stream.send_all(chunk(b'data: {"token": "x"}\n\n'))
        await stream.send_all(END)

    turn = trio.Semaphore(1)
    async with (
        serving(answer) as server,
        quick_transport() as transport,
        transport.stream(server.url, {}, ACME) as events,
    ):
        async for _ in events:
            seen.append(trio.current_time())
            turn.release()
    delays = sorted(b - a for a, b in zip(sent, seen, strict=True))
    assert delays[len(delays) // 4] < 0.001  # both ends run in this one loop, and other programs on this machine


async def test_a_stream_that_was_read_to_its_end_gives_its_connection_back() -> None:
    body = STREAM + chunk(b"data: 1\n\n") + END
    async with serving(body, OK) as server, quick_transport() as transport:
        async with transport.stream(server.url, {}, KEPT) as events:
            assert [event.data async for event in events] == ["1"]
        assert await transport.post(server.url, {}, KEPT) == {"ok": True}
        assert server.connections == 1


async def test_a_connection_in_the_clear_is_used_once() -> None:
    body = STREAM + chunk(b"data: 1\n\n") + END
    async with serving(body) as server, quick_transport() as transport:
        for _ in range(3):
            async with transport.stream(server.url, {}, ACME) as events:
                assert [event.data async for event in events] == ["1"]
        assert server.connections == 3
    assert b"connection: close" in server.requests[0].lower()


async def test_a_refusal_gives_its_connection_back() -> None:
    async with serving(whole(b"busy", status=b"503 Busy"), OK) as server, quick_transport() as transport:
        assert await transport.post(server.url, {}, KEPT) == {"ok": True}
        assert server.connections == 1


async def test_what_is_finished_gives_its_connection_back_although_the_end_was_not_read() -> None:
    body = STREAM + chunk(b"data: 1\n\n") + chunk(b"data: [DONE]\n\n") + END
    async with serving(body, OK) as server, quick_transport() as transport:
        async with transport.stream(server.url, {}, KEPT) as events:
            await anext(events)
            events.finish()
        assert await transport.post(server.url, {}, KEPT) == {"ok": True}
        assert server.connections == 1


async def _drip(stream: trio.SocketStream) -> None:
    await stream.send_all(STREAM)
    with contextlib.suppress(trio.BrokenResourceError):
        await stream.send_all(chunk(b"data: 1\n\n"))
        await stream.receive_some()  # until the client is gone


async def test_leaving_early_frees_the_connection_at_once() -> None:
    async with serving(_drip) as server, quick_transport() as transport:
        async with transport.stream(server.url, {}, ACME) as events:
            assert (await anext(events)).data == "1"
            assert server.open == 1
        with trio.fail_after(30):
            await server.freed.wait()


async def test_cancelling_frees_the_connection_at_once() -> None:
    async with serving(_drip) as server, quick_transport() as transport:
        with trio.CancelScope() as scope:
            async with transport.stream(server.url, {}, ACME) as events:
                async for _ in events:
                    scope.cancel()
        assert scope.cancelled_caught
        with trio.fail_after(30):
            await server.freed.wait()


async def test_cancelling_before_the_answer_began_frees_the_connection_at_once() -> None:
    async def wait(stream: trio.SocketStream) -> None:
        scope.cancel()
        await stream.receive_some()

    async with serving(wait) as server, quick_transport() as transport:
        with trio.CancelScope() as scope:
            await transport.post(server.url, {}, ACME)
        assert scope.cancelled_caught
        with trio.fail_after(30):
            await server.freed.wait()


async def test_a_failing_consumer_frees_the_connection_and_its_error_passes() -> None:
    async with serving(_drip) as server, quick_transport() as transport:

        async def consume() -> None:
            async with transport.stream(server.url, {}, ACME) as events:
                await anext(events)
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            await consume()
        with trio.fail_after(30):
            await server.freed.wait()


async def test_many_streams_leave_no_descriptor_open() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this machine does not list the descriptors of a process")
    async with serving(_drip) as server, quick_transport() as transport:
        before = descriptors()
        for _ in range(20):
            async with transport.stream(server.url, {}, ACME) as events:
                await anext(events)
        with trio.fail_after(20):
            await server.freed.wait()
        gc.collect()
        assert descriptors() <= before + 1


@pytest.mark.parametrize(
    "head",
    [
        STREAM,
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 5000\r\n\r\n",
    ],
)
async def test_half_a_stream_is_an_error_after_its_events(head: bytes) -> None:
    async def answer(stream: trio.SocketStream) -> None:
        data = b"data: 1\n\ndata: half"
        await stream.send_all(head + (chunk(data) if head is STREAM else data))

    async with (
        serving(answer) as server,
        quick_transport() as transport,
        transport.stream(server.url, {}, ACME) as events,
    ):
        assert (await anext(events)).data == "1"
        error = await failing(anext(events))
    assert error.details["reason"] == "half_answer"
    assert len(server.requests) == 1


async def test_a_connection_that_breaks_before_the_answer_is_not_tried_again() -> None:
    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.aclose()

    async with serving(hang_up) as server, quick_transport() as transport:
        error = await failing(transport.post(server.url, {}, ACME))
    assert error.details["reason"] == "half_answer"
    assert "not sent again" in error.message
    assert len(server.requests) == 1


async def test_what_speaks_no_http_is_an_error() -> None:
    async with serving(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as server, quick_transport() as transport:
        error = await failing(transport.post(server.url, {}, ACME))
    assert error.details["reason"] == "half_answer"


async def test_headers_without_end_are_bounded() -> None:
    async def flood(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 200 OK\r\n")
        with contextlib.suppress(trio.BrokenResourceError):
            while True:
                await stream.send_all(b"x: " + b"y" * 10_000 + b"\r\n")

    async with serving(flood) as server, quick_transport() as transport:
        error = await failing(transport.post(server.url, {}, ACME))
    assert error.details["reason"] == "half_answer"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_refused_connection_says_what_to_do(host: str) -> None:
    async with serving(OK) as server:
        url = server.url.replace("127.0.0.1", host)
    async with quick_transport() as transport:
        error = await failing(transport.post(url, {}, ACME))
    assert error.message == (
        f"acme cannot be reached: {host} refuses the connection; start the server, or check the base_url"
    )
    assert error.details["reason"] == "no_network"


async def test_a_place_may_say_better_what_to_do_without_a_network() -> None:
    async with serving(OK) as server:
        url = server.url
    place = Place("local", advice={"no_network": "start llama-server"})
    async with quick_transport() as transport:
        with pytest.raises(ModelError, match="refuses the connection; start llama-server"):
            await transport.post(url, {}, place)


class Names(trio.abc.HostnameResolver):
    """A name server that knows nothing."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.asked = 0

    async def getaddrinfo(self, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        raise gaierror(self.number, "no such thing")

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(("number", "tries"), [(EAI_NONAME, 1), (EAI_AGAIN, 2)])
async def test_a_name_that_is_not_known_says_what_to_do(number: int, tries: int) -> None:
    names = Names(number)
    trio.socket.set_custom_hostname_resolver(names)
    async with quick_transport() as transport:
        error = await failing(transport.post("https://models.example/v1", {}, ACME))
    assert "the name models.example is not known" in error.message
    assert error.details["reason"] == "no_network"
    assert names.asked == tries


async def test_tls_with_a_server_that_has_none_says_so() -> None:
    async def plain(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(OK) as server, quick_transport() as transport:
        server.handler = plain
        error = await failing(transport.post(server.url.replace("http:", "https:"), {}, ACME))
    assert error.details["reason"] == "no_network"
    assert "TLS with 127.0.0.1 failed" in error.message
    assert "http://" in error.message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        " -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem"
    )
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine has no openssl that makes certificates")
    return folder


@contextlib.asynccontextmanager
async def serving_tls(folder: Path) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")

    async def serve(stream: trio.SocketStream) -> None:
        secure = trio.SSLStream(stream, context, server_side=True, https_compatible=True)
        with contextlib.suppress(trio.BrokenResourceError):
            await secure.receive_some()
            await secure.send_all(OK)
            await secure.receive_some()
        await trio.aclose_forcefully(secure)

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        yield f"https://localhost:{listeners[0].socket.getsockname()[1]}/v1"
        nursery.cancel_scope.cancel()


async def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    async with serving_tls(certificate) as url, quick_transport() as transport:
        error = await failing(transport.post(url, {}, ACME))
    assert "the certificate of localhost is not trusted" in error.message
    assert "SSL_CERT_FILE" in error.message


async def test_an_authority_of_ones_own_is_named_in_the_environment(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    async with serving_tls(certificate) as url, quick_transport() as transport:
        assert await transport.post(url, {}, ACME) == {"ok": True}


async def test_the_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(OK) as proxy, serving(OK) as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://ada:lovelace@127.0.0.1:{proxy.port}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")
        async with quick_transport() as transport:
            assert await transport.post("http://models.example/v1", {}, OPEN) == {"ok": True}
            assert proxy.requests[0].startswith(b"POST http://models.example/v1 HTTP/1.1")
            assert b"proxy-authorization: basic " in proxy.requests[0].lower()
            assert await transport.post(server.url, {}, ACME) == {"ok": True}
    assert len(proxy.requests) == 1
    assert KEY.encode() not in proxy.requests[0]


@pytest.mark.parametrize("url", ["https://models.example/v1", "http://models.example/v1"])
async def test_a_proxy_that_wants_to_know_who_asks_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = whole(b"", status=b"407 Proxy Authentication Required")
    async with serving(refusal) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://ada:lovelace@127.0.0.1:{proxy.port}")
        async with quick_transport() as transport:
            error = await failing(transport.post(url, {}, OPEN))
    assert error.details["reason"] == "no_network"
    assert "HTTPS_PROXY" in error.message
    assert "lovelace" not in repr(error)


async def test_no_key_is_in_any_log_text_or_frame(caplog: pytest.LogCaptureFixture) -> None:
    """The server sends the key back in a header, the body and an event; every log is at its most talkative."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("httpx2", "httpcore2", "pegboard", "h11", "hpack"):
            caplog.set_level(logging.DEBUG, logger=name)
    echo = b"x-echo: " + KEY.encode()
    refusal = whole(
        b'{"error": "bad key ' + KEY.encode() + b'"}', echo, b"location: /" + KEY.encode(), status=b"401 No"
    )
    script = [refusal, whole(KEY.encode(), echo), whole(KEY.encode(), echo, status=b"503 Busy"), refusal]
    shown = []
    async with serving(*script) as server, quick_transport() as transport:
        url = server.url.replace("//", f"//ada:{KEY}@") + f"?key={KEY}"
        for _ in range(3):
            with pytest.raises(ModelError) as caught:
                await transport.post(url, {}, ACME)
            shown.append("".join(traceback.format_exception(caught.value)))
            frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
            ours = [frame for frame in frames if "pegboard_chat" in frame.f_code.co_filename]
            assert ours
            if caught.value.details["reason"] != "no_json":  # what the server sent is a value of ours there
                shown += [repr(value) for frame in ours for name, value in frame.f_locals.items() if name != "url"]
    assert len(server.requests) == 4
    assert KEY.encode() in server.requests[0]
    assert "receive_response_headers" in caplog.text  # the libraries did talk
    assert KEY not in caplog.text
    for text in shown:
        assert KEY not in text
