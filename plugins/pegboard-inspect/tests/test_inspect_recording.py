"""What a page is told of calls: all of them in the counts, the newest in full, and nothing without bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pegboard import CallContext, tool
from pegboard_inspect import recording
from pegboard_inspect.recording import Recording


@tool(run="inplace", read_only=True)
def echo(text: str) -> str:
    """Say it again."""
    return text


@tool
async def outer(context: CallContext) -> str:
    """Call another one."""
    return (await context.call("echo", {"text": "inner"})).text


@tool(secrets=["THE_KEY"], run="inplace")
def keyed(text: str, context: CallContext) -> str:
    """Read a secret."""
    return context.secret("THE_KEY") + text


class Woken:
    """Counts how often it was woken."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


@pytest.fixture
def woken() -> Woken:
    return Woken()


async def test_a_batch_has_the_calls_nested_ones_with_their_parent(host_with: Any, woken: Woken) -> None:
    host = await host_with()
    host.add(echo, outer)
    heard = Recording(woken, lambda: 1000.0)
    stop = host.add_observer(heard)
    await host.session("ada").call("outer", id="the-outer")
    await host.session("ada").call("echo", {"text": 7})
    stop()
    batch = heard.take()
    json.dumps(batch)
    inner, above, wrong = batch["calls"]
    assert (inner["tool"], inner["parent_id"], inner["text"]) == ("echo", "the-outer", "inner")
    assert (above["tool"], above["status"], above["user_id"]) == ("outer", "ok", "ada")
    assert (wrong["status"], wrong["error"]) == ("error", "INVALID_INPUT")
    assert above["timings"]["execute"] > 0
    assert woken.times == 1
    assert heard.take()["calls"] == []


async def test_secrets_are_masked_as_in_the_audit(
    host_with: Any, woken: Woken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "hush-hush-1")
    host = await host_with()
    host.add(keyed)
    heard = Recording(woken, lambda: 1000.0)
    host.add_observer(heard)
    assert (await host.session().call("keyed", {"text": "it is hush-hush-1"})).ok
    assert "hush" not in json.dumps(heard.take())


async def test_of_too_many_calls_the_newest_are_shown_and_all_are_counted(
    host_with: Any, woken: Woken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_HELD", 50)
    monkeypatch.setattr(recording, "MAX_SHOWN", 20)
    host = await host_with()
    host.add(echo)
    heard = Recording(woken, lambda: 1000.0)
    host.add_observer(heard)
    session = host.session()
    for number in range(70):
        await session.call("echo", {"text": str(number)})
    batch = heard.take()
    assert [row["text"] for row in batch["calls"]] == [str(number) for number in range(50, 70)]
    assert batch["skipped"] == 50


async def test_a_call_that_takes_long_is_shown_before_it_ends(host_with: Any, woken: Woken) -> None:
    moment = 1000.0
    heard = Recording(woken, lambda: moment)
    host = await host_with()
    host.add(echo)
    session = host.session("ada")
    call = type("Call", (), {"id": "one", "name": "echo"})()
    number = heard.begin(call, session, echo, None)
    assert heard.take()["running"] == []
    moment += 1
    assert [(row["tool"], row["user_id"]) for row in heard.take()["running"]] == [("echo", "ada")]
    assert number == 0


async def test_counts_are_of_the_last_minute(host_with: Any, woken: Woken, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    moment = 5000.0
    monkeypatch.setattr(time, "time", lambda: moment)
    host = await host_with()
    host.add(echo)
    heard = Recording(woken, lambda: moment)
    host.add_observer(heard)
    session = host.session()
    await session.call("echo", {"text": "a"})
    await session.call("echo", {})
    counts = heard.take()["counts"]
    assert (counts["calls"], counts["errors"], len(counts["per_second"])) == (2, 1, 60)
    assert counts["per_second"][-1] == 2
    assert counts["slowest"][0]["tool"] == "echo"
    assert counts["p50_ms"] is not None
    moment += 61
    assert (heard.take()["counts"]["calls"], heard.take()["counts"]["p50_ms"]) == (0, None)
