"""Recorded traffic: each recorded answer is played back, and the next request must say what the recorded one says.

The requests were recorded from other libraries, and differ from ours where they decided otherwise. Every such
difference stands in `KNOWN`, with its reason: what is not in it fails, and so does what is in it and not to be seen.
This is known of the tapes in `COMPARED`. What holds of any tape is held in `test_any_cassette.py`.
"""

from __future__ import annotations

import base64
import fnmatch
import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from pegboard import ToolCall, ToolResult, open_host
from pegboard_chat import Conversation, Message, ModelRequest, Reply, open_model

if TYPE_CHECKING:
    from collections.abc import Callable

COMPARED = frozenset(
    {
        "llm-anthropic/test_stream_events_tool_calls.yaml",
        "llm-anthropic/test_tools.yaml",
        "llm-gemini/test_tools.yaml",
        "llm-gemini/test_tools_with_gemini_3_thought_signatures.yaml",
        "llm/test_responses_tool_use_streaming.yaml",
        "llm/test_tool_use_chain_of_two_calls.yaml",
        "llm/test_tools_streaming_variant_a.yaml",
        "llm/test_tools_streaming_variant_c.yaml",
        "pydantic-ai/test_anthropic/test_anthropic_tool_with_thinking.yaml",
        "pydantic-ai/test_anthropic/test_multiple_parallel_tool_calls.yaml",
        "pydantic-ai/test_google/test_google_streaming_tool_call_thought_signature.yaml",
        "pydantic-ai/test_google/test_google_tool_output.yaml",
        "pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[tool_return_content-binary-image-anthropic].yaml",
        "pydantic-ai/test_openai/test_compatible_api_with_tool_calls_without_id.yaml",
        "pydantic-ai/test_openai/test_multiple_agent_tool_calls.yaml",
        "pydantic-ai/test_openai_responses/test_openai_responses_model_simple_response_with_tool_call.yaml",
        "pydantic-ai/test_openai_responses/test_openai_responses_stream.yaml",
        "pydantic-ai/test_tool_choice_matrix/test_tool_choice_matrix[auto-anthropic].yaml",
        "pydantic-ai/test_tool_choice_matrix/test_tool_choice_matrix[auto-cohere].yaml",
        "pydantic-ai/test_tool_choice_matrix/test_tool_choice_matrix[auto-google].yaml",
        "pydantic-ai/test_tool_choice_matrix/test_tool_choice_matrix[auto-openai].yaml",
        "pydantic-ai/test_tool_choice_matrix/test_tool_choice_matrix[required-cohere].yaml",
    }
)
"""The tapes whose differences are known."""
DROP = object()
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CO_API_KEY", "GEMINI_API_KEY")
BASES = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "CO_API_URL", "GOOGLE_GEMINI_BASE_URL")


def rewritten(value: Any, change: Callable[[tuple[Any, ...], Any], Any], path: tuple[Any, ...] = ()) -> Any:
    """A JSON value with `change(path, value)` done to every place, the innermost first; DROP takes it out."""
    if isinstance(value, dict):
        inner = {key: rewritten(one, change, (*path, key)) for key, one in value.items()}
        value = {key: one for key, one in inner.items() if one is not DROP}
    elif isinstance(value, list):
        items = [rewritten(one, change, (*path, at)) for at, one in enumerate(value)]
        value = [one for one in items if one is not DROP]
    return change(path, value)


def without(*keys: str, of: Any = DROP) -> Callable[[Any], Any]:
    """Members of these names (of any, where none is given) left out, wherever they are; `of`: only with this value."""

    def change(path: tuple[Any, ...], value: Any) -> Any:
        is_named = bool(path) and (path[-1] in keys or (not keys and isinstance(path[-1], str)))
        return DROP if is_named and (of is DROP or (value == of and type(value) is type(of))) else value

    return lambda body: rewritten(body, change)


def renamed(**names: str) -> Callable[[Any], Any]:
    """Members under other names, wherever they are."""

    def change(_path: tuple[Any, ...], value: Any) -> Any:
        return {names.get(key, key): one for key, one in value.items()} if isinstance(value, dict) else value

    return lambda body: rewritten(body, change)


