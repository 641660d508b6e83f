"""How an MCP server is reached: one `Link` for each connection, whatever carries its messages.

A link is a pair of streams as the SDK's dispatcher takes them, and the knowledge of when and why the other side went.
What every transport holds to:

- `open_link` raises `LinkError` alone: never a group, never what a library raised. What the body raises passes as it
  is. Texts name neither the server nor its command; who shows them does (`ServerDefinition.name`, `.shown`). Secrets
  are masked.
- When the other side goes, `on_gone()` is called first, then `gone` is set, and only after that does the reader see
  the end: who looks at `on_gone` never takes a dead connection for a live one.
- A transport that fails ends the link. It does not cancel the body of `open_link`.
- `on_gone()` is not called for an end that the body itself made by being left.
- Leaving the body is bounded in time and shielded.

Three JSON-RPC codes of our own stand for what no server said, in the same place where a server's error would be:
`ANSWER_TOO_LONG`, `ANSWER_UNREADABLE` and `NOT_RUN`. A session that a server lost (`http`, restarted or expired) ends
the link with the kind `"lost"`; the request that found it out is answered with `NOT_RUN`. Of others in flight nothing
is known.

Importing this imports neither trio nor the SDK.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pegboard_mcp.client.transports._codes import ANSWER_TOO_LONG, ANSWER_UNREADABLE, NOT_RUN, NUMBER_HEADER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from pegboard_mcp.client.transports._link import Link
    from pegboard_mcp.definitions import ServerDefinition, Transport

__all__ = ["ANSWER_TOO_LONG", "ANSWER_UNREADABLE", "NOT_RUN", "NUMBER_HEADER", "open_link"]


@contextlib.asynccontextmanager
async def open_link(definition: ServerDefinition, on_gone: Callable[[], None]) -> AsyncIterator[Link]:
    """Reach a server and give the link to it.

    Args:
        definition: the server.
        on_gone: called in the loop, synchronously, the moment the other side is gone.

    Raises:
        LinkError: it cannot be reached. What happens after the body is entered is told by `Link.gone` and `Link.why`.

    .. versionadded:: 0.1
    """
    async with _opener(definition.transport)(definition, on_gone) as link:
        yield link


def _opener(transport: Transport) -> Callable[..., AbstractAsyncContextManager[Link]]:
    if transport == "stdio":
        from pegboard_mcp.client.transports.stdio import open_stdio

        return open_stdio
    if transport == "websocket":
        from pegboard_mcp.client.transports.websocket import open_websocket

        return open_websocket
    if transport == "sse":
        from pegboard_mcp.client.transports.sse import open_sse

        return open_sse
    from pegboard_mcp.client.transports.http import open_http

    return open_http
