"""Any recorded traffic: every answer is read, as another reader reads it, and the conversation can go on with anybody.

`--cassettes FOLDER` names a folder of VCR files. What in it is not a request to a model that is spoken to here is
skipped, and named. How our requests compare with the recorded ones is judged for known tapes alone, in
`test_cassettes.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
import pytest

from pegboard import PegboardError, Tool, ToolResult, open_host, thaw
from pegboard_chat import Conversation, Message, ModelError, ModelRequest, Reply, open_model

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CO_API_KEY", "GEMINI_API_KEY")
BASES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "CO_API_URL", "GOOGLE_GEMINI_BASE_URL")
DIALECTS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "cohere": "/v2/chat",
    "gemini": "/v1beta/models/another-model:generateContent",
}
"""Where the requests of each go: the types of the provider's own SDK judge them."""
OWN = {"api.openai.com", "api.anthropic.com", "api.cohere.com", "generativelanguage.googleapis.com"}
"""Servers that are the provider's own; others take members that no SDK knows."""


# -- the other reader: text and calls of an answer, as plainly as its API says them


def said_in(exchange: Any) -> tuple[str, list[tuple[str, Any]]] | None:
    """The text of a recorded answer and its calls; None: it is not one that came to its end."""
    try:
        if exchange.answer.lstrip().startswith((b"{", b"[")):
            whole = json.loads(exchange.answer)
            events = whole if isinstance(whole, list) else [whole]
        else:
            lines = exchange.answer.decode("utf-8", "replace").splitlines()
            data = [line[5:].strip() for line in lines if line.startswith("data:")]
            events = [json.loads(one) for one in data if one and one != "[DONE]"]
    except ValueError:
        return None
    if any(isinstance(one, dict) and (one.get("error") or one.get("type") == "error") for one in events):
        return None
    reader = {
        "openai": _of_chat,
        "openai-responses": _of_responses,
        "anthropic": _of_messages,
        "cohere": _of_cohere,
        "gemini": _of_gemini,
    }[exchange.api]
    try:
        return reader(events)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(
        part.get("text") or "" for part in content or () if part.get("type", "text") in ("text", "output_text")
    )


def _arguments(text: Any) -> Any:
    return text if isinstance(text, dict) else json.loads(text or "{}")


def _of_chat(events: list[Any]) -> tuple[str, list[tuple[str, Any]]] | None:
    text, calls, reason = "", {}, None
    for event in events:
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            said = choice.get("delta") or choice.get("message") or {}  # Perplexity repeats the message
            text += _text(said.get("content")) + (said.get("refusal") or "")
            for at, call in enumerate(said.get("tool_calls") or ()):
                known = calls.setdefault(call.get("index", at), ["", ""])
                known[0] = known[0] or call["function"].get("name") or ""
                known[1] += call["function"].get("arguments") or ""
            reason = choice.get("finish_reason") or reason
    return None if reason is None else (text, [(name, _arguments(given)) for name, given in calls.values()])


def _of_responses(events: list[Any]) -> tuple[str, list[tuple[str, Any]]] | None:
    last = events[-1].get("response", events[-1])
    if last.get("status") not in ("completed", "incomplete"):
        return None
    texts, calls = [], []
    for item in last["output"]:
        if item["type"] == "message":
            texts += [part.get("text") or part.get("refusal", "") for part in item["content"]]
        if item["type"] == "function_call":
            calls.append((item["name"], _arguments(item["arguments"])))
    return "".join(texts), calls


