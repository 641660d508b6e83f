"""An MCP server without any SDK that refuses all that it is asked for, with the words of its command line."""

from __future__ import annotations

import json
import sys


def answer(method: str, params: dict) -> dict | None:
    if method == "initialize":
        about = {"name": "refusing", "version": "1"}
        can = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": about}
    return {
        "tools/list": {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]},
        "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]},
        "resources/list": {"resources": [{"uri": "a://b", "name": "b"}]},
        "resources/templates/list": {"resourceTemplates": []},
    }.get(method)


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        found = answer(said["method"], said.get("params") or {})
        refused = -32601 if said["method"] == "server/discover" else -32000
        what = {"error": {"code": refused, "message": sys.argv[1]}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **what}), flush=True)
