"""The dialect `openai`: chat completions, as OpenAI and every compatible server speak them.

An assistant's turn is kept as the message that goes back: `role`, `content`, `refusal`, `tool_calls` with arguments
that are JSON (llama.cpp refuses a history with others), and what the model thought where the server wants it again. A
server gets only those members that it knows, and the thoughts of the very model that is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import TextContent
from pegboard_chat import Message, Reply, Stop
from pegboard_chat.portable import OPENAI_COMPATIBLE, OPENAI_STRICT, PortableExport, split_results
from pegboard_openai._answers import cleaned, is_of, no_answer, provider_of, usage_of
from pegboard_openai._calls import read_call, tools_of, written
from pegboard_openai._chat_stream import (
    REASONING,
    ChatReader,
    calls_in,
    error_in,
    failure,
    parts_of,
    reasoning_in,
    text_of_part,
    thought_of_part,
    usage_in,
)
from pegboard_openai._content import chat_part, parts_of_following, parts_of_user, text_of_blocks
from pegboard_openai._flavours import OPENAI, Flavour

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard import Content, Tool, ToolCall, ToolResult
    from pegboard_chat import ModelRequest, StreamReader
    from pegboard_chat.portable import Compiled

BRIDGE = "I have read the result."
"""What the assistant says between a result and a user, where the server wants it to speak."""
_STOPS = {
    "stop": Stop.END,
    "eos": Stop.END,
    "tool_calls": Stop.END,
    "function_call": Stop.END,
    "length": Stop.LENGTH,
    "max_tokens": Stop.LENGTH,
    "model_length": Stop.LENGTH,
    "content_filter": Stop.REFUSED,
}
"""Servers say `stop` for a turn with calls and `tool_calls` for one without: what the turn holds decides."""
_THOUGHTS = (*REASONING, "reasoning_details")


class ChatExport(PortableExport):
    """Tools for chat completions, calls and results of theirs."""

    def __init__(self, tools: Iterable[Tool], flavour: Flavour) -> None:
        super().__init__(tools, OPENAI_STRICT if flavour.strict else OPENAI_COMPATIBLE, _define)
        self._flavour = flavour

    def calls_in(self, message: dict[str, Any] | list[Any]) -> Sequence[ToolCall | ToolResult]:
        """The calls of a message, a choice, a whole answer, or of a list of calls."""
        if isinstance(message, list):
            message = {"tool_calls": message}
        choice = first_choice(message)
        inner = choice.get("message")
        taken: set[str] = set()
        return [_read(self, one, taken).read for one in calls_in(inner if isinstance(inner, dict) else choice)]

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """One `tool` message for each result, and a user's with what a tool message does not carry."""
        texts, following = split_results(results, lambda block: chat_part(block, self._flavour) is not None)
        messages: list[dict[str, Any]] = [
            {"role": "tool", "tool_call_id": result.id, "content": text}
            for result, text in zip(results, texts, strict=True)
        ]
        if following:
            parts = parts_of_following(following, self._part, "text")
            messages += [*self._bridge(), {"role": "user", "content": parts}]
        return messages

    def _bridge(self) -> list[dict[str, Any]]:
        return [{"role": "assistant", "content": BRIDGE}] if self._flavour.bridge else []

    def _part(self, block: Content) -> dict[str, Any] | None:
        return chat_part(block, self._flavour)


