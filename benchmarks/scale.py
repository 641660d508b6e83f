"""Many machines in one process: hosts and workers of pegboard-nats on a simulated network, in virtual time.

    python benchmarks/scale.py                                  # 100 hosts, 1,000 workers, 10,000 tools
    python benchmarks/scale.py --hosts 200 --workers 4000       # other numbers
    python benchmarks/scale.py --phases start,rest --json       # some phases
    python benchmarks/scale.py --raise hosts                    # twice as many, until something breaks

Client, protocol module, worker, source and calls are the package's own, unchanged; sockets, the clock and the NATS
server are simulated (`reach/network.py`). The same seed gives the same figures, but for memory, which is measured.

What a machine spends on a message, and on a tool that it learns, was measured on a real one; more is not counted.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import logging
import os
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
import trio.testing
from reach.network import Cost, Machine, Network, here

import pegboard_nats.plugin
from pegboard import ErrorCode, Host, open_host, tool
from pegboard_nats import wire
from pegboard_nats.client import Servers, open_client
from pegboard_nats.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard import Tool

URL = "nats://10.0.0.1:4222"
OF_HOST = Cost(message=0.000_04, byte=0.000_000_2)
OF_WORKER = Cost(message=0.000_04)
SERVICE_S = 0.005
"""How long a tool takes."""


@attrs.frozen(kw_only=True)
class Plan:
    """What is simulated."""

    hosts: int = 100
    workers: int = 1_000
    tools: int = 10_000
    groups: int = 100
    groups_a_host: int = 10
    calls_s: float = 2.0
    """Calls a second of each host."""
    slow_hosts: int = 10
    """Hosts on a line of 1 Mbit/s with 100 ms of latency."""
    cut: float = 0.2
    """The share of workers that a partition takes away."""
    seed: int = 1
    concurrency: int = 16


done: Counter[str] = Counter()
"""Calls that each worker executed."""


def make_tool(name: str, build: int) -> Tool:
    """A tool as most are: a sentence, two or three parameters; it takes its time."""

    @tool(name=name, description=f"Do {name} with two numbers, and say how it went. Build {build}.")
    async def work(a: float, b: float, where: str = "here", often: int = 1) -> str:
        done[here.get().name] += 1
        await trio.sleep(SERVICE_S)
        return name

    return work


def spread(shares: list[int]) -> dict[str, float]:
    """How evenly something fell: the least and the most, against the mean; and Jain's index (1: all alike)."""
    mean = statistics.fmean(shares) or 1.0
    jain = sum(shares) ** 2 / (len(shares) * sum(one * one for one in shares) or 1)
    return {"least": min(shares) / mean, "most": max(shares) / mean, "jain": jain}


