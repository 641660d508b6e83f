"""`audit_follow.py`: how soon another process hears of a call that pegboard-audit keeps.

In milliseconds of wall time, from the call's end to its arrival at `follow` there. What keeping costs is measured by a
contestant of the run, `contestants/pegboard_audited.py`. Run it in an environment with pegboard and pegboard-audit;
prints JSON.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import trio

import pegboard_audit.plugin
from pegboard import open_host, tool

FOLLOWED = 20

FOLLOWER = """
import sys, time, trio
from pathlib import Path
from pegboard_audit import CallQuery, follow

async def main():
    async with follow(CallQuery(after=0), path=Path(sys.argv[1])) as calls:
        async for call in calls:
            print(time.time() - call.started_at - call.duration_ms / 1000, flush=True)

trio.run(main)
"""


@tool(name="add_in_place", run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


async def followed(file):
    """How late another process hears: median and slowest."""
    follower = subprocess.Popen([sys.executable, "-c", FOLLOWER, str(file)], stdout=subprocess.PIPE, text=True)
    config = {"plugins": {"audit_db": {"file": str(file)}}}
    late = []
    async with open_host(config, plugins=[pegboard_audit.plugin]) as host:
        host.add(add)
        session = host.session()
        for _ in range(FOLLOWED + 1):
            await session.call("add_in_place", {"a": 1, "b": 2})
            late.append(float(await trio.to_thread.run_sync(follower.stdout.readline)) * 1e3)
            await trio.sleep(0.03)
    follower.terminate()
    follower.wait()
    late = late[1:]  # the first one waited for its interpreter
    return {"median": round(statistics.median(late), 1), "slowest": round(max(late), 1)}


async def main():
    """Print the figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as folder:
        print(json.dumps({"followed_ms": await followed(Path(folder) / "followed.sqlite3")}, indent=2))


if __name__ == "__main__":
    trio.run(main)
