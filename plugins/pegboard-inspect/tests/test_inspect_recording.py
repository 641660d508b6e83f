"""What a page is told of calls: all of them in the counts, the newest in full, and nothing without bounds."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import CallContext, Outcome, open_host, tool
from pegboard_inspect import elsewhere, recording
from pegboard_inspect.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

    from pegboard_audit import CallRecord


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


async def test_of_too_many_calls_those_that_went_wrong_are_shown_first(
    host_with: Any, woken: Woken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_SHOWN", 4)
    host = await host_with()
    host.add(echo)
    heard = Recording(woken, lambda: 1000.0)
    host.add_observer(heard)
    for number in range(20):
        await host.session().call("echo", {"text": str(number)} if number not in (3, 9) else {})
    batch = heard.take()
    assert [row["error"] or row["text"] for row in batch["calls"]] == ["INVALID_INPUT", "INVALID_INPUT", "18", "19"]
    assert batch["skipped"] == 16


async def test_a_call_that_takes_long_is_shown_before_it_ends(host_with: Any, woken: Woken) -> None:
    moment, wall = 1000.0, 5000.0
    heard = Recording(woken, lambda: wall, elapsed=lambda: moment)
    host = await host_with()
    host.add(echo)
    session = host.session("ada")
    call = type("Call", (), {"id": "one", "name": "echo"})()
    number = heard.begin(call, session, echo, None)
    assert heard.take()["running"] == []
    moment, wall = moment + 1, wall - 86_400  # the clock is set back meanwhile: it still takes a second
    batch = heard.take()
    assert [(row["tool"], row["user_id"]) for row in batch["running"]] == [("echo", "ada")]
    assert batch["now"] - batch["running"][0]["started_at"] == 1
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


@pytest.mark.parametrize("step_s", [-86_400, -3_600, 3_600])
async def test_counts_are_of_the_last_minute_after_the_clock_was_set(
    host_with: Any, woken: Woken, monkeypatch: pytest.MonkeyPatch, step_s: int
) -> None:
    import time

    moment = 500_000.0
    monkeypatch.setattr(time, "time", lambda: moment)
    host = await host_with()
    host.add(echo)
    heard = Recording(woken, lambda: moment)
    host.add_observer(heard)
    await host.session().call("echo", {"text": "a"})
    assert heard.take()["counts"]["calls"] == 1
    moment += step_s
    assert heard.take()["counts"]["calls"] == 0
    moment -= step_s
    assert heard.take()["counts"]["calls"] == 0, "what was forgotten does not come again"


@pytest.mark.parametrize("step_s", [0, -86_400, -3_600, 3_600])
async def test_calls_of_other_programs_are_heard_after_the_clock_was_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, step_s: int
) -> None:
    audit = pytest.importorskip("pegboard_audit", reason="pegboard-audit is not installed")
    since = 500_000.0
    before, after = (
        SimpleNamespace(seq=1, started_at=since - 1),
        SimpleNamespace(seq=2, started_at=since + step_s + 1),
    )
    clock = SimpleNamespace(time=lambda: since + step_s + 2)

    @contextlib.asynccontextmanager
    async def follow(query: Any, *, path: Path) -> Any:
        async def calls() -> Any:
            assert query.since is None
            for one in (before, after):
                yield one
            await trio.sleep_forever()

        async with contextlib.aclosing(calls()) as given:
            yield given

    reader = SimpleNamespace(last_seq=lambda: 0)
    monkeypatch.setattr(audit, "AuditReader", lambda path: contextlib.nullcontext(reader))
    monkeypatch.setattr(audit, "follow", follow)
    monkeypatch.setattr("pegboard_inspect.elsewhere.time", clock)
    heard: list[Any] = []
    async with trio.open_nursery() as nursery:

        def hear(one: Any) -> None:
            heard.append(one)
            if one is after:
                nursery.cancel_scope.cancel()

        nursery.start_soon(elsewhere.listen, tmp_path, since, hear, lambda problem: None)
    assert heard == ([before, after] if step_s < 0 else [after])


def record_of(outcome: Outcome, seq: int = 1) -> CallRecord:
    """The call as the audit has it."""
    audit = pytest.importorskip("pegboard_audit", reason="pegboard-audit is not installed")
    return audit.CallRecord(
        seq=seq,
        id=outcome.call.id[:200],
        started_at=outcome.started_at,
        duration_ms=round(outcome.duration_ms, 3),
        name=outcome.call.name,
        session=outcome.session.id,
        channel="cli",
        source=None if outcome.tool is None else str(outcome.tool.origin),
        status=outcome.status,
        code=None if outcome.result is None or outcome.result.error is None else outcome.result.error.code.value,
    )


STEPS = st.lists(st.sampled_from(["own", "other", "wrong", "written", "take"]), max_size=30)


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_each_call_is_told_once_however_the_audit_lags(outcomes: list[Outcome], steps: list[str]) -> None:
    fresh = iter(outcomes)
    heard = Recording(lambda: None, lambda: 1000.0, reads_audit=True)
    unwritten: list[Outcome] = []
    told: list[dict[str, Any]] = []
    own, others = [], []
    for step in [*steps, "written", "take"]:
        if step == "take":
            told += heard.take()["calls"]
        elif step == "written":
            for outcome in unwritten:
                heard.hear_elsewhere(record_of(outcome))
            unwritten = []
        elif step == "other":
            others.append(outcome := next(fresh))
            heard.hear_elsewhere(record_of(outcome))
        else:
            own.append(outcome := next(fresh))
            heard(outcome)
            unwritten.append(outcome)
    assert sorted(row["request_id"] for row in told) == sorted(one.call.id for one in [*own, *others])
    assert {row["request_id"] for row in told if row["elsewhere"]} == {one.call.id for one in others}
    json.dumps(told)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """Calls that ended, some of them wrong."""
    found: list[Outcome] = []

    async def main() -> None:
        async with open_host({"plugins": {}}, []) as host:
            host.add(echo)
            host.add_observer(found.append)
            for number in range(30):
                await host.session("ada").call("echo" if number % 3 else "nope", {"text": "a"})

    trio.run(main)
    return found


def test_calls_of_other_programs_are_counted_too(woken: Woken, outcomes: list[Outcome]) -> None:
    began = int(outcomes[0].started_at)
    heard = Recording(woken, lambda: began + 5, reads_audit=True)
    for outcome in outcomes:
        heard.hear_elsewhere(record_of(outcome))
    assert woken.times >= 1
    batch = heard.take()
    counts = batch["counts"]
    assert (counts["calls"], counts["errors"]) == (30, 10)
    assert [one["tool"] for one in counts["slowest"]] == ["echo"]
    assert batch["audit"] is None
    heard.say_of_audit(None)
    assert heard.take()["audit"] == {"problem": None}


def test_of_too_many_calls_elsewhere_the_newest_are_kept(
    woken: Woken, outcomes: list[Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_HELD", 5)
    heard = Recording(woken, lambda: 1000.0, reads_audit=True)
    for outcome in outcomes[:10]:
        heard.hear_elsewhere(record_of(outcome))
    batch = heard.take()
    assert [row["request_id"] for row in batch["calls"]] == [one.call.id for one in outcomes[5:10]]
    assert batch["skipped"] == 5
