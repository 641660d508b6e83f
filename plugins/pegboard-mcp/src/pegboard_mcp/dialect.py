"""The dialect `mcp`: tools as `tools/list` gives them, calls as of `tools/call`, results as `CallToolResult`.

Everything here is values in, values out, and no part of the `mcp` SDK: `pegboard serve` and `pegboard export --to mcp`
share it. Names follow MCP's rule for tools (1 to 128 of `A-Z a-z 0-9 _ - .`, SEP-986); a name on the board that breaks
it is given another that is derived from the name alone, so that it is the same on every host and in every order.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from pegboard import BinaryContent, Loss, TextContent, ToolCall, ToolError, ToolResult
from pegboard.text import counts_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pegboard import Content, Export, Tool

CLEANED_META = "pegboard-mcp/cleaned"
"""What was taken out of the texts of a success, by kind; an error has it in its details."""
ERROR_META = "pegboard-mcp/error"
"""The key in `_meta` of a failed result under which code, message and details stand for programs."""

CALL = "tools/call"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)
_NOT_NAME = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)


def wire_name(name: str) -> str:
    """A tool's name as MCP clients see it."""
    if _NAME.fullmatch(name):
        return name
    stem = _NOT_NAME.sub("-", name).strip("-")[:100] or "tool"
    return f"{stem}-{hashlib.sha256(name.encode('utf-8')).hexdigest()[:10]}"


def definition_of(tool: Tool) -> dict[str, Any]:
    """A tool as one element of `tools/list`; members that say nothing are left out."""
    definition: dict[str, Any] = {"name": wire_name(tool.name)}
    if tool.title:
        definition["title"] = tool.title
    if tool.description:
        definition["description"] = tool.description
    definition["inputSchema"] = _object_schema(tool.input_schema)
    if tool.output_schema is not None:
        definition["outputSchema"] = _object_schema(tool.output_schema)
    annotations = annotations_of(tool)
    if annotations:
        definition["annotations"] = annotations
    if tool.icons:
        definition["icons"] = list(tool.icons)
    return definition


def annotations_of(tool: Tool) -> dict[str, Any]:
    """MCP's `ToolAnnotations`; what the author did not say stays unsaid."""
    declared = tool.annotations
    hints: dict[str, Any] = {}
    if tool.title:
        hints["title"] = tool.title
    if declared.read_only:
        hints["readOnlyHint"] = True
    if declared.destructive is not None:
        hints["destructiveHint"] = declared.destructive
    if declared.idempotent:
        hints["idempotentHint"] = True
    if declared.open_world is not None:
        hints["openWorldHint"] = declared.open_world
    return hints


def _object_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """MCP wants `type: object` at the root, through 2025-11-25 in so many words."""
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def result_json(result: ToolResult) -> dict[str, Any]:
    """A result as `CallToolResult`."""
    answer: dict[str, Any] = {"content": [block_json(block) for block in result.content]}
    error = result.error
    answer["isError"] = error is not None
    if error is None and result.data is not None:
        answer["structuredContent"] = result.data
    meta: dict[str, Any] = {} if error is None else {ERROR_META: error.to_json()}
    if counts := counts_in(result.details if error is None else error.details):
        meta[CLEANED_META] = counts
    if meta:
        answer["_meta"] = meta
    return answer


def embedded_text(block: BinaryContent) -> str | None:
    """What is embedded, where it goes over as text: it came as one, or is one whose bytes hide nothing. Others stay the
    bytes that they are."""
    text = block.text
    return text if block.is_text or (text is not None and text.encode() == block.data) else None


def block_json(block: Content) -> dict[str, Any]:
    """A content block, with the members that MCP requires and a block of ours may lack."""
    if isinstance(block, TextContent):
        return {"type": "text", "text": block.text}
    answer = block.to_json()
    if isinstance(block, BinaryContent):
        if block.data is None:
            answer["name"] = block.name or (block.uri or "").rstrip("/").rpartition("/")[2] or "resource"
        elif not block.uri:
            answer["resource"]["uri"] = f"urn:sha256:{hashlib.sha256(block.data).hexdigest()}"
        text = embedded_text(block)
        if text is not None:
            answer["resource"].pop("blob", None)
            answer["resource"]["text"] = text
    return answer


class McpExport:
    """The tools as an MCP client sees them, and the way back."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        tools = list(tools)
        self.definitions: Sequence[Any] = [definition_of(tool) for tool in tools]
        self.aliases: Mapping[str, str] = {wire_name(tool.name): tool.name for tool in tools}
        self.losses: Sequence[Loss] = [
            Loss(tool.name, "name", f"is {wire_name(tool.name)!r} on the wire: MCP takes A-Z, a-z, 0-9, _, - and .")
            for tool in tools
            if wire_name(tool.name) != tool.name
        ]

    def parse(self, message: Any) -> Sequence[ToolCall | ToolResult]:
        """The call of a `tools/call` request, or of its params alone, or of a list of such, as values or JSON text."""
        from pegboard.schema.jsontext import JsonTextError, loads

        if isinstance(message, (str, bytes)):
            try:
                message = loads(message)
            except JsonTextError as problem:
                return [_no_call(f"no JSON: {problem}")]
        return [self._call_of(one) for one in (message if isinstance(message, list) else [message])]

    def _call_of(self, message: Any) -> ToolCall | ToolResult:
        if not isinstance(message, dict):
            return _no_call("a call is an object: a tools/call request, or its params")
        call_id = ""
        if "method" in message or "params" in message:
            from pegboard.dialects import id_of

            given = id_of(message.get("id"))
            if isinstance(given, ToolError):
                return _no_call(given.message)
            call_id = given
            if message.get("method", CALL) != CALL:
                return _no_call(f"method: expected {CALL}", call_id)
            message = message.get("params")
        if not isinstance(message, dict):
            return _no_call("params: expected an object with name and arguments", call_id)
        name, arguments = message.get("name"), message.get("arguments")
        if not isinstance(name, str) or not name:
            return _no_call("a call needs the name of a tool, as text", call_id)
        if arguments is not None and not isinstance(arguments, dict):
            return _no_call("arguments: expected an object", call_id, name)
        return ToolCall(call_id, self.aliases.get(name, name), arguments or {})

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """Each as `CallToolResult`."""
        return [result_json(result) for result in results]


def _no_call(why: str, call_id: str = "", name: str = "") -> ToolResult:
    import attrs

    return attrs.evolve(ToolResult.of_error(ToolError("INVALID_INPUT", why)), id=call_id, name=name[:200])


class McpDialect:
    """How MCP clients speak; see the module."""

    name = "mcp"

    def export(self, tools: Iterable[Tool]) -> Export:
        """Compile the tools for an MCP client."""
        return McpExport(tools)


def as_text(value: Any) -> str:
    """A JSON value as the text that goes with it."""
    return json.dumps(value, ensure_ascii=False)
