"""A host that is going to be killed: it holds links to servers and prints their pids. Argument: commands, as JSON."""

import json
import sys

import trio

from pegboard_mcp.client.transports import open_link
from pegboard_mcp.definitions import ServerDefinition


async def hold(number: int, argv: list[str], pids: list[int | None], all_there: trio.Event) -> None:
    definition = ServerDefinition(name=f"server-{number}", transport="stdio", argv=tuple(argv))
    async with open_link(definition, lambda: None) as link:
        pids.append(link.pid)
        all_there.set()
        await trio.sleep_forever()


async def main() -> None:
    commands = json.loads(sys.argv[1])
    pids: list[int | None] = []
    async with trio.open_nursery() as nursery:
        for number, argv in enumerate(commands):
            there = trio.Event()
            nursery.start_soon(hold, number, argv, pids, there)
            await there.wait()
        print(json.dumps(pids), flush=True)


trio.run(main)
