"""`claims = true`: at most once, whoever sends a call again, and what became of it."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard_nats.plugin
from pegboard import CallContext, ErrorCode, open_host, tool
from pegboard.cli._program import Program
from pegboard_nats import claims, wire
from pegboard_nats.claims import ClaimedError, Claims, state_of
from pegboard_nats.client import Client
from pegboard_nats.mailbox import LinkLostError, Mailbox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from conftest import NatsServer

    from pegboard import Host, Tool


@pytest.fixture(autouse=True)
def _small_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MAX_BYTES", 1_000_000)


@contextlib.asynccontextmanager
async def hosting(server: NatsServer, group: str, *names: str) -> AsyncIterator[Host]:
    own = {"servers": [server.url], "prefix": group, "groups": {group: {}}, "claims": True, "alive_s": 0.3}
    async with open_host({"plugins": {"nats": own}}, [pegboard_nats.plugin]) as host:
        with trio.fail_after(30):
            while not set(names) <= set(host.tools):
                await host.wait_source_moved()
        yield host


@pytest.fixture
def working(working: Any, group: str) -> Any:
    """Workers of a system of the test's own: its group is the prefix as well."""
    return partial(working, prefix=group, concurrency=7, drain_s=1)


async def send(
    client: Client, group: str, one: Tool, name: str, arguments: Any = None, user: str = "ada"
) -> dict[str, Any]:
    """Send a call as a bot does that knows nothing of what was sent before; its result."""
    headers = {wire.FINGERPRINT: one.fingerprint, wire.CLAIM: name, wire.USER: user}
    with client.replies() as mailbox, trio.fail_after(30):
        await client.ask(
            mailbox, f"{group}.{group}.call.{one.name}", json.dumps(arguments or {}).encode(), headers=headers
        )
        while (message := await mailbox.get()).headers[wire.KIND] != wire.RESULT:
            pass
    answer: dict[str, Any] = json.loads(message.payload)
    return answer


async def test_one_of_many_that_claim_a_call_has_it(nats_server: NatsServer, group: str, linked: Any) -> None:
    taken: list[int] = []
    refused: list[Any] = []
    async with linked(nats_server) as one, linked(nats_server) as two, trio.open_nursery() as nursery:

        async def take(client: Client) -> None:
            try:
                taken.append(await Claims(client, wire.Subjects(group, group)).take("the-call", {"instance": "x"}))
            except ClaimedError as problem:
                refused.append(problem.record["state"])

        for client in (one, two) * 10:
            nursery.start_soon(take, client)
    assert len(taken) == 1
    assert refused == ["running"] * 19


