"""A server on loopback that answers as a test says, well or badly, in the words of each provider.

`whole` and `events` say one answer as a provider says it; `Server` takes requests and gives each the next of its
`answers`, functions that write bytes: so any of them may be wrong, late, cut, or without end.
"""

from __future__ import annotations

import contextlib
import json
import math
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple

import attrs
import trio

LOOPBACK = "127.0.0.1"
KEY = "sk-Zq7Wm2Xv9Kp4Rt6Yb8Nc3Ld5Gh1"
"""A key in which no eight characters are a word of anything else."""
PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "", "cohere": "", "gemini": ""}
"""What a provider's base_url ends in."""
MODELS = {
    "openai": "gpt-5-mini",
    "openai-responses": "gpt-5-mini",
    "anthropic": "claude-x",
    "cohere": "command-a-03-2025",
    "gemini": "gemini-2.5-flash",
}


class Call(NamedTuple):
    """A call as a model writes it: `arguments` are text."""

    id: Any
    name: Any
    arguments: str = "{}"


@attrs.frozen
class Said:
    """One answer of a model, in no provider's words.

    Args:
        text: what it says.
        calls: what it calls.
        thought: what it thinks aloud.
        stop: `end`, `calls` or `length`; None: what the calls say.
        pieces: into how many pieces the arguments of a call are cut, where they are streamed.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    thought: str = ""
    stop: str | None = None
    pieces: int = 3

    @property
    def ends(self) -> str:
        """Why it stops."""
        return self.stop or ("calls" if self.calls else "end")


Event = tuple[str, Any]
"""The name of a server-sent event (empty: it has none), and its data: JSON, or a text as it is."""

_OPENAI = {"end": "stop", "calls": "tool_calls", "length": "length"}
_ANTHROPIC = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
_COHERE = {"end": "COMPLETE", "calls": "TOOL_CALL", "length": "MAX_TOKENS"}
_GEMINI = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS"}


def whole(provider: str, said: Said) -> Any:
    """The JSON of an answer that is not streamed."""
    return _WHOLE[provider](said)


def events(provider: str, said: Said) -> list[Event]:
    """The events of an answer that is streamed."""
    return _EVENTS[provider](said)


def sse(all_events: Iterable[Event]) -> list[bytes]:
    """Events as the bytes of each."""
    written = []
    for name, data in all_events:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        written.append((f"event: {name}\n" if name else "").encode() + b"data: " + text.encode() + b"\n\n")
    return written


def error(provider: str, status: int, message: str) -> Any:
    """The body of a refusal."""
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
    if provider == "cohere":
        return {"id": "b1946ac9", "message": message}
    if provider == "gemini":
        google = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        return {"error": {"code": status, "message": message, "status": google.get(status, "INTERNAL")}}
    if provider == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def error_event(provider: str, message: str) -> Event:
    """The error of a provider that fails in the middle of a stream."""
    said = error(provider, 500, message)
    if provider == "openai-responses":
        return ("response.failed", {"type": "response.failed", "response": {"status": "failed", **said}})
    if provider == "cohere":
        end = {"finish_reason": "ERROR", "error": message}
        return ("message-end", {"type": "message-end", "delta": end})
    return ("error" if provider == "anthropic" else "", said)


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, math.ceil(len(text) / max(1, pieces)))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _object(text: str) -> Any:
    """Arguments where a provider gives them as a value."""
    try:
        return json.loads(text, parse_constant=_no_constant) if text.strip() else {}
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Chat completions.


def _chat_call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _chat_whole(said: Said) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.thought:
        message["reasoning_content"] = said.thought
    if said.calls:
        message["tool_calls"] = [_chat_call(call) for call in said.calls]
    choice = {"index": 0, "message": message, "finish_reason": _OPENAI[said.ends]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def _chat_events(said: Said) -> list[Event]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": piece} for piece in _cut(said.thought, 2)]
    deltas += [{"content": piece} for piece in _cut(said.text, 3)]
    for index, call in enumerate(said.calls):
        deltas.append({"tool_calls": [{"index": index, **_chat_call(call._replace(arguments=""))}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _cut(call.arguments, said.pieces)
        ]
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m"}
    chunks: list[dict[str, Any]] = [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": _OPENAI[said.ends]}]})
    chunks.append({**chunk, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
    return [*(("", one) for one in chunks), ("", "[DONE]")]


# Responses.


def _response_items(said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.thought:
        summary = [{"type": "summary_text", "text": said.thought}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAAABthought"})
    if said.text:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
        items.append(message)
    for index, call in enumerate(said.calls):
        called = {"type": "function_call", "id": f"fc_{index}", "call_id": call.id, "status": "completed"}
        items.append({**called, "name": call.name, "arguments": call.arguments})
    return items


def _response_whole(said: Said) -> Any:
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    status = "incomplete" if said.ends == "length" else "completed"
    answer = {"id": "resp_1", "object": "response", "status": status, "error": None, "model": "m"}
    why = {"reason": "max_output_tokens"} if said.ends == "length" else None
    return {**answer, "incomplete_details": why, "output": _response_items(said), "usage": usage}


def _response_events(said: Said) -> list[Event]:
    answer = _response_whole(said)
    made: list[dict[str, Any]] = [{"type": "response.created", "response": {**answer, "output": [], "usage": None}}]
    for index, item in enumerate(answer["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        begun = {**item, "arguments": ""} if item["type"] == "function_call" else {**item, "content": []}
        made.append({"type": "response.output_item.added", "output_index": index, "item": begun})
        if item["type"] == "function_call":
            kind = "response.function_call_arguments.delta"
            made += [{"type": kind, **at, "delta": piece} for piece in _cut(item["arguments"], said.pieces)]
        elif item["type"] == "message":
            kind = "response.output_text.delta"
            made += [{"type": kind, **at, "content_index": 0, "delta": piece} for piece in _cut(said.text, 3)]
        made.append({"type": "response.output_item.done", "output_index": index, "item": item})
    made.append({"type": f"response.{answer['status']}", "response": answer})
    return [(one["type"], one) for one in made]


# Messages.


def _message_blocks(said: Said) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if said.thought:
        blocks.append({"type": "thinking", "thinking": said.thought, "signature": "EqQBCgIYAhIk"})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)} for call in said.calls
    ]
    return blocks


def _message_whole(said: Said) -> Any:
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": _message_blocks(said)}
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {**answer, "stop_reason": _ANTHROPIC[said.ends], "stop_sequence": None, "usage": usage}


def _message_events(said: Said) -> list[Event]:
    answer = {**_message_whole(said), "content": [], "stop_reason": None}
    made: list[dict[str, Any]] = [{"type": "message_start", "message": answer}, {"type": "ping"}]
    arguments = deque(call.arguments for call in said.calls)
    for index, block in enumerate(_message_blocks(said)):
        empty: dict[str, Any] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}.get(
            block["type"], {"input": {}}
        )
        made.append({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
        if block["type"] == "tool_use":
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in _cut(arguments.popleft(), said.pieces)
            ]
        elif block["type"] == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in _cut(said.text, 3)]
        else:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(said.thought, 2)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        made.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": _ANTHROPIC[said.ends], "stop_sequence": None}
    made += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, {"type": "message_stop"}]
    return [(one["type"], one) for one in made]


# Cohere.


def _cohere_whole(said: Said) -> Any:
    message: dict[str, Any] = {"role": "assistant"}
    if said.calls:
        message["tool_calls"] = [_chat_call(call) for call in said.calls]
        if said.text:
            message["tool_plan"] = said.text
    content = [{"type": "thinking", "thinking": said.thought}] if said.thought else []
    if said.text and not said.calls:
        content.append({"type": "text", "text": said.text})
    if content:
        message["content"] = content
    usage = {"tokens": {"input_tokens": 10, "output_tokens": 5}}
    return {"id": "c14c80c3", "finish_reason": _COHERE[said.ends], "message": message, "usage": usage}


def _cohere_events(said: Said) -> list[Event]:
    made: list[dict[str, Any]] = [
        {"type": "message-start", "id": "c14c80c3", "delta": {"message": {"role": "assistant"}}}
    ]
    kinds = [("thinking", said.thought), ("text", "" if said.calls else said.text)]
    for index, (kind, text) in enumerate((kind, text) for kind, text in kinds if text):
        start = {"message": {"content": {"type": kind, kind: ""}}}
        made.append({"type": "content-start", "index": index, "delta": start})
        made += [
            {"type": "content-delta", "index": index, "delta": {"message": {"content": {kind: piece}}}}
            for piece in _cut(text, 3)
        ]
        made.append({"type": "content-end", "index": index})
    for index, call in enumerate(said.calls):
        begun = _chat_call(call._replace(arguments=""))
        made.append({"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": begun}}})
        made += [
            {
                "type": "tool-call-delta",
                "index": index,
                "delta": {"message": {"tool_calls": {"function": {"arguments": piece}}}},
            }
            for piece in _cut(call.arguments, said.pieces)
        ]
        made.append({"type": "tool-call-end", "index": index})
    usage = {"tokens": {"input_tokens": 10, "output_tokens": 5}}
    made.append({"type": "message-end", "delta": {"finish_reason": _COHERE[said.ends], "usage": usage}})
    return [(one["type"], one) for one in made]


# Gemini.


def _gemini_parts(said: Said) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if said.thought:
        parts.append({"text": said.thought, "thought": True})
    parts += [{"text": piece} for piece in _cut(said.text, 3)]
    for call in said.calls:
        named = {"id": call.id} if call.id else {}
        parts.append(
            {
                "functionCall": {**named, "name": call.name, "args": _object(call.arguments)},
                "thoughtSignature": "CpcBAdHtim8",
            }
        )
    return parts


def _gemini_chunk(parts: list[Any], reason: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5}}


def _gemini_whole(said: Said) -> Any:
    return _gemini_chunk(_gemini_parts(said), _GEMINI[said.ends])


def _gemini_events(said: Said) -> list[Event]:
    chunks = [_gemini_chunk([part]) for part in _gemini_parts(said)]
    return [("", one) for one in [*chunks, _gemini_chunk([{"text": ""}], _GEMINI[said.ends])]]


_WHOLE: dict[str, Callable[[Said], Any]] = {
    "openai": _chat_whole,
    "openai-responses": _response_whole,
    "anthropic": _message_whole,
    "cohere": _cohere_whole,
    "gemini": _gemini_whole,
}
_EVENTS: dict[str, Callable[[Said], list[Event]]] = {
    "openai": _chat_events,
    "openai-responses": _response_events,
    "anthropic": _message_events,
    "cohere": _cohere_events,
    "gemini": _gemini_events,
}


# The server.


class Sent(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[trio.abc.Stream, Sent], Awaitable[None]]


def head(status: int = 200, headers: dict[str, str] | None = None, reason: str = "Said") -> bytes:
    """The beginning of an answer; `connection: close`, so that its end is the connection's unless a header says."""
    fields = {"connection": "close", **(headers or {})}
    return f"HTTP/1.1 {status} {reason}\r\n{''.join(f'{n}: {v}{_NL}' for n, v in fields.items())}\r\n".encode()


