"""What tools looked like when a person accepted them: `pegboard.lock`.

pins       a tool's public definition as it was accepted
place      where the file is
file       the file, read and written
documents  a schema taken apart, and its references
schemas    whether all that one schema accepts is accepted by another
compare    what became of tools, and what it means for callers
review     all of that on one board, and accepting it
signature  a lock that somebody signed, and age: that no older one takes its place
watch      asked for every tool that is registered; findings for doctor
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Finding

__all__ = ["findings"]


def findings(board: Any) -> Iterable[Finding]:
    """What the lock has to say to doctor of a board."""
    from pegboard_mcp.lock import watch

    return watch.findings(board)
