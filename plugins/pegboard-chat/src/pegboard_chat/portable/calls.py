"""Calls as models write them, whatever they write: what is read of one, and what a provider takes back of it.

Servers leave ids out, give one twice, cut arguments off, send them as values, and call tools by names that nobody has.
A conversation repeats every call to the provider, and most refuse a history for ever that holds arguments which are
not
a JSON object, or a name that is not valid.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard.schema.jsontext import JsonTextError, loads, shorten_text

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ARGUMENTS = 4 * 1024 * 1024
"""How long the JSON text of a call's arguments may be, in characters."""
MAX_ID = 1_000
"""How long the id of a call may be; a longer one is not an id, and another is drawn."""
MAX_NAME = 64
MAX_TAIL = 60

INVALID_JSON = "INVALID_JSON"
"""The member that holds arguments which are not a JSON object, so that the call can be repeated.

.. versionadded:: 0.1
"""
MAX_BROKEN = 2_000
"""Of such arguments so many characters are kept.

.. versionadded:: 0.1
"""
NO_NAME = "no_name"
"""What a call is called that came without a name.

.. versionadded:: 0.1
"""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def draw_id() -> str:
    """An id for a call that came without.

    .. versionadded:: 0.1
    """
    return f"call_{secrets.token_hex(12)}"


def take_id(given: Any, taken: set[str], draw: Callable[[], str] = draw_id) -> str:
    """The id of a call: the given one, or another where that is not valid, or is another call's.

    Args:
        given: as the provider gave it.
        taken: the ids of the conversation so far, this turn included; this one is added.
        draw: makes another.

    .. versionadded:: 0.1
    """
    call_id = given if isinstance(given, str) else str(given) if type(given) is int else ""
    if not call_id.strip() or not call_id.isprintable() or len(call_id) > MAX_ID or call_id in taken:
        call_id = draw()
    taken.add(call_id)
    return call_id


def take_name(alias: str) -> str:
    """The name of a call as every provider takes it back, whatever the model called.

    .. versionadded:: 0.1
    """
    return _NOT_IN_NAMES.sub("_", alias)[:MAX_NAME] or NO_NAME


def read_arguments(text: str) -> Any:
    """The JSON value that the text of a call's arguments holds, or the error that tells the model what is wrong."""
    if not text or text.isspace():
        return {}
    try:
        return loads(text, max_bytes=MAX_ARGUMENTS)
    except JsonTextError as problem:
        what = str(problem).removeprefix("not valid JSON: ").replace(" starting at at ", " that starts at ")
        why = f"the arguments are not a JSON object: {what}"
        if problem.position is not None and not text.rstrip().endswith("}"):
            why += f"; they end in {text.rstrip()[-MAX_TAIL:]!r} and look cut off: send the whole call again"
        return ToolError(ErrorCode.INVALID_INPUT, why, {"reason": "json"})


def object_in(text: str) -> dict[str, Any] | None:
    """The object that a JSON text holds, an empty one for no text and for null; None where it holds another value.

    .. versionadded:: 0.1
    """
    if not text or text.isspace():
        return {}
    try:
        value = loads(text, max_bytes=MAX_ARGUMENTS)
    except JsonTextError:
        return None
    return {} if value is None else value if isinstance(value, dict) else None


def kept_arguments(given: Any) -> dict[str, Any]:
    """Arguments as a conversation keeps them: the object that they are, or `{"INVALID_JSON": their text}`.

    Args:
        given: JSON text, or a JSON value; None is not arguments.

    .. versionadded:: 0.1
    """
    if isinstance(given, dict):
        return given
    text = given if isinstance(given, str) else json.dumps(given)
    value = object_in(text)
    if value is not None:
        return value
    shown = shorten_text(text, MAX_BROKEN)
    return {INVALID_JSON: shown if shown.isascii() else shown.encode("utf-8", "replace").decode("utf-8")}


def kept_text(given: Any, kept: dict[str, Any]) -> str:
    """The JSON text of `kept_arguments`: as it came, where it came as the text of an object.

    .. versionadded:: 0.1
    """
    if isinstance(given, str) and given.lstrip().startswith("{") and INVALID_JSON not in kept:
        return given
    return json.dumps(kept, ensure_ascii=False)


def refused(call_id: str, name: str, why: str, **details: Any) -> ToolResult:
    """The INVALID_INPUT result that answers what is not a valid call.

    .. versionadded:: 0.1
    """
    error = ToolError(ErrorCode.INVALID_INPUT, why, details)
    made = ToolResult.of_error(error)
    return ToolResult(made.content, None, error, None, call_id, name, 0.0)
