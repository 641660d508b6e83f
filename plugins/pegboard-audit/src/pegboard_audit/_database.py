"""The SQLite file: its table, how it is opened, and what can be wrong with it, in words.

One table, `calls`; a row a call, and nothing of a row ever changes. `seq` grows in the order of the commits of all
processes together, since SQLite has one writer at a time: whoever has read up to one finds all later ones behind it.
`process` is the id of the one that answered. `span_id` is the call's own span, where something makes spans, and
`parent_span_id` the one that came into the process with the trace: by these calls of several processes are joined.

`PRAGMA application_id` says that the file is ours, `user_version` which form it has; a column that
came later (`_ADDED`) changes no form, since all statements name theirs. WAL, so that readers never hold
a writer; `synchronous = NORMAL`, so that a commit waits for no disk: killing a process loses nothing that was
committed, a power cut may lose the last commits and never the file (https://sqlite.org/wal.html).
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from typing import TYPE_CHECKING, Any

from pegboard.config import keep_private, open_private, private_folder, write_hint
from pegboard.sqlite_files import connect, state_of, transaction, trouble_of
from pegboard_audit._errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

APPLICATION_ID = 0x70654175  # "peAu"
VERSION = 1
BUSY_MS = 250
"""How long SQLite itself waits for another process's lock; whoever writes tries again."""

COLUMNS = (
    "id", "parent_id", "started_at", "duration_ms", "name", "user_id", "session", "channel", "source", "status",
    "code", "reason", "timings", "verdicts", "trace_id", "arguments", "process", "span_id", "parent_span_id",
)  # fmt: skip
"""What a row has beside `seq`, in this order."""

_SCHEMA = (
    "CREATE TABLE calls (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, parent_id TEXT,"
    " started_at REAL NOT NULL, duration_ms REAL NOT NULL, name TEXT, user_id TEXT, session TEXT NOT NULL,"
    " channel TEXT, source TEXT, status TEXT NOT NULL, code TEXT, reason TEXT, timings TEXT, verdicts TEXT,"
    " trace_id TEXT, arguments TEXT, process INTEGER, span_id TEXT, parent_span_id TEXT)",
    "CREATE INDEX calls_by_time ON calls (started_at)",
    "CREATE INDEX calls_by_id ON calls (id)",
    "CREATE INDEX calls_by_parent ON calls (parent_id, session) WHERE parent_id IS NOT NULL",
)
_ADDED = {"process": "INTEGER", "span_id": "TEXT", "parent_span_id": "TEXT"}
"""Columns that files of the first versions have not."""
_BY_TRACE = "CREATE INDEX IF NOT EXISTS calls_by_trace ON calls (trace_id) WHERE trace_id IS NOT NULL"
_VALUES = f"({', '.join('?' * len(COLUMNS))})"
INSERT = f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES {_VALUES}"  # noqa: S608 - names of ours
ROWS_AT_ONCE = 40
"""Rows of one statement: each gives the interpreter to the loop and takes it back, which costs more than a row does.
SQLite before 3.32 takes 999 values."""
_INSERT_MANY = INSERT + f", {_VALUES}" * (ROWS_AT_ONCE - 1)

_AWAY = "move it away: mv '{0}' '{0}.old'; a new one begins with the next call"
_HINTS = {
    "locked": "end the program that holds it", "read_only": "let this user write the file and its folder",
    "full": "make room on the disk, or lower megabytes", "disk": "make room on the disk, or look at it",
    "unavailable": "look at what it is, and at its rights", "damaged": _AWAY,
}  # fmt: skip