def _numbered(body: Any) -> Any:
    """Ids of calls as they come: what counts is which call a result belongs to."""
    seen: dict[str, str] = {}

    def change(path: tuple[Any, ...], value: Any) -> Any:
        is_id = path and path[-1] in ("id", "tool_call_id", "tool_use_id", "call_id")
        return seen.setdefault(value, f"#{len(seen)}") if is_id and isinstance(value, str) else value

    return rewritten(body, change)


def _parsed_arguments(body: Any) -> Any:
    def change(path: tuple[Any, ...], value: Any) -> Any:
        return json.loads(value) if path and path[-1] == "arguments" and isinstance(value, str) else value

    return rewritten(body, change)


def _plain_text(body: Any) -> Any:
    """`[{"type": "text", "text": T}]` is T, and so is `[{"type": "input_text", "text": T}]`."""

    def change(path: tuple[Any, ...], value: Any) -> Any:
        match value:
            case [{"type": "text" | "input_text" | "output_text", "text": text}] if path[-1] == "content":
                return text
        return value

    return rewritten(body, change)


def _plain_base64(body: Any) -> Any:
    def change(path: tuple[Any, ...], value: Any) -> Any:
        if path and path[-1] == "thoughtSignature":
            return base64.urlsafe_b64decode(value.replace("+", "-").replace("/", "_")).hex()
        return value

    return rewritten(body, change)


def _one_turn(body: Any) -> Any:
    """Neighbouring messages of the assistant as one, and no empty ones."""
    turns: list[Any] = []
    for turn in body["messages"]:
        if turns and turn.get("role") == turns[-1].get("role") == "assistant":
            turns[-1] = {**turns[-1], **turn}
        else:
            turns.append(turn)
    return {**body, "messages": [{key: one for key, one in turn.items() if one != ""} for turn in turns]}


def _named_result(body: Any) -> Any:
    """A function's answer under one name."""

    def change(path: tuple[Any, ...], value: Any) -> Any:
        if path and path[-1] == "response":
            (value,) = value.values()
        return value

    return rewritten(body, change)


def _declared(body: Any) -> Any:
    """Gemini's functions in one way: the schema as JSON Schema has it, under one name, in a list of groups."""

    def change(path: tuple[Any, ...], value: Any) -> Any:
        if path and path[-1] == "type" and isinstance(value, str):
            return value.lower()
        if path == ("tools",) and isinstance(value, dict):
            return [value]
        return value

    names = {"parameters": "schema", "parameters_json_schema": "schema", "parametersJsonSchema": "schema"}
    return renamed(**names, function_declarations="functionDeclarations")(rewritten(body, change))


def _described(body: Any) -> Any:
    """A function that says nothing of itself says its name."""

    def change(_path: tuple[Any, ...], value: Any) -> Any:
        if isinstance(value, dict) and "schema" in value and not value.get("description"):
            return {**value, "description": value["name"]}
        return value

    return rewritten(body, change)


def _without_thoughts(body: Any) -> Any:
    """Parts that are thoughts, or nothing but an empty text."""

    def change(_path: tuple[Any, ...], value: Any) -> Any:
        is_void = isinstance(value, dict) and (value.get("thought") or value == {"text": ""})
        return DROP if is_void else value

    return rewritten(body, change)


def _without_blank(body: Any) -> Any:
    def change(_path: tuple[Any, ...], value: Any) -> Any:
        match value:
            case {"type": "text", "text": str(text)} if not text.strip():
                return DROP
        return value

    return rewritten(body, change)


def _trimmed(body: Any) -> Any:
    def change(path: tuple[Any, ...], value: Any) -> Any:
        return value.strip() if path and path[-1] == "content" and isinstance(value, str) else value

    return rewritten(body, change)


def _trimmed_system(body: Any) -> Any:
    return {**body, "system": body["system"].strip()} if "system" in body else body


def _without_auto(body: Any) -> Any:
    """A choice that is left to the model."""
    if body.get("tool_choice") in ("auto", {"type": "auto"}):
        body = {key: one for key, one in body.items() if key != "tool_choice"}
    if body.get("toolConfig") == {"functionCallingConfig": {"mode": "AUTO"}}:
        body = {key: one for key, one in body.items() if key != "toolConfig"}
    return body


def _images_inside(body: Any) -> Any:
    """An image beside a result as a part of that result."""
    last = body["messages"][-1]
    if isinstance(last["content"], str) or last["content"][-1]["type"] != "image":
        return body
    *blocks, result, image = last["content"]
    inside = result["content"]
    inside = [{"type": "text", "text": inside}] if isinstance(inside, str) else inside
    turn = {**last, "content": [*blocks, {**result, "content": [*inside, image]}]}
    return {**body, "messages": [*body["messages"][:-1], turn]}


