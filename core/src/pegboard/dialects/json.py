"""The dialect `json`: the shapes of `pegboard show` and `batch`, for programs.

A definition is the tool as `pegboard show --json` prints it; a call is `{"id", "name", "arguments"}`, one or a list;
results go back as lines of `batch` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.dialects._common import SimpleExport, call_of, no_call
from pegboard.hookspecs import hookimpl
from pegboard.schema.jsontext import JsonTextError, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard.contract import Export
    from pegboard.results import ToolResult
    from pegboard.tools import Tool, ToolCall


def describe(tool: Tool) -> dict[str, Any]:
    """A tool as a program reads it; members that say nothing are left out.

    .. versionadded:: 0.1
    """
    definition: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "category": tool.category,
        "tags": sorted(tool.tags),
        "read_only": tool.read_only,
        "examples": [dict(example.arguments) for example in tool.examples],
    }
    return {key: value for key, value in definition.items() if value not in (None, [], "")}


def listed(tool: Tool, state: str) -> dict[str, Any]:
    """A tool as one element of `list --json`; `state` is its state on the board.

    .. versionadded:: 0.1
    """
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "category": tool.category,
        "tags": sorted(tool.tags),
        "read_only": tool.read_only,
        "state": state,
        "origin": {"distribution": tool.origin.distribution, "source": tool.origin.source},
    }


def parse(message: Any) -> Sequence[ToolCall | ToolResult]:
    """One call or a list of calls, as JSON text or as values."""
    if isinstance(message, (str, bytes)):
        try:
            message = loads(message)
        except JsonTextError as problem:
            return [no_call(f"no JSON: {problem}")]
    return [call_of(value) for value in (message if isinstance(message, list) else [message])]


class JsonDialect:
    """See the module."""

    name = "json"

    def export(self, tools: Iterable[Tool]) -> Export:
        """Definitions as `show --json` prints them."""
        tools = list(tools)
        aliases = {tool.name: tool.name for tool in tools}
        return SimpleExport(
            [describe(tool) for tool in tools], aliases, parse, lambda results: [r.to_json() for r in results]
        )


@hookimpl
def provide_dialects() -> list[JsonDialect]:
    """The dialect of programs."""
    return [JsonDialect()]
