"""A streamed answer of responses: items that grow, and the whole of them at the end.

The last event repeats the whole answer, and that is what counts. Servers whose last event holds no items, or which
leave out events between, are read from the items that were done, and those from their pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_chat import CallDelta, TextDelta, ThinkingDelta
from pegboard_chat.wire import half_answer
from pegboard_openai._chat_stream import failure, parse_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pegboard_chat import Delta, Reply

MAX_ITEMS = 2_000
_THOUGHTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ITEMS = frozenset({"response.output_item.added", "response.output_item.done"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.done"})
_FAILURES = frozenset({"error", "response.failed", "response.error", "response.cancelled"})


class _Item:
    """An item that is being written."""

    __slots__ = ("arguments", "done", "item", "parts", "position")

    def __init__(self) -> None:
        self.item: dict[str, Any] = {}
        self.parts: dict[Any, tuple[str, list[str]]] = {}
        self.arguments: list[str] = []
        self.position: int | None = None
        self.done = False

    def whole(self) -> dict[str, Any]:
        """The item as it was done, or as far as its pieces say it."""
        if self.done:
            return self.item
        if self.item.get("type") == "function_call" or self.arguments:
            given = self.item.get("arguments")
            return {**self.item, "type": "function_call", "arguments": "".join(self.arguments) or given}
        if self.parts:
            content = [{"type": kind, _MEMBER[kind]: "".join(event)} for kind, event in self.parts.values()]
            return {"role": "assistant", **self.item, "type": "message", "content": content}
        return self.item


_MEMBER = {"output_text": "text", "refusal": "refusal"}


class ResponsesReader:
    """See the module; a `StreamReader`."""

    def __init__(self, provider: str, aliases: Mapping[str, str], finish: Callable[[dict[str, Any]], Reply]) -> None:
        self._provider = provider
        self._aliases = aliases
        self._finish = finish
        self._items: dict[Any, _Item] = {}
        self._calls = 0
        self._spoke = False
        self._answer: dict[str, Any] | None = None
        self.done = False

    def feed(self, event: str, data: str) -> Iterable[Delta]:
        """One event of the stream.

        Raises:
            ModelError: the server reports an error, or the data is not JSON.
        """
        data = data.strip()
        if self.done or not data:
            return ()
        if data == "[DONE]":
            self.done = True
            return ()
        given = parse_event(self._provider, data)
        kind = given.get("type") if isinstance(given.get("type"), str) else event
        if kind in _FAILURES or (given.get("error") and "response" not in given):
            raise failure(self._provider, _error_of(given))
        deltas = list(self._take(str(kind), given))
        self._spoke = self._spoke or bool(deltas)
        return deltas

    def close(self) -> Reply:
        """The whole answer.

        Raises:
            ModelError: the stream ended before the answer did.
        """
        if self._answer is None and not (self.done and self._items):
            raise half_answer(self._provider)
        answer = self._answer or {}
        output = answer.get("output")
        if not isinstance(output, list) or not output:
            output = [item.whole() for item in self._items.values()]
        return self._finish({**answer, "output": output})

    def _take(self, kind: str, event: dict[str, Any]) -> Iterator[Delta]:
        if kind in _ENDS:
            answer = event.get("response")
            self._answer = answer if isinstance(answer, dict) else {}
            self.done = True
            if not self._spoke:
                yield from self._catch_up(self._answer.get("output"))
        elif kind in _THOUGHTS:
            if text := _text(event.get("delta")):
                yield ThinkingDelta(text)
        elif kind == "response.output_text.delta":
            yield from self._write(event, "output_text")
        elif kind == "response.refusal.delta":
            yield from self._write(event, "refusal")
        elif kind == "response.function_call_arguments.delta":
            record = self._record(event)
            if text := _text(event.get("delta")):
                record.arguments.append(text)
                yield from self._call(record, text)
        elif kind in _ITEMS and isinstance(item := event.get("item"), dict):
            record = self._record({"item_id": item.get("id"), **event})
            yield from self._update(record, item, done=kind.endswith("done"))

    def _update(self, record: _Item, item: dict[str, Any], *, done: bool) -> Iterator[Delta]:
        record.item = item
        record.done = done
        if item.get("type") == "function_call":
            sent, given = "".join(record.arguments), _text(item.get("arguments"))
            rest = given[len(sent) :] if given.startswith(sent) else ""
            if rest:
                record.arguments.append(rest)
            yield from self._call(record, rest)
        elif done and not record.parts and item.get("type") == "message":
            yield from _texts_of(item)

    def _write(self, event: dict[str, Any], kind: str) -> Iterator[Delta]:
        if text := _text(event.get("delta")):
            parts = self._record(event).parts
            key = event.get("content_index") if type(event.get("content_index")) is int else 0
            parts.setdefault(key, (kind, []))[1].append(text)
            yield TextDelta(text)

    def _call(self, record: _Item, text: str) -> Iterator[Delta]:
        """A piece of a call; the pieces before its name is known wait for it."""
        name = _text(record.item.get("name"))
        if record.position is not None:
            if text:
                yield CallDelta(record.position, "", text)
        elif name:
            record.position, self._calls = self._calls, self._calls + 1
            yield CallDelta(record.position, self._aliases.get(name, name), "".join(record.arguments))

    def _record(self, event: dict[str, Any]) -> _Item:
        index = event.get("output_index")
        if type(index) is not int:
            index = event.get("item_id") if isinstance(event.get("item_id"), str) else None
        if index not in self._items:
            if len(self._items) >= MAX_ITEMS:
                raise failure(self._provider, f"more than {MAX_ITEMS:,} items in one answer")
            self._items[index] = _Item()
        return self._items[index]

    def _catch_up(self, output: Any) -> Iterator[Delta]:
        """What an answer says that came in one piece."""
        for item in output if isinstance(output, list) else ():
            if isinstance(item, dict):
                yield from self._update(_Item(), item, done=True)


def _texts_of(item: dict[str, Any]) -> Iterator[Delta]:
    content = item.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            for member in _MEMBER.values():
                if text := _text(part.get(member)):
                    yield TextDelta(text)


def _error_of(event: dict[str, Any]) -> Any:
    response = event.get("response")
    inner = response.get("error") if isinstance(response, dict) else None
    return inner or event.get("error") or event


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
