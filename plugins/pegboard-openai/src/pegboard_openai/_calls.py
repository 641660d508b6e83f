"""Tools of a request, and calls of an answer: what the server wrote, as the loop reads it and the server takes it back.

Every call of an answer becomes one member of `Message.calls`, one of `Reply.calls`, and a pair of name and arguments
that any server takes back.
"""

from __future__ import annotations

import json
import secrets
import string
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import ToolCall
from pegboard_chat import ForcedTool
from pegboard_chat.portable import kept_arguments, kept_text, take_id, take_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard import ToolResult
    from pegboard_chat import ModelRequest
    from pegboard_chat.portable import PortableExport
    from pegboard_openai._flavours import Flavour

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


def tools_of(
    request: ModelRequest, flavour: Flavour, model: str, forced: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """What a body says of tools: their definitions, and how the model may call them.

    Args:
        request: whose body it is.
        flavour: of the server.
        model: which is asked.
        forced: how the API says that the tool of this alias has to be called.
    """
    export: Any = request.export
    # Servers of this language are many, and some call whatever they are told not to.
    if export is None or not export.definitions or request.tool_choice == "none":
        return {}
    said: dict[str, Any] = {"tools": list(export.definitions)}
    if isinstance(request.tool_choice, ForcedTool):
        said["tool_choice"] = forced(export.alias_of(request.tool_choice.name))
    elif request.tool_choice != "auto":
        said["tool_choice"] = request.tool_choice
    if not request.parallel and flavour.may_forbid_parallel(model):
        said["parallel_tool_calls"] = False
    return said


def draw_id() -> str:
    """An id for a call that came without: nine letters and digits, which every server takes."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(9))


def read_call(export: PortableExport, given_id: Any, name: Any, arguments: Any, taken: set[str]) -> Call:
    """One call as a server wrote it, whatever it wrote.

    Args:
        export: of the tools that were offered.
        given_id: a text, or anything else.
        name: the alias that the model called.
        arguments: JSON text, or a JSON value.
        taken: the ids of the conversation so far; the call's own is added.
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
