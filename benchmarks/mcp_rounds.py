"""Instances of `pegboard serve` behind a plain balancer: is every elicitation completed, and none lost or done twice?

    python benchmarks/mcp_rounds.py 1000                        # 2 instances, which reach each other over HTTP
    python benchmarks/mcp_rounds.py 1000 --instances 5 --nats   # 5, over NATS
    python benchmarks/mcp_rounds.py 300 --nats --kill 5         # and SIGKILL one of them after each 5 seconds

Each instance is a process of its own. The balancer hands each connection to the next of them and knows nothing more,
and each request is a connection, so that the rounds of a call meet different ones. The tool asks a person, and then
writes its name to a file, with one call of the system. In the end what was told as done was done once, and nothing else
was done but what was lost with an instance that was killed. A request that is answered `retry: same` is sent again, as
MCP clients do.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import trio
from kill_rounds import nats_server

if TYPE_CHECKING:
    from collections.abc import Iterator

CALLERS = 8
AGAIN_S = 0.2
START_S = 60.0
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
PLUGIN = """
import os
from pegboard import hookimpl, tool

out = os.open(os.environ["ROUNDS_OUT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

@tool(requires_confirmation=True)
async def drop(name: str) -> str:
    "Drop it."
    os.write(out, (name + "\\n").encode())
    return name

@hookimpl
def provide_tools(settings):
    return [drop]
"""


class Instance:
    """One process, at one port whatever becomes of it."""

    def __init__(self, folder: Path, number: int, port: int, config: str) -> None:
        self.port = port
        self.folder = folder / f"i{number}"
        self.folder.mkdir()
        self.config = self.folder / "config.toml"
        self.config.write_text(config.replace("NUMBER", str(number)))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, out: Path) -> None:
        """Start it; it serves a little later."""
        env = {**os.environ, "PYTHONPATH": str(self.folder.parent), "ROUNDS_OUT": str(out)}
        env |= {f"XDG_{name}_HOME": str(self.folder / name) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
        command = [
            sys.executable,
            "-m",
            "pegboard",
            "--config",
            str(self.config),
            "--plugin",
            "rounds",
            "--plugin",
            "mcp",
            "--plugin",
            "nats",
        ]
        command += ["serve", "--transport", "http", "--port", str(self.port)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=env, stderr=log)

    def kill(self) -> None:
        """End it as a power cut does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    async def wait(self) -> None:
        """Until it listens."""
        with trio.fail_after(START_S):
            while True:
                with contextlib.suppress(OSError):
                    await (await trio.open_tcp_stream("127.0.0.1", self.port)).aclose()
                    return
                if self.process is None or self.process.poll() is not None:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:])
                await trio.sleep(0.05)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def engine(folder: Path) -> Iterator[str]:
    """A NATS server, as long as the block runs."""
    port = free_port()
    config = folder / "nats.conf"
    config.write_text(f"listen: 127.0.0.1:{port}\njetstream {{ store_dir: {json.dumps(str(folder / 'streams'))} }}\n")
    with (folder / "nats.log").open("ab") as log:
        process = subprocess.Popen([nats_server(), "-c", str(config)], stdout=log, stderr=log)
    try:
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def balance(ports: list[int], client: trio.SocketStream, turns: Iterator[int]) -> None:
    """Hand a connection to the next instance that takes it."""
    for _ in ports:
        with contextlib.suppress(OSError):
            server = await trio.open_tcp_stream("127.0.0.1", ports[next(turns) % len(ports)])
            break
    else:
        await client.aclose()
        return
    async with client, server, trio.open_nursery() as nursery:

        async def copy(source: trio.SocketStream, target: trio.SocketStream) -> None:
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                async for data in source:
                    await target.send_all(data)
                await target.send_eof()

        nursery.start_soon(copy, client, server)
        await copy(server, client)
        nursery.cancel_scope.cancel()


