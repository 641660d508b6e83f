"""What is written to the memories: `pegboard.group_commit` does it, in one thread; here is the file that it writes to.

The thread starts with the first job and opens the file then; after trouble it opens the file afresh for the next job.
A job whose caller is gone before it was taken is not done.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import attrs
import trio

from pegboard.config import get_logger
from pegboard.group_commit import GroupCommit, UnavailableError
from pegboard_memory import _database as database
from pegboard_memory._trouble import StorageError, trouble_of, unconfirmed

if TYPE_CHECKING:
    from pegboard_memory._place import Identity, Place

log = get_logger("pegboard.memory")

T = TypeVar("T")

MAX_PATIENCE_S = 5.0
"""How long a lock of another program is waited for; less where the caller's deadline is nearer."""
SLICE_S = 0.02
"""How long SQLite itself waits for a lock; after that it is asked again, as long as somebody waits."""

Connect = Callable[..., sqlite3.Connection]


@attrs.define(eq=False)
class Writer:
    """Writes to one place.

    Args:
        place: where.
        connect: opens the file; `_database.connect` but in tests.
    """

    place: Place
    connect: Connect = database.connect
    _commits: GroupCommit[sqlite3.Connection] = attrs.field(init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _connection: sqlite3.Connection | None = attrs.field(default=None, init=False)
    _opened: Identity | None = attrs.field(default=None, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._commits = GroupCommit(self, "pegboard-memory writer")

    async def open(self) -> None:
        """Open the file, and make what it lacks, however long that takes; a lock is waited for as long as by a job.

        Raises:
            StorageError: the file cannot be used.
        """
        try:
            await trio.to_thread.run_sync(self._ready, MAX_PATIENCE_S, abandon_on_cancel=True)
        except (sqlite3.Error, OSError) as problem:
            raise trouble_of(problem) from problem

    async def run(
        self,
        work: Callable[[sqlite3.Connection], T],
        patience_s: float = MAX_PATIENCE_S,
        confirm_s: float = math.inf,
    ) -> T:
        """Do a job and commit it.

        Args:
            work: runs in the writer's thread, inside a transaction.
            patience_s: how long a lock of another program is waited for, in seconds.
            confirm_s: after so many seconds nobody waits any more: a job that was not begun never will be.

        Raises:
            StorageError: the database cannot do it, and nothing of the job is kept; unless `may_have_run` says that
                nobody knows.
        """
        try:
            return await self._commits.write(work, min(patience_s, MAX_PATIENCE_S), confirm_s)
        except UnavailableError as problem:
            cause = problem.__cause__
            if problem.may_have_run:
                raise unconfirmed() from cause
            if isinstance(cause, (sqlite3.Error, OSError)):
                raise trouble_of(cause) from cause
            raise cause or StorageError("slow", "the database took too long", retry="same") from problem
        except (sqlite3.Error, OSError) as problem:
            raise trouble_of(problem) from problem

    async def aclose(self) -> None:
        """End the thread, after the jobs it has."""
        with trio.CancelScope(shield=True):
            await self._commits.close()
            await trio.to_thread.run_sync(self._close)

    # -- in threads

    def begin_writing(self) -> sqlite3.Connection:
        """The connection, to the file that is there now, inside a transaction that holds the write lock."""
        connection = self._ready(SLICE_S)
        connection.execute("BEGIN IMMEDIATE")
        return connection

    @staticmethod
    def driver_of(connection: sqlite3.Connection) -> sqlite3.Connection:
        """It is that itself."""
        return connection

    def commit(self, connection: sqlite3.Connection) -> None:
        """End the transaction of `begin_writing`."""
        connection.execute("COMMIT")

    def drop_writer(self) -> None:
        """Close the connection, which rolls back what is open."""
        with self._lock:
            self._drop()

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True
            self._drop()

    def _ready(self, patience_s: float) -> sqlite3.Connection:
        with self._lock:
            if self._is_closed:  # a thread that nobody waits for any more, which came late
                raise StorageError("unavailable", "the host is closing", retry="same")
            identity = self.place.look()
            if self._connection is not None and identity != self._opened:
                self._drop()
            if self._connection is None:
                if identity is None:
                    self.place.make()
                    identity = self.place.look()
                self.place.keep()
                connection = self.connect(self.place.path)
                try:
                    connection.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
                    database.prepare(connection)
                    connection.execute(f"PRAGMA busy_timeout = {round(SLICE_S * 1000)}")
                except BaseException:
                    connection.close()
                    raise
                self._connection, self._opened = connection, identity
            return self._connection

    def _drop(self) -> None:
        connection, self._connection, self._opened = self._connection, None, None
        if connection is not None:
            try:
                connection.close()
            except sqlite3.Error:
                log.exception("the database of memories could not be closed")
