"""The person at the terminal is asked, one question after the other, in the middle of a turn.

What was typed before a question was shown is no answer to it.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any, Literal

from pegboard.cli._output import note
from pegboard.cli._person import ask_person, read_typed_line
from pegboard.cli._text import printable_line
from pegboard.cli._waiting import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.session import Confirmation
    from pegboard_chat.commands._shown import Lines, Shown

MAX_ARGUMENTS = 1_000
"""Of arguments in a question, in characters; longer ones are cut, and the question says so."""


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
            _forget_typed()
            if asked.schema is not None or asked.url is not None:
                return await ask_person(asked)
            with quiet():
                return await self._yes_or_no(asked)

    async def _yes_or_no(self, asked: Confirmation) -> bool | Literal["session"]:
        text = json.dumps(asked.arguments, ensure_ascii=False, default=str) if asked.arguments else ""
        shown = printable_line(text, MAX_ARGUMENTS)
        cut = f" ({len(text):,} characters)" if len(text) > MAX_ARGUMENTS else ""
        call = f"{printable_line(asked.tool.name)} {shown}{cut}".rstrip()
        sys.stderr.write(f"{printable_line(asked.question, 400)} [{call}] (y/N, a: always in this conversation) ")
        sys.stderr.flush()
        try:
            line = await read_typed_line()
        except BaseException:
            note("")  # nobody answered: what is said next is no part of the question's line
            raise
        if not line.endswith(("\n", "\r")):
            note("")
        said = line.strip().lower()
        return "session" if said in ("a", "always") else said in ("y", "yes")


def _forget_typed() -> None:
    if sys.platform != "win32":
        import termios

        with contextlib.suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