class Run:
    """What callers were told."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.told: dict[str, str] = {}
        self.again: Counter[str] = Counter()

    async def post(self, params: dict[str, Any]) -> Any:
        """A call; the message that answers it, or an error of the way to it."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "drop", **params, "_meta": META},
        }
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        headers |= {"mcp-method": "tools/call", "mcp-name": "drop", "connection": "close"}
        async with httpx2.AsyncClient(timeout=60, verify=False, trust_env=False) as client:
            answer = await client.post(self.url, json=message, headers=headers)
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1] if lines else answer.text)

    async def ask(self, params: dict[str, Any]) -> Any:
        """The same, sent again where that is allowed."""
        while True:
            try:
                answer = await self.post(params)
            except (httpx2.HTTPError, ValueError):
                return {"error": {"message": "the connection broke"}}
            data = answer.get("error", {}).get("data") or {}
            if data.get("retry") != "same":
                return answer
            self.again[data["reason"]] += 1
            await trio.sleep(AGAIN_S)

    async def round(self, name: str) -> None:
        """One call that asks, answered with yes."""
        arguments = {"arguments": {"name": name}}
        asked = await self.ask(arguments)
        if "error" in asked:
            self.told[name] = "not begun"
            return
        state = asked["result"]
        answers = {key: {"action": "accept", "content": {}} for key in state["inputRequests"]}
        done = await self.ask({**arguments, "requestState": state["requestState"], "inputResponses": answers})
        if "result" in done and not done["result"].get("isError"):
            self.told[name] = "done"
        else:
            data = done.get("error", {}).get("data") or {}
            self.told[name] = data.get("code", "broke")

    async def callers(self, rounds: int) -> None:
        """All rounds, several at once."""
        names = iter([f"n{number}" for number in range(rounds)])

        async def one() -> None:
            for name in names:
                await self.round(name)

        async with trio.open_nursery() as nursery:
            for _ in range(CALLERS):
                nursery.start_soon(one)


async def main(options: argparse.Namespace, folder: Path, nats: str | None) -> int:
    """Run it; the exit status."""
    ports = [free_port() for _ in range(options.instances)]
    others = "".join(f'i{number} = "http://127.0.0.1:{port}"\n' for number, port in enumerate(ports))
    carried = f'carrier = "nats"\n[plugins.nats]\nservers = ["{nats}"]\n'
    config = '[plugins.mcp]\nstate_key = "a key for all of them"\ninstance = "iNUMBER"\n'
    config += f"[plugins.mcp.instances]\n{others}" if nats is None else carried
    (folder / "rounds.py").write_text(PLUGIN)
    info = folder / "rounds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rounds\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nrounds = rounds\n")
    out, kills = folder / "out", 0
    instances = [Instance(folder, number, port, config) for number, port in enumerate(ports)]
    try:
        async with trio.open_nursery() as nursery:
            for one in instances:
                one.start(out)
            for one in instances:
                await one.wait()
            turns = itertools.count()
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            run = Run(f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/mcp")
            nursery.start_soon(trio.serve_listeners, lambda client: balance(ports, client, turns), listeners)

            async def kill() -> None:
                nonlocal kills
                while True:
                    await trio.sleep(options.kill)
                    one = random.choice(instances)
                    one.kill()
                    kills += 1
                    one.start(out)
                    await one.wait()

            if options.kill:
                nursery.start_soon(kill)
            began = time.perf_counter()
            await run.callers(options.rounds)
            took_s = time.perf_counter() - began
            nursery.cancel_scope.cancel()
    finally:
        for one in instances:
            one.kill()
    done = Counter(out.read_text().split())
    told = Counter(run.told.values())
    wrong = [name for name, count in done.items() if count > 1]
    wrong += [name for name, what in run.told.items() if (what == "done") and not done[name]]
    wrong += [name for name, what in run.told.items() if what == "not begun" and done[name]]
    way = "HTTP" if nats is None else "NATS"
    print(f"{options.rounds} rounds, {options.instances} instances over {way}, {kills} killed, {took_s:.1f} s:")
    print(f"told: {dict(told)}")
    print(f"sent again: {dict(run.again)}; done: {len(done)}; wrong: {wrong[:10] or 'none'}")
    return int(bool(wrong) or (not kills and told["done"] != options.rounds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", type=int, nargs="?", default=1_000)
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--nats", action="store_true", help="reach each other over NATS, not over HTTP")
    parser.add_argument("--kill", type=float, metavar="S", help="SIGKILL one of them after each so many seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pb", dir="/tmp") as path:
        folder = Path(path)
        with engine(folder) if options.nats else contextlib.nullcontext(None) as url:
            sys.exit(trio.run(partial(main, options, folder, url)))
