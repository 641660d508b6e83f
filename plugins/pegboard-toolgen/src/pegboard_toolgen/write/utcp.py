"""`adapters/utcp.json`: a UTCP 1.x manual of the tools, each called through `pegboard gateway`.

Tools that reach an HTTP API are called through the gateway too: there the board's guards and the manifest's limits
hold, and no client ever holds the API's credentials. A UTCP client sends one argument as the body (`body_field`), so
`inputs` is an object with the one member `arguments`, the tool's own input. UTCP's readers know no `true` and `false`
in the place of a schema but for `additionalProperties`: these are written as `{}` and `{"not": {}}`.
"""

from __future__ import annotations

from typing import Any

from pegboard_manifest import subschemas
from pegboard_toolgen.write._json import bytes_of
from pegboard_toolgen.write.openapi import GATEWAY
from pegboard_toolgen.write.view import ManifestView, ToolView, rebase

UTCP_VERSION = "1.0.1"
BODY = "arguments"


def render(view: ManifestView) -> dict[str, bytes]:
    """The manual."""
    manual = {
        "utcp_version": UTCP_VERSION,
        "manual_version": "1.0.0",
        "tools": [_tool(tool, view) for tool in view.tools],
    }
    return {"adapters/utcp.json": bytes_of(manual)}


def _tool(tool: ToolView, view: ManifestView) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputs": {
            "type": "object",
            "properties": {BODY: _as_objects(rebase(tool.input_schema, f"/properties/{BODY}"))},
            "required": [BODY],
            "additionalProperties": False,
        },
        "outputs": {
            "type": "object",
            "properties": {
                "ok": {"type": "boolean"},
                "data": _as_objects(rebase(tool.output_schema, "/properties/data")),
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


def _as_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of one's own, whose parts are objects."""
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("items"), bool):
            one["items"] = _as_object(one["items"])
        if isinstance(one.get("properties"), dict):
            one["properties"] = {name: _as_object(part) for name, part in one["properties"].items()}
        waiting += subschemas(one)
    return schema


def _as_object(schema: Any) -> Any:
    return ({} if schema else {"not": {}}) if isinstance(schema, bool) else schema
