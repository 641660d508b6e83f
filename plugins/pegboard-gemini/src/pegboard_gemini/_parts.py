"""Parts, the pieces of a turn, as Gemini sends them and takes them back.

Source: https://ai.google.dev/api/caching#Part and https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from pegboard_chat.portable import NO_NAME, draw_id, kept_arguments, own_id, take_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard import ToolCall, ToolResult
    from pegboard_chat.portable import PortableExport

DIALECT = PROVIDER = "gemini"
FOREIGN_SIGNATURE = "skip_thought_signature_validator"
"""What the API documents as the signature of a call that none of its own models made."""

MAX_NAME = 128
_BEGIN = re.compile("[a-zA-Z_]")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.:-]")
_GENERATION = re.compile(r"gemini-([0-9]{1,3})")
_NAMES = {
    "function_call": "functionCall",
    "thought_signature": "thoughtSignature",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "executable_code": "executableCode",
    "code_execution_result": "codeExecutionResult",
    "function_response": "functionResponse",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
}
_KINDS: Mapping[str, type] = {
    "text": str,
    "thought": bool,
    "thoughtSignature": str,
    "functionCall": dict,
    "inlineData": dict,
}


def is_latest(model: str) -> bool:
    """Whether a model is of the third generation or later: `gemini-3-pro`, and `gemini-flash-latest` too."""
    name = model.removeprefix("models/")
    generation = _GENERATION.match(name)
    return int(generation[1]) >= 3 if generation else name.startswith("gemini-")


def signed(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts, with a signature on the first call where it has none: models from Gemini 3 on refuse it without."""
    first = next((at for at, part in enumerate(parts) if "functionCall" in part), None)
    if first is None or "thoughtSignature" in parts[first]:
        return list(parts)
    return [*parts[:first], {**parts[first], "thoughtSignature": FOREIGN_SIGNATURE}, *parts[first + 1 :]]


def member(value: Any, name: str) -> Any:
    """A member of an object by its name in camelCase, or else in snake_case; None where there is none."""
    if not isinstance(value, dict):
        return None
    found = value.get(name)
    return value.get(_snake(name)) if found is None else found


@functools.cache
def _snake(name: str) -> str:
    return re.sub("([A-Z])", lambda match: "_" + match[1].lower(), name)


def text_member(value: Any, name: str) -> str:
    """The same for a text; empty where it is not one."""
    found = member(value, name)
    return found if isinstance(found, str) else ""


def given_parts(content: Any) -> list[dict[str, Any]]:
    """The parts of a content that are objects, as they came."""
    parts = member(content, "parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def cleaned(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part as the API takes it back: members in camelCase, those of a wrong type left out, a call with an object."""
    clean = {_NAMES.get(key, key): value for key, value in part.items() if value is not None}
    for name, kind in _KINDS.items():
        if not isinstance(clean.get(name, kind()), kind):
            del clean[name]
    if "functionCall" in clean:
        clean["functionCall"] = _cleaned_call(clean["functionCall"])
        clean.pop("text", None)
    if "inlineData" in clean:
        blob = clean["inlineData"]
        clean["inlineData"] = {"mimeType": text_member(blob, "mimeType"), "data": text_member(blob, "data")}
    return clean


def _cleaned_call(call: Any) -> dict[str, Any]:
    """`{id?, name, args}`; what is not an object of arguments is kept as text."""
    name = _NOT_IN_NAMES.sub("_", text_member(call, "name"))[:MAX_NAME] or NO_NAME
    name = name if _BEGIN.match(name) else f"_{name}"[:MAX_NAME]
    named: dict[str, Any] = {"name": name, "args": kept_arguments(member(call, "args"))}
    return {"id": call_id, **named} if (call_id := text_member(call, "id")) else named


def read_call(export: PortableExport, given: Any, taken: set[str]) -> ToolCall | ToolResult:
    """One `functionCall`, whatever its members are; `taken` are the ids of the conversation so far."""
    own = text_member(given, "id")
    # One that repeats is numbered: it goes back with the turn, and no two readings of a turn differ.
    call_id = take_id(own, taken, lambda: own_id(own, set(taken)) if own in taken else draw_id())
    return export.call_of(call_id, text_member(given, "name"), member(given, "args"))
