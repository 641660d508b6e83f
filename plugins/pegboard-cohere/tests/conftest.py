"""What the tests of Cohere share: tools, the SDK's types as an oracle, and how a stream looks."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard import Tool

SDK = "cohere is not installed: its types are what bodies are held against"
MEMBERS = {
    *("model", "messages", "tools", "strict_tools", "tool_choice", "max_tokens", "temperature", "thinking", "stream"),
}


@pytest.fixture(scope="session")
def tools() -> list[Tool]:
    @tool
    def add(a: float, b: float = 1) -> float:
        """Add two numbers.

        Args:
            a: the first.
            b: the second.
        """
        return a + b

    @tool(name="draw.it")
    def draw(what: str) -> str:
        """Draw something."""
        return what

    return [add, draw]


@pytest.fixture(scope="session")
def ping() -> Tool:
    @tool
    def ping() -> str:
        """Answer."""
        return "pong"

    return ping


@pytest.fixture(scope="session")
def stream_of() -> Callable[[list[Any]], bytes]:
    """Events as bytes, each with its name, as the API sends them."""

    def encode(events: list[Any]) -> bytes:
        return b"".join(
            b"event: " + event["type"].encode() + b"\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events
        )

    return encode


def _unknown(value: Any, path: str = "") -> list[str]:
    """Where a parsed value holds members that its type does not name; the SDK's types take any."""
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        found = [f"{path}.{name}" for name in value.model_extra or ()]
        return found + [
            one for name in type(value).model_fields for one in _unknown(getattr(value, name), f"{path}.{name}")
        ]
    return (
        [one for at, item in enumerate(value) for one in _unknown(item, f"{path}[{at}]")]
        if isinstance(value, list)
        else []
    )


@pytest.fixture(scope="session")
def held() -> Callable[[dict[str, Any]], None]:
    """Hold a body against the SDK's types: each message and tool is of its type, and has no member beside them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cohere = pytest.importorskip("cohere", reason=SDK)
        from cohere.types.chat_message_v2 import (
            AssistantChatMessageV2,
            SystemChatMessageV2,
            ToolChatMessageV2,
            UserChatMessageV2,
        )
    kinds = {
        "assistant": AssistantChatMessageV2,
        "system": SystemChatMessageV2,
        "tool": ToolChatMessageV2,
        "user": UserChatMessageV2,
    }

    def hold(body: dict[str, Any]) -> None:
        assert body.keys() <= MEMBERS
        assert body.get("tool_choice") in (None, "REQUIRED", "NONE")
        for message in body["messages"]:
            parsed = kinds[message["role"]].model_validate(message)
            assert _unknown(parsed) == []
            if message["role"] == "assistant":
                kept = message.get("content") or []
                texts = [one for one in kept if isinstance(one, dict) and one["type"] == "text"]
                assert not (message.get("tool_calls") and (texts or isinstance(message.get("content"), str)))
                for call in message.get("tool_calls", ()):
                    assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert message.get("content") or message.get("tool_calls")
        for one in body.get("tools", []):
            assert _unknown(cohere.ToolV2.model_validate(one)) == []
        if "thinking" in body:
            assert _unknown(cohere.Thinking.model_validate(body["thinking"])) == []

    return hold
