"""The stages around the work: who may call, whether the arguments are right, who approves, what is limited, what is
filtered. Each is asked through its guards, and refuses by raising the `ToolError` that answers the call.

A guard that raises, or answers what is not an answer, has failed, and a failed guard refuses: it is not for the host to
guess. One in mode observe is heard and noted, and never refuses, waits or replaces.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._frozen import thaw
from pegboard.config._secrets import get_logger
from pegboard.contract import Guard, Outcome, Stage, Timings, Verdict
from pegboard.errors import ErrorCode, Fault, Retry, ToolError
from pegboard.pipeline.classify import GivenError, pass_on, repeat_of
from pegboard.pipeline.normalise import PlainError, check_output, to_result
from pegboard.results import ToolResult
from pegboard.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pegboard.context import CallContext
    from pegboard.contract import Validator
    from pegboard.session import Session
    from pegboard.tools import Tool

    Prepared = tuple[Any, Mapping[str, Any], dict[str, Any] | None]
    """The arguments as they stand after repair, the handler's keyword arguments, what was repaired."""

log = get_logger("pegboard")

asked_here: ContextVar[list[str] | None] = ContextVar("pegboard.asked_here", default=None)
"""The questions that the guard asks a person which is just being asked itself, while somebody observes the call."""

_FLAT = frozenset((str, int, float, bool, type(None)))

MAX_LISTED = 10
"""How many faults the text of an error tells; `details` has them all."""


class Trace(Timings):
    """What is noted of one call while it is answered: the guards' verdicts, when each stage began, and whether its
    handler was reached."""

    # Of the class until they are set: a call that is heard makes one, and has little to say.
    arrived_at = 0.0
    verdicts: tuple[Verdict, ...] = ()
    reached = False

    def start(self) -> None:
        """The work begins, or begins again in a layer."""
        self.reached = True
        if not self.execute_at:
            self.execute_at = perf_counter()
        else:
            self.normalise_at = 0.0


class Heard(Outcome):
    """An outcome whose parts are made when one of them is read: an observer that reads none pays for none.

    Args:
        told: the call, where one was made, its id, name and arguments; then what `Outcome` takes, from `session` to
            `duration_ms`, the trace, and `parent_id`.
    """

    __slots__ = ("told",)

    told: tuple[
        ToolCall | None, str, Any, Any, Session, Tool | None, ToolResult | None, float, float, Trace, str | None
    ]

    def __getattr__(self, name: str) -> Any:
        """What has not been made: the token, where nobody gave one, or all the rest."""
        if name == "token":
            return None
        if name not in _PARTS:
            raise AttributeError(name)
        call, call_id, asked, arguments, session, tool, result, started_at, duration_ms, trace, parent_id = self.told
        super().__init__(
            call or ToolCall(call_id, asked, arguments), session, tool, result, started_at, duration_ms, trace.verdicts,
            trace, parent_id, self.token,
        )  # fmt: skip
        return getattr(self, name)


_PARTS = frozenset(field.name for field in attrs.fields(Outcome)) - {"token"}


def of_stage(guards: tuple[Guard, ...], stage: Stage) -> tuple[Guard, ...]:
    return tuple(guard for guard in guards if guard.stage is stage)


# admit: before anything is looked at


def make_admit(tool: Tool, guards: tuple[Guard, ...]) -> Callable[[Session, Trace | None], None] | None:
    """Ask every admit guard; raises the refusal of the first that enforces one."""
    if not guards:
        return None

    def admit(session: Session, trace: Trace | None) -> None:
        if trace is not None:
            trace.admit_at = perf_counter()
        for guard in guards:
            started = perf_counter() if trace is not None else 0.0
            try:
                refusal = guard.check(session)
                if refusal is not None and not isinstance(refusal, ToolError):
                    refusal = _odd_guard(tool, guard, refusal)
            except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
                refusal = _failed_guard(tool, guard, problem)
            if trace is not None:
                _record(trace, guard, refusal, started)
            if refusal is not None and guard.mode == "enforce":
                raise refusal

    return admit


def _record(trace: Trace, guard: Guard, refusal: Any, started: float, asked: Sequence[str] = ()) -> None:
    word = "passed"
    if isinstance(refusal, GuardFailedError):
        word = "failed"
    elif isinstance(refusal, ToolError):
        word = "refused" if guard.mode == "enforce" else "would_refuse"
    verdict = Verdict(guard.name, guard.stage, word, round((perf_counter() - started) * 1e6, 1), tuple(asked))
    trace.verdicts = (*trace.verdicts, verdict)


