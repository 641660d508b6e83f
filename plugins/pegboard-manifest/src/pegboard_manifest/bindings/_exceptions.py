"""What a function raised, as the error that a caller reads.

The binding says which exceptions mean what; the first that fits wins. Without one, exceptions by which Python functions
refuse their arguments are INVALID_INPUT, and say what the function said, since that is how the call is repaired. Of any
other only the type is told: its text may hold what a caller must not see, and stands in the host's log.
"""

from __future__ import annotations

import builtins
import os
import re
import signal
import sys
from threading import current_thread, main_thread
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError
from pegboard_manifest.texts import clean_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

REFUSALS = (TypeError, ValueError, KeyError, IndexError, OverflowError, ArithmeticError)
"""Exceptions that are INVALID_INPUT where the binding says nothing of them."""
MAX_MESSAGE = 200

_PATH = re.compile(r"(?<![\w.:/])(?:~|[A-Za-z]:)?[/\\][^\s'\"`,;:()<>\[\]{}]+")

Rule = tuple["Callable[[BaseException], bool]", ErrorCode, "str | None"]


def compile_errors(rules: Iterable[Mapping[str, Any]], called: str) -> Callable[[BaseException], ToolError]:
    """The function from an exception to the error.

    Args:
        rules: `exceptions` of the binding.
        called: how the function is called in messages.
    """
    compiled: list[Rule] = [
        (_fits(rule["type"]), ErrorCode(rule["code"]), clean_line(rule.get("message", "")) or None) for rule in rules
    ]

    def error_of(problem: BaseException) -> ToolError:
        if isinstance(problem, ToolError):
            return problem
        kind = type(problem).__name__
        for fits, code, message in compiled:
            if fits(problem):
                return _error(code, message, problem, called)
        if isinstance(problem, REFUSALS):
            return _error(ErrorCode.INVALID_INPUT, None, problem, called)
        return ToolError(
            ErrorCode.UPSTREAM_ERROR,
            f"{called} failed ({kind}); its cause is in the host's log",
            exception=kind,
            executed=True,
        )

    return error_of


def _error(code: ErrorCode, message: str | None, problem: BaseException, called: str) -> ToolError:
    kind, given = type(problem).__name__, ""
    if message is None or code is ErrorCode.INVALID_INPUT:
        given = _words_of(problem)
    text = message or f"{called} refused the call ({kind})"
    return ToolError(code, f"{text}: {given}" if given else text, exception=kind, executed=True)


def _words_of(problem: BaseException) -> str:
    """What an exception says, in a line without paths; nothing where its own text breaks."""
    from pegboard_manifest.hygiene import sanitise

    try:
        text = str(problem)
    except BaseException as broken:
        if is_the_hosts(broken):
            raise
        return ""  # a third-party `__str__`
    text = text[: MAX_MESSAGE * 4]
    for secret in _secrets_of_the_host():
        text = text.replace(secret, "***")
    return sanitise(_PATH.sub("<path>", text), MAX_MESSAGE, one_line=True)


def _secrets_of_the_host() -> list[str]:
    """Values of the environment whose names say that they are secrets: a function here can read them all. Asked for
    only where a function failed."""
    from pegboard_manifest.bindings.subprocess.program import MIN_VALUE, secret_names

    names = secret_names({"environment": list(os.environ)})
    return sorted((os.environ[name] for name in names if len(os.environ[name]) >= MIN_VALUE), key=len, reverse=True)


def is_the_hosts(problem: BaseException) -> bool:
    """Whether what came out of a function was never raised by it: somebody pressed Ctrl-C, or a cancellation, which
    belongs to whoever cancelled. Anything else is the function's own, whatever it calls it."""
    if isinstance(problem, (Exception, SystemExit, GeneratorExit)):
        return False
    import trio

    if isinstance(problem, BaseExceptionGroup):
        return any(map(is_the_hosts, problem.exceptions))
    return isinstance(problem, trio.Cancelled) or (isinstance(problem, KeyboardInterrupt) and _was_pressed(problem))


def _was_pressed(problem: KeyboardInterrupt) -> bool:
    """Whether the handler of the signal raised it. It runs in the main thread alone; Python's own leaves no trace."""
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(handler):
        return False
    if handler is signal.default_int_handler:
        return True
    code = getattr(handler, "__code__", None)
    return any(frame.f_code is code for frame, _ in walk_tb(problem.__traceback__))


def _fits(name: str) -> Callable[[BaseException], bool]:
    """Whether an exception is of the class of that name, or of one below it. Nothing is imported to find out: a class
    whose module was never imported was never raised."""

    def fits(problem: BaseException) -> bool:
        classes = type(problem).__mro__
        if any(name in (f"{one.__module__}.{one.__qualname__}", _bare(one)) for one in classes):
            return True
        known = _find(name)
        return known is not None and known in classes

    return fits


def _bare(cls: type) -> str | None:
    return cls.__qualname__ if getattr(builtins, cls.__qualname__, None) is cls else None


def _find(name: str) -> type | None:
    """The class that a package offers under this name, wherever it was written."""
    module, _, attribute = name.rpartition(".")
    known = getattr(sys.modules.get(module), attribute, None) if module and not attribute.startswith("_") else None
    return known if isinstance(known, type) else None