_NL = "\r\n"


def plain(status: int, body: bytes, headers: dict[str, str] | None = None, reason: str = "Said") -> Answer:
    """One answer that comes whole."""

    async def answer(stream: trio.abc.Stream, sent: Sent) -> None:
        fields = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        await stream.send_all(head(status, fields, reason) + body)

    return answer


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A JSON value."""
    return plain(status, json.dumps(value).encode(), headers)


def pieces(parts: Iterable[bytes], *, delay_s: float = 0, hangs: bool = False, kind: str = "text/event-stream") -> Any:
    """Bytes that come one after the other; then the connection ends, or nothing more comes."""

    async def answer(stream: trio.abc.Stream, sent: Sent) -> None:
        await stream.send_all(head(headers={"content-type": kind}))
        for part in parts:
            await stream.send_all(part)
            if delay_s:
                await trio.sleep(delay_s)
        if hangs:
            await trio.sleep_forever()

    return answer


def chunked(parts: Iterable[bytes], *, ends: bool = True) -> Answer:
    """Bytes in chunks of HTTP, with or without the last one, which says that all is there."""

    async def answer(stream: trio.abc.Stream, sent: Sent) -> None:
        await stream.send_all(head(headers={"content-type": "text/event-stream", "transfer-encoding": "chunked"}))
        for part in parts:
            await stream.send_all(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        if ends:
            await stream.send_all(b"0\r\n\r\n")

    return answer


async def silence(stream: trio.abc.Stream, sent: Sent) -> None:
    """Nothing, for ever."""
    await trio.sleep_forever()


async def hang_up(stream: trio.abc.Stream, sent: Sent) -> None:
    """The request was taken, and the connection ends."""


def says(provider: str, said: Said | str) -> Answer:
    """A good answer, as it is asked for: streamed or whole."""
    meant = Said(said) if isinstance(said, str) else said

    async def answer(stream: trio.abc.Stream, sent: Sent) -> None:
        if is_streamed(sent):
            await pieces(sse(events(provider, meant)))(stream, sent)
        else:
            await as_json(whole(provider, meant))(stream, sent)

    return answer


def is_streamed(sent: Sent) -> bool:
    """Whether a request asks for events."""
    return bool(sent.body.get("stream")) or "streamGenerateContent" in sent.path


@attrs.define
class Server:
    """What answers.

    Args:
        answers: for the next requests, one each.
        otherwise: for those after them.
        tls: speak TLS with this context.
        sent: every request, in the order they came.
        connections: how many are open now.
    """

    answers: deque[Answer] = attrs.field(factory=deque)
    otherwise: Answer = hang_up
    tls: ssl.SSLContext | None = None
    sent: list[Sent] = attrs.field(factory=list)
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http{'s' if self.tls else ''}://{LOOPBACK}:{self.port}"

    def answer(self, *answers: Answer) -> None:
        """What the next requests get; nothing that was meant for others is left."""
        self.answers = deque(answers)
        self.sent.clear()

    async def run(self, *, task_status: trio.TaskStatus[Server] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen on loopback until cancelled."""
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        self.port = listeners[0].socket.getsockname()[1]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, self._serve, listeners)
            task_status.started(self)

    async def _serve(self, client: trio.SocketStream) -> None:
        self.connections += 1
        stream: trio.abc.Stream = client
        if self.tls is not None:
            stream = trio.SSLStream(client, self.tls, server_side=True, https_compatible=True)
        try:
            async with stream:
                sent = await _read(stream)
                if sent is not None:
                    self.sent.append(sent)
                    answer = self.answers.popleft() if self.answers else self.otherwise
                    await _as_long_as_heard(stream, answer, sent)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # whoever asked went away
        finally:
            self.connections -= 1


