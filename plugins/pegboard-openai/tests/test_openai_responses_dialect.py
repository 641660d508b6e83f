"""The responses API: bodies, items, streams, thoughts that go back."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pegboard import ImageContent, TextContent, ToolCall, ToolResult
from pegboard_chat import (
    CallDelta,
    Conversation,
    ForcedTool,
    Message,
    ModelError,
    ModelRequest,
    Stop,
    TextDelta,
    ThinkingDelta,
)
from pegboard_openai._chat import ChatDialect
from pegboard_openai._flavours import COMPATIBLE
from pegboard_openai._responses import ResponsesDialect

MODEL = "openai-responses:gpt-5"
REQUEST = ModelRequest(Conversation().ask("Hello"))
PNG = ImageContent(b"\x89PNG", "image/png")
PNG_PART = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="}


def thought(secret: str | None = "gAAA", **more: Any) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": "Hm"}]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": secret, "status": None, **more}


def says(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [{"type": "url_citation"}], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    return {**message, **more}


def calls(arguments: Any = '{"notation": "2d6"}', call_id: Any = "call_1", **more: Any) -> dict[str, Any]:
    call = {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": "roll_dice", "status": "completed"}
    return {**call, "arguments": arguments, **more}


def answer(*output: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 3}}
    return {"status": "completed", "output": list(output), "usage": usage, "error": None, **more}


def test_a_body_says_what_the_request_says_and_lets_nothing_be_stored(ask) -> None:
    dialect = ResponsesDialect()
    request = ask(dialect, tool_choice=ForcedTool("now"), parallel=False, max_tokens=64, temperature=0.5)
    body = dialect.body(request, "gpt-5")
    tools = body.pop("tools")
    assert body == {
        "model": "gpt-5",
        "input": [{"type": "message", "role": "user", "content": "Roll 2d6."}],
        "instructions": "Be brief.",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tool_choice": {"type": "function", "name": "now"},
        "parallel_tool_calls": False,
        "max_output_tokens": 64,
        "temperature": 0.5,
        "stream": True,
    }
    assert [tool["strict"] for tool in tools] == [True, True, False]
    assert all(tool.keys() >= {"type", "name", "parameters", "strict"} for tool in tools)


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        *((model, True) for model in ("gpt-5", "gpt-5.5", "gpt-12", "o4-mini", "codex-mini", "ft:o4-mini:me")),
        *((model, False) for model in ("gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "omni")),
    ],
)
def test_thoughts_are_asked_of_models_that_think(model, thinks) -> None:
    assert ("include" in ResponsesDialect().body(REQUEST, model)) is thinks
    assert "include" not in ResponsesDialect(COMPATIBLE).body(REQUEST, model)


def test_options_lie_over_everything(ask) -> None:
    body = ResponsesDialect().body(
        ask(ResponsesDialect(), options={"store": True, "reasoning": {"effort": "low"}}), "m"
    )
    assert (body["store"], body["reasoning"]) == (True, {"effort": "low"})


def test_what_the_model_thought_goes_back_encrypted_with_the_turn(ask, conversation_of) -> None:
    dialect = ResponsesDialect()
    reply = dialect.read(answer(thought(), says("Let me see.", phase="commentary"), calls()), ask(dialect), MODEL)
    assert reply.calls == (ToolCall("call_1", "roll_dice", {"notation": "2d6"}),)
    assert reply.message.text == "Let me see."
    assert reply.stop is Stop.CALLS
    assert reply.usage.to_json() == {"input_tokens": 9, "output_tokens": 4, "cached_tokens": 3}
    body = dialect.body(ask(dialect, conversation=conversation_of(reply, ToolResult.text("7"))), "gpt-5")
    said = {"type": "output_text", "text": "Let me see.", "annotations": []}
    assert body["input"][1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm"}],
            "encrypted_content": "gAAA",
        },
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "content": [said],
            "status": "completed",
            "phase": "commentary",
        },
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "roll_dice",
            "arguments": '{"notation": "2d6"}',
            "id": "fc_1",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "7"},
    ]


def test_thoughts_that_cannot_be_read_again_stay_out_and_so_do_the_ids_of_that_turn(ask) -> None:
    reply = ResponsesDialect().read(answer(thought(None), says("Hm."), calls()), ask(ResponsesDialect()), MODEL)
    assert reply.message.raw == [
        {"type": "message", "role": "assistant", "content": "Hm."},
        {"type": "function_call", "call_id": "call_1", "name": "roll_dice", "arguments": '{"notation": "2d6"}'},
    ]


def test_thoughts_of_another_model_stay_out_and_so_do_the_ids_of_that_turn(ask) -> None:
    dialect = ResponsesDialect(provider="openai-responses")
    turn = dialect.read(answer(thought(), says("Hello."), calls()), ask(dialect), MODEL).message
    request = ModelRequest(Conversation().ask("x").add(turn))
    assert [item["type"] for item in dialect.body(request, "gpt-5")["input"]][1:] == [item["type"] for item in turn.raw]
    others = dialect.body(request, "o4-mini")["input"][1:]
    assert [item["type"] for item in others] == ["message", "function_call"]
    assert not any("id" in item for item in others)


def test_thoughts_that_nothing_follows_stay_out(ask) -> None:
    said = answer(says("x"), thought(), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    reply = ResponsesDialect().read(said, ask(ResponsesDialect()), MODEL)
    assert [item["type"] for item in reply.message.raw] == ["message"]


@pytest.mark.parametrize(("model", "may"), [("o4-mini", False), ("ft:o3:me", False), ("gpt-5", True), ("omni", True)])
def test_one_call_at_a_time_is_not_asked_of_models_that_refuse_to_be_asked(ask, model, may) -> None:
    for dialect in (ResponsesDialect(), ChatDialect()):
        assert ("parallel_tool_calls" in dialect.body(ask(dialect, parallel=False), model)) is may
    compatible = ChatDialect(COMPATIBLE)
    assert "parallel_tool_calls" in compatible.body(ask(compatible, parallel=False), model)


def test_open_thoughts_go_back_to_the_compatible_server_that_had_them(ask) -> None:
    dialect = ResponsesDialect(COMPATIBLE, "vllm")
    content = [{"type": "reasoning_text", "text": "Hm"}]
    reply = dialect.read(answer(thought("", content=content), says("7")), ask(dialect), "vllm:gpt-oss")
    conversation = ModelRequest(Conversation().ask("x").add(reply.message).ask("y"))
    assert dialect.body(conversation, "gpt-oss")["input"][1]["content"] == content
    elsewhere = ResponsesDialect(COMPATIBLE, "other").body(conversation, "m")["input"]
    assert elsewhere[1] == {"type": "message", "role": "assistant", "content": "7"}


def test_items_of_the_provider_s_own_tools_go_back_as_they_came(ask) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": None}
    reply = ResponsesDialect().read(answer(search, {"type": "hologram"}, says("x")), ask(ResponsesDialect()), MODEL)
    assert reply.message.raw[0] == {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    assert [item["type"] for item in reply.message.raw] == ["web_search_call", "message"]


def test_turns_of_another_provider_are_made_of_what_they_say(ask, foreign) -> None:
    dialect = ResponsesDialect()
    _, text, one, two, first, second, last, _ = dialect.body(ask(dialect, conversation=foreign), "gpt-5")["input"]
    assert text == {"type": "message", "role": "assistant", "content": "Let me see."}
    assert json.loads(one["arguments"]) == {"notation": "2d6", "times": None}
    assert json.loads(two["arguments"]) == {"INVALID_JSON": '{"path": '}
    assert [first["call_id"], second["call_id"]] == [one["call_id"], two["call_id"]]
    assert second["output"].startswith("INVALID_INPUT")
    assert last["content"] == "It is 7."


def test_images_stand_in_the_output_where_the_server_takes_them_and_follow_where_not(tools) -> None:
    result = ToolResult((TextContent("Look:"), PNG), id="a", name="draw")
    (output,) = ResponsesDialect().export(tools).format([result])
    assert output["output"] == [{"type": "input_text", "text": "Look:"}, PNG_PART]
    output, following = ResponsesDialect(COMPATIBLE).export(tools).format([result])
    assert output["output"].startswith("Look:")
    assert following["role"] == "user"
    assert following["content"][1] == PNG_PART


def test_an_error_is_told_in_the_output(tools) -> None:
    failed = attrs.evolve(ToolResult.error("TIMEOUT", "it took too long"), id="a", name="x")
    (output,) = ResponsesDialect().export(tools).format([failed])
    assert output == {"type": "function_call_output", "call_id": "a", "output": "TIMEOUT: it took too long"}


@pytest.mark.parametrize(
    "message",
    [answer(says("x"), calls()), [calls()], calls(), json.dumps([calls()])],
    ids=["answer", "items", "item", "text"],
)
def test_calls_are_read_from_whatever_holds_them(tools, message) -> None:
    assert list(ResponsesDialect().export(tools).parse(message)) == [
        ToolCall("call_1", "roll_dice", {"notation": "2d6"})
    ]


@pytest.mark.parametrize("message", ["{", 7, {"output": 3}, [calls(name=None)], [calls("[]")]])
def test_what_is_not_a_valid_call_is_an_error_result(tools, message) -> None:
    (read,) = ResponsesDialect().export(tools).parse(message)
    assert read.error.code == "INVALID_INPUT"


def test_a_call_that_was_cut_off_is_an_error_and_goes_back_as_json(ask) -> None:
    said = answer(
        calls('{"nota', status="incomplete"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    reply = ResponsesDialect().read(said, ask(ResponsesDialect()), MODEL)
    (read,) = reply.calls
    assert read.error.code == "INVALID_INPUT"
    assert reply.stop is Stop.LENGTH
    assert json.loads(reply.message.raw[0]["arguments"]) == {"INVALID_JSON": '{"nota'}


@pytest.mark.parametrize(
    ("more", "stop"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, Stop.LENGTH),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, Stop.REFUSED),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, Stop.OTHER),
        ({"status": "incomplete"}, Stop.OTHER),
        ({}, Stop.END),
    ],
)
def test_the_reason_to_end_is_told(more, stop) -> None:
    assert ResponsesDialect().read(answer(says("x"), **more), REQUEST, MODEL).stop is stop


def test_an_answer_as_long_as_it_may_be_was_cut_though_the_server_calls_it_completed() -> None:
    request = attrs.evolve(REQUEST, max_tokens=4)
    assert ResponsesDialect().read(answer(says("x")), request, MODEL).stop is Stop.LENGTH


def test_a_refusal_is_shown_and_told() -> None:
    said = answer(says("", content=[{"type": "refusal", "refusal": "I won't."}]))
    reply = ResponsesDialect().read(said, REQUEST, MODEL)
    assert reply.message.text == "I won't."
    assert reply.stop is Stop.REFUSED
    assert reply.message.raw[0]["content"] == [{"type": "refusal", "refusal": "I won't."}]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow down"}}, "limit"),
        ({"status": "cancelled"}, "server"),
        ({"error": {"message": "no", "code": "model_not_found"}}, "no_model"),
        ({"output": None}, "no_json"),
        ([], "no_json"),
    ],
)
def test_what_is_not_an_answer_is_a_model_error(said, reason) -> None:
    with pytest.raises(ModelError) as caught:
        ResponsesDialect().read(said, REQUEST, MODEL)
    assert caught.value.details["reason"] == reason


# Streams


def events_of(items: list[dict[str, Any]], final: dict[str, Any], cut: int = 3) -> list[dict[str, Any]]:
    """The events with which OpenAI streams these items; texts and arguments in pieces of `cut` characters."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"status": "in_progress"}}]

    def pieces(text: str) -> list[str]:
        return [text[at : at + cut] for at in range(0, len(text), cut)]

    for at, item in enumerate(items):
        where = {"output_index": at, "item_id": item["id"]}
        empty = {"function_call": {"arguments": ""}, "message": {"content": []}, "reasoning": {"summary": []}}
        started = {**item, **empty[item["type"]], "status": "in_progress"}
        events.append({"type": "response.output_item.added", "output_index": at, "item": started})
        if item["type"] == "function_call":
            kind = "response.function_call_arguments"
            events += [{"type": f"{kind}.delta", **where, "delta": one} for one in pieces(item["arguments"])]
            events.append({"type": f"{kind}.done", **where, "arguments": item["arguments"]})
        for n, part in enumerate(item.get("content") or ()):
            member = "text" if part["type"] == "output_text" else "refusal"
            kind = f"response.{part['type']}.delta"
            events += [{"type": kind, **where, "content_index": n, "delta": one} for one in pieces(part[member])]
        for part in item.get("summary", ()):
            kind = "response.reasoning_summary_text.delta"
            events += [{"type": kind, **where, "delta": one} for one in pieces(part["text"])]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return [*events, {"type": f"response.{final['status']}", "response": final}]


