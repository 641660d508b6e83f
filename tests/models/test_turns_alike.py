"""What holds for the turns of every provider alike, streamed and whole, and for every provider that they go on with."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import trio

from pegboard import TextContent, Tool, ToolResult, load_board
from pegboard_chat import Conversation, Message, ModelError, ModelRequest, Stop
from pegboard_chat.wire.http_model import HttpModel, Place
from pegboard_chat.wire.transport import open_transport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

MODELS = {
    "openai": "openai:gpt-4.1",
    "openai-responses": "openai:gpt-5",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "cohere": "cohere:command-a-03-2025",
    "gemini": "gemini:gemini-3-pro",
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def whole_of(dialect: str, call_id: str, at: int) -> Any:
    """A whole answer with one call of `f`, whose argument is `at`."""
    arguments = json.dumps({"a": at})
    function = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": arguments}}
    match dialect:
        case "openai":
            message = {"role": "assistant", "content": None, "tool_calls": [function]}
            return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
        case "openai-responses":
            item = {"type": "function_call", "id": f"fc_{at}", "call_id": call_id, "name": "f", "arguments": arguments}
            return {"status": "completed", "output": [item]}
        case "anthropic":
            thought = {"type": "thinking", "thinking": "so", "signature": "c2ln"}
            use = {"type": "tool_use", "id": call_id, "name": "f", "input": {"a": at}}
            return {"role": "assistant", "content": [thought, use], "stop_reason": "tool_use"}
        case "cohere":
            message = {"role": "assistant", "tool_plan": "so", "tool_calls": [function]}
            return {"message": message, "finish_reason": "TOOL_CALL"}
        case _:
            part = {"functionCall": {"id": call_id, "name": "f", "args": {"a": at}}, "thoughtSignature": "c2ln"}
            return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}


def events_of(dialect: str, call_id: str, at: int) -> Iterable[tuple[str, Any]]:
    """The same as the events of a stream."""
    whole = whole_of(dialect, call_id, at)
    match dialect:
        case "openai":
            (call,) = whole["choices"][0]["message"]["tool_calls"]
            yield "", {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}}]}
            yield "", {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
        case "openai-responses":
            (item,) = whole["output"]
            yield "", {"type": "response.output_item.done", "output_index": 0, "item": item}
            yield "", {"type": "response.completed", "response": {**whole, "output": []}}
        case "anthropic":
            yield "message_start", {"type": "message_start", "message": {"usage": {}}}
            for index, block in enumerate(whole["content"]):
                yield "", {"type": "content_block_start", "index": index, "content_block": block}
                yield "", {"type": "content_block_stop", "index": index}
            yield "", {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
            yield "", {"type": "message_stop"}
        case "cohere":
            yield "", {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "so"}}}
            (call,) = whole["message"]["tool_calls"]
            yield "", {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": call}}}
            yield "", {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}
        case _:
            yield "", whole


def sent(dialect: str, body: Any) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
    """The calls of a body, each with its id and its argument, and the results, each with its id and its text."""
    calls: list[tuple[str, int]] = []
    results: list[tuple[str, str]] = []
    for one in body.get("messages") or body.get("input") or body.get("contents"):
        for call in one.get("tool_calls") or ():
            calls.append((call["id"], json.loads(call["function"]["arguments"])["a"]))
        if one.get("role") == "tool":
            results.append((one["tool_call_id"], one["content"]))
        if one.get("type") == "function_call":
            calls.append((one["call_id"], json.loads(one["arguments"])["a"]))
        if one.get("type") == "function_call_output":
            results.append((one["call_id"], one["output"]))
        for block in one["content"] if isinstance(one.get("content"), list) else ():
            if block["type"] == "tool_use":
                calls.append((block["id"], block["input"]["a"]))
            if block["type"] == "tool_result":
                results.append((block["tool_use_id"], block["content"][0]["text"]))
        for part in one.get("parts", ()):
            if call := part.get("functionCall"):
                calls.append((call["id"], call["args"]["a"]))
            if answer := part.get("functionResponse"):
                results.append((answer["id"], answer["response"]["output"]))
    return calls, results


@pytest.fixture(scope="module")
def dialects() -> Any:
    return load_board({}, ["chat", "openai", "anthropic", "cohere", "gemini"]).dialects


def _request(dialects: Any, name: str, conversation: Conversation, *, stream: bool = False) -> ModelRequest:
    tools = [Tool(name="f", handler=print, input_schema=SCHEMA)]
    return ModelRequest(conversation, dialects[name].export(tools), stream=stream)


def _read(dialect: Any, request: ModelRequest, name: str, call_id: str, at: int) -> Any:
    if not request.stream:
        return dialect.read(whole_of(name, call_id, at), request, MODELS[name])
    reader = dialect.reader(request, MODELS[name])
    for event, data in events_of(name, call_id, at):
        list(reader.feed(event, json.dumps(data)))
    return reader.close()


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("is_loaded", [False, True], ids=["said", "loaded"])
@pytest.mark.parametrize("other", MODELS)
@pytest.mark.parametrize("name", MODELS)
def test_a_server_that_counts_its_calls_anew_in_every_turn_confuses_nobody(
    dialects: Any, name: str, other: str, is_loaded: bool, stream: bool
) -> None:
    conversation = Conversation().ask("go")
    for at in range(3):
        heard = Conversation().ask("go") if is_loaded else conversation  # a file that somebody saved before
        reply = _read(dialects[name], _request(dialects, name, heard, stream=stream), name, "call_0", at)
        (call,) = reply.calls
        assert call == reply.message.calls[0]
        result = ToolResult((TextContent(f"result {at}"),), id=call.id, name="f")
        conversation = conversation.add(reply.message, Message("tool", results=(result,)))
    if is_loaded:
        conversation = Conversation.from_json(json.loads(json.dumps(conversation.to_json())))
    body = dialects[other].body(_request(dialects, other, conversation), MODELS[other].partition(":")[2])
    calls, results = sent(other, body)
    assert [at for _, at in calls] == [0, 1, 2]
    assert [text for _, text in results] == ["result 0", "result 1", "result 2"]
    assert [one for one, _ in calls] == [one for one, _ in results]
    assert len({one for one, _ in calls}) == 3
    if name == other and name in ("anthropic", "gemini"):  # what was thought goes back with the calls
        assert json.dumps(body).count("c2ln") == 3


# -- what servers fill in, and what lies between


@pytest.mark.parametrize(
    "empty", [{}, {"name": "", "arguments": ""}, {"name": None, "arguments": None}, {"name": "", "arguments": {}}]
)
@pytest.mark.parametrize("tool_calls", [None, [], [{}], [{"function": {"name": "", "arguments": ""}}]], ids=repr)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_what_names_no_function_is_not_a_valid_call(dialects: Any, stream: bool, tool_calls: Any, empty: Any) -> None:
    request = _request(dialects, "openai", Conversation().ask("go"), stream=stream)
    said = {"role": "assistant", "content": "hello", "tool_calls": tool_calls, "function_call": empty}
    if stream:
        reader = dialects["openai"].reader(request, "local:m")
        for delta in (said, {"content": " you", "function_call": empty}):
            list(reader.feed("", json.dumps({"choices": [{"delta": delta}]})))
        list(reader.feed("", json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]})))
        reply = reader.close()
    else:
        answer = {"choices": [{"message": {**said, "content": "hello you"}, "finish_reason": "function_call"}]}
        reply = dialects["openai"].read(answer, request, "local:m")
    assert (reply.calls, reply.message.calls, reply.stop) == ((), (), Stop.END)
    assert reply.message.text == "hello you"
    assert "tool_calls" not in reply.message.raw


CITED = ["The sky", " ", "is blue", "\n\n", "and high", "."]


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", MODELS)
def test_white_space_between_cited_texts_stays(dialects: Any, name: str, stream: bool) -> None:
    """Texts with sources come as blocks of their own, and so does what is between them."""
    request = _request(dialects, name, Conversation().ask("go"), stream=stream)
    dialect, model = dialects[name], MODELS[name]
    parts = [{"type": "text", "text": text} for text in CITED]
    whole: dict[str, Any] = {
        "openai": {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]},
        "openai-responses": {
            "output": [{"type": "message", "content": [{**one, "type": "output_text"}]} for one in parts]},
        "anthropic": {"content": [{"citations": [{}], **one} for one in parts], "stop_reason": "end_turn"},
        "cohere": {"message": {"content": parts}, "finish_reason": "COMPLETE"},
        "gemini": {"candidates": [{"content": {"parts": [{"text": text} for text in CITED]}, "finishReason": "STOP"}]},
    }  # fmt: skip
    streamed: dict[str, list[Any]] = {
        "openai": [*({"choices": [{"delta": {"content": [one]}}]} for one in parts),
                   {"choices": [{"finish_reason": "stop"}]}],
        "openai-responses": [
            *({"type": "response.output_text.delta", "output_index": 0, "content_index": at, "delta": text}
              for at, text in enumerate(CITED)), {"type": "response.completed", "response": {}}],
        "anthropic": [
            {"type": "message_start", "message": {}},
            *({"type": "content_block_start", "index": at, "content_block": one} for at, one in enumerate(parts)),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}],
        "cohere": [*({"type": "content-start", "delta": {"message": {"content": one}}} for one in parts),
                   {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}],
        "gemini": [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in CITED]
        + [{"candidates": [{"finishReason": "STOP"}]}],
    }  # fmt: skip
    if stream:
        reader = dialect.reader(request, model)
        for event in streamed[name]:
            list(reader.feed("", json.dumps(event)))
        reply = reader.close()
    else:
        reply = dialect.read(whole[name], request, model)
    assert reply.message.text == "".join(CITED)
    again = request.conversation.add(reply.message).ask("go on")
    for other, of in dialects.items():
        if other in MODELS:
            assert "blue" in json.dumps(of.body(_request(dialects, other, again), MODELS[other].partition(":")[2]))


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_what_a_compatible_server_encrypted_goes_back_to_it(stream: bool) -> None:
    from pegboard_openai._flavours import COMPATIBLE, GROQ
    from pegboard_openai._responses import ResponsesDialect

    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_0", "name": "f", "arguments": '{"a": 1}'}
    for flavour in (COMPATIBLE, GROQ):
        dialect = ResponsesDialect(flavour, "openai")
        request = ModelRequest(Conversation().ask("go"), stream=stream)
        if stream:
            reader = dialect.reader(request, "openai:m")
            for at, item in enumerate((thought, call)):
                event = {"type": "response.output_item.done", "output_index": at, "item": item}
                list(reader.feed("", json.dumps(event)))
            list(reader.feed("", json.dumps({"type": "response.completed", "response": {}})))
            reply = reader.close()
        else:
            reply = dialect.read({"output": [thought, call]}, request, "openai:m")
        result = ToolResult((TextContent("1"),), id="call_0", name="f")
        said = request.conversation.add(reply.message, Message("tool", results=(result,)))
        items = dialect.body(ModelRequest(said), "m")["input"]
        assert thought in items
        assert [item["id"] for item in items if item["type"] == "function_call"] == ["fc_1"]
        assert thought not in dialect.body(ModelRequest(said), "other")["input"]


# -- where an answer ends


class _Body(httpx2.AsyncByteStream):
    """Pieces of a body; after them the connection ends, stays open, or breaks."""

    def __init__(self, pieces: list[bytes], end: str) -> None:
        self._pieces = pieces
        self._end = end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._end == "broken":
            raise httpx2.ReadError("the connection broke")
        while self._end == "kept awake":
            await trio.sleep(1)
            yield b": still here\n\n" if self._pieces[0].startswith((b"event", b"data")) else b" "
        if self._end == "open":
            await trio.sleep_forever()


@contextlib.asynccontextmanager
async def served(dialect: Any, model: str, pieces: list[bytes], end: str, kind: str) -> AsyncIterator[HttpModel]:
    """A model whose server sends these pieces."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": kind}, stream=_Body(pieces, end))

    provider, _, name = model.partition(":")
    place = Place(provider, name, lambda model, stream: "https://models.example/", {}, key=None, key_variable="KEY")
    async with open_transport(http=httpx2.MockTransport(handle), tries=1, timeout_s=600) as transport:
        yield HttpModel(model, dialect, transport, place)


