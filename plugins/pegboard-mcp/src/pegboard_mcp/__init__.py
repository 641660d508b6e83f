"""MCP both ways: the tools of any MCP server on the board, and the board as an MCP server to any client.

Importing this imports no part of the `mcp` SDK; that happens when the first server is reached, or the first client
served. It imports no class either before one is asked for: every start of a board passes through here.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard_mcp.lock.review import LockReview, review_lock
    from pegboard_mcp.prompts_and_resources import Message, Prompt, PromptArgument, Resource, ResourceTemplate
    from pegboard_mcp.server.carriers import Carrier
    from pegboard_mcp.server.peer import Peer, peer_of
    from pegboard_mcp.server.task_stores import TaskRecord, TaskStore

__version__ = "0.1.0"

__all__ = [
    "Carrier",
    "LockReview",
    "Message",
    "Peer",
    "Prompt",
    "PromptArgument",
    "Resource",
    "ResourceTemplate",
    "TaskRecord",
    "TaskStore",
    "peer_of",
    "review_lock",
]

__getattr__ = lazy_names(
    __name__,
    {
        ".lock.review": ("LockReview", "review_lock"),
        ".prompts_and_resources": ("Message", "Prompt", "PromptArgument", "Resource", "ResourceTemplate"),
        ".server.carriers": ("Carrier",),
        ".server.peer": ("Peer", "peer_of"),
        ".server.task_stores": ("TaskRecord", "TaskStore"),
    },
)