class System:
    """All machines, in one trio run."""

    def __init__(self, plan: Plan, network: Network, nursery: trio.Nursery) -> None:
        self.plan = plan
        self.network = network
        self.nursery = nursery
        self.random = random.Random(plan.seed)
        self.machines: dict[str, Machine] = {}
        self.hosts: dict[str, Host] = {}
        self.wanted: dict[str, int] = {}
        self.boards: list[Host] = []
        self.workers: dict[str, tuple[Worker, trio.CancelScope]] = {}

    # -- making

    async def add_boards(self, *, build: int) -> None:
        """The boards that workers serve from now on: those of one group are the same, and are one here."""
        self.boards = [await self.nursery.start(self._add_board, group, build) for group in range(self.plan.groups)]

    async def _add_board(self, group: int, build: int, task_status: trio.TaskStatus[Host]) -> None:
        async with open_host({}, []) as host:
            host.add(*self._tools(group, build=build))
            task_status.started(host)
            await trio.sleep_forever()

    def _tools(self, group: int, *, build: int) -> list[Tool]:
        each = self.plan.tools // self.plan.groups
        return [make_tool(f"tool_{group}_{number}", build if number == 0 else 0) for number in range(each)]

    async def add_worker(self, number: int, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """One worker, until it is killed."""
        name, group = f"worker{number}", number % self.plan.groups
        machine = self.machines.setdefault(name, Machine(name, OF_WORKER))
        here.set(machine)
        with trio.CancelScope() as scope:
            async with open_client(Servers(urls=(URL,), name=name)) as client:
                worker = Worker(
                    self.boards[group],
                    client,
                    wire.Subjects("pb", f"g{group}"),
                    concurrency=self.plan.concurrency,
                    drain_s=30,
                )
                self.workers[name] = worker, scope
                await worker.run(task_status)

    async def add_host(
        self, number: int, groups: list[int], task_status: trio.TaskStatus[Host] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """One host, which wants the tools of these groups."""
        name = f"host{number}"
        is_slow = 0 < number <= self.plan.slow_hosts
        line = {"latency_s": 0.1, "bytes_s": 125e3} if is_slow else {}
        here.set(self.machines.setdefault(name, Machine(name, OF_HOST, **line)))
        config = {"plugins": {"nats": {"servers": [URL], "groups": {f"g{one}": {} for one in groups}}}}
        self.wanted[name] = len(groups) * (self.plan.tools // self.plan.groups)
        async with open_host(config, [pegboard_nats.plugin]) as host:
            self.hosts[name] = host
            task_status.started(host)
            await trio.sleep_forever()

    # -- looking

    def has_all(self, name: str, host: Host) -> bool:
        """Whether the host has every tool of its groups."""
        return sum(one.startswith("tool_") for one in host.tools) >= self.wanted[name]

    def has_new(self, name: str, host: Host) -> bool:
        """Whether the host has the tools of the new build."""
        return all("Build 1" in one.description for tool, one in host.tools.items() if tool.endswith("_0"))

    def when(self, took: dict[str, float]) -> dict[str, Any]:
        """How long hosts took, those on slow lines apart."""
        slow = {f"host{number}" for number in range(1, self.plan.slow_hosts + 1)}
        fast = sorted(one for name, one in took.items() if name not in slow)
        figures = {"median_s": statistics.median(fast), "most_s": fast[-1]}
        late = [took[name] for name in slow & took.keys()]
        return figures | ({"slow_lines_most_s": max(late)} if late else {})

    async def until(self, name: str, is_so: Callable[[Host], bool]) -> float:
        """When a host's tools are so, in seconds from now."""
        began, host = trio.current_time(), self.hosts[name]
        while not is_so(host):
            await host.wait_source_moved()
        return trio.current_time() - began

    async def all_hosts(self, is_so: Callable[[str, Host], bool], within_s: float = 120) -> dict[str, float]:
        """When each host's tools are so; inf: not in that time."""
        took = dict.fromkeys(self.hosts, float("inf"))

        async def one(name: str) -> None:
            took[name] = await self.until(name, lambda host: is_so(name, host))

        with trio.move_on_after(within_s):
            async with trio.open_nursery() as nursery:
                for name in self.hosts:
                    nursery.start_soon(one, name)
        return took

    async def traffic(self, work: Callable[[], Awaitable[Any]]) -> tuple[Any, dict[str, Any]]:
        """What a piece of work gives, and what went over the lines while it was done."""
        before = {name: (one.came.copy(), one.sent.copy(), one.busy_s) for name, one in self.machines.items()}
        server = self.network.server.machine
        routed, began = server.came["messages"], trio.current_time()
        result = await work()
        seconds = max(trio.current_time() - began, 1e-9)
        figures: dict[str, Any] = {"server_messages_s": (server.came["messages"] - routed) / seconds}
        for kind in ("host", "worker"):
            now = [(self.machines[name], *rest) for name, rest in before.items() if name.startswith(kind)]
            messages = [one.came["messages"] - came["messages"] for one, came, _, _ in now]
            sizes = [one.came["bytes"] - came["bytes"] for one, came, _, _ in now]
            busy = [one.busy_s - busy_s for one, _, _, busy_s in now]
            if now:
                figures[f"{kind}_messages_s"] = statistics.fmean(messages) / seconds
                figures[f"{kind}_kb_s"] = statistics.fmean(sizes) / 1024 / seconds
                figures[f"{kind}_busy_most"] = max(busy) / seconds
        return result, figures

    # -- calling

    async def call_for(self, seconds: float, names: list[str]) -> dict[str, Any]:
        """Every host calls, at random moments; what became of it."""
        codes: Counter[str] = Counter()
        took: dict[str, list[float]] = {name: [] for name in names}
        lost: list[float] = []
        done.clear()
        end = trio.current_time() + seconds

        async def ask(name: str, offered: list[str], session: Any) -> None:
            began = trio.current_time()
            result = await session.call(self.random.choice(offered), {"a": 1, "b": 2})
            passed = trio.current_time() - began
            if result.error is None:
                codes["ok"] += 1
                took[name].append(passed)
            else:
                codes[result.error.code.value] += 1
                if result.error.code is ErrorCode.OUTCOME_UNKNOWN:
                    lost.append(passed)

        async with trio.open_nursery() as nursery:

            async def caller(name: str) -> None:
                host = self.hosts[name]
                session, offered = host.session(), [one for one in host.tools if one.startswith("tool_")]
                while offered and trio.current_time() < end:
                    await trio.sleep(self.random.expovariate(self.plan.calls_s))
                    nursery.start_soon(ask, name, offered, session)

            for name in names:
                nursery.start_soon(caller, name)
        whole = sorted(one for each in took.values() for one in each)
        figures: dict[str, Any] = {"calls": sum(codes.values()), **dict(sorted(codes.items()))}
        if whole:
            figures["median_ms"] = statistics.median(whole) * 1e3
            figures["p99_ms"] = whole[int(len(whole) * 0.99)] * 1e3
            figures["most_ms"] = whole[-1] * 1e3
        if lost:
            figures["unknown_after_most_s"] = max(lost)
        figures["worker_share"] = spread([done[name] for name in self.workers])
        return figures


# -- what is done with them


async def start(system: System) -> dict[str, Any]:
    """All workers start within five seconds, then all hosts at once: when has each all of its tools?"""
    plan = system.plan
    numbers = list(range(plan.workers))
    system.random.shuffle(numbers)

    async def start_workers() -> None:
        for number in numbers:
            system.nursery.start_soon(system.add_worker, number)
            await trio.sleep(5 / plan.workers)
        await trio.sleep(1)

    async def start_hosts() -> dict[str, float]:
        async with trio.open_nursery() as starting:
            for number in range(plan.hosts):
                groups = system.random.sample(range(plan.groups), min(plan.groups, plan.groups_a_host))
                starting.start_soon(system.nursery.start, system.add_host, number, sorted(groups))
        return await system.all_hosts(system.has_all)

    await start_workers()
    took, traffic = await system.traffic(start_hosts)
    return {**system.when(took), **traffic}


async def look_at_all(system: System) -> dict[str, Any]:
    """One host that wants every group's tools: when has it them, and what does it keep?"""
    gc.collect()
    before = resident()
    number, groups = system.plan.hosts, list(range(system.plan.groups))
    began = time.process_time()

    async def open_it() -> float:
        await system.nursery.start(system.add_host, number, groups)
        return await system.until(f"host{number}", lambda host: system.has_all(f"host{number}", host))

    took, traffic = await system.traffic(open_it)
    measured_s = time.process_time() - began
    gc.collect()
    kb = (resident() - before) / 1024 / system.plan.tools
    return {"s": took, "kb_a_tool (measured)": kb, "cpu_s (measured, the simulation's too)": measured_s, **traffic}


async def rest(system: System) -> dict[str, Any]:
    """A minute in which nothing happens."""
    return (await system.traffic(functools.partial(trio.sleep, 60)))[1]


async def call(system: System) -> dict[str, Any]:
    """Every host calls."""
    work = functools.partial(system.call_for, 20, list(system.hosts))
    return functools.reduce(dict.__or__, await system.traffic(work))


async def roll_out(system: System) -> dict[str, Any]:
    """Within half a minute every worker is replaced by one of another build, while calls go on."""
    plan = system.plan
    await system.add_boards(build=1)
    began = trio.current_time()
    over: dict[str, float] = {}
    figures: dict[str, Any] = {}

    async def replace_all() -> None:
        numbers = list(range(plan.workers))
        system.random.shuffle(numbers)
        for number in numbers:
            old, _ = system.workers[f"worker{number}"]
            await system.nursery.start(system.add_worker, number)
            old.drain()
            await trio.sleep(30 / plan.workers)
        ended = trio.current_time()
        took = await system.all_hosts(system.has_new)
        over.update(took)
        figures["replaced_within_s"] = ended - began

    async def both() -> dict[str, Any]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(replace_all)
            figures.update(await system.call_for(35, list(system.hosts)))
        return figures

    result, traffic = await system.traffic(both)
    return {**result, **system.when(over), **traffic}


async def partition(system: System) -> dict[str, Any]:
    """Some workers are cut off without a word, while calls go on; then they are back."""
    plan = system.plan
    lost = system.random.sample(sorted(system.workers), int(plan.workers * plan.cut))
    for name in lost:
        system.machines[name].cut()
    first = await system.call_for(20, list(system.hosts))
    await trio.sleep(20)
    later = await system.call_for(20, list(system.hosts))
    for name in lost:
        system.machines[name].heal()
    await trio.sleep(10)
    healed = await system.call_for(20, list(system.hosts))
    told = {"the first 20 s": first, "after 40 s": later, "10 s after it": healed}
    return {f"{name}: {key}": one[key] for name, one in told.items() for key in one if key != "worker_share"}


async def lose_server(system: System) -> dict[str, Any]:
    """The server ends and is back in a second: when does every worker serve again, and every host call?"""
    server = system.network.server

    async def back() -> float:
        server.stop()
        await trio.sleep(1)
        server.start()
        began = trio.current_time()
        wanted = system.plan.workers + len(system.hosts)
        while len(server.connections) < wanted:
            await trio.sleep(0.05)
        return trio.current_time() - began

    took, traffic = await system.traffic(back)
    _, after = await system.traffic(functools.partial(trio.sleep, 5))
    calls = await system.call_for(5, list(system.hosts))
    return {
        "connected_s": took,
        **{f"while they come: {key}": one for key, one in traffic.items()},
        **{f"5 s after it: {key}": one for key, one in after.items()},
        **calls,
    }


PHASES = (start, look_at_all, rest, call, roll_out, partition, lose_server)


BOUNDS = {
    "median_s": 2.0,
    "most_s": 2.0,
    "s": 2.0,
    "slow_lines_most_s": 119.0,
    "host_busy_most": 0.5,
    "worker_busy_most": 0.5,
    "server_messages_s": 1_000_000,
    "p99_ms": 1_000,
    "unknown_after_most_s": 1.5,
}
"""From where on a system no longer does what it should: seconds until tools are found, the share of a core that hearing
takes, what one server passes on (`nats bench` makes some millions a second), and the answers of calls."""


def past_bounds(figures: dict[str, Any]) -> list[str]:
    """Which figures are past their bounds."""
    return [f"{name} {figures[name]:,.3g}" for name, most in BOUNDS.items() if figures.get(name, 0) > most]


def resident() -> int:
    """What this process keeps, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def simulate(plan: Plan, phases: Any = PHASES, say: Any = lambda text: None) -> dict[str, dict[str, Any]]:
    """The figures of each phase."""
    random.seed(plan.seed)
    network = Network(plan.seed)
    trio.socket.set_custom_socket_factory(network)
    figures: dict[str, dict[str, Any]] = {}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(network.run)
        system = System(plan, network, nursery)
        await system.add_boards(build=0)
        gc.freeze()
        gc.set_threshold(100_000, 20, 100)  # a million objects stay; looking through them is most of the time
        for phase in phases:
            began, virtual = time.monotonic(), trio.current_time()
            figures[phase.__name__] = await phase(system)
            took = time.monotonic() - began
            passed = trio.current_time() - virtual
            say(f"{phase.__name__}: {passed:.1f} s in {took:.0f} s\n{show(figures[phase.__name__])}")
        nursery.cancel_scope.cancel()
    return figures


def show(figures: dict[str, Any]) -> str:
    """Figures, a line each."""

    def text(value: Any) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{name} {text(one)}" for name, one in value.items())
        return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}"

    return "\n".join(f"  {name}: {text(value)}" for name, value in figures.items())


def run(plan: Plan, **options: Any) -> dict[str, dict[str, Any]]:
    """Simulate in virtual time, the same at each run.

    Threads are run at once: virtual time knows nothing of how long they take. What measures how long something took
    measures virtual time too: a result tells it, and each digit takes its time on a narrow line.
    """
    trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING = True  # as trio's users of hypothesis do
    trio._core._run._r.seed(plan.seed)
    clock = trio.testing.MockClock(autojump_threshold=0)
    patched = pytest.MonkeyPatch()
    patched.setattr(trio.to_thread, "run_sync", _at_once)
    for module in (time, *(one for name, one in sys.modules.items() if name.startswith("pegboard"))):
        if getattr(module, "perf_counter", None) is not None:
            patched.setattr(module, "perf_counter", _now)
    try:
        return trio.run(functools.partial(simulate, plan, **options), clock=clock)
    finally:
        patched.undo()
        trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING = False


def _now() -> float:
    return trio.current_time()


async def _at_once(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    await trio.lowlevel.checkpoint()
    return function(*arguments)


def main() -> None:
    """Simulate what was asked for, and print the figures."""
    parser = argparse.ArgumentParser(description="Simulate many hosts and workers.")
    for field in attrs.fields(Plan):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default)
    parser.add_argument("--phases", default=",".join(one.__name__ for one in PHASES))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--raise", dest="rises", choices=("hosts", "workers", "tools", "calls_s"))
    options = vars(parser.parse_args())
    is_json, names, rises = options.pop("json"), options.pop("phases").split(","), options.pop("rises")
    os.environ["XDG_CACHE_HOME"] = os.devnull  # every host is a new one
    logging.disable(logging.WARNING)
    phases = [one for one in PHASES if one.__name__ in names]
    say = (lambda text: None) if is_json else functools.partial(print, flush=True)
    plan = Plan(**options)
    while True:
        figures = run(plan, phases=phases, say=say)
        if is_json:
            print(json.dumps(figures, indent=1))
        broken = [text for phase in figures.values() for text in past_bounds(phase)]
        say("past its bound: " + ("; ".join(broken) or "nothing"))
        if rises is None or broken:
            break
        plan = attrs.evolve(plan, **{rises: getattr(plan, rises) * 2})
        say(f"-- {rises}: {getattr(plan, rises):,}")


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of what happens
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    main()
