"""What answers the calls of one tool: its stages and its execution, composed into one closure.

    admit -> validate -> approve -> limit -> execute -> normalise -> filter

It is made at the tool's first call. Invariants: a refusal is raised as a `ToolError` between the stages and becomes the
result in one place; what the handler raises is classified in one place (`classify`); whatever a limit took is given
back however the call ends.
"""

from __future__ import annotations

import inspect
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pegboard._frozen import freeze
from pegboard.context import CallContext
from pegboard.contract import Stage
from pegboard.errors import ToolError
from pegboard.limits import LONG_TEXT
from pegboard.pipeline.execution import make_execute, make_invoke
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
from pegboard.tools import READ_RESULT_NAME

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard.contract import Executor, Guard, Layer, Validator
    from pegboard.pipeline.runtime import Runtime
    from pegboard.pipeline.stages import Prepared, Trace
    from pegboard.secrets.mask import Masked
    from pegboard.session import Session
    from pegboard.tools import Tool

    Admit = Callable[[Session, Trace | None], None]
    Answer = Callable[[Session, Any, str, CallContext | None, Trace | None], Awaitable[ToolResult]]
    Check = Callable[[Session, Any], ToolResult]
    Mask = Callable[[Any], Masked | None]
    Prepare = Callable[[Any], Prepared]


def make_call(
    tool: Tool,
    runtime: Runtime,
    *,
    guards: tuple[Guard, ...],
    layers: tuple[Layer, ...],
    validator: Validator | None,
    output_validator: Validator | None,
    executor: Executor | None,
    permissions: Any,
) -> tuple[Answer, Check, bool]:
    """Compile a call: what answers it, what says what it would meet, and whether it may wait for anything."""
    admit = make_admit(tool, of_stage(guards, Stage.ADMIT))
    prepare = make_prepare(tool, validator)
    secrets = runtime.secrets if runtime.may_mask_arguments(tool) else None
    mask = None if secrets is None else secrets.of_arguments(tool)
    execute = make_execute(tool, runtime, output_validator, executor)
    if layers:
        from pegboard.pipeline.layers import make_layered

        execute = make_layered(tool, runtime, layers, prepare, execute, output_validator)
    asks = any(guard.stage is not Stage.ADMIT for guard in guards)
    wants_context = bool(asks or layers or tool.secrets or executor) or make_invoke(tool)[1]
    steps = admit, prepare, mask
    answer = _make_answer(
        tool, runtime, guards, steps, execute, output_validator, permissions, wants_context=wants_context
    )
    return answer, _make_check(tool, runtime, guards, steps), asks or inspect.iscoroutinefunction(execute)


def _make_answer(
    tool: Tool,
    runtime: Runtime,
    guards: tuple[Guard, ...],
    steps: tuple[Admit | None, Prepare, Mask | None],
    execute: Callable[..., Any],
    output_validator: Validator | None,
    permissions: Any,
    *,
    wants_context: bool,
) -> Answer:
    name = tool.name
    admit, prepare, mask = steps
    approves, limits, filters = (of_stage(guards, stage) for stage in (Stage.APPROVE, Stage.LIMIT, Stage.FILTER))
    max_bytes = _max_bytes(tool, runtime)
    waits = inspect.iscoroutinefunction(execute)
    may_wait = waits or bool(approves or limits or filters)  # else a call is driven without a loop
    masked = None if mask is None else partial(_masked, prepare, mask, may_wait=may_wait)

    async def answer(
        session: Session, arguments: Any, call_id: str, parent: CallContext | None, trace: Trace | None
    ) -> ToolResult:
        started = perf_counter() if trace is None else trace.arrived_at
        releases: list[Callable[[], object]] = []
        context: CallContext | None = None
        try:
            if admit is not None:
                admit(session, trace)
            if trace is not None:
                trace.validate_at = perf_counter() if admit is not None else started
            arguments, kwargs, notes = prepare(arguments) if masked is None else await masked(arguments)
            if wants_context:
                arguments, kwargs = _frozen(arguments, kwargs)
                context = CallContext(session, call_id, tool, permissions, parent, arguments)
                if approves:
                    await approve(tool, approves, runtime.approval_timeout_s, context, arguments, trace)
                if limits:
                    await acquire(tool, limits, context, arguments, trace, releases)
            executed = execute(context, kwargs, call_id, started, trace)
            result, size = await executed if waits else executed
            if filters and context is not None:
                result, size = await filter_result(tool, output_validator, filters, context, result, size, trace)
            if session.masks_secrets or (context is not None and context.secrets_read):
                # Before it is cut: what is kept can be read later.
                hide = partial(_without_secrets, tool, runtime, session, result, context, parent)
                result = await _beside_loop(hide) if may_wait and size > LONG_TEXT else hide()
            # `size` counts characters, of at most four bytes in UTF-8 (RFC 3629): most are never encoded to count them.
            if size * 4 > max_bytes:
                result = session.cut(result, int(max_bytes))
        except ToolError as refusal:
            error = _told(tool, runtime, session, refusal, arguments)
            result, notes = ToolResult.of_error(error, call_id, name, (perf_counter() - started) * 1000), None
            if session.masks_secrets or (context is not None and context.secrets_read):
                result = _without_secrets(tool, runtime, session, result, context, parent)
        except BaseException as problem:  # noqa: BLE001 - nothing but a genuine cancellation leaves a call
            result, notes = ToolResult.of_error(broken(tool, problem)), None
        finally:
            if releases:
                give_back(tool, releases)
        if notes is not None:
            result = _noted(session, result, notes)
        # What a handler returned was stamped as it was made; its failure, and an answer of a layer, were not.
        return result if result.duration_ms else stamped(result, call_id, name, (perf_counter() - started) * 1000)

    return answer


