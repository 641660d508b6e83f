"""A board of tools for language models.

A function becomes a tool, the tool is registered on a host, a session calls it::

    from pegboard import open_host, tool

    @tool(read_only=True)
    def add(a: float, b: float) -> float:
        "Add two numbers."
        return a + b

    async with open_host() as host:
        host.add(add)
        result = await host.session().call("add", {"a": 1, "b": 2})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

from pegboard._collector import collector_paused as _collector_paused

with _collector_paused():
    from pegboard._api import call_sync, load_board, open_host, open_host_sync
    from pegboard._frozen import thaw
    from pegboard.config import setting
    from pegboard.content import AudioContent, BinaryContent, Content, ImageContent, TextContent
    from pegboard.context import CallContext
    from pegboard.contract import (
        Dialect,
        Export,
        Finding,
        Guard,
        Loss,
        Outcome,
        SourceSlot,
        SourceState,
        Stage,
        ToolSource,
        Verdict,
    )
    from pegboard.errors import (
        ConfigError,
        ErrorCode,
        Fault,
        HeldBackError,
        PegboardError,
        PluginError,
        Retry,
        ToolDefinitionError,
        ToolError,
    )
    from pegboard.hookspecs import hookimpl
    from pegboard.results import ToolResult
    from pegboard.tools import Annotations, Example, Limits, Origin, RateLimit, Tool, ToolCall, tool

if TYPE_CHECKING:
    from pegboard import asyncio as asyncio

__all__ = [
    "Annotations",
    "AudioContent",
    "BinaryContent",
    "CallContext",
    "ConfigError",
    "Content",
    "Dialect",
    "ErrorCode",
    "Example",
    "Export",
    "Fault",
    "Finding",
    "Guard",
    "HeldBackError",
    "ImageContent",
    "Limits",
    "Loss",
    "Origin",
    "Outcome",
    "PegboardError",
    "PluginError",
    "RateLimit",
    "Retry",
    "SourceSlot",
    "SourceState",
    "Stage",
    "TextContent",
    "Tool",
    "ToolCall",
    "ToolDefinitionError",
    "ToolError",
    "ToolResult",
    "ToolSource",
    "Verdict",
    "call_sync",
    "hookimpl",
    "load_board",
    "open_host",
    "open_host_sync",
    "setting",
    "thaw",
    "tool",
]


def __getattr__(name: str) -> object:
    """`pegboard.asyncio`, imported when it is asked for: it brings in two loops."""
    if name != "asyncio":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module("pegboard.asyncio")
