"""What serving takes of the MCP SDK beyond its public interface; `pegboard_mcp.sdk` says why of each name.

It looks at its import whether everything is there. A test holds that no other module of the server imports what is
private, and that the list is whole.
"""

from __future__ import annotations

from typing import Any

from pegboard_mcp.sdk import CLIENT, SERVER, problem_with

FAST_PATH = True
"""Whether calls go past the SDK's models and streams where they can; off only in tests, which hold that a client cannot
tell. Two things are the fast path's alone: it answers a call whose session is deleted, and calls under one id."""

if (_problem := problem_with(SERVER)) is not None:
    raise _problem

# Below the check, so that it is the check that speaks.
from mcp.server.connection import Connection  # noqa: E402
from mcp.server.runner import ServerRunner, aclose_shielded, modern_error_data  # noqa: E402
from mcp.server.streamable_http import (  # noqa: E402
    MCP_SESSION_ID_HEADER,
    REQUEST_CANCELLED,
    check_accept_headers,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: E402
from mcp.shared._stream_protocols import ReadStream, WriteStream  # noqa: E402
from mcp.shared.dispatcher import coerce_request_id  # noqa: E402
from mcp.shared.inbound import (  # noqa: E402
    ERROR_CODE_HTTP_STATUS,
    MCP_PROTOCOL_VERSION_HEADER,
    X_MCP_HEADER_KEY,
    InboundModernRoute,
    classify_inbound_request,
)
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params, progress_token_from_params  # noqa: E402
from mcp.shared.transport_context import TransportContext  # noqa: E402

__all__ = [
    "CLIENT",
    "ERROR_CODE_HTTP_STATUS",
    "MCP_PROTOCOL_VERSION_HEADER",
    "MCP_SESSION_ID_HEADER",
    "REQUEST_CANCELLED",
    "SERVER",
    "X_MCP_HEADER_KEY",
    "Connection",
    "InboundModernRoute",
    "ReadStream",
    "ServerRunner",
    "SessionManager",
    "TransportContext",
    "WriteStream",
    "aclose_shielded",
    "cancelled_request_id_from_params",
    "check_accept_headers",
    "classify_inbound_request",
    "coerce_request_id",
    "modern_error_data",
    "problem_with",
    "progress_token_from_params",
]


class SessionManager(StreamableHTTPSessionManager):
    """The SDK's manager, without its own limit of sessions, which knows no callers, and with word of their end."""

    def on_discard(self, session_id: str) -> None:
        """A session is no more; set by who wants to know."""

    async def _discard_session(self, session_id: str, transport: Any) -> None:
        self.on_discard(session_id)
        await super()._discard_session(session_id, transport)

    def evict(self, session_id: str) -> None:
        """End a session that is idle, as if its time were up: the client is answered 404, and initializes anew."""
        transport = self._server_instances.get(session_id)
        if transport is not None and transport.idle_scope is not None:
            transport.idle_scope.cancel()
