"""A conversation as the `messages` of a request.

Invariants of what is made here, each of which the API demands:

- Every `tool_use` is answered in the very next message; all answers of a turn stand in one user message, before any
  text.
- No message and no text block is empty.
- A turn of this dialect goes back as it came. Its thinking goes back to the model that thought it and to no other: to
  another it is of no use, and some refuse it. The rule depends on the conversation alone, so that what stood before a
  thinking block stays the same from request to request, as newer models want it.

Source: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_anthropic._blocks import Block, blocks_of, result_block, wire_id, words_of
from pegboard_chat.portable import kept_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard import ToolCall, ToolResult
    from pegboard_chat import Conversation, Message
    from pegboard_chat.portable import PortableExport

DIALECT = "anthropic"
THINKING = frozenset({"thinking", "redacted_thinking"})
UNANSWERED = "No result: this call was not carried out."


def messages_of(conversation: Conversation, model: str, export: PortableExport) -> list[dict[str, Any]]:
    """The messages, oldest first.

    Args:
        conversation: all of it.
        model: the provider's name of the model that is asked.
        export: the tools that are offered; it knows the names of others too.
    """
    made: list[dict[str, Any]] = []
    open_ids: list[str] = []
    for message in conversation.messages:
        content: list[Block]
        if message.role == "assistant":
            _add(made, "user", _answers(open_ids, ()))
            content = _turn_of(message, model, export)
            open_ids = [block["id"] for block in content if block["type"] == "tool_use"]
            _add(made, "assistant", content)
            continue
        content = _answers(open_ids, message.results)
        open_ids = []
        _add(made, "user", content + blocks_of(message.content))
    _add(made, "user", _answers(open_ids, ()))
    if made and made[-1]["role"] == "assistant":
        _trim_the_end(made[-1])
    return made


def _add(messages: list[dict[str, Any]], role: str, content: list[Block]) -> None:
    """Add a message, or its blocks to one of the same user before it; an empty one is left out."""
    if content and role == "user" and messages and messages[-1]["role"] == "user":
        messages[-1]["content"].extend(content)
    elif content:
        messages.append({"role": role, "content": content})


def _turn_of(message: Message, model: str, export: PortableExport) -> list[Block]:
    raw = _raw_of(message)
    if raw is None:
        return words_of(message.content) + [_tool_use_of(call, export) for call in message.calls]
    said_by = (message.model or "").partition(":")[2]
    if said_by and said_by != model:
        return [block for block in raw if block["type"] not in THINKING]
    return list(raw)


def _raw_of(message: Message) -> list[Block] | None:
    """The blocks of a turn of this dialect; None for those of others, and for what no longer holds them."""
    raw = message.raw
    if message.dialect != DIALECT or not isinstance(raw, dict) or not isinstance(blocks := raw.get("content"), list):
        return None
    whole = all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)
    ids = [block.get("id") for block in blocks if block["type"] == "tool_use"] if whole else []
    return blocks if whole and ids == [wire_id(call.id) for call in message.calls] else None


def _tool_use_of(call: ToolCall, export: PortableExport) -> Block:
    written = export.fill(call.name, kept_arguments(call.arguments))
    return {"type": "tool_use", "id": wire_id(call.id), "name": export.alias_of(call.name), "input": written}


def _answers(open_ids: list[str], results: Sequence[ToolResult]) -> list[Block]:
    """The results of the open calls, in the calls' order, then as words those that answer nothing."""
    by_id = {wire_id(result.id): result for result in results}
    if len(results) == len(open_ids) and by_id.keys() != set(open_ids):
        by_id = dict(zip(open_ids, results, strict=True))
    blocks = [
        result_block(call_id, by_id[call_id]) if call_id in by_id else _unanswered(call_id) for call_id in open_ids
    ]
    for call_id, result in by_id.items():
        if call_id not in open_ids:
            blocks += result_block(call_id, result).get("content", [])
    return blocks


def _unanswered(call_id: str) -> Block:
    content = [{"type": "text", "text": UNANSWERED}]
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}


def _trim_the_end(message: dict[str, Any]) -> None:
    """The text that a model is to go on with must not end in white space."""
    last = message["content"][-1]
    if last["type"] == "text" and isinstance(text := last.get("text"), str):
        message["content"] = [*message["content"][:-1], {**last, "text": text.rstrip()}]
