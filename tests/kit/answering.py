"""An MCP server whose tool answers with a file that stands beside it: `answering.py FILE`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def answer(method: str) -> Any:
    if method == "initialize":
        capabilities: dict[str, Any] = {"tools": {}}
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "serverInfo": {"name": "a", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": "say", "description": "Say it.", "inputSchema": SCHEMA}]}
    return {"content": [{"type": "text", "text": Path(sys.argv[1]).read_text()}]} if method == "tools/call" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"])
        said = {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}) + "\n")
        sys.stdout.flush()
