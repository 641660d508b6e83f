"""What comes back from Gemini: whole, streamed, broken, and anything else that is JSON."""

from __future__ import annotations

import itertools
import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import BinaryContent, ErrorCode, ImageContent, TextContent, ToolCall, ToolResult
from pegboard_chat import (
    CallDelta,
    Conversation,
    ForcedTool,
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
from pegboard_gemini.dialect import GeminiDialect

MODEL = "gemini:gemini-3-pro-preview"
dialect = GeminiDialect()


def request_of(tools: Any = (), **more: Any) -> ModelRequest:
    export = dialect.export(tools) if tools else None
    return ModelRequest(Conversation().ask("hello"), export, **more)


def answer_of(*parts: Any, reason: str | None = "STOP", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], **more}


def read_stream(data: bytes, request: ModelRequest, cuts: list[int] | None = None) -> tuple[list[Any], Reply]:
    sse, reader, deltas = SseReader("gemini"), dialect.reader(request, MODEL), list[Any]()
    edges = [0, *sorted(cuts or []), len(data)]
    for start, end in itertools.pairwise(edges):
        for name, text in sse.feed(data[start:end]):
            deltas += reader.feed(name, text)
    for name, text in sse.close():
        deltas += reader.feed(name, text)
    return deltas, reader.close()


def without_drawn_ids(reply: Reply) -> Any:
    """A reply whose ids are positions: those that the provider did not give are drawn anew each time."""
    message = attrs.evolve(
        reply.message, calls=tuple(attrs.evolve(call, id=str(at)) for at, call in enumerate(reply.message.calls))
    )
    calls = tuple(
        attrs.evolve(call, id=str(at))
        if isinstance(call, ToolCall)
        else ToolResult(call.content, None, call.error, None, str(at), call.name)
        for at, call in enumerate(reply.calls)
    )
    return attrs.evolve(reply, message=message, calls=calls)


