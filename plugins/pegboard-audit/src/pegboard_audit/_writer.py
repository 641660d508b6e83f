"""The one thread of a host that writes: many calls to a commit, and no call ever waits for it.

The task of a call puts a note into a queue (`AuditWriter.record`). The first note wakes the thread; it gathers what
else comes within `GATHER_S`, and commits all of it. So a busy host commits twenty times a second, an idle one does
nothing, and a `kill -9` loses the last moment.

    cannot be written     the notes wait, up to `MAX_WAITING`, and are tried again every `AGAIN_S`; it is said once, and
                          at the end how many calls are missing
    the file is replaced  what is written to a removed file is lost in silence, so each commit looks which file is there
    the host ends         what waits is written, within `CLOSE_S`; what is left then is counted and said
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pegboard_audit._database import INSERT, AuditError, error_of, identity_of, open_for_writing
from pegboard_audit._rows import noted, row_of
from pegboard_audit.settings import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard import Outcome
    from pegboard_audit._rows import Noted
    from pegboard_audit.settings import AuditDbSettings

log = logging.getLogger("pegboard.audit")

GATHER_S = 0.05
"""How long the first note of a commit waits for others, in seconds: whoever follows hears it within 0.2 s."""
AGAIN_S = 1.0
"""How long after a failure it is tried again, in seconds."""
LOCK_S = 0.02
"""How long it is waited between two tries when the host ends and somebody holds a lock, in seconds."""
CLOSE_S = 3.0
"""How long the end of a host waits for what is not yet written, in seconds."""
MAX_WAITING = 20_000
"""Notes that wait while the file cannot be written, about 20 MB; those that come then are counted and lost."""
MAX_BATCH = 5_000
"""Rows of one commit, written or removed: other processes wait for it."""
ROWS_BETWEEN_TRIMS = 1_000
SHARE_LEFT = 0.9
"""How full a file is that was too large, once its oldest calls are removed."""

_REMOVE_OLD = "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls WHERE started_at < ? ORDER BY started_at LIMIT ?)"
_REMOVE_FIRST = "DELETE FROM calls WHERE seq IN (SELECT seq FROM calls ORDER BY seq LIMIT ?)"


class AuditWriter:
    """Takes outcomes from the loop, writes rows from a thread of its own, which it starts and ends.

    Args:
        settings: where, how much, for how long.
    """

    def __init__(self, settings: AuditDbSettings) -> None:
        self.path = file_of(settings)
        self.trouble: AuditError | None = None
        """Why calls cannot be written just now; None: they can, as far as was tried."""
        self.tried = threading.Event()
        """Set once `trouble` says what is so; only where somebody asks for it before the first call."""
        self._settings = settings
        self._notes: SimpleQueue[Noted | None] = SimpleQueue()
        self._batch: list[Noted] = []
        self._missing = 0
        self._is_told = False
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._untrimmed = ROWS_BETWEEN_TRIMS  # the first commit of a process trims, since most processes are short
        self._ending = threading.Event()
        self._end_at = float("inf")
        self._thread = threading.Thread(target=self._run, name="pegboard-audit-db", daemon=True)
        self._thread.start()

    # -- for the loop

    def record(self, outcome: Outcome) -> None:
        """Note one call; never waits."""
        if self._notes.qsize() < MAX_WAITING:
            self._notes.put(noted(outcome, arguments=self._settings.arguments))
        else:
            self._missing += 1

    def close(self) -> None:
        """Write what is left, then end the thread; blocks until both are done, for `CLOSE_S` at most."""
        self._end_at = time.monotonic() + CLOSE_S
        self._ending.set()
        self._notes.put(None)
        self._thread.join(CLOSE_S + 0.5)  # a disk that hangs holds the thread, and nobody else
        missing = self._missing + len(self._batch) + max(self._notes.qsize() - 1, 0)
        if missing:
            what = "a call is" if missing == 1 else f"{missing} calls are"
            why = f"{self.path} could not be written in time" if self.trouble is None else self.trouble.message
            log.error("%s missing in the audit: %s", what, why)

    # -- in the thread

    def _run(self) -> None:
        if self._settings.fails == "closed":
            self._write()
            self.tried.set()
        has_more = True
        while has_more or self._batch:
            has_more = self._gather() and has_more
            if self._batch:
                self._write()
            if self._batch and self._is_over():
                break
        self._disconnect()

    def _gather(self) -> bool:
        """Take what waits into the batch, for which a first note is waited for; False: nothing comes any more."""
        if self._batch:  # it could not be written
            if self._ending.wait(AGAIN_S):
                time.sleep(LOCK_S)
        else:
            first = self._notes.get()
            if first is None:
                return False
            self._batch.append(first)
            self._ending.wait(GATHER_S)
        with contextlib.suppress(Empty):
            while len(self._batch) < MAX_BATCH:
                note = self._notes.get_nowait()
                if note is None:
                    return False
                self._batch.append(note)
        return True

    def _is_over(self) -> bool:
        """Whether the host ends and trying again would not help, or not in time."""
        waits_for_a_lock = self.trouble is not None and self.trouble.reason == "locked"
        return self._ending.is_set() and not (waits_for_a_lock and time.monotonic() < self._end_at)

    def _write(self) -> None:
        try:
            connection = self._ready()
            if self._batch:
                with _transaction(connection):
                    connection.executemany(INSERT, map(row_of, self._batch))
                self._untrimmed += len(self._batch)
            self._batch = []
            self.trouble = None
            if self._untrimmed >= ROWS_BETWEEN_TRIMS:
                self._trim(connection)
        except (sqlite3.Error, OSError, AuditError) as problem:
            self._fail(problem if isinstance(problem, AuditError) else error_of(problem, self.path))
        except Exception:
            log.exception("an audit of calls could not be written")  # a fault of ours, and it stays one
            self._fail(AuditError(f"the audit's file {self.path} cannot be written", reason="failed"))

    def _fail(self, trouble: AuditError) -> None:
        self.trouble = trouble
        self._disconnect()
        if trouble.reason == "failed":  # it would again
            self._missing += len(self._batch)
            self._batch = []
        if not self._is_told and trouble.reason != "locked":  # once; a lock goes, or calls are missing in the end
            self._is_told = True
            what = "calls are refused until it can be" if self._settings.fails == "closed" else "calls go on"
            log.error("%s; %s%s", trouble.message, what, f" ({trouble.hint})" if trouble.hint else "")

    def _ready(self) -> sqlite3.Connection:
        """The connection, to the file that is there now."""
        if self._connection is not None and identity_of(self.path) != self._opened:
            self._disconnect()
        if self._connection is None:
            self._connection = open_for_writing(self.path, make_folder=self._settings.file is None)
            self._opened = identity_of(self.path)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection, self._opened = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()  # rolls back what is open

    def _trim(self, connection: sqlite3.Connection) -> None:
        """Remove the oldest calls, a bounded number at a time, until age and size are kept."""
        with _transaction(connection):
            removed = _remove_oldest(connection, self._settings)
        if removed:
            connection.executescript("PRAGMA incremental_vacuum")  # `execute` takes the first step of it alone
        if removed < MAX_BATCH:
            self._untrimmed = 0


def _remove_oldest(connection: sqlite3.Connection, settings: AuditDbSettings) -> int:
    """Remove calls that are too old, and the first ones of a file that is too large; how many, which is bounded."""
    removed = connection.execute(_REMOVE_OLD, (time.time() - settings.days * 86_400, MAX_BATCH)).rowcount
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    share = SHARE_LEFT * settings.megabytes * 1e6 / ((pages - free) * size)
    if share < SHARE_LEFT:
        first, last = connection.execute("SELECT min(seq), max(seq) FROM calls").fetchone()
        rows = 0 if first is None else last - first + 1
        removed += connection.execute(_REMOVE_FIRST, (min(int(rows * (1 - share)), MAX_BATCH),)).rowcount
    return removed


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
