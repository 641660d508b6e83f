"""Where answers to one request wait for whoever asked, and why none may come.

A silence is counted in ticks of the client, and not by a deadline of each reader: that costs a call a tenth, and on a
busy machine what was not read yet is not taken for a silence.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

import trio

from pegboard_nats.protocol import NO_RESPONDERS, Message

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

MAX_WAITING = 65_536
"""Messages that may wait for one reader; `MAX_WAITING_BYTES` of payload."""
MAX_WAITING_BYTES = 64 * 1024 * 1024
TICK_S = 0.05
"""How exactly a silence is measured, in seconds."""


class LinkError(Exception):
    """A request has no answer."""


class NotConnectedError(LinkError):
    """There is no link just now. Nothing was sent."""


class NoRespondersError(LinkError):
    """Nobody listens to the subject: the server says so. Nobody read it."""


class LinkLostError(LinkError):
    """The link was lost. What was sent may have been read, or not."""


class DeniedError(LinkError):
    """The server does not let us publish there. Nobody read it."""


class UnheardError(LinkError):
    """The server does not let us hear answers. What was asked just then may have been read; nothing is asked after."""


class SlowConsumerError(LinkError):
    """More came than was read, and was dropped."""


class Mailbox:
    """Answers to one request, in the order in which they came, until the link is lost. Made by `Client.replies`, given
    to while its block runs, and read by one task.

    Args:
        subject: where they go to.
        patience_s: after how long a silence `get` says so, in seconds, and at most two `TICK_S` later; None: never.
        note: is told of each as it comes; where it says True, there is nothing more to be read in it. It neither waits
            nor raises.
    """

    def __init__(
        self,
        subject: str,
        waiting: dict[str, Mailbox] | None = None,
        *,
        patience_s: float | None = None,
        note: Callable[[Message], bool] | None = None,
    ) -> None:
        self.subject = subject
        self.asked: str | None = None
        self._waiting = {} if waiting is None else waiting
        # One more than fit: the first may come at once.
        self._patience = None if patience_s is None else math.ceil(patience_s / TICK_S) + 1
        self._quiet = 0
        self._note = note
        self._messages: deque[Message] = deque()
        self._size = 0
        self._problem: LinkError | None = None
        self._reader: trio.lowlevel.Task | None = None

    def __enter__(self) -> Self:
        self._waiting[self.subject] = self
        return self

    def __exit__(self, *_: object) -> None:
        del self._waiting[self.subject]

    def put(self, message: Message) -> None:
        """Take one; where nobody reads, those that are too many are dropped, and the reader is told."""
        self._quiet = 0
        if self._problem is not None or (self._note is not None and self._note(message)):
            return
        if len(self._messages) >= MAX_WAITING or self._size > MAX_WAITING_BYTES:
            self.fail(SlowConsumerError("answers came faster than they were read, and were dropped"))
            return
        self._messages.append(message)
        self._size += len(message.payload)
        self._wake()

    def fail(self, problem: LinkError) -> None:
        """Nothing comes any more."""
        self._problem = self._problem or problem
        self._wake()

    def tick(self) -> None:
        """`TICK_S` have passed."""
        self._quiet += 1
        if self._quiet == self._patience:
            self._wake()

    def _wake(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            trio.lowlevel.reschedule(reader)

    def _leave(self, _: object) -> trio.lowlevel.Abort:
        self._reader = None
        return trio.lowlevel.Abort.SUCCEEDED

    async def get(self) -> Message:
        """The next.

        Raises:
            NoRespondersError: nobody listens to what was asked.
            LinkError: nothing comes any more.
            trio.TooSlowError: there was a silence as long as `patience_s`.
        """
        self._quiet = 0
        while not self._messages:
            if self._problem is not None:
                raise self._problem
            if self._patience is not None and self._quiet >= self._patience:
                raise trio.TooSlowError
            self._reader = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._leave)
        return self.get_nowait()

    def get_nowait(self) -> Message:
        """The next, of those that are here; raises as `get`, and `trio.WouldBlock`: none is."""
        if not self._messages:
            raise self._problem or trio.WouldBlock
        message = self._messages.popleft()
        self._size -= len(message.payload)
        if message.status == NO_RESPONDERS and not message.payload:
            raise NoRespondersError(f"nobody listens to {self.asked}")
        return message
