"""What the transports share: the link, and the short forms of what servers said."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import trio

from pegboard.text import clean
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports._lines import LOGGED_BYTES, LOGGED_LINES, LogBudget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pegboard_mcp.client.journal import Journal
    from pegboard_mcp.definitions import ServerDefinition

SHOWN_CHARS = 200
GARBAGE_CHARS = 60
WORDS_CHARS = 300
GARBAGE_LIMIT = 1_000
"""After so much that is not a message, and without one message, a server is given up."""


class Link:
    """A connection to a server.

    Attributes:
        read, write: the streams, as the SDK's dispatcher takes them.
        gone: set the moment the other side is gone, idle too.
        pid: of the process, for stdio.
        asked: whether a person was asked to log in while it opened, which may have taken minutes.

    .. versionadded:: 0.1
    """

    read: Any
    write: Any
    pid: int | None = None
    asked = False

    def __init__(self, definition: ServerDefinition, on_gone: Callable[[], None]) -> None:
        self.definition = definition
        self.gone = trio.Event()
        self._on_gone = on_gone
        self.heard = False
        """Whether a message came."""
        self.garbage = 0
        """How many came that are not valid."""
        self._first_garbage = ""
        self._budget = LogBudget(LOGGED_LINES, LOGGED_BYTES)
        self._cause: LinkError | None = None
        self._leaving = False
        self.log = logging.getLogger(f"pegboard.mcp.server.{definition.name}")
        self.journal: Journal | None = None
        """Where lines are kept that are not messages."""

    def _log_count(self, level: int) -> None:
        """Say how many lines the budget left out."""
        if (count := self._budget.count()) > 0:
            self.log.log(level, "%d more lines were not logged", count)

    def end(self, cause: LinkError | None = None) -> None:
        """Say that the other side is gone; only the first call counts."""
        if self.gone.is_set():
            return
        self._cause = self._cause or cause
        try:
            if not self._leaving:
                self._on_gone()
        finally:
            self.gone.set()

    def leave(self) -> None:
        """The host ends the link from now on: nobody is notified."""
        self._leaving = True
        self.end()

    def garbled(self, text: str) -> None:
        """Count what came and is not JSON-RPC; the first of it is kept and logged, of the rest what the budget
        takes.
        """
        self.garbage += 1
        if self.journal is not None:
            self.journal.note(text, "unreadable")
        is_logged = self.log.isEnabledFor(logging.DEBUG) and self._budget.takes(len(text), trio.current_time())
        if self._first_garbage and not is_logged:
            return
        text = self.definition.mask_words(text)
        self._first_garbage = self._first_garbage or shorten(text, GARBAGE_CHARS)
        if self.garbage == 1 and self.heard:
            self.log.warning("sends what is not JSON-RPC; that is skipped: %s", shorten(text))
        else:
            self._log_count(logging.DEBUG)
            self.log.debug("sent no JSON-RPC: %s", shorten(text))

    def garbage_fault(self) -> LinkError:
        """Nothing but garbage came."""
        return LinkError(
            "garbage",
            f"it speaks no MCP; the first it said: {self._first_garbage!r}",
            "Check that it is an MCP server, and that it speaks this transport.",
        )

    def why(self) -> LinkError:
        """What ended the link; while it lives, what is wrong with it as far as can be told. Secrets are masked."""
        if self._cause is None and self.garbage and not self.heard:
            return self.garbage_fault()
        return self._cause or self._guess()

    def _guess(self) -> LinkError:
        if self.gone.is_set():
            return LinkError("closed", "it closed the connection", "Look into the log of the server, then try again.")
        return LinkError(
            "silent",
            f"it did not answer within {self.definition.connect_s:g} s (time-out)",
            "Try it by hand, or give it more time: `timeout`.",
        )

    async def explain(self) -> LinkError:
        """`why`, after a short wait for what is still to come: an exit status, the last lines of stderr."""
        return self.why()


@contextlib.asynccontextmanager
async def beside() -> AsyncIterator[trio.Nursery]:
    """A nursery whose tasks end with the block; what the block raises comes out as it is, and in no group of the
    nursery's."""
    fault: BaseException | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        except BaseException as raised:  # noqa: BLE001 - raised again below, outside of the nursery's group
            fault = raised
        nursery.cancel_scope.cancel()
    if fault is not None:
        raise fault


def own_words(definition: ServerDefinition, text: str) -> str:
    """What a server said of itself, for people: in one line, cut, without control characters and secrets."""
    return definition.mask_words(shorten(text, WORDS_CHARS)) or "it gave no reason"


def shorten(text: str, limit: int = SHOWN_CHARS) -> str:
    """The text in one line without control characters, cut to `limit` characters."""
    text = " ".join(clean(text[: 4 * limit])[0].split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
