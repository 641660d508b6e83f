"""The one place that catches: what a tool raised, as a `ToolError`.

A `Cancelled` is genuine only if an enclosing scope is cancelled now; one that a tool kept and raised again is its
mistake. A genuine one, and a `KeyboardInterrupt`, pass untouched, taken out of the group they may come in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard.config._secrets import get_logger
from pegboard.context import mask
from pegboard.errors import ErrorCode, Retry, ToolError

if TYPE_CHECKING:
    from pegboard.tools import Tool

log = get_logger("pegboard.tool")


class GivenError(RuntimeError):
    """A function that a program gave to a session cannot be waited for. The text is ours, and may be told."""


def pass_on(problem: BaseException) -> None:
    """Raise again what belongs to whoever called, bare; anything else is the fault of the code that raised it.

    Raises:
        trio.Cancelled: a scope around the call is cancelled.
        KeyboardInterrupt: somebody pressed Ctrl-C.
    """
    import trio

    if (interrupt := _leaf(problem, KeyboardInterrupt)) is not None:
        raise interrupt
    # How trio tells that a scope around us is cancelled now. The exception alone does not: a tool can keep a
    # `Cancelled` of an earlier call and raise it again.
    if trio.current_effective_deadline() == -float("inf"):
        _reraise_cancelled(problem, trio.Cancelled)


def classify(
    problem: BaseException, tool: Tool, *, timed_out_after_s: float | None = None, secrets: tuple[str, ...] = ()
) -> ToolError:
    """What the caller reads of an exception that left a handler.

    Args:
        problem: what was raised; never empty-handed: it is logged, its text is not sent.
        tool: whose handler raised it.
        timed_out_after_s: the tool's own deadline in seconds, if it had fired.
        secrets: values that must not stand in the log.

    Raises:
        trio.Cancelled: a scope around the call is cancelled.
        KeyboardInterrupt: somebody pressed Ctrl-C.
    """
    pass_on(problem)
    # Whatever it raised: it was told to end, and this is how it did (the promise of `session.call`).
    if timed_out_after_s is not None:
        return timed_out(tool, timed_out_after_s)
    if isinstance(problem, BaseExceptionGroup):
        # A nursery puts even one exception into a group (trio 0.25: strict_exception_groups).
        leaves = _leaves(problem)
        if len(leaves) == 1:
            problem = leaves[0]
    if isinstance(problem, ToolError):
        return problem
    _log(problem, tool, secrets)
    told = isinstance(problem, GivenError)
    cure = _CURES.get(missing_loop(problem) or "", f"failed ({type(problem).__name__}); its cause is in the host's log")
    return ToolError(
        ErrorCode.INTERNAL_ERROR,
        str(problem) if told else f"the tool {tool.name!r} {cure}",
        exception=type(problem).__name__,
        retry=repeat_of(tool).value,
    )


_CURES = {
    "asyncio": (
        "waits for asyncio, and tools run on trio; its author has to write it with trio or anyio, or as a plain `def` "
        "that calls `asyncio.run`: that runs in a thread"
    ),
    "trio": (
        "waits for trio, which runs neither in a thread nor in the loop of a program on asyncio; its author has to "
        "write it with asyncio where such a program adds it, or bring it in a plugin, whose `async def` runs on trio"
    ),
}
_MISSED = {
    "no running event loop": "asyncio",
    "'NoneType' object has no attribute 'create_future'": "asyncio",  # locks and queues of asyncio, up to Python 3.14
    "must be called from async context": "trio",
    "'RunContext' object has no attribute 'runner'": "trio",  # `trio.open_nursery`
}


def missing_loop(problem: BaseException) -> str | None:
    """ "asyncio" or "trio", where the exception means that a coroutine of it was awaited under the other.

    Both say it in words alone, and each in several.
    """
    if type(problem) not in (TypeError, RuntimeError, AttributeError):
        return None
    text = str(problem)
    if "trio.run received unrecognized yield message" in text:
        return "asyncio"
    if text.startswith("Task got bad yield: ") and "trio." in text:
        return "trio"
    return _MISSED.get(text)


def timed_out(tool: Tool, timeout_s: float, **details: Any) -> ToolError:
    """TIMEOUT, and whether the call may be repeated. The text says it too: a model reads nothing else."""
    details = {"timeout_s": timeout_s, "retry": repeat_of(tool).value, **details}
    if details.get("executed") is False:
        text = f"the tool {tool.name!r} could not begin within {timeout_s:g} s; nothing was done"
    else:
        text = f"the tool {tool.name!r} did not end within {timeout_s:g} s"
        if not tool.annotations.read_only:
            text += "; it is not known whether it was done"
        if details["retry"] == Retry.UNKNOWN:
            text += ", so look before you call it again"
    return ToolError(ErrorCode.TIMEOUT, text, details)


def repeat_of(tool: Tool) -> Retry:
    """What repeating a call means that may have run: harmless for a tool that says so, unknown for any other."""
    return Retry.SAME if tool.annotations.read_only or tool.annotations.idempotent else Retry.UNKNOWN


def _log(problem: BaseException, tool: Tool, secrets: tuple[str, ...]) -> None:
    if not secrets:
        log.error("tool %s failed", tool.name, exc_info=problem)
        return
    import traceback

    log.error("tool %s failed\n%s", tool.name, mask("".join(traceback.format_exception(problem)), secrets))


def _leaves(problem: BaseException) -> list[BaseException]:
    """What a group holds at its ends, each once: groups may share their children."""
    leaves, waiting, seen = [], [problem], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, BaseExceptionGroup):
            waiting += reversed(one.exceptions)
        else:
            leaves.append(one)
    return leaves


def _leaf(problem: BaseException, kind: type[BaseException]) -> BaseException | None:
    return next((leaf for leaf in _leaves(problem) if isinstance(leaf, kind)), None)


def _reraise_cancelled(problem: BaseException, cancelled: type[BaseException]) -> None:
    if isinstance(problem, cancelled):
        raise problem
    if isinstance(problem, BaseExceptionGroup):
        # The others of the group are the tool's own. A scope catches `Cancelled` alone, so they would outlive the
        # cancellation and reach whoever called.
        genuine, _ = problem.split(cancelled)
        if genuine is not None:
            raise genuine
