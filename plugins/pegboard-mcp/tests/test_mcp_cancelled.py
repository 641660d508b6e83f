"""What a call that its client cancels is answered, in both eras: https://modelcontextprotocol.io/specification, under
"Cancellation", and there "Transport-Specific Cancellation" from 2026-07-28 on."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio_websocket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}

pytestmark = [
    pytest.mark.usefixtures("settled"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]


@contextlib.asynccontextmanager
async def over_websocket(served: Any) -> AsyncIterator[tuple[Any, Any]]:
    async with trio_websocket.open_websocket_url(served.url) as socket:

        async def receive() -> Any:
            return json.loads(await socket.get_message())

        yield (lambda message: socket.send_message(json.dumps(message))), receive


@contextlib.asynccontextmanager
async def over_sse(served: Any) -> AsyncIterator[tuple[Any, Any]]:
    async with served.raw.stream("GET", served.url) as stream:
        said = (line[6:] async for line in stream.aiter_lines() if line.startswith("data: "))
        url = served.url.replace("/sse", await anext(said))

        async def send(message: Any) -> None:
            assert (await served.raw.post(url, json=message)).status_code == 202

        async def receive() -> Any:
            return json.loads(await anext(said))

        yield send, receive


@pytest.mark.parametrize(("transport", "modern"), [("websocket", False), ("websocket", True), ("sse", False)], ids=str)
async def test_on_a_connection_it_has_no_answer(over_http: Callable[..., Any], transport: str, modern: bool) -> None:
    opened = {"websocket": over_websocket, "sse": over_sse}[transport]
    async with over_http(transport) as served, opened(served) as (send, receive):
        if not modern:
            await send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
            await receive()
            await send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = served.message("wait", modern=modern)
        await send(call)
        await served.tools.started.wait()
        await send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call["id"]}})
        while not served.tools.outcomes:
            await trio.sleep(0.01)
        after = served.message("add", {"a": 1, "b": 2}, modern=modern)
        await send(after)
        assert (await receive())["id"] == after["id"]
        assert served.tools.outcomes == ["cancelled"]


@pytest.mark.usefixtures("either_path")
async def test_over_http_from_2026_07_28_on_only_leaving_cancels(over_http: Callable[..., Any]) -> None:
    """Ids are not of a session there, so that a notification could name the call of anybody else."""
    async with over_http() as served:
        await served.call("add", {"a": 1, "b": 2})
        answers: list[Any] = []

        async def call() -> None:
            answers.append(await served.call("wait"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            params = {"requestId": served.id, "_meta": served.message("wait")["params"]["_meta"]}
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            headers = served.headers(mcp_protocol_version="2026-07-28", mcp_method=note["method"])
            assert (await served.raw.post(served.url, json=note, headers=headers)).status_code == 202
            served.tools.go.set()
        assert answers[0].json()["result"]["content"][0]["text"] == "waited"
        assert served.tools.outcomes == ["done"]
