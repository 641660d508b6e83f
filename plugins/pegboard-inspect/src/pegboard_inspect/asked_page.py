"""The page *Asked*: what a server that is inspected alone asks of its client, each answered by hand.

A request waits here until somebody answers it, it is taken back, or its time is over. While a call of the page is in
flight, the person of that call is asked, whose deadlines stand still meanwhile. The page of every browser is told of
what waits; who answers first, answers.
"""

from __future__ import annotations

import contextvars
import json
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ErrorCode, ToolError
from pegboard_inspect.messages import object_of
from pegboard_inspect.pages import Page, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard import Host
    from pegboard_inspect.pages import PageStream

    AskPerson = Callable[..., Awaitable[Any]]

MAX_WAITING = 20
"""Requests that wait at once; of more each is refused."""
MAX_CHARS = 1_000_000
"""A longer request is refused: who answers has to have seen all of it."""
ALIVE_S = 15.0
"""How often the page is told that nothing is new, where nothing is."""
REFUSED = -32603


class Question:
    """One request of a server, until it is answered.

    Args:
        key: its own.
        request: `{"method", "params"}` as it came.
        until: when its time is over, by the loop's clock.
    """

    def __init__(self, key: str, request: Mapping[str, Any], until: float) -> None:
        self.key = key
        self.request = request
        self.until = until
        self._answered = trio.Event()
        self._answer: Mapping[str, Any] | None = None

    def answer(self, answer: Mapping[str, Any]) -> None:
        """The person's answer; of several the first counts."""
        if self._answer is None:
            self._answer = answer
            self._answered.set()

    async def wait_answered(self) -> Mapping[str, Any] | None:
        """Wait for the answer; None: its time is over."""
        with trio.move_on_at(self.until):
            await self._answered.wait()
        return self._answer

    def to_json(self) -> dict[str, Any]:
        """As the page has it."""
        left_s = max(0.0, self.until - trio.current_time())
        return {"key": self.key, "left_s": round(left_s, 1), **self.request}


asked_here: contextvars.ContextVar[Question | None] = contextvars.ContextVar("pegboard_inspect_asked", default=None)
"""The request that the person of a call is asked in this task: the page answers it, and no dialog of the call."""


class Asked:
    """The requests of one server that wait for a person.

    Args:
        limit_s: how long each may wait, in seconds.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._waiting: dict[str, Question] = {}
        self._count = 0
        self._changed = trio.Event()

    async def ask(self, request: dict[str, Any], ask_person: AskPerson | None) -> Mapping[str, Any] | None:
        """Have a request answered: `McpSource.answer_by`."""
        if len(self._waiting) >= MAX_WAITING:
            return _refusal(f"{MAX_WAITING} requests wait for a person already")
        if (size := len(json.dumps(request))) > MAX_CHARS:
            return _refusal(f"the request has {size:,} characters; a person is shown {MAX_CHARS:,}")
        self._count += 1
        key = str(self._count)
        question = self._waiting[key] = Question(key, request, trio.current_time() + self._limit_s)
        self._tell()
        before = asked_here.set(question)
        try:
            if ask_person is None:
                return await question.wait_answered()
            answer = await ask_person(f"The server asks {request['method']}", schema={"type": "object"})
            return answer if isinstance(answer, dict) else None
        finally:
            asked_here.reset(before)
            del self._waiting[key]
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def watch(self, stream: PageStream, value: Any) -> None:
        """Tell a page of what waits, and of what does not any more."""
        told: set[str] = set()
        while True:
            changed = self._changed
            waiting = dict(self._waiting)
            new = [question.to_json() for key, question in waiting.items() if key not in told]
            await stream.send({"asked": new, "gone": sorted(told - waiting.keys())})
            told = set(waiting)
            with trio.move_on_after(ALIVE_S):
                await changed.wait()

    async def answer(self, host: Host, value: Any) -> Any:
        """Answer one of them: `{"key", "text"}`, where the text is JSON, `{"result"}` or `{"error"}`."""
        answer = _checked(object_of(value.get("text")))
        question = self._waiting.get(str(value.get("key")))
        if question is None:
            raise ToolError(ErrorCode.CONFLICT, "this is not asked any more")
        question.answer(answer)
        return {}


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """What JSON-RPC has as an answer; what stands in a result is for whoever writes it."""
    match answer:
        case {"result": dict()} if len(answer) == 1:
            return answer
        case {"error": {"code": int() as code, "message": str()}} if len(answer) == 1 and type(code) is int:
            return answer
    raise ToolError(
        ErrorCode.INVALID_INPUT, "expected a result that is an object, or an error with a code and a message"
    )


def _refusal(why: str) -> dict[str, Any]:
    return {"error": {"code": REFUSED, "message": why}}


async def _nothing(host: Host) -> Any:
    return None


def asked_page(asked: Asked) -> Page:
    """The page of these requests."""
    return Page(
        title="Asked",
        path="asked",
        module=text_of("page_asked.js"),
        data=_nothing,
        actions={"answer": asked.answer},
        streams={"watch": asked.watch},
        watches=True,
    )
