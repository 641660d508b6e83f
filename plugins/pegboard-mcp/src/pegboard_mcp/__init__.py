"""MCP both ways: the tools of any MCP server on the board, and the board as an MCP server to any client.

Importing this imports no part of the `mcp` SDK; that happens when the first server is reached, or the first client
served.
"""

from __future__ import annotations

from pegboard_mcp.offers import Prompt, PromptArgument, Resource, ResourceTemplate

__version__ = "0.1.0"

__all__ = ["Prompt", "PromptArgument", "Resource", "ResourceTemplate"]