class ChatDialect:
    """Chat completions; see the module.

    Args:
        flavour: what the server wants said differently.
        provider: whose turns are the server's own; None: nobody asks, and all of this dialect are.

    .. versionadded:: 0.1
    """

    name = "openai"

    def __init__(self, flavour: Flavour = OPENAI, provider: str | None = None) -> None:
        self._flavour = flavour
        self._provider = provider

    def export(self, tools: Iterable[Tool]) -> ChatExport:
        """Functions, strict where the server holds a model to a schema and the tool's can be said so."""
        return ChatExport(tools, self._flavour)

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The body of `POST /chat/completions`."""
        export: Any = request.export or self.export(())
        body: dict[str, Any] = {"model": model, "messages": self._messages(request, export, model)}
        body |= tools_of(request, self._flavour, model, lambda name: {"type": "function", "function": {"name": name}})
        if request.max_tokens is not None:
            body[self._flavour.limit_key] = request.max_tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        body["stream"] = request.stream
        if request.stream and self._flavour.stream_options:
            body["stream_options"] = {"include_usage": True}
        return {**body, **request.options}

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """A whole answer.

        Raises:
            ModelError: it holds no message, or an error.
        """
        provider = provider_of(model)
        if not isinstance(answer, dict):
            raise no_answer(provider, "it is not an object")
        if error := error_in(answer):
            raise failure(provider, error)
        choice = first_choice(answer)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise no_answer(provider, "it holds no message")
        return self._reply(request, model, message, choice.get("finish_reason"), usage_in(answer))

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """What reads a streamed answer."""
        aliases = request.export.aliases if request.export is not None else {}
        return ChatReader(
            provider_of(model),
            aliases,
            lambda message, reason, usage: self._reply(request, model, message, reason, usage),
        )

    def _reply(self, request: ModelRequest, model: str, message: dict[str, Any], reason: Any, usage: Any) -> Reply:
        taken = request.conversation.call_ids
        export = request.export or self.export(())
        calls = [_read(export, one, taken) for one in calls_in(message)]
        parts = _merged(message.get("content"))
        text = "".join(map(text_of_part, parts))
        refusal = message.get("refusal")
        refusal = cleaned(refusal) if isinstance(refusal, str) else ""
        raw: dict[str, Any] = {"role": "assistant", "content": text or (None if calls or refusal else "")}
        if any(map(thought_of_part, parts)):
            raw["content"] = parts
        if refusal:
            raw["refusal"] = refusal
        if calls:
            raw["tool_calls"] = [_function_call(call.said.id, call.alias, call.arguments) for call in calls]
        key, thought = reasoning_in(message)
        if thought:
            raw[key] = cleaned(thought)
        if isinstance(details := message.get("reasoning_details"), list) and details:
            raw["reasoning_details"] = details
        shown = text + refusal
        turn = Message(
            "assistant",
            (TextContent(shown),) if shown else (),
            tuple(call.said for call in calls),
            raw=raw,
            dialect=self.name,
            model=model,
        )
        stop = _STOPS.get(reason, Stop.OTHER) if isinstance(reason, str) else Stop.END
        if refusal:
            stop = Stop.REFUSED
        elif calls and stop in (Stop.END, Stop.OTHER):
            stop = Stop.CALLS
        return Reply(turn, tuple(call.read for call in calls), usage_of(usage), stop)

    def _messages(self, request: ModelRequest, export: Any, model: str) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        if request.conversation.system:
            messages.append({"role": "system", "content": request.conversation.system})
        for message in request.conversation.messages:
            if message.role == "tool":
                messages += self._results(message, export)
            elif message.role == "assistant":
                messages.append(self._assistant(message, export, model))
            else:
                if self._flavour.bridge and messages and messages[-1]["role"] == "tool":
                    messages.append({"role": "assistant", "content": BRIDGE})
                content = parts_of_user(message.content, lambda block: chat_part(block, self._flavour), "text")
                messages.append({"role": "user", "content": content})
        return messages

    def _results(self, message: Message, export: Any) -> Sequence[dict[str, Any]]:
        own = export if isinstance(export, ChatExport) else self.export(())
        return [
            {**one, "tool_call_id": self._flavour.id_of(one["tool_call_id"])} if one["role"] == "tool" else one
            for one in own.format(message.results)
        ]

    def _assistant(self, message: Message, export: Any, model: str) -> dict[str, Any]:
        """An assistant's turn as it goes back: its own form where it is of this dialect, else made of what it says."""
        if message.dialect == self.name and _is_turn(message):
            return self._echo(message, is_own=is_of(message, self._provider, model))
        text = text_of_blocks(message.content).strip("\n")
        turn: dict[str, Any] = {"role": "assistant", "content": text or (None if message.calls else "")}
        if message.calls:
            turn["tool_calls"] = [
                _function_call(self._flavour.id_of(call.id), export.alias_of(call.name), written(export, call))
                for call in message.calls
            ]
        return turn

    def _echo(self, message: Message, *, is_own: bool) -> dict[str, Any]:
        """A turn of this dialect, with what was thought in it where the very same model hears it."""
        flavour, raw = self._flavour, message.raw
        turn = {key: raw[key] for key in ("role", "content", "refusal", "tool_calls") if key in raw}
        if isinstance(raw.get("content"), list) and not (flavour.lists and is_own):
            turn["content"] = "".join(map(text_of_part, parts_of(raw["content"]))) or (None if message.calls else "")
        if not flavour.refusals and (refusal := turn.pop("refusal", None)):
            turn["content"] = turn.get("content") or refusal
        if calls := raw.get("tool_calls"):
            turn["tool_calls"] = [{**call, "id": flavour.id_of(call["id"])} for call in calls]
        if flavour.reasoning and is_own:
            turn |= {key: raw[key] for key in _THOUGHTS if key in raw}
        return turn


def _is_turn(message: Message) -> bool:
    """Whether the raw turn is one, with the very calls that the results answer: a saved file may say anything."""
    raw = message.raw
    if not isinstance(raw, dict) or raw.get("role") != "assistant":
        return False
    calls = raw.get("tool_calls") or []
    if not isinstance(calls, list) or not all(map(_is_function_call, calls)):
        return False
    content, refusal = raw.get("content"), raw.get("refusal")
    if not (content is None or isinstance(content, (str, list))) or not (refusal is None or isinstance(refusal, str)):
        return False
    return [call.get("id") for call in calls] == [call.id for call in message.calls]


def _is_function_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and all(isinstance(function.get(key), str) for key in ("name", "arguments"))


def first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    """The first choice of an answer; what has none is taken as one."""
    choices = answer.get("choices")
    if not isinstance(choices, list):
        return answer
    return next((choice for choice in choices if isinstance(choice, dict)), {})


def _define(tool: Tool, alias: str, compiled: Compiled, description: str) -> dict[str, Any]:
    function: dict[str, Any] = {"name": alias, "description": description, "parameters": compiled.schema}
    if compiled.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def _read(export: Any, call: dict[str, Any], taken: set[str]) -> Any:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return read_call(export, call.get("id"), function.get("name"), function.get("arguments"), taken)


def _function_call(call_id: str, alias: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": alias, "arguments": arguments}}


def _merged(content: Any) -> list[Any]:
    """Parts of content with neighbours of one kind joined, as an answer that was not streamed has them."""
    merged: list[Any] = []
    for part in parts_of(content):
        thought, text = cleaned(thought_of_part(part)), cleaned(text_of_part(part))
        kind, said = ("thinking", thought) if thought else ("text", text)
        if not said:
            continue
        if merged and merged[-1][0] == kind:
            merged[-1][1].append(said)
        else:
            merged.append((kind, [said]))
    return [_part(kind, "".join(said)) for kind, said in merged]


def _part(kind: str, said: str) -> dict[str, Any]:
    text = {"type": "text", "text": said}
    return text if kind == "text" else {"type": "thinking", "thinking": [text]}
