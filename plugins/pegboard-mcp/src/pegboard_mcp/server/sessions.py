"""One `Session` for each connection, and where the protocol has no connections, one for each caller.

A WebSocket is a connection whatever protocol is spoken on it; its session is kept in its ASGI scope.

In the handshake era a connection is known by the parameters of its handshake, the one object that the SDK keeps as long
as the connection and shows to every handler. What belongs to the connection is attached to that object, and is looked
up in a weak table: it goes when the SDK lets go of the connection, on whatever transport.
"""

from __future__ import annotations

import hashlib
import json
import weakref
from collections import OrderedDict
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pegboard import ErrorCode, ToolError
from pegboard.text import visible, visible_json
from pegboard_mcp.server._sdk import MCP_SESSION_ID_HEADER
from pegboard_mcp.server.elicitation import CREATE, ELICIT, Exchange, current

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from pegboard import Confirmation, Host, Session
    from pegboard_serving import Caller

MAX_CALLERS = 1_000
"""Sessions of callers without a connection that are kept; the one that was not used for longest goes first."""
MAX_SUBSCRIBED = 1_000
"""Resources that one connection may be told about."""
PIPE = ""
"""The key of the session of a pipe or a socket, which has one; over HTTP the key is the id of the session."""
SLOT = "pegboard"
"""Where a connection's `Connected` is attached to the parameters of its handshake."""
REMEMBER = {
    "type": "object",
    "properties": {
        "remember": {
            "type": "boolean",
            "title": "Do not ask again for this tool",
            "description": "Until this session ends, or the tool changes.",
            "default": False,
        }
    },
}
NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


class Connected:
    """A session, and what its client asked for.

    Attributes:
        owner: the table that it stands in.
        caller: who it is.
        is_shared: whether several clients of one caller are in it, so that what a person says to one of them must not
            hold for the others.
        session: the board's.
        standalone: the way to the client outside of any request; None where the protocol has none.
        level: the least severe log records that are sent, as the protocol's word; handshake era alone.
        subscribed: URIs of resources whose updates are told; handshake era alone.
        exchanges: requests of it that are being answered.
    """

    def __init__(
        self, owner: Sessions, caller: Caller, standalone: ServerSession | None, *, is_shared: bool = False
    ) -> None:
        self.owner = owner
        self.caller = caller
        self.is_shared = is_shared
        # From 2026-07-28 on each request declares for itself what its client can do.
        capabilities = None if standalone is None else standalone.client_capabilities
        declared = frozenset() if capabilities is None else capabilities.model_fields_set
        self.session: Session = owner.host.session(
            caller.user_id,
            channel="mcp",
            profile=caller.profile,
            confirm=self._confirm,
            on_progress=self._on_progress,
            masks_secrets=True,
        )
        if owner.result_id is not None:
            self.session.kept.make_id = owner.result_id
        self.standalone = standalone
        self.level = "info"
        self.subscribed: set[str] = set()
        self.exchanges: set[Exchange] = set()
        self.by_call: dict[str, Exchange] = {}
        if standalone is None or "sampling" in declared:
            self.session.sampler = self._sample

    async def _on_progress(self, call_id: str, done: float, total: float | None, message: str | None) -> None:
        exchange = self.by_call.get(call_id)
        if exchange is not None:
            if message:  # a client may show it to its model before there is a result
                self.session.note_read(message, tool=exchange.what)
            await exchange.progress(done, total, message)

    def exchange_of(self, tool: str | None = None, *, can: str) -> Exchange | None:
        """The request that a question belongs to: the one of this task, else one that fits.

        A question may come from a task that belongs to no request, as one that an MCP server on the board asks does.
        """
        own = current.get(None)
        if own is not None and own.connected is self:
            return own if own.can(can) else None
        able = [one for one in self.exchanges if one.can(can)]
        return next((one for one in able if one.what == tool), able[0] if able else None)

    async def _confirm(self, asked: Confirmation) -> Any:
        if asked.is_acceptance and self.caller.token_id is not None:
            return False  # who comes with a token is a guest: what this machine accepts is not theirs to say
        mode = "elicitation.url" if asked.url is not None else "elicitation.form"
        exchange = self.exchange_of(asked.tool.name, can=mode)
        if exchange is None:
            raise nobody_to_ask(asked)
        kind = "elicit" if asked.schema is not None or asked.url is not None else "confirm"
        params = _params_of(asked, self._may_remember(asked))
        # An answer may come before its question, and a yes is to what was asked: so the key is of these very words.
        said = json.dumps(params, sort_keys=True).encode("utf-8", "surrogatepass")
        key = exchange.key_for(f"{kind}-{hashlib.sha256(said).hexdigest()[:16]}")
        if asked.url is not None:
            params["elicitationId"] = f"{asked.session.id}-{key}"
        answer = (await exchange.ask({key: {"method": ELICIT, "params": params}}))[key]
        if answer["action"] != "accept":
            return False if answer["action"] == "decline" else None
        content = answer.get("content") or {}
        if asked.schema is not None:
            return content
        return "session" if self._may_remember(asked) and content.get("remember") is True else True

    def _may_remember(self, asked: Confirmation) -> bool:
        return bool(asked.tool.limits.requires_confirmation) and not (self.is_shared or asked.is_running)

    async def _sample(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        exchange = self.exchange_of(can="sampling")
        if exchange is None:
            raise ToolError(ErrorCode.FORBIDDEN, "the client has no model to sample", reason="capability")
        key = exchange.key_for("sample")
        return (await exchange.ask({key: {"method": CREATE, "params": request}}))[key]


def nobody_to_ask(asked: Confirmation) -> ToolError:
    """FORBIDDEN: the client's person cannot be asked."""
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"{asked.tool.name!r} asks a person first, and this client cannot ask one: it declares no elicitation"
        + (" of URLs" if asked.url is not None else ""),
        reason="confirmation",
        retry="changed",
    )


