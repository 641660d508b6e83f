"""One thread that does all the writing to an SQLite file, many writes to a commit.

SQLite has one writer at a time, and a commit that is synced costs as much for one row as for a thousand
(https://sqlite.org/faq.html#q19). Callers put jobs into a queue. The thread begins a transaction (`BEGIN IMMEDIATE`: it
has the write lock before it reads), takes every job that waits by then, runs each within a savepoint, commits, and
tells all of them at once. The cost of a commit is shared; under load the batches grow by themselves.

A failure for which SQLite gives up the whole transaction (a full disk) makes nothing of the batch happen: its jobs run
again, one to a transaction, so that each meets its own fate.

Invariants: a job is told that it is done after its commit, never before. A job that fails loses its own statements
alone. A job may be withdrawn until it is taken, and then it has not run and never will; while the database is locked no
job is taken.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs
import trio

from pegboard._values import Shown
from pegboard.sqlite_files import error_in, is_busy, is_refused

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

__all__ = ["GroupCommit", "UnavailableError", "WrittenFile"]

C = TypeVar("C")
T = TypeVar("T")

BATCH = 1000
"""The most jobs of one commit."""
CLOSE_S = 5.0
"""How long closing waits for a thread that is still at work, in seconds."""


class UnavailableError(Exception):
    """The database did not do what it was asked; the cause, where there is one, is chained.

    Args:
        message: why, for the log.
        may_have_run: whether it is unknown what became of a write.

    .. versionadded:: 0.1
    """

    def __init__(self, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run


class WrittenFile(Protocol[C]):
    """The file as the writing thread needs it; `C` is the connection that jobs are given.

    .. versionadded:: 0.1
    """

    def begin_writing(self) -> C:
        """A connection, inside a transaction that holds the write lock."""
        ...

    def driver_of(self, connection: C) -> sqlite3.Connection:
        """The connection of `sqlite3` under it: itself, or that of a toolkit."""
        ...

    def commit(self, connection: C) -> None:
        """End that transaction."""
        ...

    def drop_writer(self) -> None:
        """Close the connection, and with it what was not committed."""
        ...


@attrs.define(eq=False, repr=False)
class _Job(Shown, Generic[C]):
    """One caller's statements, and what became of them."""

    operation: Callable[[C], Any]
    loop: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)
    done: trio.Event = attrs.field(factory=trio.Event)
    value: Any = None
    problem: BaseException | None = None

    def outcome(self) -> Any:
        if self.problem is not None:
            raise self.problem
        return self.value


