"""A dialect on the wire: whole answers, streams, and every way in which they fail."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx2
import pytest
import trio

from pegboard import ErrorCode, TextContent, ToolCall
from pegboard_chat import CallDelta, Conversation, Message, ModelError, ModelRequest, Reply, Stop, TextDelta, Usage
from pegboard_chat.wire.faults import error_of, half_answer, read_json
from pegboard_chat.wire.http_model import HttpModel, Place
from pegboard_chat.wire.transport import open_transport

KEY = "sk-proj-Zx81kQ0aVbN3mT7yLwE5RdJ2"
EVENTS = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


class Words:
    """A dialect whose answers are `{"words": [...], "end": true}`, whole or one word an event."""

    name = "words"

    def body(self, request: ModelRequest, model: str) -> dict[str, Any]:
        return {"model": model, "stream": request.stream, "n": len(request.conversation.messages)}

    def read(self, answer: Any, request: ModelRequest, model: str) -> Reply:
        if "error" in answer:
            raise error_of("acme", None, json.dumps(answer))
        calls = [ToolCall(name, name, arguments) for name, arguments in answer.get("calls", {}).items()]
        return _reply("".join(answer["words"]), model, *calls)

    def reader(self, request: ModelRequest, model: str) -> EventReader:
        return EventReader(model)


class EventReader:
    def __init__(self, model: str) -> None:
        self._model = model
        self._text = ""
        self.done = False

    def feed(self, event: str, data: str) -> Iterable[TextDelta]:
        value = read_json("acme", data)
        if event == "error":
            raise error_of("acme", None, data)
        if value.get("end"):
            self.done = True
        for word in value["words"]:
            self._text += word
            yield TextDelta(word)

    def close(self) -> Reply:
        if not self.done:
            raise half_answer("acme")
        return _reply(self._text, self._model)


def _reply(text: str, model: str, *calls: ToolCall) -> Reply:
    return Reply(Message("assistant", (TextContent(text),), calls, model=model), calls, Usage(), Stop.END)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, pieces: list[Any], closed: list[int]) -> None:
        self._pieces = pieces
        self._closed = closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            if piece is None:
                await trio.sleep_forever()
            else:
                yield piece

    async def aclose(self) -> None:
        self._closed.append(1)


@contextlib.asynccontextmanager
async def model_that_gets(
    *pieces: Any, status: int = 200, headers: dict[str, str] = EVENTS, seen: list[httpx2.Request] | None = None
) -> AsyncIterator[HttpModel]:
    def handle(request: httpx2.Request) -> httpx2.Response:
        if seen is not None:
            seen.append(request)
        return httpx2.Response(status, headers=headers, stream=_Body(list(pieces), closed))

    closed: list[int] = []
    place = Place(
        "acme",
        "m1",
        lambda model, stream: f"https://acme.example/{model}/{'live' if stream else 'whole'}",
        {"authorization": f"Bearer {KEY}"},
        key=KEY,
        key_variable="ACME_KEY",
    )
    async with open_transport(http=httpx2.MockTransport(handle), tries=1, timeout_s=30) as transport:
        yield HttpModel("acme:m1", Words(), transport, place)  # type: ignore[arg-type]  # enough of a dialect
    assert closed or status != 200


def ask(*, stream: bool = True) -> ModelRequest:
    return ModelRequest(Conversation().ask("hello"), stream=stream)


async def said_by(model: HttpModel, *, stream: bool = True) -> list[Any]:
    async with model.respond(ask(stream=stream)) as said:
        return [one async for one in said]


async def failing(model: HttpModel, *, stream: bool = True) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await said_by(model, stream=stream)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert KEY not in repr(caught.value)
    assert KEY not in json.dumps(caught.value.to_json())
    return caught.value


def event(value: Any, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(value).encode() + b"\n\n"


HEL, LO = event({"words": ["hel"]}), event({"words": ["l", "o"], "end": True})


async def test_a_whole_answer_is_the_reply_alone() -> None:
    seen: list[httpx2.Request] = []
    async with model_that_gets(b'{"words": ["a", "b"]}', headers=JSON, seen=seen) as model:
        (reply,) = await said_by(model, stream=False)
    assert (reply.message.text, reply.message.model) == ("ab", "acme:m1")
    assert seen[0].url.path == "/m1/whole"
    assert json.loads(seen[0].content) == {"model": "m1", "stream": False, "n": 1}


async def test_a_stream_is_its_deltas_and_then_the_reply() -> None:
    seen: list[httpx2.Request] = []
    async with model_that_gets(HEL, LO, seen=seen) as model:
        *deltas, reply = await said_by(model)
    assert deltas == [TextDelta("hel"), TextDelta("l"), TextDelta("o")]
    assert reply.message.text == "hello"
    assert seen[0].url.path == "/m1/live"


async def test_each_delta_is_passed_on_before_the_next_event_comes() -> None:
    async with model_that_gets(HEL, None) as model, model.respond(ask()) as said:
        assert await anext(said) == TextDelta("hel")


async def test_the_reply_comes_with_the_last_event_though_the_server_stays_on_the_line(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with model_that_gets(HEL, LO, None) as model:
        started = trio.current_time()
        async with model.respond(ask()) as said:
            *_, reply = [one async for one in said]
            assert trio.current_time() == started
        assert trio.current_time() - started < 0.1
    assert reply.message.text == "hello"


async def test_a_server_that_ignores_stream_is_read_whole() -> None:
    async with model_that_gets(b'{"words": ["a"], "calls": {"add": {"a": 1}}}', headers=JSON) as model:
        *deltas, reply = await said_by(model)
    assert deltas == [TextDelta("a"), CallDelta(0, "add", '{"a": 1}')]
    assert reply.message.text == "a"
    async with model_that_gets(b'{"words": []}', headers=JSON) as model:
        (reply,) = await said_by(model)


async def test_the_end_stays_the_end() -> None:
    async with model_that_gets(HEL, LO) as model, model.respond(ask()) as said:
        async for _ in said:
            pass
        assert [one async for one in said] == []


async def test_half_a_stream_is_half_an_answer() -> None:
    async with model_that_gets(HEL) as model:
        assert (await failing(model)).details["reason"] == "half_answer"
    async with model_that_gets(HEL, httpx2.ReadError("gone")) as model:
        assert (await failing(model)).details["reason"] == "half_answer"


async def test_a_stream_of_nothing_is_half_an_answer() -> None:
    async with model_that_gets() as model:
        assert (await failing(model)).details["reason"] == "half_answer"


@pytest.mark.parametrize("name", ["error", ""])
async def test_an_error_in_mid_stream_is_typed_and_hides_the_key(name: str) -> None:
    error = {"error": {"type": "overloaded_error", "message": f"too many for {KEY}"}}
    async with model_that_gets(HEL, event(error, "error")) as model:
        caught = await failing(model)
    assert caught.details["reason"] == "server"
    assert "too many for ***" in caught.message


async def test_an_error_under_200_is_typed_and_hides_the_key() -> None:
    body = json.dumps({"error": {"type": "invalid_api_key", "message": f"bad {KEY}"}}).encode()
    async with model_that_gets(body, headers=JSON) as model:
        caught = await failing(model, stream=False)
    assert caught.code is ErrorCode.UNAUTHORIZED
    assert "bad ***" in caught.message


async def test_a_wrong_key_names_what_to_set() -> None:
    async with model_that_gets(b'{"error": "no"}', status=401, headers=JSON) as model:
        caught = await failing(model)
    assert caught.details["reason"] == "wrong_key"
    assert "ACME_KEY" in caught.message


async def test_an_unknown_model_is_named() -> None:
    async with model_that_gets(b"{}", status=404, headers=JSON) as model:
        caught = await failing(model)
    assert caught.details["reason"] == "no_model"
    assert "'m1'" in caught.message


@pytest.mark.parametrize("data", [b"data: nonsense\n\n", b"data: {\n\n", b"data: \xff\n\n"])
async def test_an_event_that_is_not_json_is_an_error(data: bytes) -> None:
    async with model_that_gets(HEL, data) as model:
        assert (await failing(model)).details["reason"] in ("no_json", "half_answer")


@pytest.mark.parametrize("value", [[], {}, 5, None, {"words": 5}, {"words": [{}]}, {"words": [None]}, "text"])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_of_another_form_is_an_error(value: Any, stream: bool) -> None:
    headers = EVENTS if stream else JSON
    async with model_that_gets(event(value) if stream else json.dumps(value).encode(), headers=headers) as model:
        error = await failing(model, stream=stream)
    assert error.details["reason"] == "no_json"
    assert "form that is not known" in error.message


async def test_leaving_early_closes_the_answer() -> None:
    async with model_that_gets(HEL, None) as model, model.respond(ask()) as said:
        await anext(said)  # `model_that_gets` looks that it was closed


async def test_what_the_consumer_raises_passes() -> None:
    async def consume() -> None:
        async with model.respond(ask()) as said:
            await anext(said)
            raise KeyError("mine")

    async with model_that_gets(HEL, LO) as model:
        with pytest.raises(KeyError, match="mine"):
            await consume()


async def test_a_model_shows_no_key() -> None:
    async with model_that_gets(HEL, LO) as model:
        assert KEY not in repr(model)
        await said_by(model)
