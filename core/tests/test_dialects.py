"""The dialects of the core: text for people, json for programs."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ErrorCode, ImageContent, TextContent, ToolCall, ToolResult, load_board, tool


@tool(category="fun", tags=["b", "a"], read_only=True, examples=[{"sides": 6}])
def roll(sides: int, how: Literal["fair", "loaded"] = "fair", note: str | None = None, any: object = None) -> int:
    """Roll a die.

    Args:
        sides: how many.
    """
    return sides


@pytest.fixture(scope="module")
def exports() -> dict[str, Any]:
    board = load_board({}, [])
    board.add(roll)
    return {name: board.export(name) for name in ("text", "json")}


def test_json_describes_a_tool_for_programs(exports: dict[str, Any]) -> None:
    (definition,) = json.loads(json.dumps(exports["json"].definitions))
    assert definition["name"] == "roll"
    assert definition["input_schema"]["required"] == ["sides"]
    assert definition["tags"] == ["a", "b"]
    assert definition["read_only"] is True
    assert definition["examples"] == [{"sides": 6}]
    assert "title" not in definition
    assert exports["json"].aliases == {"roll": "roll"}
    assert list(exports["json"].losses) == []


def test_text_describes_a_tool_for_people(exports: dict[str, Any]) -> None:
    (definition,) = exports["text"].definitions
    assert definition.splitlines()[:3] == [
        "roll: Roll a die.",
        "  sides (integer, required): how many.",
        "  how ('fair' | 'loaded', optional, default 'fair')",
    ]
    assert "note (string | null, optional, default None)" in definition


def test_text_describes_a_tool_whose_schema_says_little() -> None:
    from pegboard import Tool
    from pegboard.dialects.text import describe

    schema = {"type": "object", "properties": {"a": True, "b": {}}}
    assert describe(Tool(name="x", handler=print, input_schema=schema)) == "x\n  a (any, optional)\n  b (any, optional)"


@pytest.mark.parametrize(
    "message",
    [
        {"id": "1", "name": "roll", "arguments": {"sides": 6}},
        [{"id": 1, "name": "roll", "arguments": {"sides": 6}}],
        '{"id": "1", "name": "roll", "arguments": {"sides": 6}}',
        b'[{"id": "1", "name": "roll", "arguments": {"sides": 6}}]',
    ],
)
def test_json_reads_one_call_or_a_list_as_text_or_values(exports: dict[str, Any], message: Any) -> None:
    assert exports["json"].parse(message) == [ToolCall("1", "roll", {"sides": 6})]


@pytest.mark.parametrize(
    ("message", "call_id"),
    [
        ("{", ""),
        ("", ""),
        (b"\xff", ""),
        ("[" * 5000, ""),
        (5, ""),
        ({"id": "7"}, "7"),
        ({"id": True, "name": "roll", "arguments": []}, ""),
        ({"id": 7, "name": "", "arguments": {}}, "7"),
        ({"id": [1], "name": 5}, ""),
    ],
)
def test_json_answers_what_is_not_a_valid_call_with_its_id(exports: dict[str, Any], message: Any, call_id: str) -> None:
    (result,) = exports["json"].parse(message)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert result.id == call_id
    assert len(result.text) < 300


def test_a_list_keeps_its_order_whatever_is_in_it(exports: dict[str, Any]) -> None:
    first, second, third = exports["json"].parse([{"name": "roll"}, 5, {"name": "roll", "arguments": {"sides": 1}}])
    assert (first, third) == (ToolCall("", "roll", {}), ToolCall("", "roll", {"sides": 1}))
    assert second.error.code is ErrorCode.INVALID_INPUT


def test_text_reads_lines_that_begin_with_a_tools_name_and_lets_prose_pass(exports: dict[str, Any]) -> None:
    message = """I will roll now.
roll {"sides": 6}
roll the die {"sides": 6}
  roll   {"sides": 8}
nope {"a": 1}
roll {broken
"""
    six, eight, broken = exports["text"].parse(message)
    assert (six, eight) == (ToolCall("2", "roll", {"sides": 6}), ToolCall("4", "roll", {"sides": 8}))
    assert (broken.id, broken.name, broken.error.details["line"]) == ("6", "roll", 6)
    assert exports["text"].parse(5)[0].error.code is ErrorCode.INVALID_INPUT


def test_results_go_back_in_each_dialect(exports: dict[str, Any]) -> None:
    results = [
        ToolResult.text("six", data={"n": 6}),
        ToolResult.error("CONFLICT", "taken"),
        ToolResult(content=(TextContent("see"), ImageContent(b"x"))),
        ToolResult.empty(),
    ]
    assert exports["text"].format(results) == ["six", "CONFLICT: taken", "see\n[image/png]", ""]
    assert exports["json"].format(results) == [result.to_json() for result in results]


@given(
    st.text(max_size=60)
    | st.binary(max_size=40)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "name", "arguments", "x"]), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
def test_any_message_is_calls_and_error_results(exports: dict[str, Any], message: Any) -> None:
    """Whatever the message, each dialect parses it into calls with a name and an object, or results that are errors."""
    for export in exports.values():
        for one in export.parse(message):
            if isinstance(one, ToolCall):
                assert one.name
                assert isinstance(one.name, str)
                assert isinstance(one.arguments, dict)
            else:
                assert one.error.code is ErrorCode.INVALID_INPUT
                assert isinstance(one.id, str)
