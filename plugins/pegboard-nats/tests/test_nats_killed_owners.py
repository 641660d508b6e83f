"""Tasks whose process is killed: whoever asks another instance hears of an end, whatever keeps and carries them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trio

pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")

import httpx2

from pegboard_mcp.server.tasks import ALIVE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import NatsServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX alone")

INSTANCE = """
import functools, json, pathlib, sys
import trio
import pegboard_nats.plugin
from pegboard import CallContext, hookimpl, open_host, tool
from pegboard_mcp import plugin as mcp_plugin
from pegboard_mcp.server import tasks
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.server.peer import peer_of
from pegboard_mcp.settings import McpSettings

config, port, later = json.loads(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])

class Clock:
    time = staticmethod(lambda time=tasks.time.time: time() + (float(later.read_text()) if later.exists() else 0))

tasks.time = Clock  # later than it is, where the test says so: nobody has to wait

class Tools:
    @hookimpl
    def provide_tools(self, settings):
        @tool(timeout_s=600)
        async def job(context: CallContext, how: str) -> str:
            "Become a task."
            peer = peer_of(context)
            await peer.start_task()
            if how == "asks":
                await peer.elicit("Sure?", key="q")
            elif how == "works":
                await trio.sleep_forever()
            return "done"
        return [job]

async def hang(self, task, record):
    await trio.sleep_forever()

async def main():
    tasks.Tasks._keep = hang  # it is killed while it writes down what the task came to
    async with open_host(config, [Tools(), mcp_plugin, pegboard_nats.plugin]) as host, trio.open_nursery() as nursery:
        run = functools.partial(serve_http, host, transport="http", bind="127.0.0.1", port=port, user_id=None)
        url = await nursery.start(functools.partial(run, settings=McpSettings(**config["plugins"]["mcp"])))
        print(url, flush=True)

trio.run(main)
"""
PREFIX = "io.modelcontextprotocol/"
META = {
    f"{PREFIX}protocolVersion": "2026-07-28",
    f"{PREFIX}clientCapabilities": {"elicitation": {}, "extensions": {f"{PREFIX}tasks": {}}},
}
# How a task is made, and what it says of itself as long as its process lives.
STATES = {"works": "working", "asks": "input_required", "writes": "completed"}


class Pair:
    """Two instances on one machine, each a process, that know of each other."""

    def __init__(self, kind: str, server: NatsServer, folder: Path, group: str) -> None:
        self.kind = kind
        self.folder, self.later = folder, folder / "later"
        self.ports = {name: _free_port() for name in "ab"}
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.mcp: dict[str, Any] = {"state_key": "a key that all share", "task_store": kind, "task_after_s": 30.0}
        if kind == "nats":
            self.mcp["carrier"] = "nats"
        else:
            self.mcp["instances"] = {name: f"http://127.0.0.1:{port}" for name, port in self.ports.items()}
        self.nats = {"servers": [server.url], "prefix": group, "alive_s": 0.2}

    async def start(self, name: str) -> None:
        config = {"plugins": {"mcp": {**self.mcp, "instance": name}, "nats": self.nats}}
        command = [sys.executable, "-c", INSTANCE, json.dumps(config), str(self.ports[name]), str(self.later)]
        env = os.environ | {"XDG_STATE_HOME": str(self.folder)}
        process = self.processes[name] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        assert process.stdout is not None
        assert await trio.to_thread.run_sync(process.stdout.readline)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)

    async def ask(self, name: str, method: str, params: Any) -> Any:
        """A request to that one; its result, or its error."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        headers |= {"mcp-method": method, "mcp-name": str(params.get("taskId") or params.get("name"))}
        async with httpx2.AsyncClient(timeout=30, verify=False, trust_env=False) as raw:
            answer = await raw.post(f"http://127.0.0.1:{self.ports[name]}/mcp", json=message, headers=headers)
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        found = json.loads(lines[-1] if lines else answer.text)
        return found.get("result") or found["error"]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def pair(request: pytest.FixtureRequest, nats_server: NatsServer, tmp_path: Path, group: str) -> Iterator[Pair]:
    both = Pair(request.param, nats_server, tmp_path, group)
    try:
        yield both
    finally:
        for name in tuple(both.processes):
            both.kill(name)


@pytest.mark.parametrize("pair", ["nats", "sqlite", "memory"], indirect=True)
async def test_a_task_whose_process_was_killed_comes_to_an_end_for_whoever_asks(pair: Pair) -> None:
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for name in "ab":
                nursery.start_soon(pair.start, name)
        ids = []
        for how, status in STATES.items():
            made = await pair.ask("a", "tools/call", {"name": "job", "arguments": {"how": how}})
            ids.append(made["taskId"])
            while (await pair.ask("b", "tasks/get", {"taskId": ids[-1]}))["status"] != status:
                await trio.sleep(0.05)
        pair.kill("a")
        for id_ in ids:  # its process may be on its way back: the same request may be sent again
            away = await pair.ask("b", "tasks/get", {"taskId": id_})
            assert (away["data"]["details"]["reason"], away["data"]["details"]["retry"]) == ("instance", "same")
        pair.later.write_text(str(ALIVE_S))
        for id_ in ids:
            state = await pair.ask("b", "tasks/get", {"taskId": id_})
            if pair.kind == "memory":  # `a` alone would know more
                assert state["data"] == away["data"]
            else:
                assert (state["status"], state["error"]["data"]["code"]) == ("failed", "OUTCOME_UNKNOWN")
                given_up = await pair.ask("b", "tasks/cancel", {"taskId": id_})
                assert given_up["resultType"] == "complete"
        pair.later.unlink()
        await pair.start("a")  # who has its place knows that it is gone, at once
        for id_ in ids:
            for name in "ab":
                state = await pair.ask(name, "tasks/get", {"taskId": id_})
                error = state if pair.kind == "memory" else state["error"]
                assert error["data"]["code"] == "OUTCOME_UNKNOWN", (name, state)
