"""Where a handler runs, and what comes of it. Each way answers one question: what ends it when its deadline comes?

async     the scope around it; work that shields itself delays the answer, which then says so
inplace   nothing: it cannot wait, so it gets no scope and no deadline
thread    nothing ends a thread: the call answers, the thread is counted and holds its own tool's limiter
process   the deadline kills the worker process
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from time import perf_counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Shown
from pegboard.config._secrets import get_logger
from pegboard.errors import ErrorCode, PluginError, Retry, ToolDefinitionError, ToolError
from pegboard.pipeline.classify import classify, pass_on, timed_out
from pegboard.pipeline.normalise import UnusableError, check_output, clean_error, make_normalise, to_result, unusable
from pegboard.results import ToolResult, noted
from pegboard.text import CLEANED
from pegboard.tools import is_async

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard.context import CallContext
    from pegboard.contract import Executor, Validator
    from pegboard.pipeline.runtime import Runtime
    from pegboard.pipeline.stages import Trace
    from pegboard.tools import Tool

    Failed = Callable[..., tuple[ToolResult, int]]
    Invoke = Callable[[Mapping[str, Any], CallContext | None], Any]
    Usable = Callable[[Any, str, float, CallContext | None], tuple[ToolResult, int]]

log = get_logger("pegboard")

LATE_S = 0.1
"""From here on an answer that came after its deadline says by how much."""

THREADS_PER_TOOL = 16
"""Threads that one tool may hold at once; its `concurrency`, where that is smaller. A tool whose threads all hang
starves itself alone."""


@attrs.define(eq=False, repr=False)
class Started(Shown):
    """Whether the handler of one call was reached: a TIMEOUT in a queue may be repeated, one in the work may not."""

    call_id: str = ""
    trace: Trace | None = None
    yes: bool = False
    is_told: bool = True
    is_given_up: bool = False

    def queued(self, *, is_told: bool = True) -> None:
        """The call waits for a place to run; `is_told`: whether that it began will certainly be said."""
        self.is_told = is_told
        if self.trace is not None:
            self.trace.queue_at, self.trace.execute_at = self.trace.execute_at, 0.0
            self.trace.reached = not is_told

    def begun(self) -> None:
        """From here on the work may have an effect."""
        if self.trace is not None and not self.yes:
            self.trace.execute_at, self.trace.reached = perf_counter(), True
        self.yes = True


def make_invoke(tool: Tool) -> tuple[Invoke, bool]:
    """How the handler is called with its keyword arguments, and whether it wants the context."""
    handler = tool.handler
    name, positional = _context_parameter(tool)
    if name is None:
        return (lambda arguments, context: handler(**arguments)), False
    if positional:
        return (lambda arguments, context: handler(context, **arguments)), True
    return (lambda arguments, context: handler(**arguments, **{name: context})), True


def _context_parameter(tool: Tool) -> tuple[str | None, bool]:
    if tool.signature is not None:
        return tool.signature.context_parameter, tool.signature.context_positional
    from pegboard.schema.derive import find_context_parameter

    return find_context_parameter(tool.handler)


async def run_in_thread(runtime: Runtime, tool: Tool, limiter: Any, invoke: Callable[[], Any], started: Started) -> Any:
    """Run the handler in a thread that is left behind, and counted, if the call ends before it does."""
    import trio

    ticket = runtime.threads.ticket(tool.name, started.call_id)

    def work() -> Any:
        started.begun()
        try:
            # Each side says its own and then looks for the other's, so that one at least sees it: what was told not to
            # have begun does not begin later.
            return None if started.is_given_up else _refuse_awaitable(tool, invoke())
        finally:
            ticket.ended()

    try:
        # Linux keeps 15 bytes of a thread's name (pthread_setname_np(3)).
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter, thread_name=tool.name[:15])
    except BaseException:
        started.is_given_up = True
        if started.yes and not ticket.is_over:
            ticket.abandoned()
        raise


def _refuse_awaitable(tool: Tool, value: Any) -> Any:
    """A plain function that returns a coroutine is its author's slip; awaiting it elsewhere would hide that."""
    if not inspect.iscoroutine(value):
        return value
    value.close()
    raise ToolError(
        ErrorCode.INTERNAL_ERROR,
        f"the tool {tool.name!r} returned something to be awaited; its author has to write `async def`",
        executed=True,
    )


