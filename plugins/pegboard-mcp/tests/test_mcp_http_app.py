"""Streamable HTTP on real sockets: what is let in, who calls, both eras, the fast path and what it leaves to the
SDK.
"""

from __future__ import annotations

import json
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import trio
from mcp import Client, types

from pegboard import ConfigError, hookimpl, tool
from pegboard_mcp.server.http import HttpApp, serve_http
from pegboard_mcp.settings import McpSettings

if TYPE_CHECKING:
    from collections.abc import Callable

# The generators of the SDK's client over HTTP are left half-way, which trio warns of.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. .async_generator:pytest.PytestUnraisableExceptionWarning"
)

TOKENS = {"s3cret-of-ada": "ada", "s3cret-of-bob": "bob"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def events(answer: Any) -> list[Any]:
    """The messages of a stream of events."""
    return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]


def message_of(answer: Any) -> Any:
    """The answer itself, whether it came as JSON or as the last event of a stream."""
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    return events(answer)[-1] if is_stream else answer.json()


def text_of(answer: Any) -> str:
    return str(message_of(answer)["result"]["content"][0]["text"])


# -- both eras, with the SDK's client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.usefixtures("either_path")
async def test_the_sdks_client_lists_and_calls_in_both_eras(over_http: Callable[..., Any], mode: Any) -> None:
    async with over_http() as served, Client(served.url, mode=mode) as client:
        for a in range(3):  # the first goes the SDK's way, others through the fast path
            result = await client.call_tool("add", {"a": a, "b": 2})
            assert result.structured_content == {"result": a + 2}
        assert "add" in [tool.name for tool in (await client.list_tools()).tools]
        wrong = await client.call_tool("add", {"a": "x", "b": 2})
        assert wrong.is_error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.usefixtures("either_path")
async def test_progress_reaches_the_client_before_the_answer(over_http: Callable[..., Any], mode: Any) -> None:
    async with over_http() as served, Client(served.url, mode=mode) as client:
        heard = []

        async def hear(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, total, message))
            served.tools.go.set()

        for _ in range(2):
            served.tools.go = trio.Event()
            result = await client.call_tool("tell", {}, progress_callback=hear)
            assert result.content[0].text == "told"  # type: ignore[union-attr]
        assert heard == [(1, 2, "half")] * 2


@pytest.mark.parametrize(("mode", "times"), [("auto", 2), ("legacy", 1)])
async def test_an_approval_holds_for_a_connection_and_not_for_all_clients_of_a_caller(
    host_with: Any, mode: Any, times: int
) -> None:
    asked: list[Any] = []

    async def accept(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.requested_schema["properties"])
        return types.ElicitResult(action="accept", content={"remember": True})

    class Plugin:
        @hookimpl
        def provide_tools(self, settings: Any) -> list[Any]:
            @tool(requires_confirmation=True)
            async def drop() -> str:
                """Drop it."""
                return "dropped"

            return [drop]

    host = await host_with(Plugin())
    serve = partial(serve_http, host, transport="http", bind="127.0.0.1", port=0, user_id=None, settings=McpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with Client(url, mode=mode, elicitation_callback=accept) as client:
            for _ in range(2):
                assert not (await client.call_tool("drop", {})).is_error
        nursery.cancel_scope.cancel()
    assert len(asked) == times
    assert ("remember" in asked[0]) is (mode == "legacy")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.usefixtures("either_path")
async def test_a_call_asks_the_person_behind_the_client(over_http: Callable[..., Any], mode: Any) -> None:
    async def accept(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={})

    async with over_http() as served, Client(served.url, mode=mode, elicitation_callback=accept) as client:
        for _ in range(2):
            result = await client.call_tool("ask", {})
            assert result.content[0].text == "yes"  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_parallel_calls_of_one_client_do_not_wait_for_each_other(
    over_http: Callable[..., Any], mode: Any
) -> None:
    async with over_http() as served, Client(served.url, mode=mode) as client:
        await client.call_tool("add", {"a": 1, "b": 1})
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "wait", {})
            await served.tools.started.wait()
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}
            served.tools.go.set()
        assert served.tools.outcomes == ["done"]


# -- the fast path answers as the SDK does


