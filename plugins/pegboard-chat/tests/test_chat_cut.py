"""Answers that do not come to their end, and calls that their provider could not read: what is kept of them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import attrs
import pytest
import trio

import pegboard_chat.plugin
from pegboard import ErrorCode, tool
from pegboard_chat import (
    AnswerCut,
    Budget,
    Chat,
    ChatEnded,
    Conversation,
    Message,
    ModelError,
    Stop,
    TextDelta,
    ThinkingDelta,
)
from pegboard_chat.events import event_to_json
from pegboard_chat.wire.faults import error_of, half_answer


@pytest.fixture
async def host(host_with: Any) -> Any:
    host = await host_with(pegboard_chat.plugin)

    @tool(read_only=True, run="inplace")
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    host.add(add)
    return host


async def never(request: Any) -> str:
    await trio.sleep_forever()
    raise AssertionError("it slept")


HALF = [ThinkingDelta("hm"), TextDelta("Once upon "), TextDelta("a time")]


async def heard(chat: Chat, *, leaves: bool) -> list[Any]:
    """The events of one question; of one that is left, until the last piece of the text."""
    events: list[Any] = []
    async with chat.ask("tell me") as stream:
        async for event in stream:
            events.append(event)
            if leaves and event == HALF[-1]:
                break
    return events


@pytest.mark.parametrize(
    ("step", "budget", "cut"),
    [
        (never, Budget(), "left"),
        (never, Budget(max_seconds=5), "max_seconds"),
        (half_answer("acme"), Budget(), "half_answer"),
        (error_of("acme", None, '{"error": {"type": "overloaded_error"}}'), Budget(), "server"),
        (None, Budget(), "half_answer"),
    ],
    ids=["left", "max_seconds", "broken", "error", "no end"],
)
async def test_half_an_answer_is_kept_and_marked(
    host: Any, scripted: Any, autojump_clock: Any, step: Any, budget: Budget, cut: str
) -> None:
    model = scripted(step)
    model.deltas = HALF
    chat = Chat(host, model, budget=budget)
    events: list[Any] = []
    with contextlib.suppress(ModelError):
        events += await heard(chat, leaves=cut == "left")
    last = chat.conversation.messages[-1]
    assert (last.role, last.text, last.cut, last.raw) == ("assistant", "Once upon a time", cut, None)
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant"]
    saved = json.loads(json.dumps(chat.conversation.to_json()))
    assert saved["messages"][-1]["cut"] == cut
    assert Conversation.from_json(saved) == chat.conversation
    if cut == "max_seconds":
        assert AnswerCut("Once upon a time", cut) in events
        assert isinstance(events[-1], ChatEnded)
        assert (events[-1].text, events[-1].reason) == ("Once upon a time", cut)
    assert event_to_json(AnswerCut("Once", cut)) == {"type": "cut", "text": "Once", "reason": cut}
    # Asked again the whole answer takes its place; a new question goes behind it.
    again = Chat(host, scripted("the end"), conversation=chat.conversation)
    async with again.go_on() as stream:
        [event async for event in stream]
    assert [message.text for message in again.conversation.messages] == ["tell me", "the end"]
    further = Chat(host, scripted("so"), conversation=chat.conversation)
    async with further.ask("and then?") as stream:
        [event async for event in stream]
    said = [message.text for message in further.conversation.messages]
    assert said == ["tell me", "Once upon a time", "and then?", "so"]


async def test_the_events_before_an_error_say_what_was_kept(host: Any, scripted: Any) -> None:
    model = scripted(half_answer("acme"))
    model.deltas = HALF
    events: list[Any] = []
    with contextlib.suppress(ModelError):
        async with Chat(host, model).ask("tell me") as stream:
            async for event in stream:
                events.append(event)
    assert events[-1] == AnswerCut("Once upon a time", "half_answer")


async def test_nothing_is_kept_of_an_answer_of_which_nothing_came(host: Any, scripted: Any) -> None:
    model = scripted(half_answer("acme"))
    model.deltas = [ThinkingDelta("hm"), TextDelta(" ")]
    chat = Chat(host, model)
    with pytest.raises(ModelError):
        async with chat.ask("tell me") as stream:
            [event async for event in stream]
    assert [message.role for message in chat.conversation.messages] == ["user"]


async def test_an_answer_at_the_limit_of_output_is_marked(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted("half of")
    model.steps = [attrs.evolve(model.reply("half of"), stop=Stop.LENGTH)]
    chat = Chat(host, model)
    await all_events(chat.ask("?"))
    assert chat.conversation.messages[-1].cut == "length"


@pytest.mark.parametrize("cut", [7, ["left"]])
def test_a_mark_that_is_none_is_refused(cut: Any) -> None:
    saved = Conversation(None, (Message("user"), Message("assistant", cut="left"))).to_json()
    saved["messages"][1]["cut"] = cut
    with pytest.raises(ValueError, match=r"messages\[1\]\.cut"):
        Conversation.from_json(saved)


# -- a call that the provider could not read

WRITTEN = '<function=add{"a": 1, "b": 2}</function>'
FAILED = {
    "error": {
        "message": "Failed to call a function. Please adjust your prompt.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": WRITTEN,
    }
}


def failed(status: int | None) -> ModelError:
    value = FAILED if status else FAILED["error"]
    return error_of("groq", status, json.dumps(value), secrets=["sk-1234567890"])


@pytest.mark.parametrize("status", [400, None], ids=["refused", "in a stream"])
async def test_a_call_that_groq_could_not_read_goes_back_to_the_model_once(
    host: Any, scripted: Any, all_events: Any, status: int | None
) -> None:
    model = scripted(failed(status), [("add", {"a": 1, "b": 2})], "3")
    chat = Chat(host, model)
    events = await all_events(chat.ask("1 + 2?"))
    assert events[-1].text == "3"
    _, first, answer, second, *_ = chat.conversation.messages
    assert (first.calls[0].name, first.calls[0].arguments) == ("add", {"INVALID_JSON": WRITTEN})
    assert answer.results[0].error is not None
    assert answer.results[0].error.details["reason"] == "tool_use_failed"
    assert second.calls[0].arguments == {"a": 1, "b": 2}
    assert len(model.requests) == 3


async def test_a_model_that_goes_on_so_is_an_error(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(failed(400))
    with pytest.raises(ModelError, match="could not read a call") as raised:
        await all_events(Chat(host, model).ask("1 + 2?"))
    assert len(model.requests) == 2
    assert raised.value.code is ErrorCode.INVALID_INPUT
    assert raised.value.details["reason"] == "tool_use_failed"


async def test_without_tools_nothing_goes_back(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(failed(400))
    with pytest.raises(ModelError):
        await all_events(Chat(host, model, tools=()).ask("1 + 2?"))
    assert len(model.requests) == 1


@pytest.mark.parametrize("written", [None, 7, "x" * 10_000, "sk-1234567890", {"a": [1]}])
def test_what_a_model_wrote_is_bounded_and_without_keys(written: Any) -> None:
    value = {"error": {**FAILED["error"], "failed_generation": written}}
    error = error_of("groq", 400, json.dumps(value), secrets=["sk-1234567890"])
    assert isinstance(error.details["failed_generation"], str)
    assert len(error.details["failed_generation"]) <= 2_000
    assert "sk-1234567890" not in json.dumps(error.to_json())
