"""An MCP server without any SDK that says the key of its command line in what is neither a result nor a text that it
was asked for: the values of a completion, the message of a progress."""

from __future__ import annotations

import json
import sys

KEY = sys.argv[1]


def send(message: object) -> None:
    print(json.dumps(message), flush=True)


def answer(method: str, params: dict) -> dict | None:
    if method == "initialize":
        about = {"name": "leaking", "version": "1"}
        can = {"tools": {}, "prompts": {}, "completions": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
    if method == "prompts/list":
        return {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}
    if method == "completion/complete":
        return {"completion": {"values": [f"it is {KEY}", "Bonn"]}}
    if method == "tools/call":
        token = params["_meta"]["progressToken"]
        told = {"progressToken": token, "progress": 1, "message": f"now with {KEY}"}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
        return {"content": [{"type": "text", "text": "done"}]}
    return None


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        found = answer(said["method"], said.get("params") or {})
        what = {"error": {"code": -32601, "message": "no"}} if found is None else {"result": found}
        send({"jsonrpc": "2.0", "id": said["id"], **what})
