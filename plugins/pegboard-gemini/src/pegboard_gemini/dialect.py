"""The dialect `gemini`: Google's generateContent (v1beta), tools and whole conversations, as JSON values.

A definition is a `FunctionDeclaration`; all of them stand in one tool: `{"functionDeclarations": [...]}`.

Source: https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/function-calling
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard_chat import ForcedTool
from pegboard_chat.portable import GEMINI_JSON_SCHEMA, GEMINI_PARAMETERS, PortableExport
from pegboard_gemini._contents import contents_of, results_of
from pegboard_gemini._parts import DIALECT, given_parts, member, read_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard import Tool, ToolCall, ToolResult
    from pegboard_chat import ModelRequest, Reply, StreamReader
    from pegboard_chat.portable import Compiled

_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


def define_json_schema(tool: Tool, alias: str, compiled: Compiled, description: str) -> Any:
    """A `FunctionDeclaration` whose parameters are JSON Schema."""
    return {"name": alias, "description": description or alias, "parametersJsonSchema": compiled.schema}


def define_parameters(tool: Tool, alias: str, compiled: Compiled, description: str) -> Any:
    """A `FunctionDeclaration` whose parameters are a `Schema`; none where there are none, for the API refuses `{}`."""
    declaration = {"name": alias, "description": description or alias}
    return {**declaration, "parameters": compiled.schema} if compiled.schema.get("properties") else declaration


class GeminiExport(PortableExport):
    """The tools of one request, and the way back."""

    def calls_in(self, message: dict[str, Any] | list[Any]) -> Sequence[ToolCall | ToolResult]:
        """The calls of a content, or of an answer's first candidate."""
        candidates = member(message, "candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        parts = given_parts(message if first is None else member(first, "content"))
        taken: set[str] = set()
        return [
            read_call(self, call, taken)
            for call in (member(part, "functionCall") for part in parts)
            if call is not None
        ]

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """The contents that carry the results of one turn."""
        return results_of(results, [(result.id, self.alias_of(result.name)) for result in results])


@attrs.define
class GeminiDialect:
    """generateContent. `GeminiSettings` says what its members mean.

    .. versionadded:: 0.1
    """

    schema: Literal["json_schema", "parameters"] = "json_schema"
    thinking_level: str | None = None
    thinking_budget: int | None = None
    include_thoughts: bool = False
    name: str = attrs.field(default=DIALECT, init=False)

    def export(self, tools: Iterable[Tool]) -> GeminiExport:
        """Compile the tools; the same tools a second time cost next to nothing."""
        if self.schema == "parameters":
            return GeminiExport(tools, GEMINI_PARAMETERS, define_parameters)
        return GeminiExport(tools, GEMINI_JSON_SCHEMA, define_json_schema)

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The body of `generateContent` and of `streamGenerateContent`; the model stands in the address.

        A `generationConfig` among the request's options is laid over the dialect's own.
        """
        export = self._export_of(request)
        said: dict[str, Any] = {"contents": contents_of(request.conversation, export.alias_of, model)}
        if request.conversation.system:
            said["systemInstruction"] = {"parts": [{"text": request.conversation.system}]}
        if export.definitions:
            said["tools"] = [{"functionDeclarations": list(export.definitions)}]
            if request.tool_choice != "auto":
                said["toolConfig"] = {"functionCallingConfig": self._choice_of(request, export)}
        options = dict(request.options)
        config = {**self._config_of(request), **options.pop("generationConfig", {})}
        return {**said, **({"generationConfig": config} if config else {}), **options}

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """A whole answer, or the list of its chunks, as servers send it that stream without events.

        Raises:
            ModelError: it is not valid.
        """
        from pegboard_gemini._answers import Collector, no_answer

        collector = Collector(request, self._export_of(request), model)
        for chunk in answer if isinstance(answer, list) else [answer]:
            for _ in collector.take(chunk):
                pass
        if not collector.began:
            raise no_answer()
        return collector.reply()

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """What reads a streamed answer."""
        from pegboard_gemini._answers import Collector, GeminiReader

        return GeminiReader(Collector(request, self._export_of(request), model))

    def _export_of(self, request: ModelRequest) -> GeminiExport:
        """The request's export; where no tools are offered one of none, which knows names all the same."""
        export: Any = request.export
        return export if export is not None else self.export(())

    def _choice_of(self, request: ModelRequest, export: GeminiExport) -> dict[str, Any]:
        match request.tool_choice:
            case ForcedTool(name):
                alias = export.alias_of(name)
                return {"mode": "ANY", **({"allowedFunctionNames": [alias]} if alias in export.aliases else {})}
            case choice:
                return {"mode": _MODES[choice]}

    def _config_of(self, request: ModelRequest) -> dict[str, Any]:
        thinking: dict[str, Any] = {}
        if self.thinking_level is not None:
            thinking["thinkingLevel"] = self.thinking_level
        elif self.thinking_budget is not None:
            thinking["thinkingBudget"] = self.thinking_budget
        if self.include_thoughts:
            thinking["includeThoughts"] = True
        said = {
            "maxOutputTokens": request.max_tokens,
            "temperature": request.temperature,
            "thinkingConfig": thinking or None,
        }
        return {key: value for key, value in said.items() if value is not None}