def error_of(problem: sqlite3.Error | OSError, path: Path) -> AuditError:
    """What an error of the driver or the system means for the file."""
    trouble = trouble_of(problem)
    if trouble is not None and trouble.reason in _HINTS:
        hint = _HINTS[trouble.reason].format(path)
        return AuditError(f"the audit's file {path} {trouble.words}", reason=trouble.reason, hint=hint)
    why = problem.strerror if isinstance(problem, OSError) else None
    message = f"the audit's file {path} cannot be used: {why or 'the database failed'}"
    otherwise = "let this user write it and its folder, or say enabled = false under [plugins.audit_db]"
    hint = write_hint(problem, otherwise)
    return AuditError(message, reason="unavailable" if why else "failed", hint=hint)


def damaged(path: Path) -> AuditError:
    """What is in the file is not what anybody here wrote."""
    return AuditError(f"the audit's file {path} is damaged", reason="damaged", hint=_AWAY.format(path))


def open_for_writing(path: Path, *, make_folder: bool) -> sqlite3.Connection:
    """A connection to the file, made with its table where it is missing: 0600, as are those that SQLite puts beside it.

    Args:
        path: the file.
        make_folder: whether its folder is ours to make: the user's state folder is, one that somebody named is not.

    Raises:
        AuditError: it is another program's, or of a newer version.
        sqlite3.Error, OSError: what else a file can be wrong with.
    """
    if make_folder:
        private_folder(path.parent)
    if make_folder or not path.is_file():
        os.close(open_private(path, os.O_RDWR, is_own=make_folder))
    connection = connect(path, timeout_s=BUSY_MS / 1000)
    try:
        if not _has_table(connection, path):  # before anything is changed: the file may be somebody else's
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # holds only before there is a table
            connection.execute("PRAGMA journal_mode = WAL")
            _make_table(connection, path)
        keep_private(path, is_own=True)  # not before: it was somebody's that a person had named
        _complete_table(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA journal_size_limit = 4194304")
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection | None:
    """A connection that cannot write; None where there is no file, or nothing in it yet.

    Raises:
        AuditError: the file cannot be read, or holds something else.
    """
    if not path.exists():
        return None
    try:
        connection = connect(path, "ro", timeout_s=BUSY_MS / 1000)
        try:
            has_table = _has_table(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as problem:
        raise error_of(problem, path) from problem
    if has_table:
        return connection
    connection.close()
    return None


def _has_table(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is one of ours, with its table; False: nothing is in it yet.

    Raises:
        AuditError: it is another program's, of a newer version, or damaged.
    """
    state = state_of(connection)
    if state.is_foreign(APPLICATION_ID):
        message = f"the audit's file {path} holds something else: it is another program's database"
        raise AuditError(message, reason="foreign", hint="name another as file under [plugins.audit_db]")
    if state.version > VERSION:
        message = f"the audit's file {path} was written by a newer version of pegboard-audit"
        raise AuditError(message, reason="newer", hint="pip install --upgrade pegboard-audit")
    if not state.tables:
        return False
    kind = connection.execute("SELECT type FROM sqlite_master WHERE name = 'calls'").fetchone()
    if kind != ("table",):  # a view may be without an end
        raise damaged(path)
    return True


def _complete_table(connection: sqlite3.Connection) -> None:
    """Add what an older version did not make; it goes on writing beside us, since it names its columns."""

    def missing() -> set[str]:
        return _ADDED.keys() - {name for _, name, *_ in connection.execute("PRAGMA table_info(calls)")}

    if not missing():
        return
    with transaction(connection):
        for name in missing():  # another process may have been quicker
            connection.execute(f"ALTER TABLE calls ADD COLUMN {name} {_ADDED[name]}")
        connection.execute(_BY_TRACE)


def _make_table(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):
        if not _has_table(connection, path):  # another process may have been quicker
            for statement in (*_SCHEMA, _BY_TRACE):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def insert(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add these rows of `COLUMNS`, in their order."""
    whole = len(rows) - len(rows) % ROWS_AT_ONCE
    for first in range(0, whole, ROWS_AT_ONCE):
        connection.execute(_INSERT_MANY, tuple(itertools.chain(*rows[first : first + ROWS_AT_ONCE])))
    connection.executemany(INSERT, rows[whole:])
