"""What dialects share: one call of untrusted JSON, as a `ToolCall` or the error result that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Shown
from pegboard.errors import ErrorCode, ToolError
from pegboard.results import ToolResult, stamped
from pegboard.tools import ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pegboard.contract import Loss

MAX_ID = 1_000
_MAX_NUMBER = 10**200  # Python makes no text of longer integers (sys.set_int_max_str_digits)
CHARACTERS_PER_TOKEN = 4
"""The rule of thumb for English text and JSON; each model's own tokenizer differs by some tens of percent."""


@attrs.frozen(eq=False, repr=False)
class SimpleExport(Shown):
    """An `Export` of a dialect that keeps every name and loses nothing.

    .. versionadded:: 0.1
    """

    definitions: Sequence[Any]
    aliases: Mapping[str, str]
    _parse: Callable[[Any], Sequence[ToolCall | ToolResult]]
    _format: Callable[[Sequence[ToolResult]], Sequence[Any]]
    losses: Sequence[Loss] = ()

    def parse(self, message: Any) -> Sequence[ToolCall | ToolResult]:
        """The calls that a message holds; what is not a valid call is an error result with its id."""
        return self._parse(message)

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """The messages that carry the results back."""
        return self._format(results)


def no_call(why: str, *, id: str = "", name: str = "", **details: Any) -> ToolResult:  # noqa: A002 - the field's name
    """INVALID_INPUT for what is not a valid call.

    .. versionadded:: 0.1
    """
    return stamped(ToolResult.of_error(ToolError(ErrorCode.INVALID_INPUT, why, details)), id, name, 0.0)


def id_of(given: Any) -> str | ToolError:
    """The id of a call as text; or INVALID_INPUT. Nothing, and None, stand for an id that is to be drawn.

    An integer is taken as an id, since many programs count their calls.

    .. versionadded:: 0.1
    """
    if given is None:
        return ""
    if isinstance(given, str) and len(given) <= MAX_ID:
        return str.__str__(given)
    if type(given) is int and abs(given) < _MAX_NUMBER:
        return str(given)
    got = f"text of {len(given):,} characters" if isinstance(given, str) else _kind_of(given)
    return ToolError(
        ErrorCode.INVALID_INPUT, f"id: expected text of at most {MAX_ID:,} characters or an integer, got {got}"
    )


def call_of(value: Any) -> ToolCall | ToolResult:
    """A call as a line of `batch` has it: `{"id", "name", "arguments"}`, of which the id may be missing.

    .. versionadded:: 0.1
    """
    if not isinstance(value, dict):
        return no_call(f"a call is an object with name and arguments, got {_kind_of(value)}")
    call_id, name = id_of(value.get("id")), value.get("name")
    if isinstance(call_id, ToolError):
        return no_call(call_id.message, name=name if isinstance(name, str) else "")
    if not isinstance(name, str) or not name:
        return no_call("a call needs the name of a tool, as text", id=call_id)
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        why = f"arguments: expected an object, got {_kind_of(arguments)}"
        return no_call(why, id=call_id, name=name)
    return ToolCall(call_id, name, arguments)


def tokens_of(definitions: Iterable[Any]) -> int:
    """What definitions of tools cost a model, in tokens: characters of their text or compact JSON, by four, rounded up.

    Args:
        definitions: those of an `Export`.

    .. versionadded:: 0.1
    """
    import json

    text = "".join(
        one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, separators=(",", ":"))
        for one in definitions
    )
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _kind_of(value: Any) -> str:
    from pegboard.schema.kinds import kind_of  # late: only what is not a valid call needs it

    return kind_of(value)
