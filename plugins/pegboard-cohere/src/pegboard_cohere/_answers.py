"""What Cohere's chat API v2 answers, as a `Reply`: whole answers and streams of events fill the same collector.

Invariants:

- The raw turn is what the API takes back: `tool_plan`, thinking and text as they came, calls with an id and arguments
  that are JSON. Citations are left out, and so is text beside calls, which the API refuses: where there is no plan it
  becomes the plan.
- A plan is thinking aloud, no part of the answer.

Source: https://docs.cohere.com/reference/chat and https://docs.cohere.com/reference/chat-stream
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, TextContent, ToolCall
from pegboard_chat import CallDelta, Message, ModelError, Reply, Stop, TextDelta, ThinkingDelta, Usage
from pegboard_chat.portable import kept_arguments, kept_text, take_id, take_name
from pegboard_chat.wire import error_of, half_answer, read_json, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import ToolResult
    from pegboard_chat import Delta
    from pegboard_chat.portable import PortableExport

DIALECT = PROVIDER = "cohere"

STOPS = {
    "COMPLETE": Stop.END,
    "STOP_SEQUENCE": Stop.END,
    "TOOL_CALL": Stop.CALLS,
    "MAX_TOKENS": Stop.LENGTH,
    "ERROR_LIMIT": Stop.LENGTH,
    "ERROR_TOXIC": Stop.REFUSED,
}
"""What the reasons to finish mean; one that is not here is `OTHER`."""

FAILURES = {
    "ERROR": (ErrorCode.UPSTREAM_ERROR, "server", "failed in the middle of its answer"),
    "TIMEOUT": (ErrorCode.TIMEOUT, "timeout", "took too long for its answer"),
}
"""The reasons to finish that are errors: what came before them is not an answer."""


@attrs.define
class _Call:
    """One call as far as it has come."""

    number: int
    id: str = ""
    name: str = ""
    pieces: list[str] = attrs.field(factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Collector:
    """What has come of an answer so far, in the order in which it came."""

    def __init__(self, export: PortableExport, model: str, taken: Iterable[str] = ()) -> None:
        self._taken = taken
        self.model = model
        self._export = export
        self._plan: list[str] = []
        self._blocks: list[tuple[str, list[str]]] = []  # kind, and the pieces of its text
        self._new = True  # whether what is said next begins a block
        self._calls: list[_Call] = []
        self._open: dict[int, _Call] = {}  # by the number that the provider gives a call
        self._usage: Any = None
        self._reason: str | None = None

    def begin(self) -> None:
        """What is said next begins a block."""
        self._new = True

    def say(self, kind: str, text: str) -> None:
        """The next piece of text or of thinking."""
        if text and (self._new or self._blocks[-1][0] != kind):
            self._blocks.append((kind, [text]))
            self._new = False
        elif text:
            self._blocks[-1][1].append(text)

    def plan(self, text: str) -> None:
        """The next piece of the plan."""
        self._plan.append(text)

    def call(self, position: int, piece: Any, *, begins: bool) -> CallDelta:
        """The next piece of a call; one that goes on with none that began begins one."""
        begins = begins or position not in self._open
        if begins:
            self._open[position] = _Call(len(self._calls))
            self._calls.append(self._open[position])
        call = self._open[position]
        given_id, name, text = _given(piece)
        call.id = call.id or given_id
        call.name = call.name or name
        call.pieces.append(text)
        return CallDelta(call.number, self._export.name_of(call.name) if begins else "", text)

    def end(self, reason: Any, usage: Any, said: str = "") -> None:
        """The answer is whole.

        Raises:
            ModelError: it ended because something failed.
        """
        self._reason = reason if isinstance(reason, str) else ""
        self._usage = usage
        if self._reason in FAILURES:
            code, kind, what = FAILURES[self._reason]
            raise failed(code, kind, f"{what}{f' ({said})' if said else ''}; ask again")

    @property
    def ended(self) -> bool:
        """Whether the answer said that it is whole."""
        return self._reason is not None

    def reply(self) -> Reply:
        """What all pieces say together."""
        taken = set(self._taken)
        answers = tuple(read_call(self._export, call.id, call.name, call.arguments, taken) for call in self._calls)
        kept = [kept_arguments(call.arguments) for call in self._calls]
        calls = tuple(
            one if isinstance(one, ToolCall) else ToolCall(one.id, one.name, arguments)
            for one, arguments in zip(answers, kept, strict=True)
        )
        written = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": take_name(given.name), "arguments": kept_text(given.arguments, arguments)},
            }
            for call, given, arguments in zip(calls, self._calls, kept, strict=True)
        ]
        raw = self._raw(written)
        text = self._text_of("text")
        message = Message(
            "assistant", (TextContent(text),) if text else (), calls, (), raw, DIALECT if raw else None, self.model
        )
        return Reply(message, answers, usage_of(self._usage), self._stop(bool(calls)))

    def _stop(self, calls: bool) -> Stop:
        stop = STOPS.get(self._reason or "", Stop.OTHER)
        if calls and stop is not Stop.LENGTH:
            return Stop.CALLS
        return Stop.OTHER if stop is Stop.CALLS and not calls else stop

    def _text_of(self, kind: str) -> str:
        return "".join(piece for one, pieces in self._blocks if one == kind for piece in pieces)

    def _raw(self, calls: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The turn as the API takes it back; None where it says nothing."""
        text = self._text_of("text")
        plan = "".join(self._plan)
        blocks = [
            {"type": "thinking", "thinking": "".join(pieces)} for kind, pieces in self._blocks if kind == "thinking"
        ]
        if not calls:
            answer = [*blocks, {"type": "text", "text": text}]
            return {"role": "assistant", "content": answer} if text else None
        raw: dict[str, Any] = {"role": "assistant", "tool_calls": calls}
        if plan or text:
            raw["tool_plan"] = plan or text
        if blocks:
            raw["content"] = blocks
        return raw


