"""What comes back from Cohere: whole, streamed, broken, and anything else that is JSON."""

from __future__ import annotations

import itertools
import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, TextContent, ToolCall, ToolResult
from pegboard_chat import (
    CallDelta,
    Conversation,
    Message,
    ModelError,
    ModelRequest,
    Reply,
    Stop,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from pegboard_chat.wire.sse import SseReader
from pegboard_cohere.dialect import CohereDialect

MODEL = "cohere:command-a-03-2025"
dialect = CohereDialect()


def request_of(tools: Any = ()) -> ModelRequest:
    return ModelRequest(Conversation().ask("hello"), dialect.export(tools) if tools else None)


def call_of(name: str, arguments: Any, id: str = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answer_of(reason: str = "COMPLETE", **message: Any) -> dict[str, Any]:
    usage = {
        "billed_units": {"input_tokens": 4, "output_tokens": 2},
        "tokens": {"input_tokens": 1441.0, "output_tokens": 54},
        "cached_tokens": 144,
    }
    return {"id": "r", "finish_reason": reason, "message": {"role": "assistant", **message}, "usage": usage}


def events_of(answer: dict[str, Any], cut: Any = lambda text: [text]) -> list[dict[str, Any]]:
    """An answer as the API streams it; `cut` says how texts are cut."""
    message = answer["message"]
    events: list[dict[str, Any]] = [{"type": "message-start", "id": "r", "delta": {"message": {"role": "assistant"}}}]
    for piece in cut(message.get("tool_plan", "")):
        events.append({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}})
    for index, block in enumerate(message.get("content", [])):
        kind = block["type"]
        start = {"type": kind, kind: ""}
        events.append({"type": "content-start", "index": index, "delta": {"message": {"content": start}}})
        for piece in cut(block[kind]):
            delta = {"message": {"content": {kind: piece}}}
            events.append({"type": "content-delta", "index": index, "delta": delta})
        events.append({"type": "content-end", "index": index})
    for index, call in enumerate(message.get("tool_calls", [])):
        begun = {**call, "function": {**call["function"], "arguments": ""}}
        events.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": begun}}})
        for piece in cut(call["function"]["arguments"]):
            delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
            events.append({"type": "tool-call-delta", "index": index, "delta": delta})
        events.append({"type": "tool-call-end", "index": index})
    events.append({"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"start": 0, "end": 1}}}})
    events.append({"type": "citation-end", "index": 0})
    end = {"finish_reason": answer["finish_reason"], "usage": answer["usage"]}
    return [*events, {"type": "message-end", "id": "r", "delta": end}]


def read_stream(data: bytes, request: ModelRequest, cuts: list[int] | None = None) -> tuple[list[Any], Reply]:
    sse, reader, deltas = SseReader("cohere"), dialect.reader(request, MODEL), list[Any]()
    for start, end in itertools.pairwise([0, *sorted(cuts or []), len(data)]):
        for name, text in sse.feed(data[start:end]):
            deltas += reader.feed(name, text)
    for name, text in sse.close():
        deltas += reader.feed(name, text)
    return deltas, reader.close()


def without_drawn_ids(reply: Reply) -> Any:
    """A reply whose ids are positions: those that the provider did not give are drawn anew each time."""
    raw = json.loads(json.dumps(reply.message.raw))
    for at, call in enumerate((raw or {}).get("tool_calls", [])):
        call["id"] = str(at)
    calls = tuple(attrs.evolve(call, id=str(at)) for at, call in enumerate(reply.message.calls))
    answers = tuple(
        attrs.evolve(call, id=str(at))
        if isinstance(call, ToolCall)
        else ToolResult(call.content, None, call.error, None, str(at), call.name)
        for at, call in enumerate(reply.calls)
    )
    return attrs.evolve(reply, message=attrs.evolve(reply.message, calls=calls, raw=raw), calls=answers)


class TestWholeAnswers:
    def test_text_and_usage_are_read_and_citations_left_out(self) -> None:
        citations = [{"start": 0, "end": 2, "text": "Hi", "sources": []}]
        reply = dialect.read(
            answer_of(content=[{"type": "text", "text": "Hi"}], citations=citations), request_of(), MODEL
        )
        assert reply.message.content == (TextContent("Hi"),)
        assert reply.message.raw == {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}
        assert reply.usage == Usage(1441, 54, 144)
        assert reply.stop is Stop.END

    def test_billed_units_stand_in_where_tokens_are_not_told(self) -> None:
        answer = {**answer_of(content="Hi"), "usage": {"billed_units": {"input_tokens": 4, "output_tokens": 2}}}
        assert dialect.read(answer, request_of(), MODEL).usage == Usage(4, 2)

    def test_a_call_with_its_plan_goes_back_as_it_came(self, tools: Any) -> None:
        calls = [call_of("add", '{"a":1}'), call_of("draw_it_9e315a0a", '{"what": "a cat"}', "c2")]
        reply = dialect.read(answer_of("TOOL_CALL", tool_calls=calls, tool_plan="I add."), request_of(tools), MODEL)
        assert reply.message.raw == {"role": "assistant", "tool_calls": calls, "tool_plan": "I add."}
        assert reply.calls == (ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "draw.it", {"what": "a cat"}))
        assert reply.message.calls == reply.calls
        assert reply.message.content == ()
        assert reply.stop is Stop.CALLS

    def test_text_beside_calls_becomes_the_plan(self, tools: Any) -> None:
        content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I ping."}]
        answer = answer_of("TOOL_CALL", tool_calls=[call_of("add", '{"a": 1}')], content=content)
        reply = dialect.read(answer, request_of(tools), MODEL)
        assert reply.message.raw["tool_plan"] == "I ping."
        assert reply.message.raw["content"] == [{"type": "thinking", "thinking": "Hm."}]
        assert reply.message.text == "I ping."

    @pytest.mark.parametrize(
        ("arguments", "kept"),
        [
            ('{"a": 1, "b', {"INVALID_JSON": '{"a": 1, "b'}),
            ("[1]", {"INVALID_JSON": "[1]"}),
            (7, {"INVALID_JSON": "7"}),
        ],
    )
    def test_arguments_that_are_no_object_are_answered_and_can_be_repeated(
        self, tools: Any, arguments: Any, kept: Any
    ) -> None:
        reply = dialect.read(answer_of("MAX_TOKENS", tool_calls=[call_of("add", arguments)]), request_of(tools), MODEL)
        (result,) = reply.calls
        assert isinstance(result, ToolResult)
        assert result.error is not None
        assert result.error.code is ErrorCode.INVALID_INPUT
        assert (result.id, result.name) == ("c1", "add")
        assert reply.message.calls == (ToolCall("c1", "add", kept),)
        assert json.loads(reply.message.raw["tool_calls"][0]["function"]["arguments"]) == kept
        assert reply.stop is Stop.LENGTH

    def test_a_call_without_arguments_has_none(self, tools: Any) -> None:
        for arguments in (None, "", " ", {}):
            answer = answer_of("TOOL_CALL", tool_calls=[call_of("add", arguments)])
            reply = dialect.read(answer, request_of(tools), MODEL)
            assert [call.arguments for call in reply.message.calls] == [{}]
            assert json.loads(reply.message.raw["tool_calls"][0]["function"]["arguments"]) == {}

    def test_calls_without_ids_or_names_get_them(self, tools: Any) -> None:
        calls = [{"function": {"name": "add", "arguments": "{}"}}, call_of("add", "{}", ""), {}, None]
        reply = dialect.read(answer_of("TOOL_CALL", tool_calls=calls), request_of(tools), MODEL)
        ids = [call.id for call in reply.message.calls]
        assert all(ids)
        assert len(set(ids)) == 4
        assert [call["id"] for call in reply.message.raw["tool_calls"]] == ids
        assert [call.name for call in reply.calls] == ["add", "add", "no_name", "no_name"]

    def test_thinking_without_an_answer_leaves_no_turn(self) -> None:
        answer = answer_of("MAX_TOKENS", content=[{"type": "thinking", "thinking": "Hm"}])
        reply = dialect.read(answer, request_of(), MODEL)
        assert (reply.message.raw, reply.message.content, reply.stop) == (None, (), Stop.LENGTH)

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("STOP_SEQUENCE", Stop.END),
            ("MAX_TOKENS", Stop.LENGTH),
            ("ERROR_TOXIC", Stop.REFUSED),
            ("TOOL_CALL", Stop.OTHER),
            ("A_NEW_ONE", Stop.OTHER),
        ],
    )
    def test_reasons_to_finish(self, reason: str, stop: Stop) -> None:
        assert dialect.read(answer_of(reason, content="x"), request_of(), MODEL).stop is stop

    @pytest.mark.parametrize(("reason", "code"), [("ERROR", ErrorCode.UPSTREAM_ERROR), ("TIMEOUT", ErrorCode.TIMEOUT)])
    def test_reasons_that_are_errors(self, reason: str, code: ErrorCode) -> None:
        with pytest.raises(ModelError) as caught:
            dialect.read(answer_of(reason, content="x"), request_of(), MODEL)
        assert caught.value.code is code


