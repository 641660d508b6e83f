"""Who may call: a tool that requires a user answers UNAUTHORIZED to nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import ErrorCode, Guard, Stage, ToolError, hookimpl

if TYPE_CHECKING:
    from pegboard import Session, Tool


@hookimpl
def make_guards(tool: Tool) -> Guard | None:
    """Guard the tools that require a user, and no others."""
    if not tool.limits.requires_user:
        return None

    def check(session: Session) -> ToolError | None:
        if session.user_id is not None:
            return None
        return ToolError(
            ErrorCode.UNAUTHORIZED,
            f"{tool.name!r} is for known users only, and this session has none; say who calls "
            "(--user, user_id of the configuration, or a token)",
            reason="user",
        )

    return Guard(name="access", stage=Stage.ADMIT, check=check)
