"""Whether a tool looks as it did when it was accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard import Tool
    from pegboard_mcp.settings import McpSettings


def check_tool(tool: Tool, settings: McpSettings) -> None:
    """Raise `PluginError` where the tool must be held back."""
