"""SIGTERM, and SIGHUP of a terminal that is closed, end a command in order.

What runs is cancelled: so the terminal is given back as it was, what was said is kept, and programs that were started
are ended. Without that, both signals end a process where it stands. What does not end by itself is left behind, soon
or at the second signal. A signal that whoever started the program has switched off (`nohup`) stays off.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SIGNALLED = 128
"""The exit status is this and the signal's number, as shells say it."""
GONE_S = 5.0
"""So long after the signal the process ends, whatever still holds it."""


async def unless_ended(work: Callable[[], Awaitable[int]]) -> int:
    """Do the work; the exit status, its own or that of the signal which ended it."""
    import trio

    from pegboard.cli import Presses, note

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread() or not numbers:
        return await work()
    timer: threading.Timer | None = None
    ended = status = 0
    scope = trio.CancelScope()

    async def listen(task_status: trio.TaskStatus[None]) -> None:
        nonlocal timer, ended
        presses = Presses()
        with trio.open_signal_receiver(*numbers) as signals:
            task_status.started()
            async for number in signals:
                if presses.again(number):
                    _go(ended)
                    return
                if timer is not None:
                    continue
                ended = SIGNALLED + number
                timer = threading.Timer(GONE_S, _go, [ended])
                timer.daemon = True
                timer.start()
                scope.cancel()

    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(listen)
            with scope:
                status = await work()
            nursery.cancel_scope.cancel()
        if ended:
            note(f"ended by {signal.Signals(ended - SIGNALLED).name}")
    finally:
        if timer is not None:
            timer.cancel()
    return ended or status


def _go(status: int) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"\nended; what did not end by itself was left behind\n")
    os._exit(status)