async def _as_long_as_heard(stream: trio.abc.Stream, answer: Answer, sent: Sent) -> None:
    """Answer, until it is over or nobody listens any more."""

    async def listen(scope: trio.CancelScope) -> None:
        try:
            while await stream.receive_some(65_536):
                pass
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        scope.cancel()

    problem: BaseException | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen, nursery.cancel_scope)
        try:
            await answer(stream, sent)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as broken:
            problem = broken
        nursery.cancel_scope.cancel()
    if problem is not None:
        raise problem


async def _read(stream: trio.abc.Stream) -> Sent | None:
    """One request; None: there was none."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        piece = await stream.receive_some(65_536)
        if not piece:
            return None
        seen += piece
        if seen.startswith(b"\x16\x03"):  # TLS, which nobody speaks here
            await stream.send_all(head(400))
            return None
    top, _, rest = seen.partition(b"\r\n\r\n")
    line, *fields = top.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    body = bytearray(rest)
    while len(body) < int(headers.get("content-length", "0")):
        piece = await stream.receive_some(1 << 20)
        if not piece:
            return None
        body += piece
    return Sent(line.split(" ")[1], headers, json.loads(body) if body else {})


# The same without a network.


@attrs.define
class Tape:
    """What a model is asked through instead of the wire: answers are values, and each request gets the next.

    Args:
        answers: JSON of whole answers; or lists of events, for requests that ask for them.
        otherwise: for the requests after them, from the request to an answer.
        sent: every request.
    """

    otherwise: Callable[[Sent], Any]
    answers: deque[Any] = attrs.field(factory=deque)
    sent: list[Sent] = attrs.field(factory=list)

    def _next(self, url: str, body: Any) -> Any:
        self.sent.append(Sent(url, {}, json.loads(json.dumps(body))))
        return self.answers.popleft() if self.answers else self.otherwise(self.sent[-1])

    async def post(self, url: str, body: Any, place: Any, *, read: Any = lambda answer: answer) -> Any:
        """See `Transport.post`."""
        await trio.lowlevel.checkpoint()
        return read(_as_read(self._next(url, body)))

    @contextlib.asynccontextmanager
    async def stream(self, url: str, body: Any, place: Any) -> AsyncIterator[_Played]:
        """See `Transport.stream`."""
        await trio.lowlevel.checkpoint()
        yield _Played(self._next(url, body))


def _as_read(value: Any) -> Any:
    """A value as the wire reads it of its text."""
    from pegboard_chat.wire.faults import read_json

    return read_json("tape", json.dumps(value))


class _Played:
    """An answer of a tape: events, or a whole value where a server does not stream."""

    def __init__(self, answer: Any) -> None:
        self.streamed = isinstance(answer, list)
        self._answer = answer
        self._left = deque(answer if self.streamed else ())

    def __aiter__(self) -> _Played:
        return self

    async def __anext__(self) -> Event:
        if not self._left:
            raise StopAsyncIteration
        name, data = self._left.popleft()
        return name, data if isinstance(data, str) else json.dumps(data)

    async def json(self) -> Any:
        """The whole value."""
        return _as_read(self._answer)

    def finish(self) -> None:
        """Nothing is left to read over."""


# What every provider wants of a request: an answer to each call, right after it, and nothing else.


def unanswered(path: str, body: Any) -> list[str]:
    """Every call of a request's history that has not exactly one result, and every result without a call."""
    complaints: list[str] = []
    expected: list[Any] = []
    for kind, one in _calls_and_results(path.partition("?")[0], body):
        if kind == "call":
            expected.append(one)
        elif kind == "result" and one in expected:
            expected.remove(one)
        elif kind == "result":
            complaints.append(f"a result of {one!r:.60}, which nobody called")
        elif expected:
            complaints.append(f"{kind} while {expected!r:.60} wait for their results")
            expected = []
    return [*complaints, *(f"{one!r:.60} has no result" for one in expected)]