async def test_a_call_that_is_sent_again_is_executed_once_and_answered_alike(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    ran: list[str] = []

    @tool
    async def charge(to: str) -> str:
        """Charge."""
        ran.append(to)
        return f"charged {to} {len(ran)}"

    async with working(nats_server, group, charge), working(nats_server, group, charge), linked(nats_server) as client:
        answers = [await send(client, group, charge, "order-4711", {"to": "ada"}) for _ in range(9)]
    assert ran == ["ada"]
    assert [one["content"][0]["text"] for one in answers] == ["charged ada 1"] * 9


@pytest.mark.parametrize("other", [{"arguments": {"to": "eve"}}, {"user": "eve"}])
async def test_a_name_that_another_call_has_gives_nobody_its_result(
    nats_server: NatsServer, group: str, other: dict[str, Any], linked: Any, working: Any
) -> None:
    ran: list[str] = []

    @tool
    async def charge(to: str) -> str:
        """Charge."""
        ran.append(to)
        return f"a secret of {to}"

    async with working(nats_server, group, charge), linked(nats_server) as client:
        assert (await send(client, group, charge, "order-4712", {"to": "ada"}))["ok"]
        refused = await send(client, group, charge, "order-4712", **{"arguments": {"to": "ada"}, **other})
        assert (refused["error"]["code"], refused["error"]["details"]["executed"]) == ("CONFLICT", False)
        assert "secret" not in json.dumps(refused)
    assert ran == ["ada"]


async def test_a_call_that_runs_is_not_begun_again(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    started, go = trio.Event(), trio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        started.set()
        await go.wait()
        return "done"

    async with working(nats_server, group, slow), linked(nats_server) as client, trio.open_nursery() as nursery:
        nursery.start_soon(send, client, group, slow, "the-long-one")
        with trio.fail_after(30):
            await started.wait()
        again = await send(client, group, slow, "the-long-one")
        assert (again["error"]["code"], again["error"]["details"]["state"]) == ("OUTCOME_UNKNOWN", "running")
        record = await state_of(client, wire.Subjects(group, group), "the-long-one")
        assert record is not None
        assert (record["state"], record["tool"]) == ("running", "slow")
        go.set()


async def test_a_large_result_is_not_kept_and_that_is_told(
    nats_server: NatsServer, group: str, monkeypatch: pytest.MonkeyPatch, linked: Any, working: Any
) -> None:
    monkeypatch.setattr(claims, "MAX_KEPT", 500)

    @tool
    async def large() -> str:
        """Be large."""
        return "x" * 1000

    async with working(nats_server, group, large), linked(nats_server) as client:
        assert (await send(client, group, large, "large-one"))["ok"]
        again = await send(client, group, large, "large-one")
        assert again["error"]["code"] == "CONFLICT"
        assert again["error"]["details"]["executed"] is True


@pytest.mark.parametrize("name", ["short", "x" * 65, "a.b.c.d.e", "with space", "*" * 9, ">" * 9])
async def test_a_name_that_is_none_claims_nothing(
    nats_server: NatsServer, group: str, name: str, linked: Any, working: Any
) -> None:
    ran: list[int] = []

    @tool
    async def note() -> str:
        """Note."""
        ran.append(1)
        return ""

    async with working(nats_server, group, note), linked(nats_server) as client:
        answer = await send(client, group, note, name)
        assert (answer["error"]["code"], answer["error"]["details"]["executed"]) == ("INVALID_INPUT", False)
    assert ran == []


async def test_a_stream_that_does_not_answer_is_told_as_a_full_disk_may_be(
    nats_server: NatsServer, group: str, working: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server whose disk is full sends no word: the error said `no answer`."""

    async def silent(*_: Any) -> int:
        await trio.lowlevel.checkpoint()
        raise trio.TooSlowError

    @tool
    async def note() -> str:
        """Note."""
        return ""

    monkeypatch.setattr(claims.Claims, "take", silent)
    async with working(nats_server, group, note), hosting(nats_server, group, "note") as host:
        result = await host.session().call("note")
        assert result.error is not None
        assert result.error.details["executed"] is False
        assert "disk is full" in result.error.message


async def test_where_nothing_can_be_recorded_nothing_is_done(start_server: Any, group: str, working: Any) -> None:
    server = start_server()  # without streams
    ran: list[int] = []

    @tool
    async def note() -> str:
        """Note."""
        ran.append(1)
        return ""

    async with working(server, group, note), hosting(server, group, "note") as host:
        result = await host.session().call("note")
        assert result.error is not None
        assert (result.error.code, result.error.details["executed"]) == (ErrorCode.UPSTREAM_ERROR, False)
        assert "could not be recorded" in result.error.message
    assert ran == []


async def test_an_answer_that_was_lost_is_looked_up(
    nats_server: NatsServer, group: str, monkeypatch: pytest.MonkeyPatch, working: Any
) -> None:
    """The worker noted it before it answered."""
    ran: list[int] = []

    @tool
    async def charge() -> str:
        """Charge."""
        ran.append(1)
        return "charged"

    get = Mailbox.get

    async def lossy(self: Mailbox) -> Any:
        message = await get(self)
        if message.headers.get(wire.KIND) == wire.RESULT:
            raise LinkLostError("lost by the test")
        return message

    async with working(nats_server, group, charge), hosting(nats_server, group, "charge") as host:
        monkeypatch.setattr(Mailbox, "get", lossy)
        result = await host.session().call("charge")
        assert result.text == "charged"
    assert ran == [1]


async def test_what_became_of_a_call_of_a_worker_that_is_gone_can_be_asked(
    nats_server: NatsServer, group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, working: Any
) -> None:
    started = trio.Event()

    @tool
    async def charge(context: CallContext) -> str:
        """Charge."""
        started.set()
        await trio.sleep_forever()
        return ""

    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    config = tmp_path / "named.toml"
    config.write_text(f'[plugins.nats]\nservers = ["{nats_server.url}"]\nprefix = "{group}"\n')

    async def ask(call: str) -> tuple[int, str, str]:
        words = ["--config", str(config), "--plugin", "nats", "nats", "call-state", call]
        status = await trio.to_thread.run_sync(Program().run, words)
        return status, *capsys.readouterr()

    # A worker that is killed notes nothing any more.
    async def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(Claims, "end", nothing)
    results: list[Any] = []
    async with hosting(nats_server, group) as host, trio.open_nursery() as nursery:
        async with working(nats_server, group, charge) as worker:
            with trio.fail_after(30):
                while "charge" not in host.tools:
                    await host.wait_source_moved()

            async def call() -> None:
                results.append(await host.session().call("charge"))

            nursery.start_soon(call)
            with trio.fail_after(30):
                await started.wait()
            monkeypatch.setattr(worker, "_send_result", nothing)
        with trio.fail_after(30):
            while not results:
                await trio.sleep(0.01)
    error = results[0].error
    assert error.code is ErrorCode.OUTCOME_UNKNOWN
    name = error.details["call"]
    assert f"call-state {name}" in error.message
    assert await ask(name) == (0, "lost\n", "")
    status, out, err = await ask("g.never-begun")
    assert (status, out) == (1, "")
    assert "no worker began the call g.never-begun" in err
    status, _, err = await ask("a b")
    assert status == 2
    assert "names no call" in err


async def test_a_call_that_was_cancelled_is_noted_so(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    started = trio.Event()

    @tool
    async def slow() -> str:
        """Take long."""
        started.set()
        await trio.sleep_forever()
        return ""

    async with working(nats_server, group, slow) as worker, linked(nats_server) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send, client, group, slow, "to-cancel")
            with trio.fail_after(30):
                await started.wait()
            nursery.cancel_scope.cancel()
        for running in worker._running.values():
            running.scope.cancel()
        with trio.fail_after(30):
            while (record := await state_of(client, wire.Subjects(group, group), "to-cancel")) is None or record[
                "state"
            ] != "cancelled":
                await trio.sleep(0.01)


async def test_without_claims_no_record_is_made(nats_server: NatsServer, group: str, linked: Any, working: Any) -> None:
    @tool
    async def note() -> str:
        """Note."""
        return "noted"

    own = {"servers": [nats_server.url], "prefix": group, "groups": {group: {}}}
    heard: list[str] = []
    async with working(nats_server, group, note), linked(nats_server) as client:
        client.subscribe(f"{group}-calls.>", lambda message: heard.append(message.subject))
        async with open_host({"plugins": {"nats": own}}, [pegboard_nats.plugin]) as host:
            with trio.fail_after(30):
                while "note" not in host.tools:
                    await host.wait_source_moved()
            assert (await host.session().call("note")).ok
        await client.flush()
    assert heard == []
