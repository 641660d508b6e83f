"""The dialect `mcp`: definitions, calls and results as MCP has them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import BinaryContent, ImageContent, TextContent, Tool, ToolCall, ToolError, ToolResult, load_board, tool
from pegboard_mcp.dialect import McpDialect, definition_of, wire_name

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs")), min_size=1, max_size=128)


@tool(read_only=True, title="Add", destructive=False)
def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@tool(name="say hello!")
def hello() -> str:
    """Say hello."""
    return "hello"


def test_a_definition_is_an_element_of_tools_list() -> None:
    definition = definition_of(add)
    assert (definition["name"], definition["title"], definition["description"]) == ("add", "Add", "Add.")
    assert definition["inputSchema"]["type"] == "object"
    assert definition["outputSchema"]["properties"].keys() == {"result"}
    assert definition["annotations"] == {"title": "Add", "readOnlyHint": True, "destructiveHint": False}
    plain = Tool(name="x", handler=len, input_schema={"properties": {}})
    assert definition_of(plain) == {"name": "x", "inputSchema": {"properties": {}, "type": "object"}}


def test_a_definition_passes_the_sdks_own_models() -> None:
    from mcp_types import Tool as WireTool

    assert WireTool.model_validate(json.loads(json.dumps(definition_of(add)))).name == "add"


@given(NAMES)
@settings(max_examples=100)
def test_any_name_has_one_that_mcp_takes(name: str) -> None:
    """A name on the board gives a valid name on the wire, the same each time; a valid one stays as it is."""
    import re

    named = wire_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", named)
    assert wire_name(named) == named
    assert named == wire_name(name)


def test_names_that_become_alike_stay_apart() -> None:
    assert len({wire_name(name) for name in ("a b", "a-b", "a!b", "a?b", "ä", "ö")}) == 6


def test_an_alias_leads_back_and_is_reported() -> None:
    export = McpDialect().export([add, hello])
    (alias,) = (name for name, own in export.aliases.items() if own == "say hello!")
    assert [loss.tool for loss in export.losses] == ["say hello!"]
    assert export.parse({"name": alias, "arguments": {}}) == [ToolCall("", "say hello!", {})]


def test_calls_come_as_requests_as_params_as_text_and_as_lists() -> None:
    export = McpDialect().export([add])
    params = {"name": "add", "arguments": {"a": 1}}
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    assert export.parse(request) == export.parse(json.dumps(request)) == [ToolCall("7", "add", {"a": 1})]
    assert export.parse([params, {"name": "add"}]) == [ToolCall("", "add", {"a": 1}), ToolCall("", "add", {})]


@pytest.mark.parametrize(
    "message",
    [
        "{",
        3,
        {},
        {"name": 3},
        {"name": "add", "arguments": []},
        {"id": 1, "method": "tools/list", "params": {}},
        {"id": 1, "method": "tools/call", "params": None},
    ],
)
def test_what_is_not_a_valid_call_is_an_error_result_with_its_id(message: Any) -> None:
    (result,) = McpDialect().export([add]).parse(message)
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert result.error.code == "INVALID_INPUT"
    assert result.id == (str(message["id"]) if isinstance(message, dict) and "id" in message else "")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "method", "params", "name", "arguments"]), inner, max_size=5)
        ),
        max_leaves=8,
    )
)
@settings(max_examples=100)
def test_any_message_gives_calls_or_error_results(message: Any) -> None:
    """Whatever a message holds, each part of it is a call of a named tool or a result that says what is wrong."""
    for one in McpDialect().export([add]).parse(message):
        assert isinstance(one, (ToolCall, ToolResult))
        if isinstance(one, ToolCall):
            assert one.name
            assert isinstance(one.arguments, dict)


def test_results_are_call_tool_results() -> None:
    results = [
        ToolResult(content=(TextContent("a"), ImageContent(b"i")), data={"x": 1}),
        ToolResult.empty(),
        ToolResult.of_error(ToolError("TIMEOUT", "too slow", retry_after_s=1)),
        ToolResult(content=(BinaryContent(None, uri="https://a/b/"),)),
    ]
    first, empty, failed, link = McpDialect().export([add]).format(results)
    assert first == {
        "content": [{"type": "text", "text": "a"}, {"type": "image", "data": "aQ==", "mimeType": "image/png"}],
        "structuredContent": {"x": 1},
        "isError": False,
    }
    assert empty == {"content": [], "isError": False}
    assert failed["isError"] is True
    assert failed["_meta"]["pegboard-mcp/error"]["code"] == "TIMEOUT"
    assert link["content"][0]["name"] == "b"
    from mcp_types import CallToolResult

    for one in (first, empty, failed, link):
        assert CallToolResult.model_validate(one).is_error is one["isError"]


def test_the_board_has_the_dialect() -> None:
    import pegboard_mcp.plugin

    board = load_board({"strict": True}, [pegboard_mcp.plugin])
    assert board.dialects["mcp"].export([add]).aliases == {"add": "add"}


@pytest.mark.parametrize(
    ("mime_type", "data", "text"),
    [
        ("text/plain", "grün".encode(), "grün"),
        ("text/markdown; charset=UTF-8", b"# a", "# a"),
        ("application/json", b"{}", "{}"),
        ("application/ld+json", b"{}", "{}"),
        ("image/svg+xml", b"<svg/>", None),
        ("text/plain; charset=latin-1", b"a", None),
        ("text/plain", b"\xff", None),
        ("application/octet-stream", b"a", None),
    ],
)
def test_bytes_that_say_they_are_text_go_out_as_text_and_come_back_as_they_were(
    mime_type: str, data: bytes, text: str | None
) -> None:
    from pegboard_mcp.client.content import blocks_of
    from pegboard_mcp.dialect import block_json

    block = BinaryContent(data, mime_type, "memo://a")
    raw = block_json(block)
    assert raw["resource"].get("text") == text
    assert ("blob" in raw["resource"]) is (text is None)
    assert blocks_of([raw]).blocks == (block,)
