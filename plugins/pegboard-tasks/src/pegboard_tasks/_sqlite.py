"""Tasks in an SQLite file: one writing thread, a few reading ones, WAL between them.

Every commit is synced (`synchronous=FULL`): what a caller was told survives the end of the process and a loss of power,
as far as the disk keeps its word. The group commit pays for it.

A file that this host has opened and that is gone since, or is another one now, is not written to through the handle
that is left: what is gone is an error until it is there again, what is another is opened anew. An empty file counts as
there. Only a host that has never seen the file makes it.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import trio

from pegboard.config import keep_private, open_private, private_folder
from pegboard.group_commit import GroupCommit, UnavailableError
from pegboard.sqlite_files import identity_of, is_busy
from pegboard_tasks._threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Engine

T = TypeVar("T")

READERS = 4
SLICE_S = 0.02
"""How long SQLite itself waits for a lock; after that it is asked again, as long as somebody waits."""
PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL")


class SqliteDatabase:
    """The tasks of one file. Made in the loop, opened by the first call.

    Args:
        path: the file.
        make_folder: whether its folder is made where it is not there.
    """

    def __init__(self, path: Path, *, make_folder: bool = False) -> None:
        self._file = SqliteFile(path, make_folder=make_folder)
        self._threads = Threads(READERS)
        self._writer = GroupCommit(self._file, "pegboard tasks")

    async def read(self, operation: Callable[[Connection], T], wait_s: float) -> T:
        """Run an operation that changes nothing, on one state of the database."""
        until = time.monotonic() + wait_s
        return await self._threads.run(lambda: self._file.read(operation, until), wait_s)

    async def write(self, operation: Callable[[Connection], T], wait_s: float, confirm_s: float = math.inf) -> T:
        """Run an operation in a transaction of the writing thread."""
        return await self._writer.write(operation, wait_s, confirm_s)

    @property
    def is_open(self) -> bool:
        """Whether calls find their tables ready."""
        return self._file.is_open

    async def open(self, wait_s: float) -> None:
        """Import what speaks to the file, open it, and bring its tables up to date."""
        until = time.monotonic() + wait_s
        await self._threads.run(lambda: self._file.open(until), math.inf)

    async def close(self) -> bool:
        """End the threads and close the file; whether all of them ended in time."""
        in_time = await self._writer.close() and await self._threads.close()
        await trio.to_thread.run_sync(self._file.close)
        return in_time


class SqliteFile:
    """The file and its connections; used by threads only."""

    def __init__(self, path: Path, *, make_folder: bool = False) -> None:
        self._path = path
        self._make_folder = make_folder
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._identity: tuple[int, int] | None = None
        self._writer: Connection | None = None
        self._was_there = identity_of(self._path) is not None

    # -- opening

    @property
    def is_open(self) -> bool:
        """Whether it was opened; it may be gone, or be another one since."""
        return self._engine is not None

    def open(self, until: float) -> None:
        """Open the file, and migrate it; asked again while it is locked.

        Args:
            until: when to give up waiting for a lock, in seconds of `time.monotonic`.
        """
        from pegboard_tasks import _operations  # noqa: F401 - a quarter of a second, which no call pays for

        self._again_while_locked(self._ready, until)

    def _ready(self) -> Engine:
        """The engine of the file as it is now; opened, and migrated, where that is not so yet.

        Raises:
            UnavailableError: the file is gone.
            NewerDatabaseError: a later version made it.
        """
        with self._lock:
            if self._engine is not None and self._identity != identity_of(self._path):
                self._forget()
            if self._engine is None:
                self._make_file()
                engine = self._make_engine()
                try:
                    self._migrate(engine)
                except BaseException:
                    engine.dispose()
                    raise
                self._engine, self._identity = engine, identity_of(self._path)
            return self._engine

    def _make_file(self) -> None:
        if identity_of(self._path) is not None:
            self._was_there = True
            for end in ("", "-wal", "-shm", "-journal"):
                keep_private(self._path.with_name(self._path.name + end), is_own=self._make_folder)
            return
        if self._was_there:
            raise UnavailableError("the file is gone; put it back, or an empty one in its place")
        if self._make_folder:
            private_folder(self._path.parent)
        os.close(open_private(self._path, os.O_RDWR))  # and so are the files that SQLite puts beside it
        self._was_there = True

    def _make_engine(self) -> Engine:
        from sqlalchemy import QueuePool, create_engine

        return create_engine(
            "sqlite://", creator=self._connect, poolclass=QueuePool, pool_size=READERS + 1, hide_parameters=True
        )

    def _connect(self) -> sqlite3.Connection:
        """A connection whose transactions are begun by us: `isolation_level=None` turns off those of the driver."""
        address = f"file:{quote(str(self._path.absolute()))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=SLICE_S, isolation_level=None, check_same_thread=False)
        try:
            for pragma in PRAGMAS:
                connection.execute(pragma).close()
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, engine: Engine) -> None:
        from pegboard_tasks import _migrating as migrating

        with engine.connect() as connection:
            if migrating.revision_of(connection) == migrating.HEAD:
                return
            connection.rollback()
            self.driver_of(connection).execute("BEGIN IMMEDIATE")
            with connection.begin():
                migrating.upgrade(connection)

    def _forget(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
        self._engine = self._identity = None

    def close(self) -> None:
        """Close what is open, but for the writer's connection."""
        with self._lock:
            self._forget()

    # -- using

    def read(self, operation: Callable[[Connection], T], until: float) -> T:
        """Run the operation on one state of the file; asked again while the file is locked.

        Args:
            operation: it changes nothing.
            until: when to give up, in seconds of `time.monotonic`.
        """
        return self._again_while_locked(lambda: self._read_once(operation), until)

    def _again_while_locked(self, work: Callable[[], T], until: float) -> T:
        while True:
            try:
                return work()
            except Exception as problem:
                if not is_busy(problem) or time.monotonic() > until:
                    raise

    def _read_once(self, operation: Callable[[Connection], T]) -> T:
        engine = self._ready()
        with engine.connect() as connection:
            try:
                self.driver_of(connection).execute("BEGIN")
                with connection.begin():
                    return operation(connection)
            except BaseException:
                connection.invalidate()  # whatever is wrong with it, the next one is new
                raise
            finally:
                if engine is not self._engine:
                    connection.invalidate()  # nobody closes the pool it would go back to

    def begin_writing(self) -> Connection:
        """The writer's connection, inside a transaction that holds the write lock."""
        engine = self._ready()
        if self._writer is not None and self._writer.engine is not engine:
            self.drop_writer()
        if self._writer is None:
            self._writer = engine.connect()
            self._writer.invalidate()  # what lay in the pool may be of a time when the file could only be read
        self.driver_of(self._writer).execute("BEGIN IMMEDIATE")
        self._writer.begin()
        return self._writer

    @staticmethod
    def driver_of(connection: Connection) -> Any:
        """The connection of `sqlite3` under that of SQLAlchemy."""
        return connection.connection.driver_connection

    def commit(self, connection: Connection) -> None:
        """End the transaction of `begin_writing`."""
        connection.commit()

    def drop_writer(self) -> None:
        """Close the writer's connection, and with it what was not committed."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.invalidate()
            writer.close()