def _params_of(asked: Confirmation, may_remember: bool) -> dict[str, Any]:
    message = _message_of(asked)
    if asked.url is not None:
        return {"mode": "url", "message": message, "url": asked.url}
    schema = asked.schema if asked.schema is not None else REMEMBER if may_remember else NOTHING
    return {"mode": "form", "message": message, "requestedSchema": schema}


def _message_of(asked: Confirmation) -> str:
    """The question, with who asks, and below it all that it is about: each line of that behind a bar, so that none
    can pass for a question of ours."""
    first, _, text = visible(asked.question).partition("\n")
    arguments = visible_json(json.dumps(asked.arguments, ensure_ascii=False, default=str)) if asked.arguments else ""
    below = "\n".join(f"| {line}" for part in (text, arguments) if part for line in part.split("\n"))
    head = visible(f"{first} [{asked.tool.name} of {asked.tool.origin}]")
    return f"{head}\n{below}" if below else head


def _is_http(request: Any) -> bool:
    scope = getattr(request, "scope", None)
    return scope is not None and scope["type"] == "http"


class Sessions:
    """The sessions of one server."""

    def __init__(
        self, host: Host, identify: Callable[[Any], Caller], result_id: Callable[[], str] | None = None
    ) -> None:
        self.host = host
        self.result_id = result_id  # where several processes serve as one
        self._identify = identify
        self._by_caller: OrderedDict[Caller, Connected] = OrderedDict()
        self._by_connection: weakref.WeakValueDictionary[int, Connected] = weakref.WeakValueDictionary()
        self._lasting: dict[str, tuple[float, dict[str, Any]]] = {}

    def of(self, ctx: ServerRequestContext[Any, Any]) -> Connected:
        """What a request belongs to."""
        params = ctx.session.client_params
        if params is None or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            if PIPE not in self._lasting and not _is_http(ctx.request):
                self._began(ctx)
            return self._of_caller(ctx.request)
        found = self._by_connection.get(id(params))
        if found is None:
            found = Connected(self, self._identify(ctx.request), ctx.session)
            self._began(ctx)
            params.__dict__[SLOT] = self._by_connection[id(params)] = found
        return found

    def connections(self) -> list[Connected]:
        """Those of the handshake era, which hear of changes outside of any request."""
        return list(self._by_connection.values())

    def _began(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """A session begins: that of a pipe or a socket, or over HTTP one that has an id. Without there is none."""
        request: Any = ctx.request
        key = PIPE
        if _is_http(request):
            key = request.headers.get(MCP_SESSION_ID_HEADER) or request.query_params.get("session_id", PIPE)
            if key == PIPE:
                return
        told = {"mcp.protocol.version": ctx.protocol_version, "network.transport": "pipe" if request is None else "tcp"}
        self._lasting[key] = (perf_counter(), told)

    def ended(self, key: str) -> None:
        """A session is over; observers hear how long it lasted."""
        if (lasting := self._lasting.pop(key, None)) is not None:
            self.host.measure("mcp.server.session.duration", perf_counter() - lasting[0], lasting[1])

    def end(self) -> None:
        """All of them are over."""
        for key in tuple(self._lasting):
            self.ended(key)

    def _of_caller(self, request: Any) -> Connected:
        caller = self._identify(request)
        scope = getattr(request, "scope", None)
        if scope is not None and scope["type"] == "websocket":
            own: Connected | None = scope.get(SLOT)
            if own is None or own.owner is not self:
                own = scope[SLOT] = Connected(self, caller, None)
            return own
        found = self._by_caller.get(caller)
        if found is None:
            found = self._by_caller[caller] = Connected(self, caller, None, is_shared=scope is not None)
            if len(self._by_caller) > MAX_CALLERS:
                self._by_caller.popitem(last=False)
        else:
            self._by_caller.move_to_end(caller)
        return found
