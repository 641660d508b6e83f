"""A tool compiled: what the hooks said about it, as one closure that answers calls.

    admit -> validate -> approve -> limit -> execute -> normalise -> filter

Hooks were asked when the tool was registered; the closure is made at its first call and is all that runs from then on.
What a tool does not use is not on its path: no guard, no loop over guards; nothing to wait for, no cancel scope.

Invariants: a refusal is raised as a `ToolError` between the stages and becomes the result in one place; what the
handler raises is classified in one place (`classify`); whatever a limit took is given back however the call ends.
"""

from __future__ import annotations

import inspect
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pegboard.context import CallContext
from pegboard.contract import Guard, Stage
from pegboard.errors import PluginError, ToolError
from pegboard.pipeline.execution import is_async, make_execute, make_invoke, process_target, require_processes
from pegboard.pipeline.masking import masked
from pegboard.pipeline.normalise import clean_error
from pegboard.pipeline.stages import (
    acquire,
    approve,
    broken,
    filter_result,
    foresee,
    give_back,
    make_admit,
    make_prepare,
    missing_secrets,
    name_stage,
    of_stage,
)
from pegboard.results import ToolResult, noted, stamped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard.contract import Executor, Validator
    from pegboard.pipeline.runtime import Runtime
    from pegboard.pipeline.stages import Prepared, Verdicts
    from pegboard.session import Session
    from pegboard.tools import Tool

    Answer = Callable[[Session, Any, str, CallContext | None, Verdicts], Awaitable[ToolResult]]


class Plan:
    """One tool as it is on a board.

    `answer(session, arguments, call_id, parent, verdicts)` is the call itself, and never raises but for a genuine
    cancellation; `check(session, arguments)` runs its first two stages. `waits` says whether a call may wait for
    anything; that is not known before the first one, and so it may.
    """

    __slots__ = (
        "_check", "answer", "executor", "guards", "output_validator", "permissions", "runtime", "tool", "validator",
        "waits",
    )  # fmt: skip

    def __init__(
        self,
        tool: Tool,
        runtime: Runtime,
        *,
        guards: tuple[Guard, ...] = (),
        validator: Validator | None = None,
        output_validator: Validator | None = None,
        executor: Executor | None = None,
        permissions: Any = None,
    ) -> None:
        self.tool = tool
        self.runtime = runtime
        self.guards = guards
        self.validator = validator
        self.output_validator = output_validator
        self.executor = executor
        self.permissions = permissions
        self.answer: Answer = self._first_answer
        self.waits = True
        self._check: Callable[[Session, Any], ToolResult] | None = None

    async def _first_answer(
        self, session: Session, arguments: Any, call_id: str, parent: CallContext | None, verdicts: Verdicts
    ) -> ToolResult:
        self._compile()
        return await self.answer(session, arguments, call_id, parent, verdicts)

    def check(self, session: Session, arguments: Any) -> ToolResult:
        """What a call would meet: admit and validate for real, approve and limit as their guards foresee it."""
        return (self._check or self._compile())(session, arguments)

    def _compile(self) -> Callable[[Session, Any], ToolResult]:
        try:
            admit = make_admit(self.tool, of_stage(self.guards, Stage.ADMIT))
            prepare = make_prepare(self.tool, self.validator)
            self.answer = _make_answer(self, admit, prepare)
            self._check = _make_check(self, admit, prepare)
        except Exception as problem:  # noqa: BLE001 - a handler that cannot be looked into, a type that breaks
            refusal = Refusal(self.tool, broken(self.tool, problem, executed=False))
            self.answer, self._check = refusal.answer, refusal.check
        return self._check


class Refusal:
    """What is registered in the place of a tool that cannot be called: one that is disabled, or claimed by two
    plugins.
    """

    __slots__ = ("error", "tool")
    guards: tuple[Guard, ...] = ()
    waits = False

    def __init__(self, tool: Tool, error: ToolError) -> None:
        self.tool = tool
        self.error = error

    async def answer(
        self, session: Session, arguments: Any, call_id: str, parent: CallContext | None, verdicts: Verdicts
    ) -> ToolResult:
        """The refusal, as the answer of a call."""
        return stamped(ToolResult.of_error(self.error), call_id, self.tool.name, 0.0)

    def check(self, session: Session, arguments: Any) -> ToolResult:
        """The refusal, as a call would meet it."""
        return ToolResult.of_error(self.error)


