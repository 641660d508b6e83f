"""The dialect `text`: for people, and for models that have no tool calls of their own.

A definition is a paragraph; a call is a line `NAME {JSON}`; a result is its text. Lines that name no tool are prose and
pass: only a line that begins with a tool's name and an opening brace is a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.dialects._common import SimpleExport, call_of, no_call
from pegboard.hookspecs import hookimpl
from pegboard.schema.jsontext import JsonTextError, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pegboard.contract import Export
    from pegboard.results import ToolResult
    from pegboard.tools import Tool, ToolCall


def describe(tool: Tool) -> str:
    """Name, parameters and description of a tool, as plain text."""
    schema = tool.input_schema
    required = set(schema.get("required", ()))
    lines = [f"{tool.name}: {tool.description}".rstrip(": ")]
    for name, one in schema.get("properties", {}).items():
        one = one if isinstance(one, dict) else {}
        default = f", default {one['default']!r}" if "default" in one else ""
        need = "required" if name in required else f"optional{default}"
        note = f": {one['description']}" if one.get("description") else ""
        lines.append(f"  {name} ({_type_of(one)}, {need}){note}")
    return "\n".join(lines)


def _type_of(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(map(repr, schema["enum"]))
    kind = schema.get("type", "any")
    return " | ".join(kind) if isinstance(kind, list) else str(kind)


def parse_lines(text: Any, names: Mapping[str, str]) -> Sequence[ToolCall | ToolResult]:
    """Every line `NAME {JSON}` of the text as a call."""
    if not isinstance(text, str):
        return [no_call(f"expected text, got {type(text).__name__}")]
    calls: list[ToolCall | ToolResult] = []
    for number, line in enumerate(text.splitlines(), 1):
        name, _, rest = line.strip().partition(" ")
        if name not in names or not rest.lstrip().startswith("{"):
            continue
        try:
            arguments = loads(rest)
        except JsonTextError as problem:
            calls.append(no_call(f"line {number}: no JSON: {problem}", id=str(number), name=name, line=number))
        else:
            calls.append(call_of({"id": str(number), "name": name, "arguments": arguments}))
    return calls


def format_results(results: Sequence[ToolResult]) -> list[str]:
    """What each result shows; an error begins with its code, what is not text is named."""
    shown = []
    for result in results:
        blocks = [
            getattr(block, "text", None) or f"[{getattr(block, 'mime_type', 'empty')}]" for block in result.content
        ]
        head = f"{result.error.code.value}: " if result.error is not None else ""
        shown.append(head + "\n".join(blocks))
    return shown


class TextDialect:
    """See the module."""

    name = "text"

    def export(self, tools: Iterable[Tool]) -> Export:
        """A paragraph a tool."""
        tools = list(tools)
        aliases = {tool.name: tool.name for tool in tools}
        return SimpleExport(
            [describe(tool) for tool in tools], aliases, lambda message: parse_lines(message, aliases), format_results
        )


@hookimpl
def provide_dialects() -> list[TextDialect]:
    """The dialect of people."""
    return [TextDialect()]
