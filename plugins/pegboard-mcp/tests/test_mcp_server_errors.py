"""Errors of the protocol have one shape, whoever says them, and another board reads back all that they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pegboard import ErrorCode
from pegboard_mcp.client.rpc import tool_error_of
from pegboard_mcp.server._flights import cut_off, refusal, too_many
from pegboard_mcp.server.errors import MAX_FAULTS, error_answer
from pegboard_mcp.server.handles import elsewhere, lost

WORD = {"name": "x", "value": "y"}
PROMPT = {"type": "ref/prompt", "name": "nope"}
WRONG: list[tuple[str, Any, str, str]] = [
    ("resources/read", {}, "INVALID_INPUT", "uri: expected a value, got nothing (it is required)"),
    ("resources/read", {"uri": 3}, "INVALID_INPUT", "uri: expected string, got a number"),
    ("resources/read", {"uri": ""}, "NOT_FOUND", "there is no such resource"),
    ("resources/read", {"uri": "board://nope\u202e"}, "NOT_FOUND", "there is no such resource"),
    ("prompts/get", {"name": []}, "INVALID_INPUT", "name: expected string, got an array"),
    ("prompts/get", {"name": "x", "arguments": {"Who": 3}}, "INVALID_INPUT", "arguments.Who: expected string"),
    ("prompts/get", {"name": "x", "arguments": [1]}, "INVALID_INPUT", "arguments: expected object, got an array"),
    ("prompts/get", {"name": "nope"}, "NOT_FOUND", "there is no prompt 'nope'"),
    ("completion/complete", {}, "INVALID_INPUT", "ref: expected a value, got nothing"),
    ("completion/complete", {"ref": {}, "argument": WORD}, "INVALID_INPUT", "ref.type: expected a value, got nothing"),
    ("completion/complete", {"ref": {"type": "ref/x", "name": "n"}, "argument": WORD}, "INVALID_INPUT", "'ref/prompt'"),
    ("completion/complete", {"ref": PROMPT, "argument": {"name": "x", "value": None}}, "INVALID_INPUT", "got null"),
    ("completion/complete", {"ref": PROMPT, "argument": WORD}, "NOT_FOUND", "there is no prompt 'nope'"),
    ("tools/list", {"cursor": 3}, "INVALID_INPUT", "cursor: expected string, got a number"),
    ("tools/list", {"cursor": "é"}, "INVALID_INPUT", "the cursor is not one of this board; start again without one"),
    ("prompts/list", {"cursor": "x"}, "INVALID_INPUT", "the cursor is not one of this board; start again without one"),
    ("tools/call", {"name": None}, "INVALID_INPUT", "invalid params of tools/call: name: expected string, got null"),
    ("tools/call", {"name": "add", "arguments": [1]}, "INVALID_INPUT", "arguments: expected object, got an array"),
    ("tools/call", {"name": "nope"}, "NOT_FOUND", "there is no tool 'nope'"),
]
"""Requests that are refused: their method and params, and what the answer says."""
OF_ONE_ERA: dict[str, list[tuple[str, Any, str, str]]] = {
    "handshake": [
        ("logging/setLevel", {"level": "loud"}, "INVALID_INPUT", "level: expected 'alert', 'critical', 'debug',"),
        ("resources/subscribe", {"uri": "board://nope"}, "NOT_FOUND", "there is no such resource"),
        ("tools/call", None, "INVALID_INPUT", "invalid params of tools/call: the value: expected a value, got nothing"),
    ],
    "2026-07-28": [
        ("tools/call", {"name": "add", "requestState": "x"}, "INVALID_INPUT", "Invalid or expired requestState"),
        (
            "tools/call",
            {"name": "add", "inputResponses": []},
            "INVALID_INPUT",
            "inputResponses: expected object",
        ),
        ("tools/call", {"name": "add", "inputResponses": {"a": 3}}, "INVALID_INPUT", "inputResponses"),
        ("subscriptions/listen", {"notifications": 3}, "INVALID_INPUT", "notifications: expected object, got a number"),
    ],
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def hold(error: dict[str, Any], code: str) -> None:
    """An error has the one shape, and a board that reads it knows what the one that wrote it said."""
    assert error["message"]
    assert set(error["data"]) <= {"code", "details", "uri"}  # -32002 wants `uri`
    assert error["data"]["code"] == code
    details = error["data"]["details"]
    assert "retry" in details
    read = tool_error_of(error["code"], error["message"], error["data"], server="board", tool="x")
    assert read.code == code
    told = ("retry", "retry_after_s", "reason", "executed")
    assert [read.details.get(key) for key in told] == [details.get(key) for key in told]


@pytest.mark.parametrize("era", OF_ONE_ERA)
@pytest.mark.usefixtures("either_path")
async def test_a_request_that_is_refused_says_what_is_wrong_with_it(over_http: Callable[..., Any], era: str) -> None:
    async with over_http() as served:
        session = await served.open_session()
        for number, (method, params, code, words) in enumerate(WRONG + OF_ONE_ERA[era]):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            headers = session
            if era != "handshake":
                message["params"] = {**params, "_meta": META}
                named = params.get("name", params.get("uri"))
                headers = served.headers() | {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
                if isinstance(named, str) and named.isascii():
                    headers |= {"mcp-name": named}
                elif named is not None:
                    continue  # headers of this era repeat it, and are held to it first
            if params is None:
                del message["params"]
            answer = (await served.raw.post(served.url, json=message, headers=headers)).text
            error = json.loads(answer.rpartition("data: ")[2])["error"]
            assert words in error["message"], (method, params, error)
            hold(error, code)


async def test_of_many_faults_some_are_told_and_nothing_that_was_sent(over_http: Callable[..., Any]) -> None:
    async with over_http() as served:
        session = await served.open_session()
        arguments = {f"key {number}": ["s3cret"] for number in range(50)}
        params = {"name": "x", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params}
        answer = (await served.raw.post(served.url, json=message, headers=session)).text
        error = json.loads(answer.rpartition("data: ")[2])["error"]
        hold(error, "INVALID_INPUT")
        assert len(error["data"]["details"]["faults"]) == MAX_FAULTS
        assert "s3cret" not in answer


@pytest.mark.parametrize("method", ["tools/list", "resources/read", "prompts/get"])
async def test_before_the_handshake_a_request_is_told_that_it_comes_first(
    over_http: Callable[..., Any], method: str
) -> None:
    import trio
    from trio_websocket import open_websocket_url

    async with over_http("websocket") as served, open_websocket_url(served.url, subprotocols=["mcp"]) as link:
        params = {"uri": "x", "name": "x"}
        await link.send_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        with trio.fail_after(20):
            error = json.loads(await link.get_message())["error"]
    assert "send initialize" in error["message"]
    hold(error, "INVALID_INPUT")


SAID: dict[str, tuple[dict[str, Any], ErrorCode, str, bool | None]] = {
    "serving ends": (refusal(7), ErrorCode.UPSTREAM_ERROR, "same", False),
    "too many requests": (too_many(7), ErrorCode.RATE_LIMITED, "same", False),
    "cut off": (cut_off(7), ErrorCode.OUTCOME_UNKNOWN, "unknown", None),
    "another instance": (error_answer(7, elsewhere()), ErrorCode.UPSTREAM_ERROR, "same", None),
    "an instance that is gone": (error_answer(7, lost()), ErrorCode.OUTCOME_UNKNOWN, "unknown", None),
}


@pytest.mark.parametrize("what", SAID)
def test_what_no_handler_says_has_the_same_shape(what: str) -> None:
    answer, code, retry, executed = SAID[what]
    assert answer["id"] == 7
    hold(answer["error"], code.value)
    read = tool_error_of(answer["error"]["code"], "", answer["error"]["data"], server="board", tool="x")
    assert (read.details["retry"], read.details.get("executed")) == (retry, executed)


REFUSED_UNREAD: dict[str, tuple[dict[str, str], int]] = {
    "no session": ({}, 400),
    "a session that nobody has": ({"mcp_session_id": "nobody's"}, 404),
    "an Accept that does not do": ({"accept": "text/plain"}, 406),
    "a version that nobody speaks": ({"mcp_protocol_version": "2099-01-01"}, 400),
    "no name": ({"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call"}, 400),
}


@pytest.mark.parametrize("wrong", REFUSED_UNREAD)
@pytest.mark.usefixtures("either_path")
async def test_what_is_refused_for_its_headers_is_answered_under_its_id(
    over_http: Callable[..., Any], wrong: str
) -> None:
    headers, status = REFUSED_UNREAD[wrong]
    async with over_http() as served:
        for id_ in ("my own id", 0, 2**53):
            message = served.message("add", {"a": 1, "b": 2}, modern=False) | {"id": id_}
            answer = await served.raw.post(served.url, json=message, headers=served.headers(**headers))
            assert answer.status_code == status
            assert (answer.json()["id"], "error" in answer.json()) == (id_, True)
            assert answer.headers["content-type"] == "application/json"
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        answer = await served.raw.post(served.url, json=ready, headers=served.headers(**headers))
        assert answer.status_code in (202, status)