class GuardFailedError(ToolError):
    """The refusal of a guard that did not decide but broke."""


def _odd_guard(tool: Tool, guard: Guard, answer: object) -> ToolError:
    """A guard that answers what is not an answer has failed: it is not for the host to guess what True means."""
    if inspect.iscoroutine(answer):
        # A coroutine that is never awaited warns when it is collected; one that was closed does not.
        answer.close()
    return _failed_guard(tool, guard, TypeError(f"it answered {type(answer).__name__}, expected ToolError or None"))


def _failed_guard(tool: Tool, guard: Guard, problem: BaseException) -> ToolError:
    pass_on(problem)
    if isinstance(problem, ToolError):
        return problem
    log.error("guard %s of tool %s failed", guard.name, tool.name, exc_info=problem)
    cause = str(problem) if isinstance(problem, GivenError) else "its cause is in the host's log"
    return GuardFailedError(
        ErrorCode.INTERNAL_ERROR,
        f"the guard {guard.name!r} failed, so the call was refused; {cause}",
        guard=guard.name,
        executed=False,
        retry=Retry.SAME.value,
    )


# validate: untrusted arguments in, typed ones out


def make_prepare(tool: Tool, validate: Validator | None) -> Callable[[Any], Prepared]:
    """From untrusted arguments to the handler's keyword arguments; raises INVALID_INPUT with every fault."""
    signature, schema = tool.signature, tool.input_schema
    bind = None if signature is None else signature.binder()
    lets_more_in = schema.get("type") != "object"  # a schema that says so little that a list would pass
    # The quick path sees what the hints say. Where a tool has another schema than the one made of them, it would let
    # through what that refuses.
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
                    return arguments, _own(arguments), None
                kwargs = bind(arguments)
                if isinstance(kwargs, dict):
                    return arguments, kwargs, None
                return repair_again(arguments, kwargs)
            return repair_again(arguments, faults)
        except ToolError:
            raise
        except BaseException as problem:  # a validator, or a class of the author, that breaks
            raise broken(tool, problem, executed=False) from problem

    def repair_again(arguments: Any, faults: Sequence[Fault]) -> Prepared:
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
        if signature is not None:
            faults = signature.tell_faults(faults)
        raise invalid_input(tool.name, faults)  # of the repaired value: what was repaired need not be said

    return prepare


