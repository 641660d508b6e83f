"""What can go wrong, split by who is at fault.

`ToolError` is an answer: the call, the tool or its upstream failed, and the caller reads why and how to repair it.
`ConfigError` is the fault of whoever configured the host, `PluginError` of whoever wrote a plugin. Only these three
leave the library on purpose; a person reads the last two, a model reads the first.

.. versionadded:: 0.1
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "ConfigError",
    "ErrorCode",
    "Fault",
    "HeldBackError",
    "PegboardError",
    "PluginError",
    "Retry",
    "Step",
    "ToolDefinitionError",
    "ToolError",
    "UntrustedError",
    "format_path",
    "reason_of",
]

Step = str | int
"""One step of a path into a JSON value: a key of an object or an index of an array, from 0.

.. versionadded:: 0.1
"""

MAX_STEP = 80
"""Of a longer key in a path only the beginning is shown, in characters: keys come from outside."""


class ErrorCode(StrEnum):
    """The kinds of failure a caller can tell apart; stable strings, the numbers of a protocol live in its own layer.

    .. versionadded:: 0.1
    """

    INVALID_INPUT = "INVALID_INPUT"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    UNAUTHORIZED = "UNAUTHORIZED"
    FORBIDDEN = "FORBIDDEN"
    TIMEOUT = "TIMEOUT"
    RATE_LIMITED = "RATE_LIMITED"
    UPSTREAM_ERROR = "UPSTREAM_ERROR"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"


class Retry(StrEnum):
    """What repeating the very call would do; every error says it in `details["retry"]`.

    .. versionadded:: 0.1
    """

    NEVER = "never"
    """The answer stays the same, whatever the arguments."""
    CHANGED = "changed"
    """Another call may succeed: other arguments, another name, another user."""
    SAME = "same"
    """The same call may succeed, after `retry_after_s` seconds."""
    UNKNOWN = "unknown"
    """Nobody knows whether it ran; repeating it may do the work twice."""


DEFAULT_RETRY = {
    ErrorCode.INVALID_INPUT: Retry.CHANGED,
    ErrorCode.NOT_FOUND: Retry.CHANGED,
    ErrorCode.CONFLICT: Retry.CHANGED,
    ErrorCode.UNAUTHORIZED: Retry.CHANGED,
    ErrorCode.FORBIDDEN: Retry.NEVER,
    ErrorCode.TIMEOUT: Retry.UNKNOWN,
    ErrorCode.RATE_LIMITED: Retry.SAME,
    ErrorCode.UPSTREAM_ERROR: Retry.UNKNOWN,
    ErrorCode.INTERNAL_ERROR: Retry.UNKNOWN,
    ErrorCode.OUTCOME_UNKNOWN: Retry.UNKNOWN,
}


_RETRY_TEXTS = {code: retry.value for code, retry in DEFAULT_RETRY.items()}
_SAME = Retry.SAME.value


class ToolError(Exception):
    """A failed call, as an exception to raise in a handler and as a value in a `ToolResult`.

    Args:
        code: one of `ErrorCode`.
        message: says what happened and how to repair the call, for a model and a person alike. It is sent to the
            caller: no secret, no path of the host that the caller did not name.
        details: JSON values that a program can read. `retry` is filled in from the code where it is missing, and
            `retry_after_s` (1 second) where it says "same".

    .. versionadded:: 0.1
    """

    code: ErrorCode
    message: str
    details: dict[str, Any]
    is_in_our_words = False
    """Whether the host says all of it, and no source any: such an error labels no session. It is told by nobody else,
    and goes over no wire."""

    def __init__(
        self, code: ErrorCode | str, message: str, details: Mapping[str, Any] | None = None, /, **more: Any
    ) -> None:
        super().__init__(message)
        self.code = code if type(code) is ErrorCode else ErrorCode(code)
        self.message = str(message)
        self.details = {**(details or {}), **more}
        retry = self.details.setdefault("retry", _RETRY_TEXTS[self.code])
        if retry == _SAME:
            self.details.setdefault("retry_after_s", 1)

    def __repr__(self) -> str:
        return f"ToolError({self.code.value}, {self.message!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolError):
            return NotImplemented
        return (self.code, self.message, self.details) == (other.code, other.message, other.details)

    def __hash__(self) -> int:
        return hash((self.code, self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.code.value, self.message, self.details)

    def reworded(self, message: str, details: Mapping[str, Any]) -> ToolError:
        """The same error in other words."""
        made = ToolError(self.code, message, details)
        made.is_in_our_words = self.is_in_our_words
        return made

    def to_json(self) -> dict[str, Any]:
        """The member `error` of a result's JSON: code, message, details."""
        return {"code": self.code.value, "message": self.message, "details": self.details}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ToolError:
        """Read back what `to_json` wrote.

        Raises:
            ValueError: the code is not one of `ErrorCode`.
        """
        return cls(value["code"], value.get("message", ""), value.get("details"))


def _rebuild(cls: type[ToolError], code: str, message: str, details: dict[str, Any]) -> ToolError:
    return cls(code, message, details)


