"""A server, or a line, that stops in the middle of a message: calls end in their bounds, and the link is made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard_nats.plugin
from pegboard import ErrorCode, open_host, tool
from pegboard_nats import wire
from pegboard_nats.client import Servers, open_client
from pegboard_nats.worker import Worker

if TYPE_CHECKING:
    from conftest import NatsServer

SIZE = 40_000


class Line:
    """Passes bytes on to a server, until the middle of a long message that comes from it; then nothing, once."""

    def __init__(self, server: NatsServer) -> None:
        self.server = server
        self.stalls = False
        self.stalled = trio.Event()
        self.links = 0

    async def serve(self, task_status: trio.TaskStatus[str]) -> None:
        """Report the address."""
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, self._link, 0)
            task_status.started(f"nats://127.0.0.1:{listeners[0].socket.getsockname()[1]}")

    async def _link(self, client: trio.SocketStream) -> None:
        self.links += 1
        server = await trio.open_tcp_stream("127.0.0.1", self.server.port)
        async with client, server, trio.open_nursery() as nursery:

            async def out() -> None:
                async for data in client:
                    await server.send_all(data)
                nursery.cancel_scope.cancel()

            nursery.start_soon(out)
            async for data in server:
                if self.stalls and b"x" * 100 in data:
                    self.stalls = False
                    await client.send_all(data[: data.index(b"x" * 100) + 50])
                    self.stalled.set()
                    await trio.sleep_forever()
                await client.send_all(data)
            nursery.cancel_scope.cancel()


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return text


@pytest.mark.parametrize("whose", ["host", "worker"])
async def test_a_line_that_stops_in_a_message_ends_the_call_in_its_bound_and_not_the_link_for_good(
    nats_server: NatsServer, group: str, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard_nats.client.PING_S", 0.5)
    monkeypatch.setattr("pegboard_nats.client.FLUSH_S", 0.5)
    line = Line(nats_server)
    async with trio.open_nursery() as nursery:
        url = await nursery.start(line.serve)
        urls = {"host": nats_server.url, "worker": nats_server.url, whose: url}
        own: dict[str, Any] = {"servers": [urls["host"]], "groups": {group: {}}, "alive_s": 0.3}
        async with open_host({}, []) as board, open_client(Servers(urls=(urls["worker"],))) as client:
            board.add(echo)
            worker = Worker(board, client, wire.Subjects("pb", group), concurrency=9, drain_s=9)
            await nursery.start(worker.run)
            async with open_host({"plugins": {"nats": own}}, [pegboard_nats.plugin]) as host:
                with trio.fail_after(30):
                    while "echo" not in host.tools:
                        await host.wait_source_moved()
                line.stalls = True
                session = host.session()
                with trio.fail_after(30):
                    lost = await session.call("echo", {"text": "x" * SIZE})
                    assert lost.error is not None
                    assert lost.error.code is ErrorCode.OUTCOME_UNKNOWN
                    assert line.stalled.is_set()
                    while not (await session.call("echo", {"text": "again"})).ok:
                        await trio.sleep(0.05)
                assert line.links == 2
        nursery.cancel_scope.cancel()
