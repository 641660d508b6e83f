"""Where tasks of clients are kept: in this process, or in a file that the processes of one user share.

A store keeps what can be written down - whose a task is, how far it is, what came of it - for as long as the client was
promised, and no more tasks than its bounds say. What runs is the process's own (`server.tasks`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import trio

from pegboard.config import open_private, private_folder, user_folder

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TASKS = 1_000
"""Tasks that one store keeps, ended ones included."""
MAX_TASKS_OF_ONE = 100
"""Those of one caller, so that none takes all the places."""
FILE = "tasks.sqlite"
TABLE = """CREATE TABLE IF NOT EXISTS tasks
(id TEXT PRIMARY KEY, owner TEXT NOT NULL, until_s REAL NOT NULL, record TEXT NOT NULL) WITHOUT ROWID"""


@attrs.frozen(kw_only=True)
class TaskRecord:
    """One task as it is written down.

    Args:
        id: of this task alone.
        owner: who made the call, as a text; nobody else hears of the task.
        status: `working`, `completed`, `failed` or `cancelled`; one that asks something is working.
        created_s: when it was made, in seconds since the epoch.
        updated_s: when its status changed last.
        until_s: when it may be forgotten.
        alive_until_s: of a working one, when its process is to be taken for gone unless it says anew that it is there;
            None: it does not say that.
        message: what a person may read about it.
        result: of a completed one.
        error: of a failed one, as JSON-RPC has it.
        tool: whose call it is; None: nobody knows.

    .. versionadded:: 0.1
    """

    id: str
    owner: str
    status: str
    created_s: float
    updated_s: float
    until_s: float
    alive_until_s: float | None = None
    message: str | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    tool: str | None = None


class TaskStore(Protocol):
    """Keeps tasks. A store for several machines has the same three methods.

    .. versionadded:: 0.1
    """

    async def put(self, record: TaskRecord) -> bool:
        """Keep a task, or what became of it; False: it is new, and there is no place for it."""

    async def get(self, id_: str) -> TaskRecord | None:
        """A task; None: there is none, or its time is over."""

    async def aclose(self) -> None:
        """Serving ends."""


class MemoryTasks:
    """Tasks of this process, until it ends. How long each is kept counts by a clock that nobody sets.

    Args:
        clock: seconds since the epoch, by which the records count.
        elapsed: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.time, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._elapsed = elapsed
        self._kept: dict[str, TaskRecord] = {}
        self._over_at: dict[str, float] = {}

    async def put(self, record: TaskRecord) -> bool:
        """Keep a task."""
        await trio.lowlevel.checkpoint()
        now = self._elapsed()
        if record.id not in self._kept:
            for id_ in [id_ for id_, over_at in self._over_at.items() if over_at <= now]:
                del self._kept[id_], self._over_at[id_]
            own = sum(1 for one in self._kept.values() if one.owner == record.owner)
            if len(self._kept) >= MAX_TASKS or own >= MAX_TASKS_OF_ONE:
                return False
            self._over_at[record.id] = now + record.until_s - self._clock()
        self._kept[record.id] = record
        return True

    async def get(self, id_: str) -> TaskRecord | None:
        """A task."""
        await trio.lowlevel.checkpoint()
        return self._kept[id_] if self._over_at.get(id_, 0.0) > self._elapsed() else None

    async def aclose(self) -> None:
        """Nothing is left open."""


class SqliteTasks:
    """Tasks of all processes of one user, in a file with 0600. It is opened when the first task is made.

    Args:
        file: its path; None: in the user's state folder.
        clock: seconds since the epoch.
    """

    def __init__(self, file: str | os.PathLike[str] | None = None, clock: Callable[[], float] = time.time) -> None:
        self._file = Path(file) if file is not None else user_folder("state") / FILE
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._turn = trio.CapacityLimiter(1)  # a connection is of one thread at a time

    async def put(self, record: TaskRecord) -> bool:
        """Keep a task."""
        return bool(await self._in_thread(lambda db: self._put(db, record)))

    async def get(self, id_: str) -> TaskRecord | None:
        """A task."""
        row = await self._in_thread(lambda db: self._get(db, id_))
        return None if row is None else TaskRecord(**json.loads(row))

    async def aclose(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await trio.to_thread.run_sync(connection.close, limiter=self._turn)

    async def _in_thread(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        def transact() -> Any:
            connection = self._open()
            with connection:  # commits, or rolls back
                connection.execute("BEGIN IMMEDIATE")
                return work(connection)

        return await trio.to_thread.run_sync(transact, limiter=self._turn)

    def _put(self, db: sqlite3.Connection, record: TaskRecord) -> bool:
        if db.execute("SELECT 1 FROM tasks WHERE id = ?", (record.id,)).fetchone() is None:
            db.execute("DELETE FROM tasks WHERE until_s <= ?", (self._clock(),))
            (total, own) = db.execute(
                "SELECT count(*), count(nullif(owner = ?, 0)) FROM tasks", (record.owner,)
            ).fetchone()
            if total >= MAX_TASKS or own >= MAX_TASKS_OF_ONE:
                return False
        db.execute(
            "INSERT OR REPLACE INTO tasks (id, owner, until_s, record) VALUES (?, ?, ?, ?)",
            (record.id, record.owner, record.until_s, json.dumps(attrs.asdict(record))),
        )
        return True

    def _get(self, db: sqlite3.Connection, id_: str) -> str | None:
        row = db.execute("SELECT record FROM tasks WHERE id = ? AND until_s > ?", (id_, self._clock())).fetchone()
        return None if row is None else str(row[0])

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            private_folder(self._file.parent)
            os.close(open_private(self._file, os.O_RDWR, is_own=True))
            connection = sqlite3.connect(self._file, timeout=5.0, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute(TABLE)
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
                raise
            self._connection = connection
        return self._connection


STORES: dict[str, Callable[[], TaskStore]] = {"memory": MemoryTasks, "sqlite": SqliteTasks}
"""By the word of the configuration."""
