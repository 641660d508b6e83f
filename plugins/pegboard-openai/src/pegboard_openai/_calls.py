"""Calls of an answer: what the server wrote, as the loop reads it and as the server takes it back.

Every call of an answer becomes one member of `Message.calls`, one of `Reply.calls`, and a pair of name and arguments
that any server takes back.
"""

from __future__ import annotations

import json
import secrets
import string
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import ToolCall
from pegboard_chat.portable.calls import kept_arguments, kept_text, take_id, take_name

if TYPE_CHECKING:
    from pegboard import ToolResult
    from pegboard_chat.portable import PortableExport

_ALPHABET = string.ascii_letters + string.digits


class Call(NamedTuple):
    """One call of an answer."""

    said: ToolCall
    """For `Message.calls`."""
    read: ToolCall | ToolResult
    """For `Reply.calls`."""
    alias: str
    """The name that goes back."""
    arguments: str
    """The JSON text that goes back."""


def draw_id() -> str:
    """An id for a call that came without: nine letters and digits, which every server takes."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(9))


def read_call(export: PortableExport, given_id: Any, name: Any, arguments: Any, taken: set[str]) -> Call:
    """One call as a server wrote it, whatever it wrote.

    Args:
        export: of the tools that were offered.
        given_id: a text, or what is none.
        name: the alias that the model called.
        arguments: JSON text, or a JSON value.
        taken: the ids of this turn so far; the call's own is added.
    """
    call_id = take_id(given_id, taken, draw_id)
    alias = name if isinstance(name, str) else ""
    if not (arguments is None or isinstance(arguments, (str, dict))):
        arguments = json.dumps(arguments)
    read = export.call_of(call_id, alias, arguments)
    kept = kept_arguments(arguments)
    said = read if isinstance(read, ToolCall) else ToolCall(call_id, read.name or export.name_of(alias), kept)
    return Call(said, read, take_name(alias), kept_text(arguments, kept))


def written(export: PortableExport, call: ToolCall) -> str:
    """The arguments of a call that another provider's model made, as this one's would have written them."""
    return json.dumps(export.fill(call.name, call.arguments), ensure_ascii=False)