class Known(NamedTuple):
    """A difference that is meant: done to both sides before they are compared.

    `requests` says of which, as a pattern of `api:tape`.
    """

    requests: str
    change: Callable[[Any], Any]
    reason: str


KNOWN: list[Known] = [
    Known("*", _parsed_arguments, "arguments are JSON text: spaces and line breaks in it say nothing"),
    Known("*", without(of=None), "a member that is null says as much as one that is not there"),
    Known("*test_multimodal*", _images_inside, "they put an image beside the result; here it stays a part of it"),
    Known("*", _plain_text, "text by itself and a list with one block of text are the same to every provider"),
    Known("*", _without_auto, "that the model may choose is what every provider takes for granted"),
    Known("*", without("strict", "strict_tools"), "a schema is held strictly where it can be; there a setting says so"),
    Known("openai*", _numbered, "servers gave no ids, or others than the recorded program sent back"),
    Known("openai:llm/test_tools_streaming*", _one_turn, "they made two turns of one, the first of them empty"),
    Known("openai:*test_multiple_agent*", _trimmed, "space around a text of another provider says nothing"),
    Known("openai-responses:*", without("id", "status"), "items go back as they came; they make new ones"),
    Known("openai-responses:*", without("type", of="message"), "an item with a role is a message"),
    Known("openai-responses:*", without("store"), "nothing is kept at the provider here; they leave it to its default"),
    Known("openai-responses:*", without("description", "instructions", of=""), "nothing said, and said so"),
    Known("anthropic:*", without("is_error", of=False), "is_error is false where nobody says it"),
    Known("anthropic:*", without("temperature"), "the API of today knows none, though older models took one"),
    Known("anthropic:llm-anthropic/*", without("caller"), "the block goes back as it came; they leave out who called"),
    Known("anthropic:llm-anthropic/*", _without_blank, "they send a text of one space, which says nothing"),
    Known("anthropic:*test_multiple_parallel*", _trimmed_system, "space around the instructions says nothing"),
    Known("cohere:*", without("tool_plan"), "the plan goes back, as the API wants it; they leave it out"),
    Known("cohere:*", without("additionalProperties"), "Cohere takes no additionalProperties in a strict schema"),
    Known("gemini:*", renamed(function_call="functionCall", function_response="functionResponse"), "its old names"),
    Known("gemini:*", _declared, "schemas go out as JSON Schema; they translate them, or name the member otherwise"),
    Known("gemini:*", _described, "a function must say something of itself: its name at least"),
    Known("gemini:*", _without_thoughts, "what the model thought goes back as it came; they leave it out"),
    Known("gemini:*", without("id"), "Gemini gave no ids: theirs are made up, and the order says the same"),
    Known("gemini:*", _plain_base64, "base64 has two alphabets, and both are read"),
    Known("gemini:*", _named_result, "a result that is not an object stands under a name that everybody chooses"),
    Known("gemini:*", without("allowedFunctionNames"), "that a function must be called allows each that is declared"),
    Known("gemini:*", without("generationConfig", of={}), "an empty configuration says nothing"),
]


def form_of(request: str, body: Any, known: list[Known]) -> Any:
    """A body as it is compared."""
    for one in known:
        if fnmatch.fnmatchcase(request, one.requests):
            body = one.change(body)
    return body


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = [f"{path}.{key}: only ours: {ours[key]!r:.200}" for key in ours.keys() - theirs.keys()]
        found += [f"{path}.{key}: only theirs: {theirs[key]!r:.200}" for key in theirs.keys() - ours.keys()]
        for key in sorted(ours.keys() & theirs.keys()):
            found += differences(ours[key], theirs[key], f"{path}.{key}")
        return found
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            said
            for at, (one, other) in enumerate(zip(ours, theirs, strict=True))
            for said in differences(one, other, f"{path}[{at}]")
        ]
    same = ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)
    return [] if same else [f"{path}: ours {ours!r:.300}, theirs {theirs!r:.300}"]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, tapes: Any, judged: Callable[[str, Any], None]) -> Callable[..., Any]:
    """`await play(tape)`: what the bridges send while the tape is played back to them, one pair a request."""
    import httpx2

    for name in KEYS:
        monkeypatch.setenv(name, "a-key-of-nobody")
    for name in BASES:
        monkeypatch.delenv(name, raising=False)

    async def play_one(tape: Any) -> list[tuple[str, Any, Any]]:
        sent: list[tuple[str, Any]] = []

        async def answer(_: Any, request: httpx2.Request) -> httpx2.Response:
            exchange = tape.exchanges[len(sent)]
            sent.append((str(request.url), json.loads(await request.aread())))
            content, media = tapes.as_asked(exchange, streamed="alt=sse" in str(request.url))
            return httpx2.Response(exchange.status, headers={"content-type": media}, content=content)

        monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", answer)
        await _talk(tapes, tape)
        assert len(sent) == len(tape.exchanges)
        for url, body in sent:
            judged(urlsplit(url).path, body)
        return [(url, body, exchange) for (url, body), exchange in zip(sent, tape.exchanges, strict=True)]

    return play_one


