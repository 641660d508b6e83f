"""A chat with Gemini through the loop: calls that go wrong, results with images, errors in the middle."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import pegboard_chat.plugin
import pegboard_gemini.plugin
from pegboard import ImageContent, TextContent, ToolResult, open_host, tool
from pegboard_chat import ModelError
from pegboard_chat.loop import Chat
from pegboard_chat.wire.transport import open_transport
from pegboard_gemini.dialect import GeminiDialect
from pegboard_gemini.provider import GeminiProvider
from pegboard_gemini.settings import GeminiSettings

PLUGINS = [pegboard_chat.plugin, pegboard_gemini.plugin]


@tool(name="look.at", read_only=True)
def look_at(what: str) -> ToolResult:
    """Look at something."""
    return ToolResult((TextContent(f"here is {what}"), ImageContent(b"\x89PNG")))


def chunk(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", **more}]}


@pytest.fixture
def provider_of() -> Callable[..., tuple[GeminiProvider, list[Any]]]:
    """A provider whose server streams one chunk a request, and the bodies that reached it."""

    def make(*chunks: Any) -> tuple[GeminiProvider, list[Any]]:
        bodies: list[Any] = []
        left = list(chunks)

        def answer(request: httpx2.Request) -> httpx2.Response:
            bodies.append(json.loads(request.content))
            data = b"data: " + json.dumps(left.pop(0)).encode() + b"\r\n\r\n"
            return httpx2.Response(200, content=data, headers={"content-type": "text/event-stream"})

        connect = functools.partial(open_transport, http=httpx2.MockTransport(answer), tries=1)
        return GeminiProvider(GeminiSettings(base_url="http://localhost"), connect), bodies

    return make


async def answer_of(chat: Chat, question: str) -> str:
    async with chat.ask(question) as events:
        async for _ in events:
            pass
    return chat.conversation.last_text


async def test_a_broken_call_is_told_a_good_one_is_made_and_its_image_goes_back(provider_of: Any, held: Any) -> None:
    (alias,) = GeminiDialect().export([look_at]).aliases
    wrote = f"print(default_api.{alias}(what='a"
    call = {"functionCall": {"name": alias, "args": {"what": "a cat"}}, "thoughtSignature": "c2ln"}
    end = {"text": "", "thoughtSignature": "ZW5k"}
    provider, bodies = provider_of(
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": wrote}]},
        chunk(call),
        chunk({"text": "A cat."}, end),
        chunk({"text": "Still a cat."}),
    )
    async with open_host({}, PLUGINS) as host, provider.open("gemini-3-pro") as model:
        host.add(look_at)
        chat = Chat(host, model)
        assert await answer_of(chat, "What is there?") == "A cat."
        assert await answer_of(chat, "And now?") == "Still a cat."

    asked, repeated, refused, made, seen, answered, again = bodies[-1]["contents"]
    assert asked == {"role": "user", "parts": [{"text": "What is there?"}]}
    assert repeated["parts"][0]["functionCall"] == {"name": alias, "args": {"INVALID_JSON": wrote}}
    (told,) = refused["parts"]
    assert told["functionResponse"].keys() == {"name", "response"}
    assert told["functionResponse"]["response"]["error"].startswith("INVALID_INPUT: Gemini could not read this call")
    assert made == {"role": "model", "parts": [call]}
    (response,) = seen["parts"]
    assert response["functionResponse"]["response"] == {"output": "here is a cat"}
    assert response["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]
    assert answered == {"role": "model", "parts": [{"text": "A cat."}, end]}
    assert again["role"] == "user"
    for body in bodies:
        held(body)


async def test_an_error_in_the_middle_keeps_the_conversation(provider_of: Any, held: Any) -> None:
    provider, bodies = provider_of(
        {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, chunk({"text": "Hi"})
    )
    async with open_host({}, PLUGINS) as host, provider.open(None) as model:
        chat = Chat(host, model)
        with pytest.raises(ModelError, match="overloaded"):
            await answer_of(chat, "hello")
        async with chat.go_on() as events:
            async for _ in events:
                pass
    assert chat.conversation.last_text == "Hi"
    assert bodies[0]["contents"] == bodies[1]["contents"]
    held(bodies[1])
