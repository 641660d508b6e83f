"""Streams of chat completions as servers send them, not as the reference has them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolCall, ToolResult
from pegboard_chat import CallDelta, Conversation, ModelError, ModelRequest, Stop, TextDelta, ThinkingDelta
from pegboard_openai._chat import ChatDialect
from pegboard_openai._flavours import COMPATIBLE

MODEL = "openai:gpt"
NO_TOOLS = ModelRequest(Conversation().ask("Hello"))


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    """One piece of a call; what is None is not there."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    head = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return chunk(tool_calls=[{**head, "type": "function", "function": function}])


END = chunk("tool_calls")
A, B = {"notation": "2d6"}, {"notation": "1d20", "times": 2}
A_TEXT, B_TEXT = json.dumps(A), json.dumps(B)

SERVERS = {
    "by the reference": [
        piece(0, "a", "roll_dice", ""),
        piece(0, None, None, A_TEXT[:7]),
        piece(0, None, None, A_TEXT[7:]),
        piece(1, "b", "roll_dice", ""),
        piece(1, None, None, B_TEXT),
    ],
    "pieces of both calls by turns": [
        piece(0, "a", "roll_dice", A_TEXT[:4]),
        piece(1, "b", "roll_dice", B_TEXT[:5]),
        piece(0, None, None, A_TEXT[4:]),
        piece(1, None, None, B_TEXT[5:]),
    ],
    "whole calls, index 0 for all (Ollama)": [
        piece(0, "a", "roll_dice", A_TEXT),
        piece(0, "b", "roll_dice", B_TEXT),
    ],
    "index 0 for all, name first (a proxy)": [
        piece(0, "a", "roll_dice", ""),
        piece(0, None, None, A_TEXT),
        piece(0, "b", "roll_dice", ""),
        piece(0, None, None, B_TEXT),
    ],
    "no index (Gemini by its compatible API)": [
        piece(None, "a", "roll_dice", A_TEXT[:3]),
        piece(None, None, None, A_TEXT[3:]),
        piece(None, "b", "roll_dice", B_TEXT),
    ],
    "no index, whole calls in one piece (Mistral)": [
        chunk(
            tool_calls=[
                {"id": "a", "function": {"name": "roll_dice", "arguments": A_TEXT}},
                {"id": "b", "function": {"name": "roll_dice", "arguments": B_TEXT}},
            ]
        ),
    ],
    "no index, the id in every piece": [
        piece(None, "a", "roll_dice", A_TEXT[:3]),
        piece(None, "b", "roll_dice", B_TEXT[:3]),
        piece(None, "a", None, A_TEXT[3:]),
        piece(None, "b", None, B_TEXT[3:]),
    ],
    "the id and the name in every piece": [
        piece(0, "a", "roll_dice", A_TEXT[:3]),
        piece(0, "a", "roll_dice", A_TEXT[3:]),
        piece(1, "b", "roll_dice", B_TEXT[:9]),
        piece(1, "b", "roll_dice", B_TEXT[9:]),
    ],
    "the id late": [
        piece(0, None, "roll_dice", A_TEXT[:3]),
        piece(0, "a", None, A_TEXT[3:]),
        piece(1, None, "roll_dice", ""),
        piece(1, "b", None, B_TEXT),
    ],
    "the name late": [
        piece(0, "a", None, A_TEXT[:3]),
        piece(0, None, "roll_dice", A_TEXT[3:]),
        piece(1, "b", None, B_TEXT),
        piece(1, None, "roll_dice", None),
    ],
    "the name in two pieces": [
        piece(0, "a", "roll_", None),
        piece(0, None, "dice", None),
        piece(0, None, None, A_TEXT),
        piece(1, "b", "roll_dice", B_TEXT),
    ],
    "a new id in every piece (vLLM)": [
        piece(0, "a", "roll_dice", A_TEXT[:3]),
        piece(0, "x1", None, A_TEXT[3:7]),
        piece(0, "x2", None, A_TEXT[7:]),
        piece(1, "b", "roll_dice", B_TEXT),
    ],
    "arguments that are an object": [
        piece(0, "a", "roll_dice", A),
        piece(1, "b", "roll_dice", B),
    ],
    "the whole call once more": [
        piece(0, "a", "roll_dice", A_TEXT),
        piece(0, "a", "roll_dice", A_TEXT),
        piece(1, "b", "roll_dice", B_TEXT),
    ],
}


