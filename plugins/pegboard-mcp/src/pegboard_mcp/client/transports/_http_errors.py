"""What an error means that the SDK's HTTP transport puts where an answer would be. No I/O here."""

from __future__ import annotations

import mcp_types as types

from pegboard_mcp.client._errors import LinkError, Lost, RpcError
from pegboard_mcp.client.transports._codes import ANSWER_TOO_LONG, ANSWER_UNREADABLE


def meaning_over_http(error: types.ErrorData, note: LinkError | None, limit: int) -> Exception | None:
    """The exception that a request raises for such an error; None where a server said it.

    The transport takes numbers for them that mean a refusal. But the server had the request, and may have done it.
    """
    code, given = error.code, error.message
    head, _, rest = given.partition(": ")
    if code == types.CONNECTION_CLOSED and note is not None and note.why == given:
        return Lost(written=True, why=note)
    too_long = RpcError(ANSWER_TOO_LONG, f"it sent more than the limit of {limit:,} bytes", {"limit": limit})
    if code == types.CONNECTION_CLOSED and head.startswith("SSE stream"):
        return too_long if "limit" in rest else _broken_off()
    if code == types.PARSE_ERROR and head.startswith("Failed to parse"):
        if rest.startswith("the answer is longer"):
            return too_long
        if rest.startswith("the connection broke"):
            return _broken_off()
        return RpcError(ANSWER_UNREADABLE, "it is not a message of JSON-RPC 2.0")
    if code == types.INVALID_REQUEST and head == "Unexpected content type":
        return RpcError(ANSWER_UNREADABLE, f"it came as {rest[:60] or 'nothing'!r}, in place of JSON")
    if code == types.INTERNAL_ERROR and given == "Server returned an error response" and note is not None:
        return RpcError(code, note.explanation)
    return None


def _broken_off() -> Lost:
    return Lost(written=True, why=LinkError("lost", "its answer broke off", "Look into its log."))
