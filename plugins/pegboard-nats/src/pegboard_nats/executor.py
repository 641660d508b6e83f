"""`executor = "nats:G"` under `[tools.NAME]`: a tool that is installed here runs at the workers of a group.

All that comes before the work stays with the host: guards, approvals, limits, and the arguments are validated. The call
says that its limits are counted, so the worker does not count them again; it guards and validates anew. A worker does
nothing where its definition of the tool is another one.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from pegboard import PluginError
from pegboard_nats.link import calls_of
from pegboard_nats.settings import GROUP_NAME, is_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import CallContext, Tool, ToolResult
    from pegboard_nats.settings import NatsSettings

_serving: ContextVar[str | None] = ContextVar("pegboard_nats.serving", default=None)


@contextmanager
def at_worker_of(group: str) -> Iterator[None]:
    """A board that is loaded in this block runs the tools of that group itself: hosts and workers may have one file."""
    token = _serving.set(group)
    try:
        yield
    finally:
        _serving.reset(token)


def serving() -> str | None:
    """The group that the program is a worker of; None: it is not one."""
    return _serving.get()


class Executors:
    """What `make_executor` gives for a tool: `at` makes the executor of a group."""

    def __init__(self, tool: Tool, settings: NatsSettings) -> None:
        self._tool = tool
        self._settings = settings

    def at(self, group: str) -> GroupExecutor | None:
        """The executor of that group; None: its workers run here.

        Raises:
            PluginError: no group may be called so.
        """
        if not is_group(group):
            raise PluginError(
                f"{group[:80]!r} is not a name of a group",
                hint=f'write executor = "nats:GROUP", GROUP being {GROUP_NAME}',
            )
        return None if group == _serving.get() else GroupExecutor(self._tool, group, self._settings)


class GroupExecutor:
    """Has the calls of one tool done by a worker of a group.

    Attributes:
        group: whose workers.
    """

    def __init__(self, tool: Tool, group: str, settings: NatsSettings) -> None:
        self._tool = tool
        self.group = group
        self._settings = settings

    def __repr__(self) -> str:
        return f"<GroupExecutor of {self._tool.name} at {self.group}>"

    async def __call__(self, context: CallContext, arguments: Mapping[str, Any]) -> ToolResult:
        """Call the tool there; raises as `RemoteCalls.call`."""
        tool, marks = self._tool, self._tool.annotations
        return await calls_of(self._settings, self.group).call(
            context,
            tool.name,
            tool.fingerprint,
            context.arguments,
            repeatable=marks.read_only or marks.idempotent,
            is_counted=True,
        )
