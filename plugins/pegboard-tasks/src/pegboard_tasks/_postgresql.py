"""Tasks in a PostgreSQL database: psycopg in threads, each call one transaction on a connection of a bounded pool.

Every transaction begins by telling the server how long its statements may take; that statement also finds out whether
the connection is still alive, so that after a restart of the server no caller sees its dead connections.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, TypeVar

import trio

from pegboard.group_commit import UnavailableError
from pegboard_tasks._threads import OPEN_S, Threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection, Engine

    from pegboard_tasks._threads import Write

T = TypeVar("T")

THREADS = 8
SERVERS_SHARE = 0.75
"""How much of a caller's patience one statement may take; what is left is for the answer to arrive."""
CONNECT_ARGUMENTS = {
    "application_name": "pegboard-tasks",
    "connect_timeout": "5",
    "keepalives_idle": "30",
    "tcp_user_timeout": "20000",  # milliseconds
}
"""What a URL may say otherwise."""


class PostgresDatabase:
    """The tasks of one database. Made in the loop, connected by the first call.

    Args:
        url: `postgresql://...`, with the options of libpq behind a question mark.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._threads = Threads(THREADS)
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._is_migrated = False

    async def read(self, operation: Callable[[Connection], T], wait_s: float) -> T:
        """Run an operation that changes nothing, on one state of the database."""
        return await self._threads.run(lambda: self._read(operation, wait_s), wait_s)

    async def write(self, operation: Callable[[Connection], T], wait_s: float, confirm_s: float = math.inf) -> T:
        """Run an operation in a transaction."""
        return await self._threads.write(lambda write: self._write(operation, wait_s, write), wait_s, confirm_s)

    @property
    def is_open(self) -> bool:
        """Whether calls find their tables ready."""
        return self._is_migrated

    async def open(self, wait_s: float) -> None:
        """Import what speaks to the server, connect, and bring the tables up to date."""
        await self._threads.run(lambda: self._open(wait_s), math.inf)

    async def close(self) -> bool:
        """Wait for the threads and close the connections; whether all of them ended in time."""
        in_time = await self._threads.close()
        if self._engine is not None:
            await trio.to_thread.run_sync(self._engine.dispose)
        return in_time

    # -- in threads

    def _read(self, operation: Callable[[Connection], T], wait_s: float) -> T:
        engine = self._ready(wait_s).execution_options(isolation_level="REPEATABLE READ")
        connection = self._begin(engine, wait_s)
        with connection:
            return self._noting(lambda: operation(connection))

    def _write(self, operation: Callable[[Connection], T], wait_s: float, write: Write[T]) -> T:
        connection = self._begin(self._ready(wait_s), wait_s)
        with connection:
            value = self._noting(lambda: operation(connection))
            write.commit(connection.commit)
            return value

    def _open(self, wait_s: float) -> None:
        from pegboard_tasks import _operations  # noqa: F401 - a quarter of a second, which no call pays for

        self._ready(wait_s)

    def _noting(self, work: Callable[[], T]) -> T:
        """Run `work`; if the database fails it, look at its tables again before the next call."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            return work()
        except SQLAlchemyError:
            self._is_migrated = False
            raise

    def _begin(self, engine: Engine, wait_s: float, statement_s: float | None = None) -> Connection:
        """A connection inside a transaction whose statements end in time, and wait no longer than that for a lock.

        Args:
            engine: where to.
            wait_s: the caller's patience.
            statement_s: how long a statement may take that has its locks; if that is not the same.
        """
        from sqlalchemy.exc import DBAPIError

        statement_s = wait_s if statement_s is None else statement_s
        try:
            return self._begin_once(engine, wait_s, statement_s)
        except DBAPIError as problem:
            if not problem.connection_invalidated:
                raise
            # It was lost while it lay in the pool. SQLAlchemy has emptied the pool, so the next one is new.
            return self._begin_once(engine, wait_s, statement_s)

    def _begin_once(self, engine: Engine, wait_s: float, statement_s: float) -> Connection:
        from sqlalchemy import text

        limit = text("SELECT set_config('statement_timeout', :ms, true), set_config('lock_timeout', :lock_ms, true)")
        connection = engine.connect()
        try:
            connection.execute(limit, {"ms": _milliseconds(statement_s), "lock_ms": _milliseconds(wait_s)})
        except BaseException:
            connection.close()
            raise
        return connection

    def _ready(self, wait_s: float) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._make_engine()
            if not self._is_migrated:
                self._migrate(self._engine, wait_s)
                self._is_migrated = True
            return self._engine

    def _make_engine(self) -> Engine:
        from sqlalchemy import create_engine

        url = address_of(self._url)
        arguments = {name: value for name, value in CONNECT_ARGUMENTS.items() if name not in url.query}
        return create_engine(
            url,
            connect_args=arguments,
            pool_size=THREADS,
            max_overflow=0,
            isolation_level="READ COMMITTED",
            hide_parameters=True,
        )

    def _migrate(self, engine: Engine, wait_s: float) -> None:
        from sqlalchemy import func, select

        from pegboard_tasks import _migrating as migrating
        from pegboard_tasks._table import TASKS

        with self._begin(engine, wait_s, OPEN_S) as connection:
            if migrating.revision_of(connection) == migrating.HEAD:
                return
            # One host at a time; what it finds after it had to wait is looked at again.
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(TASKS, 0))))
            migrating.upgrade(connection)
            connection.commit()


def _milliseconds(patience_s: float) -> str:
    return str(max(1, int(patience_s * 1000 * SERVERS_SHARE)))


def address_of(url: str) -> URL:
    """The URL as SQLAlchemy reads it, for psycopg.

    Raises:
        UnavailableError: it cannot be read; nothing of it is in the text, since it may hold a password.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise UnavailableError("the URL cannot be read; signs such as @ in a password are written %40") from None
