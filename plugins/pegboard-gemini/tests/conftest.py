"""What the tests of Gemini share: tools, the SDK's types as an oracle, and how an answer is read from a stream."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard import Tool

SDK = "google-genai is not installed: its types are what bodies are held against"


@pytest.fixture(scope="session")
def genai() -> Any:
    """`google.genai.types`; what the SDK warns of on import is its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("google.genai.types", reason=SDK)


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

    @tool
    def ping() -> str:
        """Answer."""
        return "pong"

    return [add, draw, ping]


@pytest.fixture(scope="session")
def stream_of() -> Callable[[list[Any]], bytes]:
    """Chunks as the bytes of `alt=sse`."""
    return lambda chunks: b"".join(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks)


@pytest.fixture(scope="session")
def held(genai: Any) -> Callable[[dict[str, Any]], None]:
    """Hold a body against the SDK's types, which know every member and refuse all others."""

    def hold(body: dict[str, Any]) -> None:
        assert body.keys() <= {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}
        single = {"systemInstruction": genai.Content, "toolConfig": genai.ToolConfig}
        single["generationConfig"] = genai.GenerationConfig
        for name, kind in single.items():
            if name in body:
                kind.model_validate_json(json.dumps(body[name]))
        for content in body["contents"]:
            parsed = genai.Content.model_validate_json(json.dumps(content))
            assert parsed.role in ("user", "model")
            assert parsed.parts
        for one in body.get("tools", []):
            genai.Tool.model_validate_json(json.dumps(one))

    return hold
