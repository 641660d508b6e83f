"""JSON-RPC errors become the board's codes, in the server's words, shortened and harmless; and the way back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, Retry, ToolError, ToolResult
from pegboard_mcp.client import rpc
from pegboard_mcp.client.content import result_of
from pegboard_mcp.client.rpc import data_of, number_of, tool_error_of
from pegboard_mcp.dialect import result_json


def met(code: object, message: object = "why", data: object = None) -> ToolError:
    return tool_error_of(code, message, data, server="files", tool="read")


@pytest.mark.parametrize(
    ("number", "code", "executed", "retry"),
    [
        (-32602, ErrorCode.INVALID_INPUT, False, Retry.CHANGED),
        (-32601, ErrorCode.NOT_FOUND, False, Retry.CHANGED),
        (-32002, ErrorCode.NOT_FOUND, False, Retry.CHANGED),
        (-32600, ErrorCode.UPSTREAM_ERROR, False, Retry.SAME),
        (-32700, ErrorCode.UPSTREAM_ERROR, False, Retry.NEVER),
        (-32603, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        (-32000, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        (-32001, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        (-32020, ErrorCode.UPSTREAM_ERROR, False, Retry.SAME),
        (-32021, ErrorCode.UPSTREAM_ERROR, False, Retry.NEVER),
        (-32022, ErrorCode.UPSTREAM_ERROR, False, Retry.NEVER),
        (-32042, ErrorCode.FORBIDDEN, False, Retry.CHANGED),
        (-32010, ErrorCode.UPSTREAM_ERROR, True, Retry.CHANGED),
        (-32011, ErrorCode.UPSTREAM_ERROR, False, Retry.SAME),
        (-32012, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        (-32099, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        (17, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        ("x", ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
        (True, ErrorCode.UPSTREAM_ERROR, None, Retry.UNKNOWN),
    ],
)
def test_the_table(number: object, code: ErrorCode, executed: bool | None, retry: Retry) -> None:
    error = met(number)
    assert error.code is code
    assert error.details.get("executed") is executed
    assert error.details["retry"] == retry
    assert "'files'" in error.message
    assert "'read'" in error.message
    assert "why" in error.message


@pytest.mark.parametrize(
    ("number", "message"), [(-32000, "Connection closed"), (-32001, "Timed out while waiting for response")]
)
def test_a_lost_reply_leaves_the_outcome_unknown(number: int, message: str) -> None:
    error = met(number, message)
    assert error.code is ErrorCode.OUTCOME_UNKNOWN
    assert "executed" not in error.details
    assert error.details["retry"] == "unknown"


def test_a_closed_connection_in_the_text_of_another_number_is_not_a_lost_reply() -> None:
    assert met(-32603, "Connection closed by the database").code is ErrorCode.UPSTREAM_ERROR


def test_the_numbers_agree_with_the_sdk() -> None:
    mcp_types = pytest.importorskip("mcp_types")
    for ours, theirs in {
        "PARSE_ERROR": "PARSE_ERROR",
        "INVALID_REQUEST": "INVALID_REQUEST",
        "METHOD_NOT_FOUND": "METHOD_NOT_FOUND",
        "INVALID_PARAMS": "INVALID_PARAMS",
        "INTERNAL_ERROR": "INTERNAL_ERROR",
        "CONNECTION_CLOSED": "CONNECTION_CLOSED",
        "REQUEST_TIMEOUT": "REQUEST_TIMEOUT",
        "HEADER_MISMATCH": "HEADER_MISMATCH",
        "MISSING_CAPABILITY": "MISSING_REQUIRED_CLIENT_CAPABILITY",
        "UNSUPPORTED_VERSION": "UNSUPPORTED_PROTOCOL_VERSION",
        "URL_ELICITATION_REQUIRED": "URL_ELICITATION_REQUIRED",
    }.items():
        assert getattr(rpc, ours) == getattr(mcp_types.jsonrpc, theirs)


@pytest.mark.parametrize("code", list(ErrorCode))
def test_what_a_board_answers_a_board_reads_back(code: ErrorCode) -> None:
    said = ToolError(code, "no", reason="odd", executed=False, retry="same", retry_after_s=7, faults=[1])
    error = met(number_of(said), said.message, json.loads(json.dumps(data_of(said))))
    assert error.code is code
    assert error.details == {
        "server": "files",
        "rpc_code": number_of(said),
        "reason": "odd",
        "executed": False,
        "retry": "same",
        "retry_after_s": 7,
        "data": {"faults": [1]},
    }


def test_the_servers_front_uses_the_numbers_of_the_design() -> None:
    def number(code: ErrorCode, **details: str) -> int:
        return number_of(ToolError(code, "no", **details))

    assert number(ErrorCode.NOT_FOUND) == -32001
    assert number(ErrorCode.FORBIDDEN, reason="disabled") == -32004
    assert number(ErrorCode.FORBIDDEN) == number(ErrorCode.INTERNAL_ERROR) == -32005
    assert number(ErrorCode.TIMEOUT) == -32006
    assert number(ErrorCode.INVALID_INPUT) == -32602
    assert set(rpc.NUMBERS) == set(ErrorCode)


@pytest.mark.parametrize("number", [-32001, -32002, -32602])
def test_another_board_has_no_such_tool_or_resource(number: int) -> None:
    assert met(number, "no", {"code": "NOT_FOUND", "uri": "memo://x"}).code is ErrorCode.NOT_FOUND


def test_a_failed_result_of_another_board_keeps_its_code_and_details() -> None:
    told = ToolError(ErrorCode.RATE_LIMITED, "slow down", executed=False, retry="same", retry_after_s=3, faults=[1])
    result = result_of(json.loads(json.dumps(result_json(ToolResult.of_error(told)))), server="board")
    assert result.error is not None
    assert (result.error.code, result.error.message) == (ErrorCode.RATE_LIMITED, "slow down")
    assert result.error.details == {
        "server": "board",
        "executed": False,
        "retry": "same",
        "retry_after_s": 3,
        "data": {"faults": [1]},
    }


@pytest.mark.parametrize("told", [5, {}, {"code": "NONSENSE"}, {"code": ["TIMEOUT"]}])
def test_what_only_looks_like_an_error_of_a_board_is_the_servers_own(told: object) -> None:
    raw = {"isError": True, "content": [{"type": "text", "text": "no"}], "_meta": {"pegboard-mcp/error": told}}
    error = result_of(raw, server="odd").error
    assert error is not None
    assert error.code is ErrorCode.UPSTREAM_ERROR


@pytest.mark.parametrize("data", [{"code": "TIMEOUT"}, {"code": "NONSENSE"}, {"code": 5}, {"code": ["NOT_FOUND"]}])
def test_a_code_that_does_not_go_with_the_number_is_data_and_no_more(data: object) -> None:
    error = met(-32602, "no", data)
    assert error.code is ErrorCode.INVALID_INPUT
    assert error.details["data"] == data


def test_details_of_another_board_are_believed_only_in_their_shape() -> None:
    told = {"retry": "always", "retry_after_s": -5, "executed": "yes", "reason": ["x"], "still_running": 1}
    error = met(-32006, "late", {"code": "TIMEOUT", "details": told})
    assert error.code is ErrorCode.TIMEOUT
    assert error.details["retry"] == "unknown"
    assert "retry_after_s" not in error.details
    assert "executed" not in error.details
    for odd in ([1], {"retry": ["same"]}, {"retry": None, "reason": {}}):
        assert met(-32006, "late", {"code": "TIMEOUT", "details": odd}).details["retry"] == "unknown"


def test_a_page_that_must_be_visited_is_named() -> None:
    data = {"elicitations": [{"url": "https://example.org/login", "message": "log in"}, 5, {"url": 3}]}
    error = met(-32042, "authorize", data)
    assert error.code is ErrorCode.FORBIDDEN
    assert error.details["urls"] == ["https://example.org/login"]
    assert "https://example.org/login" in error.message
    assert met(-32042, "authorize", {"elicitations": 5}).details["urls"] == []
    assert met(-32042, "authorize").details["reason"] == "elicitation"


def test_long_and_hostile_words_are_made_harmless() -> None:
    error = met(-32603, "\x1b[2J\n\nfell\r\nover" + "x" * 100_000, {"big": "x" * 100_000})
    assert len(error.message) < 700
    assert error.message.isprintable()
    assert "data" not in error.details


def test_secrets_are_taken_out_of_text_and_data() -> None:
    error = tool_error_of(
        -32603,
        "token s3cret",
        {"s3cret": "s3cret"},
        server="files",
        tool="",
        mask=lambda text: text.replace("s3cret", "*"),
    )
    assert "s3cret" not in json.dumps(error.to_json())
    assert error.message.startswith("the server 'files' failed: token *")


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
codes = st.sampled_from([*rpc.TABLE, *rpc.NUMBERS.values()]) | any_json
told = st.fixed_dictionaries(
    {"code": st.sampled_from([str(code) for code in ErrorCode]) | any_json},
    optional={"details": any_json | st.dictionaries(st.sampled_from(["retry", "retry_after_s", "reason"]), any_json)},
)


@settings(max_examples=200)
@given(code=codes, message=any_json, data=any_json | told | st.fixed_dictionaries({"elicitations": any_json}))
def test_any_error_becomes_one_of_the_boards_that_every_wire_can_carry(
    code: object, message: object, data: object
) -> None:
    """Invariant: whatever a server sends as an error, it is a ToolError, short and in valid UTF-8."""
    error = met(code, message, data)
    assert len(json.dumps(error.to_json(), ensure_ascii=False, allow_nan=False).encode()) < 40_000


def test_no_page_is_named_that_hides_where_it_leads() -> None:
    told = [
        "https://bank.example@evil.example/",
        "javascript:alert(1)",
        "https://b\u0430nk.example/",
        "https://a\\.b/",
        7,
    ]
    data = {"elicitations": [{"url": url} for url in [*told, "https://good.example/x"]]}

    error = met(-32042, "visit", data)

    assert error.details["urls"] == ["https://good.example/x"]
    assert error.message.endswith("; visit https://good.example/x and call again")


@pytest.mark.parametrize(
    ("number", "code"), [(-32602, "NOT_FOUND"), (-32002, "NOT_FOUND"), (-32005, "FORBIDDEN"), (-32005, "UNAUTHORIZED")]
)
def test_a_code_of_another_board_counts_whatever_number_the_place_has(number: int, code: str) -> None:
    error = tool_error_of(number, "no", {"code": code, "details": {}}, server="board", tool="book://x")
    assert error.code == code


@pytest.mark.parametrize("hidden", ["\x1bs3cret", "\x1b[1ms3cret", "s3\u200bcret", "s3cret\x1b[0m"])
def test_no_error_of_a_server_shows_a_part_of_a_secret_that_an_escape_took_along(hidden: str) -> None:
    from pegboard_mcp.client.content import result_of
    from pegboard_mcp.client.rpc import tool_error_of

    def mask(text: str) -> str:
        return text.replace("s3cret", "***")

    told = tool_error_of(-32603, f"no {hidden}", {"of": hidden}, server="files", tool="read", mask=mask)
    blocks = [
        {"type": "text", "text": f"no {hidden}"},
        {"type": "resource", "resource": {"uri": "a:b", "text": hidden}},
    ]
    result = result_of({"content": blocks, "isError": True}, server="files", mask=mask)
    for text in (told.message, str(told.details), result.text, str(result.error)):
        assert "3cret" not in text