def _event(event: str, data: Any) -> bytes:
    return (f"event: {event}\n" if event else "").encode() + f"data: {json.dumps(data)}\n\n".encode()


@pytest.mark.parametrize("end", ["closed", "open", "broken", "kept awake"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", MODELS)
async def test_a_whole_answer_is_taken_whatever_becomes_of_its_connection(
    dialects: Any, name: str, stream: bool, end: str, autojump_clock: Any
) -> None:
    request = _request(dialects, name, Conversation().ask("go"), stream=stream)
    if stream:
        pieces = [_event(event, data) for event, data in events_of(name, "call_0", 7)]
    else:
        text = json.dumps(whole_of(name, "call_0", 7)).encode()
        pieces = [text[:40], text[40:]]
    kind = "text/event-stream" if stream else "application/json"
    began = trio.current_time()
    async with served(dialects[name], MODELS[name], pieces, end, kind) as model, model.respond(request) as answer:
        reply = [piece async for piece in answer][-1]
    assert trio.current_time() - began < 5
    assert [call.arguments for call in reply.calls] == [{"a": 7}]


@pytest.mark.parametrize("end", ["closed", "broken"])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("name", MODELS)
async def test_half_an_answer_is_not_an_answer(dialects: Any, name: str, stream: bool, end: str) -> None:
    request = _request(dialects, name, Conversation().ask("go"), stream=stream)
    if stream:
        events = [*events_of(name, "call_0", 7)]
        pieces = [_event(event, data) for event, data in events[: len(events) // 2]] or [_event("", {"id": "x"})]
    else:
        text = json.dumps(whole_of(name, "call_0", 7)).encode()
        pieces = [text[:40], text[40:-1]]
    kind = "text/event-stream" if stream else "application/json"
    with pytest.raises(ModelError) as raised:
        async with served(dialects[name], MODELS[name], pieces, end, kind) as model, model.respond(request) as answer:
            [piece async for piece in answer]
    assert raised.value.details["reason"] == "half_answer"


async def test_the_counts_that_follow_a_whole_answer_are_waited_for(dialects: Any, autojump_clock: Any) -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}}
    pieces = [_event(*one) for one in (*events_of("openai", "call_0", 7), ("", usage))]
    request = _request(dialects, "openai", Conversation().ask("go"), stream=True)
    kind = "text/event-stream"
    async with served(dialects["openai"], "local:m", pieces, "open", kind) as model, model.respond(request) as answer:
        reply = [piece async for piece in answer][-1]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (5, 7)
