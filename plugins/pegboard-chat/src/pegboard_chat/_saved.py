"""Reading a saved conversation back: everything is checked, and what is wrong is named with its place.

A saved conversation is a file of somebody: it may be cut, edited, or made by a program that read half of the reference.
What is read holds the invariants of `pegboard_chat.conversation`, or is refused whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import attrs

from pegboard import Content, ErrorCode, ToolCall, ToolResult
from pegboard.limits import CONVERSATION_LEVELS
from pegboard.schema.jsontext import check_value, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NODES = 10_000_000
_TOP = {"pegboard_conversation", "system", "messages"}
_MEMBERS = {"role", "content", "calls", "results", "raw", "dialect", "model", "cut"}
_CALL = {"id", "name", "arguments"}
_RESULT = {"id", "name", "ok", "content", "data", "error", "duration_ms", "details"}
_ERROR = {"code", "message", "details"}
_BLOCK = {
    "text": {"type", "text"},
    "image": {"type", "data", "mimeType"},
    "audio": {"type", "data", "mimeType"},
    "resource": {"type", "resource"},
    "resource_link": {"type", "uri", "mimeType", "name"},
}
_RESOURCE = {"uri", "mimeType", "blob", "name"}
_CODES = frozenset(code.value for code in ErrorCode)


class Turn(NamedTuple):
    """The members of a `Message`, in their order."""

    role: Any
    content: tuple[Content, ...]
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    raw: Any
    dialect: str | None
    model: str | None
    cut: str | None


def read(value: Any, version: int) -> tuple[str | None, list[Turn]]:
    """The system text and the messages of what `Conversation.to_json` wrote.

    Args:
        value: the JSON.
        version: the newest one that is read.

    Raises:
        ValueError: it is not valid; the text names the place.
    """
    if (fault := check_value(value, max_depth=CONVERSATION_LEVELS, max_nodes=MAX_NODES)) is not None:
        raise ValueError(str(fault))
    top = _object(value, "the conversation", required=("pegboard_conversation", "messages"), known=_TOP)
    written = top["pegboard_conversation"]
    if type(written) is not int or written < 1:
        _refuse("pegboard_conversation", f"expected {version}", written)
    if written > version:
        raise ValueError(
            f"pegboard_conversation: version {shorten(written)} is newer than what is read here ({version}); "
            "update pegboard-chat"
        )
    system = _optional_text(top, "system", "")
    messages: list[Turn] = []
    before: Turn | None = None
    for index, one in enumerate(_list(top["messages"], "messages")):
        place = f"messages[{index}]"
        message = _message(one, place)
        _check_order(before, message, place)
        messages.append(message)
        before = message
    return system, messages


def _message(value: Any, place: str) -> Turn:
    fields = _object(value, place, required=("role",), known=_MEMBERS)
    role = fields["role"]
    if role not in ("user", "assistant", "tool"):
        _refuse(f"{place}.role", "expected user, assistant or tool", role)
    for member, whose in (("calls", "assistant"), ("results", "tool"), ("raw", "assistant"), ("cut", "assistant")):
        if fields.get(member) not in (None, []) and role != whose:
            raise ValueError(f"{place}.{member}: only a message of the role {whose} has that")
    content = _blocks(fields.get("content", []), f"{place}.content")
    if content and role == "tool":
        raise ValueError(f"{place}.content: a message of the role tool has results instead")
    listed = _list(fields.get("calls", []), f"{place}.calls")
    calls = tuple(_call(one, f"{place}.calls[{index}]") for index, one in enumerate(listed))
    if len({call.id for call in calls}) != len(calls):
        raise ValueError(f"{place}.calls: two calls have the same id")
    listed = _list(fields.get("results", []), f"{place}.results")
    results = tuple(_result(one, f"{place}.results[{index}]") for index, one in enumerate(listed))
    dialect = _optional_text(fields, "dialect", place)
    if fields.get("raw") is not None and dialect is None:
        raise ValueError(f"{place}.dialect: expected whose the member raw is")
    model, cut = (_optional_text(fields, member, place) for member in ("model", "cut"))
    return Turn(role, content, calls, results, fields.get("raw"), dialect, model, cut)


def _check_order(before: Turn | None, message: Turn, place: str) -> None:
    """A message of the tools answers the calls before it, all of them and in their order."""
    calls = before.calls if before is not None else ()
    if message.role != "tool":
        if calls:
            raise ValueError(f"{place}.role: expected tool, since the message before has calls, got {message.role}")
        return
    if not calls:
        raise ValueError(f"{place}.role: a message of the role tool answers calls, and there are none before it")
    asked, answered = [call.id for call in calls], [result.id for result in message.results]
    if len(asked) != len(answered):
        raise ValueError(f"{place}.results: expected {len(asked)}, one a call, got {len(answered)}")
    for index, (expected, got) in enumerate(zip(asked, answered, strict=True)):
        if expected != got:
            _refuse(f"{place}.results[{index}].id", f"expected {shorten(expected)}, the id of the call", got)


def _call(value: Any, place: str) -> ToolCall:
    fields = _object(value, place, required=("id", "name", "arguments"), known=_CALL)
    call_id = _text(fields["id"], f"{place}.id")
    if not call_id:
        raise ValueError(f"{place}.id: expected a text that is not empty")
    arguments = fields["arguments"]
    if not isinstance(arguments, dict):
        _refuse(f"{place}.arguments", "expected an object", arguments)
    return ToolCall(call_id, _text(fields["name"], f"{place}.name"), arguments)


def _result(value: Any, place: str) -> ToolResult:
    fields = _object(value, place, required=("id", "name", "content"), known=_RESULT)
    _text(fields["id"], f"{place}.id")
    _text(fields["name"], f"{place}.name")
    content = _blocks(fields["content"], f"{place}.content")
    for member in ("data", "details"):
        if fields.get(member) is not None:
            _object(fields[member], f"{place}.{member}")
    error = fields.get("error")
    if error is not None:
        _error(error, f"{place}.error")
    if "ok" in fields and fields["ok"] is not (error is None):
        _refuse(f"{place}.ok", f"expected {'true' if error is None else 'false'}, as the error says", fields["ok"])
    duration = fields.get("duration_ms", 0.0)
    if type(duration) not in (int, float) or duration < 0:
        _refuse(f"{place}.duration_ms", "expected milliseconds", duration)
    return attrs.evolve(ToolResult.from_json({**fields, "content": []}), content=content)


def _error(value: Any, place: str) -> None:
    fields = _object(value, place, required=("code", "message"), known=_ERROR)
    if not isinstance(fields["code"], str) or fields["code"] not in _CODES:
        _refuse(f"{place}.code", "expected a code of errors, as INVALID_INPUT", fields["code"])
    _text(fields["message"], f"{place}.message")
    if fields.get("details") is not None:
        _object(fields["details"], f"{place}.details")


def _blocks(value: Any, place: str) -> tuple[Content, ...]:
    return tuple(_block(one, f"{place}[{index}]") for index, one in enumerate(_list(value, place)))


def _block(value: Any, place: str) -> Content:
    fields = _object(value, place, required=("type",))
    kind = fields["type"]
    known = _BLOCK.get(kind) if isinstance(kind, str) else None
    if known is None:
        _refuse(f"{place}.type", f"expected one of {', '.join(_BLOCK)}", kind)
    _object(value, place, known=known)
    inner = fields.get("resource")
    if inner is not None:
        _object(inner, f"{place}.resource", required=("blob",), known=_RESOURCE)
    for where, held in ((place, fields), (f"{place}.resource", inner or {})):
        for key, one in held.items():
            if key != "resource":
                _text(one, f"{where}.{key}")
    try:
        return ToolResult.from_json({"content": [fields]}).content[0]
    except ValueError as problem:  # bytes that are not base64, a member that is missing
        raise ValueError(f"{place}: {problem}") from None


def _object(
    value: Any, place: str, *, required: tuple[str, ...] = (), known: set[str] | None = None
) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        _refuse(place, "expected an object", value)
    inside = "" if place == "the conversation" else f"{place}."
    for key in required:
        if key not in value:
            raise ValueError(f"{inside}{key}: it is missing")
    if known is not None and (odd := sorted(value.keys() - known)):
        raise ValueError(f"{inside}{odd[0][:60]}: no member of that name is known")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        _refuse(place, "expected an array", value)
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        _refuse(place, "expected a text", value)
    return value


def _optional_text(fields: Mapping[str, Any], member: str, place: str) -> str | None:
    value = fields.get(member)
    return None if value is None else _text(value, f"{place}.{member}" if place else member)


def _refuse(place: str, expected: str, got: Any) -> NoReturn:
    raise ValueError(f"{place}: {expected}, got {shorten(got)}")
