"""What a server that is inspected alone asks of its client, answered by hand: over the page's requests, and in a real
browser by the real program.
"""

from __future__ import annotations

import gc
import json
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from pegboard import CallContext, open_host, tool

pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
import pegboard_mcp.plugin as mcp
from pegboard_inspect.asked_page import MAX_CHARS, MAX_WAITING, Asked, asked_here
from pegboard_inspect.one_server import board_of_server, page_of_asked
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.settings import McpSettings

pytestmark = [
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("swept"),
]

SERVER = Path(__file__).parent / "servers" / "authored.py"
ERAS = {"legacy": [], "modern": ["modern"]}
SAMPLING = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 10, "odd": [None]}
FORM = {
    "message": "Who are you?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
ASKS = [("sampling/createMessage", SAMPLING), ("elicitation/create", FORM), ("roots/list", None)]
SAID = {
    "role": "assistant",
    "content": {"type": "text", "text": "Hello"},
    "model": "by-hand",
    "extra": 12345678901234567890,
}
FITS = {
    "sampling/createMessage": SAID,
    "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
    "roots/list": {"roots": [{"uri": "file:///here"}]},
}


@pytest.fixture
def swept() -> Iterator[None]:
    """What a client left open is found in the test that used it."""
    yield
    gc.collect()


def command(folder: Path, *words: str) -> str:
    return shlex.join([sys.executable, "-S", str(SERVER), str(folder), *words])


@pytest.fixture
def alone(visiting: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`async with alone(*words) as it:` what `pegboard inspect --server` serves; `it.asked` are the requests that the
    page was told of, and `it.answer(...)` answers one."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))

    @asynccontextmanager
    async def look(*words: str, server: str | None = None, **options: Any) -> AsyncIterator[Any]:
        board = board_of_server(server or command(tmp_path, *words), **options)
        page = page_of_asked(board)
        async with open_host(board) as host, visiting(host, pages=[page]) as it, trio.open_nursery() as nursery:
            visit, send, asked = await it.enter(), *trio.open_memory_channel[Any](100)
            heard = trio.Event()

            async def watch() -> None:
                address = f"{visit.base}api/pages/asked/watch"
                async with visit.client.stream(
                    "POST", address, json={"value": None}, headers=visit.headers
                ) as answered:
                    async for line in answered.aiter_lines():
                        if (said := json.loads(line))["kind"] == "said":
                            heard.set()
                            for one in said["value"]["asked"]:
                                await send.send(one)

            async def answer(key: str, answer: Any, status: int = 200) -> Any:
                text = answer if isinstance(answer, str) else json.dumps(answer)
                got = await visit.post("pages/asked/answer", {"value": {"key": key, "text": text}})
                assert got.status_code == status, got.text
                return got.json()

            nursery.start_soon(watch)
            await heard.wait()
            await host.wait_for_sources()
            yield SimpleNamespace(host=host, visit=visit, asked=asked, answer=answer, nursery=nursery)
            nursery.cancel_scope.cancel()

    return look


async def called(it: Any, method: str, params: Any, answer: Any, name: str = "ask") -> Any:
    """The result of a call that asks that, and is answered so."""
    results: list[Any] = []

    async def call() -> None:
        arguments = {"method": method, **({} if params is None else {"params": params})} if name == "ask" else {}
        results.append((await it.visit.call(name, arguments))[-1]["result"])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        asked = await it.asked.receive()
        assert asked["method"] == method
        assert asked["params"] == params or name != "ask"
        assert 0 < asked["left_s"] <= 300
        await it.answer(asked["key"], answer)
    await it.answer(asked["key"], answer, 409)  # it is asked once
    return results[0]


@tool
async def whoami(context: CallContext) -> dict[str, Any]:
    """Ask who is there."""
    return {"is": await context.elicit("Who are you?", schema=FORM["requestedSchema"])}


@pytest.mark.parametrize(
    ("transport", "era"),
    [("http", "legacy"), ("http", "modern"), ("sse", "legacy"), ("websocket", "legacy"), ("websocket", "modern")],
)
async def test_a_server_is_answered_over_whatever_it_is_reached_by(
    alone: Any, host_with: Any, transport: str, era: str
) -> None:
    served = await host_with(mcp)
    served.add(whoami)
    async with trio.open_nursery() as nursery:
        where = {"transport": transport, "bind": "127.0.0.1", "port": 0}
        url = await nursery.start(partial(serve_http, served, **where, user_id=None, settings=McpSettings()))
        async with alone(server=url, transport=transport, protocol=era) as it:
            answer = {"result": FITS["elicitation/create"]}
            result = await called(it, "elicitation/create", None, answer, name="whoami")
            assert result["data"] == {"is": {"name": "Ada"}}
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("words", ERAS.values(), ids=ERAS)
async def test_a_request_is_shown_as_it_came_and_answered_as_it_is_written(alone: Any, words: list[str]) -> None:
    async with alone(*words) as it:
        for method, params in ASKS:
            result = await called(it, method, params, {"result": FITS[method]})
            told = json.loads(result["content"][0]["text"])
            got = told["answers"]["one"] if words else told["result"]
            assert got == FITS[method]
            assert not words or told["state"] == "kept"
        refused = await called(it, *ASKS[0], {"error": {"code": -1, "message": "I would rather not"}})
        if words:  # an answer of this era has no place for an error: the call fails by it
            assert "I would rather not" in refused["error"]["message"]
        else:
            assert json.loads(refused["content"][0]["text"])["error"]["message"] == "I would rather not"


async def test_what_is_no_answer_is_refused_in_words_and_asked_still(alone: Any) -> None:
    async with alone() as it:
        it.nursery.start_soon(it.visit.call, "ask", {"method": "roots/list"})
        key = (await it.asked.receive())["key"]
        for wrong, why in [
            ("{", "not JSON"),
            ("[]", "expected a JSON object"),
            ({}, "expected a result"),
            ({"result": []}, "expected a result"),
            ({"error": {"code": True, "message": "x"}}, "expected a result"),
            ({"result": {}, "error": {}}, "expected a result"),
        ]:
            assert why in (await it.answer(key, wrong, 409))["problem"]
        await it.answer(key, {"result": {"roots": []}})


async def test_what_is_asked_outside_of_any_call_is_answered_too(alone: Any, tmp_path: Path) -> None:
    async with alone("early") as it:
        asked = await it.asked.receive()
        assert (asked["method"], asked["params"]) == ("roots/list", None)
        await it.answer(asked["key"], {"result": {"roots": [{"uri": "file:///early"}]}})
        assert (await it.visit.call("add", {"a": 1, "b": 2}))[-1]["result"]["ok"]  # it reads one line after the other
        assert "file:///early" in (tmp_path / "answered").read_text()


async def test_what_nobody_answers_in_time_is_answered_for_them(alone: Any) -> None:
    async with alone(overrides={"approval_timeout_s": 0.2}) as it:
        for method, params in ASKS:
            arguments = {"method": method, **({} if params is None else {"params": params})}
            result = (await it.visit.call("ask", arguments))[-1]["result"]
            told = json.loads(result["content"][0]["text"])
            if method == "elicitation/create":
                assert told["result"] == {"action": "cancel"}
            else:
                assert told["error"] == {"code": -1, "message": "nobody answered in time"}


async def test_the_person_of_the_call_in_flight_is_asked_whose_deadlines_stand_still(autojump_clock: Any) -> None:
    asked = Asked(300)
    questions: list[str] = []

    async def elicit(question: str, **wanted: Any) -> Any:  # `CallContext.elicit`, by way of the session's person
        questions.append(question)
        waiting = asked_here.get()
        assert waiting is not None
        return await waiting.wait_answered()

    assert await asked.ask({"method": "roots/list", "params": None}, elicit) is None
    assert questions == ["The server asks roots/list"]
    assert asked_here.get() is None
    assert trio.current_time() == pytest.approx(300, abs=1)


async def test_of_too_many_and_too_long_ones_nobody_is_asked(autojump_clock: Any) -> None:
    asked = Asked(300)
    too_long = await asked.ask({"method": "roots/list", "params": {"x": "y" * MAX_CHARS}}, None)
    assert too_long is not None
    assert "a person is shown 1,000,000" in too_long["error"]["message"]
    async with trio.open_nursery() as nursery:
        for _ in range(MAX_WAITING):
            nursery.start_soon(asked.ask, {"method": "roots/list", "params": None}, None)
        await trio.testing.wait_all_tasks_blocked()
        refused = await asked.ask({"method": "roots/list", "params": None}, None)
        assert refused is not None
        assert "wait for a person already" in refused["error"]["message"]
        nursery.cancel_scope.cancel()
