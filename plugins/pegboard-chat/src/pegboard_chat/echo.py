"""The provider `echo`: a model that needs nothing. It calls the tools that a question names, and shows their answers.

A line `NAME {JSON}` of a question is a call; any other line is prose. The results of the calls are the answer. A
question without a call is answered with how to ask. It is what the tutorial uses, and what shows a board at work
without a key, a server or a network.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, TextContent, ToolCall, ToolError, ToolResult
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_chat.contract import CallDelta, Delta, ModelError, Reply, Stop, TextDelta
from pegboard_chat.conversation import Message, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pegboard import Loss, Tool
    from pegboard_chat.contract import Model, ModelDialect, ModelExport, ModelRequest, StreamReader

CHARACTERS_PER_TOKEN = 4
SHOWN = 3
"""How many tools an answer names that says how to ask."""

_CALL = re.compile(r"\s*(?P<name>\S{1,128}?)\s*(?P<arguments>\{.*)", re.DOTALL)


@attrs.frozen(eq=False)
class EchoExport:
    """The tools under their own names, whole."""

    definitions: Sequence[Any]
    tools: Sequence[Tool]

    @property
    def aliases(self) -> Mapping[str, str]:
        """Every name stays as it is."""
        return {tool.name: tool.name for tool in self.tools}

    @property
    def losses(self) -> Sequence[Loss]:
        """None."""
        return ()

    @property
    def strict(self) -> Mapping[str, bool]:
        """No tool is: the calls are the user's own."""
        return {tool.name: False for tool in self.tools}

    def parse(self, message: Any) -> Sequence[ToolCall | ToolResult]:
        """Every line `NAME {JSON}` of a text as a call."""
        return [call for _, call in _read_calls(message if isinstance(message, str) else "")]

    def format(self, results: Sequence[ToolResult]) -> Sequence[str]:
        """What each result shows."""
        return [_shown(result) for result in results]


def _read_calls(text: str) -> list[tuple[ToolCall, ToolCall | ToolResult]]:
    """Each call as it goes into the conversation, and as it is to be answered."""
    found: list[tuple[ToolCall, ToolCall | ToolResult]] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _CALL.fullmatch(line.strip())
        if match is None:
            continue
        name, written, call_id = match["name"], match["arguments"], f"line_{number}"
        try:
            call = ToolCall(call_id, name, loads(written))
            found.append((call, call))
        except JsonTextError as problem:
            error = ToolError(ErrorCode.INVALID_INPUT, f"line {number}: no JSON: {problem}", line=number)
            result = attrs.evolve(ToolResult.of_error(error), id=call_id, name=name)
            found.append((ToolCall(call_id, name, {"INVALID_JSON": written}), result))
    return found


def _shown(result: ToolResult) -> str:
    blocks = [getattr(block, "text", None) or f"[{getattr(block, 'mime_type', 'empty')}]" for block in result.content]
    head = f"{result.error.code.value}: " if result.error is not None else ""
    return head + "\n".join(blocks)


class EchoDialect:
    """Requests and answers of the model `echo`: a body that reads as a transcript, an answer of text and calls."""

    name = "echo"

    def export(self, tools: Iterable[Tool]) -> ModelExport:
        """Name, description and schema of each."""
        tools = tuple(tools)
        definitions = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema} for tool in tools
        ]
        return EchoExport(definitions, tools)

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The whole request, as a conversation is saved."""
        definitions = [] if request.export is None else list(request.export.definitions)
        return {"model": model, "tools": definitions, **request.conversation.to_json()}

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """An answer of `{"text"}`, or of `{"calls"}`, whose lines are calls."""
        asked: list[tuple[ToolCall, ToolCall | ToolResult]] = []
        match answer:
            case {"calls": str(text)}:
                asked = _read_calls(text)
            case {"text": str(text)}:
                pass
            case _:
                raise ModelError(ErrorCode.UPSTREAM_ERROR, "echo: no answer", provider="echo", reason="no_json")
        calls = tuple(call for call, _ in asked)
        content = () if calls else (TextContent(text),)
        message = Message("assistant", content, calls, model=model)
        read = sum(len(one.text) + sum(len(_shown(r)) for r in one.results) for one in request.conversation.messages)
        usage = Usage(_tokens(read), _tokens(len(text)))
        return Reply(message, tuple(call for _, call in asked), usage, Stop.CALLS if calls else Stop.END)

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """Events named `text` or `calls`, each the next piece of that."""
        return _EchoStreamReader(self, request, model)


class _EchoStreamReader:
    def __init__(self, dialect: EchoDialect, request: ModelRequest, model: str) -> None:
        self._dialect, self._request, self._model = dialect, request, model
        self._said: dict[str, str] = {}

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        self._said[event] = self._said.get(event, "") + data
        return [TextDelta(data)] if event == "text" else ()

    def close(self) -> Reply:
        return self._dialect.read(self._said, self._request, self._model)


class EchoModel:
    """See the module."""

    def __init__(self, name: str = "echo") -> None:
        self.name = f"echo:{name}"
        self.dialect: ModelDialect = EchoDialect()

    def respond(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[Delta | Reply]]:
        """Answer at once."""
        return contextlib.aclosing(_pieces(self.dialect.read(_answer(request), request, self.name), request))


async def _pieces(reply: Reply, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
    if request.stream:
        for position, call in enumerate(reply.message.calls):
            yield CallDelta(position, call.name, json.dumps(call.arguments, ensure_ascii=False))
        for line in reply.message.text.splitlines(keepends=True):
            yield TextDelta(line)
    yield reply


def _answer(request: ModelRequest) -> dict[str, str]:
    """The results of the last turn, the lines of a question that are calls, or how to ask."""
    messages = request.conversation.messages
    if messages and messages[-1].role == "tool":
        return {"text": "\n".join(_shown(result) for result in messages[-1].results)}
    asked = messages[-1].text if messages else ""
    if request.tool_choice != "none" and request.export is not None and _read_calls(asked):
        return {"calls": asked}
    return {"text": _how_to_ask(request)}


def _how_to_ask(request: ModelRequest) -> str:
    tools: Sequence[Tool] = getattr(request.export, "tools", ())
    if not tools:
        return "I am echo: I call the tools that a line names, and there is no tool that I may call."
    lines = [f"{tool.name} {json.dumps(_example_of(tool), ensure_ascii=False)}" for tool in tools[:SHOWN]]
    return "\n".join(
        [
            "I am echo: I call the tools that a line of the form NAME {JSON} names, and show what they answer.",
            "For example:" if len(lines) > 1 else "Such as:",
            *lines,
        ]
    )


def _example_of(tool: Tool) -> Mapping[str, Any]:
    """Arguments that show how to call it: the author's example, else what is required, by its type."""
    if tool.examples:
        return tool.examples[0].arguments
    properties = tool.input_schema.get("properties", {})
    return {
        name: _SAMPLES.get(str((properties.get(name) or {}).get("type")), "...")
        for name in tool.input_schema.get("required", ())
    }


_SAMPLES: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


class EchoProvider:
    """The place where the model `echo` is: here."""

    name = "echo"
    default_model: str | None = "echo"

    def missing(self) -> str | None:
        """Nothing."""
        return None

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """The model; it holds nothing."""
        if model not in (None, "echo"):
            raise ModelError(
                ErrorCode.NOT_FOUND,
                f"echo: there is no model {model[:60]!r}; write --model echo",
                provider="echo",
                reason="no_model",
            )
        yield EchoModel()

    async def list_models(self) -> Sequence[str]:
        """The one."""
        return ["echo"]
