"""`pegboard serve --transport http` with two tools, as a process: a test ends it by a signal."""

from __future__ import annotations

from typing import Any

import click
import trio

from pegboard import hookimpl, open_host, tool
from pegboard_mcp.commands.serve import _serve_http
from pegboard_mcp.settings import McpSettings


@tool(run="inplace")
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool
async def slow() -> str:
    """Take a moment."""
    click.echo("begun", err=True)
    await trio.sleep(0.5)
    return "done"


class Plugin:
    """The tools."""

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        """`add` and `slow`."""
        return [add, slow]


async def main() -> None:
    """Serve until a signal comes."""
    async with open_host(plugins=[Plugin()]) as host:
        await _serve_http(host, "http", "127.0.0.1", 0, None, McpSettings())


try:
    trio.run(main)
except KeyboardInterrupt:
    raise SystemExit(130) from None
