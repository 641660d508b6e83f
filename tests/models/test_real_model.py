"""A real model on loopback: SmolLM2 in llama.cpp's server, over the three APIs that it speaks.

So small a model says nothing that could be relied on: these tests look at the shape of what comes, never at its words.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio

from pegboard import ErrorCode, open_host
from pegboard_chat import (
    CallDelta,
    CallEnded,
    CallStarted,
    Chat,
    ChatEnded,
    Conversation,
    ModelError,
    RoundEnded,
    Stop,
    TextDelta,
    open_model,
    providers_of,
)

MAX_TOKENS = 16
"""Enough for two calls; a text is cut here at the latest."""


PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": ""}
"""Where the server speaks as each provider does."""
APIS = [
    pytest.param("openai", id="chat completions"),
    pytest.param("openai-responses", id="responses"),
    pytest.param("anthropic", id="messages"),
]
WAYS = [
    pytest.param("openai", True, id="chat completions, streamed"),
    pytest.param("openai-responses", True, id="responses, streamed"),
    pytest.param("anthropic", False, id="messages, whole"),
    pytest.param("openai", False, id="chat completions, whole", marks=pytest.mark.thorough),
    pytest.param("openai-responses", False, id="responses, whole", marks=pytest.mark.thorough),
    pytest.param("anthropic", True, id="messages, streamed", marks=pytest.mark.thorough),
]
"""Each API and how it answers. A model costs seconds, and what differs between the two is tested without one."""


def of(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize(("api", "stream"), WAYS)
async def test_a_required_call_of_a_tool_its_result_and_an_answer_in_text(llama, reach, heard, api, stream) -> None:
    async with reach(api, llama + PATHS[api]) as reached:
        chat = reached.chat("system_info", stream=stream, max_tokens=MAX_TOKENS)
        events = await heard(chat, "What machine is this?", tool_choice="required")
    # The model may call it once more, up to its limit, which may cut the last call.
    started, ended = of(CallStarted, events), of(CallEnded, events)
    assert {one.result.name for one in ended} == {"system_info"}
    assert all(one.call.arguments == {} for one in started)
    right = [one.result for one in ended if one.result.ok]
    assert {result.id for result in right} == {one.call.id for one in started} != set()
    assert all(one.result.error.code is ErrorCode.INVALID_INPUT for one in ended if not one.result.ok)
    asked, told = of(RoundEnded, events)
    assert asked.reply.stop in (Stop.CALLS, Stop.LENGTH)
    assert asked.usage.input_tokens > 0
    assert asked.usage.output_tokens > 0
    over = events[-1]
    assert isinstance(over, ChatEnded)
    assert over.stop in (Stop.END, Stop.LENGTH)
    assert over.text.strip() == chat.conversation.last_text.strip() != ""
    assert over.usage.output_tokens == asked.usage.output_tokens + told.usage.output_tokens
    if stream:
        assert "".join(delta.text for delta in of(TextDelta, events)).strip() == over.text.strip()
        assert {delta.name for delta in of(CallDelta, events) if delta.name} == {"system_info"}
    else:
        assert not of(TextDelta, events)
    assert len(reached.wire.sent) == 2
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize(("api", "stream"), WAYS)
async def test_a_tool_with_arguments_is_called_with_what_its_schema_allows_or_says_what_is_wrong(
    llama, reach, heard, api, stream
) -> None:
    async with reach(api, llama + PATHS[api]) as reached:
        chat = reached.chat("get_time", stream=stream, max_tokens=MAX_TOKENS)
        events = await heard(chat, "What time is it in Asia/Tokyo?", tool_choice="required")
    (ended, *_) = of(CallEnded, events)
    assert ended.result.name == "get_time"
    assert ended.result.ok or ended.result.error.code is ErrorCode.INVALID_INPUT
    assert isinstance(events[-1], ChatEnded)
    assert not chat.conversation.open_calls


@pytest.mark.parametrize(("api", "stream"), WAYS)
async def test_arguments_that_are_cut_off_go_back_to_the_model_as_an_error(llama, reach, heard, api, stream) -> None:
    async with reach(api, llama + PATHS[api]) as reached:
        chat = reached.chat("calculator", stream=stream, max_tokens=6)
        events = await heard(chat, "What is 2 + 3?", tool_choice="required")
    first = of(CallEnded, events)[0].result
    assert first.error.code is ErrorCode.INVALID_INPUT
    assert first.name == "calculator"
    assert of(RoundEnded, events)[0].reply.stop is Stop.LENGTH
    assert isinstance(events[-1], ChatEnded)
    assert not chat.conversation.open_calls
    assert len(reached.wire.sent) >= 2, "the model was not told"


@pytest.mark.parametrize("api", APIS)
async def test_a_second_question_goes_on_with_the_first_answer(llama, reach, heard, api) -> None:
    async with reach(api, llama + PATHS[api]) as reached:
        chat = reached.chat(max_tokens=8)
        first = await heard(chat, "Say something.")
        second = await heard(chat, "And something else.")
    assert first[-1].text.strip()
    assert second[-1].text.strip()
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant"] * 2


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("stream", "cut_after"),
    [
        pytest.param(True, 0, id="before a byte of the answer, streamed", marks=pytest.mark.thorough),
        pytest.param(False, 0, id="before a byte of the answer, whole", marks=pytest.mark.thorough),
        pytest.param(True, 1_200, id="in the middle of the stream"),
        pytest.param(False, 400, id="in the middle of the answer", marks=pytest.mark.thorough),
    ],
)
async def test_a_dropped_connection_is_said_and_not_asked_again_and_the_conversation_goes_on(
    llama, reach, heard, api, stream, cut_after
) -> None:
    async with reach(api, llama + PATHS[api]) as reached:
        chat = reached.chat(stream=stream, max_tokens=MAX_TOKENS)
        reached.wire.cut_after = cut_after
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Count to a hundred.")
        assert caught.value.details["reason"] == "half_answer"
        assert caught.value.details["provider"] == api
        assert len(reached.wire.sent) == 1, "what was sent and may have been done was sent again"
        assert [message.role for message in chat.conversation.messages if message.cut is None] == ["user"]
        async with chat.go_on() as events:
            over = [event async for event in events][-1]
        assert over.text.strip()
        assert [message.role for message in chat.conversation.messages] == ["user", "assistant"]


@pytest.mark.parametrize("api", APIS)
async def test_leaving_early_frees_the_connection_at_once(llama, reach, heard, api) -> None:
    async with reach(api, llama + PATHS[api]) as reached:
        chat = reached.chat(max_tokens=400)
        async with chat.ask("Tell a very long story.") as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        with trio.fail_after(20):
            while reached.wire.connections:
                await trio.lowlevel.checkpoint()
        assert [message.role for message in chat.conversation.messages if message.cut is None] == ["user"]


async def test_a_conversation_goes_from_one_api_to_the_next_with_its_calls(llama, reach, heard) -> None:
    """Saved and loaded in between, as a person would carry it."""
    said = Conversation().to_json()
    for param in APIS:
        api: str = param.values[0]  # type: ignore[assignment]
        async with reach(api, llama + PATHS[api]) as reached:
            chat = reached.chat("system_info", conversation=Conversation.from_json(said), max_tokens=MAX_TOKENS)
            events = await heard(chat, "What machine is this?", tool_choice="required")
        assert any(ended.result.ok for ended in of(CallEnded, events))
        said = chat.conversation.to_json()
    assert len(said["messages"]) == 4 * len(APIS)


async def test_local_finds_the_server_and_its_model_by_itself(llama, heard) -> None:
    config = {"plugins": {"openai": {"local_ports": [9, urlsplit(llama).port]}}}
    async with open_host(config) as host:
        provider = providers_of(host)["local"]
        (name,) = await provider.list_models()
        async with open_model(host, "local") as model:
            assert model.name == f"local:{name}"
            events = await heard(Chat(host, model, tools=[], max_tokens=4), "Say something.")
    assert isinstance(events[-1], ChatEnded)


@pytest.mark.parametrize("api", ["openai", "openai-responses"])
async def test_the_models_of_the_server_are_listed(llama, api) -> None:
    config = {"plugins": {"openai": {"base_url": llama + "/v1"}}}
    async with open_host(config) as host:
        assert len(await providers_of(host)[api].list_models()) == 1


@pytest.mark.parametrize("api", ["openai", "openai-responses"])
def test_the_program_talks_with_it_and_goes_on_where_it_ended(llama, tmp_path, api) -> None:
    """`pegboard chat`, as a person would call it; an answer that its limit cut off ends with status 1."""

    def say(question: str) -> dict[str, Any]:
        words = ["chat", "--model", f"{api}:smollm2", "--no-tools", "--save", "said.json", "--json"]
        ran = subprocess.run(
            [sys.executable, "-m", "pegboard", *words, question],
            env={**os.environ, "OPENAI_BASE_URL": llama + PATHS[api], "XDG_DATA_HOME": str(tmp_path)},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        said = [json.loads(line) for line in ran.stdout.splitlines()]
        assert said, ran.stderr
        assert ran.returncode == (0 if said[-1]["stop"] == "end" else 1), ran.stdout + ran.stderr
        return said[-1]

    for question in ("Say something.", "And something else."):
        assert say(question)["type"] == "end"
    saved = json.loads((tmp_path / "said.json").read_text())
    assert [message["role"] for message in saved["messages"]] == ["user", "assistant"] * 2