@pytest.mark.parametrize("chunks", SERVERS.values(), ids=SERVERS)
def test_two_calls_are_two_calls_however_a_server_cuts_them(ask, stream, chunks) -> None:
    dialect = ChatDialect(COMPATIBLE)
    deltas, reply = stream(dialect.reader(ask(dialect), MODEL), [*chunks, END])
    assert reply.calls == (ToolCall("a", "roll_dice", A), ToolCall("b", "roll_dice", B))
    assert reply.message.calls == reply.calls
    assert reply.stop is Stop.CALLS
    for position, value in enumerate((A, B)):
        said = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.position == position]
        assert [delta.name for delta in said] == ["roll_dice"] + [""] * (len(said) - 1)
        assert json.loads("".join(delta.arguments for delta in said)) == value


def test_calls_without_ids_get_some_of_their_own(ask, stream) -> None:
    dialect = ChatDialect(COMPATIBLE)
    chunks = [piece(None, None, "roll_dice", A_TEXT), piece(None, None, "roll_dice", B_TEXT), END]
    _, reply = stream(dialect.reader(ask(dialect), MODEL), chunks)
    first, second = reply.calls
    assert (first.arguments, second.arguments) == (A, B)
    assert len({first.id, second.id, ""}) == 3
    assert [call["id"] for call in reply.message.raw["tool_calls"]] == [first.id, second.id]


def test_calls_of_a_tool_without_parameters_are_told_apart_by_their_ids(ask, stream) -> None:
    dialect = ChatDialect(COMPATIBLE)
    _, reply = stream(dialect.reader(ask(dialect), MODEL), [piece(0, "a", "now", ""), piece(0, "b", "now", ""), END])
    assert reply.calls == (ToolCall("a", "now", {}), ToolCall("b", "now", {}))


def test_text_thoughts_and_usage_come_as_they_are_sent(ask, stream) -> None:
    dialect = ChatDialect(COMPATIBLE, "deepseek")
    chunks = [
        chunk(role="assistant", content=None),
        chunk(reasoning_content="Hm. "),
        chunk(reasoning_content="Yes."),
        chunk(content="It "),
        chunk(content="is 7.", finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 3}},
    ]
    deltas, reply = stream(dialect.reader(ask(dialect), "deepseek:chat"), chunks)
    assert deltas == [ThinkingDelta("Hm. "), ThinkingDelta("Yes."), TextDelta("It "), TextDelta("is 7.")]
    assert reply.message.text == "It is 7."
    assert reply.message.raw == {"role": "assistant", "content": "It is 7.", "reasoning_content": "Hm. Yes."}
    assert reply.stop is Stop.END
    assert reply.usage.to_json() == {"input_tokens": 10, "output_tokens": 4, "cached_tokens": 3}


def test_thoughts_are_kept_under_the_name_that_the_server_has_for_them(stream) -> None:
    chunks = [chunk(reasoning="Hm"), chunk("stop", content="7", reasoning=None)]
    deltas, reply = stream(ChatDialect(COMPATIBLE).reader(NO_TOOLS, MODEL), chunks)
    assert deltas == [ThinkingDelta("Hm"), TextDelta("7")]
    assert reply.message.raw == {"role": "assistant", "content": "7", "reasoning": "Hm"}


