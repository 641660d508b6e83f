"""Layers: what plugins put around the work of a tool, between limits and filters - a cache, a retry, a recorder.

A layer runs the tool by `call_next()`, once, again or not at all, and answers with a result. Invariants: `call_next`
answers, and raises nothing but a genuine cancellation; what a layer answers is checked, once, as what a handler
returned; all layers together, and every run of the tool in them, end by the tool's deadline, and whether the tool ran
is told truly.
"""

from __future__ import annotations

import inspect
from time import perf_counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._frozen import thaw
from pegboard._values import Shown
from pegboard.config._secrets import get_logger
from pegboard.errors import ErrorCode, Retry, ToolError
from pegboard.pipeline.classify import pass_on, repeat_of, timed_out
from pegboard.pipeline.execution import LATE_S
from pegboard.pipeline.normalise import UnusableError, check_output, to_result
from pegboard.results import CheckedResult, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard.context import CallContext
    from pegboard.contract import CallNext, Layer, Validator
    from pegboard.pipeline.runtime import Runtime
    from pegboard.pipeline.stages import Prepared, Trace
    from pegboard.tools import Tool

log = get_logger("pegboard")

_PLAIN = frozenset((str, int, float, bool))


@attrs.define(eq=False, repr=False)
class Run(Shown):
    """What one call knows of the work in its layers."""

    context: CallContext
    ran: bool = False
    """Whether the tool may have had an effect."""

    def take(self, result: ToolResult, size: int) -> ToolResult:
        self.context.last_checked = result, size
        return result


def make_layered(
    tool: Tool,
    runtime: Runtime,
    layers: tuple[Layer, ...],
    prepare: Callable[[Any], Prepared],
    execute: Callable[..., Any],
    output_validator: Validator | None,
) -> Callable[..., Any]:
    """`execute` with the layers around it, the first of them outermost; `prepare` makes the arguments of another
    run."""
    import trio

    waits, timeout_s = inspect.iscoroutinefunction(execute), runtime.timeout_of(tool)
    # Of the outermost layer alone: an inner one must not answer before those around it were asked.
    may_repeat, name, ask_at_once = repeat_of(tool) is Retry.SAME, tool.name, layers[0].at_once

    async def layered(
        context: CallContext, kwargs: Mapping[str, Any], call_id: str, started: float, trace: Trace | None
    ) -> tuple[ToolResult, int]:
        if trace is not None:
            trace.execute_at = perf_counter()
        if ask_at_once is not None:
            try:
                if (found := ask_at_once(context, context.arguments)) is not None:
                    checked, details = _require_checked(tool, found)
                    duration_ms = (perf_counter() - started) * 1000
                    return checked.copy(details, call_id, name, duration_ms), checked.size
            except BaseException as problem:  # noqa: BLE001 - a layer that fails answers for itself
                pass_on(problem)
                return ToolResult.of_error(_refusal(tool, layers[0], problem, Run(context))), 0
        run = Run(context)
        given: Mapping[str, Any] | None = kwargs

        async def call_tool() -> ToolResult:
            nonlocal given
            if run.ran and not may_repeat:
                return run.take(ToolResult.of_error(_ran_already(tool)), 0)
            mine, given = given, None
            if mine is None:  # a handler may change what it is given, and the next run is to get what was validated
                try:
                    _, mine, _ = prepare(thaw(context.arguments))
                except ToolError as problem:  # a class of the author that can be made once alone
                    return run.take(ToolResult.of_error(problem), 0)
            ran_before, run.ran = run.ran, True
            executed = execute(context, mine, call_id, started, trace)
            result, size = await executed if waits else executed
            if result.error is not None and result.error.details.get("executed") is False:
                run.ran = ran_before
            return run.take(result, size)

        call_next: CallNext = call_tool
        for layer in reversed(layers):
            call_next = _make_next(tool, layer, output_validator, context, call_next, run)
        # The deadline of the tool's own work comes first: what it says is more than "time is over".
        with trio.CancelScope(deadline=trio.current_time() + timeout_s + LATE_S) as scope:
            context.layers_scope = scope
            result = await call_next()
        context.layers_scope = None
        if scope.cancelled_caught:
            told = {} if run.ran else {"executed": False, "retry": Retry.SAME.value}
            return ToolResult.of_error(timed_out(tool, timeout_s, **told)), 0
        return result, 0 if context.last_checked is None else context.last_checked[1]

    return layered


def _make_next(
    tool: Tool, layer: Layer, output_validator: Validator | None, context: CallContext, call_next: CallNext, run: Run
) -> CallNext:
    async def ask() -> ToolResult:
        try:
            answer: Any = await layer.around(context, context.arguments, call_next)
            last = None if context.last_checked is None else context.last_checked[0]
            is_known = answer is last  # as it came from below, where it was checked
            if last is not None and is_known:
                return last
            return run.take(*_checked(tool, output_validator, answer))
        except BaseException as problem:  # noqa: BLE001 - a layer that fails answers for itself
            pass_on(problem)
            return run.take(ToolResult.of_error(_refusal(tool, layer, problem, run)), 0)

    return ask


def _require_checked(tool: Tool, found: Any) -> tuple[CheckedResult, Mapping[str, Any]]:
    """What a layer answers at once: a result that was checked, of this very tool, and details that are plain."""
    checked, details = found if type(found) is tuple and len(found) == 2 else (found, None)
    if type(checked) is not CheckedResult or checked.tool is not tool:
        raise UnusableError(f"answered {type(checked).__name__} at once, expected a CheckedResult of this tool")
    if type(details) is not dict or not _PLAIN.issuperset(map(type, details.values())):
        raise UnusableError("answered details at once that are not an object of plain values")
    return checked, details


def _checked(tool: Tool, output_validator: Validator | None, answer: Any) -> tuple[ToolResult, int]:
    if not isinstance(answer, ToolResult):
        if inspect.iscoroutine(answer):
            answer.close()
        raise UnusableError(f"answered {type(answer).__name__}, expected ToolResult")
    result, size = to_result(answer, is_raw=tool.results == "raw")
    if output_validator is not None and result.error is None:
        check_output(output_validator, result)
    return result, size


def _refusal(tool: Tool, layer: Layer, problem: BaseException, run: Run) -> ToolError:
    """What a layer refused, or INTERNAL_ERROR for one that broke; whether the tool ran is for the host to say."""
    told = {"executed": run.ran, "retry": (repeat_of(tool) if run.ran else Retry.SAME).value}
    if isinstance(problem, ToolError):
        return ToolError(problem.code, problem.message, {**told, **problem.details, "executed": run.ran})
    log.error("layer %s of tool %s failed", layer.name, tool.name, exc_info=problem)
    if isinstance(problem, UnusableError):
        what = f"what the layer {layer.name!r} answered cannot be used: it {problem}"
    else:
        what = f"the layer {layer.name!r} failed ({type(problem).__name__}); its cause is in the host's log"
    text = f"the tool {tool.name!r} {'ran' if run.ran else 'did not run'}, but {what}"
    return ToolError(ErrorCode.INTERNAL_ERROR, text, {"layer": layer.name, **told})


def _ran_already(tool: Tool) -> ToolError:
    return ToolError(
        ErrorCode.INTERNAL_ERROR,
        f"the tool {tool.name!r} ran, and a layer wanted to run it again, though it may not be repeated",
        executed=True,
        retry=Retry.UNKNOWN.value,
    )
