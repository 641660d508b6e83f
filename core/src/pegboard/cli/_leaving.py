"""Ends a process within a time limit, whatever still runs in it.

What can be cancelled ends by itself and takes its children along. What cannot is left behind with the process: a thread
that hangs, a handler that shields itself or blocks the loop, a library that joins its threads at exit. Children that
are still there get SIGTERM before. Those of the process's own group are killed in the end, and worker processes, which
run nothing but a tool; whoever leads a group of its own, as servers do, has somebody who ends it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path

from pegboard.cli._waiting import erasing

TERM_PART = 0.8
"""The part of the time after which children that are still there are told to end."""


HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)


class Presses:
    """Tells whoever says to end, and says it once more, from the system: that a terminal is gone is said by it and by a
    shell, beside SIGTERM too, and what comes at once is told in the order of numbers.

    .. versionadded:: 0.1
    """

    def __init__(self) -> None:
        self._is_pressed = False

    def again(self, number: int) -> bool:
        """Note a signal that says to end; whether somebody who has said so will not wait."""
        if number == HANGUP:
            return False
        again, self._is_pressed = self._is_pressed, True
        return again


def ending_signals() -> tuple[signal.Signals, ...]:
    """What tells a server to end in order: SIGTERM, Ctrl-C, and the end of its terminal, which `nohup` has us ignore.

    .. versionadded:: 0.1
    """
    if HANGUP is None or signal.getsignal(HANGUP) is signal.SIG_IGN:
        return signal.SIGTERM, signal.SIGINT
    return signal.SIGTERM, signal.SIGINT, HANGUP


def leave_within(limit_s: float, status: int, words: str) -> None:
    """End the process by then at the latest; what ends earlier has ended by itself.

    Args:
        limit_s: in seconds.
        status: of the process, where it has to be ended.
        words: said on stderr then.

    .. versionadded:: 0.1
    """

    def watch() -> None:
        time.sleep(limit_s * TERM_PART)
        for child in _descendants():
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGTERM)
        time.sleep(limit_s * (1 - TERM_PART))
        leave_now(status, words)

    threading.Thread(target=watch, name="pegboard leaving", daemon=True).start()


def leave_now(status: int, words: str) -> None:
    """End the process, whatever holds it."""
    _kill_workers()
    for child in _descendants():
        with contextlib.suppress(OSError):
            if os.getpgid(child) == os.getpgrp():
                os.kill(child, signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        poll = select.poll()
        poll.register(2, select.POLLOUT)
        if poll.poll(0):  # nobody may be there who reads it
            os.write(2, f"{erasing()}{words}\n".encode())
    os._exit(status)


def _kill_workers() -> None:
    """Worker processes, each the leader of a group of its own: a busy one does not notice that its host is gone."""
    multiprocessing = sys.modules.get("multiprocessing")
    for worker in multiprocessing.active_children() if multiprocessing is not None else ():
        with contextlib.suppress(OSError):
            if worker.pid is not None and os.getpgid(worker.pid) == worker.pid:
                os.killpg(worker.pid, signal.SIGKILL)
            worker.kill()


def _descendants() -> list[int]:
    """Processes that this one started, and those that they started; as far as the system shows them (Linux)."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The second field is a name in brackets, which may hold anything; the fourth is the parent (proc(5)).
            parents[int(stat.parent.name)] = int(stat.read_bytes().rpartition(b")")[2].split()[1])
    found = [os.getpid()]
    for parent in found:
        found += [child for child, its in parents.items() if its == parent]
    return found[1:]
