"""The `mcp` SDK: `MCPServer.call_tool` on the server itself, and through its in-memory client."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager

from mcp import Client
from mcp.server.mcpserver import MCPServer
from workload import ADD_ARGS, BAD_ADD_ARGS, RICH_ARGS, TOOL_MS, add, rich_with_pydantic

from contestants import Contestant, Path, Registry, refused

RUNNER = "asyncio"


async def sleep10(i: int) -> int:
    """Sleep."""
    await asyncio.sleep(TOOL_MS / 1000)
    return i


def _build(functions):
    server = MCPServer("many")
    for function in functions:
        server.add_tool(function)
    return server


async def _listing(server):
    return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in await server.list_tools()]


@asynccontextmanager
async def open_contestant():
    logging.disable(logging.CRITICAL)
    server = MCPServer("bench")
    server.add_tool(add)
    server.add_tool(rich_with_pydantic(), name="rich")
    server.add_tool(sleep10)

    async def parallel(count):
        await asyncio.gather(*(server.call_tool("sleep10", {"i": index}) for index in range(count)))

    async with Client(server) as client:
        assert "Quarterly" in str(await server.call_tool("rich", dict(RICH_ARGS)))
        yield Contestant(
            calls={
                Path("MCPServer.call_tool", "add"): lambda: server.call_tool("add", dict(ADD_ARGS)),
                Path("MCPServer.call_tool", "rich"): lambda: server.call_tool("rich", dict(RICH_ARGS)),
                Path("MCPServer.call_tool", "bad"): lambda: refused(server.call_tool("add", dict(BAD_ADD_ARGS))),
                Path("in-memory Client", "add"): lambda: client.call_tool("add", dict(ADD_ARGS)),
                Path("in-memory Client", "rich"): lambda: client.call_tool("rich", dict(RICH_ARGS)),
            },
            parallels={"MCPServer.call_tool": parallel},
            registries={"MCPServer": Registry(_build, _listing, lambda many, name, args: many.call_tool(name, args))},
        )
