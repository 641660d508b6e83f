"""One call from the page: what it says while it runs, what it asks the person, and its result. Or one stream of a page.

What a call says is a sequence of JSON objects, each with its `kind`: `begun`, `progress`, `log`, `question`,
`answered`, `result`. A stream says `said` for each value, and at its end `done` or `problem`.
The page reads them as they come, answers questions beside, and cancels by leaving.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections import deque
from typing import TYPE_CHECKING, Any

import trio

from pegboard import thaw
from pegboard_serving.tool_logs import ToolLogHandler

if TYPE_CHECKING:
    import logging

    from pegboard import Confirmation, ToolResult

MAX_SAID = 1_000
"""Lines of log and reports of progress that wait to be sent; more are counted. A stream waits instead."""
MAX_LINE = 10_000
"""A longer line of log is cut, in characters."""

current: contextvars.ContextVar[RunningCall] = contextvars.ContextVar("pegboard_inspect_call")
"""The call that is being answered; threads and tasks of a tool inherit it."""


class RunningCall:
    """One call of the page while it runs, or one stream.

    Args:
        id: of the call.
    """

    def __init__(self, id: str) -> None:  # noqa: A002 - the word of calls
        self.id = id
        self._said: deque[dict[str, Any]] = deque()
        self._left_out = 0
        self._more = trio.Event()
        self._room = trio.Event()
        self._ended = False
        self._questions: dict[str, tuple[trio.Event, list[Any]]] = {}
        self._count = 0

    def say(self, kind: str, **what: Any) -> None:
        """Something that may be left out where there is too much of it."""
        if len(self._said) < MAX_SAID:
            self._tell({"kind": kind, **what})
        else:
            self._left_out += 1

    async def send(self, value: Any) -> None:
        """A value of a stream, of which none is left out: it waits while much is unread."""
        await trio.lowlevel.checkpoint()
        while len(self._said) >= MAX_SAID:
            self._room = trio.Event()
            await self._room.wait()
        self._tell({"kind": "said", "value": value})

    def end(self, result: ToolResult) -> None:
        """The result of a call; nothing comes after it."""
        self.end_with("result", result=result.to_json(), left_out=self._left_out)

    def end_with(self, kind: str, **what: Any) -> None:
        """The last word."""
        self._ended = True
        self._tell({"kind": kind, **what})

    def _tell(self, what: dict[str, Any]) -> None:
        self._said.append(what)
        self._more.set()

    async def next(self) -> list[dict[str, Any]]:
        """What was said since the last time; empty: the call has ended, and all was told."""
        while not self._said and not self._ended:
            self._more = trio.Event()
            await self._more.wait()
        said = list(self._said)
        self._said.clear()
        self._room.set()
        return said

    async def ask(self, asked: Confirmation) -> Any:
        """Ask the person, and wait for the answer as long as the call does."""
        self._count += 1
        key = str(self._count)
        answered, answer = self._questions[key] = (trio.Event(), [])
        self._tell(
            {
                "kind": "question",
                "key": key,
                "question": asked.question,
                "tool": asked.tool.name,
                "origin": str(asked.tool.origin),
                "arguments": thaw(asked.arguments),
                "schema": None if asked.schema is None else thaw(asked.schema),
                "url": asked.url,
                "remembers": not asked.is_running,
            }
        )
        try:
            await answered.wait()
        finally:
            del self._questions[key]
            self._tell({"kind": "answered", "key": key})
        return answer[0]

    def answer(self, key: object, answer: Any) -> bool:
        """The person's answer; False: nothing was asked, or it was answered already."""
        found = self._questions.get(key) if isinstance(key, str) else None
        if found is None or found[0].is_set():
            return False
        found[1].append(answer)
        found[0].set()
        return True


def answer_of(given: Any, *, has_schema: bool) -> Any:
    """An answer as `Confirmation` wants it, of one that came as JSON: anything odd is a no."""
    if given is None or given is True or given is False:
        return given
    if has_schema:
        return given if isinstance(given, dict) else False
    return "session" if given == "session" else False


class LogLines(ToolLogHandler):
    """Gives a call what its tools log, in its task and its threads, as long as the block."""

    def __init__(self, call: RunningCall) -> None:
        super().__init__()
        self._call = call
        self._token = trio.lowlevel.current_trio_token()

    def emit(self, record: logging.LogRecord) -> None:
        """Say the record, if it is of this call: every other one that is under way hears it too."""
        call = self._call
        if current.get(None) is not call:
            return
        said = {"level": record.levelname.lower(), "text": record.getMessage()[:MAX_LINE]}
        if trio.lowlevel.in_trio_task():
            call.say("log", **said)
            return
        with contextlib.suppress(trio.RunFinishedError):  # of a thread
            self._token.run_sync_soon(lambda: call.say("log", **said))
