"""Every call of a conversation has an id of its own, whatever ids servers give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ToolCall, ToolResult
from pegboard_chat import Conversation, Message, ModelRequest
from pegboard_chat.conversation import unique_ids

IDS = st.lists(st.lists(st.sampled_from(["call_0", "call_1", "call_0_2", "", "x"]), max_size=3), max_size=6)


def conversation_of(turns: list[list[str]], raw: Any = None) -> Conversation:
    """A conversation with these ids, each call of which has its place as an argument and as its result."""
    conversation = Conversation().ask("go")
    for turn, ids in enumerate(turns):
        calls = tuple(ToolCall(given, "add", {"at": [turn, at]}) for at, given in enumerate(ids))
        results = tuple(
            ToolResult.json({"at": [turn, at]}) if not given else _result(given, [turn, at])
            for at, given in enumerate(ids)
        )
        said = Message("assistant", calls=calls, raw=raw(ids) if raw else None, dialect="some" if raw else None)
        conversation = conversation.add(said, *([Message("tool", results=results)] if ids else []))
    return conversation


def _result(call_id: str, at: list[int]) -> ToolResult:
    made = ToolResult.json({"at": at})
    return ToolResult(made.content, made.data, None, None, call_id, "add", 0.0)


@given(IDS)
def test_every_call_gets_an_id_of_its_own_and_its_own_result(turns: list[list[str]]) -> None:
    before = conversation_of(turns)
    after = unique_ids(before)
    calls = [call for message in after.messages for call in message.calls]
    assert len({call.id for call in calls}) == len(calls)
    assert all(call.id for call in calls)
    results = {result.id: result for message in after.messages for result in message.results}
    assert all(results[call.id].data == call.arguments for call in calls)
    assert unique_ids(after) is after
    # What a turn becomes is said by those before it: a provider's cache keeps what it has read.
    for count in range(len(turns)):
        shorter = unique_ids(conversation_of(turns[:count])).messages
        assert after.messages[: len(shorter)] == shorter


@given(IDS, st.lists(st.booleans(), min_size=12, max_size=12))
def test_ids_are_known_as_if_they_were_looked_for_each_time(turns: list[list[str]], looks: list[bool]) -> None:
    """Whenever somebody asks for them on the way, and also where two conversations go on from one."""
    conversation = Conversation()
    for turn, look in zip(turns, looks, strict=False):
        if look:
            conversation = unique_ids(conversation)
        calls = tuple(ToolCall(given, "add", {}) for given in turn)
        other = conversation.add(Message("assistant", calls=(*calls, ToolCall("only there", "add", {}))))
        before, conversation = conversation, conversation.add(Message("assistant", calls=calls)).with_system("new")
        for one in (before, other, conversation):
            fresh = Conversation(one.system, one.messages)
            assert one == fresh
            assert one.call_ids == fresh.call_ids
            one.call_ids.add("of the caller")
            assert unique_ids(one) == unique_ids(fresh)
            assert "of the caller" not in one.call_ids


def test_a_round_looks_at_the_messages_of_that_round_alone() -> None:
    class Counted(tuple[Message, ...]):
        """Messages that nobody may look through."""

        __slots__ = ()

        def __iter__(self) -> Any:
            raise AssertionError("the whole conversation was looked through")

    grown = unique_ids(conversation_of([["a"], ["b"]])).ask("more")
    object.__setattr__(grown, "messages", Counted(grown.messages))
    assert unique_ids(grown) is grown
    assert grown.call_ids == {"a", "b"}
    assert grown.add(Message("assistant", calls=(ToolCall("c", "add", {}),))).call_ids == {"a", "b", "c"}


def test_a_conversation_whose_ids_differ_stays_as_it_is() -> None:
    conversation = conversation_of([["a", "b"], ["c"]])
    assert unique_ids(conversation) is conversation
    assert ModelRequest(conversation).conversation is conversation


def test_the_raw_turn_of_a_provider_goes_with_its_calls() -> None:
    def raw(ids: list[str]) -> Any:
        return {"tool_calls": [{"id": one, "function": {"name": "add", "arguments": one}} for one in ids], "id": "m"}

    after = unique_ids(conversation_of([["call_0", "call_1"], ["call_0", "call_1"], ["x", "x"]], raw))
    turns = [message for message in after.messages if message.role == "assistant"]
    assert [call["id"] for call in turns[1].raw["tool_calls"]] == [call.id for call in turns[1].calls]
    assert [call["function"]["arguments"] for call in turns[1].raw["tool_calls"]] == ["call_0", "call_1"]
    assert turns[2].raw is None


@pytest.mark.unmeasured
def test_very_many_calls_of_one_id_are_counted_once_each() -> None:
    after = unique_ids(conversation_of([["call_0"]] * 20_000))
    assert after.messages[-1].results[0].id == "call_0_20000"
