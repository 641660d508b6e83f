"""An MCP server without any SDK: a tool, a resource and a template of resources, which say words of its own name."""

from __future__ import annotations

import json
import sys

NAME = sys.argv[1]
SCHEMA = {"type": "object"}
TOOL = {"name": f"{NAME}_get", "description": "Get it.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}


def answer(method: str, params: dict[str, object]) -> dict[str, object]:
    if method == "initialize":
        about = {"name": NAME, "version": "1"}
        capabilities = {"tools": {}, "resources": {}}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "resources/list":
        return {"resources": [{"uri": f"{NAME}://doc", "name": "doc"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": f"{NAME}://x/{{what}}", "name": f"{NAME}-x"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": f"It says vault-778899-{NAME} there."}]}
    return {"content": [{"type": "text", "text": f"The code is door-445566-{NAME}, they say."}]}


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        known = said["method"] == "initialize" or said["method"].partition("/")[0] in ("tools", "resources")
        found = {"result": answer(said["method"], said.get("params") or {})}
        error = {"error": {"code": -32601, "message": "no"}}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **(found if known else error)}), flush=True)