class TestWholeAnswers:
    def test_text_and_usage_are_read(self) -> None:
        usage = {
            "promptTokenCount": 10,
            "toolUsePromptTokenCount": 2,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 7,
            "cachedContentTokenCount": 4,
            "totalTokenCount": 24,
        }
        reply = dialect.read(answer_of({"text": "Hi"}, {"text": " there"}, usageMetadata=usage), request_of(), MODEL)
        assert reply.message.text == "Hi there"
        assert reply.message.model == MODEL
        assert reply.usage == Usage(12, 12, 4)
        assert reply.stop is Stop.END

    def test_a_call_with_its_signature_goes_back_as_it_came(self, tools: Any) -> None:
        parts = [
            {"text": "Let me see.", "thought": True},
            {"functionCall": {"id": "f1", "name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "draw_it_9e315a0a", "args": {"what": "a cat"}}},
        ]
        request = request_of(tools)
        reply = dialect.read(answer_of(*parts), request, MODEL)
        assert reply.message.raw == {"role": "model", "parts": parts}
        assert reply.stop is Stop.CALLS
        first, second = reply.calls
        assert first == ToolCall("f1", "add", {"a": 1})
        assert isinstance(second, ToolCall)
        assert (second.name, second.arguments) == ("draw.it", {"what": "a cat"})
        assert second.id
        assert reply.message.calls == (first, second)
        assert reply.message.content == ()

        results = tuple(ToolResult((TextContent("done"),), id=call.id, name=call.name) for call in reply.message.calls)
        said = request.conversation.add(reply.message, Message("tool", results=results))
        contents = dialect.body(ModelRequest(said, request.export), "gemini-3-pro-preview")["contents"]
        assert contents[1] == {"role": "model", "parts": parts}
        responses = [part["functionResponse"] for part in contents[2]["parts"]]
        assert responses == [
            {"id": "f1", "name": "add", "response": {"output": "done"}},
            {"name": "draw_it_9e315a0a", "response": {"output": "done"}},
        ]

    def test_a_call_without_args_has_none(self, tools: Any) -> None:
        reply = dialect.read(answer_of({"functionCall": {"name": "ping"}}), request_of(tools), MODEL)
        assert reply.message.raw["parts"] == [{"functionCall": {"name": "ping", "args": {}}}]
        (call,) = reply.calls
        assert isinstance(call, ToolCall)
        assert call.arguments == {}

    def test_two_calls_of_one_id_are_told_apart(self, tools: Any) -> None:
        call = {"functionCall": {"id": "same", "name": "ping", "args": {}}}
        reply = dialect.read(answer_of(call, call), request_of(tools), MODEL)
        assert len({one.id for one in reply.calls}) == 2

    @pytest.mark.parametrize(
        ("args", "kept"),
        [
            ('{"a": 1, "b', {"INVALID_JSON": '{"a": 1, "b'}),
            ("[1]", {"INVALID_JSON": "[1]"}),
            ([1], {"INVALID_JSON": "[1]"}),
            (7, {"INVALID_JSON": "7"}),
        ],
    )
    def test_arguments_that_are_no_object_are_answered_and_can_be_repeated(
        self, tools: Any, args: Any, kept: Any
    ) -> None:
        part = {"functionCall": {"id": "f1", "name": "add", "args": args}}
        reply = dialect.read(answer_of(part), request_of(tools), MODEL)
        (result,) = reply.calls
        assert isinstance(result, ToolResult)
        assert result.error is not None
        assert result.error.code is ErrorCode.INVALID_INPUT
        assert (result.id, result.name) == ("f1", "add")
        assert reply.message.calls == (ToolCall("f1", "add", kept),)
        assert reply.message.raw["parts"][0]["functionCall"]["args"] == kept

    def test_arguments_as_json_text_are_read(self, tools: Any) -> None:
        reply = dialect.read(answer_of({"functionCall": {"name": "add", "args": '{"a": 2}'}}), request_of(tools), MODEL)
        (call,) = reply.calls
        assert isinstance(call, ToolCall)
        assert call.arguments == {"a": 2}
        assert reply.message.raw["parts"][0]["functionCall"]["args"] == {"a": 2}

    def test_a_call_without_a_name_is_answered(self, tools: Any) -> None:
        reply = dialect.read(answer_of({"functionCall": {"args": {}}}), request_of(tools), MODEL)
        (result,) = reply.calls
        assert isinstance(result, ToolResult)
        assert reply.message.raw["parts"][0]["functionCall"]["name"] == result.name == "no_name"

    def test_snake_case_is_read_and_goes_back_in_camel_case(self, tools: Any) -> None:
        call = {"function_call": {"name": "ping", "args": {}}, "thought_signature": "c2ln"}
        answer = {
            "candidates": [{"content": {"parts": [call]}, "finish_reason": "STOP"}],
            "usage_metadata": {"prompt_token_count": 3},
        }
        reply = dialect.read(answer, request_of(tools), MODEL)
        part = {"functionCall": {"name": "ping", "args": {}}, "thoughtSignature": "c2ln"}
        assert reply.message.raw["parts"] == [part]
        assert reply.usage.input_tokens == 3
        assert reply.stop is Stop.CALLS

    def test_media_of_the_answer_are_content(self) -> None:
        kinds = ("image/png", "audio/wav", "application/pdf")
        parts = [{"inlineData": {"mimeType": kind, "data": "aGk="}} for kind in kinds]
        reply = dialect.read(answer_of(*parts, {"inlineData": {"data": "?"}}), request_of(), MODEL)
        assert reply.message.content[0] == ImageContent(b"hi", "image/png")
        assert reply.message.content[2] == BinaryContent(b"hi", "application/pdf")
        assert len(reply.message.content) == 3

    def test_a_list_of_chunks_is_an_answer(self) -> None:
        chunks = [answer_of({"text": "a"}, reason=None), answer_of({"text": "b"})]
        assert dialect.read(chunks, request_of(), MODEL).message.text == "ab"

    @pytest.mark.parametrize(
        ("reason", "stop"),
        [
            ("MAX_TOKENS", Stop.LENGTH),
            ("SAFETY", Stop.REFUSED),
            ("RECITATION", Stop.REFUSED),
            ("OTHER", Stop.OTHER),
            ("A_NEW_ONE", Stop.OTHER),
        ],
    )
    def test_reasons_to_finish(self, reason: str, stop: Stop) -> None:
        assert dialect.read(answer_of({"text": "x"}, reason=reason), request_of(), MODEL).stop is stop

    def test_an_unknown_reason_beside_calls_is_that_of_calls(self, tools: Any) -> None:
        part = {"functionCall": {"name": "ping", "args": {}}}
        answer = answer_of(part, reason="FUNCTION_CALL")
        assert dialect.read(answer, request_of(tools), MODEL).stop is Stop.CALLS

    def test_a_blocked_question_is_refused_and_leaves_no_turn(self) -> None:
        answer = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
        reply = dialect.read(answer, request_of(), MODEL)
        assert (reply.stop, reply.message.raw, reply.usage.input_tokens) == (Stop.REFUSED, None, 4)
        said = Conversation().ask("a").add(reply.message).ask("b")
        assert [one["role"] for one in dialect.body(ModelRequest(said), "gemini-2.5-pro")["contents"]] == ["user"] * 2


class TestCallsThatGeminiHeldBack:
    note = "Malformed function call: print(default_api.draw_it_9e315a0a(what='a cat"

    def answer(self) -> Any:
        return {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": self.note}]}

    def test_the_model_hears_what_it_wrote(self, tools: Any) -> None:
        reply = dialect.read(self.answer(), request_of(tools), MODEL)
        (result,) = reply.calls
        assert isinstance(result, ToolResult)
        assert result.error is not None
        assert result.error.code is ErrorCode.INVALID_INPUT
        assert result.name == "draw.it"
        assert reply.message.calls == (ToolCall(result.id, "draw.it", {"INVALID_JSON": self.note}),)
        assert reply.stop is Stop.CALLS
        (part,) = reply.message.raw["parts"]
        assert part["functionCall"]["name"] == "draw_it_9e315a0a"
        assert part["thoughtSignature"] == "skip_thought_signature_validator"

    def test_a_call_of_nothing_known_has_a_name_all_the_same(self, tools: Any) -> None:
        answer = {"candidates": [{"finishReason": "UNEXPECTED_TOOL_CALL", "finishMessage": "default_api.nope()"}]}
        reply = dialect.read(answer, request_of(tools), "gemini:gemini-2.5-flash")
        assert [call.name for call in reply.calls] == ["unknown_tool"]
        assert "thoughtSignature" not in reply.message.raw["parts"][0]

    @pytest.mark.parametrize("more", [{}, {"tool_choice": "none"}])
    def test_where_no_call_was_wanted_there_is_none(self, tools: Any, more: Any) -> None:
        request = request_of(tools if more else (), **more)
        reply = dialect.read(self.answer(), request, MODEL)
        assert (reply.calls, reply.stop) == ((), Stop.OTHER)

    def test_calls_that_came_stand(self, tools: Any) -> None:
        part = {"functionCall": {"name": "ping", "args": {}}}
        reply = dialect.read(answer_of(part, reason="MALFORMED_FUNCTION_CALL"), request_of(tools), MODEL)
        assert [call.name for call in reply.calls] == ["ping"]


class TestStreams:
    def test_deltas_come_with_their_chunks_and_the_reply_last(self, tools: Any, stream_of: Any) -> None:
        chunks = [
            answer_of({"text": "Hm", "thought": True}, reason=None),
            answer_of({"text": "m.", "thought": True}, reason=None, usageMetadata={"promptTokenCount": 5}),
            answer_of({"text": "I add. "}, reason=None),
            answer_of({"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"}, reason=None),
            answer_of({"functionCall": {"name": "ping", "args": {}}}, reason=None),
            answer_of({"text": ""}, usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 9}),
        ]
        deltas, reply = read_stream(stream_of(chunks), request_of(tools))
        assert deltas == [
            ThinkingDelta("Hm"),
            ThinkingDelta("m."),
            TextDelta("I add. "),
            CallDelta(0, "add", '{"a": 1}'),
            CallDelta(1, "ping", "{}"),
        ]
        assert reply.message.raw["parts"] == [
            {"text": "Hmm.", "thought": True},
            {"text": "I add. "},
            {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "ping", "args": {}}},
        ]
        assert reply.usage == Usage(5, 9)
        assert reply.stop is Stop.CALLS

    def test_a_signature_on_the_empty_part_at_the_end_stays_there(self, stream_of: Any) -> None:
        chunks = [
            answer_of({"text": "It is "}, reason=None),
            answer_of({"text": "15."}, reason=None),
            answer_of({"text": "", "thoughtSignature": "c2ln"}),
        ]
        _, reply = read_stream(stream_of(chunks), request_of())
        assert reply.message.raw["parts"] == [{"text": "It is 15."}, {"text": "", "thoughtSignature": "c2ln"}]
        assert reply.message.text == "It is 15."
        said = Conversation().ask("a").add(reply.message).ask("b")
        body = dialect.body(ModelRequest(said), "gemini-3-pro-preview")
        assert body["contents"][1] == reply.message.raw

    def test_signed_texts_are_not_joined(self, stream_of: Any) -> None:
        parts = [{"text": "a"}, {"text": "b", "thoughtSignature": "c2ln"}, {"text": "c"}]
        _, reply = read_stream(stream_of([answer_of(*parts)]), request_of())
        assert reply.message.raw["parts"] == parts
        assert reply.message.text == "abc"

    def test_a_stream_that_breaks_off_is_half_an_answer(self, stream_of: Any) -> None:
        with pytest.raises(ModelError) as caught:
            read_stream(stream_of([answer_of({"text": "It"}, reason=None)]), request_of())
        assert caught.value.details["reason"] == "half_answer"

    def test_an_error_in_the_middle_is_raised(self, stream_of: Any) -> None:
        error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
        with pytest.raises(ModelError, match="overloaded") as caught:
            read_stream(stream_of([answer_of({"text": "It"}, reason=None), error]), request_of())
        assert caught.value.details["provider"] == "gemini"

    def test_an_event_that_is_not_json_is_an_error(self) -> None:
        reader = dialect.reader(request_of(), MODEL)
        assert list(reader.feed("", "[DONE]")) == []
        with pytest.raises(ModelError) as caught:
            reader.feed("", "<html>")
        assert caught.value.details["reason"] == "no_json"

    def test_ten_thousand_pieces_take_no_time(self, stream_of: Any) -> None:
        chunks = [answer_of({"text": "word " * 20}, reason=None)] * 10_000
        _, reply = read_stream(stream_of([*chunks, answer_of()]), request_of())
        assert len(reply.message.text) == 1_000_000


def test_an_error_with_200_is_raised() -> None:
    with pytest.raises(ModelError, match="API key") as caught:
        dialect.read(
            {"error": {"code": 400, "message": "API key not valid", "details": [{"reason": "API_KEY_INVALID"}]}},
            request_of(),
            MODEL,
        )
    assert caught.value.code is ErrorCode.UNAUTHORIZED


@pytest.mark.parametrize("answer", [None, 7, "text", [], {}, [[]], {"candidates": []}, {"candidates": [{}]}])
def test_what_is_not_an_answer_is_an_error(answer: Any) -> None:
    with pytest.raises(ModelError) as caught:
        dialect.read(answer, request_of(), MODEL)
    assert caught.value.details["reason"] == "no_json"


def test_an_export_parses_contents_and_answers(tools: Any) -> None:
    export = dialect.export(tools)
    part = {"functionCall": {"id": "1", "name": "ping"}}
    assert list(export.parse({"parts": [part]})) == list(export.parse(answer_of(part))) == [ToolCall("1", "ping", {})]
    assert list(export.parse(json.dumps(answer_of(part)))) == [ToolCall("1", "ping", {})]
    assert list(export.parse({"parts": [{"text": "Hello"}]})) == []


@pytest.mark.parametrize("message", ["nonsense", "{", b"\xff", 7, None])
def test_what_is_not_a_message_is_an_error_result(tools: Any, message: Any) -> None:
    (result,) = dialect.export(tools).parse(message)
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert "the message" in result.error.message or "a message" in result.error.message


def test_media_without_bytes_are_none() -> None:
    answer = answer_of({"inlineData": {}}, {"text": "Hello"})
    assert dialect.read(answer, request_of(), MODEL).message.text == "Hello"


WORDS = st.sampled_from(
    [
        *(
            "candidates",
            "content",
            "parts",
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "name",
            "args",
            "id",
        ),
        *("finishReason", "finishMessage", "promptFeedback", "blockReason", "usageMetadata", "promptTokenCount"),
        *("inlineData", "mimeType", "data", "error", "code", "message", "function_call", "executableCode", "role"),
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "STOP", "MALFORMED_FUNCTION_CALL", "add", "ping", "{", '{"a": 1}', "image/png", "aGk=", "é"]),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
CALLS = st.fixed_dictionaries({}, optional={"id": SCALARS, "name": SCALARS, "args": VALUES})
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "text": SCALARS,
        "thought": SCALARS,
        "thoughtSignature": SCALARS,
        "functionCall": CALLS | VALUES,
        "inlineData": VALUES,
        "fileData": VALUES,
    },
)
CANDIDATES = st.fixed_dictionaries(
    {},
    optional={
        "content": st.fixed_dictionaries({"parts": st.lists(PARTS, max_size=4) | VALUES}) | VALUES,
        "finishReason": SCALARS,
        "finishMessage": SCALARS,
    },
)
ANSWERS = VALUES | st.fixed_dictionaries(
    {},
    optional={
        "candidates": st.lists(CANDIDATES, max_size=2) | VALUES,
        "usageMetadata": VALUES,
        "promptFeedback": VALUES,
    },
)