@pytest.mark.parametrize(
    "usage",
    [
        [{"choices": [], "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}}],
        [{"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}]}],
        [{"usage": {"prompt_tokens": 1}, "choices": []}, {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}],
    ],
    ids=["Groq", "Kimi", "in every piece"],
)
def test_usage_is_found_where_servers_put_it(stream, usage) -> None:
    _, reply = stream(ChatDialect().reader(NO_TOOLS, MODEL), [chunk(content="x", finish="stop"), *usage])
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 2)


def test_usage_that_is_missing_counts_as_nothing(stream) -> None:
    _, reply = stream(ChatDialect().reader(NO_TOOLS, MODEL), [chunk(content="x", finish="stop")])
    assert reply.usage.total_tokens == 0


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", Stop.END),
        ("length", Stop.LENGTH),
        ("model_length", Stop.LENGTH),
        ("content_filter", Stop.REFUSED),
        ("tool_calls", Stop.END),
        ("insufficient_system_resource", Stop.OTHER),
    ],
)
def test_the_reason_to_end_is_told(stream, finish, stop) -> None:
    assert stream(ChatDialect().reader(NO_TOOLS, MODEL), [chunk(finish, content="x")])[1].stop is stop


def test_a_turn_with_calls_stops_for_them_though_the_server_says_stop(ask, stream) -> None:
    dialect = ChatDialect()
    chunks = [piece(0, "a", "now", "{}"), chunk("stop")]
    assert stream(dialect.reader(ask(dialect), MODEL), chunks)[1].stop is Stop.CALLS


def test_a_call_that_the_limit_cut_off_is_an_error_and_goes_back_as_json(ask, stream) -> None:
    dialect = ChatDialect()
    chunks = [piece(0, "a", "roll_dice", '{"notation": "2'), chunk("length")]
    _, reply = stream(dialect.reader(ask(dialect), MODEL), chunks)
    (answer,) = reply.calls
    assert isinstance(answer, ToolResult)
    assert answer.error.code == "INVALID_INPUT"
    assert (answer.id, answer.name) == ("a", "roll_dice")
    assert reply.message.calls == (ToolCall("a", "roll_dice", {"INVALID_JSON": '{"notation": "2'}),)
    sent = reply.message.raw["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"INVALID_JSON": '{"notation": "2'}
    assert reply.stop is Stop.LENGTH


def test_a_refusal_is_shown_and_told(stream) -> None:
    deltas, reply = stream(
        ChatDialect().reader(NO_TOOLS, MODEL), [chunk(refusal="I "), chunk("stop", refusal="won't.")]
    )
    assert deltas == [TextDelta("I "), TextDelta("won't.")]
    assert reply.message.text == "I won't."
    assert reply.message.raw == {"role": "assistant", "content": None, "refusal": "I won't."}
    assert reply.stop is Stop.REFUSED


def test_content_that_is_a_list_is_text_and_thoughts(stream) -> None:
    chunks = [
        chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]),
        chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}]),
        chunk(content=[{"type": "text", "text": "It is "}, {"type": "reference", "reference_ids": [1]}]),
        chunk("stop", content="7."),
    ]
    deltas, reply = stream(ChatDialect().reader(NO_TOOLS, "mistral:magistral"), chunks)
    assert deltas == [ThinkingDelta("Hm"), ThinkingDelta("m"), TextDelta("It is "), TextDelta("7.")]
    assert reply.message.raw["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm"}]},
        {"type": "text", "text": "It is 7."},
    ]


def test_the_end_may_lack_its_mark_or_its_reason_but_not_both(stream) -> None:
    reader = ChatDialect().reader
    assert stream(reader(NO_TOOLS, MODEL), [chunk("stop", content="x")], done=False)[1].message.text == "x"
    assert stream(reader(NO_TOOLS, MODEL), [chunk(content="x")])[1].stop is Stop.END
    with pytest.raises(ModelError) as caught:
        stream(reader(NO_TOOLS, MODEL), [chunk(content="x")], done=False)
    assert caught.value.details["reason"] == "half_answer"
    assert caught.value.details["provider"] == "openai"


def test_nothing_counts_after_the_end() -> None:
    reader = ChatDialect().reader(NO_TOOLS, MODEL)
    reader.feed("", json.dumps(chunk("stop", content="x")))
    reader.feed("", "[DONE]")
    assert reader.done
    assert list(reader.feed("", "rubbish")) == []
    assert reader.close().message.text == "x"


def test_an_answer_that_was_not_cut_may_stand_in_a_stream(stream) -> None:
    whole = {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}
    deltas, reply = stream(ChatDialect().reader(NO_TOOLS, MODEL), [whole])
    assert deltas == [TextDelta("x")]
    assert reply.message.text == "x"


def test_other_choices_are_passed_over(stream) -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "no"}}]}
    assert stream(ChatDialect().reader(NO_TOOLS, MODEL), [second, chunk("stop", content="x")])[1].message.text == "x"


@pytest.mark.parametrize(
    ("event", "data", "says"),
    [
        ("", {"error": {"message": "the model crashed", "type": "server_error"}}, "the model crashed"),
        ("", {"error": "out of memory"}, "out of memory"),
        ("error", {"message": "tool_use_failed", "status_code": 400}, "tool_use_failed"),
        ("", {"object": "error", "message": "too long"}, "too long"),
        ("", {"choices": [{"error": {"code": 502, "message": "upstream"}, "finish_reason": "error"}]}, "upstream"),
        ("", ["no", "chunk"], "not an object"),
    ],
)
def test_an_error_in_the_middle_names_the_provider(event, data, says) -> None:
    reader = ChatDialect().reader(NO_TOOLS, "groq:llama")
    reader.feed("", json.dumps(chunk(content="It ")))
    with pytest.raises(ModelError) as caught:
        reader.feed(event, json.dumps(data))
    assert says in caught.value.message
    assert caught.value.details["provider"] == "groq"


