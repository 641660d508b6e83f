"""Recorded traffic: each recorded answer is played back, and the next request must say what the recorded one says.

The requests were recorded from other libraries, and differ from ours where they decided otherwise. Every such
difference stands in `KNOWN`, with its reason: what is not in it fails, and so does what is in it and not to be seen.
"""

from __future__ import annotations

import base64
import fnmatch
import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from pegboard import ToolCall, ToolResult, open_host
from pegboard_chat import Conversation, Message, ModelRequest, Reply, open_model

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Members of these names left out, wherever they are; `of`: only those of this value."""

    def change(path: tuple[Any, ...], value: Any) -> Any:
        return DROP if path and path[-1] in keys and (of is DROP or value == of) else value

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


def _results_together(body: Any) -> Any:
    """A function's answer by itself, under whatever name it stands."""

    def change(path: tuple[Any, ...], value: Any) -> Any:
        if path and path[-1] == "response":
            (value,) = value.values()
        return value

    return rewritten(body, change)


def _small_types(body: Any) -> Any:
    def change(path: tuple[Any, ...], value: Any) -> Any:
        return value.lower() if path and path[-1] == "type" and isinstance(value, str) else value

    return rewritten(body, change)


class Known(NamedTuple):
    """A difference that is meant: done to both sides before they are compared."""

    tapes: str
    change: Callable[[Any], Any]
    reason: str


KNOWN: list[Known] = [
    Known("*", _parsed_arguments, "arguments are JSON text: spaces and line breaks in it say nothing"),
]


def forms_of(tape: str, body: Any, known: list[Known]) -> Any:
    """A body as it is compared."""
    for one in known:
        if fnmatch.fnmatchcase(tape, one.tapes):
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

    from pegboard_chat.wire import transport

    for name in KEYS:
        monkeypatch.setenv(name, "a-key-of-nobody")
    for name in BASES:
        monkeypatch.delenv(name, raising=False)

    async def play_one(tape: Any) -> list[tuple[str, Any, Any]]:
        sent: list[tuple[str, Any]] = []

        def answer(request: httpx2.Request) -> httpx2.Response:
            exchange = tape.exchanges[len(sent)]
            sent.append((str(request.url), json.loads(request.content)))
            content, media = tapes.as_asked(exchange, streamed="alt=sse" in str(request.url))
            return httpx2.Response(exchange.status, headers={"content-type": media}, content=content)

        carried = partial(transport.open_transport, http=httpx2.MockTransport(answer))
        monkeypatch.setattr(transport, "open_transport", carried)
        await _talk(tapes, tape)
        assert len(sent) == len(tape.exchanges)
        for url, body in sent:
            judged(urlsplit(url).path, body)
        return [(url, body, exchange) for (url, body), exchange in zip(sent, tape.exchanges, strict=True)]

    return play_one


async def _talk(tapes: Any, tape: Any) -> None:
    """Ask as the recorded program did, and answer calls as its tools did."""
    conversation = Conversation()
    asked = None
    for at, exchange in enumerate(tape.exchanges):
        wish = tapes.wish_of(exchange if at == 0 or tapes.api_of(exchange.url) != asked else tape.exchanges[0])
        results = tapes.results_of(exchange) if conversation.open_calls else []
        if results:
            conversation = conversation.add(Message("tool", results=_named(conversation.open_calls, results)))
        else:
            conversation = Conversation(wish.system, conversation.messages).ask(wish.question)
        asked = tapes.api_of(exchange.url)
        conversation = conversation.add((await _ask(tapes, exchange, wish, conversation)).message)


def _named(calls: tuple[ToolCall, ...], results: list[ToolResult]) -> tuple[ToolResult, ...]:
    import attrs

    return tuple(attrs.evolve(result, id=call.id, name=call.name) for call, result in zip(calls, results, strict=True))


async def _ask(tapes: Any, exchange: Any, wish: Any, conversation: Conversation) -> Reply:
    api = tapes.api_of(exchange.url)
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
            temperature=wish.temperature,
            options=wish.options,
        )
        async with model.respond(request) as stream:
            *_, reply = [piece async for piece in stream]
    assert isinstance(reply, Reply)
    return reply


async def test_every_request_says_what_the_recorded_one_says(cassettes: list[Any], play: Any) -> None:
    complaints = []
    needed: set[int] = set()
    for tape in cassettes:
        for url, ours, exchange in await play(tape):
            here, there = urlsplit(url), urlsplit(exchange.url)
            if (here.netloc, here.path) != (there.netloc, there.path):
                complaints.append(f"{tape.name}: went to {url}, not to {exchange.url}")
            theirs = exchange.body
            found = differences(forms_of(tape.name, ours, KNOWN), forms_of(tape.name, theirs, KNOWN))
            complaints += [f"{tape.name}: {said}" for said in found]
            for at in set(range(len(KNOWN))) - needed:
                others = [*KNOWN[:at], *KNOWN[at + 1 :]]
                if differences(forms_of(tape.name, ours, others), forms_of(tape.name, theirs, others)):
                    needed.add(at)
    assert not complaints, "\n".join(complaints)
    assert not [one.reason for at, one in enumerate(KNOWN) if at not in needed], "known, and nowhere to be seen"


def test_all_tapes_are_here(cassettes: list[Any]) -> None:
    assert len(cassettes) == 22
