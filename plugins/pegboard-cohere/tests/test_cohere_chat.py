"""A chat with Cohere through the loop: calls that go wrong, results with images, errors in the middle."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import pegboard_chat.plugin
import pegboard_cohere.plugin
from pegboard import ImageContent, TextContent, ToolResult, open_host, tool
from pegboard_chat import ModelError
from pegboard_chat.loop import Chat
from pegboard_chat.wire.transport import open_transport
from pegboard_cohere.dialect import CohereDialect
from pegboard_cohere.provider import CohereProvider
from pegboard_cohere.settings import CohereSettings

PLUGINS = [pegboard_chat.plugin, pegboard_cohere.plugin]


@tool(name="look.at", read_only=True)
def look_at(what: str) -> ToolResult:
    """Look at something."""
    return ToolResult((TextContent(f"here is {what}"), ImageContent(b"\x89PNG")))


def calling(alias: str, *pieces: str, reason: str = "TOOL_CALL") -> list[Any]:
    begun = {"id": "c1", "type": "function", "function": {"name": alias, "arguments": ""}}
    events: list[Any] = [{"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I look."}}}]
    events.append({"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": begun}}})
    for piece in pieces:
        delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
        events.append({"type": "tool-call-delta", "index": 0, "delta": delta})
    return [*events, {"type": "message-end", "delta": {"finish_reason": reason}}]


def saying(text: str) -> list[Any]:
    said = {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}}
    return [said, {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}]


@pytest.fixture
def provider_of() -> Callable[..., tuple[CohereProvider, list[Any]]]:
    """A provider whose server streams the given events, a list a request, and the bodies that reached it."""

    def make(*answers: Any) -> tuple[CohereProvider, list[Any]]:
        bodies: list[Any] = []
        left = list(answers)

        def answer(request: httpx2.Request) -> httpx2.Response:
            bodies.append(json.loads(request.content))
            data = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in left.pop(0))
            return httpx2.Response(200, content=data, headers={"content-type": "text/event-stream"})

        connect = functools.partial(open_transport, http=httpx2.MockTransport(answer), tries=1)
        return CohereProvider(CohereSettings(base_url="http://localhost"), connect), bodies

    return make


async def answer_of(chat: Chat, question: str) -> str:
    async with chat.ask(question) as events:
        async for _ in events:
            pass
    return chat.conversation.last_text


async def test_a_cut_call_is_told_a_good_one_is_made_and_its_image_follows(provider_of: Any, held: Any) -> None:
    (alias,) = CohereDialect().export([look_at]).aliases
    provider, bodies = provider_of(
        calling(alias, '{"what": ', '"a c', reason="MAX_TOKENS"),
        calling(alias, '{"what": ', '"a cat"}'),
        saying("A cat."),
        saying("Still a cat."),
    )
    async with open_host({}, PLUGINS) as host, provider.open("command-a-vision-07-2025") as model:
        host.add(look_at)
        chat = Chat(host, model)
        assert await answer_of(chat, "What is there?") == "A cat."
        assert await answer_of(chat, "And now?") == "Still a cat."

    asked, repeated, refused, made, seen, image, answered, again = bodies[-1]["messages"]
    assert asked == {"role": "user", "content": "What is there?"}
    assert repeated["tool_plan"] == made["tool_plan"] == "I look."
    assert json.loads(repeated["tool_calls"][0]["function"]["arguments"]) == {"INVALID_JSON": '{"what": "a c'}
    assert refused["content"].startswith("INVALID_INPUT: the arguments are not a JSON object")
    assert made["tool_calls"][0]["function"] == {"name": alias, "arguments": '{"what": "a cat"}'}
    assert seen["content"].startswith("here is a cat\n")
    assert [part["type"] for part in image["content"]] == ["text", "image_url"]
    assert answered == {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}
    assert again["role"] == "user"
    for body in bodies:
        held(body)


async def test_an_error_in_the_middle_keeps_the_conversation(provider_of: Any, held: Any) -> None:
    provider, bodies = provider_of([{"type": "error", "message": "overloaded"}], saying("Hi"))
    async with open_host({}, PLUGINS) as host, provider.open(None) as model:
        chat = Chat(host, model)
        with pytest.raises(ModelError, match="overloaded"):
            await answer_of(chat, "hello")
        async with chat.go_on() as events:
            async for _ in events:
                pass
    assert chat.conversation.last_text == "Hi"
    assert bodies[0]["messages"] == bodies[1]["messages"]
    held(bodies[1])