_ITEMS = {"function_call": "call", "function_call_output": "result"}


def _calls_and_results(path: str, body: Any) -> list[tuple[str, Any]]:
    """What follows what: `call` and `result` with their ids (with Gemini: their names), else who speaks."""
    if path.endswith("/responses"):
        return [
            (_ITEMS.get(item["type"], "user"), item.get("call_id"))
            for item in body["input"]
            if item["type"] != "reasoning" and item.get("role") != "assistant"
        ]
    if "enerateContent" in path:
        parts = [part for content in body["contents"] for part in content["parts"]]
        return [
            (kind, part[member]["name"])
            for part in parts
            for member, kind in (("functionCall", "call"), ("functionResponse", "result"))
            if member in part
        ]
    found: list[tuple[str, Any]] = []
    for message in body["messages"]:
        content = message.get("content")
        blocks = content if isinstance(content, list) and path.endswith("/messages") else []
        found += [("call", call["id"]) for call in message.get("tool_calls") or ()]
        found += [("call", block["id"]) for block in blocks if block.get("type") == "tool_use"]
        found += [("result", block["tool_use_id"]) for block in blocks if block.get("type") == "tool_result"]
        if message["role"] == "tool":
            found.append(("result", message["tool_call_id"]))
        elif message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks):
            found.append(("user", None))
    return found
