from __future__ import annotations

import gc
import json
import os
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
import trio_websocket
from mcp.client.session import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import open_link, websocket
from pegboard_mcp.definitions import ServerDefinition

SERVERS = Path(__file__).parent / "servers"
Handle = Callable[[trio_websocket.WebSocketRequest], Awaitable[None]]


class Told:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def web(nursery: trio.Nursery) -> Callable[..., Awaitable[int]]:
    """`await web(handle, tls=None)` starts a WebSocket server and gives its port."""

    async def start(handle: Handle, tls: ssl.SSLContext | None = None) -> int:
        serving = partial(trio_websocket.serve_websocket, handle, "127.0.0.1", 0, ssl_context=tls)
        server = await nursery.start(serving)
        return int(server.port)

    return start


async def echo(asked: trio_websocket.WebSocketRequest) -> None:
    """Answer each request with what it asked, and the headers of the handshake."""
    connection = await asked.accept(subprotocol="mcp")
    headers = {name.decode(): value.decode() for name, value in asked.headers}
    try:
        while True:
            message = json.loads(await connection.get_message())
            result = {"echo": message.get("params"), "headers": headers, "offered": list(asked.proposed_subprotocols)}
            await connection.send_message(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    except trio_websocket.ConnectionClosed:
        pass


def define(port: int, **fields: Any) -> ServerDefinition:
    values = {"name": "one", "transport": "websocket", "url": f"ws://127.0.0.1:{port}/mcp", "connect_s": 5, **fields}
    return ServerDefinition(**values)


@asynccontextmanager
async def opened(definition: ServerDefinition, told: Callable[[], None] | None = None) -> AsyncIterator[Any]:
    with trio.fail_after(15):
        async with open_link(definition, told or Told()) as link:
            yield link


def request(number: int, **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping", params=params))


async def ask(link: Any, number: int = 1, **params: Any) -> Any:
    await link.write.send(request(number, **params))
    message = (await link.read.receive()).message
    assert message.id == number
    return message.result


async def test_messages_go_both_ways_with_headers_and_subprotocol(web: Any) -> None:
    told = Told()
    definition = define(await web(echo), headers={"Authorization": "Bearer t"})
    async with opened(definition, told) as link:
        result = await ask(link, text="grüße")
        assert result["echo"] == {"text": "grüße"}
        assert result["headers"]["authorization"] == "Bearer t"
        assert result["offered"] == ["mcp"]
        assert len((await ask(link, 2, big="x" * 1_000_000))["echo"]["big"]) == 1_000_000
    assert told.count == 0


async def test_an_http_url_is_taken_for_its_websocket(web: Any) -> None:
    async with opened(define(0, url=f"http://127.0.0.1:{await web(echo)}/mcp")) as link:
        assert (await ask(link))["echo"] == {}


async def test_over_tls_the_certificate_is_checked(
    web: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    definition = define(0, url=f"wss://127.0.0.1:{await web(echo, context)}/mcp", headers={"X-Tenant": "7"})
    with pytest.raises(LinkError, match="certificate is refused") as refused:
        async with opened(definition):
            pass
    assert refused.value.kind == "tls"

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with opened(definition) as link:
        assert (await ask(link))["headers"]["x-tenant"] == "7"


CLOSINGS = [
    (1000, "closed", "closed the connection"),
    (1001, "closed", "going away"),
    (1008, "unauthorized", "close code 1008: no ***"),
    (1011, "closed", "failed inside"),
    (1012, "lost", "restarts"),
    (1013, "refused", "overloaded"),
    (4001, "closed", "close code 4001"),
]


@pytest.mark.parametrize(("code", "kind", "says"), CLOSINGS)
async def test_a_close_code_is_named(web: Any, code: int, kind: str, says: str) -> None:
    async def close(asked: trio_websocket.WebSocketRequest) -> None:
        connection = await asked.accept(subprotocol="mcp")
        await connection.aclose(code, "no hunter2")

    told = Told()
    async with opened(define(await web(close), secrets=("hunter2",)), told) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert told.count == 1
        assert link.gone.is_set()
        with pytest.raises((anyio.BrokenResourceError, anyio.ClosedResourceError)):
            await link.write.send(request(1))
        fault = link.why()
    assert fault.kind == kind
    assert says in fault.why
    assert "hunter2" not in fault.why


async def test_a_connection_that_breaks_off_is_named(web: Any) -> None:
    async def cut(asked: trio_websocket.WebSocketRequest) -> None:
        connection = await asked.accept(subprotocol="mcp")
        await connection._stream.aclose()

    async with opened(define(await web(cut))) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "lost"


@pytest.mark.parametrize(("status", "kind"), [(401, "unauthorized"), (404, "not_found"), (503, "refused")])
async def test_a_refused_handshake_names_its_status(web: Any, status: int, kind: str) -> None:
    async def refuse(asked: trio_websocket.WebSocketRequest) -> None:
        await asked.reject(status, body=b"no")

    told = Told()
    with pytest.raises(LinkError) as caught:
        async with opened(define(await web(refuse)), told):
            pass
    assert caught.value.kind == kind
    assert str(status) in caught.value.why


async def test_the_cause_of_a_failed_handshake_is_named(nursery: trio.Nursery) -> None:
    with pytest.raises(LinkError) as refused:
        async with opened(define(1)):
            pass
    assert refused.value.kind == "refused"
    assert refused.value.why.startswith("nothing listens")

    async def plain(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some(1_000)
            await stream.send_all(b"220 mail ready\r\n")

    listeners = await nursery.start(partial(trio.serve_tcp, plain, 0, host="127.0.0.1"))
    port = listeners[0].socket.getsockname()[1]
    with pytest.raises(LinkError) as garbled:
        async with opened(define(port)):
            pass
    assert garbled.value.kind in {"closed", "lost"}
    with pytest.raises(LinkError) as tls:
        async with opened(define(0, url=f"wss://127.0.0.1:{port}/")):
            pass
    assert tls.value.kind == "tls"


async def test_a_handshake_that_never_ends_times_out(nursery: trio.Nursery) -> None:
    async def mute(stream: trio.SocketStream) -> None:
        async with stream:
            await trio.sleep_forever()

    listeners = await nursery.start(partial(trio.serve_tcp, mute, 0, host="127.0.0.1"))
    with pytest.raises(LinkError) as caught:
        async with opened(define(listeners[0].socket.getsockname()[1], connect_s=0.2)):
            pass
    assert caught.value.kind == "timeout"


async def test_a_message_over_the_limit_ends_the_link(web: Any) -> None:
    async with opened(define(await web(echo), max_message_bytes=50_000)) as link:
        await link.write.send(request(1, big="x" * 100_000))
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "oversized"
        assert "50,000" in link.why().why


async def test_a_peer_that_answers_no_ping_is_dead(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PING_S", 0.05)
    monkeypatch.setattr(websocket, "PONG_S", 0.1)
    told = Told()

    async def deaf(asked: trio_websocket.WebSocketRequest) -> None:
        connection = await asked.accept(subprotocol="mcp")
        connection._reader_running = False  # it hears nothing any more, and its socket stays open
        await trio.sleep_forever()

    port = await web(deaf)
    async with opened(define(port), told) as link:
        with trio.fail_after(60), pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "lost"
        assert "ping" in link.why().why
    assert told.count == 1


async def test_a_peer_that_answers_pings_lives_on(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "PING_S", 0.01)
    async with opened(define(await web(echo))) as link:
        await trio.sleep(0.2)
        assert (await ask(link))["echo"] == {}


async def test_garbage_is_skipped_and_named_where_nothing_else_comes(web: Any) -> None:
    async def chatter(asked: trio_websocket.WebSocketRequest) -> None:
        connection = await asked.accept(subprotocol="mcp")
        await connection.send_message("hello there")
        await connection.send_message(b"\xff\xfe")
        await connection.get_message()
        await connection.send_message('{"jsonrpc":"2.0","id":1,"result":{}}')
        await trio.sleep_forever()

    async with opened(define(await web(chatter))) as link:
        with trio.move_on_after(0.2):
            await link.read.receive()
        assert link.why().kind == "garbage"
        assert "hello there" in link.why().why
        assert await ask(link) == {}
        assert link.why().kind == "silent"


async def test_what_the_body_raises_passes_as_it_is(web: Any) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with opened(define(await web(echo))):
            raise KeyError("mine")


async def test_fifty_links_leave_nothing_behind(web: Any) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to count in")
    port = await web(echo)

    async def round_trip() -> None:
        async with opened(define(port)) as link:
            await ask(link)

    def count() -> tuple[int, int]:
        gc.collect()
        return len(os.listdir("/proc/self/fd")), trio.lowlevel.current_statistics().tasks_living

    await round_trip()
    await trio.testing.wait_all_tasks_blocked(0.05)
    before = count()
    for _ in range(50):
        await round_trip()
    await trio.testing.wait_all_tasks_blocked(0.05)
    assert count() == before


@pytest.fixture(scope="session")
def old_sdk(peer_programs: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the SDK 1.30, the last with a WebSocket server; made once."""
    folder = tmp_path_factory.mktemp("sdk") / "venv"
    python = folder / "bin" / "python"
    wanted = ["mcp[ws]==1.30.0", "uvicorn", "wsproto"]
    peer_programs.run(["uv", "venv", "-q", "--no-config", "--python", sys.executable, str(folder)])
    peer_programs.run(["uv", "pip", "install", "-q", "--no-config", "--python", str(python), *wanted])
    return python


@pytest.fixture
def old_server(peer_programs: Any, old_sdk: Path) -> Iterator[int]:
    """The port of the SDK 1.30's WebSocket server."""
    argv = [str(old_sdk), str(SERVERS / "sdk_130_websocket.py")]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            port = process.stdout.readline()
            if not port:
                log.seek(0)
                peer_programs.cannot_start("the server of the SDK 1.30", log.read())
            yield int(port)
        finally:
            process.kill()


async def test_the_sdks_own_server_is_spoken_to(old_server: int) -> None:
    async with opened(define(old_server)) as link, ClientSession(link.read, link.write) as session:
        assert (await session.initialize()).server_info.name == "old"
        assert [tool.name for tool in (await session.list_tools()).tools] == ["say"]
        result = await session.call_tool("say", {"text": "grüße"})
        assert result.content[0].text == "grüße"  # type: ignore[union-attr]


async def test_a_call_that_is_given_up_waits_for_no_server_that_reads_nothing(
    web: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "SEND_S", 2.0)

    async def deaf(asked: trio_websocket.WebSocketRequest) -> None:
        await asked.accept(subprotocol="mcp")
        await trio.sleep_forever()

    async with opened(define(await web(deaf))) as link:
        began = trio.current_time()
        for number in range(3):
            with trio.move_on_after(0.2) as scope:
                while True:
                    await link.write.send(request(number, text="x" * 1_000_000))
            assert scope.cancelled_caught
        assert trio.current_time() - began < 1.5
        await link.gone.wait()  # a message that does not leave ends the link all the same
        assert link.why().why == "it takes no more messages"
        with pytest.raises(anyio.BrokenResourceError):
            await link.write.send(request(9))
