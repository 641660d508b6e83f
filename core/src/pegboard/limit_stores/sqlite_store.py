"""A limit store in one SQLite file, for all processes of one user on one machine.

Every answer is one transaction, which holds the file's write lock from its beginning: two processes never count at the
same time. A thread of the store has the connection and does one transaction after the other, so that no lock and no
slow disk ever holds the loop, and what a process asks is answered in the order it asked.

Places are leases. The thread renews those of this process; those of a process that was killed end by themselves. Who
waits for a place has a row too, which says whose turn it is, whatever process they are of.

Time is the file's own. The wall clock jumps, and all processes since the last start of the machine see one clock that
does not: the file's time goes on by the latter while the machine is up, else by the former, and never goes back. So a
clock that is set forward or back neither lifts a limit nor locks anybody out.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import sys
import threading
import time
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from pegboard._values import Shown
from pegboard.config import open_private, private_folder, write_hint, write_problem
from pegboard.errors import PluginError
from pegboard.guards.rate import next_of, wait_of
from pegboard.sqlite_files import connect, identity_of, state_of, transaction, trouble_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[sqlite3.Connection, float], Any]
    """What one transaction does, given the connection and the file's time."""

LOCKED_S = 5.0
"""How long a lock of another process is waited for, in seconds. Ours hold it for far below a millisecond."""
ASK_AGAIN_S = 0.05
"""When whoever waits for a place asks again, in seconds."""
TURN_S = 1.0
"""How long one that no longer asks keeps its turn, in seconds: many times the pause, for a machine that is busy."""
BEATS = 3
"""How often a place is renewed in the time after which it would end."""
VERSION = 1
TABLES = """
CREATE TABLE clock (now REAL NOT NULL, wall REAL NOT NULL, boot TEXT NOT NULL, since_boot REAL NOT NULL);
CREATE TABLE expected (key TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX expected_at ON expected (at);
CREATE TABLE places (id TEXT PRIMARY KEY, key TEXT NOT NULL, ends_at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE turns (number INTEGER PRIMARY KEY, key TEXT NOT NULL, owner TEXT NOT NULL, ends_at REAL NOT NULL);
"""
FIXES = {
    "locked": "end the program that has it open",
    "read_only": "let its folder and the file be writable by you",
    "full": "make room",
    "disk": "make room on its disk, or look at it",
    "unavailable": "let its folder and the file be writable by you",
    "damaged": "move it away; limits are counted anew then",
}
BROKEN = ("is damaged", FIXES["damaged"])


class Reading(NamedTuple):
    """What the clocks of this machine say."""

    wall: float
    """Seconds since the epoch."""
    boot: str
    """Which start of the machine it is; empty where that cannot be known."""
    since_boot: float
    """Seconds since then."""


