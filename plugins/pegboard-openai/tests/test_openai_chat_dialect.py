"""Chat completions: tools, bodies, answers, and whole conversations, of this provider and of others."""

from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ImageContent, TextContent, ToolCall, ToolResult
from pegboard_chat import Conversation, ForcedTool, Message, ModelError, ModelRequest, Stop
from pegboard_openai._chat import BRIDGE, ChatDialect
from pegboard_openai._flavours import COMPATIBLE, GROQ, MISTRAL, OPENAI, flavour_of
from pegboard_openai._responses import ResponsesDialect

PNG = ImageContent(b"\x89PNG", "image/png")
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def answer(**message: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]}


def call(
    name: str = "roll_dice", arguments: object = '{"notation": "2d6"}', call_id: object = "a"
) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


# Tools


def test_openai_gets_strict_functions_and_a_tool_that_cannot_be_strict_stays_plain(tools) -> None:
    export = ChatDialect().export(tools)
    dice, now, files = (definition["function"] for definition in export.definitions)
    assert dice["strict"] is True
    assert dice["parameters"]["required"] == ["notation", "times"]
    assert dice["parameters"]["additionalProperties"] is False
    assert now["strict"] is True
    assert "strict" not in files
    assert export.strict == {"roll_dice": True, "now": True, "files.read/all": False}
    assert export.aliases[files["name"]] == "files.read/all"


def test_a_compatible_server_gets_plain_functions(tools) -> None:
    export = ChatDialect(COMPATIBLE).export(tools)
    assert not any("strict" in definition["function"] for definition in export.definitions)
    assert export.definitions[0]["function"]["parameters"]["required"] == ["notation"]


def test_a_null_that_the_strict_form_asked_for_is_not_an_argument(tools) -> None:
    export = ChatDialect().export(tools)
    (read,) = export.parse({"tool_calls": [call(arguments='{"notation": "2d6", "times": null}')]})
    assert read == ToolCall("a", "roll_dice", {"notation": "2d6"})


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "tool_calls": [call()]},
        {"index": 0, "message": {"tool_calls": [call()]}, "finish_reason": "tool_calls"},
        answer(tool_calls=[call()]),
        json.dumps(answer(tool_calls=[call()])),
        [call()],
        {"tool_calls": [call(arguments={"notation": "2d6"})]},
    ],
    ids=["message", "choice", "answer", "text", "calls", "object"],
)
def test_calls_are_read_from_whatever_holds_them(tools, message) -> None:
    assert list(ChatDialect().export(tools).parse(message)) == [ToolCall("a", "roll_dice", {"notation": "2d6"})]


def test_an_old_function_call_is_a_call(tools) -> None:
    (read,) = ChatDialect().export(tools).parse({"function_call": {"name": "now", "arguments": "{}"}})
    assert (read.name, read.arguments) == ("now", {})
    assert read.id


@pytest.mark.parametrize("message", ["{", 7, None, [{"id": "a"}], {"tool_calls": [call(name=None)]}])
def test_what_is_not_a_valid_call_is_an_error_result(tools, message) -> None:
    (read,) = ChatDialect().export(tools).parse(message)
    assert isinstance(read, ToolResult)
    assert read.error.code == "INVALID_INPUT"


def test_a_message_without_calls_gives_none(tools) -> None:
    export = ChatDialect().export(tools)
    assert list(export.parse(answer(content="Hello"))) == []
    assert list(export.parse({"choices": []})) == []


def test_results_are_tool_messages_and_what_they_do_not_carry_follows(tools) -> None:
    results = [
        attrs.evolve(ToolResult.text("7"), id="a", name="roll_dice"),
        ToolResult((TextContent("Look:"), PNG), id="b", name="draw"),
        attrs.evolve(ToolResult.error("NOT_FOUND", "there is no such file"), id="c", name="read"),
    ]
    first, second, third, following = ChatDialect().export(tools).format(results)
    assert first == {"role": "tool", "tool_call_id": "a", "content": "7"}
    assert second["content"].startswith("Look:\n[image 1")
    assert third["content"] == "NOT_FOUND: there is no such file"
    assert following["role"] == "user"
    assert "draw" in following["content"][0]["text"]
    assert following["content"][1] == PNG_PART


def test_results_bear_the_ids_that_the_calls_came_with(tools) -> None:
    for flavour in (OPENAI, MISTRAL):
        export = ChatDialect(flavour).export(tools)
        (read,) = export.parse({"tool_calls": [call(call_id="an id|of a proxy" * 5)]})
        (message,) = export.format([attrs.evolve(ToolResult.text("7"), id=read.id)])
        assert message["tool_call_id"] == "an id|of a proxy" * 5


# Bodies


