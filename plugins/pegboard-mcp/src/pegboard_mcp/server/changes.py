"""Telling clients what changed: tools, prompts, resources, and what lies at a URI.

Changes come in bursts, as when an MCP server on the board starts: what happens within `PAUSE_S` is told once. Clients
of the handshake era hear it outside of any request, those of 2026-07-28 on the streams that they opened
(`subscriptions/listen`). A client that does not read holds up nobody else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import trio
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import (
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    ToolListChangedNotification,
)

if TYPE_CHECKING:
    from pegboard import Host
    from pegboard_mcp.collected import Capabilities
    from pegboard_mcp.server.sessions import Connected, Sessions

log = logging.getLogger("pegboard.mcp.serve")

PAUSE_S = 0.05
SEND_S = 10.0
"""How long one client may take to read that something changed."""
MAX_UPDATES = 1_000
"""URIs that are told of in one burst; beyond it the list is said to have changed."""

_LISTS: dict[str, tuple[Any, Any]] = {
    "tools": (ToolListChangedNotification, ToolsListChanged),
    "prompts": (PromptListChangedNotification, PromptsListChanged),
    "resources": (ResourceListChangedNotification, ResourcesListChanged),
}


class Changes:
    """What changed since it was last told."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._lists: dict[str, None] = {}
        self._uris: dict[str, None] = {}
        self._changed = trio.Event()
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)

    def note(self, kind: str, uri: str | None = None) -> None:
        """Something changed: one of the lists, or (`updated`) what lies at a URI."""
        if uri is None:
            self._lists[kind] = None
        elif len(self._uris) < MAX_UPDATES:
            self._uris[uri] = None
        else:
            self._lists["resources"] = None
        self._changed.set()

    async def run(self, host: Host, capabilities: Capabilities) -> None:
        """Watch, and tell, until cancelled."""
        ends = (host.watch(lambda old, new: self.note("tools")), capabilities.watch(self.note))
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    await self._changed.wait()
                    await trio.sleep(PAUSE_S)
                    self._changed = trio.Event()
                    lists, self._lists = tuple(self._lists), {}
                    uris, self._uris = tuple(self._uris), {}
                    for one in self._sessions.connections():
                        nursery.start_soon(_tell, one, lists, uris)
                    for kind in lists:
                        await self._bus.publish(_LISTS[kind][1]())
                    for uri in uris:
                        await self._bus.publish(ResourceUpdated(uri=uri))
        finally:
            for end in ends:
                end()


async def _tell(connected: Connected, lists: tuple[str, ...], uris: tuple[str, ...]) -> None:
    way = connected.standalone
    if way is None:
        return
    with trio.move_on_after(SEND_S):
        try:
            for kind in lists:
                await way.send_notification(_LISTS[kind][0]())
            for uri in uris:
                if uri in connected.subscribed:
                    params = ResourceUpdatedNotificationParams(uri=uri)
                    await way.send_notification(ResourceUpdatedNotification(params=params))
        except Exception:  # whatever a transport does when its client leaves: the others are told
            log.debug("a client was not told of changes", exc_info=True)
