"""The README's call, against a server on loopback that answers as the provider does."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
CALL = {"expression": "2**100"}
TEXT = "It is 1267650600228229401496703205376."


def events_for(body: Any) -> list[Any]:
    answered = any("functionResponse" in part for one in body["contents"] for part in one["parts"])
    call = {"functionCall": {"name": "calculator", "args": CALL}, "thoughtSignature": "c2ln"}
    parts = [{"text": TEXT}] if answered else [call]
    return [{"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}]


class Server(http.server.BaseHTTPRequestHandler):
    """The call first, and the text once its result came."""

    bodies: list[Any] = []  # noqa: RUF012 - one server a module

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.bodies.append(body)
        sent = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in events_for(body))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *said: Any) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_readmes_call_prints_what_it_says(address: str, tmp_path: Path) -> None:
    pytest.importorskip("pegboard_calculator", reason="the README calls the calculator of pegboard-calculator")
    block = re.search(r"    \$ (pegboard chat .*)\n((?:    .+\n)+)", README.read_text("utf-8"))
    assert block is not None
    question = block[1].split('"')[1]
    command = [sys.executable, "-m", "pegboard", "chat", "--model", "gemini", question]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PEGBOARD_")}
    env = {**clean, "GOOGLE_GEMINI_BASE_URL": address, "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    printed = [re.sub(r" \([0-9.]+ m?s\)$", "", line) for line in done.stdout.splitlines()]
    assert printed[:3] == [line[4:] for line in block[2].splitlines()]
    assert len(Server.bodies) == 2
