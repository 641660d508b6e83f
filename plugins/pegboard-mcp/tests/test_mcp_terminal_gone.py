"""A terminal that is closed ends `pegboard serve` in order: calls are answered, and no child is left."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

PLUGIN = '''
import os
import trio
from pegboard import hookimpl, tool

@tool
async def brief() -> str:
    """Take a moment, and say so."""
    open(os.environ["BEGUN"], "w").close()
    await trio.sleep(1)
    return "done"

@hookimpl
def provide_tools(settings):
    return [brief]
'''
CONFIG = """
[plugins.mcp.servers.stays]
command = {python}
args = [{server}]
"""
AS_LEADER = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@contextlib.contextmanager
def typed(folder: Path, command: list[str]) -> Iterator[int]:
    """Type it into a shell at a terminal, whose other end this is; all that it started is gone afterwards."""
    ours, theirs = os.openpty()
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash")
    env = {**os.environ, "PYTHONPATH": str(folder), "HOME": str(folder), "BEGUN": str(folder / "begun")}
    leader = [sys.executable, "-c", AS_LEADER, shell, "--norc", "-i"]
    process = subprocess.Popen(
        leader, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        os.write(ours, (shlex.join(command) + "\n").encode())
        yield ours
    finally:
        for pid in started_in(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(30)


SERVER = Path(__file__).parent / "servers" / "sdk.py"


def started_in(folder: Path) -> list[int]:
    """All processes that work in it."""
    found = []
    for cwd in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if cwd.readlink() == folder:
                found.append(int(cwd.parent.name))
    return found


@pytest.mark.parametrize("processes", [(), ("--processes", "2")])
def test_a_terminal_that_is_closed_ends_it_in_order(tmp_path: Path, processes: tuple[str, ...]) -> None:
    (tmp_path / "brief.py").write_text(PLUGIN)
    info = tmp_path / "brief-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brief\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nbrief = brief\n")
    config = CONFIG.format(python=json.dumps(sys.executable), server=json.dumps(str(SERVER)))
    (tmp_path / "pegboard.toml").write_text(config)
    command = [sys.executable, "-m", "pegboard", "--config", "pegboard.toml", "--plugin", "brief", "--plugin", "mcp"]
    command += ["serve", "--transport", "http", "--port", "0", *processes]
    with typed(tmp_path, command) as terminal:
        said = b""
        while b"Ctrl-C ends it" not in said:
            assert select.select([terminal], [], [], 60)[0], said
            said += os.read(terminal, 4096)
        port = int(said.rpartition(b"http://127.0.0.1:")[2].split(b"/")[0])
        prefix = "io.modelcontextprotocol/"
        meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
        params = {"name": "brief", "arguments": {}, "_meta": meta}
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "brief"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        client.request("POST", "/mcp", json.dumps(message), headers)
        while len(started_in(tmp_path)) < (5 if processes else 3) or not (tmp_path / "begun").exists():
            time.sleep(0.01)
        os.close(terminal)
        with contextlib.closing(client):
            assert json.load(client.getresponse())["result"]["content"][0]["text"] == "done"
        until = time.monotonic() + 30
        while started_in(tmp_path) and time.monotonic() < until:
            time.sleep(0.02)
        assert started_in(tmp_path) == []
