"""pegboard: `session.call` of a tool that nobody observes, and of one whose calls pegboard-audit keeps, in place and
async. The thread that writes counts: each batch ends when all of it is written.
"""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path as File

import trio
from workload import ADD_ARGS

import pegboard_audit.plugin
from contestants import Contestant, Path
from pegboard import open_host, tool

RUNNER = "trio"

WRITTEN_S = 0.2
"""After which all is written; waiting costs no CPU."""


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool(read_only=True)
async def add_async(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


async def _settle():
    await trio.sleep(WRITTEN_S)


@asynccontextmanager
async def open_contestant():
    calls = {}
    async with AsyncExitStack() as stack:
        folder = File(stack.enter_context(tempfile.TemporaryDirectory(prefix="pegboard-bench-")))
        audited = {"plugins": {"audit_db": {"file": str(folder / "calls.sqlite3")}}}
        for way, config, plugins in (("", {}, []), (", audited", audited, [pegboard_audit.plugin])):
            host = await stack.enter_async_context(open_host(config, plugins=plugins))
            host.add(add, add_async)
            session = host.session(user_id="ada")
            for kind, name in (("in place", "add"), ("async", "add_async")):
                assert (await session.call(name, dict(ADD_ARGS))).text == "4.0"
                calls[Path(f"session.call, {kind}{way}", "add")] = lambda session=session, name=name: session.call(
                    name, dict(ADD_ARGS)
                )
        yield Contestant(calls=calls, settle=_settle)
