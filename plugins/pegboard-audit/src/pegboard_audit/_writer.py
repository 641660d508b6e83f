"""The one thread of a host that writes: many calls to a commit, and no call ever waits for it.

The task of a call puts a note into a queue (`AuditWriter.record`). The first note wakes the thread; it gathers what
else comes within `GATHER_S`, and commits all of it. So a busy host commits twenty times a second, an idle one does
nothing, and a `kill -9` loses the last moment. SQLite is imported in the thread, too.

    cannot be written   the notes wait, up to `MAX_WAITING`, and are tried again every `AGAIN_S`; said once, and its end
    the host ends       what waits is written, within `CLOSE_S`; how many calls are missing is said, if they are news
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pegboard.config import get_logger
from pegboard_audit._errors import AuditError
from pegboard_audit._rows import noted
from pegboard_audit.settings import file_of

if TYPE_CHECKING:
    from pegboard import Outcome
    from pegboard_audit._file import AuditFile
    from pegboard_audit._rows import Noted
    from pegboard_audit.settings import AuditDbSettings

log = get_logger("pegboard.audit")

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
"""Rows of one commit: other processes wait for it."""


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
        # Calls: dropped by the loop, failed in the thread, and how many of both were told of.
        self._dropped = self._failed = self._counted = 0
        self._is_told = False
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
            self._dropped += 1

    def close(self) -> None:
        """Write what is left, then end the thread; blocks until both are done, for `CLOSE_S` at most."""
        self._end_at = time.monotonic() + CLOSE_S
        self._ending.set()
        self._notes.put(None)
        self._thread.join(CLOSE_S + 0.5)  # a disk that hangs holds the thread, and nobody else
        missing = self._untold() + len(self._batch) + max(self._notes.qsize() - 1, 0)
        if missing:
            why = f"{self.path} could not be written in time" if self.trouble is None else self.trouble.message
            is_news = self.trouble is None or not self._is_told
            log.log(logging.ERROR if is_news else logging.INFO, "%s missing in the audit: %s", _number(missing), why)

    # -- in the thread

    def _run(self) -> None:
        from pegboard_audit._file import AuditFile

        file = AuditFile(self._settings)
        if self._settings.fails == "closed":
            self._write(file)
            self.tried.set()
        has_more = True
        while has_more or self._batch:
            has_more = self._gather() and has_more
            if self._batch:
                self._write(file)
            if self._batch and self._is_over():
                break
        file.close()

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

    def _write(self, file: AuditFile) -> None:
        try:
            file.write(self._batch)
            self._batch = []
            self._recover()
            file.trim()
        except AuditError as problem:
            self._fail(problem)
        except Exception:
            log.exception("calls could not be written down")  # a fault of ours: the thread goes on all the same
            self._fail(AuditError(f"the audit's file {self.path} cannot be written", reason="failed"))

    def _recover(self) -> None:
        """Calls can be written: an outage has ended, if there was one, and the next is news again."""
        self.trouble = None
        if self._is_told:
            self._is_told = False
            log.warning("calls are written down again in %s; %s missing", self.path, _number(self._untold()))

    def _untold(self) -> int:
        """How many calls are missing that nobody was told of."""
        missing = self._dropped + self._failed
        told, self._counted = self._counted, missing
        return missing - told

    def _fail(self, trouble: AuditError) -> None:
        self.trouble = trouble
        if trouble.reason == "failed":  # it would again
            self._failed += len(self._batch)
            self._batch = []
        if not self._is_told and trouble.reason != "locked":  # once; a lock goes, or calls are missing in the end
            self._is_told = True
            what = "calls are refused meanwhile" if self._settings.fails == "closed" else "calls go on"
            log.error("%s; %s%s", trouble.message, what, f" ({trouble.hint})" if trouble.hint else "")


def _number(calls: int) -> str:
    return {0: "no call is", 1: "a call is"}.get(calls, f"{calls} calls are")
