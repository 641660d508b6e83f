"""SQLite files that several processes share: whose they are, which one is at a path, and writing whole or not at all.

A program that opens a file which somebody named must not write into another program's: `PRAGMA application_id` says
whose it is, `user_version` which form it has (https://sqlite.org/pragma.html#pragma_application_id).

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "FileState",
    "FileTrouble",
    "connect",
    "error_in",
    "identity_of",
    "is_busy",
    "is_refused",
    "state_of",
    "transaction",
    "trouble_of",
]

# By the beginning of the name of SQLite's result code, https://sqlite.org/rescode.html: reason, words.
_TROUBLES = (
    ("SQLITE_BUSY", "locked", "is locked by another program"),
    ("SQLITE_LOCKED", "locked", "is locked by another program"),
    ("SQLITE_READONLY", "read_only", "is read-only for this user"),
    ("SQLITE_FULL", "full", "cannot grow: its disk is full"),
    ("SQLITE_IOERR", "disk", "cannot be read or written: its disk is full, or fails"),
    ("SQLITE_CANTOPEN", "unavailable", "cannot be opened"),
    ("SQLITE_PERM", "unavailable", "cannot be opened"),
    ("SQLITE_NOTADB", "damaged", "is damaged, or is not a database"),
    ("SQLITE_CORRUPT", "damaged", "is damaged"),
    ("SQLITE_INTERRUPT", "slow", "took too long"),
)


class FileState(NamedTuple):
    """What a file says of itself; all of a new one is 0.

    Args:
        application: `application_id`.
        version: `user_version`.
        tables: how many tables and the like are in it.

    .. versionadded:: 0.1
    """

    application: int
    version: int
    tables: int

    def is_foreign(self, application: int) -> bool:
        """Whether the file holds something, and is not of that application."""
        return self.application != application and any(self)


class FileTrouble(NamedTuple):
    """What is wrong with a file, without a path and without a driver's message: a model may read it.

    Args:
        reason: for programs: locked, read_only, full, disk, unavailable, damaged, slow.
        words: for people, after what is meant: "is locked by another program".

    .. versionadded:: 0.1
    """

    reason: str
    words: str


def trouble_of(problem: BaseException) -> FileTrouble | None:
    """What an error of SQLite means for its file; None: another mistake, such as one in a statement.

    .. versionadded:: 0.1
    """
    name = _name_of(problem)
    return next((FileTrouble(*said) for prefix, *said in _TROUBLES if name.startswith(prefix)), None)


def error_in(problem: BaseException | None) -> sqlite3.Error | None:
    """The error of SQLite that another stands for: the first among it and its causes; None: there is none.

    .. versionadded:: 0.1
    """
    while problem is not None and not isinstance(problem, sqlite3.Error):
        problem = getattr(problem, "orig", None) or problem.__cause__  # `orig`: SQLAlchemy's DBAPIError
    return problem


def is_busy(problem: BaseException) -> bool:
    """Whether it failed since somebody else holds a lock on the file.

    .. versionadded:: 0.1
    """
    return _name_of(error_in(problem)).startswith(_BUSY)


def is_refused(problem: BaseException) -> bool:
    """Whether a commit that failed like this did not happen for certain: what ends a transaction was not written.

    Anything else, a disk that fails to sync for one, may leave it in the file (https://sqlite.org/rescode.html).

    .. versionadded:: 0.1
    """
    return _name_of(error_in(problem)).startswith(_REFUSED)


_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")
_REFUSED = (*_BUSY, "SQLITE_FULL", "SQLITE_READONLY")


def _name_of(problem: BaseException | None) -> str:
    """Of SQLite's result code; nothing where there is none."""
    return getattr(problem, "sqlite_errorname", None) or ""


def state_of(connection: sqlite3.Connection) -> FileState:
    """What the file says of itself, as of one moment: another process may be making its tables just now.

    Raises:
        sqlite3.Error: it is not a database, or cannot be read.

    .. versionadded:: 0.1
    """
    began = not connection.in_transaction
    if began:
        connection.execute("BEGIN")
    try:
        asked = ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        return FileState(*(connection.execute(one).fetchone()[0] for one in asked))
    finally:
        if began and connection.in_transaction:
            connection.execute("ROLLBACK")


def connect(path: Path, mode: str = "rw", *, timeout_s: float = 5.0) -> sqlite3.Connection:
    """A connection to a file that exists, without transactions of Python's own; threads may hand it on to each other.

    Args:
        path: the file.
        mode: `rw`, or `ro` to read alone.
        timeout_s: how long a lock of another process is waited for.

    Raises:
        sqlite3.Error: it cannot be opened.

    .. versionadded:: 0.1
    """
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=timeout_s)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written in the block, or nothing; a reader of before is not disturbed, another writer waits.

    .. versionadded:: 0.1
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file is at a path now; None: there is none.

    .. versionadded:: 0.1
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