def test_a_body_says_what_the_request_says(ask) -> None:
    dialect = ChatDialect()
    request = ask(dialect, tool_choice=ForcedTool("files.read/all"), parallel=False, max_tokens=64, temperature=0.5)
    body = dialect.body(request, "gpt-5")
    alias = body["tools"][2]["function"]["name"]
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Roll 2d6."}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": alias}}
    assert {key: body[key] for key in ("model", "parallel_tool_calls", "max_completion_tokens", "temperature")} == {
        "model": "gpt-5",
        "parallel_tool_calls": False,
        "max_completion_tokens": 64,
        "temperature": 0.5,
    }
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_a_body_does_not_say_what_nobody_asked_for(ask) -> None:
    dialect = ChatDialect()
    assert dialect.body(ask(dialect, stream=False), "gpt-5").keys() == {"model", "messages", "tools", "stream"}
    without = dialect.body(ask(dialect, export=None, tool_choice="required", parallel=False, stream=False), "gpt-5")
    assert without.keys() == {"model", "messages", "stream"}


def test_options_lie_over_everything(ask) -> None:
    dialect = ChatDialect()
    body = dialect.body(ask(dialect, options={"seed": 7, "stream_options": None}), "gpt-5")
    assert (body["seed"], body["stream_options"]) == (7, None)


@pytest.mark.parametrize("dialect", [ChatDialect(), ResponsesDialect()])
def test_what_a_model_must_or_may_not_do_is_said(ask, dialect) -> None:
    assert dialect.body(ask(dialect, tool_choice="required"), "gpt-5")["tool_choice"] == "required"
    body = dialect.body(ask(dialect, tool_choice="none", parallel=False), "gpt-5")
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & body.keys(), "what is not there cannot be called"


def test_compatible_servers_bound_the_output_by_its_old_name(ask) -> None:
    for flavour in (COMPATIBLE, GROQ, MISTRAL):
        body = ChatDialect(flavour).body(ask(ChatDialect(flavour), max_tokens=9), "m")
        assert body["max_tokens"] == 9
        assert "max_completion_tokens" not in body
        assert ("stream_options" in body) is (flavour is not MISTRAL)