@settings(max_examples=150)
@given(answer=ANSWERS)
def test_any_json_of_a_server_is_a_reply_or_a_model_error(tools: Any, answer: Any) -> None:
    """Whatever comes is a `Reply` whose calls match, and which can be sent back, or a `ModelError`."""
    request = request_of(tools)
    try:
        reply = dialect.read(answer, request, MODEL)
    except ModelError:
        return
    assert [call.id for call in reply.calls] == [call.id for call in reply.message.calls]
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    results = tuple(ToolResult((TextContent("x"),), id=call.id, name=call.name) for call in reply.message.calls)
    said = request.conversation.add(reply.message, Message("tool", results=results))
    again = Conversation.from_json(json.loads(json.dumps(said.to_json()))) if results else said
    body = json.dumps(dialect.body(ModelRequest(again, request.export), "gemini-3-pro"))
    assert json.loads(body)["contents"]


GOOD_PARTS = st.one_of(
    st.fixed_dictionaries({"text": st.text(max_size=5)}, optional={"thought": st.booleans()}),
    st.fixed_dictionaries({"text": st.text(max_size=3), "thoughtSignature": st.just("c2ln")}),
    st.fixed_dictionaries(
        {
            "functionCall": st.fixed_dictionaries(
                {
                    "name": st.sampled_from(["add", "ping"]),
                    "args": st.dictionaries(st.text(max_size=3), SCALARS, max_size=2),
                },
                optional={"id": st.sampled_from(["1", "2"])},
            )
        }
    ),
)


