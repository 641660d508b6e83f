"""What a call to another process costs either side: pegboard-nats, beside what else does it.

    python benchmarks/reach_cost.py                                 # what is installed here
    python benchmarks/reach_cost.py --peers VENV --redis PROGRAM    # Celery and Ray Serve out of a venv of their own

All do the same work, `add(1, 2)`, 64 calls at once; contestants are asked in turn, a second each, so that a machine
that slows down slows all of them. CPU is that of the process, all threads, read from /proc; a NATS server, Redis and
Ray's own daemons are not counted. Peers promise less: a request of nats-py validates nothing, and no other tells a call
that was lost from one that was not done.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.util
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kill_rounds import nats_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

HERE = Path(__file__).parent
AT_ONCE = 64
SECONDS = 1.0
ROUNDS = 5
OURS = ("client", "thin", "trusted", "pegboard")
NAMES = (*OURS, "nats-py", "mcp-http", "celery", "ray")
WHAT = {
    "client": "pegboard-nats: `Client.request` alone",
    "thin": "`session.call` on both sides with `Client.request` between",
    "trusted": "pegboard-nats: `session.call`, group with `trusted = true`",
    "pegboard": "pegboard-nats: `session.call`",
    "nats-py": "nats-py: `request`",
    "mcp-http": "MCP over HTTP: `pegboard serve --transport http`, raw bytes",
    "celery": "Celery, Redis",
    "ray": "Ray Serve: `handle.remote`",
}
PEERS = {"celery", "ray"}


# -- servers: each prints its process id once it serves


def serve(name: str, address: str) -> None:
    """Serve until killed."""
    if name in OURS:
        import trio

        trio.run(_serve_pegboard, name, address)
    elif name == "nats-py":
        asyncio.run(_serve_nats_py(address))
    elif name == "celery":
        _celery(address).worker_main(
            ["worker", "--pool=solo", "--loglevel=ERROR", "--without-gossip", "--without-mingle"]
        )


async def _serve_pegboard(name: str, address: str) -> None:
    import trio

    from pegboard import open_host, tool
    from pegboard_nats import wire
    from pegboard_nats.client import Servers, open_client
    from pegboard_nats.worker import Worker

    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async with open_host({}, []) as host, open_client(Servers(urls=(address,))) as client, trio.open_nursery() as tasks:
        if name == "thin":
            host.add(add)

            async def call(message: Any) -> None:
                result = await host.session().call("add", json.loads(message.payload))
                client.publish_nowait(message.reply, json.dumps(result.to_json()).encode())

            await client.wait_connected()
            client.subscribe("cost.thin", lambda message: tasks.start_soon(call, message), queue="workers")
            await client.flush()
            print(os.getpid(), flush=True)
            await trio.sleep_forever()
        if name == "client":

            def answer(message: Any) -> None:
                given = json.loads(message.payload)
                client.publish_nowait(message.reply, json.dumps({"result": given["a"] + given["b"]}).encode())

            await client.wait_connected()
            client.subscribe("cost.client", answer, queue="workers")
            await client.flush()
            print(os.getpid(), flush=True)
            await trio.sleep_forever()
        host.add(add)
        worker = Worker(host, client, wire.Subjects("pb", f"cost-{name}"), concurrency=256, drain_s=1)
        async with trio.open_nursery() as nursery:
            await nursery.start(worker.run)
            print(os.getpid(), flush=True)


async def _serve_nats_py(address: str) -> None:
    import nats

    link = await nats.connect(address)

    async def answer(message: Any) -> None:
        given = json.loads(message.data)
        await message.respond(json.dumps({"result": given["a"] + given["b"]}).encode())

    await link.subscribe("cost.nats-py", queue="workers", cb=answer)
    await link.flush()
    print(os.getpid(), flush=True)
    await asyncio.Event().wait()


def _celery(address: str) -> Any:
    import celery

    app = celery.Celery("cost", broker=address, backend=address)
    app.conf.worker_hijack_root_logger = False

    @app.task(name="add")
    def add(a: int, b: int) -> int:
        return a + b

    @celery.signals.worker_ready.connect(weak=False)
    def ready(**_: Any) -> None:
        print(os.getpid(), file=sys.__stdout__, flush=True)  # its own it logs

    return app


# -- clients: each prints a line for every line it reads: what it measured in that second


def load(name: str, address: str) -> None:
    """Measure whenever a line comes."""
    if name in OURS:
        import trio

        trio.run(_load_pegboard, name, address)
    elif name == "nats-py":
        asyncio.run(_load_nats_py(address))
    elif name == "mcp-http":
        _load_mcp(address)
    elif name == "celery":
        _load_celery(address)
    elif name == "ray":
        _load_ray()


def told(calls: int, cpu_s: float, wall_s: float) -> None:
    """One measurement."""
    print(json.dumps({"calls": calls, "cpu_s": cpu_s, "wall_s": wall_s}), flush=True)


class Meter:
    """Of one second."""

    def __enter__(self) -> Meter:
        self.calls, self._cpu, self._wall = 0, time.process_time(), time.perf_counter()
        self.until = self._wall + SECONDS
        return self

    @property
    def goes_on(self) -> bool:
        """Whether the second is not over."""
        return time.perf_counter() < self.until

    def __exit__(self, *_: object) -> None:
        told(self.calls, time.process_time() - self._cpu, time.perf_counter() - self._wall)


async def _load_pegboard(name: str, address: str) -> None:
    import trio

    import pegboard_nats.plugin
    from pegboard import open_host, tool
    from pegboard_nats.client import Servers, open_client

    async def measure(one: Callable[[], Awaitable[Any]]) -> None:
        async def caller(meter: Meter) -> None:
            while meter.goes_on:
                await one()
                meter.calls += 1

        while await trio.to_thread.run_sync(sys.stdin.readline):
            with Meter() as meter:
                async with trio.open_nursery() as nursery:
                    for _ in range(AT_ONCE):
                        nursery.start_soon(caller, meter)

    if name == "client":
        async with open_client(Servers(urls=(address,))) as client:
            await client.wait_connected()
            payload = b'{"a":1,"b":2}'

            async def ask() -> None:
                assert json.loads((await client.request("cost.client", payload)).payload) == {"result": 3}

            await measure(ask)
        return
    groups = {} if name == "thin" else {f"cost-{name}": {"trusted": name == "trusted"}}
    config = {"plugins": {"nats": {"servers": [address], "groups": groups}}}
    async with open_host(config, [pegboard_nats.plugin]) as host, open_client(Servers(urls=(address,))) as client:

        @tool
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            reply = await client.request("cost.thin", json.dumps({"a": a, "b": b}).encode())
            return int(json.loads(reply.payload)["data"]["result"])

        if name == "thin":
            await client.wait_connected()
            host.add(add)
        while "add" not in host.tools:
            await host.wait_source_moved()
        session = host.session()

        async def call() -> None:
            result = await session.call("add", {"a": 1, "b": 2})
            assert result.data == {"result": 3}, result

        await measure(call)


async def _load_nats_py(address: str) -> None:
    import nats

    link = await nats.connect(address)

    async def caller(meter: Meter) -> None:
        while meter.goes_on:
            answer = await link.request("cost.nats-py", b'{"a":1,"b":2}', timeout=5)
            assert json.loads(answer.data) == {"result": 3}
            meter.calls += 1

    while await asyncio.to_thread(sys.stdin.readline):
        with Meter() as meter:
            await asyncio.gather(*(caller(meter) for _ in range(AT_ONCE)))


def _load_mcp(address: str) -> None:
    from types import SimpleNamespace

    from driver.wire import MODERN, HttpLoad

    calls = 500
    server = SimpleNamespace(port=int(address), server=SimpleNamespace(tool="bench_add_async"), cpu_us=lambda: 0.0)
    server.process = SimpleNamespace(poll=lambda: None)
    http = HttpLoad(server, MODERN, AT_ONCE)
    while sys.stdin.readline():
        with Meter() as meter:
            http.run(calls)
            meter.calls = calls


def _load_celery(address: str) -> None:
    add = _celery(address).tasks["add"]
    while sys.stdin.readline():
        with Meter() as meter:
            while meter.goes_on:
                asked = [add.delay(1, 2) for _ in range(AT_ONCE)]
                for one in asked:
                    assert one.get(timeout=30) == 3
                    meter.calls += 1


def _load_ray() -> None:
    import ray
    from ray import serve

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    @serve.deployment(max_ongoing_requests=256)
    class Adder:
        async def add(self, a: int, b: int) -> int:
            return a + b

        async def pid(self) -> int:
            return os.getpid()

    handle = serve.run(Adder.bind())
    print(handle.pid.remote().result(), flush=True)
    while sys.stdin.readline():
        with Meter() as meter:
            while meter.goes_on:
                asked = [handle.add.remote(1, 2) for _ in range(AT_ONCE)]
                for one in asked:
                    assert one.result() == 3
                    meter.calls += 1


# -- the program


class Contestant:
    """A server and its client, as processes."""

    def __init__(self, name: str, python: str, address: str, folder: Path) -> None:
        self.name = name
        self._log = (folder / f"{name}.log").open("ab")
        self._python = python
        self._address = address
        self.server: subprocess.Popen[str] | None = None
        self.pid = 0
        self.rounds: list[dict[str, float]] = []
        if name == "mcp-http":
            self.server = self._serve_http(folder)
            self.pid = self.server.pid
        elif name != "ray":  # whose client starts it
            self.server = self._start("serve")
            self.pid = self._told_pid(self.server)
        self.client = self._start("load")
        if name == "ray":
            self.pid = self._told_pid(self.client)
        self.measure()  # to warm it
        self.rounds.clear()

    def _start(self, verb: str) -> subprocess.Popen[str]:
        command = [self._python, __file__, verb, self.name, self._address]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True)

    def _serve_http(self, folder: Path) -> subprocess.Popen[str]:
        """The program, with the plugin of the other benchmarks as if it were installed."""
        plugin = HERE / "fixture_plugin" / "src"
        about = folder / "pegboard_bench_fixture-0.1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: pegboard-bench-fixture\nVersion: 0.1.0\n")
        (about / "entry_points.txt").write_text("[pegboard]\nbench = pegboard_bench_fixture\n")
        command = [
            str(Path(sys.executable).with_name("pegboard")),
            "serve",
            "--transport",
            "http",
            "--port",
            self._address,
        ]
        env = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{plugin}"}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self._log, stderr=self._log, text=True, env=env)

    def _line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended; see {self._log.name}")
        return line

    def _told_pid(self, process: subprocess.Popen[str]) -> int:
        while not (line := self._line(process)).strip().isdigit():
            pass  # a banner
        return int(line)

    def measure(self) -> None:
        """One round."""
        before = cpu_of(self.pid)
        assert self.client.stdin is not None
        self.client.stdin.write("\n")
        self.client.stdin.flush()
        said = json.loads(self._line(self.client))
        said["server_cpu_s"] = cpu_of(self.pid) - before
        self.rounds.append(said)

    def end(self) -> None:
        """End both."""
        assert self.client.stdin is not None
        self.client.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.client.wait(10)  # Ray ends what it has started
        for one in (self.client, self.server):
            if one is not None:
                one.kill()
                one.wait()
        self._log.close()

    def figures(self) -> dict[str, float]:
        """Medians: CPU of a call on either side, in us, and calls a second of one core of the server."""
        each = [
            (one["cpu_s"] / one["calls"] * 1e6, one["server_cpu_s"] / one["calls"] * 1e6, one["calls"] / one["wall_s"])
            for one in self.rounds
        ]
        client, server, calls = (statistics.median(column) for column in zip(*each, strict=True))
        return {"client_us": client, "server_us": server, "calls_s": calls, "calls_a_core": 1e6 / server}


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def program(command: list[str], port: int, **options: Any) -> Iterator[None]:
    """A server for as long as the block runs."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main() -> None:
    """Measure whoever is there, in turn, and print the figures."""
    if sys.argv[1:2] == ["serve"]:
        serve(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["load"]:
        load(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description="What a call to another process costs either side.")
    parser.add_argument("--peers", type=Path, help="a venv with celery[redis] and ray[serve]")
    parser.add_argument("--redis", help="redis-server, where it is not on the path")
    parser.add_argument("--only", type=lambda text: text.split(","), default=NAMES, help="of: " + ", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["XDG_CACHE_HOME"] = str(folder)
        contestants, skipped = _contestants(stack, folder, options)
        for _ in range(options.rounds):
            for one in contestants:
                one.measure()
        print(report(contestants, skipped))


def _contestants(
    stack: contextlib.ExitStack, folder: Path, options: argparse.Namespace
) -> tuple[list[Contestant], dict[str, str]]:
    """Those that can be started, and why the others cannot."""
    nats_port, redis_port, mcp_port = free_port(), free_port(), free_port()
    addresses = dict.fromkeys((*OURS, "nats-py"), f"nats://127.0.0.1:{nats_port}")
    addresses |= {"celery": f"redis://127.0.0.1:{redis_port}/0", "ray": "-", "mcp-http": str(mcp_port)}
    stack.enter_context(program([nats_server(), "-a", "127.0.0.1", "-p", str(nats_port)], nats_port))
    if redis := options.redis or shutil.which("redis-server"):
        stack.enter_context(program([redis, "--port", str(redis_port), "--save", ""], redis_port, cwd=folder))
    contestants, skipped = [], {}
    for name in options.only:
        python = str(options.peers / "bin" / "python") if name in PEERS and options.peers else sys.executable
        if name == "celery" and not redis:
            skipped[name] = "redis-server is not installed"
            continue
        if name in PEERS and not options.peers and importlib.util.find_spec(name) is None:
            skipped[name] = "not installed; name a venv with --peers"
            continue
        try:
            one = Contestant(name, python, addresses[name], folder)
        except RuntimeError as problem:
            skipped[name] = f"{problem}: {(folder / f'{name}.log').read_text()[-300:].strip()}"
        else:
            stack.callback(one.end)
            contestants.append(one)
    return contestants, skipped


def report(contestants: list[Contestant], skipped: dict[str, str]) -> str:
    """The table: CPU, and as ratios to `session.call` of the same round's neighbours."""
    figures = {one.name: one.figures() for one in contestants}
    ours = figures["pegboard"]
    lines = [
        "| one call of `add`, 64 at once | client | worker | client, ratio | worker, ratio | calls/s a worker core |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, one in figures.items():
        lines.append(
            f"| {WHAT[name]} | {one['client_us']:.0f} us | {one['server_us']:.0f} us "
            f"| {one['client_us'] / ours['client_us']:.2f} x | {one['server_us'] / ours['server_us']:.2f} x "
            f"| {one['calls_a_core']:,.0f} |"
        )
    lines += [f"{WHAT[name]}: left out: {why}" for name, why in skipped.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
