"""A real process that asks back while its tool runs, through a real host: what it hears, and what a person sees."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from pegboard import open_host
from pegboard_mcp import plugin

SERVER = Path(__file__).parent / "servers" / "asking.py"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ELICIT = {"method": "elicitation/create", "params": {"message": "Who are you?", "requestedSchema": FORM}}
SAMPLE = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5},
}


@pytest.fixture
async def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server = {
        "command": sys.executable,
        "args": ["-S", "-E", "-B", str(SERVER)],
        "timeout": 5,
        "request_timeout": 5,
        "roots": ["/srv/data"],
    }
    with trio.fail_after(20):
        async with open_host({"plugins": {"mcp": {"servers": {"asking": server}}}}, [plugin]) as host:
            await host.wait_for_sources("ask")
            yield host


async def asked(session: Any, *requests: Any, tell: Any = ()) -> Any:
    result = await session.call("ask", {"ask": list(requests), "tell": list(tell)})
    assert result.ok, result
    return json.loads(result.text)


async def test_a_server_knows_what_it_may_ask(host: Any) -> None:
    said = json.loads((await host.session().call("capabilities")).text)
    assert set(said) >= {"sampling", "elicitation", "roots"}
    assert set(said["elicitation"]) == {"form", "url"}


async def test_a_person_is_asked_and_the_server_hears_the_answer(host: Any) -> None:
    shown = []

    async def confirm(confirmation: Any) -> Any:
        shown.append((confirmation.question, confirmation.url, confirmation.tool.name))
        return {"name": "Ada"} if confirmation.schema else True

    async def sampler(request: Any) -> Any:
        return {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}

    session = host.session(confirm=confirm)
    session.sampler = sampler
    url = {"method": "elicitation/create"}
    url["params"] = {"mode": "url", "message": "Log in", "url": "https://a.example/", "elicitationId": "1"}  # type: ignore[assignment]
    form, page, answer, roots = await asked(session, ELICIT, url, SAMPLE, {"method": "roots/list"})
    assert form == {"action": "accept", "content": {"name": "Ada"}}
    assert page == {"action": "accept"}
    assert answer["content"] == {"type": "text", "text": "hello"}
    assert roots == {"roots": [{"uri": "file:///srv/data", "name": "data"}]}
    assert shown[0] == ("The server 'asking' asks: Who are you?", None, "ask")
    assert shown[1][1] == "https://a.example/"
    assert "'asking' asks your model" in shown[2][0]


async def test_a_call_has_its_time_while_a_person_thinks_about_what_its_server_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server = {"command": sys.executable, "args": ["-S", "-E", "-B", str(SERVER)], "request_timeout": 5}

    async def confirm(confirmation: Any) -> Any:
        mock_clock.jump(8)  # no time goes by else: the server is a real one
        await trio.testing.wait_all_tasks_blocked(0.05)
        return {"name": "Ada"} if confirmation.schema else True

    async def sampler(request: Any) -> Any:
        return {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}

    async with open_host({"plugins": {"mcp": {"servers": {"asking": server}}}}, [plugin]) as host:
        await host.wait_for_sources("ask")
        session = host.session(confirm=confirm)
        session.sampler = sampler
        form, answer = await asked(session, ELICIT, SAMPLE)
    assert form == {"action": "accept", "content": {"name": "Ada"}}
    assert answer["content"]["text"] == "hello"


async def test_without_anybody_there_a_server_is_declined_and_goes_on(host: Any) -> None:
    form, answer = await asked(host.session(), ELICIT, SAMPLE)
    assert form == {"action": "decline"}
    assert answer["code"] == -32601


async def test_of_two_users_neither_is_asked_for_the_other(host: Any) -> None:
    shown: list[str | None] = []
    answers: list[str] = []

    async def confirm(confirmation: Any) -> Any:
        shown.append(confirmation.session.user_id)
        return {"name": "me"}

    async def call(user_id: str) -> None:
        (form,) = await asked(host.session(user_id=user_id, confirm=confirm), ELICIT)
        answers.append(form["action"])

    async with trio.open_nursery() as nursery:  # the server runs one after the other, and both are in flight at first
        nursery.start_soon(call, "ada")
        nursery.start_soon(call, "bob")
    assert answers == ["decline", "accept"]
    assert len(shown) == 1


async def test_what_a_server_tells_is_logged_and_is_progress(host: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pegboard.mcp.server")
    heard = []

    async def on_progress(call_id: str, done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    tell = [
        {"method": "notifications/message", "params": {"level": "notice", "logger": "db", "data": {"rows": 3}}},
        {"method": "notifications/progress", "params": {"progress": 1, "total": 2, "message": "half\u202e"}},
        {"method": "notifications/progress", "params": {"progress": 2, "total": 2}},
    ]
    await asked(host.session(on_progress=on_progress), tell=tell)
    assert heard == [(1, 2, "half"), (2, 2, None)]
    with trio.fail_after(20):
        while not any(record.name == "pegboard.mcp.server.asking.db" for record in caplog.records):
            await trio.sleep(0.01)
    (record,) = [record for record in caplog.records if record.name == "pegboard.mcp.server.asking.db"]
    assert (record.levelno, record.message) == (logging.INFO, '{"rows": 3}')