def _max_bytes(tool: Tool, runtime: Runtime) -> float:
    if tool.name == READ_RESULT_NAME:  # a page is as large as may be; its note comes on top
        return float("inf")
    return tool.limits.max_result_bytes or runtime.max_result_bytes


async def _beside_loop(work: Callable[[], Any]) -> Any:
    from pegboard._beside import beside_loop

    return await beside_loop(work)


async def _masked(prepare: Prepare, mask: Mask, arguments: Any, *, may_wait: bool) -> Prepared:
    """Arguments as they are sent, without keys of others; long ones are looked through beside the loop."""
    from pegboard._beside import size_of

    arguments, kwargs, notes = prepare(arguments)
    is_long = may_wait and size_of(arguments) > LONG_TEXT
    if is_long:
        arguments, kwargs = _frozen(arguments, kwargs)
    masked = await _beside_loop(partial(mask, arguments)) if is_long else mask(arguments)
    return (arguments, kwargs, notes) if masked is None else _prepared_again(prepare, masked)


def _prepared_again(prepare: Prepare, masked: Masked) -> Prepared:
    """Arguments once they are masked: what is masked may not be what the schema asks for."""
    arguments, kwargs, notes = prepare(masked[0])
    return arguments, kwargs, {**(notes or {}), "masked_arguments": masked[1]}


def _frozen(arguments: Any, kwargs: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """What guards and layers judge is what the tool gets: nobody changes it meanwhile, its caller neither."""
    frozen = freeze(arguments)
    return frozen, frozen if kwargs is arguments else kwargs


def _told(tool: Tool, runtime: Runtime, session: Session, refusal: ToolError, arguments: Any) -> ToolError:
    """A refusal as a session is told it: what it quotes of the tool's schema counts as read."""
    if runtime.flows is not None:
        runtime.flows.note_refused(session, tool, refusal, arguments)
    return clean_error(refusal)[0]


def _without_secrets(
    tool: Tool,
    runtime: Runtime,
    session: Session,
    result: ToolResult,
    context: CallContext | None,
    parent: CallContext | None,
) -> ToolResult:
    """The result with the secrets that the call read masked; and for a model all others too. Most calls read none."""
    if context is not None and (read := context.secrets_read):
        from pegboard.secrets.texts import masked

        result = masked(result, read)
    if session.masks_secrets and parent is None and (secrets := runtime.secrets) is not None:
        result = secrets.mask_result(tool, result)
    return result


def _noted(session: Session, result: ToolResult, notes: dict[str, Any]) -> ToolResult:
    result = noted(result, notes)
    if session.masks_secrets and (kinds := notes.get("masked_arguments")):
        from pegboard.secrets.mask import tell_model

        result = tell_model(result, kinds)
    return result


def _make_check(
    tool: Tool, runtime: Runtime, guards: tuple[Guard, ...], steps: tuple[Admit | None, Prepare, Mask | None]
) -> Check:
    admit, prepare, mask = steps
    foreseen = [guard for guard in guards if guard.stage in (Stage.APPROVE, Stage.LIMIT)]

    def check(session: Session, arguments: Any) -> ToolResult:
        try:
            if admit is not None:
                admit(session, None)
            prepared, _, notes = prepare(arguments)
            if mask is not None and (masked := mask(prepared)) is not None:
                prepared, _, notes = _prepared_again(prepare, masked)
            arguments = freeze(prepared) if foreseen else prepared
        except ToolError as refusal:
            return ToolResult.of_error(_told(tool, runtime, session, refusal, arguments))
        asks = [ask for guard in foreseen if (ask := foresee(guard, session, arguments)) is not None]
        asks += missing_secrets(tool)
        lines = [f"{name_stage(ask)}: {ask['says']}" for ask in asks] or ["nothing else is asked"]
        text = "\n".join([f"{tool.name}: the arguments are right and the call is admitted", *lines])
        return ToolResult.text(
            text, data={"would_run": not any("code" in a for a in asks), "asks": asks, **(notes or {})}
        )

    return check
