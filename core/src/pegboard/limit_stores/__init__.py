"""Limits that processes share: how a store is asked, and the one of the core, for all processes of one user.

It is a SQLite file in the user's state folder. This module is the plugin that brings it; every board imports it, and
the rest with the first call that a limit holds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from pegboard import Finding, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard import Check
    from pegboard.limit_stores.sqlite_store import SqliteStore
    from pegboard.protocols import Board

NAME = "sqlite"
FILE = "limits.sqlite"


@hookimpl
def provide_limit_store() -> SqliteStore:
    """The file of whoever runs the process; it is not touched before a limit is counted."""
    from pegboard.config import user_folder
    from pegboard.limit_stores.sqlite_store import SqliteStore

    return SqliteStore(os.fspath(user_folder("state") / FILE))


@hookimpl
def provide_checks() -> list[Check]:
    """Whether the file can be counted in, where it is the store of the board."""
    return [check_file]


def check_file(board: Board) -> Iterator[Finding]:
    """What keeps limits from being counted."""
    if not any(entry.tool.limits.is_counted for entry in board.registry.plans.values()) or board.limit_stores.problem():
        return
    name, store = board.limit_stores.choose()
    problem = cast("SqliteStore", store).find_problem() if name == NAME else None
    if problem is not None:
        why = f"{problem.message}; calls of tools with limits are refused"
        yield Finding("limits cannot be counted", "limit store sqlite", why, problem.hint or "repair the file")
