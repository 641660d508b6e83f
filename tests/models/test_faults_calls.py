"""Calls that no model should make, in the words of every provider, streamed and not: each is answered once, none is
lost, and what goes back is what the provider takes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from pegboard import ErrorCode
from pegboard_chat import CallEnded, CallStarted, ChatEnded, Conversation, ModelError, RoundEnded, Stop
from pegboard_chat.budget import Budget

PROVIDERS = ("openai", "openai-responses", "anthropic", "cohere", "gemini")
every_provider = pytest.mark.parametrize("provider", PROVIDERS)
streamed_or_not = pytest.mark.parametrize(
    "stream", [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
)
MANY = Budget(max_tool_calls=1_000)
ODD: list[Any] = [
    None,
    True,
    -1,
    1e308,
    10**30,
    "",
    "x",
    "\ud83d",
    "a\x00b",
    [],
    [None],
    {},
    {"type": {}},
    [[{"a": []}]],
]


@pytest.fixture
def played(faulty):
    """An answer as a tape plays it."""

    def play(provider: str, said: Any, *, stream: bool) -> Any:
        return faulty.events(provider, said) if stream else faulty.whole(provider, said)

    return play


@pytest.fixture
def whole_conversation(judged):
    """`whole_conversation(chat, tape)`: every call has its one answer, and the provider takes every request.

    `own=False`: what a provider said in no form that it has goes back to it all the same, and is not judged.
    """

    def check(chat: Any, tape: Any, *, own: bool = True) -> None:
        open_calls: tuple[Any, ...] = ()
        for message in chat.conversation.messages:
            if message.role == "tool":
                assert [(one.id, one.name) for one in message.results] == [(one.id, one.name) for one in open_calls]
                assert len({one.id for one in open_calls}) == len(open_calls)
            else:
                assert not open_calls, "calls were left without an answer"
            open_calls = message.calls
        assert not open_calls
        saved = json.loads(json.dumps(chat.conversation.to_json()))
        assert Conversation.from_json(saved).to_json() == saved, "what is saved cannot be loaded"
        for sent in tape.sent if own else ():
            judged(sent.path, sent.body)

    return check


def results(events: list[Any]) -> list[Any]:
    return [event.result for event in events if isinstance(event, CallEnded)]


@every_provider
@streamed_or_not
async def test_a_tool_that_is_not_there_is_answered(
    stage, faulty, played, heard, whole_conversation, provider, stream
) -> None:
    names = ["no_such_tool", "calculatr", "x" * 300, "tool with blanks", "ünïcode", "functions.calculator", "../../etc"]
    said = faulty.Said("", [faulty.Call(f"call_{at}", name, '{"a": 1}') for at, name in enumerate(names)])
    async with stage(provider) as on:
        model, tape = on.taped(played(provider, said, stream=stream))
        chat = on.chat(model=model, stream=stream, budget=MANY)
        events = await heard(chat, "Hello?")
        assert [one.error.code for one in results(events)] == [ErrorCode.NOT_FOUND] * len(names)
        assert "calculator" in chat.conversation.messages[2].results[1].error.message
        assert events[-1].text == "Well again."
        await heard(chat, "And now?")
        whole_conversation(chat, tape)


@every_provider
@streamed_or_not
@pytest.mark.parametrize("most", [5, 1_000])
async def test_a_hundred_calls_in_one_turn_have_a_hundred_answers(
    stage, faulty, played, heard, whole_conversation, provider, stream, most
) -> None:
    calls = [faulty.Call(f"call_{at}", "calculator", f'{{"expression": "{at} + 1"}}') for at in range(100)]
    async with stage(provider) as on:
        model, tape = on.taped(played(provider, faulty.Said("", calls), stream=stream))
        chat = on.chat(model=model, stream=stream, budget=Budget(max_tool_calls=most))
        events = await heard(chat, "Hello?")
        answered = results(events)
        assert len(answered) == 100
        assert sum(one.ok for one in answered) == min(most, 100)
        assert all(one.ok or one.error.code is ErrorCode.FORBIDDEN for one in answered)
        kept = chat.conversation.messages[2].results
        assert [one.data["value"] for one in kept if one.ok] == list(range(1, 1 + min(most, 100)))
        assert isinstance(events[-1], ChatEnded)
        assert events[-1].text == "Well again."
        whole_conversation(chat, tape)


@every_provider
@pytest.mark.parametrize("form", ["whole", "streamed", "streamed in one piece"])
async def test_arguments_of_ten_megabytes_are_refused_and_not_kept(
    stage, faulty, played, heard, whole_conversation, provider, form, in_time
) -> None:
    text = '{"expression": "' + "1 + " * 2_600_000 + '1"}'
    said = faulty.Said("", [faulty.Call("call_1", "calculator", text)], pieces=1 if "one" in form else 2_000)
    stream = form != "whole"
    async with stage(provider) as on:
        model, tape = on.taped(played(provider, said, stream=stream))
        chat = on.chat(model=model, stream=stream)
        with in_time():  # and not as if ten megabytes were read again and again
            events = await heard(chat, "Hello?")
        (result,) = results(events)
        assert result.error.code is ErrorCode.INVALID_INPUT
        assert not [event for event in events if isinstance(event, CallStarted)]
        assert len(json.dumps(chat.conversation.to_json())) < 100_000
        assert len(json.dumps(tape.sent[1].body)) < 200_000
        assert events[-1].text == "Well again."
        whole_conversation(chat, tape)


@every_provider
@streamed_or_not
async def test_what_nests_deeper_than_anything_is_kept_so_that_it_can_be_loaded(
    stage, faulty, played, heard, whole_conversation, provider, stream
) -> None:
    """Arguments and turns of every depth that is read at all; what is saved is read again."""
    async with stage(provider) as on:
        for depth in (30, 58, 62, 100, 115):
            deep: Any = 1
            for _ in range(depth):
                deep = {"a": [deep]} if depth > 90 else {"a": deep}
            call = faulty.Call("call_1", "calculator", json.dumps({"expression": "1 + 1", "deep": deep}))
            answer = played(provider, faulty.Said("I see.", [call], thought="Hm."), stream=stream)
            model, tape = on.taped(answer, _deepened(played(provider, faulty.Said("Deep."), stream=stream), deep))
            chat = on.chat(model=model, stream=stream)
            try:
                (result,) = results(await heard(chat, "Hello?"))
                assert result.error.code is ErrorCode.INVALID_INPUT
            except ModelError as problem:
                assert depth > 100, problem  # noqa: PT017 - what is deeper than anything that is read
            whole_conversation(chat, tape, own=False)
            assert (await heard(chat, "And now?"))[-1].text == "Well again."


def _deepened(answer: Any, deep: Any) -> Any:
    """The answer with members that nobody knows, wherever one may stand."""
    if isinstance(answer, tuple):
        return answer[0], _deepened(answer[1], deep)
    if isinstance(answer, list):
        return [_deepened(one, deep) for one in answer]
    if isinstance(answer, dict):
        return {**{key: _deepened(one, deep) for key, one in answer.items()}, "unknown": deep}
    return answer


@every_provider
async def test_ten_megabytes_come_over_the_wire_as_well(stage, faulty, heard, provider) -> None:
    text = '{"expression": "' + "1 + " * 2_600_000 + '1"}'
    said = faulty.Said("", [faulty.Call("call_1", "calculator", text)], pieces=500)
    async with stage(provider) as on:
        for stream in (True, False):
            chat = on.chat(stream=stream)
            on.server.answer(faulty.says(provider, said))
            (result,) = results(await heard(chat, "Hello?"))
            assert result.error.code is ErrorCode.INVALID_INPUT
            assert chat.conversation.last_text == "Well again."
            assert len(json.dumps(on.server.sent[1].body)) < 200_000


@every_provider
@streamed_or_not
async def test_ids_that_are_missing_or_said_twice_are_answered_one_by_one(
    stage, faulty, played, heard, whole_conversation, provider, stream
) -> None:
    ids = ["same", "same", "same", "", None, 7, True, [], {}, "a" * 5_000, "ünï ¢", "a\nb", "\ud83d", " "]
    calls = [faulty.Call(one, "calculator", f'{{"expression": "{at} * 2"}}') for at, one in enumerate(ids)]
    async with stage(provider) as on:
        model, tape = on.taped(played(provider, faulty.Said("", calls), stream=stream))
        chat = on.chat(model=model, stream=stream, budget=MANY)
        events = await heard(chat, "Hello?")
        kept = chat.conversation.messages[2].results
        if provider != "openai" or not stream:  # there what has no id of its own is a piece of the call before it
            assert [one.data["value"] for one in kept] == [at * 2 for at in range(len(ids))]
        assert events[-1].text == "Well again."
        whole_conversation(chat, tape)


@every_provider
@streamed_or_not
async def test_arguments_that_are_no_object_go_back_to_the_model(
    stage, faulty, played, heard, whole_conversation, provider, stream
) -> None:
    broken = ["{", '{"expression": "1', "[]", "null", "12", '"x"', "nonsense", "{}}", '{"a": NaN}', "[" * 5_000]
    calls = [faulty.Call(f"call_{at}", "calculator", one) for at, one in enumerate(broken)]
    async with stage(provider) as on:
        model, tape = on.taped(played(provider, faulty.Said("Well.", calls), stream=stream))
        chat = on.chat(model=model, stream=stream, budget=MANY)
        events = await heard(chat, "Hello?")
        assert {one.error.code for one in results(events)} == {ErrorCode.INVALID_INPUT}
        assert len(results(events)) == len(broken)
        assert events[-1].text == "Well again."
        await heard(chat, "And now?")
        whole_conversation(chat, tape)


@every_provider
@streamed_or_not
@pytest.mark.parametrize("arguments", ["", "{}", '{"include_env', "  "])
async def test_a_call_that_the_limit_of_tokens_cut_is_not_made(
    stage, faulty, played, heard, whole_conversation, provider, stream, arguments
) -> None:
    """Nobody knows what would have come: a tool without required arguments would run as nobody meant it."""
    said = faulty.Said("I look.", [faulty.Call("call_1", "get_time", arguments)], stop="length")
    async with stage(provider) as on:
        model, tape = on.taped(played(provider, said, stream=stream))
        chat = on.chat(model=model, stream=stream)
        events = await heard(chat, "Hello?")
        (result,) = results(events)
        assert next(event.reply.stop for event in events if isinstance(event, RoundEnded)) is Stop.LENGTH
        assert result.error is not None, "a call that was cut was made"
        assert result.error.code is ErrorCode.INVALID_INPUT
        assert "shorter" in result.error.message
        assert events[-1].text == "Well again."
        whole_conversation(chat, tape)


@every_provider
@streamed_or_not
async def test_whatever_stands_in_an_answer_it_is_an_answer_or_an_error(
    stage, faulty, played, heard, sealed, whole_conversation, provider, stream
) -> None:
    """Every member of an answer, one after the other, is something else than it should be, or is not there."""
    call = faulty.Call("call_1", "calculator", '{"expression": "1 + 1"}')
    good = played(provider, faulty.Said("Let me see.", [call], thought="Hm, hm.", pieces=2), stream=stream)
    async with stage(provider) as on:
        model, tape = on.taped()
        answers = 0
        for at, place in enumerate(_places(good)):
            for odd in [*ODD, _GONE][at % 2 :: 2] if stream else [*ODD, _GONE]:  # a stream says most of it twice
                tape.sent.clear()
                tape.answers.clear()
                tape.answers.append(_with(good, place, odd))
                chat = on.chat(model=model, stream=stream)
                try:
                    events = await heard(chat, "Hello?")
                except ModelError as problem:
                    assert problem.details["provider"] == provider  # noqa: PT017 - either is right
                    events = await heard(chat)
                except Exception as problem:
                    raise AssertionError(f"{place} = {odd!r}") from problem
                else:
                    answers += 1
                assert isinstance(events[-1], ChatEnded)
                try:
                    whole_conversation(chat, tape, own=False)
                except Exception as problem:
                    raise AssertionError(f"{place} = {odd!r}") from problem
        assert answers > 10


_GONE = object()


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value but the root, and in the data of every event."""
    if isinstance(value, tuple):
        return _places(value[1], at)
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(*at, key), *_places(inner, (*at, key))]]


def _with(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """A copy with something else there, or nothing."""
    if isinstance(value, tuple):
        return value[0], _with(value[1], place, {} if odd is _GONE and not place else odd)
    if not place:
        return odd
    key, *rest = place
    changed = copy.copy(value)
    if rest or odd is not _GONE:
        changed[key] = _with(value[key], tuple(rest), odd)
    else:
        del changed[key]
    return changed
