"""Requests of MCP as observers hear them, by the conventions of OpenTelemetry; both sides share the names.

Nothing of OpenTelemetry is imported: `Host.span` gives it to who observes.
"""

from __future__ import annotations

from typing import Any

MAX_TARGET = 128
"""Of a method and of the name of a tool or a prompt, in characters: clients make them up."""
_NAMES = {"tools/call": "gen_ai.tool.name", "prompts/get": "gen_ai.prompt.name"}


def told_of(method: str, params: Any, version: str, *, is_pipe: bool) -> tuple[str, dict[str, Any]]:
    """The name of the span of a request, and what is known of it; nothing of its arguments.

    Args:
        method: of the request.
        params: its own, as they came.
        version: of the protocol.
        is_pipe: whether it comes over a pipe, and not over HTTP.
    """
    method = method[:MAX_TARGET]
    told: dict[str, Any] = {"mcp.method.name": method, "network.transport": "pipe" if is_pipe else "tcp"}
    if version:
        told["mcp.protocol.version"] = version
    if method == "tools/call":
        told["gen_ai.operation.name"] = "execute_tool"
    given = params.get("name") if isinstance(params, dict) and method in _NAMES else None
    if not isinstance(given, str):
        return method, told
    told[_NAMES[method]] = given[:MAX_TARGET]
    return f"{method} {given[:MAX_TARGET]}", told
