"""Whether the installed MCP SDK is the one that this package is made for, and what is taken of it that is not public.

The SDK documents its servers, transports, models and errors. What lies below, its kernel and its dispatcher, may change
in any minor release. So the package asks for one minor release (`defaults.SDK_RELEASE`), and the two modules that take
what is private, `server._sdk` and `client._sdk`, look at their import whether everything is there. Where it is not,
serving is refused, and servers are not started, with both versions named; everything else of Pegboard works.

The version is read from what is installed: nothing here imports the SDK but the look at single names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pegboard import PluginError
from pegboard_mcp.defaults import SDK_RELEASE

if TYPE_CHECKING:
    from collections.abc import Iterable

SERVING = "serving needs"
REACHING = "MCP servers need"
"""How a refusal begins: what the SDK is needed for."""

SERVER = {
    "mcp.server.connection:Connection": "the fast path makes one for each session, as the SDK's transports do",
    "mcp.server.runner:ServerRunner": "the kernel: gate, envelope and middleware of one request, without streams",
    "mcp.server.runner:aclose_shielded": "ends the connection of one modern request as the SDK does",
    "mcp.server.runner:modern_error_data": "the SDK's own table of exceptions and errors",
    "mcp.server.streamable_http:MCP_SESSION_ID_HEADER": "the name of the header of sessions",
    "mcp.server.streamable_http:REQUEST_CANCELLED": "the number that a cancelled request is answered with",
    "mcp.server.streamable_http:check_accept_headers": "what a client accepts, read as the SDK reads it",
    "mcp.server.streamable_http:StreamableHTTPServerTransport.idle_scope": "ends a session to make room for another",
    "mcp.server.streamable_http_manager:StreamableHTTPSessionManager._discard_session": "tells that a session ended",
    "mcp.server.streamable_http_manager:StreamableHTTPSessionManager._server_instances": "finds the session to end",
    "mcp.shared._stream_protocols:ReadStream": "what a transport hands to the SDK; for types alone",
    "mcp.shared._stream_protocols:WriteStream": "the other direction of it; for types alone",
    "mcp.shared.dispatcher:coerce_request_id": "ids that the SDK takes for one another",
    "mcp.shared.inbound:ERROR_CODE_HTTP_STATUS": "the HTTP status of an error",
    "mcp.shared.inbound:InboundModernRoute": "a modern request that passed every check",
    "mcp.shared.inbound:MCP_PROTOCOL_VERSION_HEADER": "the name of the header of the protocol's version",
    "mcp.shared.inbound:X_MCP_HEADER_KEY": "what a parameter that is sent as a header too is marked with",
    "mcp.shared.inbound:classify_inbound_request": "the checks of a modern request, in the SDK's order",
    "mcp.shared.jsonrpc_dispatcher:cancelled_request_id_from_params": "which request is cancelled",
    "mcp.shared.jsonrpc_dispatcher:progress_token_from_params": "whether progress is wanted, and under which token",
    "mcp.shared.message:ServerMessageMetadata.on_request_unanswered": "tells that a request gets no answer",
    "mcp.shared.transport_context:TransportContext": "what the kernel is told of the transport",
}
"""Names of the SDK's private modules, and private names of its public ones, that the server uses, and why."""

CLIENT = {
    "mcp.client.session:DISCOVER_TIMEOUT_SECONDS": "the patience of the SDK's first request",
    "mcp.shared.inbound:MCP_METHOD_HEADER": "the headers of a modern request, which goes past the SDK's models",
    "mcp.shared.inbound:MCP_NAME_HEADER": "the same",
    "mcp.shared.inbound:MCP_PROTOCOL_VERSION_HEADER": "the same",
    "mcp.shared.inbound:NAME_BEARING_METHODS": "the same",
    "mcp.shared.inbound:encode_header_value": "the same",
    "mcp.shared.inbound:find_invalid_x_mcp_header": "tools whose parameters cannot be sent as headers",
    "mcp.shared.inbound:mcp_param_headers": "parameters as headers",
    "mcp.shared.inbound:x_mcp_header_map": "which parameters are sent as headers",
    "mcp.shared.jsonrpc_dispatcher:JSONRPCDispatcher": "the SDK's session over a link of our own",
}
"""The same of the client."""


def problem_with(names: Iterable[str] = (), *, needs: str = SERVING) -> PluginError | None:
    """Why the installed SDK cannot be used, where it is of another minor release or lacks one of these names.

    Args:
        names: each as `module:name`; without any, only the version is looked at, and nothing is imported.
        needs: how the refusal begins.
    """
    installed = _installed()
    if installed is None:
        return _refusal(needs, "it is not installed")
    if not f"{installed}.".startswith(f"{SDK_RELEASE}."):
        return _refusal(needs, f"{installed} is installed")
    missing = [name for name in names if not _is_there(name)]
    return _refusal(needs, f"{installed} is installed, which has no {', '.join(missing)}") if missing else None


def problem_of(failed: ImportError, *, needs: str) -> PluginError | None:
    """Why the SDK cannot be used, where it is a module or a public name of its that is not there."""
    module = failed.name or ""
    if module.partition(".")[0] not in {"mcp", "mcp_types"}:
        return None
    return _refusal(needs, f"{_installed()} is installed, which does not fit: {failed.msg}")


def _installed() -> str | None:
    from importlib import metadata  # which brings mail and zip files along, and a listing out of the cache needs none

    try:
        # Metadata without a version gives None, whatever its type says.
        return metadata.version("mcp") or "an unknown version"
    except metadata.PackageNotFoundError:
        return None


def _is_there(name: str) -> bool:
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except Exception:  # noqa: BLE001 - what is not as it was may fail in any way
        return False
    for attribute in path.split("."):
        # What instances alone have is looked for in the code that makes them.
        made = getattr(getattr(getattr(found, "__init__", None), "__code__", None), "co_names", ())
        if not hasattr(found, attribute) and attribute not in made:
            return False
        found = getattr(found, attribute, None)
    return True


def _refusal(needs: str, what: str) -> PluginError:
    message = f"{needs} the MCP SDK mcp {SDK_RELEASE}.x, and {what}"
    return PluginError(message, hint=f'pip install "mcp~={SDK_RELEASE}.0"')
