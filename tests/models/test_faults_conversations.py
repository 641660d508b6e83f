"""Conversations that go on: with the same provider and with every other, after anything; out of files that somebody
edited; on boards whose tools are others than they were."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, ImageContent, TextContent, Tool, ToolResult, hookimpl
from pegboard_chat import CallEnded, Conversation, Message, ModelError
from pegboard_chat.budget import Budget

PROVIDERS = ("openai", "openai-responses", "anthropic", "cohere", "gemini")
OTHER_MODELS = {
    "openai": "o4-mini",
    "openai-responses": "o4-mini",
    "anthropic": "claude-y",
    "cohere": "command-a-vision-07-2025",
    "gemini": "gemini-3-pro",
}
every_provider = pytest.mark.parametrize("provider", PROVIDERS)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
ODD: list[Any] = [None, True, 7, "", "x", [], [None], {}, {"type": {}}, [[{"a": []}]]]


class Pictures:
    """A plugin with a tool that gives an image."""

    name = "pictures"

    @hookimpl
    def provide_tools(self) -> Any:
        def draw() -> ToolResult:
            """Draw something."""
            return ToolResult((TextContent("here"), ImageContent(PNG)))

        return [Tool(name="draw", handler=draw, description="Draw something.", run="inplace")]


@pytest.fixture
def taken(judged, faulty):
    """`taken(tape)`: the provider takes every request, and each call in it has its result."""

    def check(tape: Any, *, form: bool = True) -> None:
        for sent in tape.sent:
            assert faulty.unanswered(sent.path, sent.body) == []
            if form:
                judged(sent.path, sent.body)

    return check


@pytest.fixture
def eventful(faulty, heard):
    """A conversation in which everything happened: images, thoughts, broken and refused calls, an error in the
    middle, a turn that was left."""

    async def talk(on: Any, provider: str, *, stream: bool) -> tuple[Conversation, Any]:
        play = faulty.events if stream else faulty.whole
        calls = [
            faulty.Call("call_1", "calculator", '{"expression": "1 + 1"}'),
            faulty.Call("call_1", "calculator", '{"expression": "2 + 2"}'),
            faulty.Call("", "calculator", '{"expression": '),
            faulty.Call("call/with:signs", "no such tool", "{}"),
            faulty.Call("call_5", "draw", "{}"),
            faulty.Call("call_6", "calculator", '{"expression": "one too many"}'),
        ]
        said = faulty.Said("Let me see.", calls, thought="Hm, hm.")
        model, tape = on.taped(play(provider, said), play(provider, faulty.Said("That is it.", thought="So.")))
        chat = on.chat(model=model, stream=stream, budget=Budget(max_tool_calls=4))
        await heard(chat, "Hello?", ImageContent(PNG))
        results = chat.conversation.messages[2].results
        assert [one.error and one.error.code for one in results] == [
            None,
            None,
            ErrorCode.INVALID_INPUT,
            ErrorCode.NOT_FOUND,
            None,
            ErrorCode.FORBIDDEN,
        ]
        tape.answers.append(play(provider, faulty.Said("", [faulty.Call("call_9", "draw", "{}")], thought="Again.")))
        tape.answers.append([faulty.error_event(provider, "over")] if stream else {"error": {"message": "over"}})
        with pytest.raises(ModelError):
            await heard(chat, "And a picture?")
        assert chat.conversation.messages[-1].role == "tool"
        return chat.conversation, tape

    return talk


@every_provider
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_conversation_goes_on_with_every_provider(
    stage, faulty, heard, eventful, taken, provider, stream
) -> None:
    """It is saved in between; then it comes back to the first one, and goes to another model of the same."""
    async with stage(provider, on_top=[Pictures()]) as on:
        conversation, tape = await eventful(on, provider, stream=stream)
        taken(tape)
        for other in PROVIDERS:
            async with stage(other, on_top=[Pictures()]) as there:
                await _go_on(there, faulty, heard, taken, other, conversation, stream)
        for model in (faulty.MODELS[provider], OTHER_MODELS[provider]):
            async with stage(provider, on_top=[Pictures()], model=model) as again:
                passed = await _go_on(again, faulty, heard, taken, provider, conversation, stream)
                await _go_on(on, faulty, heard, taken, provider, passed, stream)


async def _go_on(
    on: Any, faulty: Any, heard: Any, taken: Any, provider: str, conversation: Conversation, stream: bool
) -> Conversation:
    """Answer what was asked, with a call; then another question."""
    saved = Conversation.from_json(json.loads(json.dumps(conversation.to_json())))
    assert saved.to_json() == conversation.to_json()
    call = faulty.Said("I draw.", [faulty.Call("call_1", "draw", "{}")], thought="Draw.")
    model, tape = on.taped((faulty.events if stream else faulty.whole)(provider, call))
    chat = on.chat(model=model, stream=stream, conversation=saved)
    going = heard(chat) if conversation.messages[-1].role == "tool" else heard(chat, "Once more?")
    events = await going
    assert [event.result.ok for event in events if isinstance(event, CallEnded)] == [True]
    assert (await heard(chat, "Thanks?"))[-1].text == "Well again."
    assert len(tape.sent) == 3
    taken(tape)
    return chat.conversation


@every_provider
async def test_what_a_model_thought_goes_to_no_other_model(stage, faulty, heard, eventful, provider) -> None:
    async with stage(provider, on_top=[Pictures()]) as on:
        conversation, _ = await eventful(on, provider, stream=True)
    for other in PROVIDERS:
        async with stage(other, on_top=[Pictures()], model=OTHER_MODELS[other]) as there:
            model, tape = there.taped()
            await heard(there.chat(model=model, conversation=conversation))
            text = json.dumps(tape.sent[0].body)
            for secret in ("Hm, hm.", "So.", "Again.", "gAAAABthought", "EqQBCgIYAhIk", "CpcBAdHtim8"):
                assert secret not in text, f"{secret} of {provider} went to {other}"


@every_provider
async def test_no_raw_turn_of_a_file_breaks_a_request(stage, faulty, heard, eventful, taken, provider) -> None:
    """A saved conversation is a file of somebody: what is in `raw` may be anything, said to be of any dialect."""
    async with stage(provider, on_top=[Pictures()]) as on:
        conversation, _ = await eventful(on, provider, stream=False)
        turns = [at for at, message in enumerate(conversation.messages) if message.raw is not None]
        model, tape = on.taped()
        shapes: list[Any] = [*ODD, {"role": "assistant"}, {"role": "model", "parts": [{"functionCall": {}}]}]
        shapes += [{"role": "assistant", "content": [{"type": "tool_use"}]}, [{"type": "function_call"}], [5]]
        shapes += [{"role": "assistant", "tool_calls": one} for one in (*ODD, [{}], [{"id": "call_1"}], [{"id": 1}])]
        shapes += [{"role": "assistant", "content": one} for one in ODD]
        shapes += [{"role": "model", "parts": one} for one in (*ODD, [{"functionCall": 5}], [{"text": 5}])]
        shapes += [[{"type": one}] for one in (*ODD, "message", "reasoning", "function_call_output")]
        for at in turns:
            for shape in shapes:
                await _ask_with_raw(on, model, tape, heard, taken, conversation, at, shape)


@every_provider
async def test_no_member_of_a_raw_turn_breaks_a_request(stage, faulty, heard, eventful, taken, provider) -> None:
    """The turns of the provider itself, with something else in one place."""
    async with stage(provider, on_top=[Pictures()]) as on:
        conversation, _ = await eventful(on, provider, stream=False)
        model, tape = on.taped()
        raw = conversation.messages[1].raw
        for place in _places(raw):
            for odd in ODD:
                await _ask_with_raw(on, model, tape, heard, taken, conversation, 1, _with(raw, place, odd))


async def _ask_with_raw(
    on: Any, model: Any, tape: Any, heard: Any, taken: Any, conversation: Conversation, at: int, raw: Any
) -> None:
    saved = conversation.to_json()
    saved["messages"][at] = {**saved["messages"][at], "raw": raw, "dialect": model.dialect.name}
    tape.sent.clear()
    chat = on.chat(model=model, conversation=Conversation.from_json(saved))
    try:
        events = await heard(chat)
        assert events[-1].text == "Well again."
        json.dumps(tape.sent[0].body)
        taken(tape, form=False)
    except Exception as problem:
        raise AssertionError(f"raw = {raw!r:.500}") from problem


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(*at, key), *_places(inner, (*at, key))]]


def _with(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    if not place:
        return odd
    changed = copy.copy(value)
    changed[place[0]] = _with(value[place[0]], place[1:], odd)
    return changed


@every_provider
async def test_tools_that_are_gone_are_answered_for(stage, faulty, heard, eventful, taken, provider) -> None:
    """The board has no tool left that the conversation called, and the model calls one of them again."""
    async with stage(provider, on_top=[Pictures()]) as on:
        conversation, _ = await eventful(on, provider, stream=True)
    async with stage(provider, provider.partition("-")[0], "chat") as bare:
        call = faulty.Said("", [faulty.Call("call_1", "draw", "{}")])
        model, tape = bare.taped(faulty.events(provider, call))
        chat = bare.chat(model=model, conversation=conversation)
        events = await heard(chat)
        (ended,) = [event.result for event in events if isinstance(event, CallEnded)]
        assert ended.error.code is ErrorCode.NOT_FOUND
        assert events[-1].text == "Well again."
        taken(tape)


class Fleeting:
    """A source whose tool is taken down by its own call."""

    name = "fleeting"
    timeout_s = None

    def __init__(self) -> None:
        self.called = trio.Event()

    async def run(self, slot: Any) -> None:
        async def once() -> str:
            self.called.set()
            await trio.testing.wait_all_tasks_blocked()
            return "that was it"

        slot.replace([Tool(name="once", handler=once, description="Only once.")])
        await self.called.wait()
        slot.replace([])
        await trio.sleep_forever()

    @hookimpl
    def provide_sources(self) -> Any:
        return [self]


@every_provider
async def test_a_tool_that_goes_between_rounds_is_gone_in_the_next(stage, faulty, heard, taken, provider) -> None:
    async with stage(provider, on_top=[Fleeting()]) as on:
        await on.host.wait_for_sources(timeout_s=5)
        said = faulty.Said("", [faulty.Call("call_1", "once", "{}")])
        model, tape = on.taped(*[faulty.events(provider, said)] * 2)
        events = await heard(on.chat(model=model), "Hello?")
        first, second = (event.result for event in events if isinstance(event, CallEnded))
        assert first.text == "that was it"
        assert second.error.code is ErrorCode.NOT_FOUND
        offered = [json.dumps(sent.body.get("tools")) for sent in tape.sent]
        assert ['"once"' in tools for tools in offered] == [True, False, False]
        assert events[-1].text == "Well again."
        taken(tape)


class Namesakes:
    """Tools whose names no provider takes, and tools that are called as those would be."""

    name = "namesakes"
    names = ("a b", "a.b", "a/b", "ä b", "x" * 100, "x" * 100 + "y", "1a", "-")

    @hookimpl
    def provide_tools(self) -> Any:
        from pegboard_chat.portable.export import alias_of

        return [self._tool(name) for name in [*self.names, *(alias_of(name) for name in self.names)]]

    def _tool(self, name: str) -> Tool:
        return Tool(name=name, handler=lambda: f"I am {name}", description="Says who it is.", run="inplace")


@every_provider
async def test_names_that_meet_are_told_apart(stage, faulty, heard, taken, provider) -> None:
    names = Namesakes.names
    async with stage(provider, on_top=[Namesakes()]) as on:
        model, tape = on.taped()
        chat = on.chat(model=model, budget=Budget(max_tool_calls=100))
        export = model.dialect.export([on.host.tools[name] for name in sorted(on.host.tools)])
        offered = [tool for tool in on.host.tools if tool != "calculator"]
        calls = [faulty.Call(f"call_{at}", export.alias_of(name), "{}") for at, name in enumerate(offered)]
        assert len({call.name for call in calls}) == len(offered) >= 2 * len(names)
        tape.answers.append(faulty.events(provider, faulty.Said("", calls)))
        events = await heard(chat, "Who are you?")
        told = {event.result.name: event.result.text for event in events if isinstance(event, CallEnded)}
        assert all(told[name] == f"I am {name}" for name in [*names, *map(export.alias_of, names)] if name in told)
        assert set(names) <= told.keys()
        taken(tape)


async def test_a_message_of_a_third_party_says_only_what_it_can(stage, faulty, heard, taken) -> None:
    """Messages that a program made by hand: of no dialect, with a call that holds rubbish and a result of nothing."""
    from pegboard import ToolCall

    call = ToolCall("1", "draw", {"INVALID_JSON": '{"a'})
    odd = ToolCall("\u2028", "Ünïcode tool", {"deep": [[[{"a": None}]]], "text": "\ud83d"})
    made = (
        Conversation("Be brief.")
        .ask("", "Hello?")
        .add(
            Message("assistant", (TextContent(""),), (call, odd), model="foreign:x", dialect="foreign", raw={"a": 1}),
            Message("tool", results=(ToolResult.empty().__class__(id="1", name="draw"), _named(odd))),
            Message("assistant"),
        )
    )
    for provider in PROVIDERS:
        async with stage(provider, on_top=[Pictures()]) as on:
            model, tape = on.taped()
            assert (await heard(on.chat(model=model, conversation=made), "Well?"))[-1].text == "Well again."
            taken(tape)


def _named(call: Any) -> ToolResult:
    import attrs

    return attrs.evolve(ToolResult.error("CONFLICT", "no"), id=call.id, name=call.name)
