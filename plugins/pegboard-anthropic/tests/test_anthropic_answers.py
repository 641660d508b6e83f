"""Answers, whole and streamed: the turn as the API takes it back, calls or the errors that answer them, usage."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolCall, ToolResult, tool
from pegboard_anthropic.dialect import AnthropicDialect
from pegboard_chat import (
    CallDelta,
    Conversation,
    ModelError,
    ModelRequest,
    Reply,
    Stop,
    TextDelta,
    ThinkingDelta,
    Usage,
)

MODEL = "anthropic:m"
DIALECT = AnthropicDialect()


@tool(name="a.dd", run="inplace")
def add(a: float, b: float = 0) -> float:
    """Add."""
    return a + b


EXPORT = DIALECT.export([add])
ALIAS = EXPORT.alias_of("a.dd")
REQUEST = ModelRequest(Conversation().ask("hi"), EXPORT)

TEXT = {"type": "text", "text": "5 it is"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
USE = {"type": "tool_use", "id": "toolu_1", "name": ALIAS, "input": {"a": 2, "b": 3}}


def whole(*blocks: Any, stop: Any = "end_turn", usage: Any = None) -> Reply:
    answer = {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop, "usage": usage}
    return DIALECT.read(answer, REQUEST, MODEL)


def events(*values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(value["type"], json.dumps(value)) for value in values]


def start(usage: Any = None) -> dict[str, Any]:
    return {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage or {}}}


def block_events(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def end(stop: str | None = "end_turn", usage: Any = None) -> list[dict[str, Any]]:
    delta = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage or {"output_tokens": 1}}
    return [delta, {"type": "message_stop"}]


def streamed(given: Iterable[tuple[str, str]]) -> tuple[list[Any], Reply]:
    reader = DIALECT.reader(REQUEST, MODEL)
    deltas = [delta for event, data in given for delta in reader.feed(event, data)]
    return deltas, reader.close()


def use_events(*pieces: str, index: int = 0) -> list[dict[str, Any]]:
    empty = {**USE, "input": {}}
    return block_events(index, empty, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


# Whole answers


def test_an_answer_is_text_usage_and_an_end() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 3,
        "output_tokens": 2,
        "server_tool_use": None,
    }
    reply = whole(TEXT, usage=usage)
    assert reply.message.text == "5 it is"
    assert (reply.usage, reply.stop, reply.calls) == (Usage(18, 2, 5), Stop.END, ())
    assert (reply.message.dialect, reply.message.model) == ("anthropic", MODEL)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("tool_use", Stop.CALLS),
        ("max_tokens", Stop.LENGTH),
        ("model_context_window_exceeded", Stop.LENGTH),
        ("refusal", Stop.REFUSED),
        ("pause_turn", Stop.OTHER),
        ("something new", Stop.OTHER),
        (None, Stop.OTHER),
        ({"odd": 1}, Stop.OTHER),
    ],
)
def test_the_reason_of_a_stop_is_told(reason: Any, stop: Stop) -> None:
    assert whole(TEXT, stop=reason).stop is stop


def test_a_call_comes_under_the_tools_own_name() -> None:
    reply = whole(THOUGHT, USE, stop="tool_use")
    assert reply.calls == reply.message.calls == (ToolCall("toolu_1", "a.dd", {"a": 2, "b": 3}),)
    assert reply.message.raw == {"role": "assistant", "content": [THOUGHT, USE]}


def test_a_call_without_the_reason_is_a_call_all_the_same() -> None:
    assert whole(USE, stop="end_turn").stop is Stop.CALLS


def test_a_turn_keeps_what_is_not_known_and_loses_what_the_api_refuses() -> None:
    server = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    new = {"type": "something_new", "x": [1]}
    reply = whole({"type": "text", "text": ""}, THOUGHT, server, new, {"type": "text", "text": " \n"}, TEXT)
    assert reply.message.raw["content"] == [THOUGHT, server, new, TEXT]
    assert reply.message.text == "5 it is"


def test_a_turn_that_was_cut_in_its_thoughts_ends_before_them() -> None:
    assert whole(THOUGHT, TEXT, THOUGHT, THOUGHT, stop="max_tokens").message.raw["content"] == [THOUGHT, TEXT]
    reply = whole({"type": "redacted_thinking", "data": "x"}, stop="max_tokens")
    assert (reply.message.raw["content"], reply.stop) == ([], Stop.LENGTH)


def test_members_of_a_block_that_are_not_known_stay() -> None:
    cited = {**TEXT, "citations": [{"type": "char_location", "cited_text": "x"}]}
    assert whole(cited).message.raw["content"] == [cited]


def test_a_call_at_the_end_of_a_cut_answer_is_not_made() -> None:
    reply = whole({**USE, "id": "toolu_0"}, USE, stop="max_tokens")
    first, last = reply.calls
    assert isinstance(first, ToolCall)
    assert isinstance(last, ToolResult)
    assert last.error is not None
    assert last.error.code is ErrorCode.INVALID_INPUT
    assert (last.id, last.name) == ("toolu_1", "a.dd")
    assert reply.stop is Stop.LENGTH


@pytest.mark.parametrize("arguments", ["no object", [1], 7, True])
def test_arguments_that_are_no_object_are_an_error_result(arguments: Any) -> None:
    (result,) = whole({**USE, "input": arguments}, stop="tool_use").calls
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT


def test_calls_without_an_id_or_with_the_same_one_get_their_own() -> None:
    reply = whole({**USE, "id": None}, USE, USE, {"type": "tool_use"}, stop="tool_use")
    ids = [call.id for call in reply.calls]
    assert len(set(ids)) == 4
    assert all(ids)
    assert [block["id"] for block in reply.message.raw["content"]] == ids
    assert [call.id for call in reply.message.calls] == ids


def test_a_call_of_a_name_that_was_not_offered_keeps_it() -> None:
    (call,) = whole({**USE, "name": "subtract"}, stop="tool_use").calls
    assert call.name == "subtract"


@pytest.mark.parametrize("answer", [None, [], "text", 7, {}, {"content": "x"}, {"content": ["x"]}, {"content": [{}]}])
def test_what_is_not_an_answer_is_an_error_that_names_the_provider(answer: Any) -> None:
    with pytest.raises(ModelError, match="anthropic") as caught:
        DIALECT.read(answer, REQUEST, MODEL)
    assert caught.value.details["reason"] == "no_json"


def test_an_error_with_status_200_is_an_error() -> None:
    answer = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ModelError, match="Overloaded") as caught:
        DIALECT.read(answer, REQUEST, MODEL)
    assert caught.value.details["reason"] == "server"


# Streams


def test_a_stream_gives_its_deltas_and_the_turn_of_the_whole_answer() -> None:
    deltas, reply = streamed(
        events(
            start({"input_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 1}),
            {"type": "ping"},
            *block_events(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "h"},
                {"type": "thinking_delta", "thinking": "m"},
                {"type": "signature_delta", "signature": "c2ln"},
            ),
            *block_events(
                1,
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "5 it"},
                {"type": "text_delta", "text": ""},
                {"type": "text_delta", "text": " is"},
            ),
            *use_events("", '{"a": 2,', ' "b": 3}', index=2),
            *end("tool_use", {"output_tokens": 9, "input_tokens": None}),
        )
    )
    assert deltas == [
        ThinkingDelta("h"),
        ThinkingDelta("m"),
        TextDelta("5 it"),
        TextDelta(" is"),
        CallDelta(0, "a.dd", ""),
        CallDelta(0, "", '{"a": 2,'),
        CallDelta(0, "", ' "b": 3}'),
    ]
    assert reply == whole(
        THOUGHT,
        TEXT,
        USE,
        stop="tool_use",
        usage={"input_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 9},
    )


def test_a_call_without_pieces_has_the_arguments_it_started_with() -> None:
    deltas, reply = streamed(events(start(), *use_events(), *block_events(1, {**USE, "id": "t2"}), *end("tool_use")))
    assert [call.arguments for call in reply.message.calls] == [{}, {"a": 2, "b": 3}]
    assert deltas == [
        CallDelta(0, "a.dd", ""),
        CallDelta(0, "", "{}"),
        CallDelta(1, "a.dd", ""),
        CallDelta(1, "", '{"a": 2, "b": 3}'),
    ]


@pytest.mark.parametrize(
    "text", ['{"a": 2, "b', '{"a": 1e999}', "[1]", "7", "{" * 100, '{"a": NaN}', "  {", "x" * 5000]
)
def test_arguments_that_are_no_json_go_back_to_the_model(text: str) -> None:
    _, reply = streamed(events(start(), *use_events(text), *end("max_tokens")))
    (result,) = reply.calls
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert (result.id, result.name) == ("toolu_1", "a.dd")
    kept = text if len(text) <= 2000 else text[:1999] + "…"
    assert reply.message.raw["content"][0]["input"] == {"INVALID_JSON": kept}
    assert reply.message.calls[0].arguments == {"INVALID_JSON": kept}
    assert reply.stop is Stop.LENGTH


def test_a_call_that_was_cut_before_its_arguments_is_not_made() -> None:
    _, reply = streamed(events(start(), *use_events(), *end("max_tokens")))
    assert [call.error.code for call in reply.calls if isinstance(call, ToolResult) and call.error] == ["INVALID_INPUT"]
    _, reply = streamed(events(start(), *use_events(" "), *block_events(1, TEXT), *end("max_tokens")))
    assert reply.calls == (ToolCall("toolu_1", "a.dd", {}),)


@pytest.mark.parametrize("text", ["null", "  ", "{}"])
def test_arguments_of_nothing_are_a_call_without_any(text: str) -> None:
    _, reply = streamed(events(start(), *use_events(text), *end("tool_use")))
    assert reply.calls == (ToolCall("toolu_1", "a.dd", {}),)
    assert reply.message.raw["content"][0]["input"] == {}


def test_arguments_that_ended_before_the_limit_are_a_call() -> None:
    _, reply = streamed(events(start(), *use_events('{"a": 2}'), *end("max_tokens")))
    assert reply.calls == (ToolCall("toolu_1", "a.dd", {"a": 2}),)


def test_citations_are_gathered() -> None:
    deltas = [{"type": "citations_delta", "citation": {"n": n}} for n in range(2)]
    for begun in ({}, {"citations": []}, {"citations": 7}):
        block = {"type": "text", "text": "x", **begun}
        _, reply = streamed(events(start(), *block_events(0, block, *deltas), *end()))
        assert reply.message.raw["content"] == [{"type": "text", "text": "x", "citations": [{"n": 0}, {"n": 1}]}]


def test_a_tool_of_the_provider_keeps_its_input() -> None:
    block = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    good = block_events(0, block, {"type": "input_json_delta", "partial_json": '{"query": "x"}'})
    bad = block_events(1, block, {"type": "input_json_delta", "partial_json": '{"que'})
    deltas, reply = streamed(events(start(), *good, *bad, *end("pause_turn")))
    assert [block["input"] for block in reply.message.raw["content"]] == [{"query": "x"}, {}]
    assert (deltas, reply.calls) == ([], ())


def test_blocks_may_come_interleaved() -> None:
    first, second = use_events('{"a": 1}'), use_events('{"a": 2}', index=1)
    second[0]["content_block"] = {**second[0]["content_block"], "id": "toolu_2"}
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    _, reply = streamed(events(start(), *mixed, *end("tool_use")))
    assert [(call.id, call.arguments) for call in reply.message.calls] == [
        ("toolu_1", {"a": 1}),
        ("toolu_2", {"a": 2}),
    ]


def test_deltas_and_events_that_are_not_known_change_nothing() -> None:
    odd = [{"type": "new_delta"}, {"type": "thinking_delta", "thinking": "x"}, {"type": "text_delta", "text": 7}]
    deltas, reply = streamed(
        events(start(), {"type": "new_event"}, *block_events(0, {"type": "text", "text": "x"}, *odd), *end())
    )
    assert (deltas, reply.message.text) == ([TextDelta("x")], "x")


def test_nothing_is_read_after_the_end() -> None:
    reader = DIALECT.reader(REQUEST, MODEL)
    for event, data in events(start(), *block_events(0, TEXT), *end()):
        assert not reader.done  # type: ignore[attr-defined]
        list(reader.feed(event, data))
    assert reader.done  # type: ignore[attr-defined]
    assert not list(reader.feed("", "[DONE]"))
    assert reader.close().message.text == "5 it is"


def test_a_character_that_was_cut_in_two_is_replaced() -> None:
    pieces = [{"type": "text_delta", "text": half} for half in ("a\ud83d", "\ude00b")]
    deltas, reply = streamed(events(start(), *block_events(0, {**TEXT, "text": ""}, *pieces), *end()))
    assert deltas == [TextDelta("a\ufffd"), TextDelta("\ufffdb")]
    assert reply.message.text.encode() == "a\ufffd\ufffdb".encode()


def test_a_ping_without_data_and_events_without_names_are_taken() -> None:
    given = [("ping", ""), *(("", data) for _, data in events(start(), *block_events(0, TEXT), *end()))]
    assert streamed(given)[1].message.text == "5 it is"


@pytest.mark.parametrize("cut", range(6))
def test_a_stream_that_ends_early_is_half_an_answer(cut: int) -> None:
    given = events(start(), *block_events(0, {**TEXT, "text": ""}, {"type": "text_delta", "text": "5"}), *end())
    reader = DIALECT.reader(REQUEST, MODEL)
    for event, data in given[:cut]:
        list(reader.feed(event, data))
    if cut < 5:
        with pytest.raises(ModelError) as caught:
            reader.close()
        assert caught.value.details["reason"] == "half_answer"
    else:  # the reason of the stop was told: nothing but the end itself is missing
        assert reader.close().stop is Stop.END


@pytest.mark.parametrize(
    ("kind", "reason", "code"),
    [
        ("overloaded_error", "server", ErrorCode.UPSTREAM_ERROR),
        ("rate_limit_error", "limit", ErrorCode.RATE_LIMITED),
        ("authentication_error", "wrong_key", ErrorCode.UNAUTHORIZED),
        ("invalid_request_error", "refused", ErrorCode.INVALID_INPUT),
        ("something_new", "server", ErrorCode.UPSTREAM_ERROR),
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_told(kind: str, reason: str, code: ErrorCode) -> None:
    reader = DIALECT.reader(REQUEST, MODEL)
    list(reader.feed(*events(start())[0]))
    with pytest.raises(ModelError, match=r"anthropic.*too much") as caught:
        reader.feed("error", json.dumps({"type": "error", "error": {"type": kind, "message": "too much"}}))
    assert (caught.value.details["reason"], caught.value.code) == (reason, code)


def test_an_error_that_only_the_name_of_its_event_tells_is_told() -> None:
    data = {"code": 500, "message": "out of format", "type": "server_error"}  # as llama.cpp says it
    with pytest.raises(ModelError, match=r"anthropic.*out of format") as caught:
        DIALECT.reader(REQUEST, MODEL).feed("error", json.dumps(data))
    assert caught.value.details["reason"] == "server"


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("message_start", "no json"),
        ("message_start", "[]"),
        ("message_start", '{"type": "message_start"}'),
        ("content_block_start", '{"type": "content_block_start", "index": "0", "content_block": {"type": "text"}}'),
        ("content_block_start", '{"type": "content_block_start", "index": 0, "content_block": 7}'),
        ("content_block_delta", '{"type": "content_block_delta", "index": 3, "delta": {}}'),
        ("content_block_delta", "[" * 5000),
        ("", '{"error": {"message": "broken"}}'),
    ],
)
def test_an_event_that_is_none_is_an_error(event: str, data: str) -> None:
    with pytest.raises(ModelError, match="anthropic"):
        DIALECT.reader(REQUEST, MODEL).feed(event, data)


# Export.parse


def test_an_export_parses_answers_messages_and_blocks() -> None:
    call = ToolCall("toolu_1", "a.dd", {"a": 2, "b": 3})
    message = {"role": "assistant", "content": [TEXT, USE]}
    for value in (
        message,
        {**message, "stop_reason": "tool_use"},
        [USE],
        json.dumps(message),
        json.dumps([USE]).encode(),
    ):
        assert list(EXPORT.parse(value)) == [call]


def test_a_message_of_text_alone_has_no_calls() -> None:
    assert list(EXPORT.parse({"role": "assistant", "content": "Hello"})) == []


@pytest.mark.parametrize("value", ["{", 7, None, [7], {"content": 7}])
def test_an_export_answers_what_is_not_a_message_with_an_error(value: Any) -> None:
    (result,) = EXPORT.parse(value)
    assert isinstance(result, ToolResult)
    assert not result.ok


# Any JSON

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "new"])
MEMBERS = st.sampled_from(["text", "thinking", "signature", "id", "name", "input", "data", "citations"])
BLOCKS = st.one_of(JSON, st.builds(lambda kind, rest: {**rest, "type": kind}, KINDS, st.dictionaries(MEMBERS, JSON)))
ANSWERS = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {"content": st.lists(BLOCKS, max_size=4)},
        optional={"stop_reason": JSON, "usage": JSON, "type": JSON},
    ),
)
DELTAS = st.one_of(
    JSON,
    st.builds(
        lambda kind, rest: {**rest, "type": kind},
        st.sampled_from(["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"]),
        st.dictionaries(st.sampled_from(["text", "thinking", "signature", "partial_json", "citation"]), JSON),
    ),
)
PARTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("content_block_start"), "content_block": BLOCKS}),
    st.fixed_dictionaries({"type": st.just("content_block_delta"), "delta": DELTAS}),
    st.fixed_dictionaries({"type": st.just("content_block_stop")}),
)
EVENTS = st.one_of(
    JSON,
    st.builds(lambda part, index: {**part, "index": index}, PARTS, st.integers(0, 2)),
    st.fixed_dictionaries({"type": st.just("message_delta"), "delta": JSON, "usage": JSON}),
    st.just(start()),
    st.just(end()[0]),
)


def holds(reply: Reply) -> None:
    """Every call has its answer or is one, under one id that no other has, and the turn is JSON."""
    assert [call.id for call in reply.message.calls] == [call.id for call in reply.calls]
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    for call in reply.message.calls:
        assert isinstance(call.arguments, dict)
    json.dumps(reply.message.raw)


@settings(max_examples=150)
@given(ANSWERS)
def test_any_json_is_a_reply_or_a_model_error(answer: Any) -> None:
    """Whatever JSON a server sends as an answer is a `Reply` or a `ModelError`."""
    try:
        reply = DIALECT.read(answer, REQUEST, MODEL)
    except ModelError:
        return
    holds(reply)


@settings(max_examples=200)
@given(st.lists(EVENTS, max_size=8))
def test_any_events_are_a_reply_or_a_model_error(values: list[Any]) -> None:
    """Whatever JSON a server streams is a `Reply` or a `ModelError`."""
    reader = DIALECT.reader(REQUEST, MODEL)
    try:
        for value in values:
            list(reader.feed("", json.dumps(value)))
        reply = reader.close()
    except ModelError:
        return
    holds(reply)