def process_target(tool: Tool) -> tuple[str, str]:
    """The module and qualified name by which a worker process finds the handler.

    Raises:
        ToolDefinitionError: it cannot be found by name, or wants a context, which does not reach another process.
    """
    handler = inspect.unwrap(tool.handler)
    module, qualname = getattr(handler, "__module__", None), getattr(handler, "__qualname__", "<")
    if module is None or "<" in qualname:
        raise ToolDefinitionError(
            f"tool {tool.name!r} runs in a process, but its handler is not a function of a module",
            hint='move it to the top of a module, or use run="thread"',
        )
    if inspect.iscoroutinefunction(handler):
        raise ToolDefinitionError(f"tool {tool.name!r} runs in a process, but its handler is async")
    if _context_parameter(tool)[0] is not None:
        raise ToolDefinitionError(
            f"tool {tool.name!r} runs in a process, where there is no CallContext",
            hint='take no context, or use run="thread"',
        )
    return module, qualname


def require_processes(tool: Tool) -> None:
    """Refuse a tool that wants a worker process where none can be had.

    Raises:
        PluginError: trio-parallel is not installed.
    """
    if importlib.util.find_spec("trio_parallel") is None:
        raise PluginError(
            f"tool {tool.name!r} runs in a worker process, and trio-parallel is not installed",
            hint="pip install 'pegboard[process]'",
        )


def make_execute(
    tool: Tool, runtime: Runtime, output_validator: Validator | None, executor: Executor | None
) -> Callable[..., Any]:
    """Compile `execute(context, kwargs, call_id, started, trace)`: run the handler where it belongs.

    It gives the result and its size; it is a plain function for a plain handler that runs in place, else async.
    """
    failed, usable = _make_failed(tool, runtime), _make_usable(tool, runtime, output_validator)
    if tool.run == "inplace" and executor is None:
        return _make_in_place(tool, runtime.timeout_of(tool), failed, usable)
    return _make_under_deadline(tool, runtime, executor, failed, usable)


def _make_failed(tool: Tool, runtime: Runtime) -> Failed:
    """What a call answers whose handler raised; classified in one place."""

    def failed(
        problem: BaseException, context: CallContext | None, timed_out_after_s: float | None, **details: Any
    ) -> tuple[ToolResult, int]:
        secrets = () if context is None else context.secrets_read
        error = classify(problem, tool, timed_out_after_s=timed_out_after_s, secrets=secrets)
        if secrets:  # before what hides goes, and with it a part of a secret; the plan masks again what comes out
            from pegboard.secrets.texts import masked

            error = masked(ToolResult.of_error(error), secrets).error or error
        error, size = clean_error(error)
        if CLEANED in error.details:
            runtime.note_cleaned(tool.name, error.details)
        return ToolResult.of_error(error.reworded(error.message, {**error.details, **details})), size

    return failed


def _make_usable(tool: Tool, runtime: Runtime, output_validator: Validator | None) -> Usable:
    """What a call answers whose handler returned something, whatever that is."""
    normalise = make_normalise(tool, output_validator, runtime.note_cleaned)
    normalise_masked = make_normalise(tool, None, runtime.note_cleaned)

    def usable(value: Any, call_id: str, started: float, context: CallContext | None) -> tuple[ToolResult, int]:
        try:
            if context is not None and (secrets := context.secrets_read):
                from pegboard.secrets.texts import masked

                result = to_result(value, is_raw=True)[0]
                if output_validator is not None and result.error is None:
                    check_output(output_validator, result)  # of the tool's own data, not of what is masked
                return normalise_masked(masked(result, secrets), call_id, started)
            return normalise(value, call_id, started)
        except UnusableError as problem:
            return ToolResult.of_error(clean_error(unusable(tool, problem))[0]), 0
        except BaseException as problem:  # a value of the author's own class may raise anything
            pass_on(problem)
            log.exception("what tool %s returned cannot be read", tool.name, exc_info=problem)
            return ToolResult.of_error(unusable(tool, UnusableError("returned what breaks when it is read"))), 0

    return usable


def _make_in_place(tool: Tool, timeout_s: float, failed: Failed, usable: Usable) -> Callable[..., Any]:
    """A handler that runs in the loop's own task, without a deadline: nothing could end it."""
    invoke, takes_context = make_invoke(tool)
    handler = tool.handler

    def settle(value: Any, call_id: str, started: float, context: CallContext | None) -> tuple[ToolResult, int]:
        result, size = usable(value, call_id, started, context)
        return (_late(result, timeout_s) if result.duration_ms > timeout_s * 1000 else result), size

    def execute_in_place(
        context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float, trace: Trace | None
    ) -> tuple[ToolResult, int]:
        if trace is not None:
            trace.start()
        try:
            value = invoke(kwargs, context) if takes_context else handler(**kwargs)
        except BaseException as problem:  # noqa: BLE001 - classified in one place
            return failed(problem, context, None)
        if trace is not None:
            trace.normalise_at = perf_counter()
        return settle(value, call_id, started, context)

    async def execute_async_in_place(
        context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float, trace: Trace | None
    ) -> tuple[ToolResult, int]:
        if trace is not None:
            trace.start()
        try:
            value = await (invoke(kwargs, context) if takes_context else handler(**kwargs))
        except BaseException as problem:  # noqa: BLE001 - classified in one place
            return failed(problem, context, None)
        if trace is not None:
            trace.normalise_at = perf_counter()
        return settle(value, call_id, started, context)

    return execute_async_in_place if is_async(tool) else execute_in_place


