"""Ask a person before a tool runs that requires it; with nobody to ask, refuse and say so.

An approval "for the session" binds to the tool's fingerprint: a tool that changed is asked for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Guard, Stage, ToolError, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import CallContext, Session, Tool


@hookimpl
def make_guards(tool: Tool) -> Guard | None:
    """Guard the tools that require confirmation, and no others."""
    wanted = tool.limits.requires_confirmation
    if not wanted:
        return None
    question = wanted if isinstance(wanted, str) else f"Run {tool.name!r}?"
    fingerprint = tool.fingerprint

    async def check(context: CallContext, arguments: Mapping[str, Any]) -> ToolError | None:
        if fingerprint in context.session.approvals:
            return None
        if await context.session.ask(tool, arguments, question):
            return None
        return ToolError(ErrorCode.FORBIDDEN, f"the person who was asked refused {tool.name!r}", reason="confirmation")

    def peek(session: Session, arguments: Mapping[str, Any]) -> ToolError | str | None:
        if fingerprint in session.approvals:
            return None
        return f"asks: {question}" if session.can_ask else session.nobody_to_ask(tool)

    return Guard(name="confirmation", stage=Stage.APPROVE, check=check, peek=peek)
