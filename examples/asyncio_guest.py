"""A program on asyncio that hosts tools: trio runs as a guest of its loop, and calls cross over."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import trio

from pegboard import open_host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pegboard import ToolResult


class GuestHost:
    """A host inside a running asyncio loop. Made by `open_guest_host`."""

    def __init__(self, send: trio.MemorySendChannel[Any]) -> None:
        self._send = send

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, user_id: str | None = None
    ) -> ToolResult:
        """Call a tool; cancelling the asyncio task cancels the call."""
        answer: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        scope = trio.CancelScope()
        self._send.send_nowait((name, arguments, user_id, answer, scope))
        try:
            return await answer
        finally:
            scope.cancel()


async def _serve(receive: trio.MemoryReceiveChannel[Any], opened: asyncio.Future[None]) -> None:
    """The trio side: one task a call. It shares its thread with asyncio, so futures need no lock."""

    async def answer_one(
        name: str, arguments: Any, user_id: str | None, answer: asyncio.Future[ToolResult], scope: trio.CancelScope
    ) -> None:
        with scope:
            result = await host.session(user_id).call(name, arguments)
            if not answer.done():
                answer.set_result(result)

    async with open_host() as host, trio.open_nursery() as nursery:
        opened.set_result(None)
        async for call in receive:
            nursery.start_soon(answer_one, *call)


@contextlib.asynccontextmanager
async def open_guest_host() -> AsyncIterator[GuestHost]:
    """A host for the asyncio program around it; it ends with the block, after the calls that are under way."""
    loop = asyncio.get_running_loop()
    opened, ended = loop.create_future(), loop.create_future()
    send, receive = trio.open_memory_channel[Any](1000)
    trio.lowlevel.start_guest_run(
        _serve,
        receive,
        opened,
        run_sync_soon_threadsafe=loop.call_soon_threadsafe,
        run_sync_soon_not_threadsafe=loop.call_soon,
        done_callback=ended.set_result,
        host_uses_signal_set_wakeup_fd=True,
    )
    await asyncio.wait([opened, ended], return_when=asyncio.FIRST_COMPLETED)
    if not opened.done():
        ended.result().unwrap()  # the host could not be opened: its error is raised here
    try:
        yield GuestHost(send)
    finally:
        send.close()
        (await ended).unwrap()


async def main() -> None:
    async with open_guest_host() as host:
        results = await asyncio.gather(
            host.call("calculator", {"expression": "2 ** 10"}),
            host.call("calculator", {"expression": "1 / 0"}),
            host.call("nope"),
        )
    for result in results:
        print(result.text if result.error is None else result.error.code.value)


if __name__ == "__main__":
    asyncio.run(main())