def test_a_user_may_send_images_sound_and_files(ask) -> None:
    from pegboard import AudioContent, BinaryContent

    blocks = (
        TextContent("What is this?"),
        PNG,
        AudioContent(b"RIFF", "audio/wav"),
        BinaryContent(b"%PDF", "application/pdf", "file:///a/b.pdf"),
        BinaryContent(b"x,y", "text/csv", None, "t.csv"),
        BinaryContent(b"PK", "application/zip", None, "z.zip"),
    )
    request = ModelRequest(Conversation(None, (Message("user", blocks),)))
    (user,) = ChatDialect().body(request, "gpt-5")["messages"]
    text, image, sound, file, table, other = user["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert image == PNG_PART
    assert sound == {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    assert file == {"type": "file", "file": {"filename": "b.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
    assert table == {"type": "text", "text": "x,y"}
    assert "z.zip" in other["text"]
    (elsewhere,) = ChatDialect(COMPATIBLE).body(request, "m")["messages"]
    assert "pdf" in elsewhere["content"][3]["text"]


def test_turns_of_another_provider_are_made_of_what_they_say(ask, foreign) -> None:
    dialect = ChatDialect()
    body = dialect.body(ask(dialect, conversation=foreign), "gpt-5")
    _, _, turn, first, second, last, _ = body["messages"]
    one, two = turn["tool_calls"]
    assert turn["content"] == "Let me see."
    assert json.loads(one["function"]["arguments"]) == {"notation": "2d6", "times": None}
    assert json.loads(two["function"]["arguments"]) == {"INVALID_JSON": '{"path": '}
    assert two["function"]["name"] != "a tool/of old"
    assert len(one["id"]) <= 40
    assert [first["tool_call_id"], second["tool_call_id"]] == [one["id"], two["id"]]
    assert first["content"] == "7"
    assert second["content"].startswith("INVALID_INPUT: no JSON")
    assert last == {"role": "assistant", "content": "It is 7."}


def test_mistral_gets_ids_of_its_own_form_and_an_assistant_between_result_and_user(ask, foreign) -> None:
    dialect = ChatDialect(MISTRAL, "mistral")
    shortened = Conversation(foreign.system, foreign.messages[:3]).ask("And?")
    messages = dialect.body(ask(dialect, conversation=shortened), "mistral-large")["messages"]
    assert [message["role"] for message in messages[-5:]] == ["assistant", "tool", "tool", "assistant", "user"]
    assert messages[-2]["content"] == BRIDGE
    ids = [one["id"] for one in messages[2]["tool_calls"]]
    assert all(len(one) == 9 and one.isalnum() for one in ids)
    assert [message["tool_call_id"] for message in messages[3:5]] == ids


def test_mistral_reads_what_it_thought_again_and_nobody_else_does(ask) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    dialect = ChatDialect(MISTRAL, "mistral")
    reply = dialect.read(answer(content=[thought, {"type": "text", "text": "7"}]), ask(dialect), "mistral:m")
    conversation = Conversation().ask("x").add(reply.message).ask("y")
    own = dialect.body(ModelRequest(conversation), "m")["messages"][1]
    assert own["content"] == [thought, {"type": "text", "text": "7"}]
    other = ChatDialect(OPENAI, "openai").body(ModelRequest(conversation), "m")["messages"][1]
    assert other == {"role": "assistant", "content": "7"}


def test_thoughts_go_back_to_the_model_that_had_them_and_to_no_other(ask) -> None:
    deepseek = ChatDialect(COMPATIBLE, "deepseek")
    message = answer(content=None, reasoning_content="Hm", reasoning_details=[{"n": 1}], tool_calls=[call()])
    reply = deepseek.read(message, ask(deepseek), "deepseek:chat")
    conversation = Conversation().ask("x").add(reply.message)

    def sent(dialect: ChatDialect, model: str = "chat") -> dict[str, object]:
        return dialect.body(ModelRequest(conversation), model)["messages"][1]

    assert sent(deepseek)["reasoning_content"] == "Hm"
    assert sent(deepseek)["reasoning_details"] == [{"n": 1}]
    for other in (ChatDialect(COMPATIBLE, "vllm"), ChatDialect(GROQ, "deepseek"), ChatDialect(OPENAI, "openai")):
        assert sent(other).keys() == {"role", "content", "tool_calls"}
    assert sent(deepseek, "another").keys() == {"role", "content", "tool_calls"}


def test_a_refusal_goes_back_as_one_or_as_text(ask) -> None:
    reply = ChatDialect().read(answer(content=None, refusal="I won't."), ask(ChatDialect()), "openai:gpt")
    conversation = ModelRequest(Conversation().ask("x").add(reply.message))
    assert ChatDialect().body(conversation, "m")["messages"][1]["refusal"] == "I won't."
    elsewhere = ChatDialect(COMPATIBLE, "local").body(conversation, "m")["messages"][1]
    assert elsewhere == {"role": "assistant", "content": "I won't."}


@pytest.mark.parametrize("dialect", [ChatDialect(), ResponsesDialect()], ids=["chat", "responses"])
@settings(max_examples=40)
@given(raw=st.deferred(lambda: JSON))
def test_a_raw_turn_that_is_none_is_passed_over(dialect, raw) -> None:
    """Whatever a saved file holds as the turn of this dialect, the body repeats the calls that the results answer."""
    turn = Message("assistant", (TextContent("x"),), (ToolCall("a", "now"),), raw=raw, dialect=dialect.name)
    results = Message("tool", results=(attrs.evolve(ToolResult.text("noon"), id="a", name="now"),))
    body = dialect.body(ModelRequest(Conversation().ask("y").add(turn, results)), "gpt")
    said = json.dumps(body)
    assert said.count('"a"') == 2
    assert '"now"' in said


# Answers


def test_an_answer_with_calls_is_read_and_goes_back_as_it_came(ask, conversation_of) -> None:
    dialect = ChatDialect()
    request = ask(dialect)
    said = answer(content=None, refusal=None, annotations=[], audio=None, tool_calls=[call(), call("now", "{}", "b")])
    reply = dialect.read({**said, "usage": {"prompt_tokens": 9, "completion_tokens": 4}}, request, "openai:gpt-5")
    assert reply.calls == (ToolCall("a", "roll_dice", {"notation": "2d6"}), ToolCall("b", "now", {}))
    assert reply.stop is Stop.CALLS
    assert reply.usage.total_tokens == 13
    assert (reply.message.dialect, reply.message.model) == ("openai", "openai:gpt-5")
    conversation = conversation_of(reply, ToolResult.text("7"), ToolResult.text("noon"))
    body = dialect.body(ask(dialect, conversation=conversation), "gpt-5")
    assert body["messages"][2:] == [
        {"role": "assistant", "content": None, "tool_calls": [call(), call("now", "{}", "b")]},
        {"role": "tool", "tool_call_id": "a", "content": "7"},
        {"role": "tool", "tool_call_id": "b", "content": "noon"},
    ]


def test_two_calls_of_one_id_get_two(ask) -> None:
    dialect = ChatDialect()
    reply = dialect.read(answer(tool_calls=[call(), call()]), ask(dialect), "openai:gpt")
    first, second = reply.calls
    assert first.id == "a"
    assert second.id not in ("a", "")
    assert [one["id"] for one in reply.message.raw["tool_calls"]] == ["a", second.id]


def test_a_call_to_a_tool_that_is_not_there_is_a_call(ask) -> None:
    dialect = ChatDialect()
    reply = dialect.read(answer(tool_calls=[call("fly to/mars", "{}")]), ask(dialect), "openai:gpt")
    assert reply.calls == (ToolCall("a", "fly to/mars", {}),)
    assert reply.message.raw["tool_calls"][0]["function"]["name"] == "fly_to_mars"


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"notation": ', {"INVALID_JSON": '{"notation": '}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ([1], {"INVALID_JSON": "[1]"}),
        (7, {"INVALID_JSON": "7"}),
        ("x" * 5_000, {"INVALID_JSON": "x" * 1_999 + "…"}),
        ('{"a": "' + "x" * 10_000_000 + '"}', {"INVALID_JSON": '{"a": "' + "x" * 1_992 + "…"}),
    ],
    ids=["cut", "list", "value", "number", "long", "10 MB"],
)
def test_arguments_that_are_none_are_an_error_and_go_back_repaired(ask, arguments, kept) -> None:
    dialect = ChatDialect()
    reply = dialect.read(answer(tool_calls=[call(arguments=arguments)]), ask(dialect), "openai:gpt")
    (read,) = reply.calls
    assert read.error.code == "INVALID_INPUT"
    assert (read.id, read.name) == ("a", "roll_dice")
    assert reply.message.calls == (ToolCall("a", "roll_dice", kept),)
    assert json.loads(reply.message.raw["tool_calls"][0]["function"]["arguments"]) == kept


@pytest.mark.parametrize("arguments", ["", "  ", None, {}])
def test_no_arguments_are_an_empty_object(ask, arguments) -> None:
    dialect = ChatDialect()
    reply = dialect.read(answer(tool_calls=[call("now", arguments)]), ask(dialect), "openai:gpt")
    assert reply.calls == (ToolCall("a", "now", {}),)
    assert reply.message.raw["tool_calls"][0]["function"]["arguments"] == "{}"


def test_text_that_no_utf8_carries_is_replaced(ask) -> None:
    dialect = ChatDialect()
    reply = dialect.read(answer(content="a\ud83d", reasoning="\ude00"), ask(dialect), "openai:gpt")
    assert reply.message.text == "a?"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"error": {"message": "no such model", "code": "model_not_found"}}, "no_model"),
        ({"object": "error", "message": "x"}, "server"),
        ({"choices": []}, "no_json"),
        ({"choices": [{"message": None}]}, "no_json"),
        ([], "no_json"),
        (None, "no_json"),
    ],
)
def test_what_is_not_an_answer_is_a_model_error(ask, said, reason) -> None:
    with pytest.raises(ModelError) as caught:
        ChatDialect().read(said, ask(ChatDialect()), "openai:gpt")
    assert caught.value.details["reason"] == reason
    assert caught.value.details["provider"] == "openai"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)
