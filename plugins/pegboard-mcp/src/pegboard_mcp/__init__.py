"""MCP both ways: the tools of any MCP server on the board, and the board as an MCP server to any client.

Importing this imports no part of the `mcp` SDK; that happens when the first server is reached, or the first client
served. It imports no class either before one is asked for: every start of a board passes through here.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard_mcp.prompts_and_resources import Message, Prompt, PromptArgument, Resource, ResourceTemplate
    from pegboard_mcp.server.peer import Peer, peer_of

__version__ = "0.1.0"

__all__ = ["Message", "Peer", "Prompt", "PromptArgument", "Resource", "ResourceTemplate", "peer_of"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("Peer", "peer_of"):
        from pegboard_mcp.server import peer

        return getattr(peer, name)
    from pegboard_mcp import prompts_and_resources

    return getattr(prompts_and_resources, name)
