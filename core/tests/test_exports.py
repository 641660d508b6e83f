"""What `pegboard` exports is the API: a change of this list is a change for everybody."""

from __future__ import annotations

import pegboard

API = [
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


def test_the_exports_are_these_and_each_is_there() -> None:
    assert pegboard.__all__ == API
    assert all(hasattr(pegboard, name) for name in API)


def test_no_other_public_name_hangs_about_but_modules() -> None:
    import types

    public = {
        name for name, value in vars(pegboard).items() if name[0] != "_" and not isinstance(value, types.ModuleType)
    }
    assert public - {"annotations", "TYPE_CHECKING"} == set(API)


def test_every_export_says_what_it_is_and_since_when() -> None:
    for name in API:
        value = getattr(pegboard, name)
        if name in ("Content", "hookimpl"):  # a union, and a marker that its comment documents
            continue
        assert value.__doc__, name
        assert ".. versionadded:: 0.1" in value.__doc__ or name == "PegboardError", name
