"""The hooks of pegboard-system. The module is a plugin; `SystemPlugin` holds the isolations that it may use."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard import Finding, Guard, Stage, hookimpl
from pegboard_system._schema import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from contextlib import AbstractAsyncContextManager

    from pegboard import Tool
    from pegboard_system.tools import Isolation


class SystemPlugin:
    """The system tools, with some of the isolations alone: `open_host(plugins=[SystemPlugin(("landlock",))])`.

    Args:
        levels: isolations that may be used where the host has them.

    .. versionadded:: 0.1
    """

    name = "system"

    def __init__(self, levels: Iterable[Level] = LEVELS) -> None:
        self._levels = tuple(levels)

    @hookimpl
    def open_resources(self) -> AbstractAsyncContextManager[Isolation]:
        """What the host has of isolations, found out at the first command."""
        return self._open()

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[Isolation]:
        from pegboard_system.tools import Isolation

        yield Isolation(self._levels)

    @hookimpl
    def provide_tools(self) -> Iterable[Tool]:
        """`echo`, `system_info` and `execute_command`."""
        from pegboard_system.tools import TOOLS

        return TOOLS

    @hookimpl
    def make_guards(self, tool: Tool) -> Guard | None:
        """The judgement of a command, before a person is asked to confirm it."""
        from pegboard_system.tools import execute_command, refuse_early

        if tool.handler is not execute_command.handler:
            return None
        return Guard("command", Stage.APPROVE, refuse_early)

    @hookimpl
    def provide_checks(self) -> list[Any]:
        """Why no command may run, if none may, and what commands cannot be kept from."""
        return [self.check_commands]

    def check_commands(self, board: Any) -> Iterator[Finding]:
        """What is or will be wrong with `execute_command` on a board."""
        from pegboard_system._checks import check_commands

        return check_commands(board, self._levels)


_plugin = SystemPlugin()

# Bound methods carry the mark of their functions.
open_resources = _plugin.open_resources
provide_tools = _plugin.provide_tools
make_guards = _plugin.make_guards
provide_checks = _plugin.provide_checks