class TestStreams:
    def test_deltas_come_with_their_events_and_the_reply_last(self, tools: Any, stream_of: Any) -> None:
        calls = [call_of("add", '{"a":1}'), call_of("draw_it_9e315a0a", "{}", "c2")]
        answer = answer_of("TOOL_CALL", tool_plan="I add.", tool_calls=calls)
        deltas, reply = read_stream(stream_of(events_of(answer)), request_of(tools))
        assert deltas == [
            ThinkingDelta("I add."),
            CallDelta(0, "add", ""),
            CallDelta(0, "", '{"a":1}'),
            CallDelta(1, "draw.it", ""),
            CallDelta(1, "", "{}"),
        ]
        assert reply == dialect.read(answer, request_of(tools), MODEL)

    def test_thinking_is_not_text(self, stream_of: Any) -> None:
        content = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes"}]
        deltas, reply = read_stream(stream_of(events_of(answer_of(content=content))), request_of())
        assert deltas == [ThinkingDelta("Hm."), TextDelta("Yes")]
        assert reply.message.raw == {"role": "assistant", "content": content}
        assert reply.message.text == "Yes"

    def test_text_that_stands_in_the_start_counts(self) -> None:
        reader = dialect.reader(request_of(), MODEL)
        start = {"type": "content-start", "delta": {"message": {"content": {"type": "text", "text": "He"}}}}
        assert reader.feed("content-start", json.dumps(start)) == [TextDelta("He")]

    def test_the_reader_is_done_with_the_last_event(self) -> None:
        reader: Any = dialect.reader(request_of(), MODEL)
        assert not reader.done
        reader.feed("", json.dumps({"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}))
        assert reader.done
        assert reader.close().message.raw is None

    def test_a_stream_that_breaks_off_is_half_an_answer(self, stream_of: Any) -> None:
        events = events_of(answer_of(content=[{"type": "text", "text": "It"}]))[:-1]
        with pytest.raises(ModelError) as caught:
            read_stream(stream_of(events), request_of())
        assert caught.value.details["reason"] == "half_answer"

    def test_an_error_at_the_end_is_raised_with_its_words(self) -> None:
        reader = dialect.reader(request_of(), MODEL)
        end = {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "it broke"}}
        with pytest.raises(ModelError, match="it broke") as caught:
            reader.feed("message-end", json.dumps(end))
        assert caught.value.details["provider"] == "cohere"

    @pytest.mark.parametrize(("event", "data"), [("error", {"message": "overloaded"}), ("", {"message": "overloaded"})])
    def test_an_error_in_the_middle_is_raised(self, event: str, data: Any) -> None:
        with pytest.raises(ModelError, match="overloaded"):
            dialect.reader(request_of(), MODEL).feed(event, json.dumps(data))

    def test_an_event_that_is_not_json_is_an_error(self) -> None:
        reader = dialect.reader(request_of(), MODEL)
        assert list(reader.feed("", "[DONE]")) == list(reader.feed("debug", '{"type": "debug"}')) == []
        with pytest.raises(ModelError) as caught:
            reader.feed("", "<html>")
        assert caught.value.details["reason"] == "no_json"

    def test_calls_without_an_index_are_told_apart_by_their_beginning(self, tools: Any) -> None:
        reader = dialect.reader(request_of(tools), MODEL)
        for name in ("add", "draw_it_9e315a0a"):
            begun = {"type": "tool-call-start", "delta": {"message": {"tool_calls": call_of(name, "", name)}}}
            piece = {"function": {"arguments": '{"a": 1}'}}
            reader.feed("", json.dumps(begun))
            reader.feed("", json.dumps({"type": "tool-call-delta", "delta": {"message": {"tool_calls": piece}}}))
        reader.feed("", json.dumps({"type": "message-end", "delta": {}}))
        assert [call.name for call in reader.close().message.calls] == ["add", "draw.it"]

    def test_many_pieces_take_no_time(self, tools: Any, stream_of: Any) -> None:
        arguments = json.dumps({"a": 1, "note": "word " * 200_000})
        answer = answer_of("TOOL_CALL", tool_calls=[call_of("add", arguments)])
        events = events_of(answer, lambda text: [text[at : at + 100] for at in range(0, len(text), 100)])
        _, reply = read_stream(stream_of(events), request_of(tools))
        assert len(reply.message.calls[0].arguments["note"]) == 1_000_000


def test_an_error_with_200_is_raised() -> None:
    with pytest.raises(ModelError, match="invalid api token") as caught:
        dialect.read({"id": "x", "message": "invalid api token"}, request_of(), MODEL)
    assert caught.value.details["provider"] == "cohere"


@pytest.mark.parametrize("answer", [None, 7, "text", [], {}, {"message": None}])
def test_what_is_not_an_answer_is_an_error(answer: Any) -> None:
    with pytest.raises(ModelError) as caught:
        dialect.read(answer, request_of(), MODEL)
    assert caught.value.details["reason"] == "no_json"


def test_an_export_parses_messages_and_answers(tools: Any) -> None:
    export = dialect.export(tools)
    message = {"role": "assistant", "tool_calls": [call_of("add", '{"a": 1}')]}
    assert list(export.parse(message)) == list(export.parse({"message": message})) == [ToolCall("c1", "add", {"a": 1})]
    assert list(export.parse(json.dumps({"message": message}))) == [ToolCall("c1", "add", {"a": 1})]
    assert list(export.parse({"content": "Hello"})) == []


@pytest.mark.parametrize("message", ["nonsense", "{", b"\xff", 7, None])
def test_what_is_not_a_message_is_an_error_result(tools: Any, message: Any) -> None:
    (result,) = dialect.export(tools).parse(message)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert "the message" in result.error.message or "a message" in result.error.message


WORDS = st.sampled_from(
    [
        *(
            "message",
            "content",
            "type",
            "text",
            "thinking",
            "tool_calls",
            "function",
            "name",
            "arguments",
            "id",
            "index",
        ),
        *("finish_reason", "usage", "tokens", "input_tokens", "delta", "tool_plan", "error", "citations", "role"),
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["", "COMPLETE", "TOOL_CALL", "ERROR", "add", "{", '{"a": 1}', "text", "thinking", "é", "tool-call-start"]
    ),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "id": SCALARS,
        "function": VALUES | st.fixed_dictionaries({}, optional={"name": SCALARS, "arguments": VALUES}),
    },
)
MESSAGES = VALUES | st.fixed_dictionaries(
    {}, optional={"content": VALUES, "tool_plan": SCALARS, "tool_calls": st.lists(CALLS | VALUES, max_size=4) | VALUES}
)
ANSWERS = VALUES | st.fixed_dictionaries({"message": MESSAGES}, optional={"finish_reason": SCALARS, "usage": VALUES})
KINDS = st.sampled_from(
    [
        *("message-start", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start"),
        *("tool-call-delta", "tool-call-end", "citation-start", "message-end", "something-new"),
    ]
)
EVENTS = st.fixed_dictionaries(
    {"type": KINDS},
    optional={
        "index": SCALARS,
        "delta": VALUES
        | st.fixed_dictionaries(
            {"message": st.fixed_dictionaries({}, optional={"content": VALUES, "tool_calls": CALLS | VALUES})}
        ),
    },
)


def sent_back(reply: Reply, request: ModelRequest, held: Any) -> None:
    """The reply's calls match, and the conversation goes on with a body that the SDK's types know."""
    assert [call.id for call in reply.calls] == [call.id for call in reply.message.calls]
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    results = tuple(ToolResult((TextContent("x"),), id=call.id, name=call.name) for call in reply.message.calls)
    said = request.conversation.add(reply.message)
    said = said.add(Message("tool", results=results)) if results else said
    again = Conversation.from_json(json.loads(json.dumps(said.to_json())))
    held(dialect.body(ModelRequest(again, request.export), "command-a-03-2025"))


@settings(max_examples=150)
@given(answer=ANSWERS)
def test_any_json_of_a_server_is_a_reply_or_a_model_error(tools: Any, held: Any, answer: Any) -> None:
    """Whatever comes is a `Reply` that can be sent back, or a `ModelError`."""
    request = request_of(tools)
    try:
        reply = dialect.read(answer, request, MODEL)
    except ModelError:
        return
    sent_back(reply, request, held)


@settings(max_examples=100)
@given(events=st.lists(EVENTS | VALUES, max_size=6))
def test_any_events_of_a_server_are_a_reply_or_a_model_error(tools: Any, held: Any, events: Any) -> None:
    """Whatever a stream brings, it ends in a `Reply` that can be sent back, or in a `ModelError`."""
    request = request_of(tools)
    reader = dialect.reader(request, MODEL)
    try:
        for event in [*events, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}]:
            reader.feed("", json.dumps(event))
        reply = reader.close()
    except ModelError:
        return
    sent_back(reply, request, held)


TEXTS = st.text(max_size=6)
GOOD = st.fixed_dictionaries(
    {},
    optional={
        "tool_plan": TEXTS,
        "content": st.lists(
            st.builds(lambda text: {"type": "text", "text": text}, TEXTS)
            | st.builds(lambda text: {"type": "thinking", "thinking": text}, TEXTS),
            max_size=3,
        ),
        "tool_calls": st.lists(
            st.builds(call_of, st.sampled_from(["add", "gone", ""]), TEXTS | st.just('{"a": 1}'), TEXTS), max_size=3
        ),
    },
)


@settings(max_examples=80)
@given(data=st.data(), message=GOOD)
def test_any_split_of_a_stream_gives_the_same_reply(
    tools: Any, stream_of: Any, data: st.DataObject, message: Any
) -> None:
    """However texts are cut into events, and bytes into pieces, the reply is that of the whole answer."""

    def cut(text: str) -> list[str]:
        at = data.draw(st.integers(0, len(text)))
        return [text[:at], text[at:]]

    request = request_of(tools)
    answer = answer_of(**message)
    stream = stream_of(events_of(answer, cut))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6))
    deltas, reply = read_stream(stream, request, cuts)
    assert without_drawn_ids(reply) == without_drawn_ids(dialect.read(answer, request, MODEL))
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.message.text