def _own(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments as a handler may change them; each call of it makes a dict of its own of those that are flat."""
    if _FLAT.issuperset(map(type, arguments.values())):
        return arguments
    copied: Mapping[str, Any] = thaw(arguments)
    return copied


def broken(tool: Tool, problem: BaseException, **details: Any) -> ToolError:
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
    shown = "; ".join(map(str, faults[:MAX_LISTED])) + ("; ..." if len(faults) > MAX_LISTED else "")
    text = f"invalid arguments for {name!r}: {shown}"
    kind = PlainError if len(faults) <= MAX_LISTED and text.isascii() and text.isprintable() else ToolError
    return kind(ErrorCode.INVALID_INPUT, text, faults=[fault.to_json() for fault in faults])


# approve, limit, filter: the stages that may wait


def _observe(guard: Guard, given: tuple[Any, ...], session: Session, arguments: Any) -> Any:
    """What a guard in mode observe says: its check where that does not wait, else what it foresees."""
    if not inspect.iscoroutinefunction(guard.check):
        answer = guard.check(*given)
        if not inspect.isawaitable(answer):
            return answer
        if inspect.iscoroutine(answer):
            answer.close()
    return None if guard.peek is None else guard.peek(session, arguments)


async def approve(
    tool: Tool, guards: tuple[Guard, ...], timeout_s: float, context: CallContext, arguments: Any, trace: Trace | None
) -> None:
    if trace is not None:
        trace.approve_at = perf_counter()
    for guard in guards:
        started = perf_counter()
        refusal: Any = None
        asked: list[str] = []
        heard = None if trace is None else asked_here.set(asked)
        try:
            if guard.mode == "observe":
                refusal = _observe(guard, (context, arguments), context.session, arguments)
            else:
                refusal = guard.check(context, arguments)
                if refusal is not None and inspect.isawaitable(refusal):
                    refusal = await _within(timeout_s, tool, guard, context, refusal)
                if refusal is not None and not isinstance(refusal, ToolError):
                    refusal = _odd_guard(tool, guard, refusal)
        except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
            refusal = _failed_guard(tool, guard, problem)
        finally:
            if heard is not None:
                asked_here.reset(heard)
        if trace is not None:
            _record(trace, guard, refusal, started, asked)
        if refusal is not None and guard.mode == "enforce":
            raise refusal


async def _within(timeout_s: float, tool: Tool, guard: Guard, context: CallContext, answer: Awaitable[Any]) -> Any:
    """What a guard says that has to wait for it, as for a person. One that knows at once costs no cancel scope."""
    import trio

    # The calls around this one wait for it, and do not run out of time meanwhile.
    still = context._stopped_clock() if context.depth else contextlib.nullcontext()
    with still, trio.move_on_after(timeout_s):
        try:
            return await answer
        except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
            return _failed_guard(tool, guard, problem)
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"nobody approved the call within {timeout_s:g} s",
        reason="confirmation",
        guard=guard.name,
        executed=False,
        retry=Retry.SAME.value,
    )


async def acquire(
    tool: Tool, guards: tuple[Guard, ...], context: CallContext, arguments: Any, trace: Trace | None,
    releases: list[Callable[[], object]],
) -> None:  # fmt: skip
    """Take from every limit, and note in `releases` how to give it back, at once: the next one may refuse."""
    if trace is not None:
        trace.limit_at = perf_counter()
    for guard in guards:
        started = perf_counter()
        try:
            if guard.mode == "enforce" or guard.counts:
                taken = guard.check(context)
                if taken is not None and inspect.isawaitable(taken):
                    taken = await taken
                if taken is not None and not isinstance(taken, ToolError) and not callable(taken):
                    taken = _odd_guard(tool, guard, taken)
            else:
                taken = _observe(guard, (context,), context.session, arguments)
        except BaseException as problem:  # noqa: BLE001 - a guard that fails refuses
            taken = _failed_guard(tool, guard, problem)
        if trace is not None:
            _record(trace, guard, taken, started)
        if callable(taken):
            releases.append(taken)
        elif taken is not None and guard.mode == "enforce":
            raise taken


def give_back(tool: Tool, releases: list[Callable[[], object]]) -> None:
    # What was taken last goes back first, as in `contextlib.ExitStack`.
    for release in reversed(releases):
        try:
            release()
        except KeyboardInterrupt:
            raise
        except BaseException:
            log.exception("a limit of tool %s could not be given back", tool.name)


async def filter_result(
    tool: Tool,
    output_validator: Validator | None,
    guards: tuple[Guard, ...],
    context: CallContext,
    result: ToolResult,
    size: int,
    trace: Trace | None,
) -> tuple[ToolResult, int]:
    """Let every filter replace content and data; what they made is checked again."""
    if trace is not None:
        trace.filter_at = perf_counter()
    for guard in guards:
        started = perf_counter()
        refusal: ToolError | None = None
        try:
            answer = guard.check(context, result)
            if answer is not result and inspect.isawaitable(answer):
                answer = await answer
            # `is True`: a guard may answer any attribute with an object of its own, as a mock does.
            if answer is result and getattr(guard.check, "reads_only", False) is True:
                if trace is not None:
                    _record(trace, guard, None, started)
                continue
            replaced, new_size = to_result(answer, is_raw=tool.results == "raw")
            if output_validator is not None and replaced.error is None:
                check_output(output_validator, replaced)
            if guard.mode == "enforce":
                size = new_size
                error = replaced.error or result.error  # no filter makes a failure a success
                result = ToolResult(
                    replaced.content, replaced.data, error, result.details, result.id, result.name, result.duration_ms
                )
        except BaseException as problem:  # a filter that fails withholds
            pass_on(problem)
            log.exception("filter %s of tool %s failed", guard.name, tool.name, exc_info=problem)
            refusal = GuardFailedError(
                ErrorCode.INTERNAL_ERROR,
                f"the tool {tool.name!r} ran, but its result is withheld: the filter {guard.name!r} failed",
                guard=guard.name,
                executed=True,
                retry=repeat_of(tool).value,
            )
        if trace is not None:
            _record(trace, guard, refusal, started)
        if refusal is not None and guard.mode == "enforce":
            raise refusal
    return result, size


# what a call would meet


def name_stage(ask: Mapping[str, Any]) -> str:
    return f"{ask['stage']} ({ask['guard']})"


def foresee(guard: Guard, session: Session, arguments: Any) -> dict[str, Any] | None:
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


def missing_secrets(tool: Tool) -> list[dict[str, Any]]:
    """The secrets that the tool declares and that are not set: its handler would be refused them."""
    return [
        {
            "guard": "secret",
            "stage": "execute",
            "says": f"the secret {name} is not set; set the environment variable {name} where the host runs",
            "code": ErrorCode.FORBIDDEN.value,
        }
        for name in sorted(tool.secrets)
        if not os.environ.get(name)
    ]