@attrs.frozen(eq=False, repr=False)
class Fault(Value):
    """One thing that is wrong with a value that came from outside: where, what was expected, what came instead.

    Args:
        path: keys and indices from the root, as in `("items", 2, "qty")`; empty for the value itself.
        expected: what would have been right, as words: `"integer"`, `"one of fast, safe"`.
        got: what came, shortened; never the whole of a large value, never a secret.
        hint: how to repair it, where that can be said: a near miss of a name, the fix of a setting.
        expected_types: the JSON types that would have been right, where the fault is one of type; the repair of
            strings that
            hold JSON reads it.

    .. versionadded:: 0.1
    """

    path: tuple[Step, ...]
    expected: str
    got: str
    hint: str | None = None
    expected_types: frozenset[str] = frozenset()

    @property
    def due(self) -> frozenset[str]:
        """The former name of `expected_types`; it goes with 0.2."""
        from pegboard._renamed import warn_renamed

        warn_renamed("Fault.due", "expected_types")
        return self.expected_types

    @property
    def where(self) -> str:
        """The path as people write it: `items[2].qty`; empty for the root."""
        return format_path(self.path)

    def __str__(self) -> str:
        return self.said_at(self.where or "the value")

    def said_at(self, where: str) -> str:
        """The fault as a sentence, with the place in other words."""
        text = f"{where}: expected {self.expected}, got {self.got}"
        return f"{text} ({self.hint})" if self.hint else text

    def to_json(self) -> dict[str, Any]:
        """The fault as it stands in `details["faults"]` of an INVALID_INPUT."""
        fault: dict[str, Any] = {"path": self.where, "expected": self.expected, "got": self.got}
        if self.hint:
            fault["hint"] = self.hint
        return fault


def format_path(path: Iterable[Step]) -> str:
    """`("items", 2, "qty")` as `items[2].qty`; a key that is not a plain word is quoted in brackets.

    .. versionadded:: 0.1
    """
    text = ""
    for step in path:
        if type(step) is str and len(step) <= MAX_STEP and step.isidentifier():  # the commonest by far
            text = f"{text}.{step}" if text else step
        elif isinstance(step, int):
            text += f"[{step}]"
        elif len(step) <= MAX_STEP and step.replace("-", "_").isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{step[:MAX_STEP]!r}]"
    return text


def reason_of(problem: BaseException, limit: int = 300) -> str:
    """Type and text of what third-party code raised, in one line; an exception whose own text breaks is its type.

    .. versionadded:: 0.1
    """
    try:
        text = " ".join(str(problem).split())
    except Exception:  # noqa: BLE001 - it is a third-party `__str__`
        text = ""
    return f"{type(problem).__name__}: {text}"[:limit] if text else type(problem).__name__


_MACHINERY = (f"{os.sep}pluggy{os.sep}", f"{os.sep}importlib{os.sep}")


def place_of(problem: BaseException) -> str | None:
    """Where third-party code failed, as FILE:LINE: of the last frame that is neither ours nor the import system's.

    For a person in front of the host, never for a caller: it is a path.
    """
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}"
    ours = __file__.removesuffix("errors.py")
    found, trace = None, problem.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith(("<", ours)) and not any(part in file for part in _MACHINERY):
            found = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


class PegboardError(Exception):
    """What a person in front of the host reads: one line, and a hint that says how to repair it; in a traceback too.

    .. versionadded:: 0.1
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


class ConfigError(PegboardError):
    """The configuration is at fault; `faults` lists everything that is wrong with it, at once.

    .. versionadded:: 0.1
    """

    def __init__(self, message: str, faults: Iterable[Fault] = (), *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.faults = tuple(faults)

    @classmethod
    def of_faults(cls, faults: Iterable[Fault], *, hint: str | None = None, more: bool = False) -> ConfigError:
        """The error whose message counts its faults; `more`: there are others beside them."""
        listed = tuple(faults)
        count = "a fault" if len(listed) == 1 else f"{len(listed)} faults"
        return cls(f"the configuration has {count}{' or more' if more else ''}", listed, hint=hint)

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"  {fault}" for fault in self.faults)])


class UntrustedError(ConfigError):
    """A file that was discovered but not trusted says what it may not: one sentence, in which its faults are named
    already.

    .. versionadded:: 0.1
    """

    def __str__(self) -> str:
        return self.message

    @classmethod
    def of_faults(cls, faults: Iterable[Fault], *, hint: str | None = None, more: bool = False) -> UntrustedError:
        """The error that names what a file may not yet say; all faults are of one file."""
        listed = tuple(faults)
        named = ", ".join(fault.where for fault in listed[:5]) + (", ..." if more or len(listed) > 5 else "")
        return cls(
            f"{getattr(listed[0], 'origin', 'it')} is not trusted, so it may not yet say {named}", listed, hint=hint
        )


class PluginError(PegboardError):
    """A plugin is at fault: its import, its hooks, the tools it defines.

    .. versionadded:: 0.1
    """


class HeldBackError(PluginError):
    """A tool must not be registered until a person has looked at it: what `make_guards` raises where nothing failed.

    The tool stays off the board, and doctor says why and how to register it. No host refuses to open for it, a strict
    one neither.

    Args:
        hint: what a person does who wants this tool.
        all_hint: what a person does who wants all tools that are held back for this very reason; doctor tells of them
            in one finding then.

    .. versionadded:: 0.1
    """

    def __init__(self, message: str, *, hint: str | None = None, all_hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.all_hint = all_hint


class ToolDefinitionError(PluginError):
    """A function or a schema cannot be made into a tool; the message names the function, the parameter and the cure.

    .. versionadded:: 0.1
    """
