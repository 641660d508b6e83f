"""Conversations as `messages`: every call answered, nothing empty, thinking only to the model that thought it."""

from __future__ import annotations

from typing import Any

import attrs

from pegboard import ErrorCode, ImageContent, TextContent, ToolCall, ToolResult
from pegboard_anthropic._messages import UNANSWERED, messages_of
from pegboard_anthropic.dialect import AnthropicDialect
from pegboard_chat import Conversation, Message

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
USE = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
SAID = {"type": "text", "text": "let me see"}


def written(*messages: Message, model: str = "m") -> list[dict[str, Any]]:
    return messages_of(Conversation(None, messages), model, AnthropicDialect().export(()))


def user(text: str) -> Message:
    return Message("user", (TextContent(text),))


def turn(*blocks: dict[str, Any], model: str = "anthropic:m", dialect: str = "anthropic") -> Message:
    """An assistant's turn as this dialect keeps it."""
    calls = tuple(ToolCall(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use")
    texts = tuple(TextContent(block["text"]) for block in blocks if block["type"] == "text")
    raw = {"role": "assistant", "content": list(blocks)}
    return Message("assistant", texts, calls, raw=raw, dialect=dialect, model=model)


def answered(*ids: str) -> Message:
    return Message("tool", results=tuple(attrs.evolve(ToolResult.text(f"of {i}"), id=i, name="add") for i in ids))


def test_a_turn_of_this_dialect_goes_back_as_it_came() -> None:
    blocks = [THOUGHT, REDACTED, SAID, USE]
    messages = written(user("hi"), turn(*blocks), answered("t1"))
    assert messages[1] == {"role": "assistant", "content": blocks}


def test_thinking_goes_to_no_other_model() -> None:
    messages = written(user("hi"), turn(THOUGHT, SAID, REDACTED, USE, model="anthropic:older"), answered("t1"))
    assert messages[1]["content"] == [SAID, USE]


def test_thinking_whose_model_is_not_known_goes_back() -> None:
    messages = written(user("hi"), attrs.evolve(turn(THOUGHT, SAID), model=None), user("go on"))
    assert messages[1]["content"] == [THOUGHT, SAID]


def test_a_turn_that_was_thinking_alone_is_left_out_for_another_model() -> None:
    messages = written(user("hi"), turn(THOUGHT, model="anthropic:older"), user("well?"))
    assert [message["role"] for message in messages] == ["user"]
    assert [block["text"] for block in messages[0]["content"]] == ["hi", "well?"]


def test_a_turn_of_another_dialect_is_built_from_what_it_says() -> None:
    foreign = Message(
        "assistant",
        (TextContent("see"), ImageContent(b"x")),
        (ToolCall("call:1", "add", {"a": 1}),),
        raw={"role": "assistant", "content": "see"},
        dialect="openai",
        model="openai:gpt",
    )
    messages = written(user("hi"), foreign, answered("call:1"))
    text, image, use = messages[1]["content"]
    assert (text["text"], image["type"], use["name"], use["input"]) == ("see", "text", "add", {"a": 1})
    assert use["id"].startswith("call_")
    assert messages[2]["content"][0]["tool_use_id"] == use["id"]


def test_a_kept_turn_that_no_longer_fits_its_calls_is_built_anew() -> None:
    broken = attrs.evolve(turn(SAID, USE), raw={"role": "assistant", "content": [SAID]})
    messages = written(user("hi"), broken, answered("t1"))
    assert [block["type"] for block in messages[1]["content"]] == ["text", "tool_use"]
    for raw in (None, [], {"content": None}, {"content": [7]}, {"content": [{"type": 7}]}):
        assert written(user("hi"), attrs.evolve(turn(SAID), raw=raw))[1]["content"] == [SAID]


def test_arguments_that_are_no_object_go_back_as_one() -> None:
    foreign = Message("assistant", calls=(ToolCall("t1", "add", "oops"),))
    assert written(user("hi"), foreign, answered("t1"))[1]["content"][0]["input"] == {"INVALID_JSON": "oops"}


def test_all_results_stand_in_one_message_before_any_text() -> None:
    uses = [{**USE, "id": f"t{n}"} for n in range(3)]
    messages = written(user("hi"), turn(*uses), answered("t0", "t1", "t2"), user("and now?"))
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result"] * 3 + ["text"]
    assert [block["tool_use_id"] for block in messages[2]["content"][:3]] == ["t0", "t1", "t2"]


def test_results_are_matched_by_id_before_their_place() -> None:
    uses = [{**USE, "id": f"t{n}"} for n in range(2)]
    blocks = written(user("hi"), turn(*uses), answered("t1", "t0"))[2]["content"]
    assert [(b["tool_use_id"], b["content"][0]["text"]) for b in blocks] == [("t0", "of t0"), ("t1", "of t1")]


def test_results_without_ids_of_their_own_are_matched_by_their_place() -> None:
    uses = [{**USE, "id": f"t{n}"} for n in range(2)]
    blocks = written(user("hi"), turn(*uses), answered("x", "y"))[2]["content"]
    assert [(b["tool_use_id"], b["content"][0]["text"]) for b in blocks] == [("t0", "of x"), ("t1", "of y")]


def test_a_call_that_nobody_answered_is_answered_all_the_same() -> None:
    uses = [{**USE, "id": f"t{n}"} for n in range(2)]
    for rest in ((), (user("never mind"),), (turn(SAID),)):
        blocks = written(user("hi"), turn(*uses), *rest)[2]["content"]
        assert [block.get("tool_use_id") for block in blocks[:2]] == ["t0", "t1"]
        assert all(block["is_error"] and block["content"][0]["text"] == UNANSWERED for block in blocks[:2])
    blocks = written(user("hi"), turn(*uses), answered("t1"))[2]["content"]
    assert [block.get("is_error", False) for block in blocks] == [True, False]


def test_a_result_that_answers_nothing_is_said_in_words() -> None:
    messages = written(user("hi"), answered("t9"))
    assert [block["text"] for block in messages[0]["content"]] == ["hi", "of t9"]


def test_users_who_speak_twice_speak_once() -> None:
    messages = written(user("one"), user("two"))
    assert messages == [{"role": "user", "content": [{"type": "text", "text": t} for t in ("one", "two")]}]


def test_nothing_empty_is_written() -> None:
    assert written(user(" "), Message("assistant"), Message("user"), Message("tool")) == []


def test_a_turn_to_go_on_with_ends_in_no_white_space() -> None:
    message = turn({"type": "text", "text": "so far \n"})
    assert written(user("hi"), message)[-1]["content"][0]["text"] == "so far"
    assert message.raw["content"][0]["text"] == "so far \n"
    assert written(user("hi"), message, user("go on"))[1]["content"][0]["text"] == "so far \n"


def test_a_paused_turn_stays_the_last() -> None:
    paused = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    assert written(user("hi"), turn(SAID, paused))[-1] == {"role": "assistant", "content": [SAID, paused]}


def test_a_failed_result_is_flagged() -> None:
    failed = attrs.evolve(ToolResult.error(ErrorCode.TIMEOUT, "too slow"), id="t1", name="add")
    (block,) = written(user("hi"), turn(USE), Message("tool", results=(failed,)))[2]["content"]
    assert block["is_error"] is True
