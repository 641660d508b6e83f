"""The model that needs nothing: it calls what a question names, and shows what comes back."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pegboard_chat.plugin
from pegboard import Example, ImageContent, Tool, ToolCall, ToolResult, tool
from pegboard_chat import CallDelta, Chat, Conversation, Message, ModelError, ModelRequest, TextDelta, Usage
from pegboard_chat.echo import EchoDialect, EchoModel, EchoProvider


@tool(read_only=True, run="inplace")
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool(read_only=True, run="inplace", examples=[Example({"notation": "2d6"})])
def roll(notation: str) -> str:
    """Roll."""
    return notation


@pytest.fixture
async def chat(host_with: Any) -> Any:
    host = await host_with(pegboard_chat.plugin)
    host.add(add, roll)
    return Chat(host, EchoModel())


async def test_a_line_of_a_question_is_a_call(chat: Any, all_events: Any) -> None:
    events = await all_events(chat.ask('please:\nadd {"a": 1, "b": 2}\n  roll{"notation": "1d1"}\nthank you'))
    assert events[0] == CallDelta(0, "add", '{"a": 1, "b": 2}')
    assert events[-1].text == "3.0\n1d1"
    assert events[-1].cost == 0
    assert events[-1].usage.output_tokens > 0
    assert TextDelta("3.0\n") in events


async def test_errors_are_shown_with_their_code(chat: Any, all_events: Any) -> None:
    events = await all_events(chat.ask('ad {"a": 1}\nadd {"a": }'))
    first, second = events[-1].text.splitlines()
    assert first.startswith("NOT_FOUND: there is no tool 'ad'; did you mean 'add'?")
    assert second.startswith("INVALID_INPUT: line 2: no JSON")


@pytest.mark.parametrize("question", ["hello", "add", "{}", 'add "a"'])
async def test_anything_else_is_answered_with_how_to_ask(chat: Any, all_events: Any, question: str) -> None:
    text = (await all_events(chat.ask(question)))[-1].text
    assert 'add {"a": 1, "b": 1}' in text
    assert 'roll {"notation": "2d6"}' in text
    assert len(chat.conversation.messages) == 2, "the lines that show how to ask are not valid calls"


async def test_a_question_after_how_to_ask_is_a_call_again(chat: Any, all_events: Any) -> None:
    await all_events(chat.ask("hello"))
    assert (await all_events(chat.ask('roll {"notation": "3d6"}')))[-1].text == "3d6"


async def test_without_tools_it_says_so(host_with: Any, all_events: Any) -> None:
    chat = Chat(await host_with(pegboard_chat.plugin), EchoModel())
    assert "there is no tool" in (await all_events(chat.ask('add {"a": 1}')))[-1].text


async def test_without_streaming_the_answer_comes_whole(host_with: Any, all_events: Any) -> None:
    host = await host_with(pegboard_chat.plugin)
    host.add(add)
    chat = Chat(host, EchoModel(), stream=False)
    events = await all_events(chat.ask('add {"a": 1, "b": 2}'))
    assert [type(event).__name__ for event in events] == [
        "RoundEnded", "CallStarted", "CallEnded", "RoundEnded", "ChatEnded",
    ]  # fmt: skip


async def test_what_is_not_text_is_named() -> None:
    result = ToolResult((ImageContent(b"x"),))
    assert EchoDialect().export([add]).format([result]) == ["[image/png]"]


async def test_the_provider_has_one_model() -> None:
    provider = EchoProvider()
    assert provider.missing() is None
    assert list(await provider.list_models()) == ["echo"]
    async with provider.open(None) as model:
        assert model.name == "echo:echo"
    with pytest.raises(ModelError, match="no model 'gpt'") as caught:
        async with provider.open("gpt"):
            pass  # pragma: no cover
    assert caught.value.details["reason"] == "no_model"


def test_the_dialect_is_whole() -> None:
    dialect = EchoDialect()
    export = dialect.export([add])
    assert export.aliases == {"add": "add"}
    assert export.losses == ()
    assert export.strict == {"add": False}
    assert export.parse('add {"a": 1}') == [ToolCall("line_1", "add", {"a": 1})]
    assert export.parse(5) == []
    request = ModelRequest(Conversation("sys").ask("hi"), export)
    body = dialect.body(request, "echo")
    assert (body["model"], body["system"], body["tools"]) == ("echo", "sys", export.definitions)
    assert dialect.body(ModelRequest(Conversation()), "echo")["tools"] == []
    reader = dialect.reader(request, "echo:echo")
    assert list(reader.feed("text", "a")) == [TextDelta("a")]
    assert list(reader.feed("text", "b")) == [TextDelta("b")]
    assert reader.close().message.text == "ab"
    calls = dialect.reader(request, "echo:echo")
    assert list(calls.feed("calls", "add {}")) == []
    assert calls.close().calls == (ToolCall("line_1", "add", {}),)
    with pytest.raises(ModelError, match="no answer"):
        dialect.read({"nothing": 1}, request, "echo:echo")


def test_a_board_gives_the_provider() -> None:
    from pegboard import load_board
    from pegboard_chat import providers_of

    assert list(providers_of(load_board({}, [pegboard_chat.plugin]))) == ["echo"]


def test_an_empty_conversation_is_answered() -> None:
    from pegboard_chat.echo import _answer

    assert "no tool" in _answer(ModelRequest(Conversation()))["text"]


@settings(max_examples=100)
@given(text=st.text(alphabet='ad {}":1\n\\,[]', max_size=40))
def test_any_question_becomes_calls_that_are_whole(text: str) -> None:
    """Whatever is asked, each call of the answer is a call or an error result of the same id, and ids differ."""
    dialect = EchoDialect()
    request = ModelRequest(Conversation().ask(text or "x"), dialect.export([add]))
    reply = dialect.read({"calls": text}, request, "echo:echo")
    assert [call.id for call in reply.message.calls] == [call.id for call in reply.calls]
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    assert all(isinstance(call.arguments, dict) for call in reply.message.calls)
    Conversation.from_json(
        Conversation(None, (reply.message, *_answers(reply.calls))).to_json()
        if reply.calls
        else Conversation().to_json()
    )


def _answers(calls: Any) -> tuple[Message, ...]:
    return (Message("tool", results=tuple(ToolResult((), id=call.id, name=call.name) for call in calls)),)


def test_its_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, pegboard_chat.plugin, pegboard_chat.echo, pegboard_chat.settings\n"
        "heavy = {'trio', 'httpx2', 'prompt_toolkit', 'rich', 'keyring'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tool_without_a_type_has_a_sample_all_the_same() -> None:
    odd = Tool(
        name="odd",
        handler=add.handler,
        run="inplace",
        input_schema={"type": "object", "properties": {"x": {"enum": [1]}}, "required": ["x", "y"]},
    )
    request = ModelRequest(Conversation().ask("?"), EchoDialect().export([odd]))
    from pegboard_chat.echo import _answer

    assert 'odd {"x": "...", "y": "..."}' in _answer(request)["text"]
    assert Usage().total_tokens == 0
