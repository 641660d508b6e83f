"""`mcp_fleet.py CONFIGURATION`: open a host, wait until all servers are ready, and say how long that took."""

from __future__ import annotations

import json
import sys
import time
import tomllib
from pathlib import Path

import trio

from pegboard import SourceState, open_host
from pegboard_mcp.client import connection  # noqa: F401 - half a second of imports, which one server costs as well


async def main(config):
    began, cpu = time.perf_counter(), time.process_time()
    async with open_host(config) as host:
        states = host.board.source_states
        while not all(state is SourceState.READY for state, _ in states.values()):
            await trio.sleep(0.01)
        ready_ms, cpu_ms = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
        tools = sum(tool.category == "mcp" and "_tool_" in tool.name for tool in host.tools.values())
    print(json.dumps({"ready_ms": ready_ms, "cpu_ms": cpu_ms, "tools": tools}))


trio.run(main, tomllib.loads(Path(sys.argv[1]).read_text()))
