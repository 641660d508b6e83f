"""The dialect `cohere`: Cohere's chat API v2, tools and whole conversations, as JSON values.

`strict_tools` is one switch for a request: it is on only where every tool fits, and the report of an export tells which
do not. No tool can be forced by its name: the request then offers that one alone and requires a call. Nothing keeps a
model from several calls in one turn.

Source: https://docs.cohere.com/reference/chat and https://docs.cohere.com/docs/tool-use-overview
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard_chat import ForcedTool
from pegboard_chat.portable import COHERE_PLAIN, COHERE_STRICT, PortableExport
from pegboard_cohere._answers import DIALECT, calls_in, read_call
from pegboard_cohere._messages import messages_of, results_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard import Tool, ToolCall, ToolResult
    from pegboard_chat import ModelRequest, Reply, StreamReader
    from pegboard_chat.portable import Compiled

SEEING = ("vision", "command-a-plus")
"""In the names of models that take images: https://docs.cohere.com/docs/image-inputs"""
LOOSE = ("r7b", "aya")
"""In the names of models without `strict_tools`: https://docs.cohere.com/docs/structured-outputs"""
_CHOICES = {"required": "REQUIRED", "none": "NONE"}


def define(tool: Tool, alias: str, compiled: Compiled, description: str) -> Any:
    """A tool as `tools` has it; whether it is strict has no place there, for that is the request's."""
    function = {"name": alias, "description": description, "parameters": compiled.schema}
    return {"type": "function", "function": function}


class CohereExport(PortableExport):
    """The tools of one request, and the way back."""

    def calls_in(self, message: dict[str, Any] | list[Any]) -> Sequence[ToolCall | ToolResult]:
        """The calls of an assistant's message, or of an answer."""
        taken: set[str] = set()
        return [read_call(self, *one, taken) for one in calls_in(message)]

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """A `tool` message for each result of a turn; images are named in it."""
        return results_of(results, [result.id for result in results], images=False)


@attrs.define
class CohereDialect:
    """The chat API v2. `CohereSettings` says what its members mean.

    .. versionadded:: 0.1
    """

    strict: bool = True
    thinking: bool | None = None
    thinking_budget: int | None = None
    images: bool | None = None
    name: str = attrs.field(default=DIALECT, init=False)

    def export(self, tools: Iterable[Tool]) -> CohereExport:
        """Compile the tools; the same tools a second time cost next to nothing."""
        return CohereExport(tools, COHERE_STRICT if self.strict else COHERE_PLAIN, define)

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The body of `POST /v2/chat`."""
        export = self._export_of(request)
        tools = self._tools_of(request, export)
        messages = messages_of(
            request.conversation,
            export,
            model,
            images=any(word in model for word in SEEING) if self.images is None else self.images,
            thinking=self.thinking is not False,
        )
        said = {
            "model": model,
            "messages": messages,
            "tools": tools or None,
            "strict_tools": True if tools and self._is_strict(export, model) else None,
            "tool_choice": self._choice_of(request) if tools else None,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "thinking": self._thinking(),
            "stream": request.stream,
        }
        return {key: value for key, value in said.items() if value is not None} | dict(request.options)

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """A whole answer that was not streamed.

        Raises:
            ModelError: it is not valid.
        """
        from pegboard_cohere._answers import Collector, read_answer

        return read_answer(answer, Collector(self._export_of(request), model, request.conversation.call_ids))

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """What reads a streamed answer."""
        from pegboard_cohere._answers import CohereReader, Collector

        return CohereReader(Collector(self._export_of(request), model, request.conversation.call_ids))

    def _export_of(self, request: ModelRequest) -> CohereExport:
        """The request's export; where no tools are offered one of none, which knows names all the same."""
        export: Any = request.export
        return export if export is not None else self.export(())

    def _tools_of(self, request: ModelRequest, export: CohereExport) -> list[Any]:
        """What is offered: everything, or the one tool that is forced, where it is there."""
        offered = list(export.definitions)
        if isinstance(request.tool_choice, ForcedTool):
            alias = export.alias_of(request.tool_choice.name)
            return [one for one in offered if one["function"]["name"] == alias] or offered
        return offered

    def _is_strict(self, export: CohereExport, model: str) -> bool:
        return all(export.strict.values()) and not any(word in model for word in LOOSE)

    def _choice_of(self, request: ModelRequest) -> str | None:
        if isinstance(request.tool_choice, ForcedTool):
            return "REQUIRED"
        return _CHOICES.get(request.tool_choice)

    def _thinking(self) -> dict[str, Any] | None:
        if self.thinking is False:
            return {"type": "disabled"}
        budget = {} if self.thinking_budget is None else {"token_budget": self.thinking_budget}
        return {"type": "enabled", **budget} if self.thinking or budget else None
