"""Answers of the messages API, whole or streamed, as a `Reply`.

Both ways end in `_reply`: the blocks of the turn, as the API takes them back. What is not an answer is a `ModelError`;
what is not a proper call is an error result that answers it, and the turn repeats the call in a form that the API
takes.

Source: https://platform.claude.com/docs/en/api/messages,
    https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, TextContent, ToolCall, ToolError, ToolResult
from pegboard_anthropic._blocks import Block, wire_id
from pegboard_anthropic._messages import DIALECT, THINKING
from pegboard_chat import CallDelta, Message, ModelError, Reply, Stop, TextDelta, ThinkingDelta, Usage
from pegboard_chat.portable import kept_arguments, object_in, take_id
from pegboard_chat.wire import error_of, half_answer, read_json, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard_chat import Delta
    from pegboard_chat.portable import PortableExport

STOPS = {
    "end_turn": Stop.END,
    "stop_sequence": Stop.END,
    "tool_use": Stop.CALLS,
    "max_tokens": Stop.LENGTH,
    "model_context_window_exceeded": Stop.LENGTH,
    "refusal": Stop.REFUSED,
}
"""Of `stop_reason`; any other, `pause_turn` among them, is `Stop.OTHER`."""


def read(answer: Any, export: PortableExport, model: str, taken: Iterable[str] = ()) -> Reply:
    """A whole answer; `taken` are the ids of the calls before it.

    Raises:
        ModelError: it is not valid, or reports an error.
    """
    if not isinstance(answer, dict):
        raise no_answer(model, "a JSON object was expected")
    if answer.get("error") is not None or answer.get("type") == "error":
        raise error_in(answer, model)
    blocks = answer.get("content")
    if not isinstance(blocks, list):
        raise no_answer(model, "it has no content")
    stop = answer.get("stop_reason")
    usage = answer.get("usage")
    cut = STOPS.get(stop) is Stop.LENGTH if isinstance(stop, str) else False
    made = [_checked(block, model) for block in blocks]
    return _reply(made, {}, stop, usage if isinstance(usage, dict) else {}, export, model, taken, cut=cut)


class MessageStreamReader:
    """Takes the events of one streamed answer; see `StreamReader`."""

    def __init__(self, export: PortableExport, model: str, taken: Iterable[str] = ()) -> None:
        self._taken = taken
        self._export = export
        self._model = model
        self._blocks: dict[int, Block] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._positions: dict[int, int] = {}
        self._usage: dict[str, Any] = {}
        self._stop: Any = None
        self._begun = self._ended = False

    @property
    def done(self) -> bool:
        """Whether the answer has ended, though the connection may be open still."""
        return self._ended

    @property
    def complete(self) -> bool:
        """Whether the answer says why it stopped."""
        return self._stop is not None

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """One server-sent event."""
        if self._ended or (event == "ping" and not data):
            return ()
        value = read_json(self._model.partition(":")[0], data)
        if not isinstance(value, dict):
            raise no_answer(self._model, "an event of the stream is not a JSON object")
        if event == "error" or value.get("type") == "error" or value.get("error") is not None:
            raise error_in(value, self._model)  # the event's name alone tells it with llama.cpp
        match value.get("type", event):
            case "message_start":
                self._start(value.get("message"))
            case "content_block_start":
                return self._start_block(self._index_of(value), value.get("content_block"))
            case "content_block_delta":
                return self._take(self._index_of(value), value.get("delta"))
            case "content_block_stop":
                return self._end_block(self._index_of(value))
            case "message_delta":
                self._take_the_end(value)
            case "message_stop":
                self._ended = True
        return ()

    def close(self) -> Reply:
        """The stream ended."""
        if not (self._begun and (self.complete or self.done)):
            raise half_answer(self._model.partition(":")[0])
        blocks, arguments = [], {}
        for position, index in enumerate(sorted(self._blocks)):
            blocks.append(self._whole(index))
            text = "".join(self._pieces.get((index, "partial_json"), ()))
            if text.strip():
                arguments[position] = text
        stop = self._stop
        cut = isinstance(stop, str) and STOPS.get(stop) is Stop.LENGTH and len(blocks) - 1 not in arguments
        return _reply(blocks, arguments, stop, self._usage, self._export, self._model, self._taken, cut=cut)

    def _start(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise no_answer(self._model, "the stream starts with no message")
        self._begun = True
        self._add_usage(message.get("usage"))

    def _start_block(self, index: int, block: Any) -> Iterable[Delta]:
        block = _checked(block, self._model)
        self._begun = True
        self._blocks[index] = block
        if block["type"] == "tool_use":
            self._positions[index] = len(self._positions)
            return (CallDelta(self._positions[index], self._export.aliases.get(block["name"], block["name"]), ""),)
        if block["type"] == "text" and block["text"]:
            return (TextDelta(block["text"]),)
        return ()

    def _take(self, index: int, delta: Any) -> Iterable[Delta]:
        block = self._blocks.get(index)
        if block is None or not isinstance(delta, dict):
            raise no_answer(self._model, "a piece of the stream belongs to no block")
        match block["type"], delta:
            case "text", {"type": "text_delta", "text": str(text)}:
                self._pieces.setdefault((index, "text"), []).append(text)
                return (TextDelta(text),) if text else ()
            case "thinking", {"type": "thinking_delta", "thinking": str(text)}:
                self._pieces.setdefault((index, "thinking"), []).append(text)
                return (ThinkingDelta(text),) if text else ()
            case "thinking", {"type": "signature_delta", "signature": str(signature)}:
                block["signature"] = signature
            case "text", {"type": "citations_delta", "citation": dict(citation)}:
                if not isinstance(block.get("citations"), list):
                    block["citations"] = []
                block["citations"].append(citation)
            case _, {"type": "input_json_delta", "partial_json": str(text)}:
                self._pieces.setdefault((index, "partial_json"), []).append(text)
                return (CallDelta(self._positions[index], "", text),) if text and index in self._positions else ()
        return ()  # a kind of delta that is not known changes nothing that is

    def _end_block(self, index: int) -> Iterable[Delta]:
        """A call whose arguments came whole, with its start, has them said as a piece too."""
        block = self._blocks.get(index)
        if block is None or index not in self._positions or (index, "partial_json") in self._pieces:
            return ()
        return (CallDelta(self._positions[index], "", json.dumps(block["input"], ensure_ascii=False)),)

    def _take_the_end(self, value: dict[str, Any]) -> None:
        delta = value.get("delta")
        if isinstance(delta, dict) and delta.get("stop_reason") is not None:
            self._stop = delta["stop_reason"]
        self._add_usage(value.get("usage"))

    def _add_usage(self, usage: Any) -> None:
        """The counts are totals so far; those left out, or null, stay what they were."""
        if isinstance(usage, dict):
            self._usage.update({key: count for key, count in usage.items() if count is not None})

    def _index_of(self, value: dict[str, Any]) -> int:
        index = value.get("index")
        if type(index) is not int:
            raise no_answer(self._model, "a piece of the stream says no index")
        return index

    def _whole(self, index: int) -> Block:
        block = self._blocks[index]
        for member in ("text", "thinking"):
            if pieces := self._pieces.get((index, member)):
                block[member] = str(block.get(member) or "") + "".join(pieces)
        text = "".join(self._pieces.get((index, "partial_json"), ()))
        if text and block["type"] != "tool_use":  # a tool of the provider's own
            arguments = object_in(text)
            block["input"] = block.get("input") if arguments is None else arguments
        return block


def no_answer(model: str, why: str) -> ModelError:
    """What came is JSON, but no answer of the messages API."""
    provider = model.partition(":")[0]
    return ModelError(
        ErrorCode.UPSTREAM_ERROR,
        f"{provider} sent what is not an answer: {why}; check the base_url, or ask again",
        provider=provider,
        reason="no_json",
    )


def error_in(value: Any, model: str) -> ModelError:
    """The error that an event, or an answer, reports."""
    provider, _, name = model.partition(":")
    return error_of(provider, None, json.dumps(value), model=name)


_MEMBERS: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "tool_use": {"id": str, "name": str, "input": dict},
}
"""What is read of a block, by its type; a block of another type goes back as it came."""


def _checked(block: Any, model: str) -> Block:
    """A copy of the block that has every member that is read, with texts for texts."""
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
        raise no_answer(model, "its content is not made of blocks")
    checked = dict(block)
    for name, expected in _MEMBERS.get(kind, {}).items():
        if checked.get(name) is None or (expected is str and not isinstance(checked[name], str)):
            checked[name] = expected()
    return checked


def _reply(
    blocks: list[Block],
    arguments: Mapping[int, str],
    stop_reason: Any,
    usage: Mapping[str, Any],
    export: PortableExport,
    model: str,
    before: Iterable[str],
    *,
    cut: bool,
) -> Reply:
    """The reply of these blocks.

    Args:
        arguments: of the calls that were streamed, their JSON text, by the index of the block.
        before: the ids of the calls before it.
        cut: the answer was cut, and a call at its end does not show whether it was whole: servers fill in what is
            missing, llama.cpp with no arguments at all.
    """
    turn: list[Block] = []
    calls: list[ToolCall] = []
    parsed: list[ToolCall | ToolResult] = []
    taken = set(before)
    for index, block in enumerate(blocks):
        if block["type"] == "text" and not block["text"].strip():
            continue  # the API refuses it
        if block["type"] == "tool_use":
            given = arguments.get(index) or block["input"]
            last = cut and index == len(blocks) - 1
            call = _call_of(export, take_id(block["id"], taken), block["name"], given, last=last)
            parsed.append(call)
            kept = kept_arguments(given)
            calls.append(call if isinstance(call, ToolCall) else ToolCall(call.id, call.name, kept))
            block = {**block, "id": wire_id(call.id), "name": export.alias_of(call.name), "input": kept}
        turn.append(block)
    while turn and turn[-1]["type"] in THINKING:  # cut in its thoughts; the API refuses a turn that ends so
        turn.pop()
    texts = tuple(map(TextContent, _texts_of(blocks)))
    raw = {"role": "assistant", "content": turn}
    message = Message("assistant", texts, tuple(calls), raw=raw, dialect=DIALECT, model=model)
    stop = STOPS.get(stop_reason, Stop.OTHER) if isinstance(stop_reason, str) else Stop.OTHER
    if calls and stop is Stop.END:  # as some compatible servers say it
        stop = Stop.CALLS
    return Reply(message, tuple(parsed), _usage_of(usage), stop)


def _texts_of(blocks: Iterable[Block]) -> list[str]:
    """The texts of an answer. White space that is a block of its own, as between cited texts, belongs to what it
    follows; where nothing follows it, to none."""
    texts: list[str] = []
    blank = ""
    for text in (block["text"] for block in blocks if block["type"] == "text"):
        if not text.strip():
            blank += text if texts else ""
            continue
        if blank:
            texts[-1] += blank
            blank = ""
        texts.append(text)
    return texts


def _call_of(export: PortableExport, call_id: str, alias: str, given: Any, *, last: bool) -> ToolCall | ToolResult:
    call = export.call_of(call_id, alias, given if isinstance(given, (dict, str)) else json.dumps(given))
    if not last or isinstance(call, ToolResult):
        return call
    why = "the answer reached its limit of output tokens in this call; its arguments may be cut: send it again, shorter"
    error = ToolError(ErrorCode.INVALID_INPUT, why, reason="truncated")
    return ToolResult(ToolResult.of_error(error).content, error=error, id=call.id, name=call.name)


def _usage_of(usage: Mapping[str, Any]) -> Usage:
    """All that was read, cached or not; see the note on `usage` of the API."""
    fresh, read, written, output = (tokens_of(usage.get(name)) for name in _COUNTS)
    return Usage(fresh + read + written, output, read)


_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
