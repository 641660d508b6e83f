"""Tools that answer without asking: every kind of content, an error, progress, log messages, a schema of many words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import (
    AudioContent,
    BinaryContent,
    CallContext,
    ErrorCode,
    ImageContent,
    TextContent,
    Tool,
    ToolError,
    ToolResult,
    tool,
)
from pegboard_conformance.samples import RED_PIXEL, SILENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

PAUSE_S = 0.05
"""The suite wants to see messages arrive while a tool still runs."""


@tool(run="inplace")
def test_simple_text() -> str:
    """Answer with one text."""
    return "This is a simple text response for testing."


@tool(run="inplace")
def test_image_content() -> ToolResult:
    """Answer with an image."""
    return ToolResult((ImageContent(RED_PIXEL, "image/png"),))


@tool(run="inplace")
def test_audio_content() -> ToolResult:
    """Answer with sound."""
    return ToolResult((AudioContent(SILENCE, "audio/wav"),))


@tool(run="inplace")
def test_embedded_resource() -> ToolResult:
    """Answer with an embedded resource."""
    text = b"This is an embedded resource content."
    return ToolResult((BinaryContent(text, "text/plain", "test://embedded-resource"),))


@tool(run="inplace")
def test_multiple_content_types() -> ToolResult:
    """Answer with a text, an image and an embedded resource, in this order."""
    return ToolResult(
        (
            TextContent("Multiple content types test:"),
            ImageContent(RED_PIXEL, "image/png"),
            BinaryContent(b'{"test": "data", "value": 123}', "application/json", "test://mixed-content-resource"),
        )
    )


@tool(run="inplace")
def test_error_handling() -> None:
    """Fail."""
    raise ToolError(ErrorCode.UPSTREAM_ERROR, "This tool intentionally returns an error for testing")


@tool
async def test_tool_with_progress(context: CallContext) -> str:
    """Report progress three times."""
    import trio

    for done in (0, 50, 100):
        await context.progress(done, 100, f"step {done} of 100")
        await trio.sleep(PAUSE_S)
    return "Done, with progress."


async def _log(context: CallContext) -> str:
    import trio

    from pegboard_mcp.server.peer import peer_of

    peer = peer_of(context)
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        if peer is not None:
            await peer.log("info", said)
        await trio.sleep(PAUSE_S)
    return "Done, with log messages."


@tool
async def test_tool_with_logging(context: CallContext) -> str:
    """Send three log messages while running."""
    return await _log(context)


@tool
async def test_logging_tool(context: CallContext) -> str:
    """Send log messages to a client that asked for them, and to no other."""
    return await _log(context)


# Tools that a server may run as tasks, by an extension of the protocol. Here each answers at once, which it may too.


SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def _echo(context: CallContext, /, **arguments: Any) -> ToolResult:
    return ToolResult.json(arguments)


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_tool_with_logging,
    test_logging_tool,
    Tool(
        name="json_schema_2020_12_tool",
        handler=_echo,
        description="Its schema must reach the client as it is written here.",
        input_schema=SCHEMA,
    ),
    Tool(
        name="test_header_parameters",
        handler=_echo,
        description="Takes a parameter that HTTP clients repeat in a header.",
        input_schema={
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            "required": ["region"],
            "additionalProperties": False,
        },
    ),
)
