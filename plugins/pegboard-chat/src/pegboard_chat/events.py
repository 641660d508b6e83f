"""What happens while a model answers, as it happens: the pieces of its answer, and what became of each call."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard_chat.contract import CallDelta, Delta, Reply, Stop, TextDelta, ThinkingDelta

if TYPE_CHECKING:
    from pegboard import ToolCall, ToolResult
    from pegboard_chat.conversation import Usage

MAX_WAITING = 1_000
"""How many events may wait for whoever reads them, before the loop waits as well."""


class CallStarted(NamedTuple):
    """A call begins to run.

    Args:
        call: the call, under the tool's own name.

    .. versionadded:: 0.1
    """

    call: ToolCall


class CallEnded(NamedTuple):
    """A call has its answer; one that never began has one too: it was not a valid call, or was beyond a budget.

    Args:
        result: the answer, with the call's id and the tool's name.

    .. versionadded:: 0.1
    """

    result: ToolResult


class RoundEnded(NamedTuple):
    """The model has answered one request; its calls, if it made any, follow.

    Args:
        reply: the whole answer.
        usage: what this request cost, in tokens.
        cost: the same in the currency of the price table; None: no price is known.

    .. versionadded:: 0.1
    """

    reply: Reply
    usage: Usage
    cost: float | None


class AnswerCut(NamedTuple):
    """An answer ended before its end; the half of it that came is in the conversation, marked.

    Args:
        text: what came of it.
        reason: as `Message.cut` has it: `left`, `max_seconds`, or the reason of the `ModelError` that follows.

    .. versionadded:: 0.1
    """

    text: str
    reason: str


class ChatEnded(NamedTuple):
    """The question is answered, or a budget ended it: the last event.

    Args:
        text: of the model's last answer; empty where it said nothing.
        usage: what the question cost, in tokens: all requests, those of tools to the model included.
        cost: the same in the currency of the price table; None: a price is not known.
        stop: why the model stopped at last.
        reason: the budget that was used up, so that the last request was the last (`max_tool_calls`, `max_rounds`,
            `max_tokens`, `max_seconds`, `max_cost`); `tool_choice`: the model did not call what it had to. None: the
            model came to its end by itself.

    .. versionadded:: 0.1
    """

    text: str
    usage: Usage
    cost: float | None
    stop: Stop
    reason: str | None


Event = Delta | CallStarted | CallEnded | RoundEnded | AnswerCut | ChatEnded
"""What happens while a question is answered, in the order in which it does.

.. versionadded:: 0.1
"""


def event_to_json(event: Event) -> dict[str, Any]:
    """An event as JSON: `type` and what it carries, as `pegboard chat --json` writes it.

    .. versionadded:: 0.1
    """
    match event:
        case TextDelta(text):
            return {"type": "text", "text": text}
        case ThinkingDelta(text):
            return {"type": "thinking", "text": text}
        case CallDelta(position, name, arguments):
            return {"type": "call_delta", "position": position, "name": name, "arguments": arguments}
        case CallStarted(call):
            return {"type": "call", "id": call.id, "name": call.name, "arguments": call.arguments}
        case CallEnded(result):
            return {"type": "result", **result.to_json()}
        case RoundEnded(reply, usage, cost):
            return {"type": "round", "stop": reply.stop.value, "usage": dict(usage.to_json()), "cost": cost}
        case AnswerCut(text, reason):
            return {"type": "cut", "text": text, "reason": reason}
        case ChatEnded(text, usage, cost, stop, reason):
            return {
                "type": "end", "text": text, "stop": stop.value, "reason": reason, "usage": dict(usage.to_json()),
                "cost": cost,
            }  # fmt: skip
    raise AssertionError(f"an event of no known kind: {event!r}")


class Events:
    """The events of one question, to be iterated once. The loop puts them in from its own task and does not wait for
    whoever reads them, unless very many wait.

    .. versionadded:: 0.1
    """

    __slots__ = ("_ended", "_problem", "_reader_waits", "_readers", "_waiting", "_writer_waits", "_writers")

    def __init__(self) -> None:
        import trio

        self._waiting: deque[Event] = deque()
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self._reader_waits = self._writer_waits = False
        self._ended = False
        self._problem: BaseException | None = None

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        waiting = self._waiting
        while not waiting:
            if self._ended:
                problem, self._problem = self._problem, None
                raise StopAsyncIteration if problem is None else problem
            self._reader_waits = True
            await self._readers.park()
        if self._writer_waits and len(waiting) <= MAX_WAITING // 2:
            self._writer_waits = False
            self._writers.unpark_all()
        return waiting.popleft()

    @property
    def is_full(self) -> bool:
        """Whether so many events wait that whoever puts them in should wait as well."""
        return len(self._waiting) >= MAX_WAITING

    def put(self, event: Event) -> None:
        """Give an event to whoever reads."""
        self._waiting.append(event)
        if self._reader_waits:
            self._reader_waits = False
            self._readers.unpark_all()

    async def room(self) -> None:
        """Wait until fewer events wait."""
        while self.is_full:
            self._writer_waits = True
            await self._writers.park()

    def end(self, problem: BaseException | None = None) -> None:
        """No more events; what went wrong, if anything, is raised at the end of them."""
        self._ended, self._problem = True, problem
        self._readers.unpark_all()
