"""What is promised of a call to a worker: each line of the table in the README has its test here."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

import pegboard_nats.plugin
from pegboard import CallContext, ErrorCode, Host, SourceState, TextContent, ToolResult, open_host, tool
from pegboard import trace as traces
from pegboard_nats import calls, known, wire
from pegboard_nats.mailbox import NoRespondersError
from pegboard_nats.settings import NatsSettings
from pegboard_nats.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from conftest import NatsServer

    from pegboard import Tool


@tool(read_only=True)
async def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@contextlib.asynccontextmanager
async def hosting(server: NatsServer, group: str, *, expect: Sequence[str] = (), **more: Any) -> AsyncIterator[Host]:
    """A host that has the group's tools on its board."""
    config = {"plugins": {"nats": {"servers": [server.url], "groups": {group: {}}, **more}}}
    async with open_host(config, [pegboard_nats.plugin]) as host:
        await offers(host, *expect)
        yield host


@contextlib.asynccontextmanager
async def called(host: Host, name: str, started: trio.Event) -> AsyncIterator[list[ToolResult]]:
    """A call that has begun to run; its result is there when the block is over."""
    results: list[ToolResult] = []

    async def ask() -> None:
        results.append(await host.session().call(name))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        with trio.fail_after(30):
            await started.wait()
        yield results


async def offers(host: Host, *names: str) -> None:
    with trio.fail_after(30):
        while not set(names) <= set(host.tools):
            await host.wait_source_moved()


async def ready(host: Host, group: str) -> None:
    with trio.fail_after(30):
        while host.board.source_states[f"nats:{group}"][0] is not SourceState.READY:
            await host.wait_source_moved()


async def test_a_tool_of_a_worker_is_called_as_any_other(nats_server: NatsServer, group: str, working: Any) -> None:
    async with working(nats_server, group, add), hosting(nats_server, group, expect=["add"]) as host:
        result = await host.session().call("add", {"a": 1, "b": 2})
        assert (result.ok, result.data) == (True, {"result": 3.0})
        wrong = await host.session().call("add", {"a": "x", "b": 2})
        assert wrong.error is not None
        assert wrong.error.code is ErrorCode.INVALID_INPUT
        shown = host.tools["add"]
        assert (shown.read_only, shown.origin.source) == (True, f"nats:{group}")
        assert shown.fingerprint == add.fingerprint


async def test_names_of_tools_may_hold_what_subjects_may_not(nats_server: NatsServer, group: str, working: Any) -> None:
    @tool(name="a.b *>é ~%2E")
    async def odd() -> str:
        """Have an odd name."""
        return "odd"

    async with working(nats_server, group, odd), hosting(nats_server, group, expect=[odd.name]) as host:
        assert (await host.session().call(odd.name)).text == "odd"


async def test_who_calls_and_the_trace_come_along(nats_server: NatsServer, group: str, working: Any) -> None:
    heard: list[Any] = []

    @tool
    async def who(context: CallContext) -> str:
        """Say who calls."""
        heard.append(
            (context.session.user_id, context.session.channel, context.call_id, dict(traces.carrier.get() or {}))
        )
        return "said"

    parent = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    async with working(nats_server, group, who), hosting(nats_server, group, expect=["who"]) as host:
        with traces.following({"traceparent": parent}):
            assert (await host.session("Ada\r\nPb-User: Eve ☃").call("who", id="7\n")).ok
        assert (await host.session("").call("who", id="8")).ok
    assert [one[:2] for one in heard] == [("Ada\r\nPb-User: Eve ☃", "nats"), (None, "nats")]
    assert (heard[0][3], heard[1][3]) == ({"traceparent": parent}, {})
    assert heard[1][2] == "8"


async def test_what_a_tool_fails_with_comes_back(nats_server: NatsServer, group: str, working: Any) -> None:
    @tool
    async def fail() -> str:
        """Fail."""
        raise ValueError("a secret of the worker")

    async with working(nats_server, group, fail), hosting(nats_server, group, expect=["fail"]) as host:
        result = await host.session().call("fail")
        assert result.error is not None
        assert result.error.code is ErrorCode.INTERNAL_ERROR
        assert "secret" not in json.dumps(result.to_json())


