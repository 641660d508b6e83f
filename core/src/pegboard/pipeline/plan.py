"""A tool compiled: what the hooks said about it, as one closure that answers calls.

    admit -> validate -> approve -> limit -> execute -> normalise -> filter

Hooks were asked when the tool was hung; the closure is made at its first call and is all that runs from then on. What
a tool does not use is not on its path: no guard, no loop over guards; nothing to wait for, no cancel scope.

Invariants: a refusal is raised as a `ToolError` between the stages and becomes the result in one place; what the
handler raises is classified in one place (`classify`); whatever a limit took is given back however the call ends.
"""

from __future__ import annotations

import inspect
import logging
from time import perf_counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.content import BinaryContent, TextContent
from pegboard.context import CallContext, mask
from pegboard.contract import Guard, Stage, Verdict
from pegboard.errors import ErrorCode, Fault, PluginError, Retry, ToolError
from pegboard.pipeline.classify import classify, pass_on, repeat_of, timed_out
from pegboard.pipeline.execution import (
    THREADS_PER_TOOL,
    Started,
    make_invoke,
    process_target,
    require_processes,
    run_in_process,
    run_in_thread,
)
from pegboard.pipeline.normalise import UnusableError, clean_error, make_normalise, unusable
from pegboard.results import ToolResult, stamped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from pegboard.content import Content
    from pegboard.contract import Executor, Validator
    from pegboard.pipeline.runtime import Runtime
    from pegboard.session import Session
    from pegboard.tools import Tool

    Verdicts = list[Verdict] | None
    Answer = Callable[[Session, Any, str, CallContext | None, Verdicts], Awaitable[ToolResult]]
    Prepared = tuple[Any, Mapping[str, Any], dict[str, Any] | None]
    """The arguments as they stand after repair, the handler's keyword arguments, what was repaired."""

log = logging.getLogger("pegboard")

LATE_S = 0.1
"""From here on an answer that came after its deadline says by how much."""