class GroupCommit(Generic[C]):
    """The writing thread of one file. It starts with the first job, and is ended by `close`.

    Args:
        file: what is written to.
        name: of the thread.

    .. versionadded:: 0.1
    """

    def __init__(self, file: WrittenFile[C], name: str) -> None:
        self._file = file
        self._name = name
        self._jobs: deque[_Job[C]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._singly = 0
        self._lock: BaseException | None = None  # SQLite's word for it, while somebody else holds one on the file
        self._thread: threading.Thread | None = None

    async def write(self, operation: Callable[[C], T], wait_s: float, confirm_s: float = math.inf) -> T:
        """Run the operation in a transaction and return what it returned, once that is committed.

        Args:
            operation: what to do.
            wait_s: how long the job may wait to be taken, in seconds.
            confirm_s: after so many seconds nobody waits for its commit any more.

        Raises:
            UnavailableError: the database was not to be had within `wait_s` seconds, and the operation has not run; or
                it was taken, and its commit was not confirmed (`may_have_run`).
        """
        job, until = _Job(operation), trio.current_time() + confirm_s
        self._put(job)
        try:
            with trio.move_on_after(wait_s):
                await job.done.wait()
        except trio.Cancelled:
            self._withdraw(job)
            raise
        if not job.done.is_set():
            if self._withdraw(job):
                raise UnavailableError(f"locked, or busy with other writes, for {wait_s:.3g} s") from self._lock
            with trio.move_on_at(until):  # it is being written
                await job.done.wait()
            if not job.done.is_set():
                raise UnavailableError(f"the commit was not confirmed within {confirm_s:.3g} s", may_have_run=True)
        return job.outcome()  # type: ignore[no-any-return]

    async def close(self) -> bool:
        """Write what is queued, end the thread and close its connection; whether that came in time."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        thread = self._thread
        if thread is None:
            return True
        # A thread that hangs keeps its place of a limiter: not one that others share.
        await trio.to_thread.run_sync(thread.join, CLOSE_S, limiter=trio.CapacityLimiter(1))
        return not thread.is_alive()

    # -- the queue

    def _put(self, job: _Job[C]) -> None:
        with self._changed:
            if self._closed:
                raise UnavailableError("the host is closing")
            self._jobs.append(job)
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()

    def _withdraw(self, job: _Job[C]) -> bool:
        with self._changed:
            try:
                self._jobs.remove(job)
            except ValueError:
                return False
            return True

    def _wait(self) -> bool:
        """Wait for a job; False once there is none and there will be none."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            return bool(self._jobs)

    def _take(self) -> list[_Job[C]]:
        with self._changed:
            most = 1 if self._singly else BATCH
            self._singly = max(0, self._singly - 1)
            return [self._jobs.popleft() for _ in range(min(most, len(self._jobs)))]

    def _put_back(self, jobs: list[_Job[C]]) -> None:
        """Let jobs run again, each in a transaction of its own."""
        with self._changed:
            self._jobs.extendleft(reversed(jobs))
            self._singly = len(jobs)

    # -- the thread

    def _work(self) -> None:
        while self._wait():
            try:
                connection = self._file.begin_writing()
            except Exception as problem:  # noqa: BLE001 - handed to those who wait
                if is_busy(problem) and not self._closed:
                    self._lock = problem
                    continue  # each caller knows for itself how long it waits
                self._file.drop_writer()
                self._fail(self._take(), problem, may_have_run=False)
                continue
            self._lock = None
            jobs = self._take()
            committing = False
            try:
                for job in jobs:
                    self._run(connection, job)
                committing = True
                self._file.commit(connection)
            except Exception as problem:  # noqa: BLE001 - handed to those who wait
                self._file.drop_writer()
                if committing or len(jobs) == 1:
                    self._fail(jobs, problem, may_have_run=committing and not is_refused(problem))
                else:
                    self._put_back(jobs)
            else:
                if any(error_in(job.problem) is not None for job in jobs):
                    # SQLite lets a file that it could open for reading alone begin transactions, and fails later. A
                    # connection that failed may be one of those; the next one finds the file as it is by then.
                    self._file.drop_writer()
                _tell(jobs)
        self._file.drop_writer()

    def _run(self, connection: C, job: _Job[C]) -> None:
        """Run one job inside a savepoint.

        Raises:
            Exception: what it raised, where SQLite has given up the whole transaction with it
                (https://sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction).
        """
        statements = self._file.driver_of(connection)
        job.problem = None
        statements.execute("SAVEPOINT job")
        try:
            job.value = job.operation(connection)
        except Exception as problem:
            if not statements.in_transaction:
                raise
            job.problem = problem  # its own, and raised where it is waited for
            statements.execute("ROLLBACK TO job")
        statements.execute("RELEASE job")

    def _fail(self, jobs: list[_Job[C]], problem: Exception, *, may_have_run: bool) -> None:
        for job in jobs:
            job.problem = UnavailableError("the database refused the transaction", may_have_run=may_have_run)
            job.problem.__cause__ = problem
        _tell(jobs)


def _tell(jobs: list[_Job[C]]) -> None:
    """Wake whoever waits: one turn of the loop for all of a host."""

    def wake() -> None:
        for job in jobs:
            job.done.set()

    if jobs:
        with contextlib.suppress(trio.RunFinishedError):  # then nobody waits
            jobs[0].loop.run_sync_soon(wake)
