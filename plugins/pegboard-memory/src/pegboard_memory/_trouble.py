"""What can be wrong with a database, in words that tell nothing of the host: no path, no driver's message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.sqlite_files import trouble_of as in_words

if TYPE_CHECKING:
    import sqlite3

_AGAIN_S = {"locked": 1, "slow": 1, "read_only": 60, "full": 60, "disk": 60, "damaged": 60}
"""By the reason, when a repetition makes sense, in seconds; else after `_ELSE_S`."""
_ELSE_S = 5


class StorageError(Exception):
    """A failed use of the database; the cause is chained for the log.

    Args:
        reason: a word for programs: locked, read_only, full, disk, gone, unavailable, damaged, newer,
            foreign, fts5, slow.
        words: the same for people.
        may_have_run: a commit was sent, and nobody knows what became of it.
        details: `retry` and the like.
    """

    def __init__(self, reason: str, words: str, *, may_have_run: bool = False, **details: Any) -> None:
        super().__init__(words)
        self.reason = reason
        self.words = words
        self.may_have_run = may_have_run
        self.details = details


def unconfirmed() -> StorageError:
    """A commit that nobody confirmed."""
    return StorageError("unconfirmed", "the commit was not confirmed", may_have_run=True, retry="unknown")


def trouble_of(problem: sqlite3.Error | OSError) -> StorageError:
    """What a driver's or the system's error means."""
    if (trouble := in_words(problem)) is not None:
        again_s = _AGAIN_S.get(trouble.reason, _ELSE_S)
        return StorageError(trouble.reason, f"the database {trouble.words}", retry="same", retry_after_s=again_s)
    if isinstance(problem, OSError):
        return StorageError("unavailable", "the database cannot be opened", retry="same", retry_after_s=_ELSE_S)
    return StorageError("database", "the database failed", retry="same", retry_after_s=_ELSE_S)
