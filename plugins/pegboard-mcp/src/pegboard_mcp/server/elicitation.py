"""One request of a client while it is answered, and what the board asks the client back meanwhile.

In the handshake era a question is a request of the server's, sent beside the one it belongs to. From 2026-07-28 on a
server may not send any: the request is answered with `input_required`, and the client sends it again with the answers.
Nothing runs twice for that. The work runs in a task of its own, which goes on waiting (*suspended*) under a state that
is sealed (`server.handles`), and the repeated request takes it up again. A state is good for one round, for the same
caller, and for the same request; one that is not taken up in time ends its work.

Answers that come before they are asked for are kept for the question of their key, as a client sends them that repeats
a request without its state.
"""

from __future__ import annotations

import contextlib
import contextvars
import secrets
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import trio
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    LOG_LEVEL_META_KEY,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    ElicitRequest,
    ListRootsRequest,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import RootModel, TypeAdapter, ValidationError

from pegboard import ErrorCode, ToolError
from pegboard_mcp.server.errors import invalid_params, protocol_error
from pegboard_mcp.server.handles import STATE, elsewhere, lost

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server.context import ServerRequestContext

    from pegboard import Session
    from pegboard_mcp.server.handles import Handles
    from pegboard_serving import Caller

MAX_SUSPENDED = 1_000
"""Requests of one server that wait for answers at once."""
MAX_SUSPENDED_OF_ONE = 64
"""Those of one session."""
MAX_OPEN = 32
"""Questions of one request that are open at once."""
CLAIM_S = 60.0
"""How long an answer is kept that came while nobody waited for it."""
BECOMES_TASK: Mapping[str, Any] = {"task": True}
"""What a request comes to that is answered with a task: `server.tasks`."""
GATHER = 2
"""Turns of the loop that tasks of one request have to ask in the same round."""

CREATE, ELICIT, ROOTS = "sampling/createMessage", "elicitation/create", "roots/list"
CAPABILITIES = {CREATE: "sampling", ELICIT: "elicitation", ROOTS: "roots"}

current: contextvars.ContextVar[Exchange] = contextvars.ContextVar("pegboard_mcp_exchange")
"""The request that is being answered; threads and tasks of a tool inherit it."""


class Raw(RootModel[dict[str, Any]]):
    """A result as it came, once the SDK has held its shape."""


_REQUESTS: Mapping[str, TypeAdapter[Any]] = {
    CREATE: TypeAdapter(CreateMessageRequest),
    ELICIT: TypeAdapter(ElicitRequest),
    ROOTS: TypeAdapter(ListRootsRequest),
}


