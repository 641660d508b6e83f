"""What is being read, for a person who waits: discovery says it, and whoever shows it listens."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("pegboard_toolgen_progress", default=None)


def say(what: str) -> None:
    """Say what is done now: "reading httpx.Client". Nothing happens where nobody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what)


@contextlib.contextmanager
def told_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Let `listener` hear what is said in the block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
