"""`pegboard nats status`, and what it is made of: what workers count, and what of their word is believed."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import pegboard_nats.plugin
from pegboard import open_host, tool
from pegboard.cli._program import Program
from pegboard_nats import checks
from pegboard_nats.client import Servers, open_client
from pegboard_nats.mailbox import DeniedError, UnheardError
from pegboard_nats.source import find_workers
from pegboard_nats.stats import MAX_NAMED, SLOT_S, SLOTS, Stats
from pegboard_nats.status import groups_of

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import NatsServer


@tool
async def double(number: int) -> int:
    """Double it."""
    return 2 * number


@tool
async def fail() -> int:
    """Fail."""
    raise ValueError("a text of the caller")


@pytest.fixture
def working(working: Any) -> Any:
    """Workers that run seven calls at once."""
    return partial(working, concurrency=7)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`await run(url, *words)`: the program's status, stdout and stderr; `more` goes into `[plugins.nats]`."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))

    async def program(url: str, *words: str, more: str = "") -> tuple[int, str, str]:
        config = tmp_path / "named.toml"
        config.write_text(f"[plugins.nats]\nservers = [{json.dumps(url)}]\n{more}")
        args = ["--config", str(config), "--plugin", "nats", "nats", "status", *words]
        status = await trio.to_thread.run_sync(Program().run, args)
        return status, *capsys.readouterr()

    return program


# -- what a worker counts


def test_the_last_minute_is_told_and_what_was_before_is_not() -> None:
    stats = Stats(1000.0)
    stats.count("old", "TIMEOUT", 9.0, 1000.0)
    now = 1000.0 + SLOT_S * SLOTS
    for took_s in (0.1, 0.3):
        stats.count("new", None, took_s, now)
    recent = stats.data(now)["recent"]
    assert (recent["calls"], recent["failed"], recent["took_ms"], recent["longest_ms"]) == (2, 0, 400.0, 300.0)
    assert list(recent["tools"]) == ["new"]
    assert stats.data(now)["codes"] == {"TIMEOUT": 1}
    assert stats.endpoint()["num_requests"] == 3
    assert stats.data(now + 10 * SLOT_S * SLOTS)["recent"]["calls"] == 0


def test_a_worker_that_just_began_has_the_rate_of_its_own_time() -> None:
    stats = Stats(999.0)
    for _ in range(40):
        stats.count("one", None, 0.0, 1002.0)
    assert stats.data(1003.0)["recent"]["seconds"] == 4.0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 500), st.sampled_from("abc"), st.sampled_from([None, "TIMEOUT"]), st.floats(0, 9)))
)
def test_no_call_of_the_last_fifty_seconds_is_left_out(calls: list[tuple[float, str, str | None, float]]) -> None:
    stats = Stats(0.0)
    calls.sort(key=lambda one: one[0])
    now = calls[-1][0] if calls else 0.0
    for at, name, code, took_s in calls:
        stats.count(name, code, took_s, at)
    recent = stats.data(now)["recent"]
    surely = [one for one in calls if one[0] > now - SLOT_S * (SLOTS - 1)]
    perhaps = [one for one in calls if one[0] >= now - SLOT_S * SLOTS]
    assert len(surely) <= recent["calls"] <= len(perhaps)
    assert recent["calls"] == sum(one["calls"] for one in recent["tools"].values())
    assert 0 <= recent["seconds"] <= SLOT_S * SLOTS


def test_of_many_tools_the_worst_are_named() -> None:
    stats = Stats(0.0)
    for number in range(MAX_NAMED * 3):
        stats.count(f"t{number}", "TIMEOUT" if number == 5 else None, float(number), 1.0)
    named = list(stats.data(1.0)["recent"]["tools"])
    assert named[:2] == ["t5", f"t{MAX_NAMED * 3 - 1}"]
    assert len(named) == MAX_NAMED


# -- what is believed

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
PARTS = {
    "id": ANYTHING,
    "version": ANYTHING,
    "metadata": ANYTHING | st.fixed_dictionaries(dict.fromkeys(("group", "hash", "tools", "machine"), ANYTHING)),
    "endpoints": ANYTHING
    | st.lists(
        st.fixed_dictionaries(
            {"data": st.fixed_dictionaries({"running": ANYTHING, "codes": ANYTHING, "recent": ANYTHING})}
        )
    ),
}


@settings(deadline=None)
@given(st.lists(st.fixed_dictionaries({}, optional=PARTS), max_size=4))
def test_whatever_a_worker_says_is_told_as_json_within_bounds(answers: list[dict[str, Any]]) -> None:
    groups = groups_of(answers)
    assert sum(len(one.workers) for one in groups) == len(answers)
    assert len(json.dumps([one.to_json() for one in groups], allow_nan=False)) < 20_000
    for one in groups:
        assert one.differing == [worker for worker in one.workers if worker.hash != one.hashes[0][0]]


def test_what_hides_in_a_workers_words_is_taken_out() -> None:
    said = {"id": "x\x1b[2J\u200b", "metadata": {"group": "g", "machine": "m" * 9_000, "prefix": "pb"}}
    (one,) = groups_of([said])
    assert one.workers[0].instance.isprintable()
    assert len(one.workers[0].machine) == 100


# -- the program


async def test_status_shows_workers_their_calls_and_who_differs(
    nats_server: NatsServer, group: str, run: Any, working: Any
) -> None:
    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
    async with (
        working(nats_server, group, double) as usual,
        working(nats_server, group, double),
        open_host(config, [pegboard_nats.plugin]) as host,
    ):
        with trio.fail_after(30):
            while "double" not in host.tools:
                await host.wait_source_moved()
        for _ in range(4):
            assert (await host.session().call("double", {"number": 2})).ok
        async with working(nats_server, group, double, fail) as other:
            status, out, err = await run(nats_server.url, "--group", group)
            assert status == 0
            assert [line.split()[1] for line in out.splitlines()[1:4]].count(other.instance[:8]) == 1
            assert out.split("\n\n")[1].splitlines()[1].split()[:3] == [group, "double", "4"]
            assert f"the worker {other.instance}" in err
            assert "2 of 3 have" in err
            status, out, err = await run(nats_server.url, "--json")
            (shown,) = [one for one in json.loads(out)["groups"] if one["group"] == group]
            assert shown["differing"] == [other.instance]
            assert sorted(shown["definitions"].values()) == [1, 2]
            assert (shown["calls"], shown["failed"]) == (4, 0)
            assert shown["calls_per_s"] > 0
            assert {one["instance"] for one in shown["workers"]} > {usual.instance, other.instance}


async def test_a_call_that_fails_is_counted_and_its_text_is_not_told(
    nats_server: NatsServer, group: str, run: Any, working: Any
) -> None:
    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
    async with working(nats_server, group, fail), open_host(config, [pegboard_nats.plugin]) as host:
        with trio.fail_after(30):
            while "fail" not in host.tools:
                await host.wait_source_moved()
        await host.session().call("fail")
        _, out, _ = await run(nats_server.url, "--group", group, "--json")
        (shown,) = json.loads(out)["groups"]
        assert shown["tools"]["fail"]["failed"] == 1
        assert shown["workers"][0]["codes"] == {"INTERNAL_ERROR": 1}
        assert "text of the caller" not in out


async def test_a_source_tells_how_its_workers_do_and_asks_only_where_somebody_looks(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
    asked: list[str] = []
    async with (
        working(nats_server, group, double) as worker,
        open_client(Servers(urls=(nats_server.url,))) as watching,
        open_host(config, [pegboard_nats.plugin]) as host,
    ):
        watching.subscribe("$SRV.STATS.>", lambda message: asked.append(message.subject))
        with trio.fail_after(30):
            await watching.wait_connected()
            await watching.flush()
            while "double" not in host.tools:
                await host.wait_source_moved()
        ((_, source),) = host.board.sources
        assert not asked
        first = source.describe()  # type: ignore[attr-defined]
        assert (first.transport, first.status) == ("nats", {})
        with trio.fail_after(30):
            while not (details := source.describe()).status:  # type: ignore[attr-defined]
                await trio.sleep(0.02)
        assert details.status["workers"][0]["instance"] == worker.instance
        assert json.loads(json.dumps(details.to_json()))["status"]["group"] == group
        assert details.server["version"]


async def test_where_nobody_is_there_that_is_told(nats_server: NatsServer, group: str, run: Any) -> None:
    status, out, err = await run(nats_server.url, "--group", group)
    assert (status, out) == (1, "")
    assert f"no worker of the group {group!r} answers at {nats_server.url}" in err
    assert f"pegboard worker --group {group}" in err
    status, out, err = await run(nats_server.url, "--json", more=f"[plugins.nats.groups.{group}]\n")
    assert status == 1
    (shown,) = [one for one in json.loads(out)["groups"] if one["group"] == group]
    assert shown["workers"] == []


async def test_where_no_server_is_that_is_told(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CONNECT_S", 0.3)
    status, out, err = await run("nats://ada:secret@127.0.0.1:1")
    assert (status, out) == (1, "")
    assert "there is no link to NATS" in err
    assert "secret" not in err


@pytest.mark.parametrize("group", ["", "a b", "a.b", "\x1b[2J"])
async def test_a_group_that_is_none_is_refused(run: Any, group: str) -> None:
    status, _, err = await run("nats://127.0.0.1:1", "--group", group)
    assert status == 2
    assert "is not a name of a group" in err


async def test_workers_of_another_system_are_not_ours(
    nats_server: NatsServer, group: str, run: Any, working: Any
) -> None:
    async with working(nats_server, group, double, prefix="other"), working(nats_server, group, double) as ours:
        _, out, _ = await run(nats_server.url, "--group", group, "--json")
        assert [one["instance"] for one in json.loads(out)["groups"][0]["workers"]] == [ours.instance]


async def test_whom_the_server_lets_hear_no_answers_is_told_so(start_server: Any) -> None:
    """Else a silence would be taken for nobody being there."""
    server = start_server('authorization { users: [{ user: a, password: b, permissions: { subscribe: ["pb.>"] } }] }')
    url = server.url.replace("//", "//a:b@")
    async with open_client(Servers(urls=(url,))) as client, open_client(Servers(urls=(url,))) as early:
        with trio.fail_after(30):
            await early.wait_connected()
            with pytest.raises(UnheardError, match="does not let us hear answers"):
                await early.request("pb.x", timeout_s=30)
            await client.wait_connected()
            await client.flush()
            with pytest.raises(DeniedError, match="another role"):
                await find_workers(client, "STATS", "pb")
