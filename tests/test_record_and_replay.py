"""Whatever kind a tool is of - a server's, a request, a program - it is tested without it once it was recorded."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pegboard import ToolResult, open_host
from pegboard.testing import assert_ok

manifest_plugin = pytest.importorskip("pegboard_manifest.plugin")
mcp_plugin = pytest.importorskip("pegboard_mcp.plugin")

SERVER = Path(__file__).parent.parent / "plugins" / "pegboard-mcp" / "tests" / "servers" / "sdk.py"
SECRET = "the-key-of-the-api"
CALLS = [("add", {"a": 1, "b": 2}), ("get", {}), ("run", {})]


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"said": self.headers["X-Key"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: Any) -> None:
        """Nothing: stderr is for tests that fail."""


@pytest.fixture
def api() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def a_tool(name: str, binding: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"{binding['kind']}:{name}", "name": name, "description": "Ask.", "category": "read", "risk": "low",
        "idempotency": "idempotent", "timeout_ms": 20_000, "examples": [{"input": {}}], "binding": binding,
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }  # fmt: skip


def manifest(folder: Path, port: int, program: str) -> Path:
    key = {"kind": "header", "name": "X-Key", "secret_env": "THE_KEY"}
    file = folder / "m.json"
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Both", "runtime": "other", "execution_model": "remote-http"},
        "servers": {"s": {"base_url": f"http://127.0.0.1:{port}", "auth": [key]}},
        "programs": {"p": {"argv0": [program, "-I", "-c", "print('of a program')"]}},
        "tools": [
            a_tool("get", {"kind": "http", "server": "s", "method": "GET", "path": "/x"}),
            a_tool("run", {"kind": "subprocess", "program": "p", "arguments": [], "output": {"parser": "text"}}),
        ],
    }
    file.write_text(json.dumps(document))
    return file


async def answers(config: dict[str, Any], plugins: list[Any]) -> list[ToolResult]:
    async with open_host(config, plugins) as host:
        await host.wait_for_sources()
        return [assert_ok(await host.session().call(name, arguments)) for name, arguments in CALLS]


async def test_servers_requests_and_programs_are_replayed_without_them(
    api: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    recording = tmp_path / "r.json"
    servers = {"s": {"command": sys.executable, "args": [str(SERVER)]}}
    there = {
        "manifest": {"files": [str(manifest(tmp_path, api.server_port, sys.executable))]},
        "mcp": {"servers": servers},
    }
    recorded = await answers({"plugins": {**there, "record": {"file": str(recording)}}}, [mcp_plugin, manifest_plugin])
    assert SECRET not in recording.read_text()
    monkeypatch.delenv("THE_KEY")
    gone = {"manifest": {"files": [str(manifest(tmp_path, 9, "/no/such/program"))]}}
    config = {"plugins": {**gone, "record": {"file": str(recording), "mode": "replay"}}}
    replayed = await answers(config, [manifest_plugin])
    assert [(one.content, one.data) for one in replayed] == [(one.content, one.data) for one in recorded]