PlanEntry = Plan | Refusal


def check_plan(tool: Tool) -> None:
    """Refuse a tool whose way of running cannot work.

    Raises:
        PluginError: it wants a worker process, and has none or could not reach it.
    """
    if tool.run == "process":
        process_target(tool)
        require_processes(tool)
    elif tool.run == "async" and not is_async(tool):
        raise PluginError(f'tool {tool.name!r} has run="async", but its handler is a plain function')


def _make_answer(
    plan: Plan, admit: Callable[[Session, Verdicts], None] | None, prepare: Callable[[Any], Prepared]
) -> Answer:
    from pegboard.result_store import read_result  # a tool like any other: it lies above

    tool, runtime, permissions = plan.tool, plan.runtime, plan.permissions
    name = tool.name
    approves, limits, filters = (of_stage(plan.guards, stage) for stage in (Stage.APPROVE, Stage.LIMIT, Stage.FILTER))
    timeout_s = runtime.timeout_of(tool)
    approval_timeout_s = runtime.approval_timeout_s
    max_bytes: float = tool.limits.max_result_bytes or runtime.max_result_bytes
    if tool.handler is read_result:
        max_bytes = float("inf")  # a page is as large as a result may be, and its note comes on top
    execute = make_execute(plan, timeout_s)
    waits = inspect.iscoroutinefunction(execute)
    plan.waits = waits or bool(approves or limits or filters)
    wants_context = bool(approves or limits or filters or tool.secrets or plan.executor) or make_invoke(tool)[1]

    async def answer(
        session: Session, arguments: Any, call_id: str, parent: CallContext | None, verdicts: Verdicts
    ) -> ToolResult:
        started = perf_counter()
        releases: list[Callable[[], object]] = []
        context: CallContext | None = None
        try:
            if admit is not None:
                admit(session, verdicts)
            arguments, kwargs, notes = prepare(arguments)
            if wants_context:
                context = CallContext(session, call_id, tool, permissions, parent)
                if approves:
                    await approve(tool, approves, approval_timeout_s, context, arguments, verdicts)
                if limits:
                    await acquire(tool, limits, context, arguments, verdicts, releases)
            if verdicts is not None:
                verdicts.reached = True
            executed = execute(context, kwargs, call_id, started)
            result, size = await executed if waits else executed
            if filters and context is not None:
                result, size = await filter_result(plan, filters, context, result, size, verdicts)
            if context is not None and (secrets := context.secrets_read):
                result = masked(result, secrets)  # before it is cut: what is kept can be read later
            if size * 4 > max_bytes:
                result = session.cut(result, int(max_bytes))
        except ToolError as refusal:
            elapsed_ms = (perf_counter() - started) * 1000
            result, notes = ToolResult.of_error(clean_error(refusal)[0], call_id, name, elapsed_ms), None
            if context is not None and (secrets := context.secrets_read):
                result = masked(result, secrets)
        except BaseException as problem:  # noqa: BLE001 - nothing but a genuine cancellation leaves a call
            result, notes = ToolResult.of_error(broken(tool, problem)), None
        finally:
            if releases:
                give_back(tool, releases)
        if notes is not None:
            result = noted(result, notes)
        return result if result.duration_ms else stamped(result, call_id, name, (perf_counter() - started) * 1000)

    return answer


def _make_check(
    plan: Plan, admit: Callable[[Session, Verdicts], None] | None, prepare: Callable[[Any], Prepared]
) -> Callable[[Session, Any], ToolResult]:
    tool = plan.tool
    foreseen = [guard for guard in plan.guards if guard.stage in (Stage.APPROVE, Stage.LIMIT)]

    def check(session: Session, arguments: Any) -> ToolResult:
        try:
            if admit is not None:
                admit(session, None)
            arguments, _, notes = prepare(arguments)
        except ToolError as refusal:
            return ToolResult.of_error(clean_error(refusal)[0])
        asks = [ask for guard in foreseen if (ask := foresee(guard, session, arguments)) is not None]
        asks += missing_secrets(tool)
        lines = [f"{name_stage(ask)}: {ask['says']}" for ask in asks] or ["nothing else is asked"]
        text = "\n".join([f"{tool.name}: the arguments are right and the call is admitted", *lines])
        return ToolResult.text(
            text, data={"would_run": not any("code" in a for a in asks), "asks": asks, **(notes or {})}
        )

    return check
