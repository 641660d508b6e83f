"""The hooks of pegboard-time. The module is a plugin, with the system's clock; `TimePlugin` takes another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pegboard import Tool


class TimePlugin:
    """The time tools by a clock of yours: `open_host(plugins=[TimePlugin(lambda: noon)])`.

    Args:
        now: gives an aware datetime; None for the system's clock.

    .. versionadded:: 0.1
    """

    name = "time"

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._now = now

    @hookimpl
    def provide_tools(self) -> Iterable[Tool]:
        """`get_time` and `convert_time`."""
        from pegboard_time.tools import make_tools, system_now

        return make_tools(self._now or system_now)


@hookimpl
def provide_tools() -> Iterable[Tool]:
    """`get_time` and `convert_time`, by the system's clock."""
    return TimePlugin().provide_tools()
