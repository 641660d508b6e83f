"""Limits that all hosts count in one stream."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard_nats.plugin
from pegboard import ErrorCode, PluginError, open_host, tool
from pegboard_nats.limit_store import NatsStore
from pegboard_nats.settings import NatsSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from conftest import NatsServer


@contextlib.asynccontextmanager
async def stores(server: NatsServer, count: int = 2) -> AsyncIterator[list[NatsStore]]:
    """Stores as several hosts have them."""
    made = [NatsStore(NatsSettings(servers=(server.url,))) for _ in range(count)]
    try:
        yield made
    finally:
        with trio.CancelScope(shield=True):
            for one in made:
                await one.aclose()


def a_key() -> str:
    return f"test-{secrets.token_hex(8)}"


async def test_a_claim_is_won_by_one_of_all_hosts(nats_server: NatsServer) -> None:
    key, waits = a_key(), []
    async with stores(nats_server, 3) as hosts:

        async def contend(store: NatsStore) -> None:
            waits.append(await store.claim(key, 60))

        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(contend, hosts[number % 3])
    assert waits.count(0.0) == 1
    assert all(50 < wait_s <= 60 for wait_s in waits if wait_s)


async def test_a_claim_ends_also_below_a_second(nats_server: NatsServer) -> None:
    async with stores(nats_server) as (one, two):
        key = a_key()
        assert await one.claim(key, 0.2) == 0
        wait_s = await two.claim(key, 0.2)
        assert 0 < wait_s <= 0.2
        await trio.sleep(wait_s + 0.02)
        assert await two.claim(key, 0.2) == 0


async def test_a_rate_is_exact_over_hosts(nats_server: NatsServer) -> None:
    """As many at once as may come in a period, then one after the other."""
    key, waits = a_key(), []
    async with stores(nats_server, 3) as hosts:

        async def contend(store: NatsStore) -> None:
            waits.append(await store.take(key, 20, 3600))

        async with trio.open_nursery() as nursery:
            for number in range(45):
                nursery.start_soon(contend, hosts[number % 3])
        assert waits.count(0.0) == 20
        assert all(100 < wait_s <= 180 for wait_s in waits if wait_s)


async def test_places_are_shared_given_back_and_served_in_turn(nats_server: NatsServer) -> None:
    async with stores(nats_server, 3) as (one, two, three):
        key = a_key()
        first = await one.lease(key, 1, 15)
        assert callable(first)
        assert not callable(await two.lease(key, 1, 15))
        assert not callable(await three.lease(key, 1, 15))
        first()
        with trio.fail_after(30):
            while not callable(got := await two.lease(key, 1, 15)):
                assert not callable(await three.lease(key, 1, 15)), "it was the other's turn"
                await trio.sleep(0.01)
        got()


async def test_a_place_is_renewed_and_ends_where_its_host_is_gone(nats_server: NatsServer) -> None:
    async with stores(nats_server) as (one, two):
        key = a_key()
        assert callable(await one.lease(key, 1, 0.6))
        for _ in range(4):  # twice as long as it would last
            await trio.sleep(0.3)
            assert not callable(await two.lease(key, 1, 0.6))
        one._places.clear()  # as of a process that was killed: nothing is renewed
        with trio.fail_after(30):
            while not callable(await two.lease(key, 1, 0.6)):
                await trio.sleep(0.05)


async def test_what_a_cancelled_call_took_is_given_back(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_nats import jetstream

    publish = jetstream.publish
    async with stores(nats_server) as (one, two):
        await one.claim(a_key(), 1)  # the link is there
        for method, arguments in (("claim", (60,)), ("take", (1, 3600)), ("lease", (1, 60))):
            key = a_key()
            with trio.CancelScope() as scope:

                async def slow(*given: Any, scope: trio.CancelScope = scope, **more: Any) -> Any:
                    answer = await publish(*given, **more)
                    scope.cancel()
                    monkeypatch.setattr(jetstream, "publish", publish)
                    return answer

                monkeypatch.setattr(jetstream, "publish", slow)
                await getattr(one, method)(key, *arguments)
            assert scope.cancelled_caught
            answer = await getattr(two, method)(key, *arguments)
            assert callable(answer) or answer < 1, method  # each host reckons the clock of the server by itself


async def test_a_store_that_was_closed_may_be_asked_again(nats_server: NatsServer) -> None:
    async with stores(nats_server, 1) as (one,):
        assert await one.claim(a_key(), 1) == 0
        await one.aclose()
        assert await one.claim(a_key(), 1) == 0


def counted(server: NatsServer, **core: Any) -> dict[str, Any]:
    return {"core": {"limit_store": "nats", **core}, "plugins": {"nats": {"servers": [server.url]}}}


@tool(cooldown_s=60)
async def send() -> str:
    """Send."""
    return "sent"


async def test_two_hosts_have_one_cooldown(start_server: Any, tmp_path: Any) -> None:
    server = start_server(f'jetstream {{ store_dir: "{tmp_path}" }}')
    async with (
        open_host(counted(server), [pegboard_nats.plugin]) as one,
        open_host(counted(server), [pegboard_nats.plugin]) as two,
    ):
        one.add(send)
        two.add(send)
        assert (await one.session("ada").call("send")).ok
        refused = await two.session("ada").call("send")
        assert refused.error is not None
        assert refused.error.code is ErrorCode.RATE_LIMITED
        assert 50 < refused.error.details["retry_after_s"] <= 60
        assert (await two.session("bob").call("send")).ok
        server.kill()
        for host in (one, two):
            gone = await host.session("eve").call("send")
            assert gone.error is not None
            assert gone.error.details["reason"] == "limit_store"


async def test_an_engine_that_is_gone_lets_calls_pass_only_where_that_is_configured(
    start_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = start_server()  # without streams
    for fails, ok in (("closed", False), ("open", True)):
        async with open_host(counted(server, limit_store_fails=fails), [pegboard_nats.plugin]) as host:
            host.add(send)
            assert (await host.session("ada").call("send")).ok is ok
    assert "keeps no streams" in caplog.text


async def test_an_old_server_is_refused(nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_nats.jetstream.NEEDED", (99, 0))
    async with stores(nats_server, 1) as (one,):
        with pytest.raises(PluginError, match=r"need nats-server 99\.0 or newer"):
            await one.claim(a_key(), 1)


async def test_an_installed_store_that_nobody_names_counts_nothing() -> None:
    """Else every tool with a limit would wait for a server that is not there."""
    async with open_host({}, [pegboard_nats.plugin]) as host:
        host.add(send)
        assert host.limit_store is None
        assert (await host.session("ada").call("send")).ok


def test_where_is_told_without_a_password() -> None:
    store = NatsStore(NatsSettings(servers=("nats://ada:secret@h:1",)))
    assert store.where == "nats://h:1"
