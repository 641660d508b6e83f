"""What the client takes of the MCP SDK beyond its public interface; `pegboard_mcp.sdk` says why of each name.

It looks at its import whether everything is there. A test holds that no other module of the client imports what is
private, and that the list is whole.
"""

from __future__ import annotations

from pegboard_mcp.sdk import CLIENT, REACHING, problem_with

if (_problem := problem_with(CLIENT, needs=REACHING)) is not None:
    raise _problem

# Below the check, so that it is the check that speaks.
from mcp.client.session import DISCOVER_TIMEOUT_SECONDS
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

__all__ = [
    "DISCOVER_TIMEOUT_SECONDS",
    "MCP_METHOD_HEADER",
    "MCP_NAME_HEADER",
    "MCP_PROTOCOL_VERSION_HEADER",
    "NAME_BEARING_METHODS",
    "JSONRPCDispatcher",
    "encode_header_value",
    "find_invalid_x_mcp_header",
    "mcp_param_headers",
    "x_mcp_header_map",
]