def read_clocks() -> Reading:
    """The clocks as they are now. Linux alone has one that goes on in a machine's sleep, and a name for its start."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            return Reading(time.time(), boot, time.clock_gettime(time.CLOCK_BOOTTIME))
    return Reading(time.time(), "", 0.0)


@attrs.define(eq=False, repr=False)
class Job(Shown):
    """One transaction that a task waits for."""

    work: Work
    undo: Callable[[Any], object]
    """Gives back what was answered."""
    done: Callable[[Any], object] | None
    """What the thread does with the answer, once it holds."""
    wake: Callable[[], object]
    is_dropped: bool = False
    answer: Any = None
    problem: Exception | None = None


class SqliteStore:
    """Counts in a file. It is opened when it is first asked, and again after `aclose`.

    Args:
        file: its path; it is made, with 0600, where it is not there.
        clocks: reads the clocks of the machine.
    """

    def __init__(self, file: str, clocks: Callable[[], Reading] = read_clocks) -> None:
        self.where = file
        self._clocks = clocks
        self._owner = os.urandom(8).hex()
        self._count = 0
        self._jobs: SimpleQueue[Job | Callable[[], object] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        # Of this process, by id: the key, and for how long each is taken. It is the thread's.
        self._places: dict[str, tuple[str, float]] = {}

    # -- what a guard asks

    async def take(self, key: str, count: int, period_s: float) -> float:
        """Take one of `count` calls in every `period_s` seconds."""

        def undo(wait_s: float) -> None:
            if not wait_s:
                self._try(partial(_put_back, key=key, interval_s=period_s / count))

        wait_s: float = await self._ask(partial(_take, key=key, count=count, period_s=period_s), undo)
        return wait_s

    async def claim(self, key: str, ttl_s: float) -> float:
        """Take what nobody else can take for `ttl_s` seconds."""
        return await self.take(key, 1, ttl_s)

    async def lease(self, key: str, places: int, ttl_s: float) -> Callable[[], object] | float:
        """Take one of `places`."""
        self._count += 1
        place = f"{self._owner}-{self._count}"
        give_back = partial(self._give_back, place)
        undo = lambda taken: give_back()  # noqa: E731
        hold = partial(self._hold, place, key, ttl_s)
        work = partial(self._lease, place=place, key=key, places=places, ttl_s=ttl_s)
        taken: bool = await self._ask(work, undo, hold)
        return partial(self._jobs.put, give_back) if taken else ASK_AGAIN_S

    def peek_take(self, key: str, count: int, period_s: float) -> float | None:
        """What `take` would answer."""
        return self._look(lambda connection, now: max(_wait(connection, now, key, count, period_s), 0.0))

    def peek_claim(self, key: str, ttl_s: float) -> float | None:
        """What `claim` would answer."""
        return self.peek_take(key, 1, ttl_s)

    def peek_lease(self, key: str, places: int, ttl_s: float) -> float | None:
        """What `lease` would answer; 0: there is a place."""
        return self._look(lambda connection, now: 0.0 if _taken(connection, now, key) < places else ASK_AGAIN_S)

    async def aclose(self) -> None:
        """Give back what this process has, and close the file."""
        import trio

        if self._thread is not None:
            self._jobs.put(None)
            await trio.to_thread.run_sync(self._thread.join, abandon_on_cancel=True)
            self._thread = None

    def find_problem(self) -> PluginError | None:
        """What would keep the file from being counted in; nothing is changed for that."""
        path = Path(self.where)
        try:
            if not path.exists():
                problem = write_problem(path)
                return None if problem is None else self._explained(problem)
            with contextlib.closing(self._connect("rw", timeout=LOCKED_S)) as connection:
                _check_version(connection)
                connection.execute("BEGIN IMMEDIATE")
                self._time_of(connection)
                connection.execute("ROLLBACK")
        except (OSError, sqlite3.Error, BrokenError) as problem:
            return self._explained(problem)
        return None

    # -- the task's side

    async def _ask(self, work: Work, undo: Callable[[Any], object], done: Callable[[Any], object] | None = None) -> Any:
        """Have the thread do a transaction; what was taken for a task that is cancelled meanwhile is given back."""
        import trio

        task, token = trio.lowlevel.current_task(), trio.lowlevel.current_trio_token()

        def resume() -> None:  # in the loop, as `drop`: one of them comes first
            if not job.is_dropped:
                trio.lowlevel.reschedule(task)
            elif job.problem is None:
                self._jobs.put(partial(job.undo, job.answer))

        def drop(_: object) -> trio.lowlevel.Abort:
            job.is_dropped = True
            return trio.lowlevel.Abort.SUCCEEDED

        job = Job(work, undo, done, partial(token.run_sync_soon, resume))
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._serve, name="pegboard-limits", daemon=True)
            self._thread.start()
        self._jobs.put(job)
        await trio.lowlevel.wait_task_rescheduled(drop)
        if job.problem is not None:
            raise job.problem
        return job.answer

    # -- the thread's side

    def _serve(self) -> None:
        """Do what is asked, in the order it was asked, and renew the places of this process meanwhile."""
        renewed_at = time.monotonic()
        while True:
            pause_s = min((ttl_s for _, ttl_s in self._places.values()), default=math.inf) / BEATS
            left_s = renewed_at + pause_s - time.monotonic()
            if left_s <= 0:  # though others ask all the time
                self._try(self._renew)
                renewed_at = time.monotonic()
                continue
            try:
                job = self._jobs.get(timeout=None if left_s == math.inf else left_s)
            except Empty:
                continue
            if job is None:
                break
            if not isinstance(job, Job):
                job()
            elif not job.is_dropped:
                self._answer(job)
        if self._places:
            self._give_back(*self._places)
        self._close_file()

    def _answer(self, job: Job) -> None:
        try:
            job.answer = self._transact(job.work)
            if job.done is not None:
                job.done(job.answer)
        except Exception as problem:  # noqa: BLE001 - raised again in the task
            job.problem = problem
        try:
            job.wake()
        except RuntimeError:  # trio.RunFinishedError: the loop ended, and nobody waits
            if job.problem is None:
                job.undo(job.answer)

    def _try(self, work: Work) -> None:
        """Do what nobody waits for."""
        with contextlib.suppress(Exception):
            self._transact(work)

    def _transact(self, work: Work) -> Any:
        """Do the work in one transaction.

        Raises:
            PluginError: the file cannot be counted in; its message says why.
        """
        try:
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            now = self._time_of(connection, note=True)
            answer = work(connection, now)
            connection.execute("COMMIT")
        except BaseException as problem:
            self._close_file()  # which rolls back; the next one looks at the file anew
            if isinstance(problem, (OSError, sqlite3.Error, BrokenError)):
                raise self._explained(problem) from None
            raise
        return answer

    def _open(self) -> sqlite3.Connection:
        path = Path(self.where)
        if self._connection is not None:
            if identity_of(path) == self._opened:
                return self._connection
            self._close_file()  # the file was moved away, and what is counted in it nobody else sees
        private_folder(path.parent)
        number = open_private(path, os.O_RDWR, is_own=True)
        try:
            found = os.fstat(number)
            self._opened = found.st_dev, found.st_ino
        finally:
            os.close(number)
        self._connection = connection = self._connect("rw", timeout=LOCKED_S)
        if _check_version(connection) == 0:
            _make_tables(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may lose the last calls, and breaks nothing
        return connection

    def _connect(self, mode: str, *, timeout: float) -> sqlite3.Connection:
        return connect(Path(self.where), mode, timeout_s=timeout)

    def _close_file(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _look(self, work: Callable[[sqlite3.Connection, float], float]) -> float | None:
        """What can be read without waiting for anybody; a reader of a file in WAL mode waits for no writer."""
        if not Path(self.where).exists():
            return 0.0
        try:
            with contextlib.closing(self._connect("ro", timeout=0)) as connection:
                _check_version(connection)
                return work(connection, self._time_of(connection))
        except (OSError, sqlite3.Error, BrokenError):
            return None

    def _time_of(self, connection: sqlite3.Connection, *, note: bool = False) -> float:
        """The file's time, in seconds since it was made."""
        here = self._clocks()
        row = connection.execute("SELECT now, wall, boot, since_boot FROM clock").fetchone()
        if row is None:
            if note:
                connection.execute("INSERT INTO clock VALUES (0.0, ?, ?, ?)", here)
            return 0.0
        now, wall, boot, since_boot = row
        is_up = here.boot and here.boot == boot
        passed_s = here.since_boot - _number(since_boot) if is_up else here.wall - _number(wall)
        now = _number(now) + max(passed_s, 0.0)
        if note:
            connection.execute("UPDATE clock SET now = ?, wall = ?, boot = ?, since_boot = ?", (now, *here))
        return now

    def _explained(self, problem: Exception) -> PluginError:
        what, fix = BROKEN
        if isinstance(problem, sqlite3.Error):
            trouble = trouble_of(problem)
            if trouble is not None and trouble.reason in FIXES:
                what, fix = trouble.words, FIXES[trouble.reason]
        elif isinstance(problem, OSError):
            why = (problem.strerror or type(problem).__name__).lower()
            what, fix = f"cannot be opened: {why}", write_hint(problem, FIXES["unavailable"])
        elif problem.args:
            what, fix = problem.args
        return PluginError(f"the file {self.where} {what}", hint=fix)

    # -- places

    def _lease(
        self, connection: sqlite3.Connection, now: float, *, place: str, key: str, places: int, ttl_s: float
    ) -> bool:
        # A place is a lease: who holds it renews it, and what nobody renews ends by itself (Gray and Cheriton,
        # "Leases", 1989). Who waits has a number, and the lowest goes first, as with a ticket lock.
        connection.execute("DELETE FROM places WHERE ends_at <= ?", (now,))
        connection.execute("DELETE FROM turns WHERE ends_at <= ?", (now,))
        mine = connection.execute("SELECT number FROM turns WHERE key = ? AND owner = ?", (key, self._owner)).fetchone()
        number = mine[0] if mine else None
        before = "SELECT count(*) FROM turns WHERE key = ? AND (? IS NULL OR number < ?)"
        (ahead,) = connection.execute(before, (key, number, number)).fetchone()
        if _taken(connection, now, key) + ahead < places:
            connection.execute("DELETE FROM turns WHERE number = ?", (number,))
            connection.execute("INSERT INTO places VALUES (?, ?, ?)", (place, key, now + ttl_s))
            return True
        connection.execute("REPLACE INTO turns VALUES (?, ?, ?, ?)", (number, key, self._owner, now + TURN_S))
        return False

    def _hold(self, place: str, key: str, ttl_s: float, taken: bool) -> None:
        if taken:
            self._places[place] = key, ttl_s

    def _renew(self, connection: sqlite3.Connection, now: float) -> None:
        # One that ended meanwhile, as in a process that was stopped, is put back: its call does run.
        rows = [(place, key, now + ttl_s) for place, (key, ttl_s) in self._places.items()]
        connection.executemany("REPLACE INTO places VALUES (?, ?, ?)", rows)

    def _give_back(self, *places: str) -> None:
        for place in places:
            self._places.pop(place, None)  # even where the file cannot be written: they are not renewed, and end
        rows = [(place,) for place in places]
        self._try(lambda connection, now: connection.executemany("DELETE FROM places WHERE id = ?", rows))


