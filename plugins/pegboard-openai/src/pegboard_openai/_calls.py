"""Calls of an answer: what the server wrote, as the loop reads it and as the server takes it back.

Servers leave ids out, give one twice, cut arguments off, and send them as objects. Every call of an answer becomes one
member of `Message.calls`, one of `Reply.calls`, and a pair of name and arguments that any server takes back.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import ToolCall, ToolResult
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_chat.portable.export import MAX_ARGUMENTS, MAX_ID

if TYPE_CHECKING:
    from pegboard_chat.portable import PortableExport

INVALID = "INVALID_JSON"
MAX_BROKEN = 1_000
"""Of arguments that are no JSON object so many characters are kept."""
_ALPHABET = string.ascii_letters + string.digits
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


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
    call_id = _id_of(given_id, taken)
    alias = name if isinstance(name, str) else ""
    if not (arguments is None or isinstance(arguments, (str, dict))):
        arguments = json.dumps(arguments)
    read = export.call_of(call_id, alias, arguments)
    sent, value = _sent_back(arguments)
    if isinstance(read, ToolCall):
        said = read
    else:
        said = ToolCall(call_id, read.name or export.aliases.get(alias, alias), value)
    return Call(said, read, _NOT_IN_NAMES.sub("_", alias)[:64] or "no_name", sent)


def written(export: PortableExport, call: ToolCall) -> str:
    """The arguments of a call that another provider's model made, as this one's would have written them."""
    arguments = call.arguments
    if not (isinstance(arguments, dict) and INVALID in arguments):
        arguments = export.fill(call.name, arguments)
    return json.dumps(arguments, ensure_ascii=False)


def _id_of(given: Any, taken: set[str]) -> str:
    call_id = str(given) if isinstance(given, str) or (type(given) is int and abs(given) < 10**MAX_ID) else ""
    if not call_id.isprintable() or not call_id.strip() or len(call_id) > MAX_ID or call_id in taken:
        call_id = draw_id()
    taken.add(call_id)
    return call_id


def _sent_back(arguments: Any) -> tuple[str, dict[str, Any]]:
    """The arguments as JSON text that a server takes back, and their value; what is no object is named as such."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return "{}", {}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    try:
        value = loads(text, max_bytes=MAX_ARGUMENTS)
    except JsonTextError:
        value = None
    if isinstance(value, dict):
        return text, value
    broken = {INVALID: text[:MAX_BROKEN].encode("utf-8", "replace").decode("utf-8")}
    return json.dumps(broken), broken
