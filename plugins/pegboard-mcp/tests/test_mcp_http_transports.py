"""The board over SSE and WebSocket, each against a client of another house than its server."""

from __future__ import annotations

import gc
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio_websocket
from mcp import Client
from mcp.client.sse import sse_client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The generators of the SDK's client over HTTP are left half-way, which trio warns of; trio-websocket leaves its socket
# open where the server closes first.
pytestmark = [
    pytest.mark.usefixtures("settled"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("swept"),
]


@pytest.fixture
def swept() -> Iterator[None]:
    """What a client left open is found in the test that used it."""
    yield
    gc.collect()


TOKENS = {"s3cret-of-ada": "ada", "s3cret-of-bob": "bob"}
INFO = {"name": "raw", "version": "0"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}


class Socket:
    """A WebSocket client that speaks JSON-RPC."""

    def __init__(self, connection: trio_websocket.WebSocketConnection) -> None:
        self.connection = connection
        self.id = 0

    async def send(self, method: str, params: Any = None, *, note: bool = False) -> int:
        self.id += 1
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if not note:
            message["id"] = self.id
        if params is not None:
            message["params"] = params
        await self.connection.send_message(json.dumps(message))
        return self.id

    async def read(self) -> Any:
        return json.loads(await self.connection.get_message())

    async def ask(self, method: str, params: Any = None) -> Any:
        await self.send(method, params)
        return await self.read()

    async def shake(self) -> Any:
        answer = await self.ask("initialize", HELLO)
        await self.send("notifications/initialized", note=True)
        return answer

    async def call(self, name: str, arguments: Any = None) -> Any:
        return await self.ask("tools/call", {"name": name, "arguments": arguments or {}})


async def refused(served: Any, url: str = "", **headers: str) -> int:
    """The status of a handshake that is refused."""
    shake = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    shake["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    answer = await served.raw.get((url or served.url).replace("ws://", "http://"), headers=shake | headers)
    return int(answer.status_code)


# -- WebSocket


@pytest.mark.usefixtures("either_path")
async def test_a_websocket_speaks_the_subprotocol_and_calls(over_http: Callable[..., Any]) -> None:
    async with (
        over_http("websocket") as served,
        trio_websocket.open_websocket_url(served.url, subprotocols=["mcp"]) as connection,
    ):
        assert connection.subprotocol == "mcp"
        socket = Socket(connection)
        assert (await socket.shake())["result"]["protocolVersion"] == "2025-06-18"
        assert (await socket.call("add", {"a": 1, "b": 2}))["result"]["structuredContent"] == {"result": 3}


async def test_a_websocket_speaks_2026_too(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket") as served, trio_websocket.open_websocket_url(served.url) as connection:
        socket = Socket(connection)
        params = served.message("add", {"a": 1, "b": 2})["params"]
        answer = await socket.ask("tools/call", params)
        assert answer["result"]["resultType"] == "complete"
        assert answer["result"]["structuredContent"] == {"result": 3}


async def test_our_own_client_reaches_our_own_websocket(over_http: Callable[..., Any]) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCRequest

    from pegboard_mcp.client.transports import open_link
    from pegboard_mcp.definitions import ServerDefinition

    async with over_http("websocket", tokens=TOKENS) as served:
        definition = ServerDefinition(
            name="own", transport="websocket", url=served.url, headers={"authorization": "Bearer s3cret-of-ada"}
        )
        async with open_link(definition, lambda: None) as link:
            request = JSONRPCRequest(jsonrpc="2.0", id=1, method="initialize", params=HELLO)
            await link.write.send(SessionMessage(request))
            item = await link.read.receive()
            assert not isinstance(item, Exception)
            assert item.message.result["serverInfo"]["name"] == "pegboard"  # type: ignore[union-attr]


async def test_each_websocket_is_a_session_of_its_caller(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket", tokens=TOKENS) as served:
        seen = []
        for token in TOKENS:
            headers = [("authorization", f"Bearer {token}".encode())]
            async with trio_websocket.open_websocket_url(served.url, extra_headers=headers) as connection:
                socket = Socket(connection)
                await socket.shake()
                seen.append((await socket.call("who"))["result"]["content"][0]["text"].split())
        assert [user for user, _, _ in seen] == ["ada", "bob"]
        assert seen[0][2] != seen[1][2]


async def test_each_websocket_is_a_session_in_2026_too(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket") as served:
        seen = []
        for _ in range(2):
            async with trio_websocket.open_websocket_url(served.url) as connection:
                socket = Socket(connection)
                for _ in range(2):
                    answer = await socket.ask("tools/call", served.message("who")["params"])
                    seen.append(answer["result"]["content"][0]["text"])
        assert (seen[0] == seen[1], seen[2] == seen[3], seen[0] == seen[2]) == (True, True, False)


async def test_a_websocket_of_a_third_party_is_not_opened(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket", tokens=TOKENS) as served:
        ada = {"authorization": "Bearer s3cret-of-ada"}
        assert await refused(served) == 401
        assert await refused(served, authorization="Bearer wrong") == 401
        assert await refused(served, origin="http://evil.example", **ada) == 403
        assert await refused(served, served.url.replace("/ws", "/other"), **ada) == 404


async def test_no_more_websockets_than_sessions_are_allowed(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket", max_sessions=1) as served:
        async with trio_websocket.open_websocket_url(served.url):
            assert await refused(served) == 503
        with trio.fail_after(30):
            while True:
                try:
                    async with trio_websocket.open_websocket_url(served.url):
                        break
                except trio_websocket.ConnectionRejected:
                    await trio.sleep(0.01)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", -32700),
        (b"bytes", -32700),
        ("[" * 100 + "]" * 100, -32700),
        ("[]", -32600),
        ('{"jsonrpc": "2.0"}', -32600),
    ],
)
async def test_a_frame_that_is_not_a_message_is_answered_and_the_next_is_served(
    over_http: Callable[..., Any], frame: str | bytes, code: int
) -> None:
    async with over_http("websocket") as served, trio_websocket.open_websocket_url(served.url) as connection:
        socket = Socket(connection)
        await socket.shake()
        await connection.send_message(frame)
        assert (await socket.read())["error"]["code"] == code
        assert "result" in await socket.call("add", {"a": 1, "b": 2})


async def test_a_frame_that_is_too_long_closes_the_websocket(over_http: Callable[..., Any]) -> None:
    async with (
        over_http("websocket", max_body_bytes=2048) as served,
        trio_websocket.open_websocket_url(served.url) as connection,
    ):
        await connection.send_message("x" * 10_000)
        with pytest.raises(trio_websocket.ConnectionClosed) as closed:
            await connection.get_message()
        assert closed.value.reason.code == 1009


async def test_frames_after_the_end_are_of_one_connection_alone(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket", max_body_bytes=2048) as served:
        port = int(served.url.rpartition(":")[2].partition("/")[0])
        shake = b"GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
        shake += b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        frame = b"\x81\xfe\x20\x00" + bytes(4) + b"x" * 0x2000
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(shake)
            assert b" 101 " in await stream.receive_some()
            with trio.move_on_after(0.5):
                try:
                    for said in (frame, frame, b"\x88\x80\x00\x00\x00\x00", frame, b"\xff" * 100):
                        await stream.send_all(said)
                        await trio.sleep(0.02)
                except trio.BrokenResourceError:
                    pass
        async with trio_websocket.open_websocket_url(served.url) as connection:
            socket = Socket(connection)
            await socket.shake()
            assert "result" in await socket.call("add", {"a": 1, "b": 2})


async def test_a_websocket_has_so_many_requests_in_flight_whatever_their_ids(
    over_http: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard_mcp.server._flights.MAX_IN_FLIGHT", 3)
    async with over_http("websocket") as served, trio_websocket.open_websocket_url(served.url) as connection:
        socket = Socket(connection)
        await socket.shake()
        params = {"name": "wait", "arguments": {}}
        for id_ in (7, 7, 8, 9):  # one id twice is two requests
            await connection.send_message(
                json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})
            )
        refused = await socket.read()
        assert (refused["id"], refused["error"]["data"]["code"]) == (9, "RATE_LIMITED")
        served.tools.go.set()
        assert {(await socket.read())["id"] for _ in range(3)} == {7, 8}
        assert (await socket.call("add", {"a": 1, "b": 2}))["result"]["structuredContent"] == {"result": 3}


async def test_listeners_count_until_they_are_taken_back(
    over_http: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard_mcp.server._flights.MAX_IN_FLIGHT", 2)
    async with over_http("websocket") as served, trio_websocket.open_websocket_url(served.url) as connection:
        socket = Socket(connection)
        meta = served.message("add")["params"]["_meta"]
        params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
        for id_ in (1, 2, 3):
            await connection.send_message(
                json.dumps({"jsonrpc": "2.0", "id": id_, "method": "subscriptions/listen", "params": params})
            )
        said = [await socket.read() for _ in range(3)]
        assert [one["error"]["data"]["code"] for one in said if one.get("id") == 3] == ["RATE_LIMITED"]
        await socket.send("notifications/cancelled", {"requestId": 1}, note=True)
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": served.message("add", {"a": 1, "b": 2})["params"]}
        for id_ in itertools.count(10):  # until the end of the first is heard of
            await connection.send_message(json.dumps({**call, "id": id_}))
            if "result" in await socket.read():
                break


async def test_who_posts_to_sse_and_does_not_read_is_told_to(
    over_http: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard_mcp.server._flights.MAX_IN_FLIGHT", 2)
    monkeypatch.setattr("pegboard_mcp.server.sse.MAX_WAITING", 2)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "x" * 20_000}  # its answers fill what lies between the two
    async with over_http("sse") as served, served.raw.stream("GET", served.url) as stream:
        lines = stream.aiter_lines()
        while not (line := await anext(lines)).startswith("data: "):
            pass
        url = served.url.replace("/sse", "") + line[6:]
        post = {"url": url, "json": ping}
        while (answer := await served.raw.post(**post)).status_code == 202:
            pass
        assert (answer.status_code, answer.text) == (503, "read the stream first")


async def test_a_websocket_that_leaves_cancels_its_calls(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket") as served:
        async with trio_websocket.open_websocket_url(served.url) as connection:
            socket = Socket(connection)
            await socket.shake()
            await socket.send("tools/call", {"name": "wait", "arguments": {}})
            await served.tools.started.wait()
        with trio.fail_after(30):
            while not served.tools.outcomes:
                await trio.sleep(0.01)
        assert served.tools.outcomes == ["cancelled"]


# -- SSE


@pytest.mark.usefixtures("either_path")
async def test_the_sdks_client_calls_over_sse(over_http: Callable[..., Any]) -> None:
    async with over_http("sse") as served, Client(sse_client(served.url), mode="legacy") as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


async def test_messages_of_sse_are_of_the_credential_that_opened_the_stream(over_http: Callable[..., Any]) -> None:
    async with over_http("sse", tokens=TOKENS) as served:
        ada, bob = ({"authorization": f"Bearer {token}"} for token in TOKENS)
        assert (await served.raw.get(served.url)).status_code == 401
        async with served.raw.stream("GET", served.url, headers=ada) as stream:
            lines = stream.aiter_lines()
            async for line in lines:
                if line.startswith("data: "):
                    break
            url = served.url.replace("/sse", line[6:])
            message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
            assert (await served.raw.post(url, json=message)).status_code == 401
            assert (await served.raw.post(url, json=message, headers=bob)).status_code == 404
            assert (await served.raw.post(url, json=message, headers=ada)).status_code == 202
            answer = [json.loads(line[6:]) async for line in _until(lines, "data: ")][-1]
            assert answer["result"]["serverInfo"]["name"] == "pegboard"
            await lines.aclose()


async def _until(lines: Any, start: str) -> Any:
    async for line in lines:
        if line.startswith(start):
            yield line
            return


async def test_garbage_to_sse_is_refused(over_http: Callable[..., Any]) -> None:
    async with over_http("sse", max_body_bytes=2048) as served:
        url = served.url.replace("/sse", "/messages/")
        headers = {"content-type": "application/json"}
        assert (await served.raw.post(url, content=b"{", headers=headers)).status_code == 400
        assert (await served.raw.post(url, content=b"{}", headers=headers)).status_code == 400
        assert (await served.raw.post(f"{url}?session_id=nope", content=b"{}", headers=headers)).status_code == 400
        unknown = f"{url}?session_id={'0' * 32}"
        assert (await served.raw.post(unknown, content=b"{}", headers=headers)).status_code == 400
        ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
        assert (await served.raw.post(unknown, content=ping, headers=headers)).status_code == 404
        assert (await served.raw.post(f"{url}?{'a=1&' * 50}", content=ping, headers=headers)).status_code == 400
        assert (await served.raw.post(url, content=b"x" * 4096, headers=headers)).status_code == 413
        assert (await served.raw.get(url)).status_code == 405
        assert (await served.raw.post(served.url, content=b"{}", headers=headers)).status_code == 405


async def test_no_more_streams_than_sessions_are_allowed(over_http: Callable[..., Any]) -> None:
    async with over_http("sse", max_sessions=1) as served, served.raw.stream("GET", served.url):
        assert (await served.raw.get(served.url)).status_code == 503
