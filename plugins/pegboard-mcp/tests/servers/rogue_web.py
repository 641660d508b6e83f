"""A streamable HTTP server of the handshake era without an SDK, to be killed and started again. Arguments: PORT FOLDER.

It knows its own sessions alone, as every server after a restart. `FOLDER/runs` gets a line for each execution, and
`FOLDER/lost` says how an unknown session is answered: "404" (as the specification wants), "-32600" or "-32603".
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

folder = Path(sys.argv[2])
sessions: set[str] = set()
TOOLS = [
    {"name": "pid", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "count", "inputSchema": {"type": "object"}},
    {"name": "slow", "inputSchema": {"type": "object"}},
    {"name": "five", "inputSchema": {"type": "object"}},
    {"name": "cut", "inputSchema": {"type": "object"}},
    {"name": "down", "inputSchema": {"type": "object"}},
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.reply(405, None)

    def do_DELETE(self) -> None:
        self.reply(200, None)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, number = message["method"], message.get("id")
        params = message.get("params") or {}
        if method == "initialize":
            sessions.add(session := secrets.token_hex(8))
            server = {"name": "rogue-web", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
            self.reply(200, {"jsonrpc": "2.0", "id": number, "result": result}, {"Mcp-Session-Id": session})
        elif method == "server/discover":
            self.refuse(number, -32601, "Method not found", 200)
        elif self.headers.get("Mcp-Session-Id") not in sessions:
            lost = (folder / "lost").read_text()
            number = "server-error" if number is None else number
            code, status = {"404": (-32600, 404), "-32600": (-32600, 400), "-32603": (-32603, 500)}[lost]
            self.refuse(number, code, "Session not found", status)
        elif number is None:
            self.reply(202, None)
        elif method == "tools/list":
            self.reply(200, {"jsonrpc": "2.0", "id": number, "result": {"tools": TOOLS}})
        elif method == "tools/call":
            with (folder / "runs").open("a") as file:
                file.write(params["name"] + "\n")
            if params["name"] == "slow":
                time.sleep(30)
            content = [{"type": "text", "text": str(os.getpid())}]
            if params["name"] == "five":
                self.reply(200, {"jsonrpc": "2.0", "id": number, "result": 5})
                return
            if params["name"] == "cut":
                self.reply(200, "half of it", {"Content-Length": "1000"})
                self.close_connection = True
                return
            if params["name"] == "down":
                self.reply(503, None)
                return
            self.reply(200, {"jsonrpc": "2.0", "id": number, "result": {"content": content}})
        else:
            self.refuse(number, -32601, "Method not found", 200)

    def refuse(self, number: object, code: int, message: str, status: int) -> None:
        self.reply(status, {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})

    def reply(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if data:
            self.send_header("Content-Type", "application/json")
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True


with Server(("127.0.0.1", int(sys.argv[1])), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
