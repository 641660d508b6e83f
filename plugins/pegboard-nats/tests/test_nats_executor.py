"""`executor = "nats:G"`: a tool that is installed on both sides runs at a worker, and all before that stays here."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard_nats.plugin
from pegboard import CallContext, ErrorCode, Host, load_board, open_host, tool
from pegboard_nats import calls, wire
from pegboard_nats.client import Servers, open_client
from pegboard_nats.executor import at_worker_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from conftest import NatsServer

    from pegboard import Tool


def places(ran: list[tuple[str, Any]], where: str, **limits: Any) -> Tool:
    """The tool `send` as it is installed at one place: it notes where it ran, and for whom."""

    @tool(name="send", description="Send.", **limits)
    async def send(to: str, context: CallContext) -> str:
        ran.append((where, context.session.user_id))
        return f"sent to {to}"

    return send


@pytest.fixture
def working(working: Any, group: str) -> Any:
    """Workers of a system of the test's own: its group is the prefix as well."""
    return partial(working, prefix=group, concurrency=7, drain_s=1, plugins=[pegboard_nats.plugin])


def config_of(server: NatsServer, group: str, **more: Any) -> dict[str, Any]:
    config: dict[str, Any] = {"plugins": {"nats": {"servers": [server.url], "prefix": group}}}
    return {**config, "tools": {"send": {"executor": f"nats:{group}"}}, **more}


@contextlib.asynccontextmanager
async def hosting(server: NatsServer, group: str, one: Tool, **more: Any) -> AsyncIterator[Host]:
    async with open_host(config_of(server, group, **more), [pegboard_nats.plugin]) as host:
        host.add(one)
        yield host


async def test_the_call_runs_at_the_worker_and_not_here(nats_server: NatsServer, group: str, working: Any) -> None:
    ran: list[Any] = []
    async with (
        working(nats_server, group, places(ran, "worker")),
        hosting(nats_server, group, places(ran, "host")) as host,
    ):
        result = await host.session("ada").call("send", {"to": "bob"})
        assert result.text == "sent to bob"
        assert list(host.tools) == ["send"]
        assert host.tools["send"].origin.source is None
    assert ran == [("worker", "ada")]


async def test_arguments_are_validated_here_and_there(nats_server: NatsServer, group: str, working: Any) -> None:
    ran: list[Any] = []
    async with (
        working(nats_server, group, places(ran, "worker")),
        hosting(nats_server, group, places(ran, "host")) as host,
        open_client(Servers(urls=(nats_server.url,))) as third,
    ):
        wrong = await host.session().call("send", {"to": 5, "more": 1})
        assert wrong.error is not None
        assert wrong.error.code is ErrorCode.INVALID_INPUT
        await third.wait_connected()
        headers = {wire.FINGERPRINT: host.tools["send"].fingerprint, wire.COUNTED: "1"}
        with third.replies() as mailbox, trio.fail_after(30):
            await third.ask(mailbox, f"{group}.{group}.call.send", b'{"to": 5}', headers=headers)
            assert (await mailbox.get()).headers[wire.KIND] == wire.ACCEPTED
            assert json.loads((await mailbox.get()).payload)["error"]["code"] == "INVALID_INPUT"
    assert ran == []


async def test_guards_and_approvals_are_the_hosts(nats_server: NatsServer, group: str, working: Any) -> None:
    ran: list[Any] = []
    asked: list[str] = []
    limits = {"requires_confirmation": True}

    async def person(confirmation: Any) -> bool:
        asked.append(confirmation.question)
        return True

    async with (
        working(nats_server, group, places(ran, "worker", **limits)),
        hosting(nats_server, group, places(ran, "host", **limits)) as host,
    ):
        refused = await host.session().call("send", {"to": "bob"})
        assert refused.error is not None
        assert refused.error.details["reason"] == "confirmation"
        assert ran == []
        assert (await host.session(confirm=person).call("send", {"to": "bob"})).ok
    assert len(asked) == 1


LIMITS = {"cooldown": {"cooldown_s": 0.3, "rate_limit": "9/1s"}, "concurrency": {"concurrency": 1}}