async def _talk(tapes: Any, tape: Any) -> None:
    """Ask as the recorded program did, and answer calls as its tools did."""
    conversation = Conversation()
    wish, asked = None, None
    for exchange in tape.exchanges:
        if exchange.api != asked:
            wish, asked = tapes.wish_of(exchange), exchange.api
        results = tapes.results_of(exchange) if conversation.open_calls else []
        if results:
            conversation = conversation.add(Message("tool", results=_named(conversation.open_calls, results)))
        else:
            conversation = Conversation(wish.system, conversation.messages).ask(wish.question)
        conversation = conversation.add((await _ask(tapes, exchange, wish, conversation)).message)


def _named(calls: tuple[ToolCall, ...], results: list[ToolResult]) -> tuple[ToolResult, ...]:
    import attrs

    return tuple(attrs.evolve(result, id=call.id, name=call.name) for call, result in zip(calls, results, strict=True))


async def _ask(tapes: Any, exchange: Any, wish: Any, conversation: Conversation) -> Reply:
    api = exchange.api
    base = tapes.base_of(exchange.url)
    section = {} if base is None else {"base_url": base}
    plugin = api.partition("-")[0]
    async with open_host({"plugins": {plugin: section}}) as host, open_model(host, f"{api}:{wish.model}") as model:
        request = ModelRequest(
            conversation,
            model.dialect.export(wish.tools),
            wish.choice,
            stream=wish.stream,
            max_tokens=wish.max_tokens,
            temperature=None if api == "anthropic" else wish.temperature,
            options=wish.options,
        )
        async with model.respond(request) as stream:
            *_, reply = [piece async for piece in stream]
    assert isinstance(reply, Reply)
    return reply


@pytest.fixture
def compared(cassettes: list[Any]) -> list[Any]:
    """The tapes whose differences are known, as far as they are here."""
    found = [tape for tape in cassettes if tape.name in COMPARED]
    if not found:
        pytest.skip("none of the tapes is here whose differences are known")
    return found


async def test_every_request_says_what_the_recorded_one_says(compared: list[Any], play: Any) -> None:
    complaints = []
    needed: set[int] = set()
    for tape in compared:
        for url, ours, exchange in await play(tape):
            here, there = urlsplit(url), urlsplit(exchange.url)
            if (here.netloc, here.path) != (there.netloc, there.path):
                complaints.append(f"{tape.name}: went to {url}, not to {exchange.url}")
            name = f"{exchange.api}:{tape.name}"
            complaints += [f"{name}: {said}" for said in _compared(name, ours, exchange.body, KNOWN)]
            meant = (at for at, one in enumerate(KNOWN) if fnmatch.fnmatchcase(name, one.requests))
            for at in set(meant) - needed:
                if _compared(name, ours, exchange.body, [*KNOWN[:at], *KNOWN[at + 1 :]]):
                    needed.add(at)
    assert not complaints, "\n".join(complaints)
    if len(compared) == len(COMPARED):
        assert not [one.reason for at, one in enumerate(KNOWN) if at not in needed], "known, and nowhere to be seen"


def _compared(name: str, ours: Any, theirs: Any, known: list[Known]) -> list[str]:
    return differences(form_of(name, ours, known), form_of(name, theirs, known))


def test_all_tapes_are_here(cassettes: list[Any], pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--cassettes"):
        pytest.skip("another folder is named with --cassettes")
    assert {tape.name for tape in cassettes} == COMPARED
