"""The former name of `pegboard.registry.board` and of what stands beside it; it goes with 0.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard._renamed import former_module

if TYPE_CHECKING:
    from pegboard.registry.board import Board as Board
    from pegboard.registry.board import load_board as load_board
    from pegboard.registry.conflicts import RejectedTool as RejectedTool

__getattr__ = former_module(
    __name__,
    "pegboard.registry.board",
    {"NotHung": "RejectedTool", "ToolOffError": "ToolDisabledError"},
    {
        "DIALECT_PACKAGES": "pegboard.registry.dialects",
        "MAX_GUARDS": "pegboard.registry.planning",
        "MAX_REASON": "pegboard.registry.sources",
        "UP": "pegboard.registry.sources",
    },
)
