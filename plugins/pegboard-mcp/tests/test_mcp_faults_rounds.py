"""Servers are killed and come back again and again: nothing is left of them, and no call runs twice that must not."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, open_host
from pegboard_mcp import plugin

ROGUE = Path(__file__).parent / "servers" / "rogue.py"
SERVERS = 4
ROUNDS, ALL_ROUNDS = 200, 1_000
"""Of all servers together, and those with --thorough. A round is a kill, idle or in the middle of a call, and a call
that is answered again."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts in /proc, which is not here")


def descriptors() -> Counter[str]:
    """What is open, by what it is; numbers and addresses are left out."""
    found: Counter[str] = Counter()
    for fd in os.listdir("/proc/self/fd"):
        try:
            found[os.readlink(f"/proc/self/fd/{fd}").split(":")[0]] += 1
        except OSError:  # the one that lists them
            continue
    return found


def children() -> list[str]:
    """Processes that descend from this one, zombies included, by their state and name."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            name, state, parent = (
                stat[stat.index("(") : stat.rindex(")") + 1],
                *stat[stat.rindex(")") + 2 :].split()[:2],
            )
            parents[int(entry)] = (int(parent), f"{state} {name}")
    found, waiting = [], [os.getpid()]
    while waiting:
        one = waiting.pop()
        below = [pid for pid, (parent, _) in parents.items() if parent == one]
        found += [parents[pid][1] for pid in below]
        waiting += below
    return sorted(found)


def living() -> dict[str, Any]:
    gc.collect()
    return {
        "descriptors": descriptors(),
        "threads": len(threading.enumerate()),
        "tasks": trio.lowlevel.current_statistics().tasks_living,
        "processes": children(),
    }


async def rounds_of(host: Any, number: int, rounds: int, asked: Counter[str], runs: Path) -> None:
    """Kill one server again and again; what is asked of it is counted by tool."""
    session, pid = host.session(), 0
    for index in range(rounds):
        result = await session.call(f"s{number}_pid")
        assert result.ok, result
        assert int(result.text) != pid
        pid = int(result.text)
        match index % 4:
            case 0 | 1:
                os.kill(pid, signal.SIGKILL)  # idle, and the next call may meet the dead pipe
            case 2:
                asked["die"] += 1
                result = await session.call(f"s{number}_die")
                assert result.error is not None
                assert result.error.code is ErrorCode.OUTCOME_UNKNOWN, result
            case _:
                asked["never"] += 1
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(lose, session, f"s{number}_never")
                    while runs.read_text().split().count("never") < asked["never"]:
                        asked["echo"] += 1
                        result = await session.call(f"s{number}_echo", {"said": "is it under way?"})
                        assert result.ok, result
                    os.kill(pid, signal.SIGKILL)


async def lose(session: Any, name: str) -> None:
    result = await session.call(name)
    assert result.error is not None
    assert result.error.code is ErrorCode.OUTCOME_UNKNOWN, result


@pytest.mark.unmeasured
async def test_hundreds_of_kills_leave_nothing_behind_and_repeat_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, thorough: bool
) -> None:
    rounds = ALL_ROUNDS if thorough else ROUNDS
    caplog.set_level("ERROR", "pegboard.mcp")  # hundreds of times the same warning
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    servers = {}
    for number in range(SERVERS):
        (tmp_path / f"s{number}").mkdir()
        args = ["-S", "-E", "-B", str(ROGUE), str(tmp_path / f"s{number}")]
        servers[f"s{number}"] = {
            "command": sys.executable,
            "args": args,
            "prefix": f"s{number}_",
            "timeout": 10,
            "request_timeout": 10,
        }
    asked: dict[int, Counter[str]] = {number: Counter() for number in range(SERVERS)}

    async def go(host: Any, rounds: int) -> None:
        async def one(number: int) -> None:
            await rounds_of(host, number, rounds, asked[number], tmp_path / f"s{number}" / "runs")

        async with trio.open_nursery() as nursery:
            for number in range(SERVERS):
                nursery.start_soon(one, number)
        for number in range(SERVERS):  # all of them are up again, and nothing is under way
            assert (await host.session().call(f"s{number}_pid")).ok
        await trio.testing.wait_all_tasks_blocked(0.05)

    before_host = living()
    with trio.fail_after(240):
        async with open_host({"plugins": {"mcp": {"servers": servers}}}, [plugin]) as host:
            await host.wait_for_sources()
            await go(host, 4)
            before = living()
            await go(host, rounds // SERVERS)
            after = living()
            # How many threads of trio's cache idle depends on how many jobs met; a leak would be one a kill.
            assert after.pop("threads") <= before.pop("threads") + SERVERS
            assert after == before
    after_host = living()
    assert after_host["processes"] == before_host["processes"]
    assert after_host["tasks"] == before_host["tasks"]
    for number in range(SERVERS):
        ran = Counter((tmp_path / f"s{number}" / "runs").read_text().split())
        for tool, times in asked[number].items():
            assert ran[tool] == times, tool
