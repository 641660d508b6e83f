"""`pegboard serve` on stdio is gone soon after its client, with all that it started, whatever a call is doing.

Everything here would take a minute if it were waited for; the limits are far below that, and far above what is promised
(`GONE_S`), for the sake of busy machines.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pegboard_mcp.server import stdio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_S = 150.0

PLUGIN = '''
import concurrent.futures, functools, os, pathlib, subprocess, sys, time
import trio
from pegboard import hookimpl, tool

def note(what, pid=None):
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{what} {pid or os.getpid()}\\n")

@tool
async def sleeping() -> str:
    """Sleep."""
    note("began")
    await trio.sleep(60)
    return "done"

@tool
async def shielded() -> str:
    """Sleep, and not be woken."""
    note("began")
    with trio.CancelScope(shield=True):
        await trio.sleep(60)
    return "done"

@tool(run="inplace")
def blocking() -> str:
    """Hold the loop."""
    note("began")
    time.sleep(60)
    return "done"

@tool(run="thread")
def busy() -> str:
    """Compute in a thread."""
    note("began")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    return "done"

@tool(run="thread")
def joined() -> str:
    """Hang in a thread that is joined at exit."""
    concurrent.futures.ThreadPoolExecutor().submit(time.sleep, 60)
    note("began")
    time.sleep(60)
    return "done"

@tool(run="process")
def working() -> str:
    """Compute in a worker process, beside a child of its own."""
    note("child", subprocess.Popen(["sleep", "60"]).pid)
    note("child")
    note("began")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pass
    return "done"

@tool
async def program() -> str:
    """Run a program that ignores SIGTERM."""
    code = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    async with trio.open_nursery() as nursery:
        start = functools.partial(trio.run_process, [sys.executable, "-c", code], stdout=subprocess.PIPE)
        process = await nursery.start(start)
        await process.stdout.receive_some(1)
        note("child", process.pid)
        note("began")
    return "done"

@hookimpl
def provide_tools(settings):
    return [sleeping, shielded, blocking, busy, joined, working, program]
'''
UPSTREAM = '''
import json, os, sys, time
def note(what):
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{what} {os.getpid()}\\n")
note("child")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        info = {"name": "u", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "deaf", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        note("began")
        time.sleep(60)
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''  # fmt: skip
CLIENT = """
import os, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
with open(os.environ["NOTES"], "a") as file:
    file.write(f"child {server.pid}\\n")
for line in sys.stdin.buffer:
    server.stdin.write(line)
    server.stdin.flush()
    print(server.stdout.readline().decode(), end="", flush=True)
"""
INIT = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
WORKING = pytest.param(
    "working",
    marks=pytest.mark.skipif(find_spec("trio_parallel") is None, reason="worker processes need pegboard[process]"),
)
KINDS = ["sleeping", "shielded", "blocking", "busy", "joined", WORKING, "program", "deaf"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(PLUGIN)
    (tmp_path / "upstream.py").write_text(UPSTREAM)
    info = tmp_path / "slow-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nslow = slow\n")
    server = {"command": sys.executable, "args": [str(tmp_path / "upstream.py")], "env": {"NOTES": f"{tmp_path}/notes"}}
    (tmp_path / "pegboard.toml").write_text(
        "timeout_s = 60\n[plugins.mcp.servers.up]\n"
        + "".join(f"{key} = {json.dumps(value).replace(': ', ' = ')}\n" for key, value in server.items())
    )
    return tmp_path


class Notes:
    """What tools and servers said of themselves."""

    def __init__(self, home: Path) -> None:
        self._file = home / "notes"

    def pids(self, what: str) -> list[int]:
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(what)]

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, self._file.read_text()
            time.sleep(0.02)


def lives(pid: int) -> bool:
    """Whether a process is there; one that nobody took in does not live."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


@contextlib.contextmanager
def calling(home: Path, tool: str, *through: str) -> Iterator[tuple[subprocess.Popen[bytes], Notes]]:
    """A server in the middle of a call of the tool."""
    notes = Notes(home)
    environment = {**os.environ, "PYTHONPATH": str(home), "HOME": str(home), "NOTES": str(home / "notes")}
    command = [sys.executable, "-m", "pegboard", "--plugin", "slow", "--plugin", "mcp"]
    command += ["--config", str(home / "pegboard.toml"), "serve"]
    process = subprocess.Popen(
        [*through, *command], cwd=home, env=environment | {"XDG_CONFIG_HOME": str(home / "config")},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(message: Any) -> None:
            process.stdin.write(json.dumps(message).encode() + b"\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]

        ask(INIT)
        assert json.loads(process.stdout.readline())["id"] == 0
        ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
        notes.until(lambda: notes.pids("began"))
        yield process, notes
    finally:
        for pid in [process.pid, *notes.pids("child")]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdin.close()  # type: ignore[union-attr]
        process.stdout.close()  # type: ignore[union-attr]


def test_what_is_promised_leaves_room_below_two_seconds() -> None:
    assert stdio.CLOSED_S < stdio.GONE_S <= 1.6


@pytest.mark.parametrize("tool", KINDS)
def test_a_client_that_closes_its_end_leaves_nothing_behind(home: Path, tool: str) -> None:
    with calling(home, tool) as (process, notes):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 0
        notes.until(lambda: not any(map(lives, notes.pids("child"))))


@pytest.mark.parametrize("tool", KINDS)
def test_a_client_that_is_killed_leaves_nothing_behind(home: Path, tool: str) -> None:
    client = home / "client.py"
    client.write_text(CLIENT)
    with calling(home, tool, sys.executable, str(client)) as (process, notes):
        process.kill()
        process.wait()
        notes.until(lambda: not any(map(lives, notes.pids("child"))))