ITEMS = [thought(), says("It is 7."), calls(), calls("{}", "call_2", id="fc_2", name="now")]
WHOLE = answer(*ITEMS)


def without(events: list[dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [event for event in events if not event["type"].endswith(kinds)]


def unplaced(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As llama.cpp has them: no index anywhere, the item's id alone."""
    return [{key: value for key, value in event.items() if key != "output_index"} for event in events]


FULL = events_of(ITEMS, WHOLE)
EMPTY_END = [*FULL[:-1], {"type": "response.completed", "response": {**WHOLE, "output": []}}]
STREAMS = {
    "by the reference": FULL,
    "no output in the last event": EMPTY_END,
    "no output, and no item is done": [
        event for event in EMPTY_END if event["type"] != "response.output_item.done" or event["output_index"] == 0
    ],
    "no pieces": without(FULL, ".delta"),
    "no pieces of arguments, no output": without(EMPTY_END, "arguments.delta"),
    "no index (llama.cpp)": unplaced(FULL),
    "no index and no output": unplaced(EMPTY_END),
    "the last event alone": FULL[-1:],
}


@pytest.mark.parametrize("events", STREAMS.values(), ids=STREAMS)
def test_a_stream_gives_what_the_whole_answer_gives(ask, stream, events) -> None:
    dialect = ResponsesDialect()
    request = ask(dialect)
    deltas, reply = stream(dialect.reader(request, MODEL), events, done=False)
    whole = dialect.read(WHOLE, request, MODEL)
    assert reply.calls == whole.calls
    assert reply.message.text == whole.message.text
    assert reply.usage == whole.usage
    assert reply.stop is Stop.CALLS
    assert [item["type"] for item in reply.message.raw] == ["reasoning", "message", "function_call", "function_call"]
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "It is 7."
    for position, call in enumerate(whole.calls):
        said = [delta for delta in deltas if isinstance(delta, CallDelta) and delta.position == position]
        assert said[0].name == call.name
        assert json.loads("".join(delta.arguments for delta in said)) == call.arguments


def test_thoughts_are_heard_as_they_come(stream) -> None:
    deltas, _ = stream(ResponsesDialect().reader(REQUEST, MODEL), FULL, done=False)
    assert deltas[0] == ThinkingDelta("Hm")


def test_events_that_bear_their_name_outside_alone_are_understood() -> None:
    reader = ResponsesDialect().reader(REQUEST, MODEL)
    for event in FULL:
        reader.feed(event["type"], json.dumps({key: value for key, value in event.items() if key != "type"}))
    assert reader.done
    assert reader.close().message.text == "It is 7."


def test_the_mark_of_the_end_serves_where_the_last_event_is_missing(stream) -> None:
    _, reply = stream(ResponsesDialect().reader(REQUEST, MODEL), FULL[:-1])
    assert [type(call).__name__ for call in reply.calls] == ["ToolCall", "ToolCall"]


@pytest.mark.parametrize("upto", [0, 1, len(FULL) - 1])
def test_a_stream_that_ends_before_its_end_is_half_an_answer(stream, upto) -> None:
    with pytest.raises(ModelError) as caught:
        stream(ResponsesDialect().reader(REQUEST, MODEL), FULL[:upto], done=False)
    assert caught.value.details["reason"] == "half_answer"


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"type": "error", "code": "server_error", "message": "it broke"}, "it broke"),
        ({"type": "response.failed", "response": {"error": {"code": "x", "message": "no luck"}}}, "no luck"),
        ({"error": {"message": "plain"}}, "plain"),
        ({"type": "error", "error": {"type": "too_many_requests", "message": "slow"}}, "slow"),
    ],
)
def test_an_error_in_the_middle_names_the_provider(event, says) -> None:
    reader = ResponsesDialect().reader(REQUEST, MODEL)
    reader.feed("", json.dumps(FULL[0]))
    with pytest.raises(ModelError) as caught:
        reader.feed("", json.dumps(event))
    assert says in caught.value.message
    assert caught.value.details["provider"] == "openai-responses"


