"""The dialect `anthropic`: tools, calls, results and whole conversations of the messages API, without a network.

What a request may not say together is settled here, so that no setting makes a request that is refused:

- Thinking leaves no temperature; a forced call leaves no thinking.
- With a budget, thinking needs more output tokens than its budget, and an open turn that began with it.

Source: https://platform.claude.com/docs/en/api/messages,
    https://platform.claude.com/docs/en/build-with-claude/thinking.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard_anthropic._blocks import Block, result_block, wire_id
from pegboard_anthropic._messages import DIALECT, THINKING, messages_of
from pegboard_anthropic.settings import MIN_BUDGET
from pegboard_chat import ModelError
from pegboard_chat.portable import ANTHROPIC_PLAIN, ANTHROPIC_STRICT, PortableExport, draw_id, refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard import Tool, ToolCall, ToolResult
    from pegboard_anthropic.settings import AnthropicSettings
    from pegboard_chat import ModelRequest, Reply, StreamReader
    from pegboard_chat.portable import Compiled

BINDING_BETA = "thinking-binding-controls-2026-08-01"
MAX_EXAMPLES = 4
MAX_EXAMPLE_CHARS = 2_000
"""Of all examples of a tool together, as JSON: each request pays for them."""


def define(tool: Tool, alias: str, compiled: Compiled, description: str) -> Block:
    """A tool as `tools` has it."""
    definition: Block = {"name": alias, "description": description, "input_schema": compiled.schema}
    if compiled.strict:
        definition["strict"] = True
    if examples := _examples_of(tool, compiled):
        definition["input_examples"] = examples
    return definition


def _examples_of(tool: Tool, compiled: Compiled) -> list[Any]:
    """The first examples, as many as are cheap; each has to hold to the schema, as those of a tool do."""
    left, chosen = MAX_EXAMPLE_CHARS, []
    for example in tool.examples[:MAX_EXAMPLES]:
        left -= len(json.dumps(example.arguments))
        if left < 0:
            break
        chosen.append(compiled.fill(example.arguments))
    return chosen


class AnthropicExport(PortableExport):
    """The tools of one request, and the way back."""

    def calls_in(self, message: dict[str, Any] | list[Any]) -> Sequence[ToolCall | ToolResult]:
        """The calls of an answer, of an assistant's message, or of a list of blocks."""
        from pegboard_anthropic._answers import read

        answer = {"content": message} if isinstance(message, list) else message
        if isinstance(answer.get("content"), str):
            return ()
        try:
            return read(answer, self, f"{DIALECT}:").calls
        except ModelError as problem:
            return [refused(draw_id(), "", problem.message)]

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """All results of a turn in one user message, as the API wants them."""
        blocks = [result_block(wire_id(result.id), result) for result in results]
        return [{"role": "user", "content": blocks}] if blocks else []


@attrs.frozen
class AnthropicDialect:
    """The messages API. See `AnthropicSettings` for what its members mean.

    `drop_changed`: thinking before which something changed is left out by the API, which refuses the request otherwise.
    It takes the feature `BINDING_BETA`, and thinking that is set.

    .. versionadded:: 0.1
    """

    name = DIALECT

    max_tokens: int = 16_000
    thinking: int | Literal["adaptive", "off"] | None = None
    strict: bool = True
    cache: bool = False
    drop_changed: bool = False

    @classmethod
    def of(cls, settings: AnthropicSettings) -> AnthropicDialect:
        """The dialect as the settings want it."""
        drop_changed = BINDING_BETA in settings.betas
        return cls(settings.max_tokens, settings.thinking, settings.strict, settings.cache, drop_changed)

    def export(self, tools: Iterable[Tool]) -> AnthropicExport:
        """Compile the tools; the same tools a second time cost next to nothing."""
        return AnthropicExport(tools, ANTHROPIC_STRICT if self.strict else ANTHROPIC_PLAIN, define)

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The body of `POST /v1/messages`."""
        export = self._export_of(request)
        messages = messages_of(request.conversation, model, export)
        tools = list(export.definitions)
        choice = self._choice_of(request, export) if tools else None
        forced = choice is not None and choice["type"] in ("any", "tool")
        thinking, max_tokens = self._thinking_of(request, messages, forced=forced)
        if self.drop_changed and thinking is not None and thinking["type"] != "disabled":
            thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
        temperature = request.temperature if thinking is None or thinking["type"] == "disabled" else None
        said = {
            "model": model,
            "max_tokens": max_tokens,
            "messages": messages,
            "system": (request.conversation.system or "").strip() or None,
            "tools": tools or None,
            "tool_choice": choice,
            "thinking": thinking,
            "temperature": temperature,
            "cache_control": {"type": "ephemeral"} if self.cache else None,
            "stream": request.stream,
        }
        return {key: value for key, value in said.items() if value is not None} | dict(request.options)

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """A whole answer that was not streamed."""
        from pegboard_anthropic._answers import read

        return read(answer, self._export_of(request), model, request.conversation.call_ids)

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """What reads a streamed answer."""
        from pegboard_anthropic._answers import MessageStreamReader

        return MessageStreamReader(self._export_of(request), model, request.conversation.call_ids)

    def _export_of(self, request: ModelRequest) -> AnthropicExport:
        """The request's export; where no tools are offered one of none, which knows names all the same."""
        export: Any = request.export
        return export if export is not None else self.export(())

    def _choice_of(self, request: ModelRequest, export: AnthropicExport) -> Block | None:
        """`tool_choice`; None where it says what holds anyway."""
        match request.tool_choice:
            case "none":
                return {"type": "none"}
            case "auto":
                choice = {"type": "auto"}
            case "required":
                choice = {"type": "any"}
            case forced:
                choice = {"type": "tool", "name": export.alias_of(forced.name)}
        if not request.parallel:
            return {**choice, "disable_parallel_tool_use": True}
        return None if choice["type"] == "auto" else choice

    def _thinking_of(
        self, request: ModelRequest, messages: list[dict[str, Any]], *, forced: bool
    ) -> tuple[Block | None, int]:
        """`thinking` and `max_tokens`, which have to agree; no request asks for more than its own limit."""
        limit = request.max_tokens or self.max_tokens
        if self.thinking is None or (forced and self.thinking != "off"):
            return None, limit
        if self.thinking == "off":
            return {"type": "disabled"}, limit
        if self.thinking == "adaptive":
            return {"type": "adaptive"}, limit
        if not _may_think(messages):
            return None, limit
        if request.max_tokens is None and limit <= self.thinking:
            limit += self.thinking
        budget = min(self.thinking, limit - 1)
        return ({"type": "enabled", "budget_tokens": budget} if budget >= MIN_BUDGET else None), limit


def _may_think(messages: list[dict[str, Any]]) -> bool:
    """With a budget a turn whose calls are being answered goes on thinking only where it began with thinking."""
    begun: dict[str, Any] | None = None
    for message in reversed(messages):
        if message["role"] == "assistant":
            begun = message
        elif message["content"][0]["type"] != "tool_result":
            break
    return begun is None or begun["content"][0]["type"] in THINKING
