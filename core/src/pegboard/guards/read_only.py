"""Read-only mode: what is not marked read-only, and what is of high risk whatever its mark, is refused.

The mode is judged at the call, since a host, a profile or a session may be read-only; what it refuses is not offered.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING

from pegboard import ErrorCode, Guard, Stage, ToolError, hookimpl

if TYPE_CHECKING:
    from pegboard import Session, Tool


@hookimpl
def make_guards(tool: Tool) -> Guard | None:
    """Guard every tool but those that are read-only and of no high risk."""
    if tool.annotations.read_only and tool.annotations.risk != "high":
        return None
    # A method of the tool takes a quarter of what a closure does, and a large board has one for nearly every tool.
    return Guard(name="read_only", stage=Stage.ADMIT, check=MethodType(_check, tool), refuses_read_only=True)


def _check(tool: Tool, session: Session) -> ToolError | None:
    if not session.read_only:
        return None
    why = "is of high risk" if tool.annotations.risk == "high" else "is not marked read-only"
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"the host is in read-only mode and {tool.name!r} {why}; nothing was done",
        reason="read_only",
    )
