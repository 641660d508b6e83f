"""Work in threads, with a bound on how many there are and on how long anyone waits for one.

A thread cannot be ended. One that is waited for no longer goes on until the database or its own patience ends it, and
keeps its place until then: a database that hangs takes `size` threads and no more.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs
import trio

from pegboard.group_commit import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

OPEN_S = 60.0
"""How long opening a database may take: importing what speaks to it, connecting, making its tables."""
CLOSE_S = 5.0
"""How long closing waits for threads that are still at work."""


@attrs.define(eq=False)
class Write(Generic[T]):
    """A write that a thread does and a caller waits for; both agree whether it may still be called off.

    Nothing of it lasts before its commit. So it can be called off until the thread begins to commit, and then it has
    not happened and never will; from there on only the database knows.
    """

    loop: trio.lowlevel.TrioToken = attrs.field(factory=trio.lowlevel.current_trio_token)
    ended: trio.Event = attrs.field(factory=trio.Event)
    value: T | None = None
    problem: BaseException | None = None
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _is_off: bool = False
    _is_committing: bool = False

    def call_off(self) -> bool:
        """Whether it is certain that nothing of it lasts: for the caller."""
        with self._lock:
            self._is_off = not self._is_committing
            return self._is_off

    def commit(self, commit: Callable[[], object]) -> None:
        """Make it last; for the thread.

        Raises:
            UnavailableError: it was called off, or the commit was not confirmed.
        """
        with self._lock:
            if self._is_off:
                raise UnavailableError("nobody waits for it any more")
            self._is_committing = True
        try:
            commit()
        except Exception as problem:
            raise UnavailableError("the commit was not confirmed", may_have_run=True) from problem

    def run(self, work: Callable[[Write[T]], T]) -> None:
        """Do the work, and keep what became of it for whoever waits; for the thread."""
        try:
            self.value = work(self)
        except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
            self.problem = problem
        with contextlib.suppress(trio.RunFinishedError):  # then nobody waits
            self.loop.run_sync_soon(self.ended.set)

    def outcome(self) -> T:
        """What the work returned.

        Raises:
            BaseException: what it raised.
        """
        if self.problem is not None:
            raise self.problem
        return self.value  # type: ignore[return-value]  # None only where T is


@attrs.define(eq=False)
class Threads:
    """Up to `size` threads of one database."""

    size: int
    _places: trio.CapacityLimiter = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._places = trio.CapacityLimiter(self.size)

    async def run(self, work: Callable[[], T], wait_s: float) -> T:
        """Run `work`, which changes nothing, in a thread and return what it returns.

        Raises:
            UnavailableError: there was no answer in `wait_s` seconds.
        """
        with trio.move_on_after(wait_s):
            return await trio.to_thread.run_sync(work, limiter=self._places, abandon_on_cancel=True)
        raise UnavailableError(f"no answer within {wait_s:.3g} s")

    async def write(self, work: Callable[[Write[T]], T], wait_s: float, confirm_s: float) -> T:
        """Run `work` in a thread and return what it returns.

        Args:
            work: writes, and makes it last by `Write.commit`.
            wait_s: after so many seconds it is called off, if it can be.
            confirm_s: and after so many nobody waits for the commit any more.

        Raises:
            UnavailableError: it was called off, or the commit was not confirmed (`may_have_run`).
        """
        write: Write[T] = Write()
        until = trio.current_time() + confirm_s
        try:
            with trio.move_on_after(wait_s):
                await trio.to_thread.run_sync(write.run, work, limiter=self._places, abandon_on_cancel=True)
                return write.outcome()
        except trio.Cancelled:
            write.call_off()
            raise
        if write.call_off():
            raise UnavailableError(f"no answer within {wait_s:.3g} s")
        with trio.move_on_at(until):
            await write.ended.wait()
        if write.ended.is_set():
            return write.outcome()
        raise UnavailableError(f"the commit was not confirmed within {confirm_s:.3g} s", may_have_run=True)

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
