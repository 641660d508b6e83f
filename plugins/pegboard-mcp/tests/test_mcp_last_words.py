"""A host that is cancelled as a whole, with work on the way: its servers hear of it, and work for nobody."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from pegboard import CallContext, hookimpl, open_host, tool
from pegboard_mcp import plugin as mcp_plugin
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.server.peer import peer_of
from pegboard_mcp.settings import McpSettings

# The generators of the SDK's client over HTTP are left half-way, which trio warns of.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. .async_generator:pytest.PytestUnraisableExceptionWarning"
)


class Tools:
    """Tools that last for ever, and note their end."""

    def __init__(self) -> None:
        self.started, self.cancelled = trio.Event(), trio.Event()

    async def _last(self) -> None:
        self.started.set()
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            self.cancelled.set()
            raise

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        @tool(timeout_s=600)
        async def call() -> None:
            """Last."""
            await self._last()

        @tool(timeout_s=600)
        async def job(context: CallContext) -> None:
            """Last, as a task."""
            peer = peer_of(context)
            assert peer is not None
            await peer.start_task()
            await self._last()

        return [call, job]


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "call-first"])
@pytest.mark.parametrize("name", ["call", "job"])
@pytest.mark.parametrize(
    ("transport", "era"),
    [("http", "legacy"), ("http", "modern"), ("sse", "legacy"), ("websocket", "legacy"), ("websocket", "modern")],
)
async def test_what_a_server_does_for_a_host_ends_with_it(
    nursery: Any, transport: Any, era: str, name: str, is_whole: bool
) -> None:
    tools = Tools()
    said: dict[str, Any] = {"task_after_s": 30.0}
    async with open_host({"plugins": {"mcp": said}}, [tools, mcp_plugin]) as board:
        serve = partial(serve_http, board, transport=transport, bind="127.0.0.1", port=0, user_id=None)
        url = await nursery.start(partial(serve, settings=McpSettings(**said)))
        server = {"url": url, "transport": transport, "protocol": era, "start": "eager", "timeout": 600}
        with trio.fail_after(30), trio.CancelScope() as whole:
            async with open_host({"plugins": {"mcp": {"servers": {"s": server}}}}, [mcp_plugin]) as host:
                while name not in host.tools:
                    await host.wait_source_moved()
                async with trio.open_nursery() as calls:
                    calls.start_soon(partial(host.session().call, name, {}, timeout_s=500))
                    await tools.started.wait()
                    await trio.testing.wait_all_tasks_blocked(0.05)
                    (whole if is_whole else calls.cancel_scope).cancel()
        with trio.fail_after(5):
            await tools.cancelled.wait()
        nursery.cancel_scope.cancel()
