"""A host that is cancelled as a whole over NATS: workers, limits and claims hear of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard_nats.plugin
from pegboard import open_host, tool

if TYPE_CHECKING:
    from conftest import NatsServer


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "call-first"])
@pytest.mark.parametrize("claims", [True, False], ids=["claims", "plain"])
async def test_what_a_worker_does_for_a_host_ends_with_it(
    nats_server: NatsServer, group: str, working: Any, claims: bool, is_whole: bool
) -> None:
    started, cancelled = trio.Event(), trio.Event()

    @tool(timeout_s=600)
    async def last() -> None:
        started.set()
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            cancelled.set()
            raise

    config = {"plugins": {"nats": {"servers": [nats_server.url], "claims": claims, "groups": {group: {}}}}}
    async with working(nats_server, group, last):
        with trio.fail_after(60), trio.CancelScope() as whole:
            async with open_host(config, [pegboard_nats.plugin]) as host:
                while "last" not in host.tools:
                    await host.wait_source_moved()
                async with trio.open_nursery() as calls:
                    calls.start_soon(partial(host.session().call, "last", {}, timeout_s=500))
                    await started.wait()
                    (whole if is_whole else calls.cancel_scope).cancel()
        with trio.fail_after(5):
            await cancelled.wait()


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "call-first"])
async def test_a_place_that_a_host_held_is_given_back_as_it_ends(
    nats_server: NatsServer, group: str, is_whole: bool
) -> None:
    started = trio.Event()

    @tool(concurrency=1, timeout_s=600)
    async def alone(waits: bool = True) -> str:
        started.set()
        if waits:
            await trio.sleep_forever()
        return "done"

    config = {"core": {"limit_store": "nats"}, "plugins": {"nats": {"servers": [nats_server.url], "prefix": group}}}
    with trio.fail_after(60), trio.CancelScope() as whole:
        async with open_host(config, [pegboard_nats.plugin]) as host:
            host.add(alone)
            async with trio.open_nursery() as calls:
                calls.start_soon(partial(host.session().call, "alone", {}, timeout_s=500))
                await started.wait()
                (whole if is_whole else calls.cancel_scope).cancel()
    async with open_host(config, [pegboard_nats.plugin]) as host:
        host.add(alone)
        with trio.fail_after(5):
            result = await host.session().call("alone", {"waits": False}, timeout_s=5)
        assert result.error is None, result
