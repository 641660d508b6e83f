"""The least that a client of an MCP server can do: a line out, a line in, under a deadline."""

from __future__ import annotations

import json
import subprocess
from contextlib import asynccontextmanager
from itertools import count

import trio
from workload import ADD_ARGS, MCP_SERVER

from contestants import Contestant, Path

RUNNER = "trio"


@asynccontextmanager
async def open_contestant():
    process = await trio.lowlevel.open_process(MCP_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    numbers, rest = count(1), b""

    async def request(method, params):
        nonlocal rest
        message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
        with trio.fail_after(60):
            await process.stdin.send_all(json.dumps(message).encode() + b"\n")
            while b"\n" not in rest:
                rest += await process.stdout.receive_some(65536)
        line, _, rest = rest.partition(b"\n")
        return json.loads(line)["result"]

    async def add():
        return await request("tools/call", {"name": "add", "arguments": ADD_ARGS})

    info = {"name": "floor", "version": "0"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    version = (await request("initialize", params))["protocolVersion"]
    await process.stdin.send_all(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    assert "4.0" in str(await add())
    yield Contestant(calls={Path(version, "add"): add})
    await process.stdin.aclose()
    await process.wait()