class Plan:
    """One tool as it hangs on a board.

    `answer(session, arguments, call_id, parent, verdicts)` is the call itself, and never raises but for a genuine
    cancellation; `check(session, arguments)` runs its first two stages.
    """

    __slots__ = (
        "_check", "answer", "executor", "guards", "output_validator", "permissions", "runtime", "tool", "validator",
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
            admit = _make_admit(self.tool, _of_stage(self.guards, Stage.ADMIT))
            prepare = _make_prepare(self.tool, self.validator)
            self.answer = _make_answer(self, admit, prepare)
            self._check = _make_check(self, admit, prepare)
        except Exception as problem:  # noqa: BLE001 - a handler that cannot be looked into, a type that breaks
            refusal = Refusal(self.tool, _broken(self.tool, problem, executed=False))
            self.answer, self._check = refusal.answer, refusal.check
        return self._check


class Refusal:
    """What hangs in the place of a tool that cannot be called: one that is disabled, or claimed by two plugins."""

    __slots__ = ("error", "tool")

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


Hung = Plan | Refusal


def check_plan(tool: Tool) -> None:
    """Refuse a tool whose way of running cannot work.

    Raises:
        PluginError: it wants a worker process, and has none or could not reach it.
    """
    if tool.run == "process":
        process_target(tool)
        require_processes(tool)
    elif tool.run == "async" and not _is_async(tool):
        raise PluginError(f'tool {tool.name!r} has run="async", but its handler is a plain function')


def order_guards(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Guards in the order they are asked: by stage, then by `after=`, then by name; never by installation.

    Raises:
        PluginError: two have one name, or `after=` goes in a circle.
    """
    guards = tuple(guards)
    if len(guards) == 1 and isinstance(guards[0], Guard):
        return guards
    by_name: dict[str, Guard] = {}
    for guard in guards:
        if by_name.setdefault(guard.name, guard) is not guard:
            raise PluginError(f"two guards are named {guard.name!r}")
    stages = list(Stage)
    waiting = sorted(by_name.values(), key=lambda guard: (stages.index(guard.stage), guard.name))
    ordered: list[Guard] = []
    while waiting:
        left = {guard.name for guard in waiting}
        ready = next((guard for guard in waiting if not left.intersection(guard.after)), None)
        if ready is None:
            raise PluginError(f"the guards {', '.join(sorted(left))} wait for each other: mend their after=")
        waiting.remove(ready)
        ordered.append(ready)
    return tuple(sorted(ordered, key=lambda guard: stages.index(guard.stage)))


def _of_stage(guards: tuple[Guard, ...], stage: Stage) -> tuple[Guard, ...]:
    return tuple(guard for guard in guards if guard.stage is stage)


def _is_async(tool: Tool) -> bool:
    handler = inspect.unwrap(tool.handler)
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - asks what kind of callable it is


# admit --------------------------------------------------------------------------------------------------------------


def _make_admit(tool: Tool, guards: tuple[Guard, ...]) -> Callable[[Session, Verdicts], None] | None:
    """Ask every admit guard; raises the refusal of the first that enforces one."""
    if not guards:
        return None

    def admit(session: Session, verdicts: Verdicts) -> None:
        for guard in guards:
            started = perf_counter() if verdicts is not None else 0.0
            try:
                refusal = guard.check(session)
                if refusal is not None and not isinstance(refusal, ToolError):
                    refusal = _odd_guard(tool, guard, refusal)
            except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
                refusal = _failed_guard(tool, guard, problem)
            if verdicts is not None:
                _record(verdicts, guard, refusal, started)
            if refusal is not None and guard.mode == "enforce":
                raise refusal

    return admit


def _record(verdicts: list[Verdict], guard: Guard, refusal: Any, started: float) -> None:
    word = "passed"
    if isinstance(refusal, GuardFailedError):
        word = "failed"
    elif isinstance(refusal, ToolError):
        word = "refused" if guard.mode == "enforce" else "would_refuse"
    verdicts.append(Verdict(guard.name, guard.stage, word, round((perf_counter() - started) * 1e6, 1)))


class GuardFailedError(ToolError):
    """The refusal of a guard that did not decide but broke."""


def _odd_guard(tool: Tool, guard: Guard, answer: object) -> ToolError:
    """A guard that answers what is no answer has failed: it is not for the host to guess what True means."""
    if inspect.iscoroutine(answer):
        answer.close()
    return _failed_guard(tool, guard, TypeError(f"it answered {type(answer).__name__}, expected ToolError or None"))


def _failed_guard(tool: Tool, guard: Guard, problem: BaseException) -> ToolError:
    pass_on(problem)
    if isinstance(problem, ToolError):
        return problem
    log.error("guard %s of tool %s failed", guard.name, tool.name, exc_info=problem)
    return GuardFailedError(
        ErrorCode.INTERNAL_ERROR,
        f"the guard {guard.name!r} failed, so the call was refused; its cause is in the host's log",
        guard=guard.name,
        executed=False,
        retry=Retry.SAME.value,
    )


# validate -----------------------------------------------------------------------------------------------------------


def _make_prepare(tool: Tool, validate: Validator | None) -> Callable[[Any], Prepared]:
    """From untrusted arguments to the handler's keyword arguments; raises INVALID_INPUT with every fault."""
    signature, schema = tool.signature, tool.input_schema
    bind = None if signature is None else signature.binder()
    lets_more_in = schema.get("type") != "object"  # a schema that says so little that a list would pass
    quick = signature.quick() if signature is not None and signature.schema is schema else None

    def prepare(arguments: Any) -> Prepared:
        try:
            if quick is not None and (taken := quick(arguments)) is not None:
                return arguments, taken, None
            faults: Sequence[Fault] = validate(arguments) if validate is not None else ()
            if not faults:
                if bind is None:
                    if lets_more_in and not isinstance(arguments, dict):
                        raise invalid_input(tool.name, [Fault((), "an object", type(arguments).__name__)])
                    return arguments, arguments, None
                kwargs = bind(arguments)
                if isinstance(kwargs, dict):
                    return arguments, kwargs, None
                return mend(arguments, kwargs)
            return mend(arguments, faults)
        except ToolError:
            raise
        except BaseException as problem:  # a validator, or a class of the author, that breaks
            raise _broken(tool, problem, executed=False) from problem

    def mend(arguments: Any, faults: Sequence[Fault]) -> Prepared:
        from pegboard.schema.repair import repair

        repaired = repair(schema, arguments, faults)
        if repaired is not None:
            value, repairs = repaired
            faults = validate(value) if validate is not None else ()
            if not faults:
                kwargs = value if bind is None else bind(value)
                if isinstance(kwargs, dict):
                    return value, kwargs, {"repaired": repairs}
                faults = kwargs
        raise invalid_input(tool.name, faults)  # of the repaired value: what was mended need not be said

    return prepare


def _broken(tool: Tool, problem: BaseException, **details: Any) -> ToolError:
    """INTERNAL_ERROR for a call that broke outside of its handler."""
    pass_on(problem)
    log.error("a call of tool %s failed in the host", tool.name, exc_info=problem)
    return ToolError(
        ErrorCode.INTERNAL_ERROR,
        f"the call of {tool.name!r} failed in the host ({type(problem).__name__}); its cause is in the host's log",
        exception=type(problem).__name__,
        **details,
    )


def invalid_input(name: str, faults: Sequence[Fault]) -> ToolError:
    """INVALID_INPUT with every fault at once: in the text for a model, in `details.faults` for a program."""
    shown = "; ".join(map(str, faults[:10])) + ("; ..." if len(faults) > 10 else "")
    return ToolError(
        ErrorCode.INVALID_INPUT,
        f"invalid arguments for {name!r}: {shown}",
        faults=[fault.to_json() for fault in faults],
    )


# approve, limit, filter: the stages that may wait ---------------------------------------------------------------------


async def _ask(guard: Guard, *arguments: Any) -> Any:
    answer = guard.check(*arguments)
    return await answer if inspect.isawaitable(answer) else answer


def _observe(guard: Guard, given: tuple[Any, ...], session: Session, arguments: Any) -> Any:
    """What a guard in mode observe says: its check where that does not wait, else what it foresees."""
    if not inspect.iscoroutinefunction(guard.check):
        answer = guard.check(*given)
        if not inspect.isawaitable(answer):
            return answer
        if inspect.iscoroutine(answer):
            answer.close()
    return None if guard.peek is None else guard.peek(session, arguments)


async def _approve(
    tool: Tool, guards: tuple[Guard, ...], timeout_s: float, context: CallContext, arguments: Any, verdicts: Verdicts
) -> None:
    import trio

    for guard in guards:
        started = perf_counter()
        refusal: Any = None
        with trio.move_on_after(timeout_s) as scope:
            try:
                if guard.mode == "observe":
                    refusal = _observe(guard, (context, arguments), context.session, arguments)
                else:
                    refusal = await _ask(guard, context, arguments)
                    if refusal is not None and not isinstance(refusal, ToolError):
                        refusal = _odd_guard(tool, guard, refusal)
            except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
                refusal = _failed_guard(tool, guard, problem)
        if scope.cancelled_caught:
            refusal = ToolError(
                ErrorCode.FORBIDDEN,
                f"nobody approved the call within {timeout_s:g} s",
                reason="confirmation",
                guard=guard.name,
                executed=False,
                retry=Retry.SAME.value,
            )
        if verdicts is not None:
            _record(verdicts, guard, refusal, started)
        if refusal is not None and guard.mode == "enforce":
            raise refusal


async def _acquire(
    tool: Tool, guards: tuple[Guard, ...], context: CallContext, arguments: Any, verdicts: Verdicts,
    releases: list[Callable[[], object]],
) -> None:  # fmt: skip
    """Take from every limit, and note in `releases` how to give it back, at once: the next one may refuse."""
    for guard in guards:
        started = perf_counter()
        try:
            if guard.mode == "enforce":
                taken = await _ask(guard, context)
                if taken is not None and not isinstance(taken, ToolError) and not callable(taken):
                    taken = _odd_guard(tool, guard, taken)
            else:
                taken = _observe(guard, (context,), context.session, arguments)
        except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
            taken = _failed_guard(tool, guard, problem)
        if verdicts is not None:
            _record(verdicts, guard, taken, started)
        if callable(taken):
            releases.append(taken)
        elif taken is not None and guard.mode == "enforce":
            raise taken


def _give_back(tool: Tool, releases: list[Callable[[], object]]) -> None:
    for release in reversed(releases):
        try:
            release()
        except (Exception, SystemExit):
            log.exception("a limit of tool %s could not be given back", tool.name)


async def _filter(
    plan: Plan, guards: tuple[Guard, ...], context: CallContext, result: ToolResult, size: int, verdicts: Verdicts
) -> tuple[ToolResult, int]:
    """Let every filter replace content and data; what they made is checked again."""
    from pegboard.pipeline.normalise import check_output, to_result

    for guard in guards:
        started = perf_counter()
        refusal: ToolError | None = None
        try:
            replaced, new_size = to_result(await _ask(guard, context, result))
            if plan.output_validator is not None and replaced.error is None:
                check_output(plan.output_validator, replaced)
            if guard.mode == "enforce":
                size = new_size
                error = replaced.error or result.error  # no filter makes a failure a success
                result = ToolResult(
                    replaced.content, replaced.data, error, result.details, result.id, result.name, result.duration_ms
                )
        except BaseException as problem:  # a filter that fails withholds
            pass_on(problem)
            log.exception("filter %s of tool %s failed", guard.name, plan.tool.name, exc_info=problem)
            refusal = GuardFailedError(
                ErrorCode.INTERNAL_ERROR,
                f"the tool {plan.tool.name!r} ran, but its result is withheld: the filter {guard.name!r} failed",
                guard=guard.name,
                executed=True,
                retry=repeat_of(plan.tool).value,
            )
        if verdicts is not None:
            _record(verdicts, guard, refusal, started)
        if refusal is not None and guard.mode == "enforce":
            raise refusal
    return result, size


# execute ------------------------------------------------------------------------------------------------------------


def _make_execute(plan: Plan, timeout_s: float) -> Callable[..., Any]:
    """Compile `execute(context, kwargs, call_id, started)`: run the handler where it belongs, answer what it does.

    It gives the result and its size; it is a plain function for a plain handler that runs in place, else async.
    """
    import trio

    tool = plan.tool
    normalise = make_normalise(tool, plan.output_validator)
    invoke, takes_context = make_invoke(tool)
    handler = tool.handler

    def failed(
        problem: BaseException, context: CallContext | None, timed_out_after_s: float | None, **details: Any
    ) -> tuple[ToolResult, int]:
        secrets = () if context is None else context.secrets_read
        error = classify(problem, tool, timed_out_after_s=timed_out_after_s, secrets=secrets)
        error, size = clean_error(error)
        return ToolResult.of_error(ToolError(error.code, error.message, {**error.details, **details})), size

    def usable(value: Any, call_id: str, started: float) -> tuple[ToolResult, int]:
        try:
            return normalise(value, call_id, started)
        except UnusableError as problem:
            return ToolResult.of_error(unusable(tool, problem)), 0
        except BaseException as problem:  # a value of the author's own class may raise anything
            pass_on(problem)
            log.exception("what tool %s returned cannot be read", tool.name, exc_info=problem)
            return ToolResult.of_error(unusable(tool, UnusableError("returned what breaks when it is read"))), 0

    if tool.run == "inplace" and plan.executor is None:

        def settle(value: Any, call_id: str, started: float) -> tuple[ToolResult, int]:
            result, size = usable(value, call_id, started)
            return (_late(result, timeout_s) if result.duration_ms > timeout_s * 1000 else result), size

        def execute_in_place(
            context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float
        ) -> tuple[ToolResult, int]:
            try:
                value = invoke(kwargs, context) if takes_context else handler(**kwargs)
            except BaseException as problem:  # noqa: BLE001 - classified in one place
                return failed(problem, context, None)
            return settle(value, call_id, started)

        async def execute_async_in_place(
            context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float
        ) -> tuple[ToolResult, int]:
            try:
                value = await (invoke(kwargs, context) if takes_context else handler(**kwargs))
            except BaseException as problem:  # noqa: BLE001 - classified in one place
                return failed(problem, context, None)
            return settle(value, call_id, started)

        return execute_async_in_place if _is_async(tool) else execute_in_place

    start = _make_start(plan, invoke)
    plain = start is None and not takes_context
    cancel_scope, current_time, limit_ms = trio.CancelScope, trio.current_time, timeout_s * 1000

    async def execute(
        context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float
    ) -> tuple[ToolResult, int]:
        scope = cancel_scope(deadline=current_time() + timeout_s)
        reached = Started(call_id) if start is not None else None
        if context is not None:
            context.deadline = scope.deadline
        try:
            with scope:
                if plain:
                    value = await handler(**kwargs)
                elif start is None:
                    value = await invoke(kwargs, context)
                else:
                    value = await start(kwargs, context, reached)
        except BaseException as problem:  # noqa: BLE001 - classified in one place
            details = _timeout_details(tool, scope.deadline, reached) if scope.cancel_called else {}
            return failed(problem, context, timeout_s if scope.cancel_called else None, **details)
        if scope.cancelled_caught:
            details = _timeout_details(tool, scope.deadline, reached)
            return ToolResult.of_error(timed_out(tool, timeout_s, **details)), 0
        result, size = usable(value, call_id, started)
        if scope.cancel_called or (result.duration_ms > limit_ms and current_time() > scope.deadline):
            result = _late(result, timeout_s)
        return result, size

    return execute


def _make_start(plan: Plan, invoke: Callable[..., Any]) -> Callable[..., Awaitable[Any]] | None:
    """How a handler outside the loop is started; None for one that is simply awaited."""
    import trio

    tool, runtime = plan.tool, plan.runtime
    if plan.executor is not None:
        executor = plan.executor

        async def start_elsewhere(kwargs: Mapping[str, Any], context: CallContext, reached: Started) -> Any:
            reached.yes = True
            return await executor(context, kwargs)

        return start_elsewhere
    if tool.run == "thread":
        limiter = trio.CapacityLimiter(min(tool.limits.concurrency or THREADS_PER_TOOL, THREADS_PER_TOOL))

        async def start_thread(kwargs: Mapping[str, Any], context: CallContext | None, reached: Started) -> Any:
            return await run_in_thread(runtime, tool, limiter, lambda: invoke(kwargs, context), reached)

        return start_thread
    if tool.run == "process":
        target = process_target(tool)
        processes = trio.CapacityLimiter(tool.limits.concurrency or THREADS_PER_TOOL)

        async def start_process(kwargs: Mapping[str, Any], context: CallContext | None, reached: Started) -> Any:
            reached.yes = True
            return await run_in_process(runtime, target, kwargs, processes)

        return start_process
    return None


def _timeout_details(tool: Tool, deadline: float, reached: Started | None) -> dict[str, Any]:
    """What is left of a call that met its deadline."""
    import trio

    details: dict[str, Any] = {}
    if trio.current_time() - deadline > LATE_S:
        details["late_s"] = round(trio.current_time() - deadline, 3)
    if reached is not None and not reached.yes:
        details |= {"executed": False, "retry": Retry.SAME.value, "retry_after_s": 1}
    elif reached is not None and tool.run == "thread":
        details["still_running"] = True
    return details


def _late(result: ToolResult, timeout_s: float) -> ToolResult:
    return _noted(result, {"late": True, "timeout_s": timeout_s})


def _noted(result: ToolResult, details: Mapping[str, Any]) -> ToolResult:
    """The result with details added: to its own, or to those of its error."""
    error = result.error
    if error is None:
        noted = {**(result.details or {}), **details}
    else:
        noted, error = dict(result.details or {}), ToolError(error.code, error.message, {**error.details, **details})
    return ToolResult(result.content, result.data, error, noted, result.id, result.name, result.duration_ms)


def _masked(result: ToolResult, secrets: tuple[str, ...]) -> ToolResult:
    """The result with every secret that the call read replaced, wherever it stands."""
    error = result.error
    if error is not None:
        error = ToolError(error.code, mask(error.message, secrets), _mask_value(error.details, secrets))
    return ToolResult(
        tuple(_mask_block(block, secrets) for block in result.content),
        _mask_value(result.data, secrets), error, _mask_value(result.details, secrets),
        result.id, result.name, result.duration_ms,
    )  # fmt: skip


def _mask_block(block: Content, secrets: tuple[str, ...]) -> Content:
    if isinstance(block, TextContent):
        return TextContent(mask(block.text, secrets))
    data = block.data or b""
    for value in sorted(secrets, key=len, reverse=True):
        data = data.replace(value.encode("utf-8", "surrogateescape"), b"***")
    if isinstance(block, BinaryContent):
        uri, name = (_mask_value(text, secrets) for text in (block.uri, block.name))
        return BinaryContent(None if block.data is None else data, block.mime_type, uri, name)
    return attrs.evolve(block, data=data)


def _mask_value(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, dict):
        return {mask(key, secrets): _mask_value(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mask_value(item, secrets) for item in value]
    return value


# the whole ----------------------------------------------------------------------------------------------------------


def _make_answer(
    plan: Plan, admit: Callable[[Session, Verdicts], None] | None, prepare: Callable[[Any], Prepared]
) -> Answer:
    from pegboard.kept import read_result  # a tool like any other: it lies above

    tool, runtime, permissions = plan.tool, plan.runtime, plan.permissions
    name = tool.name
    approves, limits, filters = (_of_stage(plan.guards, stage) for stage in (Stage.APPROVE, Stage.LIMIT, Stage.FILTER))
    timeout_s = tool.limits.timeout_s or runtime.source_timeouts.get(tool.origin.source or "") or runtime.timeout_s
    approval_timeout_s = runtime.approval_timeout_s
    max_bytes: float = tool.limits.max_result_bytes or runtime.max_result_bytes
    if tool.handler is read_result:
        max_bytes = float("inf")  # a page is as large as a result may be, and its note comes on top
    execute = _make_execute(plan, timeout_s)
    waits = inspect.iscoroutinefunction(execute)
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
                    await _approve(tool, approves, approval_timeout_s, context, arguments, verdicts)
                if limits:
                    await _acquire(tool, limits, context, arguments, verdicts, releases)
            executed = execute(context, kwargs, call_id, started)
            result, size = await executed if waits else executed
            if filters and context is not None:
                result, size = await _filter(plan, filters, context, result, size, verdicts)
            if context is not None and (secrets := context.secrets_read):
                result = _masked(result, secrets)  # before it is cut: what is kept can be read later
            if size * 4 > max_bytes:
                result = session.cut(result, int(max_bytes))
        except ToolError as refusal:
            result, notes = ToolResult.of_error(clean_error(refusal)[0]), None
            if context is not None:
                result = _masked(result, context.secrets_read)
        except BaseException as problem:  # noqa: BLE001 - nothing but a genuine cancellation leaves a call
            result, notes = ToolResult.of_error(_broken(tool, problem)), None
        finally:
            if releases:
                _give_back(tool, releases)
        if notes is not None:
            result = _noted(result, notes)
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
            return ToolResult.of_error(refusal)
        asks = [ask for guard in foreseen if (ask := _foresee(guard, session, arguments)) is not None]
        lines = [f"{_name_stage(ask)}: {ask['says']}" for ask in asks] or ["nothing else is asked"]
        text = "\n".join([f"{tool.name}: the arguments are right and the call is admitted", *lines])
        return ToolResult.text(
            text, data={"would_run": not any("code" in a for a in asks), "asks": asks, **(notes or {})}
        )

    return check


def _name_stage(ask: Mapping[str, Any]) -> str:
    return f"{ask['stage']} ({ask['guard']})"


def _foresee(guard: Guard, session: Session, arguments: Any) -> dict[str, Any] | None:
    if guard.peek is None:
        return {"guard": guard.name, "stage": guard.stage.value, "says": "is asked when the call runs"}
    try:
        says = guard.peek(session, arguments)
    except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
        pass_on(problem)
        says = ToolError(ErrorCode.INTERNAL_ERROR, f"the guard failed ({type(problem).__name__})")
    if says is None:
        return None
    ask: dict[str, Any] = {"guard": guard.name, "stage": guard.stage.value, "says": str(says)}
    if isinstance(says, ToolError):
        ask["code" if guard.mode == "enforce" else "would_be"] = says.code.value
    return ask
