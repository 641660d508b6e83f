"""One `Session` for each connection, and where the protocol has no connections, one for each caller."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from pegboard.host import Host
    from pegboard.session import Session
    from pegboard_mcp.server.auth import Caller

MAX_CALLERS = 1_000
"""Sessions of callers without a connection that are kept; the one that was not used for longest goes first."""


class Sessions:
    """The sessions of one server."""

    def __init__(self, host: Host, identify: Callable[[Any], Caller]) -> None:
        self._host = host
        self._identify = identify
        self._by_caller: OrderedDict[Caller, Session] = OrderedDict()
        self._by_connection: dict[int, Session] = {}

    def of(self, ctx: ServerRequestContext[Any, Any]) -> Session:
        """The session that a request belongs to."""
        params = ctx.session.client_params
        if params is None or ctx.protocol_version >= "2026":
            return self._of_caller(self._identify(ctx.request))
        found = self._by_connection.get(id(params))
        if found is None:
            found = self._by_connection[id(params)] = self._make(self._identify(ctx.request))
            weakref.finalize(params, self._by_connection.pop, id(params), None)
        return found

    def _of_caller(self, caller: Caller) -> Session:
        found = self._by_caller.get(caller)
        if found is None:
            found = self._by_caller[caller] = self._make(caller)
            if len(self._by_caller) > MAX_CALLERS:
                self._by_caller.popitem(last=False)
        else:
            self._by_caller.move_to_end(caller)
        return found

    def _make(self, caller: Caller) -> Session:
        return self._host.session(caller.user_id, channel="mcp", profile=caller.profile)
