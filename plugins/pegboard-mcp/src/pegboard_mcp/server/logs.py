"""What tools log while they are called, sent to the client that called.

A handler of the standard `logging` hears the loggers below `pegboard.tool`; a record belongs to the request in whose
task or thread it was made. In the handshake era a client hears what is at least as severe as it said (`info` until it
said anything), from 2026-07-28 on only what it asked for in that very request.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import trio

from pegboard_mcp.server.elicitation import Exchange, current
from pegboard_serving.tool_logs import LOGGER, ToolLogHandler

if TYPE_CHECKING:
    from pegboard_mcp.server.sessions import Sessions

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
MAX_TEXT = 10_000
"""A longer message is cut, in characters."""


def is_wanted(exchange: Exchange, level: str) -> bool:
    """Whether the client of a request hears that level."""
    least = exchange.least_level
    return least in LEVELS and level in LEVELS and LEVELS.index(level) >= LEVELS.index(least)


def level_of(number: int) -> str:
    """A level of `logging` in MCP's words."""
    if number >= logging.CRITICAL:
        return "critical"
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"


class LogForwarder(ToolLogHandler):
    """Forwards what tools log, as long as the block; the nursery's tasks send it."""

    def __init__(self, nursery: trio.Nursery, sessions: Sessions) -> None:
        super().__init__()
        self._nursery = nursery
        self._sessions = sessions
        self._token = trio.lowlevel.current_trio_token()

    def listen_to(self, level: str) -> None:
        """Hear records of that level too."""
        if level == "debug":
            logging.getLogger(LOGGER).setLevel(logging.DEBUG)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record for its client."""
        exchange = current.get(None)
        if exchange is None or exchange.connected.owner is not self._sessions:
            return
        level = level_of(record.levelno)
        if not is_wanted(exchange, level):
            return
        entry: dict[str, Any] = {"level": level, "data": record.getMessage()[:MAX_TEXT]}
        name = record.name.removeprefix(LOGGER).strip(".")
        if name:
            entry["logger"] = name
        exchange.log(entry)
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._send, exchange)

    def _send(self, exchange: Exchange) -> None:
        with contextlib.suppress(RuntimeError):  # the nursery is closed
            self._nursery.start_soon(exchange.flush_logs)