def _make_under_deadline(
    tool: Tool, runtime: Runtime, executor: Executor | None, failed: Failed, usable: Usable
) -> Callable[..., Any]:
    """A handler that a cancel scope ends, or leaves behind, at its deadline."""
    import trio

    invoke, takes_context = make_invoke(tool)
    handler, timeout_s = tool.handler, runtime.timeout_of(tool)
    start = _make_start(tool, runtime, executor, invoke)
    plain = start is None and not takes_context
    cancel_scope, current_time, limit_ms = trio.CancelScope, trio.current_time, timeout_s * 1000

    async def execute(
        context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float, trace: Trace | None
    ) -> tuple[ToolResult, int]:
        if trace is not None:
            trace.start()
        scope = cancel_scope(deadline=current_time() + timeout_s)
        reached = Started(call_id, trace) if start is not None else None
        if context is not None:
            if context.layers_scope is not None:  # another run, of a layer, has what is left
                scope.deadline = min(scope.deadline, context.layers_scope.deadline - LATE_S)
            context.deadline, context.scope = scope.deadline, scope
        try:
            with scope:
                # `invoke` would be one frame more for every call of the commonest kind of handler.
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
        if trace is not None:
            trace.normalise_at = perf_counter()
        result, size = usable(value, call_id, started, context)
        # The duration began before the deadline did, so most calls are spared the second look at the clock.
        if scope.cancel_called or (result.duration_ms > limit_ms and current_time() > scope.deadline):
            result = _late(result, timeout_s)
        return result, size

    return execute


def _make_start(
    tool: Tool, runtime: Runtime, executor: Executor | None, invoke: Callable[..., Any]
) -> Callable[..., Awaitable[Any]] | None:
    """How a handler outside the loop is started; None for one that is simply awaited."""
    import trio

    if executor is not None:
        # Whether it says that a call began: it tells so itself, or a call did.
        tells: bool | None = True if getattr(executor, "tells_begun", False) is True else None

        async def start_elsewhere(kwargs: Mapping[str, Any], context: CallContext, reached: Started) -> Any:
            nonlocal tells
            if tells is False:
                reached.begun()
            else:
                reached.queued(is_told=tells is True)
            context.on_begun = reached.begun
            try:
                value = await executor(context, kwargs)
            finally:
                if reached.yes and tells is None:
                    tells = True
            if not reached.yes and not (isinstance(value, ToolResult) and value.error is not None):
                tells = False  # else a call that meets its deadline would say that nothing was done
                log.warning(
                    "the executor of tool %s ran it without CallContext.begun(): from now on a call of it that times "
                    "out says that it is not known whether it was done",
                    tool.name,
                )
            return value

        return start_elsewhere
    if tool.run == "thread":
        # Of its own: a thread that was left behind keeps its place. In trio's default limiter, of 40 places for all,
        # the threads of one tool that hangs would starve every other.
        limiter = trio.CapacityLimiter(min(tool.limits.concurrency or THREADS_PER_TOOL, THREADS_PER_TOOL))

        async def start_thread(kwargs: Mapping[str, Any], context: CallContext | None, reached: Started) -> Any:
            reached.queued()
            try:
                return await run_in_thread(runtime, tool, limiter, lambda: invoke(kwargs, context), reached)
            finally:
                if context is not None:
                    context.leave_thread()

        return start_thread
    if tool.run == "process":
        from pegboard.pipeline.processes import run_in_process

        target = process_target(tool)
        processes = trio.CapacityLimiter(tool.limits.concurrency or THREADS_PER_TOOL)

        async def start_process(kwargs: Mapping[str, Any], context: CallContext | None, reached: Started) -> Any:
            reached.queued()
            return await run_in_process(runtime, target, kwargs, processes, reached.begun)

        return start_process
    return None


def _timeout_details(tool: Tool, deadline: float, reached: Started | None) -> dict[str, Any]:
    """What is left of a call that met its deadline."""
    import trio

    details: dict[str, Any] = {}
    if trio.current_time() - deadline > LATE_S:
        details["late_s"] = round(trio.current_time() - deadline, 3)
    if reached is not None and not reached.yes and reached.is_told:
        details |= {"executed": False, "retry": Retry.SAME.value, "retry_after_s": 1}
    elif reached is not None and tool.run == "thread":
        details["still_running"] = True
    return details


def _late(result: ToolResult, timeout_s: float) -> ToolResult:
    return noted(result, {"late": True, "timeout_s": timeout_s})
