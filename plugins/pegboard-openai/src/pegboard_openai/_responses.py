"""The dialect `openai-responses`: the responses API, without anything kept at the server.

Nothing is stored there (`store: false`), so what the model thought comes as `encrypted_content` and goes back with the
turn, to the very model that said it. An assistant's turn is kept as the list of input items that it becomes. A
reasoning item that the server could not read again is left out, and with it the ids of that turn, since the server
looks for the one when it sees the others.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard import TextContent
from pegboard_chat import Message, Reply, Stop
from pegboard_chat.portable import OPENAI_COMPATIBLE, OPENAI_STRICT, PortableExport, refused, split_results
from pegboard_openai._answers import cleaned, is_of, no_answer, provider_of, usage_of
from pegboard_openai._calls import Call, draw_id, read_call, tools_of, written
from pegboard_openai._chat_stream import failure
from pegboard_openai._content import parts_of_following, parts_of_user, responses_part, text_of_blocks
from pegboard_openai._flavours import OPENAI, Flavour
from pegboard_openai._responses_stream import ResponsesReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard import Content, Tool, ToolCall, ToolResult
    from pegboard_chat import ModelRequest, StreamReader
    from pegboard_chat.portable import Compiled

_THINKS = re.compile(r"(ft:)?(o[1-9]|gpt-([5-9]|[1-9][0-9])(?!.*-chat)|codex)")
"""Models that think; the others refuse to be asked for encrypted thoughts."""
_NO_LIMIT = 10**15
_STOPS = {"max_output_tokens": Stop.LENGTH, "content_filter": Stop.REFUSED}
_KEPT_TYPES = frozenset(
    {
        *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "compaction"),
        *("mcp_call", "mcp_list_tools", "mcp_approval_request", "tool_search_call", "tool_search_output"),
    }
)
"""Items of tools that run at the provider; they go back as they came."""
_TURN_TYPES = _KEPT_TYPES | {"message", "function_call", "reasoning"}


class ResponsesExport(PortableExport):
    """Tools for the responses API, calls and results of theirs."""

    def __init__(self, tools: Iterable[Tool], flavour: Flavour) -> None:
        super().__init__(tools, OPENAI_STRICT if flavour.strict else OPENAI_COMPATIBLE, _define)
        self._flavour = flavour

    def calls_in(self, message: dict[str, Any] | list[Any]) -> Sequence[ToolCall | ToolResult]:
        """The calls of a whole answer, its items, or one item; items that are not valid calls give nothing."""
        items = message.get("output", [message]) if isinstance(message, dict) else message
        if not isinstance(items, list):
            return [refused(draw_id(), "", "expected an answer of the responses API, or its items")]
        taken: set[str] = set()
        return [_read(self, item, taken).read for item in items if _is_call(item)]

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """One `function_call_output` for each result, with its images and files where the server takes them there."""
        texts, following = split_results(results, lambda block: self._part(block) is not None)
        items: list[dict[str, Any]] = []
        for result, text in zip(results, texts, strict=True):
            output: str | list[dict[str, Any]] = text
            if self._flavour.media_in_results and result.error is None:
                output = self._output(result, text)
            items.append({"type": "function_call_output", "call_id": result.id, "output": output})
        if following and not self._flavour.media_in_results:
            content = parts_of_following(following, self._part, "input_text")
            items.append({"type": "message", "role": "user", "content": content})
        return items

    def _output(self, result: ToolResult, text: str) -> str | list[dict[str, Any]]:
        media = [part for part in map(self._part, result.content) if part is not None]
        if not media:
            return text
        parts = parts_of_user(result.content, self._part, "input_text")
        return parts if isinstance(parts, list) else text

    def _part(self, block: Content) -> dict[str, Any] | None:
        return responses_part(block, self._flavour)


class ResponsesDialect:
    """The responses API; see the module.

    Args:
        flavour: what the server wants said differently.
        provider: whose turns are the server's own; None: nobody asks, and all of this dialect are.

    .. versionadded:: 0.1
    """

    name = "openai-responses"

    def __init__(self, flavour: Flavour = OPENAI, provider: str | None = None) -> None:
        self._flavour = flavour
        self._provider = provider

    def export(self, tools: Iterable[Tool]) -> ResponsesExport:
        """Functions, strict where the server holds a model to a schema and the tool's can be said so."""
        return ResponsesExport(tools, self._flavour)

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        """The body of `POST /responses`."""
        export: Any = request.export or self.export(())
        body: dict[str, Any] = {"model": model, "input": self._input(request, export, model), "store": False}
        if request.conversation.system:
            body["instructions"] = request.conversation.system
        if self._flavour.encrypted and _THINKS.match(model):
            body["include"] = ["reasoning.encrypted_content"]
        body |= tools_of(request, self._flavour, model, lambda name: {"type": "function", "name": name})
        if request.max_tokens is not None:
            body["max_output_tokens"] = request.max_tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        body["stream"] = request.stream
        return {**body, **request.options}

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        """A whole answer.

        Raises:
            ModelError: it holds no items, or an error.
        """
        provider = provider_of(model)
        if not isinstance(answer, dict):
            raise no_answer(provider, "it is not an object")
        if answer.get("error") or answer.get("status") in ("failed", "cancelled"):
            raise failure(provider, answer.get("error") or f"the answer was {answer['status']}")
        if not isinstance(answer.get("output"), list):
            raise no_answer(provider, "it holds no output")
        return self._reply(answer, request, model)

    def reader(self, request: ModelRequest, model: str) -> StreamReader:
        """What reads a streamed answer."""
        aliases = request.export.aliases if request.export is not None else {}
        return ResponsesReader(provider_of(model), aliases, lambda answer: self.read(answer, request, model))

    def _reply(self, answer: dict[str, Any], request: ModelRequest, model: str) -> Reply:
        export = request.export or self.export(())
        taken = request.conversation.call_ids
        calls: list[Call] = []
        texts: list[str] = []
        raw: list[dict[str, Any]] = []
        has_refused = False
        items = [item for item in answer["output"] if isinstance(item, dict)]
        keeps_ids = all(self._is_readable(item) for item in items if item.get("type") == "reasoning")
        for item in items:
            kind = item.get("type") if isinstance(item.get("type"), str) else None
            if _is_call(item):
                calls.append(_read(export, item, taken))
                raw.append(_call_back(item, calls[-1], keeps_id=keeps_ids))
            elif kind == "message":
                parts = _parts(item.get("content"))
                has_refused = has_refused or any("refusal" in part for part in parts)
                texts.append("".join(part.get("text") or part.get("refusal", "") for part in parts))
                raw.append(_message_back(item, parts, keeps_id=keeps_ids))
            elif kind == "reasoning" and self._is_readable(item):
                raw.append(_reasoning_back(item))
            elif kind in _KEPT_TYPES:
                raw.append({key: value for key, value in item.items() if value is not None})
        while raw and raw[-1]["type"] == "reasoning":
            raw.pop()  # the server refuses thoughts that nothing follows; the limit of the output makes such turns
        turn = Message(
            "assistant",
            tuple(TextContent(text) for text in texts if text),
            tuple(call.said for call in calls),
            raw=raw,
            dialect=self.name,
            model=model,
        )
        details = answer.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        stop = Stop.CALLS if calls else Stop.END
        if has_refused:
            stop = Stop.REFUSED
        elif reason is not None or answer.get("status") == "incomplete":
            stop = _STOPS.get(reason, Stop.OTHER) if isinstance(reason, str) else Stop.OTHER
        usage = usage_of(answer.get("usage"))
        if stop in (Stop.END, Stop.CALLS) and usage.output_tokens >= (request.max_tokens or _NO_LIMIT):
            stop = Stop.LENGTH  # llama.cpp calls such an answer completed
        return Reply(turn, tuple(call.read for call in calls), usage, stop)

    def _is_readable(self, item: dict[str, Any]) -> bool:
        """Whether the server can read a reasoning item again that it kept no copy of."""
        if isinstance(secret := item.get("encrypted_content"), str) and secret:
            return True  # whoever encrypted it, asked or not, reads it again
        reasoning = self._flavour.reasoning and not self._flavour.encrypted
        return reasoning and bool(_texts(item.get("content"), "reasoning_text"))

    def _input(self, request: ModelRequest, export: Any, model: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for message in request.conversation.messages:
            if message.role == "tool":
                own = export if isinstance(export, ResponsesExport) else self.export(())
                items += self._with_ids(own.format(message.results))
            elif message.role == "assistant":
                items += self._assistant(message, export, model)
            else:
                content = parts_of_user(
                    message.content, lambda block: responses_part(block, self._flavour), "input_text"
                )
                items.append({"type": "message", "role": "user", "content": content})
        return items

    def _assistant(self, message: Message, export: Any, model: str) -> list[dict[str, Any]]:
        """An assistant's turn as it goes back: its own items where the server gave them, else made of what it says."""
        if message.dialect == self.name and is_of(message, self._provider, model) and _is_turn(message):
            return self._with_ids(message.raw)
        items: list[dict[str, Any]] = []
        if text := text_of_blocks(message.content).strip("\n"):
            items.append({"type": "message", "role": "assistant", "content": text})
        items += [
            {
                "type": "function_call",
                "call_id": self._flavour.id_of(call.id),
                "name": export.alias_of(call.name),
                "arguments": written(export, call),
            }
            for call in message.calls
        ]
        return items

    def _with_ids(self, items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The items with ids of calls as the server takes them."""
        return [
            {**item, "call_id": self._flavour.id_of(item["call_id"])} if "call_id" in item else item for item in items
        ]


def _is_turn(message: Message) -> bool:
    """Whether the raw turn is one, with the very calls that the results answer: a saved file may say anything."""
    items = message.raw
    if not isinstance(items, list) or not all(map(_is_item, items)):
        return False
    return [item["call_id"] for item in items if _is_call(item)] == [call.id for call in message.calls]


def _is_item(item: Any) -> bool:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str) or kind not in _TURN_TYPES or not isinstance(item.get("call_id", ""), str):
        return False
    return kind != "function_call" or all(isinstance(item.get(key), str) for key in ("call_id", "name", "arguments"))


def _define(tool: Tool, alias: str, compiled: Compiled, description: str) -> dict[str, Any]:
    function = {"type": "function", "name": alias, "description": description, "parameters": compiled.schema}
    return {**function, "strict": compiled.strict}


def _is_call(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "function_call"


def _read(export: Any, item: dict[str, Any], taken: set[str]) -> Call:
    return read_call(export, item.get("call_id") or item.get("id"), item.get("name"), item.get("arguments"), taken)


def _call_back(item: dict[str, Any], call: Call, *, keeps_id: bool) -> dict[str, Any]:
    back = {"type": "function_call", "call_id": call.said.id, "name": call.alias, "arguments": call.arguments}
    own = item.get("id")
    if keeps_id and isinstance(own, str) and own.startswith("fc"):
        back["id"] = own
    return back


def _message_back(item: dict[str, Any], parts: list[dict[str, Any]], *, keeps_id: bool) -> dict[str, Any]:
    own, phase = item.get("id"), item.get("phase")
    back: dict[str, Any] = {"type": "message", "role": "assistant"}
    if keeps_id and isinstance(own, str) and own:
        status = item.get("status")
        back |= {"id": own, "content": parts, "status": status if status in _STATUSES else "completed"}
    else:
        back["content"] = "".join(part.get("text") or part.get("refusal", "") for part in parts)
    if isinstance(phase, str):
        back["phase"] = phase
    return back


_STATUSES = ("in_progress", "completed", "incomplete")


def _reasoning_back(item: dict[str, Any]) -> dict[str, Any]:
    own = item.get("id")
    back: dict[str, Any] = {"type": "reasoning", "summary": _texts(item.get("summary"), "summary_text")}
    if isinstance(own, str) and own:
        back["id"] = own
    if content := _texts(item.get("content"), "reasoning_text"):
        back["content"] = content
    if isinstance(secret := item.get("encrypted_content"), str) and secret:
        back["encrypted_content"] = secret
    return back


def _texts(parts: Any, kind: str) -> list[dict[str, Any]]:
    """The parts of one type, without what else they say."""
    return [
        {"type": kind, "text": cleaned(part["text"])}
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and part.get("type", kind) == kind and isinstance(part.get("text"), str)
    ]


def _parts(content: Any) -> list[dict[str, Any]]:
    """The texts and refusals of a message, without sources and probabilities, which only come out."""
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
    parts: list[dict[str, Any]] = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if isinstance(text := part.get("text"), str):
            parts.append({"type": "output_text", "text": cleaned(text), "annotations": []})
        elif isinstance(refusal := part.get("refusal"), str):
            parts.append({"type": "refusal", "refusal": cleaned(refusal)})
    return parts
