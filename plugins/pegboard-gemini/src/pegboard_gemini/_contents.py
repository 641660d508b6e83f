"""A conversation as Gemini's `contents`: parts under the roles `user` and `model`.

Invariants:

- All results of a turn stand in one content, a `functionResponse` each, in the order of the calls; its id is there
  exactly where the call brought one.
- The dialect's own turns go back as they came, to another model without what was thought. A turn that another
  provider's model said is built from its neutral members. For Gemini 3 and later, which refuse a call without its
  `thoughtSignature`, the first call of either carries the value that the API documents for calls of other origin.

Source: https://ai.google.dev/gemini-api/docs/function-calling and https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent
from pegboard_chat.portable import label_of, split_blocks, text_of, text_of_block
from pegboard_gemini._parts import DIALECT, cleaned, given_parts, is_latest, signed, text_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pegboard import Content, ToolResult
    from pegboard_chat import Conversation, Message

RESULT_MEDIA = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})
"""What a `functionResponse` of Gemini 3 and later carries itself; other media follow in a content of the user."""

_INLINE = re.compile(r"(image|audio|video)/[\w.+-]+|application/pdf", re.ASCII)
_FILES = "https://generativelanguage.googleapis.com/"


def contents_of(conversation: Conversation, alias_of: Callable[[str], str], model: str) -> list[dict[str, Any]]:
    """The messages of a conversation; a turn that says nothing is left out, for the API refuses empty ones."""
    latest = is_latest(model)
    contents: list[dict[str, Any]] = []
    asked: list[tuple[str, str]] = []
    for message in conversation.messages:
        if message.role == "user":
            contents += _content("user", (part_of(block) for block in message.content))
        elif message.role == "tool":
            if len(asked) != len(message.results):
                asked = [(result.id, alias_of(result.name)) for result in message.results]
            contents += results_of(message.results, asked, latest=latest)
        else:
            parts = _own_parts(message, model) or [*_foreign_parts(message, alias_of)]
            calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
            asked = [(text_member(call, "id"), text_member(call, "name")) for call in calls]
            contents += _content("model", signed(parts) if latest else parts)
    return contents


def _content(role: str, parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [part for part in parts if part.get("text") != "" or "thoughtSignature" in part]
    return [{"role": role, "parts": kept}] if kept else []


def _own_parts(message: Message, model: str) -> list[dict[str, Any]]:
    """The parts of a turn of this dialect; none of others, and none that do not hold the calls that the results answer:
    a saved file may say anything. Thoughts and their signatures go to the very model that had them."""
    parts = [cleaned(part) for part in given_parts(message.raw)] if message.dialect == DIALECT else []
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    if len(calls) != len(message.calls):
        return []
    for given, call in zip(calls, message.calls, strict=True):  # which may have another id by now, see `unique_ids`
        if "id" in given:
            given["id"] = call.id
    said_by = (message.model or "").partition(":")[2]
    return (
        [_without_thoughts(part) for part in parts if not part.get("thought")] if said_by not in ("", model) else parts
    )


def _without_thoughts(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "thoughtSignature"}


def _foreign_parts(message: Message, alias_of: Callable[[str], str]) -> Iterable[dict[str, Any]]:
    """A turn of another provider's model, or one whose parts were not kept."""
    for block in message.content:
        yield {"text": text_of_block(block)}
    for call in message.calls:
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        yield {"functionCall": {"id": call.id, "name": alias_of(call.name), "args": dict(arguments)}}


def part_of(block: Content) -> dict[str, Any]:
    """One block as a part of a content; what Gemini takes no bytes of is named in a text."""
    match block:
        case ImageContent(data, kind) | AudioContent(data, kind) if _INLINE.fullmatch(kind):
            return _inline(data, kind)
        case BinaryContent(None, kind, str(uri)) if uri.startswith(_FILES):
            return {"fileData": {"mimeType": kind, "fileUri": uri}}
        case BinaryContent(bytes(data), kind) if _INLINE.fullmatch(kind):
            return _inline(data, kind)
        case _:
            return {"text": text_of_block(block)}


def _inline(data: bytes, kind: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(data).decode("ascii")}}


def results_of(
    results: Sequence[ToolResult], asked: Sequence[tuple[str, str]], *, latest: bool = False
) -> list[dict[str, Any]]:
    """The results of one turn: one content with a `functionResponse` each, and one with the media that it cannot carry.

    Args:
        results: in the order of the calls.
        asked: id (empty where the call brought none) and name of each call, as the model wrote them.
        latest: whether a `functionResponse` carries media itself.
    """
    responses: list[dict[str, Any]] = []
    following: list[dict[str, Any]] = []
    for result, (call_id, name) in zip(results, asked, strict=True):
        shown = result.content if result.ok else ()
        inside = [block for block in shown if latest and _is_carried(block)]
        lines, after = split_blocks([block for block in shown if block not in inside], _is_inline)
        text = "\n".join(lines) if lines or inside else text_of(result)
        response: dict[str, Any] = {"id": call_id} if call_id else {}
        response |= {"name": name, "response": {"output" if result.ok else "error": text}}
        if inside:
            response["parts"] = [part_of(block) for block in inside]
        responses.append({"functionResponse": response})
        for number, block in enumerate(after, 1):
            following += [{"text": label_of(block, number, result)}, part_of(block)]
    return _content("user", responses) + _content("user", following)


def _is_carried(block: Content) -> bool:
    return not isinstance(block, TextContent) and block.data is not None and block.mime_type in RESULT_MEDIA


def _is_inline(block: Content) -> bool:
    part = part_of(block)
    return "text" not in part