def _of_messages(events: list[Any]) -> tuple[str, list[tuple[str, Any]]] | None:
    if "content" in events[0]:
        blocks = events[0]["content"]
        return _text(blocks), [(one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"]
    blocks, pieces, is_over = {}, {}, False
    text = ""
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = event["content_block"]
            text += event["content_block"].get("text") or ""
        if event["type"] == "content_block_delta":
            text += event["delta"].get("text") or ""
            pieces[event["index"]] = pieces.get(event["index"], "") + (event["delta"].get("partial_json") or "")
        is_over = is_over or event["type"] == "message_stop"
    uses = [(at, one) for at, one in blocks.items() if one["type"] == "tool_use"]
    calls = [(one["name"], _arguments(pieces.get(at) or one["input"])) for at, one in uses]
    return (text, calls) if is_over else None


def _of_cohere(events: list[Any]) -> tuple[str, list[tuple[str, Any]]] | None:
    if "message" in events[0]:
        message = events[0]["message"]
        calls = [one["function"] for one in message.get("tool_calls") or ()]
        return _text(message.get("content")), [(one["name"], _arguments(one["arguments"])) for one in calls]
    text, begun, is_over = "", {}, False
    for event in events:
        said = (event.get("delta") or {}).get("message") or {}
        if event["type"] in ("content-start", "content-delta"):
            text += (said.get("content") or {}).get("text") or ""
        if event["type"] in ("tool-call-start", "tool-call-delta"):
            call = begun.setdefault(event["index"], ["", ""])
            function = said["tool_calls"]["function"]
            call[0] += function.get("name") or ""
            call[1] += function.get("arguments") or ""
        is_over = is_over or event["type"] == "message-end"
    return (text, [(name, _arguments(given)) for name, given in begun.values()]) if is_over else None


def _of_gemini(events: list[Any]) -> tuple[str, list[tuple[str, Any]]] | None:
    text, calls, reason = "", [], None
    for event in events:
        candidate = (event.get("candidates") or [{}])[0]
        for part in (candidate.get("content") or {}).get("parts") or ():
            if call := part.get("functionCall") or part.get("function_call"):
                calls.append((call["name"], call.get("args") or {}))
            elif not part.get("thought"):
                text += part.get("text") or ""
        reason = candidate.get("finishReason") or candidate.get("finish_reason") or reason
    return None if reason in (None, "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL") else (text, calls)


def offered(exchange: Any) -> list[Tool]:
    """The functions that a recorded request declares; not tools that run at the provider."""
    tools: dict[str, Tool] = {}
    for one in _declared(exchange.body.get("tools")):
        schema = one.get("parameters_json_schema") or one.get("parametersJsonSchema") or one.get("parameters")
        schema = schema or one.get("input_schema") or {"type": "object"}
        try:
            tool = Tool(
                name=one["name"],
                handler=_never,
                description=one.get("description") or "",
                input_schema=_lowered(schema),
            )
        except (KeyError, PegboardError, TypeError, ValueError):
            continue
        tools[tool.name] = tool
    return list(tools.values())


def _declared(tools: Any) -> Iterator[Any]:
    for one in tools if isinstance(tools, list) else [tools]:
        if isinstance(one, dict):
            inner = one.get("functionDeclarations") or one.get("function_declarations")
            yield from inner if isinstance(inner, list) else [one.get("function", one)]


def _lowered(schema: Any) -> Any:
    """Gemini's own schemas shout their types."""
    if isinstance(schema, list):
        return [_lowered(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: one.lower() if key == "type" and isinstance(one, str) else _lowered(one) for key, one in schema.items()
    }


async def _never() -> None:
    raise AssertionError("a tape has its results")


def _without_nulls(value: Any) -> Any:
    """A strict form has a null for what is left out."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


# -- playing


@pytest.fixture
def replayed(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: Any, judged: Callable[[str, Any], None]
) -> Callable[[Any], Awaitable[None]]:
    """`await replayed(exchange)`: its answer is played to the bridge that speaks it, at the recorded place."""
    import httpx2

    for name in KEYS:
        monkeypatch.setenv(name, "a-key-of-nobody")
    for name in BASES:
        monkeypatch.delenv(name, raising=False)

    async def play(exchange: Any) -> None:
        async def answer(_: Any, request: httpx2.Request) -> httpx2.Response:
            headers = {"content-type": exchange.media} if exchange.media else {}
            return httpx2.Response(exchange.status, headers=headers, content=exchange.answer)

        monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", answer)
        plugin = exchange.api.partition("-")[0]
        place = urlsplit(exchange.url)
        section = {"base_url": f"https://{place.netloc or 'models.example'}/v1"}
        is_streamed = "stream" in place.path.lower() or exchange.body.get("stream") is True
        name = exchange.body.get("model") or place.path.partition("/models/")[2].partition(":")[0] or "a-model"
        conversation = Conversation().ask("go")
        async with (
            open_host({"plugins": {plugin: section}}) as host,
            open_model(host, f"{exchange.api}:{name}") as model,
        ):
            export = model.dialect.export(offered(exchange))
            request = ModelRequest(conversation, export, stream=is_streamed)
            said = said_in(exchange) if exchange.status < 400 else None
            problem: ModelError | None = None
            try:
                async with model.respond(request) as stream:
                    *_, reply = [piece async for piece in stream]
            except ModelError as raised:
                problem = raised
            if problem is not None:
                assert said is None, f"{exchange.url}: {problem}"
                assert exchange.status < 400 or problem.details["status"] == exchange.status
                return
            assert exchange.status < 400
            assert isinstance(reply, Reply)
            if said is not None:
                _compare(reply, said, export)
            conversation = _going_on(conversation, reply)
            for dialect in DIALECTS.keys() - {exchange.api}:
                judged(
                    DIALECTS[dialect], host.board.dialects[dialect].body(ModelRequest(conversation), "another-model")
                )
            own = model.dialect.body(attrs.evolve(request, conversation=conversation), str(name))
            assert "and now?" in json.dumps(own, allow_nan=False)
            if place.netloc in OWN:
                judged(DIALECTS[exchange.api], own)

    return play


def _compare(reply: Reply, said: tuple[str, list[tuple[str, Any]]], export: Any) -> None:
    text, calls = said
    assert "".join(reply.message.text.split()) == "".join(text.split())
    read = [(call.name, _without_nulls(thaw(call.arguments))) for call in reply.message.calls]
    assert read == [(export.name_of(name), _without_nulls(given)) for name, given in calls]


def _going_on(conversation: Conversation, reply: Reply) -> Conversation:
    """The conversation with the reply, saved and read back, and another question."""
    conversation = conversation.add(reply.message)
    if calls := reply.message.calls:
        results = tuple(attrs.evolve(ToolResult.text("done"), id=call.id, name=call.name) for call in calls)
        conversation = conversation.add(Message("tool", results=results))
    return Conversation.from_json(json.loads(json.dumps(conversation.to_json()))).ask("and now?")


@pytest.fixture
def exchanges(tape: Any) -> list[Any]:
    """What of a tape can be played."""
    if tape is None:
        pytest.skip("recorded traffic is not here; name its folder with --cassettes")
    if not tape.exchanges:
        pytest.skip(f"{tape.name}: {'; '.join(dict.fromkeys(tape.left_out)) or 'it is empty'}")
    return list(tape.exchanges)


async def test_every_recorded_answer_is_read_and_the_conversation_goes_on(exchanges: list[Any], replayed: Any) -> None:
    for exchange in exchanges:
        await replayed(exchange)


def test_what_else_is_in_a_tape_is_named(tape: Any, exchanges: list[Any]) -> None:
    if tape.left_out:
        pytest.skip(f"{tape.name}: {'; '.join(dict.fromkeys(tape.left_out))}")


# -- a folder of other recordings


WAYS = ("text", "bytes", "gzip", "unpacked", "base64", "parsed")


@pytest.mark.parametrize("way", WAYS)
def test_recordings_are_read_however_they_are_written(tmp_path: Path, tapes: Any, recordings: Any, way: str) -> None:
    recordings.record(tmp_path, way)
    found = {tape.name.rpartition(".")[0]: tape for tape in tapes.load(tmp_path)}
    for name in ("strange", "empty", "none", "broken"):
        assert found[name].exchanges == ()
    assert found["none"].left_out == ("it holds no interactions",)
    told = "\n".join(found["strange"].left_out)
    assert all(place in told for place in recordings.STRANGE)
    assert len(found["all"].exchanges) == len(recordings.OTHERS)
    assert len(found["all"].left_out) == len(recordings.STRANGE)
    for name, (_, _, answer, status) in recordings.OTHERS.items():
        (exchange,) = found[name.replace(" ", "_")].exchanges
        assert exchange.status == status
        is_json = answer.startswith((b"{", b"["))
        assert exchange.answer == answer or (is_json and json.loads(exchange.answer) == json.loads(answer))


async def test_recordings_of_many_servers_are_played(
    tmp_path: Path, tapes: Any, recordings: Any, replayed: Callable[[Any], Awaitable[None]]
) -> None:
    recordings.record(tmp_path, "text")
    wrong: list[str] = []
    for tape in tapes.load(tmp_path):
        for exchange in tape.exchanges if tape.name != "all.yaml" else ():
            try:
                await replayed(exchange)
            except AssertionError as problem:
                wrong.append(f"{tape.name}: {problem}")
    assert not wrong, "\n".join(wrong)
