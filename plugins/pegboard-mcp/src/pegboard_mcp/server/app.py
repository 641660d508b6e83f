"""The board as an MCP server: an SDK `Server` whose handlers answer from a `Host`.

    client <-> transport <-> SDK dispatcher and runner <-> BoardServer <-> Session <-> Host

The SDK keeps the protocol: eras, handshake, envelopes, cancellation, shapes of requests. What is the board's is here.
Handlers answer with plain JSON. `tools/call` goes ahead of the SDK's models, through its middleware seam: its params are
read and its result is shaped here, in the way the models would have left them.

Who calls is asked of the transport at each request (`identify`); a session belongs to one caller and one connection, or
where the protocol has no connections (2026-07-28) to one caller.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import NotificationOptions, Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard import ErrorCode, ToolError
from pegboard_mcp.dialect import definition_of, result_json, wire_name
from pegboard_mcp.server.sessions import Sessions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp.server.context import CallNext, ServerRequestContext
    from mcp.server.models import InitializationOptions

    from pegboard import Tool
    from pegboard.host import Host
    from pegboard.session import Session
    from pegboard_mcp.server.auth import Caller

PAGE = 100
"""Elements of one page of a list."""

NOT_FOUND = -32001
DISABLED = -32004
FAILED = -32005
TIMED_OUT = -32006
_NUMBERS = {
    ErrorCode.INVALID_INPUT: INVALID_PARAMS,
    ErrorCode.NOT_FOUND: NOT_FOUND,
    ErrorCode.TIMEOUT: TIMED_OUT,
}


def protocol_error(error: ToolError) -> MCPError:
    """A `ToolError` where the protocol wants a JSON-RPC error; the string code is in `data`."""
    number = _NUMBERS.get(error.code, FAILED)
    if error.details.get("reason") == "disabled":
        number = DISABLED
    return MCPError(number, error.message, {"code": error.code.value, "details": error.details})


class BoardServer(Server[Any]):
    """An SDK `Server` that serves a host's board."""

    def __init__(self, host: Host, identify: Callable[[Any], Caller]) -> None:
        from pegboard import __version__

        super().__init__("pegboard", version=__version__, on_list_tools=self._list_tools, on_call_tool=self._never)
        self.host = host
        self.sessions = Sessions(host, identify)
        self._definitions: dict[str, tuple[Tool, dict[str, Any]]] = {}
        self._aliases: tuple[Any, Mapping[str, str]] = (None, {})
        self.middleware = [self._fast_lane]

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> InitializationOptions:
        """As the SDK's, with lists that tell of their changes."""
        return super().create_initialization_options(
            NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        )

    # -- tools

    async def _list_tools(self, ctx: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> dict[str, Any]:
        session = self.sessions.of(ctx)
        try:
            page = session.list_tools(params.cursor, PAGE)
        except ToolError as error:
            raise protocol_error(error) from None
        answer: dict[str, Any] = {"tools": [self._definition(tool) for tool in page.tools]}
        if page.next_cursor is not None:
            answer["nextCursor"] = page.next_cursor
        return answer

    def _definition(self, tool: Tool) -> dict[str, Any]:
        known = self._definitions.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._definitions[tool.name] = (tool, definition_of(tool))
        return known[1]

    def _own_name(self, session: Session, name: str) -> str:
        """The name on the board of what a client calls `name`."""
        tools = session.tools
        if name in tools:
            return name
        if self._aliases[0] is not tools:
            self._aliases = (tools, {wire_name(own): own for own in tools if wire_name(own) != own})
        return self._aliases[1].get(name, name)

    async def _fast_lane(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Any:
        if ctx.method != "tools/call" or ctx.request_id is None:
            return await call_next(ctx)
        params = ctx.params
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.session.client_params is None:
            return await call_next(ctx)  # before the handshake: the SDK refuses it
        name = params.get("name") if params else None
        arguments = params.get("arguments") if params else None
        if type(name) is not str or not (arguments is None or type(arguments) is dict):
            return await call_next(ctx)  # the SDK says what is wrong with it
        session = self.sessions.of(ctx)
        result = await session.call(self._own_name(session, name), arguments)
        error = result.error
        if error is not None and self._is_protocol_error(error):
            raise protocol_error(error)
        answer = result_json(result)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            answer["resultType"] = "complete"
            answer.setdefault("_meta", {})["io.modelcontextprotocol/serverInfo"] = self.server_info_stamp
        return answer

    def _is_protocol_error(self, error: ToolError) -> bool:
        return error.code is ErrorCode.NOT_FOUND and "near" in error.details

    async def _never(self, ctx: ServerRequestContext[Any, Any], params: Any) -> Any:
        raise MCPError(INVALID_PARAMS, "Invalid request parameters")


@contextlib.asynccontextmanager
async def open_server(
    host: Host,
    *,
    user_id: str | None = None,
    profile: str | None = None,
    identify: Callable[[Any], Caller] | None = None,
) -> AsyncIterator[BoardServer]:
    """Serve a host's board as long as the block; a transport drives the `Server` that it yields.

    Args:
        host: whose tools are served.
        user_id: who calls; None: `user_id` of the configuration.
        profile: which tools are seen; None: the configuration's default.
        identify: tells who makes a request, where a transport knows: it takes the transport's request
            (`ServerRequestContext.request`, None on stdio) and gives a `Caller`; instead of `user_id` and `profile`.
    """
    from pegboard_mcp.server.auth import Caller

    caller = Caller(user_id, profile)
    server = BoardServer(host, identify or (lambda request: caller))
    yield server
