"""What a plugin's tool may ask of the MCP client that called it: `peer_of(context)`.

A tool needs none of this for what every front has: it confirms with `context.confirm`, reports with `context.progress`
and logs with `context.log`. `Peer` is for what MCP clients alone have. Each question waits for the client's answer, in
the way of the client's protocol (see `pegboard_mcp.server.elicitation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import CallContext, Session
    from pegboard_mcp.server.elicitation import Exchange


class Peer:
    """The MCP client behind a call.

    .. versionadded:: 0.1
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the client declared, as the JSON of MCP's `ClientCapabilities`."""
        return self._exchange.capabilities

    @property
    def protocol_version(self) -> str:
        """The protocol that is spoken, as in `2025-11-25`."""
        return self._exchange.ctx.protocol_version

    def can(self, what: str) -> bool:
        """Whether the client declared a capability: `sampling`, `elicitation.url`, `roots`, ..."""
        return self._exchange.can(what)

    def require(self, what: str) -> None:
        """Require that the client declared a capability.

        Raises:
            ToolError: FORBIDDEN, reason `capability`; from 2026-07-28 on the client reads -32021.
        """
        self._exchange.require(what)

    async def sample(self, params: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """Let the client's model answer.

        Args:
            params: MCP's `CreateMessageRequestParams`.
            key: names the question where the protocol wants a name.

        Returns:
            MCP's `CreateMessageResult`.

        Raises:
            ToolError: the client declared no sampling, refused, or answered what is not an answer.
        """
        self.require("sampling")
        return await self._ask("sample", key, {"method": "sampling/createMessage", "params": params})

    async def elicit(
        self,
        message: str,
        schema: Mapping[str, Any] | None = None,
        *,
        url: str | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Let the client ask its person for the values of a form, or to visit an address.

        Returns:
            MCP's `ElicitResult`: `action` (accept, decline, cancel) and the `content` that was filled in.

        Raises:
            ToolError: as of `sample`.
        """
        key = key or self._exchange.key_for("elicit")
        if url is None:
            self.require("elicitation.form")
            wanted = {"type": "object", "properties": {}} if schema is None else schema
            params = {"mode": "form", "message": message, "requestedSchema": wanted}
        else:
            self.require("elicitation.url")
            place = f"{self._exchange.connected.session.id}-{key}"
            params = {"mode": "url", "message": message, "url": url, "elicitationId": place}
        return await self._ask("elicit", key, {"method": "elicitation/create", "params": params})

    async def roots(self, *, key: str | None = None) -> list[dict[str, Any]]:
        """The folders that the client works in: MCP's `Root` objects.

        Raises:
            ToolError: as of `sample`.
        """
        self.require("roots")
        found: list[dict[str, Any]] = (await self._ask("roots", key, {"method": "roots/list"}))["roots"]
        return found

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Ask several things at once; where the protocol asks in rounds, in one round.

        Args:
            requests: by key, `{"method": ..., "params": ...}`.

        Returns:
            The client's results, by key.

        Raises:
            ToolError: as of `sample`.
        """
        from pegboard_mcp.server.elicitation import CAPABILITIES

        for request in requests.values():
            needed = CAPABILITIES.get(str(request.get("method")))
            if needed is not None:
                self.require(needed)
        return await self._exchange.ask(requests)

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message, where the client wants those of its level.

        Args:
            level: `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert` or `emergency`.
            data: any JSON value; of any other value, its text is sent.
            logger: who says it.
        """
        import json

        from pegboard_mcp.server.logs import is_wanted

        if is_wanted(self._exchange, level):
            named = {} if logger is None else {"logger": logger}
            data = data if isinstance(data, str) else json.loads(json.dumps(data, default=str))
            self._exchange.log({"level": level, "data": data, **named})
            await self._exchange.flush_logs()

    async def start_task(self) -> bool:
        """Answer the request with a task now, where the client takes tasks and `task_after_s` is set: the client does
        not wait for the answer, and what the tool asks or answers from here on is the task's.

        Returns:
            Whether it is a task. A tool that makes no sense otherwise says
            `require("extensions.io.modelcontextprotocol/tasks")`.

        .. versionadded:: 0.1
        """
        return await self._exchange.start_task()

    async def close_stream(self) -> None:
        """End the stream of events that the answer would come on, where the call came over streamable HTTP: the client
        comes back for it. Elsewhere nothing happens."""
        close = self._exchange.ctx.close_sse_stream
        if close is not None:
            await close()

    async def _ask(self, kind: str, key: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
        key = key or self._exchange.key_for(kind)
        return (await self._exchange.ask({key: request}))[key]


def peer_of(context: CallContext | Session) -> Peer | None:
    """The MCP client behind a call, or behind the session that a prompt or resource is read for; None where the call
    came another way.

    .. versionadded:: 0.1
    """
    import sys

    elicitation = sys.modules.get("pegboard_mcp.server.elicitation")
    exchange: Exchange | None = None if elicitation is None else elicitation.current.get(None)
    if exchange is None:
        return None
    session = getattr(context, "session", context)
    return Peer(exchange) if exchange.connected.session is session else None