@settings(max_examples=80)
@given(data=st.data(), parts=st.lists(GOOD_PARTS, max_size=6))
def test_any_split_of_a_stream_gives_the_same_reply(
    tools: Any, stream_of: Any, data: st.DataObject, parts: Any
) -> None:
    """However an answer is cut into chunks, and its bytes into pieces, the reply is that of the whole."""
    request = request_of(tools)
    whole = dialect.read(answer_of(*parts), request, MODEL)
    pieces: list[Any] = []
    for part in parts:
        cut = data.draw(st.integers(0, len(part.get("text", ""))))
        if cut and "thoughtSignature" not in part:
            pieces += [{**part, "text": part["text"][:cut]}, {**part, "text": part["text"][cut:]}]
        else:
            pieces.append(part)
    stream = stream_of([*(answer_of(piece, reason=None) for piece in pieces), answer_of()])
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=6))
    deltas, reply = read_stream(stream, request, cuts)
    assert without_drawn_ids(reply) == without_drawn_ids(whole)
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == reply.message.text


def test_a_forced_tool_is_named_as_the_model_knows_it(tools: Any) -> None:
    body = dialect.body(request_of(tools, tool_choice=ForcedTool("draw.it")), "gemini-2.5-pro")
    chosen = {"mode": "ANY", "allowedFunctionNames": ["draw_it_9e315a0a"]}
    assert body["toolConfig"] == {"functionCallingConfig": chosen}
