"""pegboard: a tool of an MCP server, called as any other tool of the board."""

from __future__ import annotations

from contextlib import asynccontextmanager

from workload import ADD_ARGS, MCP_SERVER

from contestants import Contestant, Path
from pegboard import open_host

RUNNER = "trio"


@asynccontextmanager
async def open_contestant():
    command, *args = MCP_SERVER
    servers = {"bench": {"command": command, "args": args, "start": "eager"}}
    async with open_host({"plugins": {"mcp": {"servers": servers}}}) as host:
        await host.wait_for_sources()
        session = host.session()

        async def add():
            return await session.call("add", dict(ADD_ARGS))

        result = await add()
        assert result.text == "4.0", result
        ((_, source),) = host.board.sources
        yield Contestant(calls={Path(source.connection.version, "add"): add})
