"""The end of serving: calls in flight are finished up to a limit, new ones are refused, no answer is lost."""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import trio
import trio_websocket

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


HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}


async def refuses(served: Any) -> Any:
    """What a new call is answered once serving is ending."""
    with trio.fail_after(60):
        while True:
            answer = await served.call("add", {"a": 1, "b": 2})
            if answer.status_code != 200:
                return answer
            await trio.sleep(0.01)


async def gone(served: Any) -> bool:
    """Whether nobody listens there any more, soon."""
    with trio.fail_after(30):
        while True:
            try:
                async with httpx2.AsyncClient(verify=False) as client:
                    await client.get(served.url)
            except httpx2.TransportError:
                return True
            await trio.sleep(0.02)


@pytest.mark.parametrize("warm", [False, True])
async def test_a_call_in_flight_is_answered_and_a_new_one_refused(over_http: Callable[..., Any], warm: bool) -> None:
    async with over_http() as served:
        if warm:  # the fast path's; else the SDK's
            await served.call("add", {"a": 1, "b": 2})
        answers = []

        async def call() -> None:
            answers.append(await served.call("wait"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            served.stop()
            refusal = await refuses(served)
            assert refusal.status_code == 503
            assert "retry-after" in refusal.headers
            assert refusal.json()["error"]["data"]["details"]["executed"] is False
            assert not answers
            served.tools.go.set()
        assert answers[0].json()["result"]["content"][0]["text"] == "waited"
        assert await gone(served)


async def test_a_call_of_a_session_in_flight_is_answered(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        message = served.message("wait", modern=False)
        answers = []

        async def call() -> None:
            answers.append(await served.raw.post(served.url, json=message, headers=session))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            served.stop()
            assert (await refuses(served)).status_code == 503
            served.tools.go.set()
        assert answers[0].json()["result"]["content"][0]["text"] == "waited"


async def test_a_question_that_is_open_can_still_be_answered(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session({"elicitation": {}})
        message = served.message("ask", modern=False)
        async with served.raw.stream("POST", served.url, json=message, headers=session) as stream:
            lines = stream.aiter_lines()
            async for line in lines:
                if line.startswith("data: "):
                    break
            served.stop()
            assert (await refuses(served)).status_code == 503
            question = json.loads(line[6:])
            yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
            assert (await served.raw.post(served.url, json=yes, headers=session)).status_code == 202
            last = [json.loads(line[6:]) async for line in lines if line.startswith("data: ")][-1]
        assert last["result"]["content"][0]["text"] == "yes"


ASKS = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


def answered(message: Any, asked: Any) -> Any:
    """The next round of a call: yes to all that it asks."""
    answers = {key: {"action": "accept", "content": {}} for key in asked["inputRequests"]}
    more = {"requestState": asked["requestState"], "inputResponses": answers}
    return {**message, "id": 99, "params": {**message["params"], **more}}


@pytest.mark.usefixtures("either_path")
async def test_a_question_that_is_open_can_still_be_answered_by_another_request(over_http: Callable[..., Any]) -> None:
    """As from 2026-07-28 on: what is new is refused, but not what the calls that have begun wait for."""
    async with over_http() as served, trio.open_nursery() as nursery:
        ask = served.message("ask", **ASKS)
        asked = (await served.raw.post(served.url, json=ask, headers=served.headers(ask))).json()["result"]
        served.tools.started = trio.Event()
        nursery.start_soon(served.call, "wait")
        await served.tools.started.wait()
        served.stop()
        assert (await refuses(served)).status_code == 503
        more = answered(ask, asked)
        said = (await served.raw.post(served.url, json=more, headers=served.headers(more))).json()
        assert said["result"]["content"][0]["text"] == "yes"
        again = (await served.raw.post(served.url, json=more, headers=served.headers(more))).json()
        assert again["error"]["code"] == -32602  # no state is good twice
        served.tools.go.set()


async def test_a_question_over_a_websocket_can_still_be_answered_by_another_request(
    over_http: Callable[..., Any],
) -> None:
    async with over_http("websocket") as served, trio_websocket.open_websocket_url(served.url) as socket:

        async def send(message: Any) -> None:
            await socket.send_message(json.dumps(message))

        async def receive() -> Any:
            return json.loads(await socket.get_message())

        ask = served.message("ask", **ASKS)
        await send(ask)
        asked = (await receive())["result"]
        served.tools.started = trio.Event()
        await send(served.message("wait"))
        await served.tools.started.wait()
        served.stop()
        while "error" not in (refused := await call_add(send, receive, served)):
            await trio.sleep(0.01)
        assert refused["error"]["data"]["details"]["reason"] == "stopping"
        await send(answered(ask, asked))
        assert (await receive())["result"]["content"][0]["text"] == "yes"
        served.tools.go.set()
        assert (await receive())["result"]["content"][0]["text"] == "waited"


async def call_add(send: Any, receive: Any, served: Any) -> Any:
    await send(served.message("add", {"a": 1, "b": 2}))
    return await receive()


@pytest.mark.parametrize("kind", ["fast", "sdk", "session"])
async def test_a_call_that_takes_longer_than_the_limit_is_answered_that_nobody_knows(
    over_http: Callable[..., Any], kind: str
) -> None:
    async with over_http(stop_timeout_s=0.2) as served:
        answers = []
        if kind == "fast":
            await served.call("add", {"a": 1, "b": 2})
        session = await served.open_session() if kind == "session" else None

        async def call() -> None:
            if session is None:
                answers.append(await served.call("wait"))
            else:
                message = served.message("wait", modern=False)
                answers.append(await served.raw.post(served.url, json=message, headers=session))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            served.stop()
        assert answers[0].json()["error"]["data"]["code"] == "OUTCOME_UNKNOWN"
        assert served.tools.outcomes == ["cancelled"]
        assert await gone(served)


async def test_streams_that_wait_for_news_are_ended_properly(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        listen = served.message("x")
        filters = {"toolsListChanged": True}
        listen = {**listen, "method": "subscriptions/listen", "params": {**listen["params"], "notifications": filters}}
        del listen["params"]["name"], listen["params"]["arguments"]
        headers = served.headers(mcp_protocol_version="2026-07-28", mcp_method="subscriptions/listen")
        ended = []

        async def follow(method: str, headers: Any, **body: Any) -> None:
            async with served.raw.stream(method, served.url, headers=headers, **body) as stream:
                opened.append(stream.status_code)
                async for _ in stream.aiter_lines():
                    pass
            ended.append(method)

        opened: list[int] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow, "GET", session)
            nursery.start_soon(lambda: follow("POST", headers, json=listen))
            with trio.fail_after(60):
                while len(opened) < 2:
                    await trio.sleep(0.01)
            assert opened == [200, 200]
            served.stop()
        assert sorted(ended) == ["GET", "POST"]


async def test_a_client_that_does_not_read_does_not_hold_up_the_end(over_http: Callable[..., Any]) -> None:
    async with over_http(stop_timeout_s=0.2) as served:
        port = int(served.url.rpartition(":")[2].partition("/")[0])
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        message = json.dumps(served.message("add", {"a": 1, "b": 2})).encode()
        head = "".join(f"{key}: {value}\r\n" for key, value in served.headers(json.loads(message)).items())
        request = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n{head}content-length: {len(message)}\r\n\r\n".encode()
        async with stream:
            with trio.move_on_after(0.8):
                while True:  # answers pile up until nobody can write any more
                    await stream.send_all((request + message) * 500)
            began = trio.current_time()
            served.stop()
            assert await gone(served)
            assert trio.current_time() - began < 9


async def test_a_websocket_is_answered_and_closed_as_going_away(over_http: Callable[..., Any]) -> None:
    async with over_http("websocket") as served, trio_websocket.open_websocket_url(served.url) as socket:

        async def send(key: int, method: str, params: Any) -> None:
            await socket.send_message(json.dumps({"jsonrpc": "2.0", "id": key, "method": method, "params": params}))

        await send(1, "initialize", HELLO)
        assert "result" in json.loads(await socket.get_message())
        await send(2, "tools/call", {"name": "wait", "arguments": {}})
        await served.tools.started.wait()
        served.stop()
        await trio.sleep(0.05)
        await send(3, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        assert json.loads(await socket.get_message())["error"]["data"]["details"]["reason"] == "stopping"
        served.tools.go.set()
        assert json.loads(await socket.get_message())["result"]["content"][0]["text"] == "waited"
        with pytest.raises(trio_websocket.ConnectionClosed) as closed:
            await socket.get_message()
        assert closed.value.reason.code == 1001


async def test_a_websocket_call_over_the_limit_is_answered_that_nobody_knows(over_http: Callable[..., Any]) -> None:
    async with (
        over_http("websocket", stop_timeout_s=0.1) as served,
        trio_websocket.open_websocket_url(served.url) as socket,
    ):
        for key, method, params in ((1, "initialize", HELLO), (2, "tools/call", {"name": "wait", "arguments": {}})):
            await socket.send_message(json.dumps({"jsonrpc": "2.0", "id": key, "method": method, "params": params}))
        assert "result" in json.loads(await socket.get_message())
        await served.tools.started.wait()
        served.stop()
        answer = json.loads(await socket.get_message())
        assert (answer["id"], answer["error"]["data"]["code"]) == (2, "OUTCOME_UNKNOWN")


async def test_an_sse_call_over_the_limit_is_answered_that_nobody_knows(over_http: Callable[..., Any]) -> None:
    async with over_http("sse", stop_timeout_s=0.1) as served, served.raw.stream("GET", served.url) as stream:
        lines = (line[6:] async for line in stream.aiter_lines() if line.startswith("data: "))
        url = served.url.replace("/sse", await anext(lines))
        for key, method, params in ((1, "initialize", HELLO), (2, "tools/call", {"name": "wait", "arguments": {}})):
            message = {"jsonrpc": "2.0", "id": key, "method": method, "params": params}
            assert (await served.raw.post(url, json=message)).status_code == 202
        assert "result" in json.loads(await anext(lines))
        await served.tools.started.wait()
        served.stop()
        answer = json.loads(await anext(lines))
        assert (answer["id"], answer["error"]["data"]["code"]) == (2, "OUTCOME_UNKNOWN")
        assert await anext(lines, None) is None


async def test_a_call_over_sse_is_answered_before_its_stream_ends(over_http: Callable[..., Any]) -> None:
    async with over_http("sse") as served, served.raw.stream("GET", served.url) as stream:
        lines = (line[6:] async for line in stream.aiter_lines() if line.startswith("data: "))
        url = served.url.replace("/sse", await anext(lines))
        for key, method, params in ((1, "initialize", HELLO), (2, "tools/call", {"name": "wait", "arguments": {}})):
            message = {"jsonrpc": "2.0", "id": key, "method": method, "params": params}
            assert (await served.raw.post(url, json=message)).status_code == 202
        assert json.loads(await anext(lines))["id"] == 1
        await served.tools.started.wait()
        served.stop()
        await trio.sleep(0.05)
        late = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
        assert (await served.raw.post(url, json=late)).status_code == 503
        served.tools.go.set()
        assert json.loads(await anext(lines))["result"]["content"][0]["text"] == "waited"
        assert await anext(lines, None) is None


HANGUP = getattr(signal, "SIGHUP", signal.SIGTERM)


AT_ONCE = [getattr(signal, name) for name in ("SIGSTOP", "SIGTERM", "SIGHUP", "SIGCONT") if hasattr(signal, name)]
"""As systemd says it with `SendSIGHUP=yes`: both are there when the process looks, and it sees SIGHUP first."""


@pytest.mark.parametrize(
    ("numbers", "status"), [([signal.SIGTERM], 0), ([signal.SIGINT], 130), ([HANGUP], 0), (AT_ONCE, 0)]
)
async def test_a_signal_lets_calls_in_flight_finish_while_others_press(
    numbers: list[signal.Signals], status: int
) -> None:
    """Whatever task the signal meets: it comes while another client calls without a pause."""
    script = Path(__file__).parent / "servers" / "served_slowly.py"
    process = subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = await trio.to_thread.run_sync(process.stderr.readline)
        url = line.split(" at ")[1].split()[0]
        results: list[Any] = []
        answered: list[int] = []

        def request(name: str, arguments: Any) -> dict[str, Any]:
            prefix = "io.modelcontextprotocol/"
            meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
            params = {"name": name, "arguments": arguments, "_meta": meta}
            headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
            headers |= {"mcp-method": "tools/call", "mcp-name": name}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return {"json": message, "headers": headers}

        async def press() -> None:
            async with httpx2.AsyncClient(timeout=20, verify=False) as client:
                # The server ended, and `results` is about to be there: it hears no new request, or closes an idle
                # connection the moment that one is sent.
                with contextlib.suppress(httpx2.TransportError):
                    while not results:
                        answer = await client.post(url, **request("add", {"a": 1, "b": 2}))
                        answered.append(answer.status_code)

        async def call() -> None:
            async with httpx2.AsyncClient(timeout=20, verify=False) as client:
                results.append(await client.post(url, **request("slow", {})))

        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(call)
                assert await trio.to_thread.run_sync(process.stderr.readline) == "begun\n"
                nursery.start_soon(press)
                while not answered:
                    await trio.sleep(0.005)
                for number in numbers:
                    process.send_signal(number)
                if HANGUP in numbers:  # the system says it, and the shell once more
                    while 503 not in answered:
                        await trio.sleep(0.005)
                    process.send_signal(HANGUP)
            assert results[0].json()["result"]["content"][0]["text"] == "done"
            assert set(answered) == {200, 503}
            assert await trio.to_thread.run_sync(process.wait) == status
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
