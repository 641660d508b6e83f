"""Where a handler runs, and what comes of it. Each way answers one question: what ends it when its deadline comes?

async     the scope around it; work that shields itself delays the answer, which then says so
inplace   nothing: it cannot wait, so it gets no scope and no deadline
thread    nothing ends a thread: the call answers, the thread is counted and holds its own tool's limiter
process   the deadline kills the worker process
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import logging
import os
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Shown
from pegboard.errors import ErrorCode, PluginError, Retry, ToolDefinitionError, ToolError
from pegboard.pipeline.classify import classify, pass_on, timed_out
from pegboard.pipeline.masking import masked
from pegboard.pipeline.normalise import UnusableError, check_output, clean_error, make_normalise, to_result, unusable
from pegboard.results import ToolResult, noted
from pegboard.text import CLEANED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from pegboard.context import CallContext
    from pegboard.pipeline.plan import Plan
    from pegboard.pipeline.runtime import Runtime
    from pegboard.tools import Tool

    Invoke = Callable[[Mapping[str, Any], CallContext | None], Any]

log = logging.getLogger("pegboard")

LATE_S = 0.1
"""From here on an answer that came after its deadline says by how much."""

THREADS_PER_TOOL = 16
"""Threads that one tool may hold at once; its `concurrency`, where that is smaller. A tool whose threads all hang
starves itself alone."""


@attrs.define(eq=False, repr=False)
class Started(Shown):
    """Whether the handler of one call was reached: a TIMEOUT in a queue may be repeated, one in the work may not."""

    call_id: str = ""
    yes: bool = False


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
        started.yes = True
        try:
            return _refuse_awaitable(invoke())
        finally:
            ticket.ended()

    try:
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter, thread_name=tool.name[:15])
    except BaseException:
        if started.yes and not ticket.is_over:
            ticket.abandoned()
        raise


def _refuse_awaitable(value: Any) -> Any:
    """A plain function that returns a coroutine is its author's slip; awaiting it elsewhere would hide that."""
    if not inspect.iscoroutine(value):
        return value
    value.close()
    raise ToolError(
        ErrorCode.INTERNAL_ERROR,
        "the tool returned something to be awaited; its author has to write `async def`",
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


def lead_a_group() -> None:
    """In a worker process, before its first work: what it starts shall end with it."""
    if hasattr(os, "setsid"):
        os.setsid()


def call_by_name(note: str, module: str, qualname: str, arguments: dict[str, Any]) -> Any:
    """In the worker process: say who works, then find the handler and call it."""
    from pathlib import Path

    Path(note).write_text(str(os.getpid()), encoding="ascii")
    found: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    return getattr(found, "handler", found)(**arguments)


async def run_in_process(runtime: Runtime, target: tuple[str, str], arguments: Mapping[str, Any], limiter: Any) -> Any:
    """Run the handler in a worker process; it and all that it started are killed if the call ends before it does."""
    from pathlib import Path

    import trio
    import trio_parallel

    workers, folder = await runtime.workers()
    note = Path(folder) / f"{next(runtime.ids)}.pid"
    try:
        return await workers.run_sync(
            call_by_name, str(note), *target, dict(arguments), kill_on_cancel=True, limiter=limiter
        )
    except (trio.Cancelled, trio_parallel.BrokenWorkerError):  # the worker is dead; a handler's own error leaves it be
        _kill_group(note)
        raise
    finally:
        note.unlink(missing_ok=True)


def _kill_group(note: Path) -> None:
    """The worker is dead already; its group holds what the handler started."""
    if not hasattr(os, "killpg"):
        return
    import signal

    try:
        os.killpg(int(note.read_text(encoding="ascii")), signal.SIGKILL)
    except (OSError, ValueError):  # it never began, or left nobody
        return


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


def is_async(tool: Tool) -> bool:
    handler = inspect.unwrap(tool.handler)
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - asks what kind of callable it is


def make_execute(plan: Plan, timeout_s: float) -> Callable[..., Any]:
    """Compile `execute(context, kwargs, call_id, started)`: run the handler where it belongs, answer what it does.

    It gives the result and its size; it is a plain function for a plain handler that runs in place, else async.
    """
    import trio

    tool = plan.tool
    hear = plan.runtime.note_cleaned
    normalise = make_normalise(tool, plan.output_validator, hear)
    normalise_masked = make_normalise(tool, None, hear)
    invoke, takes_context = make_invoke(tool)
    handler = tool.handler

    def failed(
        problem: BaseException, context: CallContext | None, timed_out_after_s: float | None, **details: Any
    ) -> tuple[ToolResult, int]:
        secrets = () if context is None else context.secrets_read
        error = classify(problem, tool, timed_out_after_s=timed_out_after_s, secrets=secrets)
        if secrets:  # before what hides goes, and with it a part of a secret; the plan masks again what comes out
            error = masked(ToolResult.of_error(error), secrets).error or error
        error, size = clean_error(error)
        if CLEANED in error.details:
            hear(tool.name, error.details)
        return ToolResult.of_error(ToolError(error.code, error.message, {**error.details, **details})), size

    def usable(value: Any, call_id: str, started: float, context: CallContext | None = None) -> tuple[ToolResult, int]:
        try:
            if context is not None and (secrets := context.secrets_read):
                result = to_result(value, is_raw=True)[0]
                if plan.output_validator is not None and result.error is None:
                    check_output(plan.output_validator, result)  # of the tool's own data, not of what is masked
                return normalise_masked(masked(result, secrets), call_id, started)
            return normalise(value, call_id, started)
        except UnusableError as problem:
            return ToolResult.of_error(clean_error(unusable(tool, problem))[0]), 0
        except BaseException as problem:  # a value of the author's own class may raise anything
            pass_on(problem)
            log.exception("what tool %s returned cannot be read", tool.name, exc_info=problem)
            return ToolResult.of_error(unusable(tool, UnusableError("returned what breaks when it is read"))), 0

    if tool.run == "inplace" and plan.executor is None:

        def settle(value: Any, call_id: str, started: float, context: CallContext | None) -> tuple[ToolResult, int]:
            result, size = usable(value, call_id, started, context)
            return (_late(result, timeout_s) if result.duration_ms > timeout_s * 1000 else result), size

        def execute_in_place(
            context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float
        ) -> tuple[ToolResult, int]:
            try:
                value = invoke(kwargs, context) if takes_context else handler(**kwargs)
            except BaseException as problem:  # noqa: BLE001 - classified in one place
                return failed(problem, context, None)
            return settle(value, call_id, started, context)

        async def execute_async_in_place(
            context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float
        ) -> tuple[ToolResult, int]:
            try:
                value = await (invoke(kwargs, context) if takes_context else handler(**kwargs))
            except BaseException as problem:  # noqa: BLE001 - classified in one place
                return failed(problem, context, None)
            return settle(value, call_id, started, context)

        return execute_async_in_place if is_async(tool) else execute_in_place

    start = _make_start(plan, invoke)
    plain = start is None and not takes_context
    cancel_scope, current_time, limit_ms = trio.CancelScope, trio.current_time, timeout_s * 1000

    async def execute(
        context: CallContext | None, kwargs: Mapping[str, Any], call_id: str, started: float
    ) -> tuple[ToolResult, int]:
        scope = cancel_scope(deadline=current_time() + timeout_s)
        reached = Started(call_id) if start is not None else None
        if context is not None:
            context.deadline, context.scope = scope.deadline, scope
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
        result, size = usable(value, call_id, started, context)
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
            try:
                return await run_in_thread(runtime, tool, limiter, lambda: invoke(kwargs, context), reached)
            finally:
                if context is not None:
                    context.leave_thread()

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
    return noted(result, {"late": True, "timeout_s": timeout_s})
