"""The `mcp` SDK's own client, on asyncio."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from workload import ADD_ARGS, MCP_SERVER

from contestants import Contestant, Path

RUNNER = "asyncio"


@asynccontextmanager
async def open_contestant():
    logging.disable(logging.CRITICAL)
    command, *args = MCP_SERVER
    async with Client(StdioServerParameters(command=command, args=args)) as client:

        async def add():
            return await client.call_tool("add", dict(ADD_ARGS))

        assert "4.0" in str(await add())
        yield Contestant(calls={Path(client.protocol_version, "add"): add})
