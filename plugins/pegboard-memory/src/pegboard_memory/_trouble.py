"""What can be wrong with a database, in words that tell nothing of the host: no path, no driver's message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3

# By the name of SQLite's result code, the longest prefix first: reason, words, seconds until a repetition makes sense.
_REASONS: tuple[tuple[str, str, str, float], ...] = (
    ("SQLITE_BUSY", "locked", "the database is locked by another program", 1),
    ("SQLITE_LOCKED", "locked", "the database is locked", 1),
    ("SQLITE_READONLY", "read_only", "the database is read-only", 60),
    ("SQLITE_FULL", "full", "the database or its disk is full", 60),
    ("SQLITE_CANTOPEN", "unavailable", "the database cannot be opened", 5),
    ("SQLITE_NOTADB", "damaged", "the file is not a database", 60),
    ("SQLITE_CORRUPT", "damaged", "the database is damaged", 60),
    ("SQLITE_INTERRUPT", "slow", "the database took too long", 1),
)


class StorageError(Exception):
    """A failed use of the database; the cause is chained for the log.

    Args:
        reason: a word for programs: locked, read_only, full, gone, unavailable, damaged, newer, foreign, fts5, slow.
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


def is_refused(problem: BaseException) -> bool:
    """Whether a commit that failed like this did not happen for certain: what ends a transaction was not written.

    Anything else, a disk that fails to sync for one, may leave it in the file (https://sqlite.org/rescode.html).
    """
    name = getattr(problem, "sqlite_errorname", None) or ""
    return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_FULL"))


def trouble_of(problem: sqlite3.Error | OSError) -> StorageError:
    """What a driver's or the system's error means."""
    name = getattr(problem, "sqlite_errorname", None) or ""
    for prefix, reason, words, after_s in _REASONS:
        if name.startswith(prefix):
            return StorageError(reason, words, retry="same", retry_after_s=after_s)
    if isinstance(problem, OSError):
        return StorageError("unavailable", "the database cannot be opened", retry="same", retry_after_s=5)
    return StorageError("database", "the database failed", retry="same", retry_after_s=5)
