"""The person at the terminal is asked, one question after the other, in the middle of a turn.

Yes or no is read without a thread: Ctrl-C ends a question and the conversation goes on, and a thread that is left
waiting for the terminal would take the first keys of what is typed next. What was typed before a question was shown is
no answer to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from pegboard.cli._person import ask_person
from pegboard.cli._text import printable_line

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
            self._shown.break_line()
            _forget_typed()
            if asked.schema is not None or asked.url is not None:
                return await ask_person(asked)
            return await self._yes_or_no(asked)

    async def _yes_or_no(self, asked: Confirmation) -> bool | Literal["session"]:
        text = json.dumps(asked.arguments, ensure_ascii=False, default=str) if asked.arguments else ""
        shown = printable_line(text, MAX_ARGUMENTS)
        cut = f" ({len(text):,} characters)" if len(text) > MAX_ARGUMENTS else ""
        call = f"{printable_line(asked.tool.name)} {shown}{cut}".rstrip()
        sys.stderr.write(f"{printable_line(asked.question, 400)} [{call}] (y/N, a: always in this conversation) ")
        sys.stderr.flush()
        said = (await _read_line()).strip().lower()
        return "session" if said in ("a", "always") else said in ("y", "yes")


async def _read_line() -> str:
    """A line of the terminal; empty at its end."""
    import trio

    number = sys.stdin.fileno()
    if sys.platform == "win32":
        data = await trio.to_thread.run_sync(os.read, number, 4096, abandon_on_cancel=True)
        return data.decode("utf-8", "replace")
    await trio.lowlevel.wait_readable(number)
    return os.read(number, 4096).decode("utf-8", "replace")


def _forget_typed() -> None:
    if sys.platform != "win32":
        import termios

        with contextlib.suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
