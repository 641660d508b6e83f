"""`audit_calls.py`: what a call costs that pegboard-audit keeps, and how soon another process hears of it.

    call      CPU of the whole process a call of `add`, in place and async: without an observer, with one that does
              nothing, and with the audit, the thread that writes included. Interleaved rounds; medians
    loop      of that the part of the task that calls
    followed  wall time from the end of a call in this process to its arrival at `follow` in another one

Run it in an environment with pegboard and pegboard-audit. Prints JSON, in microseconds; `followed_ms` in milliseconds.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import trio

import pegboard_audit.plugin
from pegboard import hookimpl, open_host, tool

CALLS = 2_000
ROUNDS = 9
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


@tool(name="add_async", read_only=True)
async def add_async(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


class Listener:
    """A plugin whose observer does nothing."""

    @hookimpl
    def provide_observers(self):
        """One."""
        return [lambda outcome: None]


async def cost_of(session, name):
    """CPU of the process and of this thread, in microseconds a call."""
    process, loop = time.process_time(), time.thread_time()
    for _ in range(CALLS):
        await session.call(name, {"a": 1, "b": 2})
    loop = time.thread_time() - loop
    await trio.sleep(0.3)  # what is still to be written counts
    return (time.process_time() - process) / CALLS * 1e6, loop / CALLS * 1e6


async def costs(file):
    """Medians by tool and board."""
    config = {"plugins": {"audit_db": {"file": str(file)}}}
    found = {}
    async with (
        open_host({}, plugins=[]) as bare,
        open_host({}, plugins=[Listener()]) as heard,
        open_host(config, plugins=[pegboard_audit.plugin]) as audited,
    ):
        sessions = {"bare": bare, "observer": heard, "audit": audited}
        for name, host in sessions.items():
            host.add(add)
            host.add(add_async)
            sessions[name] = host.session(user_id="ada")
        for which in ("add_in_place", "add_async"):
            rounds = [{name: await cost_of(one, which) for name, one in sessions.items()} for _ in range(ROUNDS)]
            for number, part in enumerate(("call", "loop")):
                by_name = {name: [one[name][number] for one in rounds] for name in sessions}
                found[f"{which}, {part}"] = {
                    **{name: round(statistics.median(one), 2) for name, one in by_name.items()},
                    "more_us": round(
                        statistics.median(b - a for a, b in zip(by_name["bare"], by_name["audit"], strict=True)), 2
                    ),
                    "ratio": round(
                        statistics.median(b / a for a, b in zip(by_name["bare"], by_name["audit"], strict=True)), 2
                    ),
                }
    return found


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
        figures = await costs(Path(folder) / "calls.sqlite3")
        figures["followed_ms"] = await followed(Path(folder) / "followed.sqlite3")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    trio.run(main)
