"""What a person sees while the program waits: what it waits for, and for how long.

    with waiting("waiting for the server files") as wait:
        ...
        wait.text = "installing the server files"

A line on stderr that is drawn over itself and gone in the end. It is there for a person alone: both streams are
terminals, no `--json` is asked for, the terminal can move its cursor, and the wait is longer than half a second. A
thread draws it, so that it goes on whatever waits: trio, a thread, an import, another program.

Who writes to the terminal meanwhile does so in `quiet()`, as `note`, `emit` and the log do: the line is taken away
first, and drawn again afterwards.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from time import monotonic
from typing import TYPE_CHECKING

import attrs

from pegboard._values import Shown
from pegboard.cli._terminal import answer_stream, can_show, columns_of, cut, is_terminal, moves_cursor
from pegboard.cli._text import printable_line

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_AFTER_S = 0.5
"""A shorter wait is not shown: a line that comes and goes at once only disturbs."""
STEP_S = 0.1
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_FRAMES = "|/-\\"
_CLEAR = "\r\x1b[K"


@attrs.define(eq=False, repr=False)
class Wait(Shown):
    """One wait. `text` says what for, and may change while it goes on."""

    text: str
    began: float = attrs.field(factory=monotonic)


class _Line:
    """The line at the bottom of the terminal: the innermost wait that is long enough to be shown."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waits: list[Wait] = []
        self._drawer: threading.Thread | None = None
        self._ended = threading.Event()
        self._quiet = 0
        self._is_drawn = False
        self._step = 0

    def begin(self, wait: Wait) -> None:
        with self._lock:
            self._waits.append(wait)
            if self._drawer is None:
                self._ended.clear()
                self._drawer = threading.Thread(target=self._draw_on, name="pegboard-waiting", daemon=True)
                self._drawer.start()

    def end(self, wait: Wait) -> None:
        with self._lock:
            self._waits.remove(wait)
            self._clear()
            drawer = None
            if not self._waits:
                drawer, self._drawer = self._drawer, None
                self._ended.set()
        if drawer is not None:
            drawer.join()

    def hush(self) -> None:
        with self._lock:
            self._quiet += 1
            self._clear()

    def go_on(self) -> None:
        with self._lock:
            self._quiet -= 1

    def erasing(self) -> str:
        """What takes the line away, for one who may wait for nothing."""
        return _CLEAR if self._is_drawn else ""

    def _draw_on(self) -> None:
        while not self._ended.wait(STEP_S):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        now = monotonic()
        long = [wait for wait in self._waits if now - wait.began >= SHOWN_AFTER_S]
        if not long or self._quiet:
            return
        frames = FRAMES if can_show(sys.stderr, FRAMES) else ASCII_FRAMES
        self._step += 1
        head, tail = f"{frames[self._step % len(frames)]} ", f" {int(now - long[-1].began)} s"
        # One column stays free: some terminals wrap a line that fills the last one.
        room = max(columns_of(sys.stderr) - len(head) - len(tail) - 1, 0)
        self._write(f"{_CLEAR}{head}{cut(printable_line(long[-1].text), room)}{tail}")
        self._is_drawn = True

    def _clear(self) -> None:
        if self._is_drawn:
            self._write(_CLEAR)
            self._is_drawn = False

    @staticmethod
    def _write(text: str) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream = sys.stderr
            stream.write(text.encode(stream.encoding or "ascii", "backslashreplace").decode(stream.encoding or "ascii"))
            stream.flush()


_line = _Line()


@contextlib.contextmanager
def waiting(text: str) -> Iterator[Wait]:
    """Say on the terminal what is waited for, with the seconds, while the block runs; see the module.

    Waits may be nested: the innermost that has lasted for half a second is shown.

    Args:
        text: what for: "waiting for the model"; third-party text in it is made harmless.

    .. versionadded:: 0.1
    """
    wait = Wait(text)
    if not _is_wanted():
        yield wait
        return
    _line.begin(wait)
    try:
        yield wait
    finally:
        _line.end(wait)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the line away while the block writes to the terminal, or asks something there.

    .. versionadded:: 0.1
    """
    _line.hush()
    try:
        yield
    finally:
        _line.go_on()


def erasing() -> str:
    """What takes the line away, for a process that ends at once and waits for no lock; nothing where there is none."""
    return _line.erasing()


def _is_wanted() -> bool:
    return is_terminal(sys.stderr) and is_terminal(answer_stream()) and moves_cursor() and not _wants_json()


def _wants_json() -> bool:
    """Whether the command that runs was given `--json`."""
    import click

    ctx = click.get_current_context(silent=True)
    return ctx is not None and any("--json" in one.opts and ctx.params.get(one.name) for one in ctx.command.params)