class _Question:
    """One question, until it is answered."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.answered = trio.Event()
        self.answer: dict[str, Any] = {}


class Asker(Protocol):
    """What an exchange knows of the session that it belongs to: see `pegboard_mcp.server.sessions.Connected`."""

    session: Session
    caller: Caller
    level: str
    exchanges: set[Exchange]

    @property
    def owner(self) -> object:
        """The table that it stands in."""


class Exchange:
    """One request that is being answered.

    Attributes:
        ctx: the SDK's context of the request; of the latest, where it was repeated.
        connected: whose it is.
        what: name of the tool, or whatever else tells it from others of the session.
        refused: an error of the protocol that takes the place of whatever the work answers.
        said: what the work said last of its progress, where it may become a task.
    """

    def __init__(self, ctx: ServerRequestContext[Any, Any], connected: Asker, what: str = "") -> None:
        self.ctx = ctx
        self.connected = connected
        self.what = what
        self.is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self.refused: MCPError | None = None
        self._capabilities: dict[str, Any] | None = None
        self._given: dict[str, Any] = {}
        self._open: dict[str, _Question] = {}
        self._count = 0
        self._progress = float("-inf")
        self._logs: deque[dict[str, Any]] = deque(maxlen=1_000)
        self._log_lock: trio.Lock | None = None
        # Of one that may become a task of its client:
        self.task_after_s: float | None = None
        self._wants_task = False
        self._decided = trio.Event()
        self._on_change: Callable[[], None] | None = None
        self.said: str | None = None
        self._used: set[str] = set()
        # Of work in a task of its own:
        self._scope: trio.CancelScope | None = None
        self._news = trio.Event()
        self._done = trio.Event()
        self._outcome: tuple[Any, BaseException | None] | None = None

    @property
    def least_level(self) -> str | None:
        """The least severe log records that the client wants; None: none at all."""
        if not self.is_modern:
            return self.connected.level
        meta: Mapping[str, Any] = self.ctx.meta or {}
        wanted = meta.get(LOG_LEVEL_META_KEY)
        return wanted if isinstance(wanted, str) else None

    # -- what the client can do

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the client declared, as JSON."""
        if self._capabilities is None:
            declared = self.ctx.session.client_capabilities
            self._capabilities = {} if declared is None else declared.model_dump(by_alias=True, exclude_none=True)
        return self._capabilities

    def can(self, what: str) -> bool:
        """Whether the client declared a capability: `sampling`, `elicitation`, `elicitation.url`, `roots`, ..."""
        first, _, second = what.partition(".")
        declared = self.capabilities.get(first)
        if declared is None or (not self.is_modern and not self.ctx.session.can_send_request):
            return False
        if what == "elicitation.form":
            return "form" in declared or "url" not in declared
        return not second or second in declared

    # -- asking

    def key_for(self, kind: str) -> str:
        """A key for a question: the same one each time that the same work asks."""
        self._count += 1
        return f"{kind}-{self._count}"

    def require(self, what: str) -> None:
        """Require that the client declared a capability.

        Raises:
            ToolError: FORBIDDEN: it did not; from 2026-07-28 on the whole request is answered with -32021.
        """
        if self.can(what):
            return
        first, _, second = what.partition(".")
        if self.is_modern:
            required: dict[str, Any] = {first: {second: {}} if second else {}}
            self.refused = MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY,
                f"this needs a client that declares the capability {what}",
                {"requiredCapabilities": required},
            )
        raise ToolError(
            ErrorCode.FORBIDDEN, f"this needs a client with the capability {what}", reason="capability", capability=what
        )

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Ask the client, all at once.

        Args:
            requests: by key, `{"method": ..., "params": ...}` of sampling, elicitation or roots.

        Returns:
            The client's results as JSON, by key.

        Raises:
            ToolError: the client cannot be asked, refused, or answered what is not an answer.
        """
        asked = {key: _checked(request) for key, request in requests.items()}
        if self.is_task:
            return await self._ask_of_task(asked)
        if self.is_modern:
            return await self._ask_in_rounds(asked)
        answers: dict[str, dict[str, Any]] = {}

        async def one(key: str, request: dict[str, Any]) -> None:
            answers[key] = await self._send(request)

        if len(asked) == 1:
            for key, request in asked.items():
                await one(key, request)
            return answers
        problem: ToolError | None = None
        try:
            async with trio.open_nursery() as nursery:
                for key, request in asked.items():
                    nursery.start_soon(one, key, request)
        except* ToolError as group:
            problem = next(each for each in _leaves(group) if isinstance(each, ToolError))
        if problem is not None:
            raise problem
        return answers

    async def _send(self, request: dict[str, Any]) -> dict[str, Any]:
        related = ServerMessageMetadata(related_request_id=self.ctx.request_id)
        message = _REQUESTS[request["method"]].validate_python(request)
        try:
            return (await self.ctx.session.send_request(message, Raw, metadata=related)).root
        except MCPError as problem:
            why = f"the client answered {request['method']} with an error: {problem.message[:200]}"
        except ValidationError:
            why = f"the client answered {request['method']} with what is not an answer to it"
        raise ToolError(ErrorCode.UPSTREAM_ERROR, why, reason="client")

    async def _ask_of_task(self, asked: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Ask under keys that are good for one question of a task alone, though its tool asks under one again."""
        fresh = {
            key: key if key not in self._used else f"{key}-{len(self._used)}-{index}" for index, key in enumerate(asked)
        }
        self._used.update(fresh.values())
        answers = await self._ask_in_rounds({fresh[key]: request for key, request in asked.items()})
        return {key: answers[fresh[key]] for key in asked}

    async def _ask_in_rounds(self, asked: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if self._scope is None or len(self._open) + len(asked) > MAX_OPEN:
            raise ToolError(ErrorCode.FORBIDDEN, "the client cannot be asked here", reason="confirmation")
        answers: dict[str, dict[str, Any]] = {}
        questions: dict[str, _Question] = {}
        twice = next((key for key in asked if key in self._open), None)
        if twice is not None:
            raise ToolError(ErrorCode.INTERNAL_ERROR, f"the tool asks its client {twice[:40]!r} twice at once")
        for key, request in asked.items():
            given = self._given.pop(key, None)
            if _fits(request["method"], given):
                answers[key] = given
            else:
                questions[key] = self._open[key] = _Question(request)
        try:
            if questions:
                self._news.set()
                self._changed()
            for key, question in questions.items():
                await question.answered.wait()
                answers[key] = question.answer
        finally:
            for key in questions:
                self._open.pop(key, None)
        return answers

    # -- telling

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Tell the client how far the work is; what does not grow is not progress (the protocol's rule)."""
        if done > self._progress:
            self._progress = done
            if self.task_after_s is not None or self.is_task:
                self.said = message or (f"{done:g}" if total is None else f"{done:g} of {total:g}")
            if self.is_task:
                self._changed()
                return
            await self.ctx.session.report_progress(done, total, message)

    def log(self, entry: dict[str, Any]) -> None:
        """Keep a log record for the client; `flush_logs` sends it. A task has no stream to send it on."""
        if not self.is_task:
            self._logs.append(entry)

    async def flush_logs(self) -> None:
        """Send what was logged, in its order; a client that is gone hears nothing of it."""
        from mcp_types import LoggingMessageNotification

        if self._log_lock is None:
            self._log_lock = trio.Lock()
        async with self._log_lock:
            while self._logs:
                params = self._logs.popleft()
                message = LoggingMessageNotification.model_validate(
                    {"method": "notifications/message", "params": params}
                )
                with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self.ctx.session.send_notification(message, related_request_id=self.ctx.request_id)

    @property
    def has_logs(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._logs)

    # -- work in a task of its own

    async def run(self, work: Callable[[], Awaitable[Any]]) -> None:
        """The task of the work: its outcome waits for who asks for it."""
        with trio.CancelScope() as scope:
            self._scope = scope
            try:
                self._outcome = (await work(), None)
            except Exception as problem:  # noqa: BLE001 - raised again where it is answered
                self._outcome = (None, problem)
        if self._outcome is None:
            gone = ToolError(ErrorCode.TIMEOUT, "the request was not taken up again in time", reason="confirmation")
            self._outcome = (None, gone)
        self._news.set()
        self._done.set()

    def resume(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """The request came again: from here on it is this one that is answered."""
        self.ctx = ctx
        self._capabilities = None

    def give(self, responses: Mapping[str, Any], *, open_alone: bool = False) -> None:
        """Answers of the client: those that were asked for, and others that may be.

        Args:
            responses: by the keys of their questions.
            open_alone: pass over those of questions that are not open.

        Raises:
            MCPError: -32602: one is not an answer to its question; nothing was taken.
        """
        if open_alone:
            responses = {key: response for key, response in responses.items() if key in self._open}
        for key, response in responses.items():
            question = self._open.get(key)
            if not isinstance(response, dict) or (question and not _fits(question.request["method"], response)):
                raise invalid_params(f"inputResponses: what stands under {key[:40]!r} is not an answer")
        for key, response in responses.items():
            question = self._open.pop(key, None)
            if question is not None:
                question.answer = response
                question.answered.set()
            elif len(self._given) < MAX_OPEN:
                self._given[key] = response
        if responses:
            self._changed()

    async def outcome(self) -> Any:
        """Wait for what the work comes to: its answer, `{"inputRequests": ...}` of what it asks, or `BECOMES_TASK`."""
        try:
            with contextlib.nullcontext() if self.task_after_s is None else trio.move_on_after(self.task_after_s):
                await self._news_of_work()
            if self._outcome is None:
                return {"inputRequests": self.open_requests} if self._open else BECOMES_TASK
        except BaseException:
            self.cancel()
            raise
        answer, problem = self._outcome
        if problem is not None:
            raise problem
        return answer

    async def _news_of_work(self) -> None:
        while self._outcome is None:
            for _ in range(GATHER if self._open else 0):
                await trio.lowlevel.checkpoint()
            if self._open or self._wants_task:
                return
            if self._outcome is None:
                self._news = trio.Event()
                await self._news.wait()

    def result(self) -> Any:
        """What the work answered.

        Raises:
            Exception: what it raised, or what the protocol wants instead.
        """
        assert self._outcome is not None, "it is done"
        answer, problem = self._outcome
        if problem is not None:
            raise problem
        if self.refused is not None and answer.get("isError"):
            raise self.refused
        return answer

    @property
    def is_done(self) -> bool:
        """Whether the work is done."""
        return self._outcome is not None

    async def wait_done(self) -> None:
        """Wait until it is."""
        await self._done.wait()

    @property
    def open_requests(self) -> dict[str, dict[str, Any]]:
        """What is asked and not answered yet, by its key."""
        return {key: one.request for key, one in self._open.items()}

    # -- a task of the client

    def offer_task(self, after_s: float | None) -> None:
        """Say after how long this very request may be answered with a task; None: its client takes none."""
        self.task_after_s = after_s
        if after_s is None and self._wants_task:
            self._decide()

    async def start_task(self) -> bool:
        """Have the request answered with a task now; whether it was, or could not be."""
        if self.task_after_s is not None and not self._decided.is_set():
            self._wants_task = True
            self._news.set()
            await self._decided.wait()
        return self.is_task

    @property
    def is_task(self) -> bool:
        """Whether the request is answered with a task."""
        return self._on_change is not None

    def become_task(self, on_change: Callable[[], None]) -> None:
        """The request is answered with a task: from here on nothing is sent, and `on_change` hears when the work says
        how far it is, asks, or is answered."""
        self._on_change = on_change
        self._logs.clear()
        _ = self.capabilities  # as the request declares them, which is over
        self.connected.exchanges.add(self)
        self._decide()

    def stay_request(self) -> None:
        """There is no place for a task: the request is answered when its work is done."""
        self.task_after_s = None
        self._decide()

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change()

    def _decide(self) -> None:
        self._wants_task = False
        self._decided.set()

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        if self._scope is not None:
            self._scope.cancel()

    def hold_until(self, deadline: float) -> None:
        """Bound the wait for the next round, in seconds of the loop's clock."""
        if self._scope is not None:
            self._scope.deadline = deadline


class Suspended:
    """Requests that wait for their clients to come back with answers, each under a state that is good for one round.

    Args:
        limit_s: how long each waits.
        handles: seals the states.
    """

    def __init__(self, limit_s: float, handles: Handles) -> None:
        self._limit_s = limit_s
        self._handles = handles
        self._waiting: dict[str, tuple[Exchange, str]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def keep(self, exchange: Exchange, request: str) -> str:
        """Keep a request; returns its state.

        Raises:
            ToolError: RATE_LIMITED: too many wait.
        """
        self._sweep()
        own = sum(1 for other, _ in self._waiting.values() if other.connected is exchange.connected)
        if len(self._waiting) >= MAX_SUSPENDED or own >= MAX_SUSPENDED_OF_ONE:
            exchange.cancel()
            raise ToolError(ErrorCode.RATE_LIMITED, "too many requests wait for answers of their clients")
        key = secrets.token_urlsafe(16)
        self._waiting[key] = (exchange, request)
        exchange.hold_until(trio.current_time() + self._limit_s)
        return self._handles.give(STATE, key, bound_to=request, for_s=self._limit_s + CLAIM_S)

    def take(self, state: Any, connected: Asker, request: str) -> tuple[str, Exchange]:
        """The request that waits under a state, and its key here.

        Raises:
            MCPError: -32602: there is none, or it is another's, or another request; -32005: another instance has it,
                or had it.
        """
        self._sweep()
        sealed = self._handles.read(STATE, state, bound_to=request)
        if sealed is not None and sealed.name != self._handles.own:
            if self._handles.is_over(sealed.name):
                raise protocol_error(lost())
            raise protocol_error(elsewhere())
        found = None if sealed is None else self._waiting.get(sealed.id)
        if sealed is None or found is None or found[0].connected is not connected:
            raise invalid_params("Invalid or expired requestState")
        del self._waiting[sealed.id]
        found[0].hold_until(float("inf"))
        return sealed.id, found[0]

    def put_back(self, key: str, exchange: Exchange, request: str) -> None:
        """Answers were of no use: the state stays good."""
        self._waiting[key] = (exchange, request)
        exchange.hold_until(trio.current_time() + self._limit_s)

    def _sweep(self) -> None:
        """Forget work that ended and was not asked for in time."""
        now = trio.current_time()
        for key, (exchange, _) in tuple(self._waiting.items()):
            scope = exchange._scope
            if exchange._outcome is not None and scope is not None and scope.deadline + CLAIM_S < now:
                del self._waiting[key]


def _checked(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request of the board's, in the shape that the protocol gives it.

    Raises:
        ToolError: INTERNAL_ERROR: it has another.
    """
    method = request.get("method")
    try:
        message = _REQUESTS[str(method)].validate_python({"method": method, "params": request.get("params") or {}})
    except (KeyError, ValidationError):
        raise ToolError(
            ErrorCode.INTERNAL_ERROR, f"the tool asks its client what is not a {str(method)[:40]} request"
        ) from None
    shaped: dict[str, Any] = message.model_dump(by_alias=True, mode="json", exclude_none=True)
    return shaped


def _fits(method: str, answer: Any) -> bool:
    """Whether a client's answer has the shape that its question wants."""
    if not isinstance(answer, dict):
        return False
    if method == ELICIT:
        content = answer.get("content")
        return answer.get("action") in ("accept", "decline", "cancel") and (
            content is None or isinstance(content, dict)
        )
    if method == CREATE:
        return isinstance(answer.get("role"), str) and isinstance(answer.get("content"), (dict, list))
    return isinstance(answer.get("roots"), list)


def _leaves(group: BaseExceptionGroup[Any]) -> list[BaseException]:
    found: list[BaseException] = []
    for each in group.exceptions:
        found += _leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    return found
