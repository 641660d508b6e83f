"""An honest MCP server without any SDK: it offers one tool, and does nothing else."""

from __future__ import annotations

import json
import sys

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
TOOL = {
    "name": "look_up", "description": "Look up a word.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True},
}  # fmt: skip

for line in sys.stdin:
    said = json.loads(line)
    if "id" not in said or "method" not in said:
        continue
    answer: dict[str, object] = {"error": {"code": -32601, "message": "no"}}
    if said["method"] == "initialize":
        version = said["params"]["protocolVersion"]
        about = {"name": "words", "version": "1"}
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
    elif said["method"] == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer}), flush=True)
