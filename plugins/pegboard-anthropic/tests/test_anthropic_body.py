"""Request bodies: what each part of a request becomes, and that the SDK's types know all of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import (
    AudioContent,
    BinaryContent,
    ErrorCode,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResult,
    tool,
)
from pegboard_anthropic.dialect import BINDING_BETA, MAX_EXAMPLES, AnthropicDialect
from pegboard_anthropic.settings import AnthropicSettings
from pegboard_chat import Conversation, ForcedTool, Message, ModelError, ModelRequest

Check = Callable[[dict[str, Any]], None]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}


@tool(run="inplace", examples=[{"a": 1, "b": n} for n in range(MAX_EXAMPLES + 2)])
def add(a: float, b: float = 0) -> float:
    """Add two numbers."""
    return a + b


@tool(run="inplace")
def echo(value: dict[str, str]) -> str:
    """Say it back."""
    return json.dumps(value)


DIALECT = AnthropicDialect()
EXPORT = DIALECT.export([add, echo])
HI = Conversation("Be brief.").ask("hi")


def body(dialect: AnthropicDialect = DIALECT, **changes: Any) -> dict[str, Any]:
    return dialect.body(ModelRequest(**{"conversation": HI, "export": EXPORT, **changes}), "m")


def in_a_round(first: dict[str, Any] | None) -> Conversation:
    """A conversation whose last turn called, and began with `first`."""
    blocks = [block for block in (first, USE) if block]
    raw = {"role": "assistant", "content": blocks}
    call = ToolCall("t1", "add", {"a": 1})
    result = attrs.evolve(ToolResult.text("1"), id="t1", name="add")
    return HI.add(
        Message("assistant", calls=(call,), raw=raw, dialect="anthropic", model="anthropic:m"),
        Message("tool", results=(result,)),
    )


def test_a_body_says_what_is_asked_and_no_more(check_body: Check) -> None:
    said = body(export=None, stream=False)
    check_body(said)
    assert said == {
        "model": "m",
        "max_tokens": 16_000,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": False,
    }


def test_tools_go_with_their_schemas_and_examples(check_body: Check) -> None:
    said = body()
    check_body(said)
    first = said["tools"][0]
    assert (first["name"], first["description"]) == ("add", "Add two numbers.")
    assert first["input_schema"]["required"] == ["a"]
    assert first["input_examples"] == [{"a": 1, "b": n} for n in range(MAX_EXAMPLES)]
    assert "input_examples" not in said["tools"][1]


def test_each_tool_is_strict_or_not_on_its_own() -> None:
    strict = {definition["name"]: definition.get("strict", False) for definition in EXPORT.definitions}
    assert strict == dict(EXPORT.strict) == {"add": True, "echo": False}  # open objects cannot be strict
    loose = AnthropicDialect(strict=False).export([add])
    assert "strict" not in loose.definitions[0]


def test_no_request_has_more_strict_tools_than_the_api_takes() -> None:
    tools = [attrs.evolve(add, name=f"add_{n}") for n in range(30)]
    assert sum(definition.get("strict", False) for definition in DIALECT.export(tools).definitions) <= 20


def test_an_expensive_example_is_left_out() -> None:
    dear = attrs.evolve(add, examples=({"a": 1}, {"a": 10.0**300 * 1, "b": 1}, {"a": int("9" * 3000)}, {"a": 2}))
    assert len(DIALECT.export([dear]).definitions[0]["input_examples"]) == 2


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        ("auto", True, None),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", True, {"type": "any"}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("none", True, {"type": "none"}),
        ("none", False, {"type": "none"}),
        (ForcedTool("add"), True, {"type": "tool", "name": "add"}),
        (ForcedTool("add"), False, {"type": "tool", "name": "add", "disable_parallel_tool_use": True}),
    ],
)
def test_the_choice_of_a_tool(choice: Any, parallel: bool, expected: Any, check_body: Check) -> None:
    said = body(tool_choice=choice, parallel=parallel)
    check_body(said)
    assert said.get("tool_choice") == expected
    assert "tools" in said  # newer models want them unchanged throughout a conversation


def test_without_tools_there_is_no_choice() -> None:
    assert "tool_choice" not in body(export=None, tool_choice="required")


def test_a_limit_of_the_request_goes_before_that_of_the_settings() -> None:
    assert body(max_tokens=10)["max_tokens"] == 10
    assert body(AnthropicDialect(max_tokens=99))["max_tokens"] == 99


@pytest.mark.parametrize(
    ("thinking", "wanted", "expected", "limit"),
    [
        (None, None, None, 16_000),
        ("off", None, {"type": "disabled"}, 16_000),
        ("adaptive", 500, {"type": "adaptive"}, 500),
        (2000, None, {"type": "enabled", "budget_tokens": 2000}, 16_000),
        (20_000, None, {"type": "enabled", "budget_tokens": 20_000}, 36_000),
        (20_000, 5_000, {"type": "enabled", "budget_tokens": 4_999}, 5_000),
        (20_000, 1_025, {"type": "enabled", "budget_tokens": 1_024}, 1_025),
        (20_000, 1_024, None, 1_024),
    ],
)
def test_thinking_and_the_limit_agree(thinking: Any, wanted: Any, expected: Any, limit: int, check_body: Check) -> None:
    said = body(AnthropicDialect(thinking=thinking), max_tokens=wanted)
    check_body(said)
    assert (said.get("thinking"), said["max_tokens"]) == (expected, limit)


def test_thinking_leaves_no_temperature() -> None:
    assert body(temperature=0.0)["temperature"] == 0.0
    assert body(AnthropicDialect(thinking="off"), temperature=0.5)["temperature"] == 0.5
    for thinking in ("adaptive", 2000):
        assert "temperature" not in body(AnthropicDialect(thinking=thinking), temperature=0.0)


@pytest.mark.parametrize("choice", ["required", ForcedTool("add")])
def test_a_forced_call_leaves_no_thinking(choice: Any) -> None:
    for thinking in ("adaptive", 2000):
        assert "thinking" not in body(AnthropicDialect(thinking=thinking), tool_choice=choice)
    assert body(AnthropicDialect(thinking="off"), tool_choice=choice)["thinking"] == {"type": "disabled"}


def test_a_budget_holds_for_an_open_turn_only_if_it_began_with_thinking() -> None:
    dialect = AnthropicDialect(thinking=2000)
    assert "thinking" in body(dialect, conversation=in_a_round(THOUGHT))
    assert "thinking" not in body(dialect, conversation=in_a_round(None))
    assert "thinking" in body(
        dialect, conversation=in_a_round(None).add(Message("assistant", (TextContent("x"),))).ask("y")
    )
    assert "thinking" in body(AnthropicDialect(thinking="adaptive"), conversation=in_a_round(None))


def test_thinking_before_which_something_changed_is_dropped_where_that_feature_is_on() -> None:
    dialect = AnthropicDialect.of(AnthropicSettings(thinking="adaptive", betas=(BINDING_BETA,)))
    block_binding = {"prefix_mismatch_behavior": "drop_block"}
    assert body(dialect)["thinking"] == {"type": "adaptive", "block_binding": block_binding}
    assert body(attrs.evolve(dialect, thinking="off"))["thinking"] == {"type": "disabled"}
    assert "thinking" not in body(attrs.evolve(dialect, thinking=None))


def test_what_was_sent_is_cached_where_that_is_wanted(check_body: Check) -> None:
    said = body(AnthropicDialect(cache=True))
    check_body(said)
    assert said["cache_control"] == {"type": "ephemeral"}


def test_options_go_as_they_are() -> None:
    assert body(options={"max_tokens": 7, "top_k": 3}) | {"messages": None} == body() | {
        "max_tokens": 7,
        "top_k": 3,
        "messages": None,
    }


def test_a_dialect_says_what_the_settings_say() -> None:
    given = AnthropicSettings(max_tokens=5, thinking="off", strict=False, cache=True)
    assert AnthropicDialect.of(given) == AnthropicDialect(5, "off", strict=False, cache=True)
    assert AnthropicDialect.of(AnthropicSettings()) == AnthropicDialect()


def test_an_export_formats_all_results_of_a_turn_as_one_message() -> None:
    results = [attrs.evolve(ToolResult.text(f"{n}"), id=f"t{n}", name="add") for n in range(3)]
    (message,) = EXPORT.format(results)
    assert message["role"] == "user"
    assert [block["tool_use_id"] for block in message["content"]] == ["t0", "t1", "t2"]
    assert list(EXPORT.format([])) == []


def test_a_turn_that_was_read_goes_into_the_next_body_as_it_came(check_body: Check) -> None:
    content = [THOUGHT, {"type": "text", "text": "I add", "citations": None}, {**USE, "caller": {"type": "direct"}}]
    request = ModelRequest(HI, EXPORT)
    reply = DIALECT.read({"content": content, "stop_reason": "tool_use"}, request, "anthropic:m")
    result = attrs.evolve(ToolResult.text("1"), id="t1", name="add")
    said = body(conversation=HI.add(reply.message, Message("tool", results=(result,))))
    check_body(said)
    assert said["messages"][1] == {"role": "assistant", "content": content}


def test_what_stood_before_a_turn_stays_the_same_in_every_later_request() -> None:
    conversation, said = HI, []
    for n in range(4):
        said.append(body(conversation=conversation))
        content = [THOUGHT, {"type": "text", "text": ""}, {**USE, "id": f"t{n}"}]
        answer = {"content": content, "stop_reason": "tool_use"}
        reply = DIALECT.read(answer, ModelRequest(conversation, EXPORT), "anthropic:m")
        result = attrs.evolve(ToolResult.text("1"), id=f"t{n}", name="add")
        conversation = conversation.add(reply.message, Message("tool", results=(result,)))
    for earlier, later in itertools.pairwise(said):
        assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
        assert (later["tools"], later["system"]) == (earlier["tools"], earlier["system"])


# Any conversation

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
CONTENT = st.one_of(
    st.builds(TextContent, TEXTS),
    st.builds(ImageContent, st.sampled_from([PNG, b"", b"x"]), st.sampled_from(["image/png", "image/svg+xml"])),
    st.builds(AudioContent, st.binary(max_size=3)),
    st.builds(
        BinaryContent,
        st.sampled_from([None, b"", b"text", b"\xff", PNG, b"%PDF-1.4"]),
        st.sampled_from(["text/plain", "application/pdf", "application/json"]),
        st.none() | TEXTS,
        st.none() | TEXTS,
    ),
)
IDS = st.sampled_from(["t1", "t2", "a b", "", "é"])
ARGUMENTS = st.one_of(st.dictionaries(TEXTS, st.integers() | TEXTS, max_size=2), st.just("no object"))
RESULTS = st.one_of(
    st.builds(lambda c, i: attrs.evolve(ToolResult(tuple(c)), id=i, name="add"), st.lists(CONTENT, max_size=2), IDS),
    st.builds(lambda t, i: attrs.evolve(ToolResult.error(ErrorCode.TIMEOUT, t), id=i, name="add"), TEXTS, IDS),
)
BLOCKS = st.sampled_from(
    [
        THOUGHT,
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "x"},
        {"type": "text", "text": " "},
        USE,
        {**USE, "id": "t2"},
        {**USE, "input": "no object"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    ]
)


def _read(blocks: list[dict[str, Any]], model: str) -> Message:
    answer = {"content": blocks, "stop_reason": "tool_use"}
    return DIALECT.read(answer, ModelRequest(HI, EXPORT), model).message


MESSAGES = st.one_of(
    st.builds(lambda content: Message("user", tuple(content)), st.lists(CONTENT, max_size=2)),
    st.builds(
        lambda content, calls: Message("assistant", tuple(content), tuple(calls), raw=[1], dialect="openai"),
        st.lists(CONTENT, max_size=2),
        st.lists(st.builds(ToolCall, IDS, st.sampled_from(["add", "g.one", "ü"]), ARGUMENTS), max_size=2),
    ),
    st.builds(_read, st.lists(BLOCKS, max_size=4), st.sampled_from(["anthropic:m", "anthropic:other"])),
    st.builds(lambda results: Message("tool", results=tuple(results)), st.lists(RESULTS, max_size=3)),
)


@settings(max_examples=150)
@given(st.lists(MESSAGES, max_size=6), st.sampled_from([None, "off", "adaptive", 2000]), st.none() | TEXTS)
def test_any_conversation_is_a_body_that_the_sdk_knows(
    check_body: Check, messages: list[Message], thinking: Any, system: str | None
) -> None:
    """Any conversation makes a body of JSON that the SDK's types accept, whose calls are each answered next."""
    said = body(AnthropicDialect(thinking=thinking), conversation=Conversation(system, tuple(messages)))
    json.dumps(said).encode()
    check_body(said)
    open_ids: list[str] = []
    for message in said["messages"]:
        assert message["content"]
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        assert answered == open_ids
        assert all(block["type"] == "tool_result" for block in message["content"][: len(answered)])
        assert not any(block["type"] == "text" and not block["text"].strip() for block in message["content"])
        open_ids = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    assert not open_ids


def test_a_reply_that_is_none_is_not_read() -> None:
    with pytest.raises(ModelError):
        DIALECT.read({"content": None}, ModelRequest(HI), "anthropic:m")
