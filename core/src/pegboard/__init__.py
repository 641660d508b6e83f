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

.. versionadded:: 0.1
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] == "pegboard":  # Python looks for the program in here
    from pegboard_program import leave_at_once as _leave_at_once

    _leave_at_once()

from pegboard.starting import collector_paused as _collector_paused

with _collector_paused():
    from pegboard._api import call_sync, load_board, open_host, open_host_sync
    from pegboard._frozen import freeze, thaw
    from pegboard.config import setting
    from pegboard.content import AudioContent, BinaryContent, Content, ImageContent, TextContent
    from pegboard.context import CallContext
    from pegboard.contract import (
        CallNext,
        Check,
        Dialect,
        Executor,
        Export,
        Finding,
        Guard,
        Layer,
        LimitStore,
        Loss,
        Observer,
        Outcome,
        Sampler,
        SourceSlot,
        SourceState,
        SourceStatus,
        Stage,
        Timings,
        ToolSource,
        Unobserved,
        Validator,
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
        Step,
        ToolDefinitionError,
        ToolError,
    )
    from pegboard.hookspecs import hookimpl
    from pegboard.results import CheckedResult, ToolResult
    from pegboard.tools import Annotations, Example, Limits, Origin, RateLimit, Risk, Run, Tool, ToolCall, tool

if TYPE_CHECKING:
    from pegboard import asyncio as asyncio
    from pegboard.host import Host
    from pegboard.registry.board import Board
    from pegboard.session import Confirmation, Session

__all__ = [
    "Annotations",
    "AudioContent",
    "BinaryContent",
    "Board",
    "CallContext",
    "CallNext",
    "Check",
    "CheckedResult",
    "ConfigError",
    "Confirmation",
    "Content",
    "Dialect",
    "ErrorCode",
    "Example",
    "Executor",
    "Export",
    "Fault",
    "Finding",
    "Guard",
    "HeldBackError",
    "Host",
    "ImageContent",
    "Layer",
    "LimitStore",
    "Limits",
    "Loss",
    "Observer",
    "Origin",
    "Outcome",
    "PegboardError",
    "PluginError",
    "RateLimit",
    "Retry",
    "Risk",
    "Run",
    "Sampler",
    "Session",
    "SourceSlot",
    "SourceState",
    "SourceStatus",
    "Stage",
    "Step",
    "TextContent",
    "Timings",
    "Tool",
    "ToolCall",
    "ToolDefinitionError",
    "ToolError",
    "ToolResult",
    "ToolSource",
    "Unobserved",
    "Validator",
    "Verdict",
    "call_sync",
    "freeze",
    "hookimpl",
    "load_board",
    "open_host",
    "open_host_sync",
    "setting",
    "thaw",
    "tool",
]


_LATE = {"Board": "registry.board", "Confirmation": "session", "Host": "host", "Session": "session"}
"""Classes that programs and plugins name, mostly in hints, and that no short command needs: imported when asked for."""


def __getattr__(name: str) -> object:
    """Those, and `pegboard.asyncio`, which brings in two loops."""
    from importlib import import_module

    if name == "asyncio":
        return import_module("pegboard.asyncio")
    if name in _LATE:
        return getattr(import_module(f"pegboard.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
