"""Servers that come and go while much is on the way: each call is told truly, and everybody comes back."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard_nats.plugin
from pegboard import ErrorCode, open_host, tool
from pegboard_nats import client as client_module
from pegboard_nats.client import Client, Servers, open_client
from pegboard_nats.mailbox import LinkError, NotConnectedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from conftest import NatsServer

CLIENTS, EACH = 20, 5


@contextlib.asynccontextmanager
async def many(server: NatsServer, count: int) -> AsyncIterator[list[Client]]:
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(open_client(Servers(urls=(server.url,)))) for _ in range(count)]
        await all_linked(clients)
        yield clients


async def all_linked(clients: list[Client]) -> None:
    with trio.fail_after(60):
        for one in clients:
            await one.wait_connected()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_all_come_back_to_a_server_that_is_restarted_while_they_ask(start_server: Any, how: Any) -> None:
    """Nothing but a `LinkError` is raised at whoever asks, publishes or listens while the link ends."""
    server, told, stop = start_server(), Counter[str](), trio.Event()

    async def ask(client: Client, subject: str) -> None:
        while not stop.is_set():
            try:
                await client.request(subject, b"x")
                client.subscribe("storm.more", lambda message: None).end()
                told["answered"] += 1
            except LinkError as problem:
                told[type(problem).__name__] += 1
                await trio.sleep(0)
                if isinstance(problem, NotConnectedError):
                    await client.wait_connected()

    async with many(server, CLIENTS) as clients, trio.open_nursery() as nursery:
        for number, one in enumerate(clients):

            def answer(message: Any, one: Client = one) -> None:
                with contextlib.suppress(LinkError):
                    one.publish_nowait(message.reply, message.payload)

            one.subscribe(f"storm.{number}", answer)
            await one.flush()
        for number, one in enumerate(clients):
            for _ in range(EACH):
                nursery.start_soon(ask, one, f"storm.{(number + 1) % CLIENTS}")
        for _ in range(3):
            so_far = told["answered"]
            while told["answered"] < so_far + CLIENTS:
                await trio.sleep(0.01)
            server.signal(how)
            server.process.wait(30)
            server.start()
            await all_linked(clients)
        stop.set()
    assert not any(len(one._waiting) for one in clients)
    assert told.keys() <= {"answered", "LinkLostError", "NotConnectedError", "NoRespondersError"}


async def test_a_worker_and_its_host_outlive_a_server_that_is_restarted_under_their_calls(
    start_server: Any, group: str, working: Any
) -> None:
    server, ran, codes = start_server(), Counter[str](), Counter[str]()

    @tool(idempotent=False)
    async def change(name: str) -> str:
        ran[name] += 1
        await trio.sleep(0.005)
        return name

    config = {"plugins": {"nats": {"servers": [server.url], "groups": {group: {}}}}}
    async with working(server, group, change), open_host(config, [pegboard_nats.plugin]) as host:
        with trio.fail_after(120):
            while "change" not in host.tools:
                await host.wait_source_moved()
            stop = trio.Event()

            async def call(who: int) -> None:
                number = 0
                while not stop.is_set():
                    number += 1
                    name = f"{who}-{number}"
                    result = await host.session().call("change", {"name": name})
                    code = None if result.error is None else result.error.code
                    codes[code or "ok"] += 1
                    if code is None:
                        assert ran[name] == 1
                    elif result.error.details.get("executed") is False:
                        assert ran[name] == 0
                    else:
                        assert code is ErrorCode.OUTCOME_UNKNOWN

            async with trio.open_nursery() as nursery:
                for who in range(40):
                    nursery.start_soon(call, who)
                for _ in range(3):
                    so_far = codes["ok"]
                    while codes["ok"] < so_far + 40:
                        await trio.sleep(0.01)
                    server.kill()
                    server.start()
                stop.set()
    assert max(ran.values()) == 1
    # Whom no link was there for asked again: a server that is back within that time costs what it had in hand alone.
    assert codes.keys() <= {"ok", ErrorCode.OUTCOME_UNKNOWN}, codes


class Peer:
    """Something that listens, and does to each connection what the test says."""

    def __init__(self, do: Any) -> None:
        self.do = do
        self.seen = 0

    async def serve(self, task_status: trio.TaskStatus[str]) -> None:
        async def handle(stream: trio.SocketStream) -> None:
            self.seen += 1
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self.do(stream)
            await trio.aclose_forcefully(stream)

        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        task_status.started(f"nats://127.0.0.1:{listener.socket.getsockname()[1]}")
        await trio.serve_listeners(handle, [listener])


INFO = b"INFO " + json.dumps({"version": "2.12.0", "headers": True, "max_payload": 1_000_000}).encode() + b"\r\n"


async def close_at_once(stream: trio.SocketStream) -> None:
    """Closed before a word."""


async def close_after_info(stream: trio.SocketStream) -> None:
    await stream.send_all(INFO)


async def close_once_in(stream: trio.SocketStream) -> None:
    await stream.send_all(INFO)
    await stream.receive_some(10_000)
    await stream.send_all(b"PONG\r\n")


@pytest.mark.parametrize("do", [close_at_once, close_after_info, close_once_in])
async def test_a_server_that_accepts_and_closes_is_not_stormed(do: Any, autojump_clock: Any) -> None:
    """However often it lets us in: the pauses grow as to one that is not there."""
    told: list[str] = []
    peer = Peer(do)
    async with trio.open_nursery() as nursery:
        url = await nursery.start(peer.serve)
        async with open_client(Servers(urls=(url,)), tell=told.append):
            await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert 5 < peer.seen < 40
    assert len(told) <= 3, told


async def test_a_server_that_is_slow_to_say_who_it_is_is_given_its_time_and_no_more(autojump_clock: Any) -> None:
    async def slow(stream: trio.SocketStream) -> None:
        await trio.sleep(client_module.CONNECT_S * 0.9)
        await stream.send_all(INFO)
        await stream.receive_some(10_000)
        await stream.send_all(b"PONG\r\n")
        await trio.sleep_forever()

    async def silent(stream: trio.SocketStream) -> None:
        await trio.sleep_forever()

    for do, comes in ((slow, True), (silent, False)):
        async with trio.open_nursery() as nursery:
            url = await nursery.start(Peer(do).serve)
            async with open_client(Servers(urls=(url,))) as client:
                await trio.sleep(client_module.CONNECT_S * 1.1)
                assert client.connected is comes
                assert comes or "did not answer within 5 s" in str(client.trouble)
            nursery.cancel_scope.cancel()


async def test_servers_that_are_all_gone_are_told_once_each(autojump_clock: Any) -> None:
    told: list[str] = []
    with contextlib.ExitStack() as stack:  # ports that nobody listens on
        bound = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        urls = tuple(f"nats://127.0.0.1:{one.getsockname()[1]}" for one in bound)
    async with open_client(Servers(urls=urls), tell=told.append):
        await trio.sleep(60)
    assert sorted(told) == sorted(set(told))
    assert len(told) == 3


async def test_of_three_servers_one_that_is_left_is_enough(start_server: Any) -> None:
    servers = [start_server() for _ in range(3)]
    async with open_client(Servers(urls=tuple(one.url for one in servers))) as client:
        with trio.fail_after(60):
            for _ in range(2):  # the one of the link goes, each time
                await client.wait_connected()
                (lost,) = (one for one in servers if one.url == client.address)
                lost.kill()
                servers.remove(lost)
                while client.connected:
                    await client.wait_changed()
            await client.wait_connected()
            assert client.address == servers[0].url
            await client.flush()