async def test_progress_and_questions_reach_the_caller(nats_server: NatsServer, group: str, working: Any) -> None:
    @tool
    async def careful(context: CallContext) -> dict[str, Any]:
        """Ask."""
        await context.progress(1, 2, "half")
        sure = await context.confirm("Sure?")
        form = await context.elicit("Who?", schema={"type": "object", "properties": {"name": {"type": "string"}}})
        return {"sure": sure, "form": dict(form) if form else form}

    asked: list[str] = []
    told: list[Any] = []

    async def person(confirmation: Any) -> Any:
        asked.append(confirmation.question)
        return {"name": "Ada"} if confirmation.schema is not None else True

    async def progress(*said: Any) -> None:
        told.append(said[1:])

    async with working(nats_server, group, careful), hosting(nats_server, group, expect=["careful"]) as host:
        session = host.session(confirm=person, on_progress=progress)
        result = await session.call("careful")
        assert result.data == {"sure": True, "form": {"name": "Ada"}}
        assert asked == ["Sure?", "Who?"]
        assert told == [(1, 2, "half")]
        alone = await host.session().call("careful")
        assert alone.error is not None
        assert alone.error.details["reason"] == "confirmation"


async def test_what_a_person_approved_is_not_asked_again_by_the_worker(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    @tool(requires_confirmation=True)
    async def drop() -> str:
        """Drop all."""
        return "dropped"

    asked: list[Any] = []

    async def person(confirmation: Any) -> Any:
        asked.append(confirmation)
        return "session"

    async with working(nats_server, group, drop), hosting(nats_server, group, expect=["drop"]) as host:
        session = host.session(confirm=person)
        for _ in range(3):
            assert (await session.call("drop")).text == "dropped"
        assert len(asked) == 1
        refused = await host.session().call("drop")
        assert refused.error is not None
        assert refused.error.details["reason"] == "confirmation"


async def test_a_result_larger_than_a_message_comes_whole_and_paged(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    @tool
    async def large(size: int) -> str:
        """Be large."""
        return "é" * size

    async with working(nats_server, group, large), hosting(nats_server, group, expect=["large"]) as host:
        session = host.session()
        fits = await session.call("large", {"size": 40_000})  # above 64 KiB, below the host's limit
        assert fits.text == "é" * 40_000
        paged = await session.call("large", {"size": 300_000})
        assert paged.error is None, paged.error
        cut = (paged.details or {})["cut"]
        pages = [await session.call("read_result", {"id": cut["id"], "page": n + 1}) for n in range(cut["pages"])]
        texts = [one.content[0].text for one in pages if isinstance(one.content[0], TextContent)]
        assert "".join(texts) == "é" * 300_000


async def test_arguments_that_are_too_large_are_refused_before_they_are_sent(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    @tool
    async def length(text: str) -> int:
        """Measure."""
        return len(text)

    async with working(nats_server, group, length), hosting(nats_server, group, expect=["length"]) as host:
        result = await host.session().call("length", {"text": "x" * 65_000})
        assert result.ok or (result.error and result.error.details["reason"] == "size")
        result = await host.session().call("length", {"text": "x" * 65_530})
        assert result.error is not None
        assert (result.error.code, result.error.details["executed"]) == (ErrorCode.INVALID_INPUT, False)
        assert (await host.session().call("length", {"text": "x"})).data == {"result": 1}


# -- nobody there, busy, lost


async def test_where_nobody_is_there_nothing_is_executed_and_it_is_asked_again(
    nats_server: NatsServer, group: str, monkeypatch: pytest.MonkeyPatch, working: Any
) -> None:
    monkeypatch.setattr(calls, "ASK_AGAIN_S", 0.3)
    async with working(nats_server, group, add) as worker, hosting(nats_server, group, expect=["add"]) as host:
        worker.drain()
        await worker.wait_over()
        result = await host.session().call("add", {"a": 1, "b": 2})
        assert result.error is not None
        assert (result.error.code, result.error.details["executed"]) == (ErrorCode.UPSTREAM_ERROR, False)
        assert "no worker" in result.error.message
        monkeypatch.setattr(calls, "ASK_AGAIN_S", 30)
        async with trio.open_nursery() as nursery:  # one comes while it is asked again
            results: list[ToolResult] = []

            async def ask() -> None:
                results.append(await host.session().call("add", {"a": 1, "b": 2}))

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            async with working(nats_server, group, add):
                with trio.fail_after(30):
                    while not results:
                        await trio.sleep(0.01)
            assert results[0].ok


async def test_a_worker_that_is_busy_says_so_and_another_one_does_it(
    nats_server: NatsServer, group: str, monkeypatch: pytest.MonkeyPatch, working: Any
) -> None:
    go, started = trio.Event(), trio.Event()
    count = 0

    @tool
    async def hold() -> str:
        """Hold a place."""
        nonlocal count
        count += 1
        if count == 2:
            started.set()
        await go.wait()
        return "held"

    monkeypatch.setattr(calls, "ASK_AGAIN_S", 0.2)
    async with (
        working(nats_server, group, hold, concurrency=1),
        working(nats_server, group, hold, concurrency=1),
        hosting(nats_server, group, expect=["hold"]) as host,
        trio.open_nursery() as nursery,
    ):
        results: list[ToolResult] = []

        async def ask() -> None:
            results.append(await host.session().call("hold"))

        monkeypatch.setattr(calls, "ASK_AGAIN_S", 30)
        nursery.start_soon(ask)
        nursery.start_soon(ask)
        with trio.fail_after(30):
            await started.wait()
        monkeypatch.setattr(calls, "ASK_AGAIN_S", 0.2)
        third = await host.session().call("hold")
        assert third.error is not None
        assert (third.error.code, third.error.details["executed"]) == (ErrorCode.RATE_LIMITED, False)
        assert third.error.details["reason"] == "busy"
        go.set()
        with trio.fail_after(30):
            while len(results) < 2:
                await trio.sleep(0.01)
        assert [one.text for one in results] == ["held", "held"]
        assert count == 2


WORKER = """
import sys, time, trio
import pegboard_nats.plugin
from pegboard import open_host, tool
from pegboard_nats import wire
from pegboard_nats.client import Servers, open_client
from pegboard_nats.settings import NatsSettings
from pegboard_nats.worker import Worker

def note(text):
    with open(sys.argv[3], "a") as file:
        file.write(text + "\\n")

@tool
async def change(name: str) -> str:
    note("change " + name)
    await trio.sleep_forever()

@tool(idempotent=True)
async def again(name: str) -> str:
    note("again " + name)
    await trio.sleep_forever()

async def main():
    async with open_host({}, []) as host, open_client(Servers(urls=(sys.argv[1],))) as client:
        host.add(change, again)
        worker = Worker(host, client, wire.Subjects("pb", sys.argv[2]), concurrency=9, drain_s=9)
        async with trio.open_nursery() as nursery:
            await nursery.start(worker.run)
            note("ready")
            await trio.sleep_forever()

trio.run(main)
"""


async def wait_line(file: Path, line: str, count: int = 1) -> None:
    with trio.fail_after(60):
        while not file.exists() or file.read_text().split("\n").count(line) < count:
            await trio.sleep(0.02)


@contextlib.contextmanager
def worker_process(server: NatsServer, group: str, file: Path) -> Any:
    process = subprocess.Popen([sys.executable, "-c", WORKER, server.url, group, str(file)])
    try:
        yield process
    finally:
        process.kill()
        process.wait(30)


async def test_a_worker_that_is_killed_leaves_the_outcome_unknown_at_once(
    nats_server: NatsServer, group: str, tmp_path: Path
) -> None:
    """Within `alive_s`, and not at the deadline; what may be done twice is done once more by another one."""
    file = tmp_path / "log"
    results: dict[str, ToolResult] = {}

    async with hosting(nats_server, group, alive_s=0.2) as host, trio.open_nursery() as nursery:

        async def ask(name: str) -> None:
            results[name] = await host.session().call(name, {"name": "x"}, timeout_s=60)

        with worker_process(nats_server, group, file) as first:
            await wait_line(file, "ready")
            await offers(host, "change", "again")
            nursery.start_soon(ask, "change")
            await wait_line(file, "change x")
            first.kill()
            with trio.fail_after(30):
                while "change" not in results:
                    await trio.sleep(0.01)
        error = results["change"].error
        assert error is not None
        assert error.code is ErrorCode.OUTCOME_UNKNOWN
        assert "its worker is gone" in error.message

        with worker_process(nats_server, group, file) as second:
            await wait_line(file, "ready", 2)
            nursery.start_soon(ask, "again")
            await wait_line(file, "again x")
            with worker_process(nats_server, group, file):
                await wait_line(file, "ready", 3)
                second.kill()
                await wait_line(file, "again x", 2)
        with trio.fail_after(30):
            while "again" not in results:
                await trio.sleep(0.01)
        error = results["again"].error
        assert error is not None
        assert (error.code, error.details["retry"]) == (ErrorCode.UPSTREAM_ERROR, "same")
    assert file.read_text().count("change x") == 1
    assert file.read_text().count("again x") == 2


async def test_a_link_that_is_lost_leaves_the_outcome_unknown(start_server: Any, group: str, working: Any) -> None:
    server = start_server()
    started = trio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        started.set()
        await trio.sleep_forever()
        return ""

    async with working(server, group, slow), hosting(server, group, expect=["slow"]) as host:
        async with called(host, "slow", started) as results:
            server.kill()
        assert results[0].error is not None
        assert results[0].error.code is ErrorCode.OUTCOME_UNKNOWN


async def test_a_result_that_got_lost_is_found_out(nats_server: NatsServer, group: str, working: Any) -> None:
    """The worker is alive and does not know of the call any more: waiting for the deadline would be for nothing."""

    def forget(self: Worker, reply: str, result: ToolResult) -> Any:
        return trio.lowlevel.checkpoint()

    @tool
    async def change() -> str:
        """Change."""
        return "done"

    async with working(nats_server, group, change) as worker:
        worker._send_result = forget.__get__(worker)  # type: ignore[method-assign]
        async with hosting(nats_server, group, expect=["change"], alive_s=0.1) as host:
            result = await host.session().call("change", timeout_s=60)
    assert result.error is not None
    assert result.error.code is ErrorCode.OUTCOME_UNKNOWN


async def test_who_cancels_a_call_ends_it_at_the_worker(nats_server: NatsServer, group: str, working: Any) -> None:
    started, ended = trio.Event(), trio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        started.set()
        try:
            await trio.sleep_forever()
        finally:
            ended.set()
        return ""

    async with working(nats_server, group, slow), hosting(nats_server, group, expect=["slow"]) as host:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(host.session().call, "slow")
            with trio.fail_after(30):
                await started.wait()
            nursery.cancel_scope.cancel()
        with trio.fail_after(30):
            await ended.wait()


async def test_the_deadline_of_the_caller_is_that_of_the_worker(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    ended = trio.Event()

    @tool(timeout_s=0.2)
    async def slow() -> str:
        """Take long."""
        try:
            await trio.sleep_forever()
        finally:
            ended.set()
        return ""

    async with working(nats_server, group, slow), hosting(nats_server, group, expect=["slow"]) as host:
        result = await host.session().call("slow")
        assert result.error is not None
        assert result.error.code is ErrorCode.TIMEOUT
        with trio.fail_after(30):
            await ended.wait()


async def test_a_worker_that_drains_finishes_its_calls_and_takes_no_more(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    go, started = trio.Event(), trio.Event()

    @tool
    async def hold() -> str:
        """Hold on."""
        started.set()
        await go.wait()
        return "finished"

    async with working(nats_server, group, hold) as worker, hosting(nats_server, group, expect=["hold"]) as host:
        async with called(host, "hold", started) as results:
            worker.drain()
            async with linked(nats_server) as outsider:
                with trio.fail_after(30), contextlib.suppress(NoRespondersError):
                    while True:
                        await outsider.request(wire.Subjects("pb", group).call("hold"), timeout_s=5)
            go.set()
        assert results[0].text == "finished"
        with trio.fail_after(30):
            await worker.wait_over()


async def test_calls_that_are_on_their_way_to_a_worker_that_drains_are_not_lost(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    """Whichever of the two gets them, all are done, and none twice."""
    done: Counter[str] = Counter()

    @tool
    async def count(name: str) -> str:
        """Count."""
        done[name] += 1
        await trio.sleep(0)
        return name

    results: list[ToolResult] = []
    async with working(nats_server, group, count) as first, working(nats_server, group, count):
        async with hosting(nats_server, group, expect=["count"]) as host, trio.open_nursery() as nursery:

            async def ask(name: str) -> None:
                results.append(await host.session().call("count", {"name": name}))

            for number in range(120):
                nursery.start_soon(ask, str(number))
                if number == 40:
                    await trio.sleep(0)
                    first.drain()
                if number % 20 == 0:
                    await trio.lowlevel.checkpoint()
        with trio.fail_after(30):
            await first.wait_over()
    assert [one.error for one in results if one.error] == []
    assert len(done) == 120
    assert set(done.values()) == {1}


async def test_what_does_not_end_within_drain_s_is_unknown(nats_server: NatsServer, group: str, working: Any) -> None:
    started = trio.Event()

    @tool
    async def forever() -> str:
        """Never end."""
        started.set()
        await trio.sleep_forever()
        return ""

    async with (
        working(nats_server, group, forever, drain_s=0.1) as worker,
        hosting(nats_server, group, expect=["forever"]) as host,
    ):
        async with called(host, "forever", started) as results:
            worker.drain()
        assert results[0].error is not None
        assert results[0].error.code is ErrorCode.OUTCOME_UNKNOWN
        assert "worker had to end" in results[0].error.message


# -- what is offered


async def test_a_tool_that_reports_more_than_is_heard_is_not_lost(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    """Reports piled up, and the call was said to be lost; whoever is told slowly hears of the newest."""
    count = 100_000

    @tool
    async def walk(context: CallContext) -> str:
        """Take many steps."""
        for number in range(count):
            await context.progress(number + 1, count)
        return "done"

    heard: list[float] = []

    async def progress(call_id: str, done: float, total: float | None, text: str | None) -> None:
        heard.append(done)
        await trio.testing.wait_all_tasks_blocked()

    async with working(nats_server, group, walk), hosting(nats_server, group, expect=["walk"]) as host:
        result = await host.session(on_progress=progress).call("walk")
    assert result.text == "done"
    assert heard == sorted(heard)
    assert heard[-1] == count


async def test_whoever_accepts_what_a_group_offers_waits_until_it_was_looked_at(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    """`pegboard lock` compared what was known of the last time, and said that the group could not be asked."""

    @tool
    async def act() -> str:
        """Act."""
        return "done"

    async with working(nats_server, group, act):
        async with hosting(nats_server, group, expect=["act"]):
            pass
        config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
        async with open_host(config, [pegboard_nats.plugin]) as host:
            (source,) = (one for _, one in host.board.sources)
            with trio.fail_after(30):
                for _ in range(2):
                    await source.wake()  # type: ignore[attr-defined]
            assert host.board.source_states[f"nats:{group}"] == (SourceState.READY, None)


async def test_what_a_group_offered_is_known_before_anybody_is_asked(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    """`pegboard list` starts no worker and waits for none."""
    from pegboard import load_board

    async with working(nats_server, group, add), hosting(nats_server, group, expect=["add"]):
        pass
    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
    board = load_board(config, [pegboard_nats.plugin])
    assert board.tools["add"].fingerprint == add.fingerprint
    (status,) = board.source_statuses()
    assert (status.state, status.tools) == ("known", 1)
    elsewhere = {"plugins": {"nats": {"servers": ["nats://elsewhere:1"], "groups": {group: {}}}}}
    assert dict(load_board(elsewhere, [pegboard_nats.plugin]).tools) == {}
    async with working(nats_server, group, add), open_host(config, [pegboard_nats.plugin]) as host:
        assert (await host.session().call("add", {"a": 1, "b": 2})).ok  # at once, the link comes meanwhile

    (path,) = known.user_folder("cache").joinpath("nats").glob(f"{group}-*.json")
    for broken in (
        b"",
        b"{",
        b"[" * 10_000,
        b'{"format": 1, "tools": [1, {}, {"definition": 7}, {"definition": {"name": 1}}]}',
    ):
        path.write_bytes(broken)
        assert dict(load_board(config, [pegboard_nats.plugin]).tools) == {}


async def test_tools_come_and_go_with_the_board_of_the_worker(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    @tool
    async def late() -> str:
        """Come late."""
        return "late"

    async with working(nats_server, group, add) as worker, hosting(nats_server, group, expect=["add"]) as host:
        board: Host = worker.host  # type: ignore[attr-defined]
        board.add(late)
        await offers(host, "late")
        assert (await host.session().call("late")).text == "late"
        board.remove("add")
        with trio.fail_after(30):
            while "add" in host.tools:
                await host.wait_source_moved()


async def test_hosts_ask_their_groups_alone_and_each_thing_once(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    """A system would drown in its own questions otherwise (benchmarks/scale.py)."""
    heard: Counter[str] = Counter()

    def note(message: Any) -> None:
        words = message.subject.removeprefix(f"pb.{group}.").split(".")
        heard[words[0]] += 1

    async with linked(nats_server) as client:
        for subject in ("$SRV.>", f"pb.{group}.service.>", f"pb.{group}.definitions.>"):
            client.subscribe(subject, note)
        await client.flush()
        async with working(nats_server, group, add), hosting(nats_server, group, expect=["add"]) as host:
            await ready(host, group)
            settings = NatsSettings(servers=(nats_server.url,))
            with trio.fail_after(30):
                while known.read(known.path_of(group, settings)) is None:  # what is offered is kept once it is shown
                    await trio.lowlevel.checkpoint()
            await client.flush()
            asked = heard["service"]
            assert heard == {"service": asked, "definitions": 1}
            said = trio.Event()
            client.subscribe(f"pb.{group}.changed", lambda message: said.set())
            await client.flush()
            async with working(nats_server, group, add), hosting(nats_server, group, expect=["add"]) as other:
                with trio.fail_after(30):
                    await said.wait()
                await ready(other, group)
                await client.flush()
                # The first host did not look for the worker that said so, and the second knew what it would be told.
                assert heard == {"service": asked + 1, "definitions": 1}


async def test_definitions_that_nobody_can_tell_cost_those_tools_alone(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    @tool
    async def late() -> str:
        """Come late."""
        return "late"

    async with (
        linked(nats_server) as client,
        working(nats_server, group, add) as worker,
        hosting(nats_server, group, expect=["add"]) as host,
    ):
        await client.publish(f"pb.{group}.changed", wire.to_bytes({"id": "gone", "hash": "0" * 40}))
        worker.host.add(late)  # type: ignore[attr-defined]
        await offers(host, "late")
        await ready(host, group)


async def test_a_worker_with_another_definition_does_not_do_it(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    """What a person or the lock accepted is what is called; the other workers of the group do it."""
    done: list[str] = []

    def made(description: str) -> Tool:
        @tool(name="act", description=description)
        async def act() -> str:
            done.append(description)
            return description

        return act

    async with (
        working(nats_server, group, made("old")),
        working(nats_server, group, made("old")),
        hosting(nats_server, group, expect=["act"]) as host,
        working(nats_server, group, made("new")),
    ):
        for _ in range(10):
            assert (await host.session().call("act")).text == "old"
        assert done == ["old"] * 10


async def test_definitions_that_take_many_messages_come_whole(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    many = [tool(name=f"t{number:03}", description="x" * 1000)(add.handler) for number in range(200)]
    async with working(nats_server, group, *many), hosting(nats_server, group, expect=["t199"]) as host:
        assert len(host.tools) == 200
        assert (await host.session().call("t100", {"a": 1, "b": 1})).data == {"result": 2}


async def test_a_definition_that_no_message_can_hold_costs_that_tool_alone(
    nats_server: NatsServer, group: str, caplog: pytest.LogCaptureFixture, working: Any
) -> None:
    huge = tool(name="huge", description="x" * 70_000)(add.handler)
    async with working(nats_server, group, add, huge), hosting(nats_server, group, expect=["add"]) as host:
        assert set(host.tools) == {"add"}
    assert "the tool huge is not served" in caplog.text


async def test_two_groups_with_one_name_have_both(nats_server: NatsServer, working: Any) -> None:
    one, two = f"g{secrets.token_hex(6)}", f"g{secrets.token_hex(6)}"
    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {one: {}, two: {}}}}}
    async with (
        working(nats_server, one, add),
        working(nats_server, two, add),
        open_host(config, [pegboard_nats.plugin]) as host,
    ):
        with trio.fail_after(30):
            while len(host.tools) < 2:
                await host.wait_source_moved()
        assert set(host.tools) in ({"add", f"{one}_add"}, {"add", f"{two}_add"})


async def test_calls_that_go_round_in_circles_over_hosts_end(nats_server: NatsServer, group: str, linked: Any) -> None:
    """The worker is a host of its own group: each call is another one's call."""

    @tool
    async def loop(context: CallContext) -> str:
        """Call itself over NATS."""
        result = await context.call(f"{group}_loop")
        result.raise_for_error()
        return result.text

    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
    async with (
        open_host(config, [pegboard_nats.plugin]) as host,
        linked(nats_server) as client,
        trio.open_nursery() as nursery,
    ):
        host.add(loop)
        worker = Worker(host, client, wire.Subjects("pb", group), concurrency=64, drain_s=1)
        await nursery.start(worker.run)
        await offers(host, f"{group}_loop")
        with trio.fail_after(30):
            result = await host.session().call("loop")
        assert result.error is not None
        assert (result.error.code, result.error.details["reason"]) == (ErrorCode.FORBIDDEN, "depth")
        nursery.cancel_scope.cancel()


async def test_the_service_protocol_tells_who_is_there(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    """As the server's own tools ask it (ADR-32)."""
    async with working(nats_server, group, add) as worker, linked(nats_server) as client:
        told = {}
        for verb in ("PING", "INFO", "STATS"):
            answer = await client.request(f"$SRV.{verb}.pegboard.{worker.instance}", timeout_s=30)
            told[verb] = json.loads(answer.payload)
            assert told[verb]["type"] == f"io.nats.micro.v1.{verb.lower()}_response"
            assert (told[verb]["name"], told[verb]["id"]) == ("pegboard", worker.instance)
            assert told[verb]["metadata"]["group"] == group
        assert told["STATS"]["endpoints"][0]["num_requests"] == 0
        assert told["INFO"]["endpoints"][0]["queue_group"] == "workers"


async def test_a_board_without_groups_connects_to_nothing_and_imports_nothing() -> None:
    code = (
        "import sys, pegboard_nats.plugin\n"
        "from pegboard import load_board\n"
        "load_board({}, [pegboard_nats.plugin])\n"
        "print([one for one in ('trio', 'ssl', 'cryptography', 'pegboard_nats.client') if one in sys.modules])"
    )
    done = await trio.run_process([sys.executable, "-c", code], capture_stdout=True)
    assert done.stdout.strip() == b"[]"


# -- the program


async def test_the_program_serves_until_sigterm_and_loses_nothing(
    nats_server: NatsServer, group: str, tmp_path: Path
) -> None:
    config = tmp_path / "worker.toml"
    config.write_text(f'[plugins.nats]\nservers = ["{nats_server.url}"]\n')
    command = [sys.executable, "-m", "pegboard", "--config", str(config), "--plugin", "nats", "--plugin", "calculator"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    process = await trio.lowlevel.open_process(
        [*command, "worker", "--group", group], stderr=subprocess.PIPE, env=environment
    )
    async with process.stderr, hosting(nats_server, group, expect=["calculator"]) as host:
        result = await host.session().call("calculator", {"expression": "2+3"})
        assert result.ok
        process.send_signal(signal.SIGTERM)
        with trio.fail_after(60):
            assert await process.wait() == 0
        assert b"serving 1 tool in the group" in await process.stderr.receive_some()


@pytest.mark.parametrize("name", ["", "a.b", "a*", "é", "x" * 65])
def test_a_group_that_is_no_word_of_a_subject_is_refused(name: str) -> None:
    from pegboard import ConfigError, load_board

    with pytest.raises(ConfigError, match="groups"):
        load_board({"plugins": {"nats": {"groups": {name: {}}}}}, [pegboard_nats.plugin])


@pytest.mark.parametrize("how", ["drained", "killed"])
async def test_a_person_is_asked_as_long_as_the_worker_is_there(
    nats_server: NatsServer, group: str, working: Any, how: str
) -> None:
    """A question whose worker is gone kept the call until its deadline."""
    asked, given_up = trio.Event(), trio.Event()

    @tool(timeout_s=600)
    async def sure(context: CallContext) -> str:
        return str(await context.confirm("Sure?"))

    async def confirm(question: Any) -> Any:
        asked.set()
        try:
            await trio.sleep_forever()
        finally:
            given_up.set()

    results: list[ToolResult] = []
    async with hosting(nats_server, group) as host, trio.open_nursery() as nursery:
        async with working(nats_server, group, sure, drain_s=0.05) as worker:
            await offers(host, "sure")

            async def call() -> None:
                results.append(await host.session(confirm=confirm).call("sure", {}, timeout_s=60))

            nursery.start_soon(call)
            with trio.fail_after(30):
                await asked.wait()
                if how == "drained":
                    worker.drain()
                    await worker.wait_over()
        with trio.fail_after(10):
            await given_up.wait()
    assert results[0].error is not None
    assert results[0].error.code is ErrorCode.OUTCOME_UNKNOWN
