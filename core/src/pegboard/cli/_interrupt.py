"""Ctrl-C ends a command within a second, whatever a tool, a thread or a plugin's resource does about it.

Trio turns the signal into a `KeyboardInterrupt` and everything that can be cancelled ends by itself. A watchdog is
armed beside it: work that shields itself, or a resource that will not close, is left behind with the process.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any

from pegboard.cli._leaving import leave_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INTERRUPTED = 130
LAST_WORDS_S = 0.5
"""After Ctrl-C, tools and resources have this long to end by themselves."""
GONE_S = 0.8
"""And after this the process ends, whatever still holds it."""


@contextlib.contextmanager
def leaving_promptly(last_words: Callable[[], object] | None = None) -> Iterator[None]:
    """Watch for Ctrl-C while the block runs inside trio; after it, the process has `GONE_S` seconds."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.getsignal(signal.SIGINT)  # trio's own: it raises KeyboardInterrupt where that is safe
    timers: list[threading.Timer] = []

    def watch(number: int, frame: Any) -> None:
        if not timers:
            for delay_s, act in ((LAST_WORDS_S, last_words or (lambda: None)), (GONE_S, _go)):
                timer = threading.Timer(delay_s, act)
                timer.daemon = True
                timer.start()
                timers.append(timer)
        if callable(before):
            before(number, frame)

    # In front of trio's handler, which is called too: two handlers of one signal are a chain by hand (signal(2) keeps
    # one), and the watchdog has to see Ctrl-C also where trio may not raise yet.
    signal.signal(signal.SIGINT, watch)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        for timer in timers:
            timer.cancel()


def _go() -> None:
    leave_now(INTERRUPTED, "interrupted; what did not end by itself was left behind")
