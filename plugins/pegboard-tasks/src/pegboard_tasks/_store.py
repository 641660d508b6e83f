"""The store of a host: which database it is, and what a caller is told when that fails."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import trio

from pegboard import ErrorCode, Retry, ToolError
from pegboard.config import get_logger, user_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from sqlalchemy import Connection

    from pegboard import CallContext

T = TypeVar("T")

ANSWER_SHARE = 0.8
"""How much of the time that a call has left is spent waiting for the database."""

log = get_logger("pegboard.tool")
notice = logging.getLogger("pegboard.notice")  # what a person reads without looking for it


class Database(Protocol):
    """Where tasks are: an operation in, its value out, all or nothing of it done."""

    async def read(self, operation: Callable[[Connection], T], wait_s: float) -> T:
        """Run an operation that changes nothing, on one state of the database."""
        ...

    async def write(self, operation: Callable[[Connection], T], wait_s: float, confirm_s: float) -> T:
        """Run an operation in a transaction; returns once it is committed.

        It is called off after `wait_s` seconds, if it can be; after `confirm_s` nobody waits for its commit.
        """
        ...

    @property
    def is_open(self) -> bool:
        """Whether the first call has opened it."""
        ...

    async def open(self, wait_s: float) -> None:
        """Open it and bring its tables up to date; a lock of somebody else is waited for `wait_s` seconds."""
        ...

    async def close(self) -> bool:
        """Give back everything; whether that came to an end in time."""
        ...


class TaskStore:
    """The tasks of all users; every operation says whose it means. Its database is made with the first one.

    Args:
        url: as in the settings.
        wait_s: how long a call waits for the database, in seconds; less if its deadline is nearer.
    """

    def __init__(self, url: str | None, wait_s: float) -> None:
        self._url = url
        self._wait_s = wait_s
        self._made: Database | None = None
        self._said: str | None = None

    @property
    def database(self) -> Database:
        """Where the tasks are."""
        if self._made is None:
            self._made = make_database(self._url)
        return self._made

    async def close(self) -> None:
        """Give back what was opened."""
        if self._made is not None and not await self._made.close():
            log.warning("the task database is still at work; what it does ends with the process")

    async def read(self, context: CallContext, doing: str, operation: Callable[[Connection], T]) -> T:
        """Run an operation that changes nothing.

        Args:
            context: of the call, for the log.
            doing: what fails if it fails: "list tasks".
            operation: runs in a thread, inside a transaction.

        Raises:
            ToolError: UPSTREAM_ERROR: the database failed, or did not answer in time, and nothing was done; TIMEOUT: it
                was not opened in time; or what the operation raised.
        """

        async def read() -> T:
            return await self.database.read(operation, self._patience_s())

        return await self._run(context, doing, read)

    async def write(self, context: CallContext, doing: str, operation: Callable[[Connection], T]) -> T:
        """Run an operation and return when it is on the disk; arguments and errors as of `read`.

        Raises:
            ToolError: OUTCOME_UNKNOWN: it was sent, and not confirmed.
        """

        async def write() -> T:
            return await self.database.write(operation, self._patience_s(), _left_s())

        return await self._run(context, doing, write)

    def _note(self, problem: Exception) -> None:
        """Tell whoever runs the host why: once, until the database is well again or fails otherwise."""
        why = _cause_of(problem)
        if why != self._said:
            self._said = why
            notice.warning("tasks cannot be kept or read: %s; pegboard doctor may say how to repair it", why)

    def _patience_s(self) -> float:
        return min(self._wait_s, _left_s())

    async def _run(self, context: CallContext, doing: str, run: Callable[[], Awaitable[T]]) -> T:
        from pegboard.group_commit import UnavailableError
        from pegboard_tasks._threads import OPEN_S
        from pegboard_tasks._wording import unknown

        async def ready() -> None:
            await self.database.open(self._patience_s())

        try:
            if not self.database.is_open:
                await context.prepare(ready, timeout_s=OPEN_S)
            answer = await run()
        except Exception as problem:
            if isinstance(problem, ToolError) or not _is_the_databases(problem):
                raise
            context.log.exception("failed to %s", doing)
            self._note(problem)
            if isinstance(problem, UnavailableError) and problem.may_have_run:
                raise ToolError(ErrorCode.OUTCOME_UNKNOWN, unknown(doing)) from None
            raise ToolError(
                ErrorCode.UPSTREAM_ERROR, f"Failed to {doing}", executed=False, retry=Retry.SAME.value
            ) from None
        self._said = None
        return answer


def _left_s() -> float:
    """How long a caller may wait for the database: a part of what its deadline leaves is for the answer."""
    return max(0.0, (trio.current_effective_deadline() - trio.current_time()) * ANSWER_SHARE)


def _cause_of(problem: Exception) -> str:
    """Why the database failed, for whoever runs the host; what a driver says stands in the log of the call."""
    from pegboard.group_commit import UnavailableError
    from pegboard.sqlite_files import trouble_of
    from pegboard_tasks._migrating import NewerDatabaseError

    below: BaseException | None = problem
    while below is not None:  # to what SQLite said first: it drops the transaction, and what follows fails by that
        if (trouble := trouble_of(below)) is not None:
            return f"the database {trouble.words}"
        below = getattr(below, "orig", None) or below.__cause__ or below.__context__
    if isinstance(problem, OSError):
        return f"the database cannot be opened: {problem.strerror or type(problem).__name__}"
    if isinstance(problem, (UnavailableError, NewerDatabaseError)):
        return str(problem)
    return "the database failed"


def _is_the_databases(problem: Exception) -> bool:
    """Whether an exception is the database's fault, and not a mistake of this package."""
    import sqlite3

    from sqlalchemy.exc import SQLAlchemyError

    from pegboard.group_commit import UnavailableError
    from pegboard_tasks._migrating import NewerDatabaseError

    return isinstance(problem, (UnavailableError, SQLAlchemyError, NewerDatabaseError, sqlite3.Error, OSError))


@contextlib.asynccontextmanager
async def open_store(url: str | None, wait_s: float) -> AsyncIterator[TaskStore]:
    """The store as long as the block; its database is opened by the first call and closed at the end."""
    store = TaskStore(url, wait_s)
    try:
        yield store
    finally:
        with trio.CancelScope(shield=True):
            await store.close()


def make_database(url: str | None) -> Database:
    """The database of a URL; None for the file in the user's data folder. Opens nothing."""
    if url is not None and not url.startswith("sqlite:"):
        from pegboard_tasks._postgresql import PostgresDatabase

        return PostgresDatabase(url)
    from pegboard_tasks._sqlite import SqliteDatabase

    return SqliteDatabase(path_of(url), make_folder=url is None)


def path_of(url: str | None) -> Path:
    """The file of a `sqlite:///` URL; relative ones start at the working directory."""
    if url is not None:
        return Path(url.removeprefix("sqlite:///")).absolute()
    return user_folder("data") / "tasks.db"
