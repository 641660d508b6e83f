"""The file as the writer's thread has it: opened afresh where it was replaced, kept within its bounds."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

from pegboard.sqlite_files import identity_of, transaction
from pegboard_audit._database import error_of, insert, open_for_writing
from pegboard_audit._rows import row_of
from pegboard_audit.settings import file_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_audit._rows import Noted
    from pegboard_audit.settings import AuditDbSettings

MAX_REMOVED = 5_000
"""Rows that are removed at once: other processes wait for it."""
ROWS_BETWEEN_TRIMS = 1_000
SHARE_LEFT = 0.9
"""How full a file is that was too large, once its oldest calls are removed."""

_REMOVE_OLD = "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls WHERE started_at < ? ORDER BY started_at LIMIT ?)"
_REMOVE_FIRST = "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls ORDER BY seq LIMIT ?)"


class AuditFile:
    """One file, for one thread.

    Args:
        settings: where, how much, for how long.
    """

    def __init__(self, settings: AuditDbSettings) -> None:
        self.path = file_of(settings)
        self._settings = settings
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._untrimmed = ROWS_BETWEEN_TRIMS  # the first commit of a process trims, since most processes are short

    def write(self, batch: Sequence[Noted]) -> None:
        """Write all of these, or none; none at all opens the file.

        Raises:
            AuditError: it cannot be written just now.
        """
        try:
            connection = self._ready()
            if batch:
                rows = [row_of(one) for one in batch]
                with transaction(connection):
                    insert(connection, rows)
                self._untrimmed += len(batch)
        except (sqlite3.Error, OSError) as problem:
            self.close()
            raise error_of(problem, self.path) from problem
        except BaseException:
            self.close()
            raise

    def trim(self) -> None:
        """Remove the oldest calls, a bounded number at a time, until age and size are kept.

        Raises:
            AuditError: it cannot be written just now.
        """
        if self._connection is None or self._untrimmed < ROWS_BETWEEN_TRIMS:
            return
        try:
            with transaction(self._connection):
                removed = _remove_oldest(self._connection, self._settings)
            if removed:
                self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` takes its first step alone
        except sqlite3.Error as problem:
            self.close()
            raise error_of(problem, self.path) from problem
        if removed < MAX_REMOVED:
            self._untrimmed = 0

    def close(self) -> None:
        """Close it; what is not committed is not kept."""
        connection, self._connection, self._opened = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _ready(self) -> sqlite3.Connection:
        """The connection, to the file that is there now: what is written to a removed one is lost in silence."""
        if self._connection is not None and identity_of(self.path) != self._opened:
            self.close()
        if self._connection is None:
            self._connection = open_for_writing(self.path, make_folder=self._settings.file is None)
            self._opened = identity_of(self.path)
        return self._connection


def _remove_oldest(connection: sqlite3.Connection, settings: AuditDbSettings) -> int:
    """Remove calls that are too old, and the first ones of a file that is too large; how many, which is bounded."""
    removed = connection.execute(_REMOVE_OLD, (time.time() - settings.days * 86_400, MAX_REMOVED)).rowcount
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    share = SHARE_LEFT * settings.megabytes * 1e6 / ((pages - free) * size)
    if share < SHARE_LEFT:
        first, last = connection.execute("SELECT min(seq), max(seq) FROM calls").fetchone()
        rows = 0 if first is None else last - first + 1
        removed += connection.execute(_REMOVE_FIRST, (min(int(rows * (1 - share)), MAX_REMOVED),)).rowcount
    return removed