def test_what_is_not_json_is_an_error_and_half_a_character_is_none(stream) -> None:
    with pytest.raises(ModelError) as caught:
        ChatDialect().reader(NO_TOOLS, MODEL).feed("", "<html>")
    assert caught.value.details["reason"] == "no_json"
    reader = ChatDialect().reader(NO_TOOLS, MODEL)
    reader.feed("", '{"choices": [{"delta": {"content": "a\\ud83d"}}]}')
    reader.feed("", '{"choices": [{"delta": {"content": "b"}, "finish_reason": "stop"}]}')
    assert reader.close().message.text == "a\ufffdb"


def test_a_hundred_calls_are_taken_and_more_than_a_thousand_are_an_error(ask, stream) -> None:
    dialect = ChatDialect()
    chunks = [piece(n, f"c{n}", "now", "{}") for n in range(1_001)]
    _, reply = stream(dialect.reader(ask(dialect), MODEL), [*chunks[:100], END])
    assert [call.id for call in reply.calls] == [f"c{n}" for n in range(100)]
    with pytest.raises(ModelError, match="more than 1,000 calls"):
        stream(dialect.reader(ask(dialect), MODEL), chunks)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    *("choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "index", "id"),
    *("finish_reason", "usage", "prompt_tokens", "refusal", "reasoning", "reasoning_content", "type", "text"),
    *("thinking", "function_call", "x_groq", "reasoning_details", "prompt_tokens_details", "cached_tokens"),
)
NEAR = st.recursive(
    JUNK | st.sampled_from(["roll_dice", "now", "{}", '{"a": 1}', '{"', "text", "thinking", "stop", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)
DELTAS = st.dictionaries(st.sampled_from(KEYS), NEAR, max_size=4)
CHUNKS = NEAR | DELTAS.map(lambda delta: {"choices": [{"delta": delta}]})


@settings(max_examples=120)
@given(chunks=st.lists(CHUNKS, max_size=5), done=st.booleans())
def test_any_json_of_a_server_gives_a_reply_or_a_model_error(chunks, done) -> None:
    """Whatever JSON is streamed, there is a `Reply` whose every call is answered or called, or a `ModelError`."""
    reader = ChatDialect().reader(NO_TOOLS, MODEL)
    try:
        for one in chunks:
            list(reader.feed("", json.dumps(one)))
        if done:
            reader.feed("", "[DONE]")
        reply = reader.close()
    except ModelError:
        return
    assert [call.id for call in reply.message.calls] == [call.id for call in reply.calls]
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    json.dumps(reply.message.to_json(), allow_nan=False).encode()
    for call in reply.message.raw.get("tool_calls", ()):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


@settings(max_examples=120)
@given(data=st.data())
def test_any_split_of_an_answer_gives_the_reply_of_the_whole(data) -> None:
    """However text, thoughts and calls are cut, the reply is that of the answer that was not streamed."""
    text = data.draw(st.text(st.characters(exclude_categories=("Cs",)), max_size=20))
    thought = data.draw(st.text("abc ", max_size=10))
    arguments = st.dictionaries(st.sampled_from('abc{}"\\'), st.text('{}"\\a', max_size=6) | st.integers(), max_size=3)
    texts = data.draw(st.lists(arguments.map(json.dumps) | st.text('{}"a:', max_size=6), max_size=3))
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "roll_dice", "arguments": one}}
        for n, one in enumerate(texts)
    ]
    usage = {"prompt_tokens": 5, "completion_tokens": 3}
    message = {"content": text, "reasoning_content": thought, "tool_calls": calls}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}

    def cut(value: str) -> list[str]:
        at = sorted(data.draw(st.lists(st.integers(0, len(value)), max_size=4)))
        return [value[start:end] for start, end in zip([0, *at], [*at, len(value)], strict=True)]

    chunks = [chunk(reasoning_content=one) for one in cut(thought)] + [chunk(content=one) for one in cut(text)]
    for n, one in enumerate(texts):
        chunks.append(piece(n, f"c{n}", "roll_dice", ""))
        chunks += [piece(n, None, None, part) for part in cut(one)]
    dialect = ChatDialect(COMPATIBLE)
    reader = dialect.reader(NO_TOOLS, MODEL)
    deltas = [
        delta for one in [*chunks, {**chunk("stop"), "usage": usage}] for delta in reader.feed("", json.dumps(one))
    ]
    assert reader.close() == dialect.read(answer, NO_TOOLS, MODEL)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == text
    for n, one in enumerate(texts):
        assert "".join(d.arguments for d in deltas if isinstance(d, CallDelta) and d.position == n) == one
