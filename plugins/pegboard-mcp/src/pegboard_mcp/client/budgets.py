"""How much one server may take of its host: calls, questions, tokens, each in a period.

All sessions together: the budget is the server's, not a caller's. A caller's own limits are the core's
(`[tools.NAME]`, `[profiles.NAME]`). Calls are counted by each process alone. What is counted by the hour and by the day
is kept in a file that all processes of the user share, or a new start would be a new day; it is asked about before a
person or a model is, so that what a file takes is nothing.
"""

from __future__ import annotations

import contextlib
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from pathlib import Path

    from pegboard_mcp.definitions import ServerDefinition

log = logging.getLogger("pegboard.mcp")

MINUTE_S, HOUR_S, DAY_S = 60.0, 3_600.0, 86_400.0
SLOTS = 60
"""Into so many parts a period is cut: what was taken comes free in steps of a sixtieth, and costs no memory."""
LOCKED_S = 2.0
"""How long another process is waited for, which counts for a millisecond."""
TABLE = """CREATE TABLE IF NOT EXISTS taken (
    key TEXT NOT NULL, slot INTEGER NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (key, slot)) WITHOUT ROWID"""


def counted_in(definition: ServerDefinition) -> Path | None:
    """Where what a server took is kept; None: it has no budget that outlasts a process, or nobody's files lie here."""
    if definition.asks_per_hour is None and definition.sampling_tokens_per_day is None:
        return None
    from pegboard import ConfigError
    from pegboard.config import user_folder

    try:
        return user_folder("state") / "budgets.sqlite"
    except ConfigError:
        return None


class Budget:
    """At most `most` in any `period_s` seconds, and never more for a sixtieth of it; None: without end."""

    def __init__(self, most: int | None, period_s: float) -> None:
        self.most = most
        self._slot_s = period_s / SLOTS
        self._taken: dict[int, int] = {}

    def take(self, amount: int = 1) -> float:
        """Take some. How long to wait where there is not so much left, in seconds; 0: it is taken."""
        if self.most is None:
            return 0.0
        import trio

        return self._take_at(trio.current_time(), amount)

    def _take_at(self, now: float, amount: int) -> float:
        assert self.most is not None
        slot = int(now / self._slot_s)
        # What lies more than a period ahead is of a clock that was set back since.
        self._taken = {at: taken for at, taken in self._taken.items() if abs(at - slot) < SLOTS + 1}
        over = sum(self._taken.values()) + amount - self.most
        if over <= 0:
            self._taken[slot] = self._taken.get(slot, 0) + amount
            return 0.0
        free = slot
        for free, taken in sorted(self._taken.items()):  # noqa: B007 - the last one that has to come free
            over -= taken
            if over <= 0:
                break
        return max((free + SLOTS + 1) * self._slot_s - now, self._slot_s)

    def give_back(self, amount: int) -> None:
        """What was taken last was not used."""
        if self._taken:
            slot = max(self._taken)
            self._taken[slot] = max(self._taken[slot] - amount, 0)


class KeptBudget(Budget):
    """A budget whose count outlasts the process.

    Args:
        most, period_s: as of `Budget`.
        file: where it is kept; None: nowhere. Where it cannot be read or written this process counts alone, and that
            is logged.
        key: whose count it is in that file.
    """

    def __init__(self, most: int | None, period_s: float, file: Path | None, key: str) -> None:
        super().__init__(most, period_s)
        self._file = file
        self._key = key

    async def take_kept(self, amount: int = 1) -> float:
        """As `take`, of what is kept."""
        if self.most is None:
            return 0.0
        if self._file is None:
            return self.take(amount)
        import time

        import trio

        work = partial(self._take_at, time.time(), amount)
        with trio.CancelScope(shield=True):  # or what was taken would be nobody's to give back
            wait_s: float = await trio.to_thread.run_sync(self._counted, self._file, work)
        return wait_s

    async def give_back_kept(self, amount: int) -> None:
        """As `give_back`, also where whoever took it was cancelled."""
        if self.most is None:
            return
        if self._file is None:
            self.give_back(amount)
            return
        import trio

        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._counted, self._file, partial(self.give_back, amount))

    def _counted(self, file: Path, work: Callable[[], Any]) -> Any:
        """What the work gives, done on what the file has; blocks."""
        import sqlite3

        from pegboard.sqlite_files import trouble_of

        try:
            with contextlib.closing(_opened(file)) as connection:
                return self._counted_in(connection, work)
        except (OSError, sqlite3.Error) as problem:
            trouble = trouble_of(problem) if isinstance(problem, sqlite3.Error) else None
            words = trouble.words if trouble is not None else "cannot be written"
            log.warning("the file of what MCP servers took %s: this process counts alone", words)
            return work()

    def _counted_in(self, connection: sqlite3.Connection, work: Callable[[], Any]) -> Any:
        from pegboard.sqlite_files import transaction

        with transaction(connection):
            connection.execute(TABLE)
            kept = connection.execute("SELECT slot, amount FROM taken WHERE key = ?", (self._key,))
            self._taken = {int(slot): int(amount) for slot, amount in kept}
            answer = work()
            connection.execute("DELETE FROM taken WHERE key = ?", (self._key,))
            rows = [(self._key, slot, amount) for slot, amount in self._taken.items() if amount]
            connection.executemany("INSERT INTO taken VALUES (?, ?, ?)", rows)
        return answer


def _opened(file: Path) -> sqlite3.Connection:
    import os

    from pegboard.config import open_private, private_folder
    from pegboard.sqlite_files import connect

    private_folder(file.parent)
    os.close(open_private(file, os.O_RDWR, is_own=True))
    return connect(file, timeout_s=LOCKED_S)
