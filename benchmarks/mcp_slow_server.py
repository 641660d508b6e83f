"""`mcp_slow_server.py NUMBER TOOLS SECONDS`: an MCP server on stdio that takes so long to start, and costs little."""

import json
import sys
import time

number, tools, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where it is."},
        "limit": {"type": "integer", "minimum": 1, "default": 10},
        "mode": {"enum": ["fast", "safe"], "default": "fast"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
}
TOOLS = [
    {"name": f"s{number}_tool_{at}", "description": f"Tool {at} of server {number}.", "inputSchema": SCHEMA}
    for at in range(tools)
]
INFO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": f"slow {number}", "version": "1"},
}

time.sleep(seconds)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            answer["result"] = INFO
        case "tools/list":
            answer["result"] = {"tools": TOOLS}
        case _:
            answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
