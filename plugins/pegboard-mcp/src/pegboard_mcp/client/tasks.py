"""A call that its server answers with a task: asked about until there is a result, as if the server had answered late.

https://modelcontextprotocol.io/seps/2663-tasks-extension. What the task asks is answered as a question of its call;
what it says of its state is heard as progress; a call that is given up gives the task up. The call was sent once: what
goes wrong from here on never has it sent again.

A server may tell of the state by itself (`notifications/tasks`). Where it says that it will, it is seldom asked: a word
that was lost costs `LONGEST_POLL_S`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

import mcp_types as types
import trio
from pydantic import ValidationError

from pegboard import ErrorCode, Retry, ToolError
from pegboard_mcp.client._errors import Lost, RpcError
from pegboard_mcp.client.rpc import data_of, details_in, number_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    OnProgress = Callable[[float, float | None, str | None], Awaitable[None]]

POLL_S, LEAST_POLL_S, LONGEST_POLL_S = 1.0, 0.05, 30.0
"""How often a task is asked about whose server does not say; and within which bounds it may say."""
MAX_ID = 4_096
"""The longest id of a task, in characters."""
ASKED_AGAIN = 5
"""How often in a row it may fail to be asked about, where its server says that it may be asked again."""
ENDED = ("completed", "failed", "cancelled")
CANCEL_S = 5.0
"""How long a server may take to hear that a task is given up, in seconds."""


class Asked(Protocol):
    """What is needed of a connection: see `pegboard_mcp.client.connection.Connection`."""

    async def send(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One request."""

    async def answer(self, key: str, request: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to what the server asks."""

    def hear_of_task(self, id_: str, on_news: Callable[[str, Mapping[str, Any]], None]) -> Callable[[], None]:
        """Have the task told of; returns what ends it."""

    def start_soon(self, work: Callable[[], Awaitable[Any]]) -> bool:
        """Have something said that nobody waits for; False: it is too late for that."""

    def leave_word(self, method: str, params: Mapping[str, Any]) -> None:
        """Have something said as the last thing of all."""


async def follow(connection: Asked, raw: Mapping[str, Any], on_progress: OnProgress | None) -> dict[str, Any]:
    """The result of a call that was answered with a task.

    Args:
        connection: to the server.
        raw: the answer of the call.
        on_progress: hears what the task says of its state.

    Raises:
        RpcError: the task failed, was cancelled there, or says what cannot be read.
        Lost: the connection ended; the call was sent.
    """
    id_ = raw.get("taskId")
    if not isinstance(id_, str) or not 0 < len(id_) <= MAX_ID:
        raise _lost("it answered with a task that has no id")
    task = _Task(connection, id_, on_progress)
    end = connection.hear_of_task(id_, task.hear)
    try:
        return await task.follow(raw)
    except (RpcError, trio.Cancelled):
        # Also where its server says what cannot be read, or asks for more than it may: the task goes on there.
        if not task.has_ended and not connection.start_soon(task.give_up):
            task.leave_word()
        raise
    except Lost as problem:
        raise Lost(written=True, why=problem.why) from None
    finally:
        end()


class _Task:
    def __init__(self, connection: Asked, id_: str, on_progress: OnProgress | None) -> None:
        self._connection = connection
        self._params = {"taskId": id_}
        self._on_progress = on_progress
        self._said: str | None = None
        self._told = 0
        self._answered: set[str] = set()
        self._is_told = False
        self.has_ended = False
        self._state: Mapping[str, Any] | None = None
        self._news = trio.Event()

    def hear(self, method: str, params: Mapping[str, Any]) -> None:
        """What its server says of it: that it will tell, how it is, or that it tells no more."""
        if method != "notifications/tasks":
            asked = params.get("notifications")
            ids = asked.get("taskIds") if isinstance(asked, dict) else None
            self._is_told = isinstance(ids, list) and self._params["taskId"] in ids
            if self._is_told:
                return  # the state comes by itself
        elif params.get("taskId") == self._params["taskId"]:
            self._state = params  # of several the last one counts
        self._news.set()

    async def follow(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Wait for its end."""
        while True:
            await self._tell(state.get("statusMessage"))
            self.has_ended = state.get("status") in ENDED
            match state.get("status"):
                case "working":
                    pass
                case "input_required":
                    await self._answer(state.get("inputRequests"))
                case "completed" if isinstance(result := state.get("result"), dict):
                    return result
                case "failed":
                    raise _error_of(state.get("error"))
                case "cancelled":
                    raise _lost("it cancelled the task")
                case _:
                    raise _lost("its task is in a state that cannot be read")
            state = await self._next(_pause_of(state.get("pollIntervalMs")))

    async def _next(self, pause_s: float) -> Mapping[str, Any]:
        """The state that the server tells, or says when it is asked after that pause."""
        until = trio.current_time() + pause_s
        while self._state is None:
            with trio.move_on_at(until + (LONGEST_POLL_S if self._is_told else 0.0)) as scope:
                await self._news.wait()
            if scope.cancelled_caught:
                return await self._ask("tasks/get", self._params)
            self._news = trio.Event()
        state, self._state = self._state, None
        return state

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask about it, and again where the server is away for a moment."""
        for left in reversed(range(ASKED_AGAIN)):
            try:
                return await self._connection.send(method, params)
            except RpcError as problem:
                if left and details_in(problem.data).get("retry") == Retry.SAME:
                    await trio.sleep(POLL_S)
                    continue
                # Its number is about the task's id, which the model did not write.
                raise _lost(f"its task was lost: {problem.message}") from None
        raise AssertionError("the last failure is raised")

    async def _answer(self, asked: Any) -> None:
        """Answer what it asks, each question once."""
        if not isinstance(asked, dict):
            return
        new = {key: request for key, request in asked.items() if key not in self._answered}
        if not new:
            return
        try:
            read = types.InputRequiredResult.model_validate({"resultType": "input_required", "inputRequests": new})
        except ValidationError:
            raise _lost("it asks for more in a form that cannot be read") from None
        for key, request in (read.input_requests or {}).items():
            answer = await self._connection.answer(key, request, new[key])
            self._answered.add(key)
            await self._ask("tasks/update", {**self._params, "inputResponses": {key: answer}})

    async def _tell(self, message: Any) -> None:
        if isinstance(message, str) and message != self._said and self._on_progress is not None:
            self._said = message
            self._told += 1
            await self._on_progress(float(self._told), None, message)

    async def give_up(self) -> None:
        """Nobody waits for it any more."""
        try:
            with trio.move_on_after(CANCEL_S), contextlib.suppress(RpcError):  # it is over
                await self._connection.send("tasks/cancel", self._params)
        except Lost:
            self.leave_word()
        except trio.Cancelled:  # the host ends, and a task at a server outlives that
            self.leave_word()
            raise

    def leave_word(self) -> None:
        """The same, as the connection ends."""
        self._connection.leave_word("tasks/cancel", self._params)


def _pause_of(said: Any) -> float:
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return POLL_S
    # Bounded before it is divided: an integer may be larger than any float.
    return float(min(max(said, 1_000 * LEAST_POLL_S), 1_000 * LONGEST_POLL_S)) / 1_000


def _error_of(error: Any) -> RpcError:
    """The error of a task that failed, as it would have answered the call."""
    if not isinstance(error, dict):
        return _lost("its task failed, and says nothing of it")
    code, message = error.get("code"), error.get("message")
    code = code if isinstance(code, int) and not isinstance(code, bool) else types.INTERNAL_ERROR
    return RpcError(code, message if isinstance(message, str) else "its task failed", error.get("data"))


def _lost(message: str) -> RpcError:
    """Nobody knows what became of it: OUTCOME_UNKNOWN, as a board would say it."""
    error = ToolError(ErrorCode.OUTCOME_UNKNOWN, message)
    return RpcError(number_of(error), message, data_of(error))
