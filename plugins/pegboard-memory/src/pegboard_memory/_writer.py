"""One thread that writes. Jobs that wait together are committed together, and acknowledged after the commit.

A job is a function of the connection. Each runs in a savepoint, so that one that fails takes nothing of the others with
it; if the transaction is lost, all of its jobs fail. A lock of another program is waited for as long as the most
hurried job can; the others go on waiting after it. A job whose caller is gone before it began is not done. The thread
starts with the first job and opens the file then; after trouble it opens the file afresh for the next job.
"""

from __future__ import annotations

import logging
import math
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import trio

from pegboard_memory import _database as database
from pegboard_memory._trouble import StorageError, is_refused, trouble_of, unconfirmed

if TYPE_CHECKING:
    from pegboard_memory._place import Identity, Place

log = logging.getLogger("pegboard.memory")

T = TypeVar("T")

MAX_BATCH = 64
MAX_PATIENCE_S = 5.0
"""How long a lock of another program is waited for; less where the caller's deadline is nearer."""
LEAVE_S = 8.0

Connect = Callable[..., sqlite3.Connection]


@attrs.define(eq=False)
class _Job(Generic[T]):
    work: Callable[[sqlite3.Connection], T]
    give_up_at: float
    token: trio.lowlevel.TrioToken
    done: trio.Event = attrs.field(factory=trio.Event)
    abandoned: bool = False
    begun: bool = False
    value: T | None = None
    problem: Exception | None = None

    def answer(self) -> None:
        try:
            self.token.run_sync_soon(self.done.set)
        except trio.RunFinishedError:  # the host is gone, and whoever waited with it
            self.abandoned = True


@attrs.define(eq=False)
class Writer:
    """The thread that writes to one place.

    Args:
        place: where.
        connect: opens the file; `_database.connect` but in tests.
    """

    place: Place
    connect: Connect = database.connect
    _jobs: queue.SimpleQueue[_Job[Any] | None] = attrs.field(factory=queue.SimpleQueue, init=False)
    _again: list[_Job[Any]] = attrs.field(factory=list, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)
    _connection: sqlite3.Connection | None = attrs.field(default=None, init=False)
    _opened: Identity | None = attrs.field(default=None, init=False)
    _committing: bool = attrs.field(default=False, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

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
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="pegboard-memory writer", daemon=True)
            self._thread.start()
        job = _Job(work, time.monotonic() + min(patience_s, MAX_PATIENCE_S), trio.lowlevel.current_trio_token())
        self._jobs.put(job)
        try:
            with trio.move_on_after(confirm_s):
                await job.done.wait()
        except trio.Cancelled:
            self._call_off(job)
            raise
        if not job.done.is_set():
            if self._call_off(job):
                raise StorageError("slow", "the database took too long", retry="same")
            raise unconfirmed()
        if job.problem is not None:
            raise job.problem
        return job.value  # type: ignore[return-value]  # None only where T is

    async def aclose(self) -> None:
        """End the thread, after the jobs it has."""
        if self._thread is not None:
            self._jobs.put(None)
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._thread.join, LEAVE_S, limiter=trio.CapacityLimiter(1))
            self._thread = None

    def _call_off(self, job: _Job[Any]) -> bool:
        """Whether it is certain that nothing of the job is kept."""
        with self._lock:
            job.abandoned = True
            return not job.begun

    # -- in the thread

    def _begin(self, job: _Job[Any]) -> bool:
        with self._lock:
            job.begun = not job.abandoned
            return job.begun

    def _write(self) -> None:
        more = True
        while more or self._again:
            batch, more = self._next_batch(more)
            if batch:
                try:
                    self._commit(batch)
                except Exception as problem:  # noqa: BLE001 - whoever waits has to be answered, whatever broke
                    batch = self._fail(batch, problem)
                for job in batch:
                    job.answer()
        self._close()

    def _next_batch(self, more: bool) -> tuple[list[_Job[Any]], bool]:
        """The jobs that wait now, at least one; and whether there may be more."""
        batch, self._again = [job for job in self._again if not job.abandoned], []
        while more and len(batch) < MAX_BATCH:
            try:
                job = self._jobs.get(block=not batch)
            except queue.Empty:
                break
            if job is None:
                return batch, False
            if not job.abandoned:
                batch.append(job)
        return batch, more

    def _commit(self, batch: list[_Job[Any]]) -> None:
        hurry_s = min(job.give_up_at for job in batch) - time.monotonic()
        connection = self._ready(max(0.0, hurry_s))
        connection.execute("BEGIN IMMEDIATE")
        for job in filter(self._begin, batch):
            self._do(connection, job)
        self._committing = True
        connection.execute("COMMIT")
        self._committing = False
        if any(isinstance(job.problem, StorageError) for job in batch):
            self._close()  # what was wrong with the file may be repaired by the next job

    def _do(self, connection: sqlite3.Connection, job: _Job[Any]) -> None:
        connection.execute("SAVEPOINT job")
        try:
            job.value = job.work(connection)
        except Exception as problem:
            if not connection.in_transaction:
                raise
            job.problem = _explained(problem)
            connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")

    def _ready(self, patience_s: float) -> sqlite3.Connection:
        """The connection, to the file that is there now."""
        identity = self.place.look()
        if self._connection is not None and identity != self._opened:
            self._close()
        if self._connection is None:
            if identity is None:
                self.place.make()
                identity = self.place.look()
            self.place.keep()
            self._connection = self.connect(self.place.path)
            self._opened = identity
            self._connection.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
            database.prepare(self._connection)
        self._connection.execute(f"PRAGMA busy_timeout = {round(patience_s * 1000)}")
        return self._connection

    def _fail(self, batch: list[_Job[Any]], problem: Exception) -> list[_Job[Any]]:
        """Give the jobs their problem, but for those that can wait longer for a lock; the ones to be answered."""
        lost = self._committing and not is_refused(problem)
        self._committing = False
        explained = _explained(problem)
        if lost:
            explained = unconfirmed()
            explained.__cause__ = problem
        self._close()
        locked = isinstance(explained, StorageError) and explained.reason == "locked"
        now = time.monotonic()
        self._again = [job for job in batch if locked and job.problem is None and job.give_up_at > now]
        with self._lock:
            for job in self._again:
                job.begun = False
        failed = [job for job in batch if job not in self._again]
        for job in failed:
            job.problem = job.problem or explained
        return failed

    def _close(self) -> None:
        connection, self._connection, self._opened = self._connection, None, None
        if connection is not None:
            try:
                connection.close()  # rolls back what is open
            except sqlite3.Error:
                log.exception("the database of memories could not be closed")


def _explained(problem: Exception) -> Exception:
    if isinstance(problem, (sqlite3.Error, OSError)):
        trouble = trouble_of(problem)
        trouble.__cause__ = problem
        return trouble
    return problem