@pytest.mark.parametrize("store", [None, "nats"])
@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
async def test_a_limit_that_both_sides_have_is_counted_once(
    nats_server: NatsServer, group: str, limits: dict[str, Any], store: str | None, working: Any
) -> None:
    """Counted twice in one store, every call would be refused by what it took itself, or wait for its own place."""
    ran: list[Any] = []
    core = {} if store is None else {"core": {"limit_store": store}}
    workers = config_of(nats_server, group) | {"tools": {}} | core
    async with (
        working(nats_server, group, places(ran, "worker", **limits), config=workers),
        hosting(nats_server, group, places(ran, "host", **limits), **core) as host,
    ):
        session = host.session("ada")
        for number in range(2):
            with trio.fail_after(30):
                while not (result := await session.call("send", {"to": "bob"})).ok:
                    assert number == 1, result.error
                    assert result.error is not None
                    assert result.error.code is ErrorCode.RATE_LIMITED
                    await trio.sleep(result.error.details["retry_after_s"])
        assert len(ran) == 2
        if "cooldown_s" in limits:
            refused = await session.call("send", {"to": "bob"})
            assert refused.error is not None
            assert refused.error.details["reason"] == "cooldown"
            assert len(ran) == 2


async def test_who_did_not_count_is_counted_by_the_worker_and_so_is_what_a_call_calls(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    ran: list[Any] = []

    @tool
    async def twice(context: CallContext) -> list[bool]:
        """Send twice."""
        return [(await context.call("send", {"to": "bob"})).ok for _ in range(2)]

    config = {
        "plugins": {"nats": {"servers": [nats_server.url], "prefix": group, "groups": {group: {}}}},
        "tools": {"twice": {"executor": f"nats:{group}"}},
    }
    async with (
        working(nats_server, group, places(ran, "worker", cooldown_s=60), twice),
        open_host(config, [pegboard_nats.plugin]) as host,
    ):
        host.add(twice)
        with trio.fail_after(30):
            while "send" not in host.tools:
                await host.wait_source_moved()
        assert (await host.session("ada").call("twice")).data == {"result": [True, False]}
        assert (await host.session("bob").call("send", {"to": "x"})).ok  # of the group, as a source: not counted here
        refused = await host.session("bob").call("send", {"to": "x"})
        assert refused.error is not None
        assert refused.error.details["reason"] == "cooldown"


async def test_where_no_worker_is_it_does_not_run_here(
    nats_server: NatsServer, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "ASK_AGAIN_S", 0.1)
    ran: list[Any] = []
    async with hosting(nats_server, group, places(ran, "host")) as host:
        await host.session().call("send", {"to": "bob"})  # the link comes up
        result = await host.session().call("send", {"to": "bob"})
        assert result.error is not None
        assert (result.error.code, result.error.details["executed"]) == (ErrorCode.UPSTREAM_ERROR, False)
    assert ran == []


async def test_a_worker_with_another_definition_does_nothing(
    nats_server: NatsServer, group: str, monkeypatch: pytest.MonkeyPatch, working: Any
) -> None:
    monkeypatch.setattr(calls, "ASK_AGAIN_S", 0.1)
    ran: list[Any] = []

    @tool(name="send", description="Send elsewhere.")
    async def other(to: str, copy: str = "") -> str:
        ran.append("other")
        return ""

    async with working(nats_server, group, other), hosting(nats_server, group, places(ran, "host")) as host:
        result = await host.session().call("send", {"to": "bob"})
        result = await host.session().call("send", {"to": "bob"})
        assert result.error is not None
        assert "another version" in result.error.message
    assert ran == []


async def test_a_worker_runs_its_groups_tools_itself_and_serves_none_of_another_group(
    nats_server: NatsServer, group: str, working: Any
) -> None:
    """Hosts and workers may have one file; what would go round in circles is not served."""
    ran: list[Any] = []
    shared = config_of(nats_server, group)
    async with contextlib.AsyncExitStack() as stack:
        with at_worker_of(group):
            own = await stack.enter_async_context(working(nats_server, group, places(ran, "worker"), config=shared))
        other = await stack.enter_async_context(working(nats_server, "x", places(ran, "x"), config=shared))
        host = await stack.enter_async_context(hosting(nats_server, group, places(ran, "host")))
        assert (await host.session().call("send", {"to": "bob"})).ok
        assert (own.tools, other.tools) == (1, 0)
    assert ran == [("worker", None)]


@pytest.mark.parametrize("wanted", ["nats", "nats:", "nats:a b", "nats:a.b", "nats:*", "nets:g"])
def test_a_group_that_is_none_costs_the_tool(wanted: str) -> None:
    board = load_board({"tools": {"send": {"executor": wanted}}}, [pegboard_nats.plugin])
    with contextlib.suppress(Exception):
        board.add(places([], "host"))
    assert "send" not in board.tools


async def test_a_board_without_it_opens_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(pegboard_nats.client.Client, "run", made.append)
    async with open_host({}, [pegboard_nats.plugin]) as host:
        host.add(places([], "host"))
        assert (await host.session().call("send", {"to": "bob"})).ok
        assert host.board.registry.plans["send"].executor is None
    assert made == []
