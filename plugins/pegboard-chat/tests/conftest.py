"""Models that say what a test tells them to."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from pegboard import TextContent, ToolCall, ToolResult
from pegboard_chat import Message, ModelRequest, Reply, Stop, Usage
from pegboard_chat.echo import EchoDialect

USAGE = Usage(10, 5)


class ScriptedModel:
    """Answers with one reply after the other; the last one again when they are used up.

    A step is a text, a list of calls `(name, arguments)` or `(id, name, arguments)`, a `Reply`, an exception, or a
    function that takes the request and gives one of these; it may be async. Pieces before the reply are in `deltas`.
    """

    def __init__(self, *steps: Any, name: str = "fake:model", usage: Usage = USAGE) -> None:
        self.name = name
        self.dialect = EchoDialect()
        self.steps = list(steps)
        self.usage = usage
        self.requests: list[ModelRequest] = []
        self.deltas: list[Any] = []
        self.open = 0

    @contextlib.asynccontextmanager
    async def respond(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        self.open += 1
        try:
            async with contextlib.aclosing(self._stream(step, request)) as pieces:
                yield pieces
        finally:
            self.open -= 1

    async def _stream(self, step: Any, request: ModelRequest) -> Any:
        for delta in self.deltas:
            yield delta
        if callable(step):
            step = step(request)
            if hasattr(step, "__await__"):
                step = await step
        if isinstance(step, BaseException):
            raise step
        if step is not None:
            yield self.reply(step)

    def reply(self, step: Any) -> Reply:
        if isinstance(step, Reply):
            return step
        if isinstance(step, str):
            return Reply(Message("assistant", (TextContent(step),), model=self.name), (), self.usage, Stop.END)
        calls, parsed = [], []
        for number, one in enumerate(step):
            if isinstance(one, ToolResult):
                calls.append(ToolCall(one.id, one.name, {"INVALID_JSON": "{"}))
                parsed.append(one)
                continue
            call = ToolCall(*one) if len(one) == 3 else ToolCall(f"c{len(self.requests)}_{number}", *one)
            calls.append(call)
            parsed.append(call)
        message = Message("assistant", (), tuple(calls), raw={"said": json.dumps(len(calls))}, dialect="echo")
        return Reply(message, tuple(parsed), self.usage, Stop.CALLS)


@pytest.fixture(scope="session")
def scripted() -> type[ScriptedModel]:
    """The class of models that say what a test tells them to."""
    return ScriptedModel


@pytest.fixture
def all_events() -> Any:
    """Ask, and read every event: `events = await all_events(chat.ask("..."))`."""

    async def read(asking: Any) -> list[Any]:
        async with asking as events:
            return [event async for event in events]

    return read
