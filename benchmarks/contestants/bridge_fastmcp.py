"""fastmcp's client; it runs on asyncio alone."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from workload import ADD_ARGS, MCP_SERVER

from contestants import Contestant, Path

RUNNER = "asyncio"


@asynccontextmanager
async def open_contestant():
    logging.disable(logging.CRITICAL)
    command, *args = MCP_SERVER
    async with Client(StdioTransport(command=command, args=args)) as client:

        async def add():
            return await client.call_tool("add", dict(ADD_ARGS))

        assert "4.0" in str(await add())
        version = client.initialize_result.protocol_version if client.initialize_result else "2026-07-28"
        yield Contestant(calls={Path(version, "add"): add})
