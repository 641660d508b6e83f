from __future__ import annotations

import gc
import json
import logging
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import h11
import httpx2
import mcp_types as types
import pytest
import trio
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.connection import open_connection
from pegboard_mcp.client.transports import NOT_RUN, _web, open_link
from pegboard_mcp.definitions import ServerDefinition

# The SDK and httpx2 leave generators to the collector when they stop in the middle of a stream.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Async generator 'httpx2:ResourceWarning", "ignore:Async generator 'httpcore2:ResourceWarning"
)

Reply = tuple[int, dict[str, str], Any]
"""Status, headers, and a body: bytes, an async iterator of bytes, or None to cut the connection."""
Respond = Callable[["Asked"], Awaitable[Reply]]


class Asked:
    """A request that a test's web server got."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path, _, self.query = path.partition("?")
        self.headers = headers
        self.body = body

    @property
    def message(self) -> Any:
        return json.loads(self.body or b"{}")


class Web:
    """A web server on loopback that answers as a test says, and keeps what it was asked."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[Asked] = []
        self.port = 0
        self.scope = trio.CancelScope()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def run(
        self, port: int = 0, tls: ssl.SSLContext | None = None, *, task_status: trio.TaskStatus[None]
    ) -> None:
        with self.scope:
            listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
            self.port = listeners[0].socket.getsockname()[1]
            served = [trio.SSLListener(one, tls) for one in listeners] if tls else listeners
            task_status.started()
            await trio.serve_listeners(self._serve, served)

    async def _serve(self, stream: Any) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            async with stream:
                while await self._one(stream, connection):
                    connection.start_next_cycle()
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.RemoteProtocolError):
            pass

    async def _one(self, stream: Any, connection: h11.Connection) -> bool:
        asked, body = None, b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(65_536))
            elif isinstance(event, h11.Request):
                asked = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
        assert asked is not None
        headers = {name.decode(): value.decode() for name, value in asked.headers}
        request = Asked(asked.method.decode(), asked.target.decode(), headers, body)
        self.asked.append(request)
        status, head, content = await self.respond(request)
        if content is None:
            return False
        if isinstance(content, bytes):
            head = {**head, "content-length": str(len(content))}
        await stream.send_all(connection.send(h11.Response(status_code=status, headers=list(head.items()))))
        if isinstance(content, bytes):
            await stream.send_all(connection.send(h11.Data(data=content)))
        else:
            async with aclosing(content) as parts:
                async for part in parts:
                    await stream.send_all(connection.send(h11.Data(data=part)))
        await stream.send_all(connection.send(h11.EndOfMessage()))
        return connection.our_state is h11.DONE


Serve = Callable[..., Awaitable[Web]]


@pytest.fixture
def web(nursery: trio.Nursery) -> Serve:
    """`await web(respond)` starts a server."""

    async def start(respond: Respond, **options: Any) -> Web:
        server = Web(respond)
        await nursery.start(partial(server.run, **options))
        return server

    return start


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="add", inputSchema={"type": "object"})])


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(arguments.get("say", "")))])


