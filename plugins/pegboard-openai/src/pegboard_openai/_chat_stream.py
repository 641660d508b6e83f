"""A streamed answer of chat completions, put together piece by piece.

What comes is what the servers send, not what the reference says. Indices of calls are missing or always 0 (Ollama,
proxies), ids are missing, late, repeated or new in every piece, names are repeated in every piece (vLLM with a forced
tool) or cut in two, a whole call comes in one piece (Groq, Mistral, Ollama) or as an object, usage comes last, in every
piece or never, the reason to end or `[DONE]` is missing, content is a list (Mistral), errors come in the middle.

Invariant: however an answer is cut into pieces, its reply is that of the answer that was not streamed; ids that had to
be drawn aside.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_chat import CallDelta, ModelError, TextDelta, ThinkingDelta
from pegboard_chat.wire import error_of, half_answer, read_json
from pegboard_openai._answers import no_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pegboard_chat import Delta, Reply

REASONING = ("reasoning_content", "reasoning")
"""Where servers put what the model thinks: DeepSeek, Kimi and llama.cpp, or Groq, vLLM, Ollama and OpenRouter."""
MAX_CALLS = 1_000
MAX_CHECKS = 16
"""How often a call is looked at to see whether it is whole; a server that asks for more has its pieces joined."""


def parse_event(provider: str, data: str) -> dict[str, Any]:
    """The JSON of one event.

    Raises:
        ModelError: it is not a JSON object.
    """
    value = read_json(provider, data)
    if not isinstance(value, dict):
        raise no_answer(provider, "a piece of it is not an object")
    return value


def failure(provider: str, error: Any) -> ModelError:
    """What a server reported in the middle of an answer, or instead of one."""
    return error_of(provider, None, error if isinstance(error, str) else json.dumps(error))


class _Call:
    """A call that is being written."""

    __slots__ = ("announced", "call_id", "checks", "name", "pieces", "size")

    def __init__(self) -> None:
        self.call_id: Any = ""
        self.name = ""
        self.pieces: list[str] = []
        self.announced = False
        self.checks = 0
        self.size = 0

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def write(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.size += len(text)

    def repeats(self, text: str) -> bool:
        """Whether a piece says all the arguments once more."""
        return 1 < len(text) == self.size and text == self.arguments and self.is_whole()

    def is_whole(self) -> bool:
        """Whether the arguments so far are a JSON object: what follows belongs to another call."""
        if not self.pieces or self.checks >= MAX_CHECKS or not self.pieces[-1].rstrip().endswith("}"):
            return False
        self.checks += 1
        try:
            return isinstance(loads(self.arguments), dict)
        except JsonTextError:
            return False


class ChatReader:
    """See the module; a `StreamReader`."""

    def __init__(
        self, provider: str, aliases: Mapping[str, str], finish: Callable[[dict[str, Any], Any, Any], Reply]
    ) -> None:
        self._provider = provider
        self._aliases = aliases
        self._finish = finish
        self._content: list[Any] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._thinks_in = REASONING[0]
        self._details: list[Any] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[Any, _Call] = {}
        self._reason: Any = None
        self._usage: Any = None
        self.done = False

    @property
    def complete(self) -> bool:
        """Whether the answer is whole: it says why it ended."""
        return self._reason is not None

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
        chunk = parse_event(self._provider, data)
        if error := error_in(chunk, event):
            raise failure(self._provider, error)
        return list(self._take(chunk))

    def close(self) -> Reply:
        """The whole answer.

        Raises:
            ModelError: the stream ended before the answer did.
        """
        if not (self.done or self.complete):
            raise half_answer(self._provider)
        message: dict[str, Any] = {
            "content": self._content,
            "refusal": "".join(self._refusal),
            self._thinks_in: "".join(self._reasoning),
            "reasoning_details": self._details,
            "tool_calls": [
                {"id": call.call_id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in self._calls
            ],
        }
        return self._finish(message, self._reason, self._usage)

    def _take(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        self._usage = usage_in(chunk) or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict) or choice.get("index") not in (None, 0):
                continue
            self._usage = choice.get("usage") or self._usage
            delta = choice.get("delta")
            if not isinstance(delta, dict) or not delta:
                delta = choice.get("message")
            if isinstance(delta, dict):
                yield from self._take_delta(delta)
            self._reason = choice.get("finish_reason") or self._reason

    def _take_delta(self, delta: dict[str, Any]) -> Iterator[Delta]:
        key, thought = reasoning_in(delta)
        if thought:
            self._thinks_in = key if not self._reasoning else self._thinks_in
            self._reasoning.append(thought)
            yield ThinkingDelta(thought)
        if isinstance(details := delta.get("reasoning_details"), list):
            self._details += details
        for part in parts_of(delta.get("content")):
            self._content.append(part)
            if text := text_of_part(part):
                yield TextDelta(text)
            elif thought := thought_of_part(part):
                yield ThinkingDelta(thought)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refusal.append(refusal)
            yield TextDelta(refusal)
        for piece in calls_in(delta):
            yield from self._take_call(piece)

    def _take_call(self, piece: dict[str, Any]) -> Iterator[Delta]:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        given_id = piece.get("id")
        given_id = given_id if isinstance(given_id, (str, int)) and given_id != "" else None
        name = function.get("name")
        name = name if isinstance(name, str) else ""
        text = function.get("arguments")
        if text is None:
            text = ""
        elif not isinstance(text, str):
            text = json.dumps(text)
        call = self._call_of(piece.get("index"), given_id, name, text)
        if given_id is not None:
            self._by_id[given_id] = call
            call.call_id = call.call_id if call.call_id != "" else given_id
        if name and name != call.name and not (call.name and call.pieces):
            call.name = call.name + name if not call.name or call.name + name in self._aliases else name
        if call.repeats(text):
            text = ""
        else:
            call.write(text)
        yield from self._announce(call, text)

    def _announce(self, call: _Call, text: str) -> Iterator[Delta]:
        position = self._calls.index(call) if call is not self._calls[-1] else len(self._calls) - 1
        if call.announced:
            if text:
                yield CallDelta(position, "", text)
        elif call.name and (call.name in self._aliases or call.pieces):
            call.announced = True
            yield CallDelta(position, self._aliases.get(call.name, call.name), call.arguments)

    def _call_of(self, index: Any, given_id: Any, name: str, text: str) -> _Call:
        if type(index) is int:
            call = self._by_index.get(index)
            if call is None or self._is_another(call, given_id, name, text):
                call = self._by_index[index] = self._new_call()
            return call
        if given_id is not None and given_id in self._by_id:
            return self._by_id[given_id]
        if not self._calls:
            return self._new_call()
        last = self._calls[-1]
        if given_id is not None and name:
            return last if not last.name and last.call_id == "" else self._new_call()
        return self._new_call() if self._is_another(last, given_id, name, text) else last

    def _is_another(self, call: _Call, given_id: Any, name: str, text: str) -> bool:
        """Whether a piece that points at this call begins a new one all the same."""
        if given_id is not None and call.call_id not in ("", given_id):
            if name and (name != call.name or not call.pieces):
                return True
            return (not text or text.lstrip().startswith("{")) and call.is_whole()
        if given_id is not None and call.call_id == given_id:
            return False
        if not name or not call.name:
            return False
        if name != call.name:
            return bool(call.pieces) or call.name + name not in self._aliases
        return text.lstrip().startswith("{") and call.is_whole()

    def _new_call(self) -> _Call:
        if len(self._calls) >= MAX_CALLS:
            raise failure(self._provider, f"more than {MAX_CALLS:,} calls in one turn")
        self._calls.append(_Call())
        return self._calls[-1]


def error_in(value: dict[str, Any], event: str = "") -> Any:
    """What a server reports instead of an answer, or of the rest of one; None where it reports nothing.

    OpenAI, llama.cpp, Groq: `{"error": {...}}`; vLLM: `{"object": "error", ...}`; OpenRouter: an error of a choice.
    """
    if error := value.get("error"):
        return error
    if event == "error" or "error" in (value.get("object"), value.get("type")):
        return value
    choices = value.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and (error := choice.get("error")):
            return error
    return None


def usage_in(answer: dict[str, Any]) -> Any:
    """The member that counts tokens."""
    if usage := answer.get("usage"):
        return usage
    own = answer.get("x_groq")
    return own.get("usage") if isinstance(own, dict) else None


def reasoning_in(message: dict[str, Any]) -> tuple[str, str]:
    """The member that holds what the model thought aloud, and the text; empty where there is none."""
    for key in REASONING:
        if isinstance(text := message.get(key), str) and text:
            return key, text
    return REASONING[0], ""


def calls_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls, or pieces of calls, of a message; the `function_call` of old servers is one.

    Servers fill in what they do not mean: a call, or a piece of one, without id, name and arguments is not one.
    """
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return [call for call in calls if isinstance(call, dict) and _says_something(call)]
    old = {"index": 0, "function": message.get("function_call")}
    return [old] if _says_something(old) else []


def _says_something(call: dict[str, Any]) -> bool:
    function = call.get("function")
    fields = (function.get("name"), function.get("arguments")) if isinstance(function, dict) else ()
    return any(one not in (None, "", {}) for one in (call.get("id"), *fields))


def parts_of(content: Any) -> list[Any]:
    """The parts of content: texts, and objects where it is a list; what is neither is left out."""
    if isinstance(content, str):
        return [content] if content else []
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, dict) or (isinstance(part, str) and part)]


def text_of_part(part: Any) -> str:
    """The text that a part shows; empty where it shows none."""
    if isinstance(part, str):
        return part
    text = part.get("text") if part.get("type") in ("text", "output_text", None) else None
    return text if isinstance(text, str) else ""


def thought_of_part(part: Any) -> str:
    """What a part of type `thinking` holds: a text, or a list of texts."""
    if not isinstance(part, dict) or part.get("type") != "thinking":
        return ""
    return "".join(text_of_part(one) for one in parts_of(part.get("thinking")))
