"""Standard output and input are the host's: what a library prints does not reach them, and it reads nothing.

Over stdio a board speaks its protocol on the very stream that `print` writes to. From the first call of a bound
function on, `sys.stdout` and `sys.stdin` are stand-ins that know whose thread asks: while that is in a bound function,
what it writes goes to the log; anybody else gets the stream that was there before. `restore` puts that back. Whoever
puts a stream of their own there is not in the way: the next call stands in for that one.

What is written past Python (a C library, `os.write`) is not seen here: a worker process has no way to the host's
output, so `isolate: process` is for that.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
from threading import get_ident
from typing import Any

log = logging.getLogger("pegboard.tool")

MAX_LOGGED = 500

running: set[int] = set()
"""The threads that are in a bound function now."""
_lock = threading.Lock()


class _StandIn:
    """A stream that is another one for everybody but bound functions."""

    def __init__(self, own: Any) -> None:
        self.own = own
        self.real: Any = None

    def __getattribute__(self, name: str) -> Any:
        if name in _MEMBERS:
            return object.__getattribute__(self, name)
        return getattr(_stream_of(self), name)

    def __iter__(self) -> Any:
        return iter(_stream_of(self))


def _stream_of(stream: _StandIn) -> Any:
    """The stream that this thread is given; a host may have none of its own."""
    return stream.own if get_ident() in running or stream.real is None else stream.real


_MEMBERS = frozenset({"own", "real", "__class__"})


class _Output(io.TextIOBase):
    """Where a bound function writes."""

    encoding = "utf-8"
    errors = "replace"

    @property
    def buffer(self) -> io.BytesIO:
        """Bytes that are written here are dropped."""
        return io.BytesIO()

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Who closes it closes it for itself: the next function writes here too."""

    def write(self, text: str) -> int:
        if log.isEnabledFor(logging.DEBUG) and (line := text[:MAX_LOGGED].strip()):
            log.debug("a bound function wrote: %r", line)
        return len(text)


class _Input(io.StringIO):
    """Where a bound function reads: nothing, and nothing that another one left there."""

    def close(self) -> None:
        """As for the output."""

    def writable(self) -> bool:
        return False

    def write(self, text: str) -> int:
        raise io.UnsupportedOperation("not writable")


output = _StandIn(_Output())
_input = _StandIn(_Input())


def stand_in() -> None:
    """Put the stand-ins where they are not."""
    with _lock:
        if sys.stdout is not output:
            output.real, sys.stdout = sys.stdout, output
        if sys.stdin is not _input:
            _input.real, sys.stdin = sys.stdin, _input


def restore() -> None:
    """Put back what was there; the next call of a bound function stands in again."""
    with _lock:
        if sys.stdout is output:
            sys.stdout = output.real
        if sys.stdin is _input:
            sys.stdin = _input.real