async def test_the_fast_path_answers_a_modern_call_as_the_sdk_does(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        first = await served.call("add", {"a": 1, "b": 2})  # nothing of the server is known yet: the SDK's
        second = await served.call("add", {"a": 1, "b": 2})
        assert first.status_code == second.status_code == 200
        assert first.json()["result"] == second.json()["result"]
        assert second.headers["content-type"] == "application/json"


async def test_the_fast_path_answers_a_session_with_its_id_and_as_json(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        message = served.message("add", {"a": 1, "b": 2}, modern=False)
        answer = await served.raw.post(served.url, json=message, headers=session)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["mcp-session-id"] == session["mcp-session-id"]
        assert answer.json()["result"]["structuredContent"] == {"result": 3}
        twice = [*session.items(), ("accept", "text/plain")]  # a header twice is not plain: the SDK's stream
        answer = await served.raw.post(served.url, json=message, headers=twice)
        assert events(answer)[-1]["result"]["structuredContent"] == {"result": 3}


WRONG_HEADERS = [
    ({"mcp_method": "tools/list"}, 400, -32020),
    ({"mcp_name": "wait"}, 400, -32020),
    ({"mcp_protocol_version": "2099-01-01"}, 400, None),
    ({"accept": "text/plain"}, 406, None),
    ({"accept": "application/json"}, 406, None),
    ({"content_type": "text/plain"}, 400, None),
]


@pytest.mark.parametrize(("wrong", "status", "code"), WRONG_HEADERS)
async def test_wrong_headers_are_refused_by_the_sdk_whatever_the_fast_path_does(
    over_http: Callable[..., Any], wrong: dict[str, str], status: int, code: int | None
) -> None:
    async with over_http() as served:
        await served.call("add", {"a": 1, "b": 2})
        answer = await served.call("add", {"a": 1, "b": 2}, **wrong)
        assert answer.status_code == status
        if code is not None:
            assert answer.json()["error"]["code"] == code


@pytest.mark.usefixtures("either_path")
async def test_a_tool_that_is_not_there_is_a_protocol_error_with_the_code_in_its_data(
    over_http: Callable[..., Any],
) -> None:
    async with over_http() as served:
        for _ in range(2):
            answer = await served.call("nope", {})
            assert answer.json()["error"]["data"]["code"] == "NOT_FOUND"


@pytest.mark.usefixtures("either_path")
async def test_a_modern_client_that_leaves_cancels_its_call(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        await served.call("add", {"a": 1, "b": 2})
        with trio.move_on_after(10) as leaving:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(served.call, "wait")
                await served.tools.started.wait()
                nursery.cancel_scope.cancel()
        assert not leaving.cancelled_caught
        with trio.fail_after(60):
            while not served.tools.outcomes:
                await trio.sleep(0.01)
        assert served.tools.outcomes == ["cancelled"]


async def test_a_client_of_a_session_that_leaves_does_not_cancel_its_call(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        message = served.message("wait", modern=False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: served.raw.post(served.url, json=message, headers=session))
            await served.tools.started.wait()
            nursery.cancel_scope.cancel()
        await trio.sleep(0.3)  # long enough that leaving was seen
        served.tools.go.set()
        with trio.fail_after(60):
            while not served.tools.outcomes:
                await trio.sleep(0.01)
        assert served.tools.outcomes == ["done"]


@pytest.mark.usefixtures("either_path")
async def test_a_cancelled_call_of_a_session_is_answered_that_it_was(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        message = served.message("wait", modern=False)
        answers = []

        async def call() -> None:
            answers.append(await served.raw.post(served.url, json=message, headers=session))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}
            assert (await served.raw.post(served.url, json=note, headers=session)).status_code == 202
        assert message_of(answers[0])["error"]["code"] == -32800
        assert served.tools.outcomes == ["cancelled"]


async def test_a_session_that_is_deleted_takes_its_calls_with_it(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        answers = []

        async def call() -> None:
            message = served.message("wait", modern=False)
            answers.append(await served.raw.post(served.url, json=message, headers=session))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            assert (await served.raw.delete(served.url, headers=session)).status_code == 200
        assert message_of(answers[0])["error"]["message"] == "Session terminated"
        after = await served.raw.post(served.url, json=served.message("add", modern=False), headers=session)
        assert after.status_code == 404


async def test_an_idle_session_is_closed_and_a_busy_one_is_not(over_http: Callable[..., Any]) -> None:
    async with over_http(session_idle_s=1.5) as served:
        busy, idle = await served.open_session(), await served.open_session()
        message = served.message("add", {"a": 1, "b": 2}, modern=False)
        for _ in range(20):
            await trio.sleep(0.1)  # the path of the session and that of its SDK have two clocks, and none is ours
            assert (await served.raw.post(served.url, json=message, headers=busy)).status_code == 200
        assert (await served.raw.post(served.url, json=message, headers=idle)).status_code == 404


async def test_more_sessions_than_are_allowed_are_refused(over_http: Callable[..., Any]) -> None:
    async with over_http(max_sessions=2) as served:
        await served.open_session()
        await served.open_session()
        with pytest.raises(AssertionError, match="Too many open sessions"):
            await served.open_session()


async def test_an_answer_to_no_question_changes_nothing(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        for key in ("fast-1", "other", 7):
            answer = {"jsonrpc": "2.0", "id": key, "result": {}}
            assert (await served.raw.post(served.url, json=answer, headers=session)).status_code == 202


@pytest.mark.usefixtures("either_path")
async def test_nobody_answers_a_question_of_another_session(over_http: Callable[..., Any]) -> None:
    async with over_http(tokens=TOKENS) as served:
        own = await served.open_session({"elicitation": {}}, **bearer("s3cret-of-ada"))
        other = await served.open_session({"elicitation": {}}, **bearer("s3cret-of-bob"))
        message = served.message("ask", modern=False)
        async with served.raw.stream("POST", served.url, json=message, headers=own) as answer:
            lines = answer.aiter_lines()
            question = None
            async for line in lines:
                if line.startswith("data: "):
                    question = json.loads(line[6:])
                    break
            assert question is not None
            assert question["method"] == "elicitation/create"
            yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
            no = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
            await served.raw.post(served.url, json=yes, headers=other)
            stolen = own | bearer("s3cret-of-bob")
            assert (await served.raw.post(served.url, json=yes, headers=stolen)).status_code == 404
            assert (await served.raw.post(served.url, json=no, headers=own)).status_code == 202
            last = [json.loads(line[6:]) async for line in lines if line.startswith("data: ")][-1]
        assert last["result"]["content"][0]["text"] == "no"


async def test_an_error_of_the_client_is_what_a_question_comes_to(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session({"elicitation": {}})
        for said in ({"error": {"code": -1, "message": "no person"}}, {"error": "?"}, {"result": 7}):
            message = served.message("ask", modern=False)
            async with served.raw.stream("POST", served.url, json=message, headers=session) as stream:
                assert stream.headers["content-type"] == "text/event-stream"
                lines = (json.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: "))
                question = await anext(lines)
                assert question["id"].startswith("fast-")
                answer = {"jsonrpc": "2.0", "id": question["id"], **said}
                assert (await served.raw.post(served.url, json=answer, headers=session)).status_code == 202
                result = (await anext(lines))["result"]
                await lines.aclose()
            assert result["isError"] is True


@pytest.mark.usefixtures("either_path")
async def test_a_question_of_a_cancelled_call_is_taken_back(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session({"elicitation": {}})
        message = served.message("ask", modern=False)
        async with served.raw.stream("POST", served.url, json=message, headers=session) as stream:
            lines = (json.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: "))
            question = await anext(lines)
            note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}}
            await served.raw.post(served.url, json=note, headers=session)
            taken_back, last = await anext(lines), await anext(lines)
            await lines.aclose()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == question["id"]
        assert last["error"]["code"] == -32800


async def test_a_call_that_takes_long_shows_life(over_http: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.setattr("pegboard_mcp.server.fast_path.PING_S", 0.05)
    monkeypatch.setattr("pegboard_mcp.server.fast_path.GLANCE_S", 0.02)
    async with over_http() as served:
        await served.call("add", {"a": 1, "b": 2})
        message = served.message("wait")
        headers = served.headers(message)
        async with served.raw.stream("POST", served.url, json=message, headers=headers) as stream:
            assert stream.headers["content-type"] == "text/event-stream"
            lines = stream.aiter_lines()
            assert await anext(lines) == ": ping"
            served.tools.go.set()
            last = [json.loads(line[6:]) async for line in lines if line.startswith("data: ")][-1]
        assert last["result"]["content"][0]["text"] == "waited"


async def test_calls_under_one_id_are_each_answered(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        first, second = served.message("wait", modern=False), served.message("add", {"a": 1, "b": 2}, modern=False)
        second["id"] = first["id"]
        answers: list[Any] = []

        async def call() -> None:
            answers.append(await served.raw.post(served.url, json=first, headers=session))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await served.tools.started.wait()
            other = await served.raw.post(served.url, json=second, headers=session)
            assert events(other)[-1]["result"]["structuredContent"] == {"result": 3}
            served.tools.go.set()
        assert text_of(answers[0]) == "waited"


@pytest.mark.parametrize(
    "change",
    [
        {"id": True},
        {"id": None},
        {"id": 1.5},
        {"id": {}},
        {"jsonrpc": "1.0"},
        {"params": []},
        {"params": None},
        {"params": {}},
        {"params": {"name": 7}},
        {"method": 7},
        {"extra": 1},
    ],
)
@pytest.mark.usefixtures("either_path")
async def test_odd_calls_are_answered_and_never_lost(over_http: Callable[..., Any], change: dict[str, Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        message = {**served.message("add", {"a": 1, "b": 2}, modern=False), **change}
        answer = await served.raw.post(served.url, json=message, headers=session)
        assert answer.status_code in (200, 202, 400)
        modern = {**served.message("add", {"a": 1, "b": 2}), **change}
        headers = served.headers(served.message("add"))
        assert (await served.raw.post(served.url, json=modern, headers=headers)).status_code in (200, 202, 400)
        plain = served.message("add", {"a": 1, "b": 2}, modern=False)
        assert (await served.raw.post(served.url, json=plain, headers=session)).status_code == 200


# -- who is let in


async def test_a_token_decides_who_calls(over_http: Callable[..., Any]) -> None:
    async with over_http(tokens=TOKENS) as served:
        for token, user in TOKENS.items():
            for _ in range(2):
                answer = await served.call("who", authorization=f"Bearer {token}")
                assert text_of(answer).startswith(f"{user} ")


@pytest.mark.parametrize("said", [None, "Bearer wrong", "Bearer", "Basic s3cret-of-ada", "s3cret-of-ada", "Bearer é"])
async def test_a_wrong_credential_is_refused_with_how_to_say_it(
    over_http: Callable[..., Any], said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with over_http(tokens=TOKENS) as served:
        headers = {} if said is None else {"authorization": said}
        message = served.message("who")
        sent = [(key, value.encode("latin-1")) for key, value in served.headers(message, **headers).items()]
        answer = await served.raw.post(served.url, json=message, headers=sent)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert "s3cret" not in caplog.text + answer.text


async def test_without_tokens_calls_are_of_the_user_who_was_named(over_http: Callable[..., Any]) -> None:
    async with over_http(user_id="eve") as served:
        assert text_of(await served.call("who")).startswith("eve ")


@pytest.mark.usefixtures("either_path")
async def test_a_session_is_of_the_credential_that_made_it(over_http: Callable[..., Any]) -> None:
    async with over_http(tokens=TOKENS) as served:
        session = await served.open_session(**bearer("s3cret-of-ada"))
        message = served.message("who", modern=False)
        assert text_of(await served.raw.post(served.url, json=message, headers=session)).startswith("ada ")
        stolen = session | bearer("s3cret-of-bob")
        for method in ("POST", "GET", "DELETE"):
            body = {"json": message} if method == "POST" else {}
            assert (await served.raw.request(method, served.url, headers=stolen, **body)).status_code == 404
        assert text_of(await served.raw.post(served.url, json=message, headers=session)).startswith("ada ")


async def test_an_address_that_others_reach_needs_a_credential(host_with: Any) -> None:
    host = await host_with()
    with pytest.raises(ConfigError) as refused:
        await serve_http(host, transport="http", bind="0.0.0.0", port=0, user_id=None, settings=McpSettings())
    assert "tokens" in (refused.value.hint or "")


async def test_an_address_of_six_is_served_and_named(over_http: Callable[..., Any]) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    async with over_http(bind="::1") as served:
        assert served.url.startswith("http://[::1]:")
        assert (await served.call("add", {"a": 1, "b": 2})).status_code == 200


async def test_a_port_that_is_taken_is_named(over_http: Callable[..., Any], host_with: Any) -> None:
    async with over_http() as served:
        port = int(served.url.rpartition(":")[2].partition("/")[0])
        host = await host_with()
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}"):
            await serve_http(host, transport="http", bind="127.0.0.1", port=port, user_id=None, settings=McpSettings())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:80"}, 421),
        ({"host": "board.example"}, 200),
        ({"host": "Board.Example"}, 200),
        ({"host": "192.0.2.7:8000"}, 200),
        ({"host": "[::1]:8000"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:6274"}, 200),
        ({"origin": "https://app.example:8443"}, 200),
        ({"origin": "https://app.example"}, 403),
        ({"origin": "http://localhost:6274", "host": "board.example"}, 403),
    ],
)
async def test_host_and_origin_are_held(over_http: Callable[..., Any], headers: dict[str, str], status: int) -> None:
    async with over_http(allowed_hosts=("board.example",), allowed_origins=("https://app.example:*",)) as served:
        for _ in range(2):
            assert (await served.call("add", {"a": 1, "b": 2}, **headers)).status_code == status


# -- what is not a request


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 100 + b"]" * 100, b'{"a": 1e999}', b"NaN", b"9" * 5000, b'"\\ud800"'],
)
async def test_what_is_not_json_is_answered_that_it_is_not(over_http: Callable[..., Any], body: bytes) -> None:
    async with over_http() as served:
        answer = await served.raw.post(served.url, content=body, headers=served.headers())
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == -32700
        assert (await served.call("add", {"a": 1, "b": 2})).status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_long_is_refused(over_http: Callable[..., Any], chunked: bool) -> None:
    async with over_http(max_body_bytes=2048) as served:
        message = json.dumps(served.message("add", {"a": 1, "b": 2, "c": "x" * 4096})).encode()

        async def pieces() -> Any:
            yield message[:1000]
            yield message[1000:]

        content = pieces() if chunked else message
        answer = await served.raw.post(served.url, content=content, headers=served.headers())
        assert answer.status_code == 413
        assert "2048" in answer.text


async def test_an_unknown_session_path_or_method_says_so(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        headers = served.headers(mcp_session_id="nope", mcp_protocol_version="2025-06-18")
        message = served.message("add", modern=False)
        assert (await served.raw.post(served.url, json=message, headers=headers)).status_code == 404
        elsewhere = await served.raw.get(served.url.replace("/mcp", "/other"))
        assert (elsewhere.status_code, "/mcp" in elsewhere.text) == (404, True)
        assert (await served.raw.put(served.url, json=message, headers=served.headers())).status_code in (400, 405)


def test_importing_the_package_imports_no_server() -> None:
    assert HttpApp.__module__ == "pegboard_mcp.server.http"


async def talk(served: Any, *parts: bytes) -> bytes:
    """What a client is sent back that says this, and nothing more."""
    port = int(served.url.rpartition(":")[2].partition("/")[0])
    got = b""
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        with trio.move_on_after(0.4):
            try:
                for part in parts:
                    await stream.send_all(part)
                while data := await stream.receive_some():
                    got += data
            except trio.BrokenResourceError:
                pass
    return got


async def test_a_head_that_never_ends_is_cut_off(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        got = await talk(served, b"POST /mcp HTTP/1.1\r\nx: " + b"y" * 200_000)
        assert got == b"" or got.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\nhttp2-settings: AA\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /mcp HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    ],
)
async def test_odd_bytes_are_of_one_connection_alone(over_http: Callable[..., Any], said: bytes) -> None:
    async with over_http() as served:
        got = await talk(served, said)
        assert b" 101 " not in got[:15]
        assert b" 200 " not in got[:15]
        assert (await served.call("add", {"a": 1, "b": 2})).status_code == 200


async def test_the_raw_client_is_not_the_only_one(over_http: Callable[..., Any]) -> None:
    async with over_http() as served, httpx2.AsyncClient(verify=False) as other:
        message = served.message("add", {"a": 2, "b": 2})
        answer = await other.post(served.url, json=message, headers=served.headers(message))
        assert answer.json()["result"]["structuredContent"] == {"result": 4}
