"""A conversation as the messages of Cohere's chat API v2.

Invariants:

- Every result is one `tool` message: a text, or text and documents where a result embeds some. What it cannot carry
  follows in a message of the user, where the model takes images, and is named in the text where it does not.
- The dialect's own turns go back as they came; what a reasoning model thought goes back to that very model alone, for
  others refuse it.
- A turn with calls has no text beside them: the API refuses it. The text of such a turn is its plan.

Source: https://docs.cohere.com/reference/chat
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from pegboard import BinaryContent, ImageContent
from pegboard_chat.portable import label_of, split_blocks, text_of, text_of_block
from pegboard_cohere._answers import DIALECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard import Content, ToolResult
    from pegboard_chat import Conversation, Message
    from pegboard_chat.portable import PortableExport

IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
"""https://docs.cohere.com/docs/image-inputs"""
NOTHING = "(no output)"
"""What stands for a result that shows nothing: an empty text is refused."""


def messages_of(
    conversation: Conversation, export: PortableExport, model: str, *, images: bool, thinking: bool = True
) -> list[dict[str, Any]]:
    """All messages; a turn that says nothing is left out.

    Args:
        conversation: what was said.
        export: the tools that are offered; it knows the names of others too.
        model: Cohere's name of the model that is asked.
        images: whether it takes images.
        thinking: whether it may think, and so be told what it thought.
    """
    messages: list[dict[str, Any]] = []
    asked: list[str] = []
    if conversation.system:
        messages.append({"role": "system", "content": conversation.system})
    for message in conversation.messages:
        if message.role == "user":
            messages += _user(message.content, images)
        elif message.role == "tool":
            if len(asked) != len(message.results):
                asked = [result.id for result in message.results]
            messages += results_of(message.results, asked, images=images)
            continue
        elif _is_turn(message):
            keep = thinking and message.model == f"{DIALECT}:{model}"
            messages += _said(message.raw if keep else _without_thinking(message.raw))
        else:
            messages += _said(_foreign(message, export))
        asked = [call.id for call in message.calls]
    return messages


def _is_turn(message: Message) -> bool:
    """Whether the raw turn is one of this dialect, with the very calls that the results answer: a saved file may say
    anything."""
    raw = message.raw
    if message.dialect != DIALECT or not isinstance(raw, dict) or raw.get("role") != "assistant":
        return False
    calls = raw.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        return False
    if not isinstance(raw.get("content", ""), (str, list)):
        return False
    return [call.get("id") for call in calls] == [call.id for call in message.calls]


def _said(turn: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn] if turn.get("content") or turn.get("tool_calls") else []


def _without_thinking(turn: dict[str, Any]) -> dict[str, Any]:
    content = turn.get("content")
    if not isinstance(content, list):
        return turn
    kept = [block for block in content if not (isinstance(block, dict) and block.get("type") == "thinking")]
    rest = {key: value for key, value in turn.items() if key != "content"}
    return {**rest, "content": kept} if kept else rest


def _foreign(message: Message, export: PortableExport) -> dict[str, Any]:
    """A turn of another provider's model, or one whose raw form was not kept."""
    text = "\n".join(filter(None, map(text_of_block, message.content)))
    if not message.calls:
        return {"role": "assistant", "content": text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": export.alias_of(call.name),
                "arguments": json.dumps(export.fill(call.name, call.arguments), ensure_ascii=False),
            },
        }
        for call in message.calls
    ]
    turn = {"role": "assistant", "tool_calls": calls}
    return {**turn, "tool_plan": text} if text else turn


def _user(blocks: Iterable[Content], images: bool) -> list[dict[str, Any]]:
    """A message of the user: a text where it is nothing else, else its blocks."""
    parts = [part for part in (part_of(block, images) for block in blocks) if part.get("text") != ""]
    if not parts:
        return []
    alone = len(parts) == 1 and parts[0]["type"] == "text"
    return [{"role": "user", "content": parts[0]["text"] if alone else parts}]


def part_of(block: Content, images: bool) -> dict[str, Any]:
    """One block for a message of the user."""
    if images and is_image(block):
        assert isinstance(block, (ImageContent, BinaryContent))
        encoded = base64.b64encode(block.data or b"").decode("ascii")
        return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{encoded}"}}
    return {"type": "text", "text": text_of_block(block)}


def is_image(block: Content) -> bool:
    """Whether a block is an image that Cohere's models can be shown."""
    return isinstance(block, (ImageContent, BinaryContent)) and block.data is not None and block.mime_type in IMAGES


def results_of(results: Sequence[ToolResult], asked: Sequence[str], *, images: bool) -> list[dict[str, Any]]:
    """The results of one turn: a `tool` message each, and a message of the user with the images that they hold.

    Args:
        results: in the order of the calls.
        asked: the ids of the calls.
        images: whether the model takes images.
    """
    messages: list[dict[str, Any]] = []
    following: list[dict[str, Any]] = []
    for result, call_id in zip(results, asked, strict=True):
        shown = result.content if result.ok else ()
        documents = [document_of(block) for block in shown if _is_document(block)]
        rest = [block for block in shown if not _is_document(block)]
        lines, after = split_blocks(rest, lambda block: images and is_image(block))
        text = "\n".join(lines) if lines or documents else text_of(result)
        parts = [{"type": "text", "text": text}] if text else []
        content = [*parts, *documents] if documents else text or NOTHING
        messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
        for number, block in enumerate(after, 1):
            following += [{"type": "text", "text": label_of(block, number, result)}, part_of(block, images)]
    return [*messages, {"role": "user", "content": following}] if following else messages


def _is_document(block: Content) -> bool:
    return isinstance(block, BinaryContent) and block.text is not None


def document_of(block: Content) -> dict[str, Any]:
    """An embedded text as a document, which the model can cite."""
    assert isinstance(block, BinaryContent)
    fields = {"title": block.name, "url": block.uri, "text": block.text}
    return {
        "type": "document",
        "document": {"data": {key: value for key, value in fields.items() if value is not None}},
    }
