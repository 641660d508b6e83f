"""Runs in a contestant's own venv and times what the driver asks for, one JSON line in, one JSON line out.

A batch is one contestant's calls in a row, between two readings of the process' CPU clock, after a garbage collection.
The driver asks the workers in turn, so that what the machine does meanwhile meets all of them alike.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from contestants import Path
from workload import MANY_ARGS, many_functions, some_names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from contestants import Contestant

TARGET_S = 0.06
"""How long one timed batch of calls should take: long enough for the clock, too short for the machine to drift."""


def _resident_bytes() -> int:
    with open("/proc/self/statm") as statm:  # noqa: PTH123 - one read, nothing to join
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


async def _timed(
    call: Callable[[], Awaitable[Any]], count: int, settle: Callable[[], Awaitable[Any]] | None = None
) -> dict[str, float]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        await call()
    wall = time.perf_counter() - wall
    if settle is not None:
        await settle()
    cpu = time.process_time() - cpu
    return {"cpu_us": cpu / count * 1e6, "wall_us": wall / count * 1e6, "count": count}


class Worker:
    """Answers the driver's requests; `registry` is what the last `build` made."""

    def __init__(self, contestant: Contestant) -> None:
        self.contestant = contestant
        self.many: Any = None

    async def describe(self) -> dict[str, Any]:
        """What can be timed here."""
        contestant = self.contestant
        return {
            "calls": list(contestant.calls),
            "parallels": list(contestant.parallels),
            "registries": list(contestant.registries),
            "loops": list(contestant.loops),
            "exports": list(contestant.exports),
        }

    async def call(self, path: str, tool: str, count: int | None = None) -> dict[str, float]:
        """One batch of calls; without a count, as many as fill the target time."""
        call = self.contestant.calls[Path(path, tool)]
        if count is None:
            await _timed(call, 3)
            probe = await _timed(call, 5)
            count = max(3, min(200_000, int(TARGET_S * 1e6 / max(probe["wall_us"], 0.05))))
            await _timed(call, count // 4 + 1, self.contestant.settle)
        return await _timed(call, count, self.contestant.settle)

    async def loop(self, path: str, rounds: int, calls: int, count: int | None = None) -> dict[str, float]:
        """One batch of conversations; without a count, as many as fill the target time."""
        run = self.contestant.loops[path]

        async def one() -> None:
            await run(rounds, calls)

        if count is None:
            await _timed(one, 2)
            probe = await _timed(one, 3)
            count = max(2, min(20_000, int(TARGET_S * 1e6 / max(probe["wall_us"], 0.5))))
        return await _timed(one, count)

    async def export(self, dialect: str, tools: int) -> dict[str, float]:
        """Export `tools` tools for the first time, and once more."""
        export = self.contestant.exports[dialect](many_functions(tools, dialect.replace("-", "_")))
        costs = []
        for _ in range(2):
            gc.collect()
            cpu = time.process_time()
            definitions = export()
            costs.append((time.process_time() - cpu) * 1e3)
            assert len(definitions) == tools
        return {"first_ms": costs[0], "again_ms": costs[1]}

    async def parallel(self, path: str, count: int) -> dict[str, float]:
        """`count` calls at once, once; a short run before it warms up."""
        run = self.contestant.parallels[path]
        await run(10)
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        await run(count)
        return {"cpu_ms": (time.process_time() - cpu) * 1e3, "wall_ms": (time.perf_counter() - wall) * 1e3}

    async def build(self, registry: str, tools: int) -> dict[str, float]:
        """Register `tools` functions in one go."""
        build, listing, _ = self.contestant.registries[registry]
        functions = many_functions(tools)
        build(many_functions(2, "warm"))
        gc.collect()
        before, cpu = _resident_bytes(), time.process_time()
        self.many = build(functions)
        cpu = time.process_time() - cpu
        gc.collect()
        resident = _resident_bytes() - before
        listed_cpu = time.process_time()
        listed = await listing(self.many)
        listed_cpu = time.process_time() - listed_cpu
        assert len(listed) >= tools, f"{len(listed)} of {tools} tools were listed"
        return {
            "register_us": cpu / tools * 1e6,
            "kb_per_tool": resident / tools / 1024,
            "first_list_ms": listed_cpu * 1e3,
        }

    async def list_many(self, registry: str) -> dict[str, float]:
        """List what was built, once more."""
        listing = self.contestant.registries[registry].listing
        gc.collect()
        cpu = time.process_time()
        await listing(self.many)
        return {"list_ms": (time.process_time() - cpu) * 1e3}

    async def call_many(self, registry: str, tools: int, repeat: int = 1) -> dict[str, float]:
        """Call a hundred of the tools by name, `repeat` times; the caller warms them up with a first round."""
        call = self.contestant.registries[registry].call
        names = some_names(tools) * repeat
        gc.collect()
        cpu = time.process_time()
        for name in names:
            await call(self.many, name, dict(MANY_ARGS))
        return {"call_us": (time.process_time() - cpu) / len(names) * 1e6}


async def serve(module: Any, answers: Any) -> None:
    """Answer requests until stdin ends."""
    async with module.open_contestant() as contestant:
        worker = Worker(contestant)
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = await getattr(worker, request.pop("op"))(**request)
            except Exception as problem:
                traceback.print_exc()
                answer = {"error": f"{type(problem).__name__}: {problem}"[:300]}
            print(json.dumps(answer), file=answers, flush=True)


def main() -> None:
    """`worker.py MODULE`: the module of `contestants` to run."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not meet the protocol
    module = importlib.import_module(f"contestants.{sys.argv[1]}")
    if module.RUNNER == "trio":
        import trio

        trio.run(serve, module, answers)
    else:
        import asyncio

        asyncio.run(serve(module, answers))


if __name__ == "__main__":
    main()