class CohereReader:
    """Reads the events of `stream: true`."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    @property
    def done(self) -> bool:
        """Whether the last event was there."""
        return self._collector.ended

    def feed(self, event: str, data: str) -> list[Delta]:
        """One event; those that no part of an answer needs (citations, ends of blocks, news of later versions) pass.

        Raises:
            ModelError: it reports an error, or is not JSON.
        """
        if not data.strip() or data.strip() == "[DONE]":
            return []
        value = read_json(PROVIDER, data)
        kind = _text(value, "type") or event
        delta = _member(value, "delta")
        message = _member(delta, "message")
        if kind == "message-end":
            self._collector.end(_member(delta, "finish_reason"), _member(delta, "usage"), _text(delta, "error"))
        elif kind in ("content-start", "content-delta"):
            if kind == "content-start":
                self._collector.begin()
            return self._say(_member(message, "content"))
        elif kind == "tool-plan-delta":
            if plan := _text(message, "tool_plan"):
                self._collector.plan(plan)
                return [ThinkingDelta(plan)]
        elif kind in ("tool-call-start", "tool-call-delta"):
            begins = kind == "tool-call-start"
            return self._call(_member(value, "index"), _member(message, "tool_calls"), begins=begins)
        elif kind == "error" or (not kind and _text(value, "message")):
            raise reported(value, self._collector)
        return []

    def _say(self, content: Any) -> list[Delta]:
        deltas: list[Delta] = []
        for block in content if isinstance(content, list) else [content]:
            for kind in ("thinking", "text"):
                text = _text(block, kind)
                self._collector.say(kind, text)
                if text:
                    deltas.append(TextDelta(text) if kind == "text" else ThinkingDelta(text))
        return deltas

    def _call(self, index: Any, pieces: Any, *, begins: bool) -> list[Delta]:
        listed = pieces if isinstance(pieces, list) else [pieces]
        first = index if isinstance(index, int) else 0
        return [self._collector.call(first + at, piece, begins=begins) for at, piece in enumerate(listed)]

    def close(self) -> Reply:
        """The stream ended.

        Raises:
            ModelError: reason `half_answer`: `message-end` did not come.
        """
        if not self._collector.ended:
            raise half_answer(PROVIDER)
        return self._collector.reply()


def read_answer(answer: Any, collector: Collector) -> Reply:
    """A whole answer.

    Raises:
        ModelError: it is not valid.
    """
    message = _member(answer, "message")
    if not isinstance(message, dict):
        if isinstance(answer, dict) and (message or "error" in answer):
            raise reported(answer, collector)
        raise failed(
            ErrorCode.UPSTREAM_ERROR,
            "no_json",
            "sent JSON that is not an answer of its chat API v2; check the base_url",
        )
    collector.plan(_text(message, "tool_plan"))
    content = message.get("content")
    if isinstance(content, str):
        collector.say("text", content)
    for block in content if isinstance(content, list) else []:
        collector.begin()
        for kind in ("thinking", "text"):
            collector.say(kind, _text(block, kind))
    calls = message.get("tool_calls")
    for position, call in enumerate(calls if isinstance(calls, list) else []):
        collector.call(position, call, begins=True)
    collector.end(answer.get("finish_reason"), answer.get("usage"))
    return collector.reply()


def failed(code: ErrorCode, reason: str, what: str) -> ModelError:
    """An error of Cohere; `what` goes on after its name."""
    return ModelError(code, f"cohere {what}", provider=PROVIDER, reason=reason)


def reported(value: Any, collector: Collector) -> ModelError:
    """An error that Cohere reports in an answer or in a stream."""
    return error_of(PROVIDER, None, json.dumps(value), model=collector.model.partition(":")[2])


def calls_in(message: Any) -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls of an assistant's message, or of an answer that holds one."""
    inner = _member(message, "message")
    calls = _member(inner if isinstance(inner, dict) else message, "tool_calls")
    return [_given(call) for call in calls] if isinstance(calls, list) else []


def read_call(
    export: PortableExport, given_id: str, alias: str, arguments: str, taken: set[str]
) -> ToolCall | ToolResult:
    """One call, whatever its members are; `taken` are the ids of the conversation so far."""
    return export.call_of(take_id(given_id, taken), alias, arguments)


def _given(piece: Any) -> tuple[str, str, str]:
    function = _member(piece, "function")
    arguments = _member(function, "arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    return _text(piece, "id"), _text(function, "name"), arguments


def usage_of(usage: Any) -> Usage:
    """`tokens` are all that were read and written; `billed_units`, which count less, where there is nothing else."""
    tokens = _member(usage, "tokens") or _member(usage, "billed_units")
    return Usage(
        tokens_of(_member(tokens, "input_tokens")),
        tokens_of(_member(tokens, "output_tokens")),
        tokens_of(_member(usage, "cached_tokens")),
    )


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any, name: str) -> str:
    found = _member(value, name)
    return found if isinstance(found, str) else ""
