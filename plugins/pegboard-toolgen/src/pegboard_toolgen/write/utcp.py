"""`adapters/utcp.json`: a UTCP 1.x manual of the tools, each called through `pegboard gateway`.

Tools that reach an HTTP API are called through the gateway too: there the board's guards and the manifest's limits
hold, and no client ever holds the API's credentials. A UTCP client sends one argument as the body (`body_field`), so
`inputs` is an object with the one member `arguments`, the tool's own input.
"""

from __future__ import annotations

from typing import Any

from pegboard_toolgen.write._json import bytes_of
from pegboard_toolgen.write.openapi import GATEWAY
from pegboard_toolgen.write.view import ToolView, View, rebase

UTCP_VERSION = "1.0.1"
BODY = "arguments"


def render(view: View) -> dict[str, bytes]:
    """The manual."""
    manual = {
        "utcp_version": UTCP_VERSION,
        "manual_version": "1.0.0",
        "tools": [_tool(tool, view) for tool in view.tools],
    }
    return {"adapters/utcp.json": bytes_of(manual)}


def _tool(tool: ToolView, view: View) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputs": {
            "type": "object",
            "properties": {BODY: rebase(tool.input_schema, f"/properties/{BODY}")},
            "required": [BODY],
            "additionalProperties": False,
        },
        "outputs": {
            "type": "object",
            "properties": {
                "ok": {"type": "boolean"},
                "data": rebase(tool.output_schema, "/properties/data"),
                "error": {"type": ["object", "null"]},
            },
        },
        "tags": [tool.category, f"risk-{tool.risk}"],
        "tool_call_template": {
            "name": view.slug.replace("-", "_"),
            "call_template_type": "http",
            "url": f"{GATEWAY}/tools/{tool.name}",
            "http_method": "POST",
            "content_type": "application/json",
            "body_field": BODY,
        },
    }
