"""A server that says far too much, for the tests of floods. No SDK.

Its one tool `flood` writes `times` times the line `line`, to stderr where `err` says so, then answers. It reads nothing
meanwhile.
"""

import json
import os
import sys


def send(message: object) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def shout(number: object, line: str, times: int, *, err: bool) -> None:
    blob = (line + "\n").encode() * times
    while blob:
        blob = blob[os.write(2 if err else 1, blob[:65_536]) :]
    send({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "done"}]}})


for raw in sys.stdin.buffer:
    message = json.loads(raw)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "flooding", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        send({"jsonrpc": "2.0", "id": number, "result": result})
    elif method == "tools/list":
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": [{"name": "flood", "inputSchema": {}}]}})
    elif method == "tools/call":
        shout(number, **message["params"]["arguments"])
    elif number is not None and method is not None:
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "Method not found"}})