def test_nothing_counts_after_the_end(stream) -> None:
    reader = ResponsesDialect().reader(REQUEST, MODEL)
    stream(reader, FULL, done=False)
    assert list(reader.feed("", "rubbish")) == []
    assert list(ResponsesDialect().reader(REQUEST, MODEL).feed("", " ")) == []


def test_more_items_than_any_answer_has_are_an_error() -> None:
    reader = ResponsesDialect().reader(REQUEST, MODEL)
    event = {"type": "response.output_text.delta", "delta": "x"}
    for n in range(2_000):
        reader.feed("", json.dumps({**event, "output_index": n}))
    with pytest.raises(ModelError, match="more than 2,000 items"):
        reader.feed("", json.dumps({**event, "output_index": 2_000}))


KEYS = ("type", "item", "response", "delta", "output_index", "item_id", "output", "id", "name", "arguments", "content")
KINDS = sorted({event["type"] for event in FULL} | {"response.output_text.delta", "response.refusal.delta"})
NEAR = st.recursive(
    st.none() | st.integers(-1, 2) | st.text(max_size=3) | st.sampled_from(["function_call", "message", "reasoning"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
EVENTS = st.dictionaries(st.sampled_from(KEYS), NEAR, max_size=4).flatmap(
    lambda said: st.sampled_from(KINDS).map(lambda kind: {**said, "type": kind})
)


@settings(max_examples=120)
@example(events=[{"type": "response.output_item.added", "item": {"type": []}}], done=True)
@given(events=st.lists(EVENTS | NEAR, max_size=6), done=st.booleans())
def test_any_json_of_a_server_gives_a_reply_or_a_model_error(events, done) -> None:
    """Whatever JSON is streamed, there is a reply that can be sent back, or a `ModelError`."""
    dialect = ResponsesDialect()
    reader = dialect.reader(REQUEST, MODEL)
    try:
        for event in events:
            list(reader.feed("", json.dumps(event)))
        if done:
            reader.feed("", "[DONE]")
        reply = reader.close()
    except ModelError:
        return
    json.dumps(dialect.body(ModelRequest(REQUEST.conversation.add(reply.message)), "gpt-5"))
    assert [call.id for call in reply.message.calls] == [call.id for call in reply.calls]


@settings(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=("Cs",)), max_size=20), cut=st.integers(1, 7), data=st.data())
def test_any_split_of_an_answer_gives_the_reply_of_the_whole(text, cut, data) -> None:
    """However texts and arguments are cut, the reply is that of the answer that was not streamed."""
    arguments = data.draw(st.text('{}"a:\\', max_size=12) | st.just('{"a": "{}"}'))
    items = [says(text), calls(arguments)]
    dialect = ResponsesDialect()
    reader = dialect.reader(REQUEST, MODEL)
    deltas = [one for event in events_of(items, answer(*items), cut) for one in reader.feed("", json.dumps(event))]
    assert reader.close() == dialect.read(answer(*items), REQUEST, MODEL)
    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == text
    assert "".join(one.arguments for one in deltas if isinstance(one, CallDelta)) == arguments


def test_a_conversation_of_a_saved_file_without_a_model_is_its_own(ask) -> None:
    raw = [{"type": "message", "role": "assistant", "content": "x"}]
    message = Message("assistant", (TextContent("x"),), raw=raw, dialect="openai-responses")
    dialect = ResponsesDialect()
    assert dialect.body(ModelRequest(Conversation().ask("a").add(message)), "m")["input"][1:] == raw
