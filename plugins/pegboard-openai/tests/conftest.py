"""What the tests of pegboard-openai share: tools, requests, streams, and a server that says what it is told."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

from pegboard import Tool, ToolCall, ToolResult, tool
from pegboard_chat import Conversation, Message, ModelRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable


@tool(read_only=True)
def roll_dice(notation: str, times: int = 1) -> str:
    """Roll dice.

    Args:
        notation: such as 2d6.
        times: how often.
    """
    return f"{notation} x {times}"


@tool(read_only=True)
def now() -> str:
    """Say what time it is."""
    return "noon"


@pytest.fixture
def tools() -> list[Tool]:
    """A tool of this board's own, one without parameters, and one with a name and a schema that no provider takes."""

    async def handler(**arguments: Any) -> str:
        return json.dumps(arguments)

    open_ended = Tool(
        name="files.read/all",
        handler=handler,
        description="Read.",
        input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": True},
    )
    return [roll_dice, now, open_ended]


@pytest.fixture
def ask(tools: list[Tool]) -> Callable[..., ModelRequest]:
    """`ask(dialect, **request)`: a request of one question that offers the tools."""

    def make(dialect: Any, text: str = "Roll 2d6.", **options: Any) -> ModelRequest:
        options.setdefault("conversation", Conversation("Be brief.").ask(text))
        options.setdefault("export", dialect.export(tools))
        return ModelRequest(**options)

    return make


@pytest.fixture
def stream() -> Callable[..., tuple[list[Any], Any]]:
    """`stream(reader, chunks, done=True)`: the deltas of a stream, and its reply."""

    def run(reader: Any, chunks: Iterable[Any], *, done: bool = True) -> tuple[list[Any], Any]:
        deltas: list[Any] = []
        for chunk in chunks:
            event = chunk.get("type", "") if isinstance(chunk, dict) else ""
            deltas += reader.feed(event if isinstance(event, str) else "", json.dumps(chunk))
        if done:
            deltas += reader.feed("", "[DONE]")
        return deltas, reader.close()

    return run


@pytest.fixture
def conversation_of() -> Callable[..., Conversation]:
    """`conversation_of(reply, *results)`: a question, that reply, and results for each of its calls."""

    def make(reply: Any, *results: ToolResult) -> Conversation:
        stamped = [
            attrs.evolve(result, id=call.id, name=call.name)
            for call, result in zip(reply.message.calls, results, strict=True)
        ]
        conversation = Conversation("Be brief.").ask("Roll 2d6.").add(reply.message)
        return conversation.add(Message("tool", results=tuple(stamped))) if stamped else conversation

    return make


@pytest.fixture
def foreign() -> Conversation:
    """A conversation that another provider had: two calls, one of them broken, an error, and an answer."""
    calls = (
        ToolCall("toolu_01" + "x" * 60, "roll_dice", {"notation": "2d6"}),
        ToolCall("b", "a tool/of old", {"INVALID_JSON": '{"path": '}),
    )
    failed = ToolResult.error("INVALID_INPUT", "no JSON: it ends too early")
    results = (
        attrs.evolve(ToolResult.text("7"), id=calls[0].id, name=calls[0].name),
        attrs.evolve(failed, id="b", name=calls[1].name),
    )
    turn = Message("assistant", ToolResult.text("Let me see.").content, calls, raw=[{"type": "thinking"}])
    return (
        Conversation("Be brief.")
        .ask("Roll 2d6.")
        .add(attrs.evolve(turn, dialect="anthropic", model="anthropic:claude"))
        .add(Message("tool", results=results))
        .add(Message("assistant", ToolResult.text("It is 7.").content, dialect="anthropic", raw=[]))
        .ask("Thanks. Again?")
    )


class FakeServer:
    """An HTTP server on loopback: each path has one answer; what was asked is kept."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str, bytes]] = {}
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def says(self, path: str, answer: Any, status: int = 200) -> None:
        self.answers[path] = (status, "application/json", json.dumps(answer).encode())

    def streams(self, path: str, text: str) -> None:
        self.answers[path] = (200, "text/event-stream", text.encode())

    async def serve(self, connection: trio.SocketStream) -> None:
        import h11

        async with connection:
            peer = h11.Connection(h11.SERVER)
            request, body = None, b""
            while True:
                event = peer.next_event()
                if event is h11.NEED_DATA:
                    try:
                        peer.receive_data(await connection.receive_some(65536))
                    except trio.BrokenResourceError:
                        return
                elif isinstance(event, h11.Request):
                    request, body = event, b""
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    await self._answer(peer, connection, request, body)
                    return
                else:
                    return

    async def _answer(self, peer: Any, connection: trio.SocketStream, request: Any, body: bytes) -> None:
        import h11

        path = request.target.decode()
        headers = {name.decode(): value.decode() for name, value in request.headers}
        self.asked.append((path, headers, json.loads(body) if body else None))
        status, media, answer = self.answers.get(path, (404, "application/json", b'{"error": {"message": "no"}}'))
        said = [("content-type", media), ("content-length", str(len(answer))), ("connection", "close")]
        await connection.send_all(peer.send(h11.Response(status_code=status, headers=said)))
        await connection.send_all(peer.send(h11.Data(data=answer)) + peer.send(h11.EndOfMessage()))


@pytest.fixture
async def server(nursery: Any) -> AsyncIterator[FakeServer]:
    """A `FakeServer` that listens."""
    fake = FakeServer()
    listeners = await nursery.start(partial(trio.serve_tcp, fake.serve, 0, host="127.0.0.1"))
    fake.port = listeners[0].socket.getsockname()[1]
    yield fake
    nursery.cancel_scope.cancel()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of whoever runs the tests gets into them, from the environment or the keyring."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MISTRAL_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pegboard_chat.wire.keys._ask_keyring", lambda service, variable: None)
