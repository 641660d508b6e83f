"""What `pegboard` exports is the API: a change of this list is a change for everybody."""

from __future__ import annotations

import pegboard

API = [
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


def test_the_exports_are_these_and_each_is_there() -> None:
    assert pegboard.__all__ == API
    assert all(hasattr(pegboard, name) for name in API)


def test_no_other_public_name_hangs_about_but_modules() -> None:
    import types

    public = {
        name for name, value in vars(pegboard).items() if name[0] != "_" and not isinstance(value, types.ModuleType)
    }
    assert public - {"annotations", "TYPE_CHECKING"} <= set(API)
