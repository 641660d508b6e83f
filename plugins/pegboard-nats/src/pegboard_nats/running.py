"""Calls that a worker took: one task does one after another, as long as none of them waits.

    taken --begun--> over
                \\--waits--> accepted ----> over

Most tools answer at once, and such a call needs no task, no deadline and no `accepted` of its own. What tells those
from the others is the loop: once another task has its turn while a call is under way, that call waits. Then it is
accepted, its deadline begins, its task ends with it, and another one does those behind it.

Invariants: at most one task takes calls, and at most one call is under way that was not accepted. No call sees what
another one left behind: a task whose context variables or cancel scope were changed does no second one.
"""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import trio

from pegboard_nats import wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard_nats.protocol import Message

GRACE_S = 0.5
"""How much later than its caller a worker gives a call up: the caller says TIMEOUT, and cancels it."""


class Running:
    """One call.

    Attributes:
        message: as it came.
        reply: where its answers go; it names the call.
        headers: all that came with it; None: `caller`, `call_id` and the deadline are all of them.
        scope: what ends it, once it has begun.
        is_accepted: whether its caller was told that we have it.
        has_deadline: whether its deadline has begun.
        is_cancelled: whether it is to end.
        is_drained: whether it is to end because its worker does.
    """

    __slots__ = (
        "_left_ms", "call_id", "caller", "has_deadline", "headers", "is_accepted", "is_cancelled", "is_drained",
        "message", "name", "reply", "scope",
    )  # fmt: skip

    def __init__(
        self,
        message: Message,
        reply: str,
        name: str,
        caller: wire.Caller,
        call_id: str,
        left_ms: int | None,
        headers: Mapping[str, str] | None,
    ) -> None:
        self.message = message
        self.reply = reply
        self.name = name
        self.caller = caller
        self.call_id = call_id
        self.headers = headers
        self._left_ms = left_ms
        self.scope: trio.CancelScope | None = None
        self.is_accepted = self.has_deadline = self.is_cancelled = self.is_drained = False

    def begin_deadline(self) -> trio.CancelScope:
        """From here on it ends some time after its caller has given it up."""
        assert self.scope is not None, "it has begun"
        if self._left_ms is not None and not self.has_deadline:
            self.has_deadline = True
            self.scope.deadline = trio.current_time() + self._left_ms / 1000 + GRACE_S
        return self.scope

    def cancel(self) -> None:
        """End it; one that has not begun does not begin."""
        self.is_cancelled = True
        if self.scope is not None:
            self.scope.cancel()


class Queue:
    """The calls of one worker, in the order in which they came.

    Args:
        nursery: of the tasks that do them.
        run: does one.
        accept: tells the caller of one that we have it.
        turn: is told that a task has its turn.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        run: Callable[[Running], Awaitable[Any]],
        accept: Callable[[Running], None],
        turn: Callable[[], None],
    ) -> None:
        self._nursery = nursery
        self._run = run
        self._accept = accept
        self._turn = turn
        self._taken: deque[Running] = deque()
        self._current: Running | None = None
        self._is_served = False
        self._begun = trio.lowlevel.ParkingLot()
        self._context = copy_context()

    def put(self, running: Running) -> None:
        """Have a call done."""
        self._taken.append(running)
        if not self._is_served:
            self._hand_over()

    async def watch(self) -> None:
        """Look after each task that began calls, in the turn behind its own: is one of them still under way?"""
        while True:
            await self._begun.park()
            if (running := self._current) is not None:
                self._hand_over()
                self._accept(running)
                running.begin_deadline()

    async def _serve(self) -> None:
        running: Running | None = None
        self._begun.unpark()
        self._turn()
        try:
            with trio.CancelScope() as scope:
                while self._taken:
                    running = self._current = self._taken.popleft()
                    running.scope = scope
                    if wire.depth.get() != running.caller.depth:
                        wire.depth.set(running.caller.depth)
                    before = copy_context()
                    await self._run(running)
                    is_spoiled = running.has_deadline or running.is_cancelled or copy_context() != before
                    if is_spoiled or self._current is not running:
                        break
        finally:
            if self._current is running:
                self._hand_over()

    def _hand_over(self) -> None:
        """Another task does what is left."""
        self._current = None
        self._is_served = bool(self._taken)
        if self._is_served:  # what a call has set in the context of this task ends with it
            self._context.run(self._nursery.start_soon, self._serve)