class BrokenError(Exception):
    """The file holds what no store wrote; the arguments say what it is, and what to do."""


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = OFF")  # there is nothing to lose yet, and others wait
    deadline = time.monotonic() + LOCKED_S
    while True:
        try:
            # SQLite does not wait for a lock to change this, since two that did would wait for each other.
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    with transaction(connection):
        if _check_version(connection) == 0:  # another process may have been quicker
            for statement in filter(None, map(str.strip, TABLES.split(";"))):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _check_version(connection: sqlite3.Connection) -> int:
    """The version of the file; 0: it is new."""
    state = state_of(connection)
    if state.application or state.version > VERSION or (state.version == 0 and state.tables):
        raise BrokenError("is of a newer Pegboard, or of another program", "upgrade, or move it away")
    return state.version


def _wait(connection: sqlite3.Connection, now: float, key: str, count: int, period_s: float) -> float:
    return wait_of(_expected_at(connection, now, key, period_s), now, count, period_s)


def _expected_at(connection: sqlite3.Connection, now: float, key: str, period_s: float) -> float:
    row = connection.execute("SELECT at FROM expected WHERE key = ?", (key,)).fetchone()
    # Further away than this is only what was noted under another rule; nobody waits for longer than a period.
    return now if row is None else min(_number(row[0]), now + period_s)


def _take(connection: sqlite3.Connection, now: float, *, key: str, count: int, period_s: float) -> float:
    expected_at = _expected_at(connection, now, key, period_s)
    wait_s = wait_of(expected_at, now, count, period_s)
    if wait_s > 0:
        return wait_s
    next_at = next_of(expected_at, now, count, period_s)
    connection.execute("REPLACE INTO expected VALUES (?, ?)", (key, next_at))
    # As many are forgotten as come, so that a crowd does not fill the disk.
    connection.execute("DELETE FROM expected WHERE key IN (SELECT key FROM expected WHERE at <= ? LIMIT 2)", (now,))
    return 0.0


def _put_back(connection: sqlite3.Connection, now: float, *, key: str, interval_s: float) -> None:
    connection.execute("UPDATE expected SET at = at - ? WHERE key = ?", (interval_s, key))


def _taken(connection: sqlite3.Connection, now: float, key: str) -> int:
    (taken,) = connection.execute("SELECT count(*) FROM places WHERE key = ? AND ends_at > ?", (key, now)).fetchone()
    return int(taken)


def _number(value: Any) -> float:
    if not isinstance(value, float) or not math.isfinite(value):
        raise BrokenError(*BROKEN)
    return value
