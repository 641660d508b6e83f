"""Streams on which clients of 2026-07-28 hear what they asked for (`subscriptions/listen`).

A stream begins with the subset of what was asked that it will tell, and each message on it carries the id of its
request. What is told is that something changed, or how a task is now: so of several changes that were not read yet the
last one counts, and a client that reads slowly costs no more than what it asked for.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions; `taskIds` is of the extension of
tasks (https://modelcontextprotocol.io/seps/2663-tasks-extension).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import trio
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    Notification,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    SubscriptionFilter,
    ToolListChangedNotification,
)

from pegboard import ErrorCode, ToolError
from pegboard_mcp.server.errors import protocol_error
from pegboard_mcp.server.sessions import MAX_SUBSCRIBED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mcp.server.context import ServerRequestContext

    from pegboard_mcp.server.elicitation import Asker
    from pegboard_mcp.server.tasks import Tasks
    from pegboard_serving import Caller

LISTEN = "subscriptions/listen"
MAX_STREAMS = 1_000
"""Streams that are open at once."""
MAX_STREAMS_OF_ONE = 500
"""Those of one caller."""
MAX_TASK_IDS = 100
"""Tasks of one stream: as many as a caller may have."""

LISTS: Mapping[str, Any] = {
    "tools": ToolListChangedNotification,
    "prompts": PromptListChangedNotification,
    "resources": ResourceListChangedNotification,
}


class Told(NamedTuple):
    """What a client may ask to hear of: the change of a list, what lies at a URI (`updated`), or a `task`."""

    kind: str
    id: str = ""


class _Stream:
    """One client that listens."""

    def __init__(self, caller: Caller, asked: Iterable[Told]) -> None:
        self.caller = caller
        self._asked = frozenset(asked)
        self._unsent: dict[Told, None] = {}
        self._news = trio.Event()
        self._is_closed = False

    def tell(self, what: Told) -> None:
        """It is told of it, if it asked for that."""
        if what in self._asked:
            self._unsent[what] = None
            self._news.set()

    def close(self) -> None:
        """It ends once what it was told of is sent."""
        self._is_closed = True
        self._news.set()

    async def next(self) -> Told | None:
        """What to tell next, the oldest first; None: it ends."""
        while not self._unsent:
            if self._is_closed:
                return None
            self._news = trio.Event()
            await self._news.wait()
        what = next(iter(self._unsent))
        del self._unsent[what]
        return what


class Listening:
    """The streams of one server."""

    def __init__(self) -> None:
        self._streams: set[_Stream] = set()
        self._is_closed = False

    def tell(self, kind: str, id_: str = "") -> None:
        """Something changed: a list, what lies at a URI, or a task of this id."""
        for stream in self._streams:
            stream.tell(Told(kind, id_))

    def close(self) -> None:
        """End all streams, and those to come; each is answered, and its client listens anew elsewhere."""
        self._is_closed = True
        for stream in tuple(self._streams):
            stream.close()

    async def serve(
        self, ctx: ServerRequestContext[Any, Any], asked: SubscriptionFilter, asker: Asker, tasks: Tasks | None
    ) -> dict[str, Any]:
        """One stream, until its client leaves or serving ends.

        Args:
            ctx: of the request, whose answer is the stream.
            asked: what its client wants to hear of.
            asker: whose it is.
            tasks: those of the server; None: it has none, and tells of none.

        Raises:
            MCPError: RATE_LIMITED: too many streams are open.
        """
        meta = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}
        given = {} if tasks is None else await tasks.known(asker, task_ids_of(ctx.params)[:MAX_TASK_IDS])
        uris = (asked.resource_subscriptions or [])[:MAX_SUBSCRIBED]
        lists = [kind for kind in LISTS if getattr(asked, f"{kind}_list_changed")]
        ids = [Told("task", id_) for id_ in given]
        stream = _Stream(asker.caller, [*map(Told, lists), *(Told("updated", uri) for uri in uris), *ids])
        honoured: dict[str, Any] = {f"{kind}ListChanged": True for kind in lists}
        honoured |= {"resourceSubscriptions": uris} if uris else {}
        honoured |= {"taskIds": list(given.values())} if given else {}
        self._require_room(asker.caller)
        self._streams.add(stream)  # before it is said: what changes meanwhile is told
        try:
            await _send(ctx, "notifications/subscriptions/acknowledged", {"notifications": honoured}, meta)
            for one in ids:  # what a task came to since its client heard of it, it would never hear
                stream.tell(one)
            if self._is_closed:
                stream.close()
            while (what := await stream.next()) is not None:
                if what.kind == "task" and tasks is not None:
                    state = await tasks.shown_as(asker, given[what.id])
                    if state is not None:
                        await _send(ctx, "notifications/tasks", state, meta)
                elif what.kind == "updated":
                    await _send(ctx, "notifications/resources/updated", {"uri": what.id}, meta)
                else:
                    await _send(ctx, f"notifications/{what.kind}/list_changed", {}, meta)
        finally:
            self._streams.discard(stream)
        return {"_meta": meta}

    def _require_room(self, caller: Caller) -> None:
        own = sum(1 for one in self._streams if one.caller == caller)
        if len(self._streams) >= MAX_STREAMS or own >= MAX_STREAMS_OF_ONE:
            error = ToolError(ErrorCode.RATE_LIMITED, "too many streams are open")
            raise protocol_error(error)


def task_ids_of(params: Mapping[str, Any] | None) -> list[str]:
    """The tasks that a request wants to hear of, each once, as they are written."""
    return list(dict.fromkeys(_texts((params or {}).get("notifications"))))


def _texts(asked: Any) -> Iterator[str]:
    ids = asked.get("taskIds") if isinstance(asked, dict) else None
    yield from (id_ for id_ in (ids if isinstance(ids, list) else ()) if isinstance(id_, str))


_Message = Notification[dict[str, Any], str]


async def _send(ctx: ServerRequestContext[Any, Any], method: str, params: dict[str, Any], meta: dict[str, Any]) -> None:
    message: Any = _Message(method=method, params={**params, "_meta": meta})
    await ctx.session.send_notification(message, related_request_id=ctx.request_id)
