"""The person at the terminal is asked, one question after the other, in the middle of a turn.

What was typed before a question was shown is not an answer to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pegboard.cli import ask_person, forget_typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Confirmation
    from pegboard_chat.commands._shown import Lines, Shown


class Asking:
    """Asks the person at the terminal; `shown` is told when a line of its own is needed."""

    def __init__(self, shown: Shown | Lines) -> None:
        import trio

        self._shown = shown
        self._turn = trio.Lock()

    async def confirm(self, asked: Confirmation) -> bool | Literal["session"] | Mapping[str, Any] | None:
        """The answer to one question; those that come meanwhile wait for their turn."""
        async with self._turn:
            if asked.is_answered:
                return True
            self._shown.break_line()
            forget_typed()
            # A yes for the conversation is about a call, and no answer to what a running tool asks.
            return await ask_person(asked, remembers=not (asked.is_running or asked.schema or asked.url))
