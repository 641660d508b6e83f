"""One MCP server that is in no configuration, in quarantine: a board that has it and nothing else.

Nobody but the person at the page calls its tools: there is no model, no other front, no other tool that could. What it
lists is not kept on disk and not held to a lock, and what its tools answer goes to no audit. That is all that
is meant by quarantine: the server itself is a program with the rights of whoever starts it.

Its messages are recorded from the first one on.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError, load_board

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Board
    from pegboard.cli import ProgramRun
    from pegboard_inspect.pages import Page

NAME = "server"
"""What it is called on its board."""
PAGE = f"sources/{NAME}"
"""Where the page begins."""


def require_alone(run: ProgramRun) -> None:
    """Require that no option speaks of a configuration, which is not read.

    Raises:
        click.UsageError: one does.
    """
    options = {
        "--config": run.config,
        "--mcp-config": run.mcp_config,
        "--plugin": run.plugins,
        "--profile": run.profile,
    }
    if given := [option for option, value in options.items() if value]:
        raise click.UsageError(f"--server reads no configuration, and {given[0]} names some; leave one of them out")


def board_of_server(
    words: str,
    transport: str | None = None,
    *,
    protocol: str | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Board:
    """The board of one server, which is started when a host opens on it.

    Args:
        words: a URL (http, https, ws, wss), or a command with its arguments, as a shell has it.
        transport: how it is reached; None: as it looks.
        protocol: which era is spoken, as of a server's table; None: as it answers.
        overrides: as of `load_board`.

    Raises:
        click.UsageError: the words are not a command.
        ConfigError: they are not those of a server, or pegboard-mcp is not installed.
    """
    from pegboard_inspect.messages import inspect_by_hand

    if importlib.util.find_spec("pegboard_mcp") is None:
        raise ConfigError("--server needs pegboard-mcp", hint="pip install pegboard-mcp")
    chosen = {"transport": transport, "protocol": protocol}
    table = {**_table(words), "start": "eager", **{key: value for key, value in chosen.items() if value}}
    settings = {"servers": {NAME: table}, "lock": "off", "remember": False}
    board = load_board({"plugins": {"mcp": settings}}, ["mcp", "inspect"], overrides=overrides)
    for _, source in board.sources:
        inspect_by_hand(source)
    return board


def page_of_asked(board: Board) -> Page:
    """The page on which a person answers what the server of that board asks, from its next start on."""
    from pegboard_inspect.asked_page import Asked, asked_page

    asked = Asked(board.config.core.approval_timeout_s)
    source: Any
    for _, source in board.sources:
        source.answer_by(asked.ask)
    return asked_page(asked)


def _table(words: str) -> dict[str, Any]:
    if re.match(r"(?i)(https?|wss?)://", words.strip()):
        return {"url": words.strip()}
    try:
        argv = shlex.split(words)
    except ValueError as problem:
        raise click.UsageError(f"--server: {str(problem).lower()}; write it as a shell has it") from None
    if not argv:
        raise click.UsageError('--server: expected a command or a URL, as in "npx -y @scope/server"')
    return {"command": argv[0], "args": argv[1:]}