class Real:
    """The SDK's own server under hypercorn, on a port that it keeps when it is started again."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.port = 0
        self.stop = trio.Event()
        self.stopped = trio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        import hypercorn.trio
        from hypercorn.config import Config

        app = Server("real", on_list_tools=list_tools, on_call_tool=call_tool).streamable_http_app(**self.options)

        async def watched(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                self.seen.append((scope["method"], headers))
            await app(scope, receive, send)

        config = Config()
        config.bind = [f"127.0.0.1:{self.port}"]
        config.errorlog = config.accesslog = None
        config.graceful_timeout = 0.1
        serving = partial(hypercorn.trio.serve, watched, config, shutdown_trigger=trio.sleep_forever, mode="asgi")
        try:
            async with trio.open_nursery() as nursery:
                (bound,) = await nursery.start(serving)
                self.port = int(str(bound).rpartition(":")[2].rstrip("/"))
                task_status.started()
                await self.stop.wait()
                nursery.cancel_scope.cancel()
        finally:
            self.stopped.set()

    async def restart(self, nursery: trio.Nursery) -> None:
        await self.end()
        self.stop, self.stopped = trio.Event(), trio.Event()
        await nursery.start(self.run)

    async def end(self) -> None:
        self.stop.set()
        await self.stopped.wait()


@pytest.fixture
async def real(nursery: trio.Nursery) -> AsyncIterator[Real]:
    server = Real()
    await nursery.start(server.run)
    yield server
    if not server.stop.is_set():
        await server.end()


class Told:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def define(url: str, transport: Any = "http", **fields: Any) -> ServerDefinition:
    return ServerDefinition(**{"name": "one", "transport": transport, "url": url, "connect_s": 5, **fields})


@asynccontextmanager
async def opened(definition: ServerDefinition, told: Callable[[], None] | None = None) -> AsyncIterator[Any]:
    with trio.fail_after(15):
        async with open_link(definition, told or Told()) as link:
            yield link


def request(number: int, method: str = "ping", **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params))


async def ask(link: Any, number: int = 1, **params: Any) -> Any:
    await link.write.send(request(number, **params))
    message = (await link.read.receive()).message
    assert message.id == number
    return message


async def say(session: ClientSession, text: str) -> str:
    result = await session.call_tool("add", {"say": text})
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


def answer(asked: Asked, result: Any = None, headers: dict[str, str] | None = None) -> Reply:
    body = {"jsonrpc": "2.0", "id": asked.message.get("id"), "result": {} if result is None else result}
    return 200, {"content-type": "application/json", **(headers or {})}, json.dumps(body).encode()


# Streamable HTTP


async def test_the_sdks_server_is_spoken_to_with_headers_and_left_with_delete(real: Real) -> None:
    definition = define(real.url, headers={"authorization": "Bearer hunter2-token"}, secrets=("hunter2-token",))
    told = Told()
    async with opened(definition, told) as link, ClientSession(link.read, link.write) as session:
        await session.initialize()
        assert [tool.name for tool in (await session.list_tools()).tools] == ["add"]
        assert await say(session, "grüße") == "grüße"
    assert told.count == 0
    assert {headers.get("authorization") for _, headers in real.seen} == {"Bearer hunter2-token"}
    assert [method for method, _ in real.seen][-1] == "DELETE"


async def test_both_eras_go_over_one_transport(real: Real) -> None:
    from pegboard_mcp.client.connection import open_connection

    async with open_connection(define(real.url), {}, on_gone=Told()) as connection:
        assert connection.version == "2026-07-28"
        raw = await connection.request("tools/call", {"name": "add", "arguments": {"say": "modern"}}, timeout_s=5)
        assert raw["content"][0]["text"] == "modern"
    async with opened(define(real.url)) as link, ClientSession(link.read, link.write) as session:
        assert (await session.initialize()).protocol_version == "2025-11-25"
        assert await say(session, "handshake") == "handshake"


async def test_parallel_calls_run_in_parallel(web: Serve) -> None:
    both = trio.Event()
    waiting = 0

    async def respond(asked: Asked) -> Reply:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            both.set()
        await both.wait()
        return answer(asked)

    server = await web(respond)
    async with opened(define(server.url)) as link:
        await link.write.send(request(1))
        await link.write.send(request(2))
        ids = {(await link.read.receive()).message.id for _ in range(2)}
    assert ids == {1, 2}


async def test_the_session_is_deleted_also_when_the_owner_is_cancelled(real: Real) -> None:
    with trio.move_on_after(10) as scope:
        async with opened(define(real.url)) as link, ClientSession(link.read, link.write) as session:
            await session.initialize()
            scope.cancel()
            await trio.sleep_forever()
    assert [method for method, _ in real.seen][-1] == "DELETE"


async def test_the_session_is_not_deleted_where_that_is_configured(real: Real) -> None:
    async with (
        opened(define(real.url, terminate_on_close=False)) as link,
        ClientSession(link.read, link.write) as session,
    ):
        await session.initialize()
    assert "DELETE" not in [method for method, _ in real.seen]


async def test_a_server_that_restarted_has_lost_the_session(real: Real, nursery: trio.Nursery) -> None:
    told = Told()
    async with opened(define(real.url), told) as link, ClientSession(link.read, link.write) as session:
        await session.initialize()
        await real.restart(nursery)
        with pytest.raises(MCPError, match="does not know the session") as caught:
            await session.call_tool("add", {})
        assert caught.value.error.code == NOT_RUN
        await link.gone.wait()
        assert link.why().kind in {"lost", "refused"}  # refused: its stream was opened again while nobody listened
    assert told.count == 1
    async with opened(define(real.url)) as link, ClientSession(link.read, link.write) as session:
        await session.initialize()
        assert await say(session, "again") == "again"


async def test_a_refusal_that_names_the_session_is_a_loss_too(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        if asked.message.get("method") == "initialize":
            return answer(asked, headers={"mcp-session-id": "s"})
        return 400, {"content-type": "text/plain"}, b"Bad Request: No valid session ID provided"

    server = await web(respond)
    async with opened(define(server.url)) as link:
        await link.write.send(request(1, "initialize"))
        await link.read.receive()
        assert (await ask(link, 2)).error.code == NOT_RUN
        await link.gone.wait()
        assert link.why().kind == "lost"
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()


async def test_a_method_that_is_not_found_is_not_a_lost_session(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        if asked.message.get("method") == "initialize":
            return answer(asked, headers={"mcp-session-id": "s"})
        error = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "Method not found"}}
        return 404, {"content-type": "application/json"}, json.dumps(error).encode()

    server = await web(respond)
    async with opened(define(server.url)) as link:
        await link.write.send(request(1, "initialize"))
        await link.read.receive()
        assert (await ask(link, 2)).error.code == -32601
        assert not link.gone.is_set()


async def test_where_nobody_listens_the_request_fails_and_the_body_goes_on() -> None:
    with trio.socket.socket() as free:
        await free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = Told()
    ended = False
    async with opened(define(f"http://127.0.0.1:{port}/mcp"), told) as link:
        error = await ask(link)
        assert isinstance(error, JSONRPCError)
        assert error.error.code == NOT_RUN
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.gone.is_set()
        fault = link.why()
        await trio.sleep(0.01)
        ended = True  # the body was not cancelled
    assert ended
    assert told.count == 1
    assert (fault.kind, fault.why) == ("refused", "nothing listens there: the connection is refused")


STATUSES = [
    (401, "unauthorized", "oauth"),
    (403, "unauthorized", "headers"),
    (404, "not_found", "url"),
    (405, "not_found", "url"),
    (500, "refused", "log"),
]


@pytest.mark.parametrize(("status", "kind", "fix"), STATUSES)
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_status_is_explained(web: Serve, status: int, kind: str, fix: str, transport: str) -> None:
    async def respond(asked: Asked) -> Reply:
        return status, {"content-type": "text/html"}, b"<html>"

    server = await web(respond)
    definition = define(server.url + "/x", transport)
    if transport == "sse":
        with pytest.raises(LinkError) as caught:
            async with opened(definition):
                pass
        fault = caught.value
    else:
        async with opened(definition) as link:
            assert isinstance(await ask(link), JSONRPCError)
            assert not link.gone.is_set()
            fault = link.why()
    assert fault.kind == kind
    assert str(status) in fault.why
    assert fix in fault.fix


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"error": {"code": -32700, "message": "Parse error", "data": "no s3cret"}}, "HTTP 400: Parse error: no ***"),
        ({"error": {"code": -32000, "message": "not now\x1b[2J"}}, "HTTP 400: not now"),
        ({"error": {"code": -32000, "message": "not now", "data": {"any": 1}}}, "HTTP 400: not now"),
        ({"nonsense": 1}, "HTTP 400"),
    ],
)
async def test_a_status_is_told_with_what_the_server_says_beside_it(web: Serve, body: Any, says: str) -> None:
    async def respond(asked: Asked) -> Reply:
        content = json.dumps({"jsonrpc": "2.0", "id": None, **body}).encode()
        return 400, {"content-type": "application/json"}, content

    definition = define((await web(respond)).url, headers={"X-Key": "s3cret"}, secrets=("s3cret",))
    with pytest.raises(LinkError) as caught:
        async with open_connection(definition, {}, on_gone=lambda: None):
            pass
    assert caught.value.why == f"it answers {says}"
    assert "log" in caught.value.fix


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_page_is_not_an_endpoint(web: Serve, transport: str) -> None:
    async def respond(asked: Asked) -> Reply:
        return 200, {"content-type": "text/html"}, b"<html>Welcome</html>"

    server = await web(respond)
    if transport == "sse":
        with pytest.raises(LinkError) as caught:
            async with opened(define(server.url, "sse")):
                pass
        assert caught.value.kind == "not_found"
    else:
        async with opened(define(server.url)) as link:
            error = await ask(link)
            assert "text/html" in error.error.message


async def test_no_credential_goes_to_another_origin(web: Serve) -> None:
    async def welcome(asked: Asked) -> Reply:
        return answer(asked)

    other = await web(welcome)

    async def redirect(asked: Asked) -> Reply:
        return 307, {"location": other.url + "/mcp?code=hunter2"}, b""

    server = await web(redirect)
    async with opened(define(server.url + "/mcp", headers={"x-token": "hunter2"}, secrets=("hunter2",))) as link:
        assert isinstance(await ask(link), JSONRPCError)
        fault = link.why()
    assert other.asked == []
    assert fault.kind == "not_found"
    assert "redirects" in fault.why
    assert "hunter2" not in fault.why


async def test_the_configured_headers_stay_at_home_whoever_asks(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        return 200, {}, b"{}"

    home, elsewhere = await web(respond), await web(respond)
    definition = define(home.url + "/mcp", headers={"X-Token": "hunter2", "Authorization": "Bearer hunter2"})
    async with _web.open_client(_web.WebLink(definition, Told()), answering=False) as client:
        await client.get(home.url + "/.well-known/x")
        await client.get(elsewhere.url + "/.well-known/x")
    assert home.asked[0].headers["x-token"] == "hunter2"
    assert not {"x-token", "authorization"} & set(elsewhere.asked[0].headers)


@pytest.mark.parametrize("begins", [True, False])
async def test_an_answer_that_nobody_waits_for_any_more_is_let_go(web: Serve, begins: bool) -> None:
    asked_for, closed = trio.Event(), trio.Event()

    async def respond(asked: Asked) -> Reply:
        assert "pegboard-number" not in asked.headers
        if asked.message.get("id") == 1:
            return answer(asked)
        if not begins:
            asked_for.set()
            await trio.sleep_forever()
        return 200, {"content-type": "text/event-stream"}, endless()

    async def endless() -> AsyncIterator[bytes]:
        try:
            asked_for.set()
            while True:
                yield b": wait\n\n"
                await trio.sleep(0.01)
        finally:
            closed.set()

    server = await web(respond)
    async with opened(define(server.url + "/mcp")) as link:
        for number in (1, 2):
            message = request(number)
            message.metadata = ClientMessageMetadata(headers={"pegboard-number": str(number)})
            await link.write.send(message)
        assert (await link.read.receive()).message.result == {}
        await asked_for.wait()
        assert list(link.flights) == ["2"]
        link.give_up(2)
        link.give_up(2)
        told = (await link.read.receive()).message
        assert isinstance(told, JSONRPCError)
        assert told.id == 2
        assert link.flights == {}
        if begins:
            await closed.wait()
        assert (await ask(link, 1)).result == {}


async def test_a_server_over_tls_leads_to_no_address_without_it(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        return 200, {}, b"{}"

    inside = await web(respond)
    async with _web.open_client(_web.WebLink(define("https://mcp.example/mcp"), Told()), answering=False) as client:
        with pytest.raises(httpx2.RemoteProtocolError, match="without TLS"):
            await client.get(inside.url + "/latest/meta-data")
    assert inside.asked == []


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_redirect_within_the_origin_is_followed(web: Serve, transport: str) -> None:
    server = None

    async def respond(asked: Asked) -> Reply:
        if asked.path == "/x":
            return 307, {"location": "/x/"}, b""
        return answer(asked) if asked.method == "POST" else (200, {"content-type": "text/event-stream"}, events())

    async def events() -> AsyncIterator[bytes]:
        yield b"event: endpoint\ndata: /messages\n\n"
        await trio.sleep_forever()

    server = await web(respond)
    async with opened(define(server.url + "/x", transport)) as link:
        if transport == "http":
            assert (await ask(link)).result == {}
        else:
            await link.write.send(request(1))
    assert [one.path for one in server.asked][1] == "/x/"


async def test_an_answer_over_the_limit_fails_its_own_request(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        params = asked.message["params"]
        body = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], "result": {"x": "x" * params["size"]}})
        if params.get("stream"):

            async def events() -> AsyncIterator[bytes]:
                yield f"event: message\ndata: {body}\n\n".encode()

            return 200, {"content-type": "text/event-stream"}, events()
        return 200, {"content-type": "application/json"}, body.encode()

    server = await web(respond)
    async with opened(define(server.url, max_message_bytes=100_000)) as link:
        error = await ask(link, 1, size=200_000)
        assert isinstance(error, JSONRPCError)
        assert "limit of 100,000 bytes" in error.error.message
        assert isinstance(await ask(link, 2, size=200_000, stream=True), JSONRPCError)
        assert (await ask(link, 3, size=1)).result == {"x": "x"}


async def test_a_compressed_answer_is_refused(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        assert asked.headers["accept-encoding"] == "identity"
        return 200, {"content-type": "application/json", "content-encoding": "gzip"}, b"\x1f\x8b"

    server = await web(respond)
    async with opened(define(server.url)) as link:
        error = await ask(link)
        assert "compressed" in error.error.message
        assert not link.gone.is_set()


async def test_a_connection_that_breaks_under_a_request_costs_that_request(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        return (200, {}, None) if asked.message["params"].get("cut") else answer(asked)

    server = await web(respond)
    async with opened(define(server.url)) as link:
        error = await ask(link, 1, cut=True)
        assert error.error.code == -32000
        assert (await ask(link, 2)).result == {}
        assert not link.gone.is_set()


async def test_a_body_that_breaks_off_costs_its_request(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        async def half() -> AsyncIterator[bytes]:
            yield b'{"jsonrpc":'
            raise trio.BrokenResourceError

        return 200, {"content-type": "application/json"}, half()

    server = await web(respond)
    async with opened(define(server.url)) as link:
        error = await ask(link)
        assert "middle of the answer" in error.error.message
        assert not link.gone.is_set()


async def test_tls_against_a_plain_server_is_named(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        return 200, {}, b""

    server = await web(respond)
    async with opened(define(server.url.replace("http:", "https:"))) as link:
        await ask(link)
        assert link.why().kind == "tls"


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_certificate_is_checked(
    web: Serve, certificate: Path, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def respond(asked: Asked) -> Reply:
        return answer(asked)

    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await web(respond, tls=context)
    async with opened(define(server.url.replace("http:", "https:"))) as link:
        message = await ask(link)
        if trusted:
            assert message.result == {}
        else:
            assert link.why().kind == "tls"
            assert "certificate" in link.why().why


async def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    async def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(trio.socket, "getaddrinfo", nobody)
    async with opened(define("http://no-such-host.invalid/mcp")) as link:
        await ask(link)
        assert link.why().why == "its host name is not known"


async def test_no_secret_gets_into_the_logs_of_libraries(web: Serve, caplog: pytest.LogCaptureFixture) -> None:
    async def respond(asked: Asked) -> Reply:
        return answer(asked, headers={"x-echo": asked.headers["x"]})

    caplog.set_level(logging.DEBUG)
    server = await web(respond)
    definition = define(
        server.url + "/mcp?key=hunter2-key", headers={"x": "hunter2-h"}, secrets=("hunter2-key", "hunter2-h")
    )
    async with opened(definition) as link:
        await ask(link)
    assert any("HTTP Request" in one.getMessage() for one in caplog.records)
    lines = [one.getMessage() for one in caplog.records]
    assert [line for line in lines if "hunter2" in line] == []


async def test_fifty_links_leave_nothing_behind(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        return answer(asked)

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to count in")
    server = await web(respond)

    async def round_trip() -> None:
        async with opened(define(server.url)) as link:
            await ask(link)

    async def count() -> tuple[int, int]:
        with trio.move_on_after(20):  # the server sees the end of a connection a moment later
            while trio.lowlevel.current_statistics().tasks_living > settled and settled:
                await trio.sleep(0.01)
        gc.collect()
        return len(os.listdir("/proc/self/fd")), trio.lowlevel.current_statistics().tasks_living

    settled = trio.lowlevel.current_statistics().tasks_living
    await round_trip()
    before = await count()
    for _ in range(50):
        await round_trip()
    assert await count() == before
    assert threading.active_count() < 50


# Server-sent events


class Events:
    """A server of the older transport: one stream, and posts to `/messages`."""

    def __init__(self) -> None:
        self.into, self.out = trio.open_memory_channel[bytes | None](10)
        self.endpoint = "/messages?session_id=1"
        self.post_status = 202
        self.result: Any = {}

    async def respond(self, asked: Asked) -> Reply:
        if asked.method == "GET":
            return 200, {"content-type": "text/event-stream"}, self.stream()
        if self.post_status == 202:
            body = json.dumps({"jsonrpc": "2.0", "id": asked.message.get("id"), "result": self.result})
            await self.into.send(f"event: message\ndata: {body}\n\n".encode())
        return self.post_status, {}, b""

    async def stream(self) -> AsyncIterator[bytes]:
        yield f": hello\n\nevent: endpoint\ndata: {self.endpoint}\n\n".encode()
        while (part := await self.out.receive()) is not None:
            yield part


async def test_sse_goes_both_ways_with_headers(web: Serve) -> None:
    events = Events()
    server = await web(events.respond)
    told = Told()
    async with opened(define(server.url + "/sse", "sse", headers={"x-token": "t"}), told) as link:
        await events.into.send(b"event: message\ndata: {broken\n\n")
        await events.into.send(b"event: other\ndata: x\n\n")
        assert (await ask(link, 1)).result == {}
        events.result = {"big": "x" * 3_000_000}  # the SDK's own transport stops at 1 MiB
        assert (await ask(link, 2)).result == events.result
    assert told.count == 0
    assert {one.headers["x-token"] for one in server.asked} == {"t"}
    assert server.asked[1].path == "/messages"


async def test_the_end_of_the_stream_is_the_end_of_the_link(web: Serve) -> None:
    events = Events()
    server = await web(events.respond)
    told = Told()
    async with opened(define(server.url, "sse"), told) as link:
        await events.into.send(None)
        await link.gone.wait()
        assert told.count == 1
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await link.write.send(request(1))
        assert link.why().kind == "closed"


@pytest.mark.parametrize(("status", "kind"), [(404, "lost"), (500, "refused"), (401, "unauthorized")])
async def test_a_post_that_fails_ends_the_link(web: Serve, status: int, kind: str) -> None:
    events = Events()
    server = await web(events.respond)
    told = Told()
    async with opened(define(server.url, "sse"), told) as link:
        assert (await ask(link, 1)).result == {}
        events.post_status = status
        with pytest.raises(anyio.BrokenResourceError):
            await link.write.send(request(2))
        assert told.count == 1
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == kind


async def test_an_event_over_the_limit_ends_the_link(web: Serve) -> None:
    events = Events()
    server = await web(events.respond)
    async with opened(define(server.url, "sse", max_message_bytes=100_000)) as link:
        events.result = {"big": "x" * 300_000}
        await link.write.send(request(1))
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "oversized"
        assert "100,000" in link.why().why


@pytest.mark.parametrize(
    "endpoint", ["http://evil.example/messages", "//evil.example", "http://[::1", "file:///etc/passwd", "http://a:b/x"]
)
async def test_an_endpoint_of_another_origin_is_refused(web: Serve, endpoint: str) -> None:
    events = Events()
    events.endpoint = endpoint
    server = await web(events.respond)
    with pytest.raises(LinkError, match="another address"):
        async with opened(define(server.url, "sse")):
            pass


async def test_a_stream_of_nothing_but_garbage_ends(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        async def garbage() -> AsyncIterator[bytes]:
            yield b"event: endpoint\ndata: /messages\n\n"
            while True:
                yield b"event: message\ndata: no JSON\n\n" * 100

        return 200, {"content-type": "text/event-stream"}, garbage()

    server = await web(respond)
    async with opened(define(server.url, "sse")) as link:
        await link.gone.wait()
        assert link.why().kind == "garbage"


async def test_a_stream_without_an_endpoint_times_out(web: Serve) -> None:
    async def respond(asked: Asked) -> Reply:
        async def nothing() -> AsyncIterator[bytes]:
            yield b": wait\n\n"
            await trio.sleep_forever()

        return 200, {"content-type": "text/event-stream"}, nothing()

    server = await web(respond)
    with pytest.raises(LinkError) as caught:
        async with opened(define(server.url, "sse", connect_s=0.2)):
            pass
    assert caught.value.kind == "timeout"


async def test_sse_where_nobody_listens_is_refused() -> None:
    with pytest.raises(LinkError) as caught:
        async with opened(define("http://127.0.0.1:1/sse", "sse")):
            pass
    assert caught.value.kind == "refused"


async def test_what_the_body_raises_passes_as_it_is(web: Serve) -> None:
    server = await web(Events().respond)
    for transport in ("sse", "http"):
        with pytest.raises(KeyError, match="mine"):
            async with opened(define(server.url, transport)):
                raise KeyError("mine")


def test_a_group_is_unwrapped_to_its_first_leaf() -> None:
    inner = ConnectionRefusedError(111, "refused")
    group = ExceptionGroup("a", [ExceptionGroup("b", [httpx2.ConnectError("no")])])
    group.exceptions[0].exceptions[0].__cause__ = ExceptionGroup("c", [inner])  # type: ignore[union-attr]
    assert _web.fault_of(group, define("http://x")).why.startswith("nothing listens")


def _because(problem: Exception, cause: BaseException) -> Exception:
    problem.__cause__ = cause
    return problem


@pytest.mark.parametrize(
    ("fault", "kind", "why"),
    [
        (ssl.SSLCertVerificationError(1, "bad"), "tls", "its certificate is refused"),
        (ssl.SSLError(1, "bad"), "tls", "TLS fails: no handshake"),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "refused", "its host name is not known"),
        (ConnectionRefusedError(111, "refused"), "refused", "nothing listens there"),
        (httpx2.ProxyError("407"), "refused", "the proxy refuses"),
        (httpx2.ConnectTimeout("late"), "timeout", "it cannot be reached in time"),
    ],
)
def test_what_kept_a_connection_from_standing_is_named_wherever_it_stands(
    fault: Exception, kind: str, why: str
) -> None:
    for one in (fault, ExceptionGroup("g", [fault]), _because(httpx2.ConnectError("no"), ExceptionGroup("g", [fault]))):
        found = _web.fault_of(one, define("http://x"))
        assert (found.kind, found.why[: len(why)]) == (kind, why)


def test_a_connection_that_does_not_stand_and_does_not_say_why_cannot_be_reached() -> None:
    assert _web.fault_of(httpx2.ConnectError("no"), define("http://x")).why == "it cannot be reached"


async def test_no_proxy_is_asked_for_this_very_machine(web: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async def respond(asked: Asked) -> Reply:
        return 200, {}, b"{}"

    for name in ("no_proxy", "NO_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server, proxy = await web(respond), await web(respond)
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    elsewhere = define("http://mcp.example/mcp")
    async with _web.open_client(_web.WebLink(elsewhere, Told()), answering=False) as client:
        await client.get("http://mcp.example/mcp")
    assert len(proxy.asked) == 1
    for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
        async with _web.open_client(_web.WebLink(define(url + "/mcp"), Told()), answering=False) as client:
            await client.get(url + "/mcp")
    assert (len(server.asked), len(proxy.asked)) == (2, 1)