KEYS = ("content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning_details")
MEMBERS = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON))


@settings(max_examples=80)
@given(
    said=JSON | MEMBERS.map(lambda message: {"choices": [{"message": message}]}),
    flavour=st.sampled_from([OPENAI, MISTRAL]),
)
def test_any_json_answer_gives_a_reply_or_a_model_error(said, flavour) -> None:
    """Whatever JSON is answered, there is a reply that can be sent back, or a `ModelError`."""
    dialect = ChatDialect(flavour)
    request = ModelRequest(Conversation().ask("x"))
    try:
        reply = dialect.read(said, request, "openai:gpt")
    except ModelError:
        return
    json.dumps(dialect.body(ModelRequest(request.conversation.add(reply.message)), "gpt"))
    assert [one.id for one in reply.message.calls] == [one.id for one in reply.calls]


@pytest.mark.parametrize(
    ("url", "flavour"),
    [
        ("https://api.openai.com/v1", OPENAI),
        ("https://eu.api.openai.com/v1", OPENAI),
        ("https://mine.openai.azure.com/openai/v1", OPENAI),
        ("https://api.groq.com/openai/v1", GROQ),
        ("https://api.mistral.ai/v1", MISTRAL),
        ("http://localhost:8080/v1", COMPATIBLE),
        ("https://api.openai.com.example.org/v1", COMPATIBLE),
        ("https://fakeapi.openai.com/v1", COMPATIBLE),
        ("no address", COMPATIBLE),
    ],
)
def test_the_host_says_what_kind_of_server_it_is(url, flavour) -> None:
    assert flavour_of(url) is flavour


@given(st.text(max_size=60), st.sampled_from([OPENAI, MISTRAL]))
def test_an_id_for_a_server_is_one_that_it_takes_and_always_the_same(given_id, flavour) -> None:
    """The id that a server gets fits, is a fixed point, and differs where the ids differ."""
    made = flavour.id_of(given_id)
    assert made == flavour.id_of(given_id) == flavour.id_of(made)
    assert 0 < len(made) <= 40
    assert made.isascii()
    assert made == given_id or made != flavour.id_of(given_id + "x")
