"""Work in threads, with a bound on how many there are and on how long anyone waits for one.

A thread cannot be ended. One that is waited for no longer goes on until the database or its own patience ends it, and
keeps its place until then: a database that hangs takes `size` threads and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

CLOSE_S = 5.0
"""How long closing waits for threads that are still at work."""


class UnavailableError(Exception):
    """The database did not do what it was asked.

    Args:
        message: why, for the log.
        may_have_run: whether it is unknown what became of a write.
    """

    def __init__(self, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run


@attrs.define(eq=False)
class Threads:
    """Up to `size` threads of one database."""

    size: int
    _places: trio.CapacityLimiter = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._places = trio.CapacityLimiter(self.size)

    async def run(self, work: Callable[[], T], wait_s: float, *, writes: bool) -> T:
        """Run `work` in a thread and return what it returns.

        Raises:
            UnavailableError: there was no answer in `wait_s` seconds.
        """
        started = False

        def note_and_work() -> T:
            nonlocal started
            started = True
            return work()

        with trio.move_on_after(wait_s):
            return await trio.to_thread.run_sync(note_and_work, limiter=self._places, abandon_on_cancel=True)
        raise UnavailableError(f"no answer within {wait_s:.3g} s", may_have_run=writes and started)

    async def close(self) -> bool:
        """Wait until no thread is at work; whether that came in time."""
        taken = []
        with trio.move_on_after(CLOSE_S) as scope:
            for place in range(self.size):
                await self._places.acquire_on_behalf_of(place)
                taken.append(place)
        for place in taken:
            self._places.release_on_behalf_of(place)
        return not scope.cancelled_caught


def in_chain(problem: BaseException | None, kind: type[Any]) -> Any:
    """The first of `kind` among an exception and its causes, or None."""
    while problem is not None and not isinstance(problem, kind):
        problem = getattr(problem, "orig", None) or problem.__cause__
    return problem
