"""One connection, against a peer in memory that says whatever the test wants."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
import trio
from mcp.shared.message import SessionMessage

from pegboard_mcp.client import connection as connections
from pegboard_mcp.client import tap
from pegboard_mcp.client._errors import LinkError, Lost, RpcError
from pegboard_mcp.definitions import ServerDefinition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.client.session import ClientRequestContext

MODERN = "2026-07-28"
INFO = {"name": "peer", "version": "1"}
Answer = dict[str, Any] | Callable[["Peer", dict[str, Any]], Any]


class Peer:
    """The other side: answers by method, notes what it heard, and is the link as well."""

    def __init__(self, definition: ServerDefinition, on_gone: Callable[[], None], answers: dict[str, Answer]) -> None:
        self.definition, self.on_gone, self.answers = definition, on_gone, answers
        self.heard: list[dict[str, Any]] = []
        self.gone = trio.Event()
        self.pid = None
        self._send, self.read = anyio.create_memory_object_stream[Any](100)
        self.write, self._receive = anyio.create_memory_object_stream[Any](100)

    def why(self) -> LinkError:
        return LinkError("closed" if self.gone.is_set() else "silent", "the peer says why", "repair the peer")

    async def explain(self) -> LinkError:
        return self.why()

    def say(self, item: Any) -> None:
        """Send a message, or an exception as a transport hands one on."""
        if isinstance(item, dict):
            item = SessionMessage(types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **item}))
        self._send.send_nowait(item)

    def leave(self) -> None:
        """Be gone."""
        self.on_gone()
        self.gone.set()
        self._send.close()

    async def run(self) -> None:
        """Answer until the stream is closed."""
        with contextlib.suppress(anyio.ClosedResourceError):
            async for item in self._receive:
                self._answer(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    def _answer(self, message: dict[str, Any]) -> None:
        self.heard.append(message)
        answer = self.answers.get(message.get("method", ""))
        if callable(answer):
            answer = answer(self, message)
        if "id" in message and answer is not None:
            self.say({"id": message["id"], **(answer if "error" in answer else {"result": answer})})

    def close(self) -> None:
        for stream in (self._send, self._receive, self.read, self.write):
            stream.close()


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Answer]:
    """What the peer answers, by method; a test changes it before it opens the connection."""
    answers: dict[str, Answer] = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO},
        "server/discover": {"error": {"code": -32601, "message": "no such method"}},
    }

    @contextlib.asynccontextmanager
    async def open_link(definition: ServerDefinition, on_gone: Callable[[], None]) -> AsyncIterator[Peer]:
        peer = Peer(definition, on_gone, answers)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(peer.run)
                yield peer
                nursery.cancel_scope.cancel()
        finally:
            peer.close()

    monkeypatch.setattr(connections, "open_link", open_link)
    return answers


def discovered(**more: Any) -> dict[str, Any]:
    return {"supportedVersions": [MODERN], "capabilities": {}, "ttlMs": 0, "cacheScope": "private",
            "resultType": "complete", **more}  # fmt: skip


@contextlib.asynccontextmanager
async def opened(callbacks: dict[str, Any] | None = None, **fields: Any) -> AsyncIterator[tuple[Any, Peer]]:
    """A connection and its peer; what leaves the block is not in a group."""
    definition = ServerDefinition(**{"name": "one", "transport": "stdio", "connect_s": 9, **fields})
    opening = connections.open_connection(definition, callbacks or {}, on_gone=lambda: None)
    try:
        async with opening as connection:
            yield connection, connection._link
    except BaseExceptionGroup as group:
        problem: BaseException = group
        while isinstance(problem, BaseExceptionGroup):
            (problem,) = problem.exceptions
        raise problem from None


@pytest.mark.parametrize("convert", [int, str], ids=["number", "text"])
async def test_an_answer_is_found_whatever_the_server_makes_of_its_number(peers: Any, convert: Any) -> None:
    peers["odd"] = lambda peer, message: peer.say({"id": convert(message["id"]), "result": {"found": True}})
    async with opened() as (connection, _):
        assert await connection.request("odd") == {"found": True}


async def test_what_nobody_asked_for_is_dropped(peers: Any) -> None:
    def answer(peer: Peer, message: dict[str, Any]) -> dict[str, Any]:
        peer.say({"id": 5, "result": {}})
        peer.say({"id": connections.FIRST_ID + 1000, "result": {"wrong": True}})
        peer.say({"id": "what", "error": {"code": 1, "message": "?"}})
        peer.say({"id": "9" * 400, "result": {}})
        peer.say(ValueError("a line that is not a message"))
        for params in ({}, {"progressToken": message["id"]}, {"progressToken": "x", "progress": True}, {"progress": 1}):
            peer.say({"method": "notifications/progress", "params": params})
        token = message["params"]["_meta"]["progressToken"]
        for done in (10**400, -(10**400)):  # more than a float holds
            peer.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": done}})
        peer.say({"method": "notifications/cancelled", "params": {"requestId": message["id"]}})
        peer.say({"method": "notifications/subscriptions/acknowledged", "params": {"_meta": 7}})
        peer.say({"method": "notifications/no/such"})
        return {"right": True}

    peers["ask"] = answer
    heard: list[Any] = []

    async def on_progress(*report: Any) -> None:
        heard.append(report)

    async with opened() as (connection, _):
        assert await connection.request("ask", on_progress=on_progress) == {"right": True}
        assert heard == []
        assert connection._waiting == {}


async def test_a_listener_that_fails_costs_no_call(peers: Any, caplog: pytest.LogCaptureFixture) -> None:
    def answer(peer: Peer, message: dict[str, Any]) -> dict[str, Any]:
        for done in range(50):
            params = {"progressToken": message["params"]["_meta"]["progressToken"], "progress": done}
            peer.say({"method": "notifications/progress", "params": params})
        return {}

    async def on_progress(*report: Any) -> None:
        raise RuntimeError("no ears")

    peers["ask"] = answer
    async with opened() as (connection, _):
        assert await connection.request("ask", on_progress=on_progress) == {}
    assert "listens to the progress" in caplog.text


async def test_an_error_is_raised_with_its_number(peers: Any) -> None:
    peers["ask"] = {"error": {"code": -32042, "message": "not so", "data": {"why": 1}}}
    async with opened() as (connection, _):
        with pytest.raises(RpcError) as caught:
            await connection.request("ask")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32042, "not so", {"why": 1})


@pytest.mark.parametrize(
    ("code", "said", "meant", "says"),
    [
        (
            -32700,
            "Failed to parse JSON response: 4 validation errors for union[...]",
            -32012,
            "not a message of JSON-RPC",
        ),
        (
            -32700,
            "Failed to parse SSE message: 4 validation errors for union[...]",
            -32012,
            "not a message of JSON-RPC",
        ),
        (-32700, "Failed to parse JSON response: the answer is longer than the limit of 5,000 bytes", -32010, "5,000"),
        (-32000, "SSE stream failed: Server-sent event exceeded the 5000 byte limit.", -32010, "5,000 bytes"),
        (-32600, "Unexpected content type: text/html", -32012, "'text/html'"),
        (-32700, "Parse error", -32700, "Parse error"),
        (-32600, "Invalid Request", -32600, "Invalid Request"),
        (-32603, "Server returned an error response", -32603, "Server returned"),
    ],
)
async def test_what_stands_for_an_answer_over_http_is_not_a_refusal(
    peers: Any, code: int, said: str, meant: int, says: str
) -> None:
    peers["ask"] = {"error": {"code": code, "message": said}}
    async with opened(transport="http", url="http://peer.example", max_message_bytes=5_000) as (connection, _):
        with pytest.raises(RpcError) as caught:
            await connection.request("ask")
    assert caught.value.code == meant
    assert says in caught.value.message
    assert "validation errors" not in caught.value.message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (-32700, "Failed to parse JSON response: the connection broke in the middle of the answer"),
        (-32000, "SSE stream ended without a response"),
    ],
)
async def test_an_answer_that_breaks_off_over_http_is_lost(peers: Any, code: int, said: str) -> None:
    peers["ask"] = {"error": {"code": code, "message": said}}
    async with opened(transport="http", url="http://peer.example") as (connection, _):
        with pytest.raises(Lost) as caught:
            await connection.request("ask")
    assert caught.value.written


async def test_the_deadline_of_a_request_tells_the_server(peers: Any, autojump_clock: Any) -> None:
    async with opened() as (connection, peer):
        with pytest.raises(trio.TooSlowError):
            await connection.request("ask", timeout_s=5)
        await trio.testing.wait_all_tasks_blocked()
        (told,) = [one for one in peer.heard if one["method"] == "notifications/cancelled"]
        assert told["params"]["requestId"] == peer.heard[-2]["id"]
        assert connection._waiting == {}


async def test_a_peer_that_leaves_fails_those_who_wait_and_those_who_come(peers: Any) -> None:
    peers["ask"] = lambda peer, message: peer.leave()
    async with opened() as (connection, _):
        with pytest.raises(Lost, match="the peer says why") as caught:
            await connection.request("ask")
        assert caught.value.written
        with pytest.raises(Lost) as caught:
            await connection.request("ask")
        assert not caught.value.written
        await connection.wait_end()


async def test_a_request_that_cannot_be_written_was_not_sent(peers: Any) -> None:
    async with opened() as (connection, peer):
        peer._receive.close()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Lost) as caught:
            await connection.request("ask")
        assert not caught.value.written
        await connection.notify("notifications/anything")


async def test_an_answer_that_lies_in_the_pipe_of_a_dead_server_is_read(peers: Any) -> None:
    def answer(peer: Peer, message: dict[str, Any]) -> None:
        peer.say({"id": message["id"], "result": {"last": True}})
        peer.leave()

    peers["ask"] = answer
    async with opened() as (connection, _):
        assert await connection.request("ask") == {"last": True}


async def test_a_reader_that_breaks_ends_the_connection_with_a_reason(
    peers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        async def __anext__(self) -> Any:
            raise RuntimeError("a bug")

        async def aclose(self) -> None: ...

        async def __aenter__(self) -> Any:
            return self

        async def __aexit__(self, *problem: object) -> None: ...

    original = tap.Tap.__init__
    monkeypatch.setattr(tap.Tap, "__init__", lambda self, inner, *more: original(self, Broken(), *more))
    with pytest.raises(LinkError, match="a bug"):
        async with opened():
            await trio.sleep_forever()


@pytest.mark.parametrize("problem", [ValueError("mine"), KeyboardInterrupt()], ids=["error", "interrupt"])
async def test_what_the_block_raises_leaves_it_as_it_is(peers: Any, problem: BaseException) -> None:
    with pytest.raises(type(problem)) as caught:
        async with opened():
            raise problem
    assert caught.value is problem


# -- agreeing on a version


async def test_a_server_that_discovers_is_modern(peers: Any) -> None:
    peers["server/discover"] = discovered(_meta={"io.modelcontextprotocol/serverInfo": INFO})
    async with opened() as (connection, peer):
        assert (connection.modern, connection.version, connection.server_info) == (True, MODERN, INFO)
        assert "initialize" not in [one["method"] for one in peer.heard]


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "?"}},
        {"error": {"code": -32022, "message": "?", "data": {"supported": ["2025-11-25"], "requested": MODERN}}},
        {"error": {"code": -32022, "message": "?", "data": "nonsense"}},
        {"nonsense": True},
        discovered(supportedVersions=["2025-11-25"]),
        None,
    ],
    ids=["missing", "older", "odd error", "odd answer", "older answer", "silent"],
)
async def test_any_other_answer_means_a_handshake(peers: Any, answer: Any, autojump_clock: Any) -> None:
    peers["server/discover"] = answer
    async with opened() as (connection, peer):
        assert (connection.modern, connection.version, connection.server_info) == (False, "2025-11-25", INFO)
        await trio.testing.wait_all_tasks_blocked()
        assert peer.heard[-1]["method"] == "notifications/initialized"


async def test_a_version_that_the_server_names_is_tried_once(peers: Any) -> None:
    named = {"error": {"code": -32022, "message": "?", "data": {"supported": [MODERN], "requested": "x"}}}
    answers = [named, discovered()]
    peers["server/discover"] = lambda peer, message: answers.pop(0)
    async with opened() as (connection, _):
        assert connection.modern


async def test_a_slow_start_that_settled_the_era_is_asked_again(peers: Any, autojump_clock: Any) -> None:
    answers: list[Any] = [None, discovered()]
    peers["server/discover"] = lambda peer, message: answers.pop(0)
    peers["initialize"] = {
        "error": {"code": -32022, "message": "?", "data": {"supported": [MODERN], "requested": "2025-11-25"}}
    }
    async with opened() as (connection, _):
        assert connection.modern


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"error": {"code": -32603, "message": "no s3cret for you"}}, r"refused the initialization: no \*\*\* for you"),
        ({"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": INFO}, "no version of the protocol"),
        ({"nonsense": 1}, "cannot be read"),
        (None, "the peer says why"),
    ],
    ids=["refused", "other version", "odd", "silent"],
)
async def test_a_handshake_that_fails_says_why(peers: Any, answer: Any, says: str, autojump_clock: Any) -> None:
    peers["initialize"] = answer
    with pytest.raises(LinkError, match=says):
        async with opened(secrets=("s3cret",)):
            pytest.fail("it opened")


async def test_a_server_that_is_modern_alone_and_shares_no_version_is_refused(peers: Any) -> None:
    data = {"supported": ["2030-01-01"], "requested": MODERN}
    peers["server/discover"] = {"error": {"code": -32022, "message": "too old", "data": data}}
    with pytest.raises(LinkError, match="too old"):
        async with opened():
            pytest.fail("it opened")


async def test_a_peer_that_leaves_at_once_is_told_by_its_own_reason(peers: Any) -> None:
    peers["server/discover"] = lambda peer, message: peer.leave()
    with pytest.raises(LinkError, match="the peer says why"):
        async with opened():
            pytest.fail("it opened")


# -- what servers ask


async def test_a_server_may_ask_while_it_answers(peers: Any) -> None:
    def ask(peer: Peer, message: dict[str, Any]) -> None:
        peer.say({"id": 77, "method": "roots/list"})

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///one")])

    peers["ask"] = ask
    async with opened({"list_roots_callback": roots}) as (connection, peer), trio.open_nursery() as nursery:
        nursery.start_soon(connection.request, "ask")
        await trio.testing.wait_all_tasks_blocked()
        assert peer.heard[-1] == {"jsonrpc": "2.0", "id": 77, "result": {"roots": [{"uri": "file:///one"}]}}
        assert "roots" in peer.heard[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
        nursery.cancel_scope.cancel()


def rounds(*answers: dict[str, Any]) -> Callable[[Peer, dict[str, Any]], dict[str, Any]]:
    left = list(answers)
    return lambda peer, message: left.pop(0)


async def test_a_state_is_handed_back_until_the_answer_is_complete(peers: Any, autojump_clock: Any) -> None:
    peers["server/discover"] = discovered()
    waits = [{"resultType": "input_required", "requestState": f"s{number}"} for number in range(4)]
    peers["ask"] = rounds(*waits, {"resultType": "complete", "done": 1})
    async with opened() as (connection, peer):
        assert (await connection.request("ask", {"name": "x"}))["done"] == 1
        sent = [one["params"] for one in peer.heard if one["method"] == "ask"]
        assert [one.get("requestState") for one in sent] == [None, "s0", "s1", "s2", "s3"]
        assert all(one["name"] == "x" for one in sent)


async def test_what_is_asked_in_a_form_that_cannot_be_read_fails_the_call(peers: Any) -> None:
    peers["server/discover"] = discovered()
    peers["ask"] = {"resultType": "input_required", "inputRequests": {"a": {"method": "no/such"}}}
    async with opened() as (connection, _):
        with pytest.raises(RpcError, match="cannot be read"):
            await connection.request("ask")


async def test_an_ask_that_is_declined_fails_the_call(peers: Any) -> None:
    peers["server/discover"] = discovered()
    params = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5}
    asked = {"a": {"method": "sampling/createMessage", "params": params}}
    peers["ask"] = {"resultType": "input_required", "inputRequests": asked}

    async def declines(context: ClientRequestContext, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="User rejected sampling request")

    async with opened({"sampling_callback": declines}) as (connection, _):
        with pytest.raises(RpcError, match="rejected"):
            await connection.request("ask")


async def test_a_server_that_reads_nothing_is_not_told_on_and_on_of_what_was_given_up(peers: Any) -> None:
    class Deaf:
        async def send(self, item: Any) -> None:
            await trio.sleep_forever()

    async with opened() as (connection, _):
        connection._write = Deaf()
        before = trio.lowlevel.current_statistics().tasks_living
        for _ in range(300):
            with trio.move_on_after(0):
                await connection.request("tools/call")
        assert trio.lowlevel.current_statistics().tasks_living - before == connections.MAX_UNTAKEN
