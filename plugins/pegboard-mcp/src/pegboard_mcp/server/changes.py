"""Telling clients what changed: tools, prompts, resources, what lies at a URI, and how a task is.

Changes come in bursts, as when an MCP server on the board starts: what happens within `PAUSE_S` is told once. Clients
of the handshake era hear it outside of any request, those of 2026-07-28 on the streams that they opened
(`server.listening`). A client that does not read holds up nobody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from mcp_types import ResourceUpdatedNotification, ResourceUpdatedNotificationParams

from pegboard.config import get_logger
from pegboard_mcp.server.listening import LISTS, Listening

if TYPE_CHECKING:
    from pegboard import Host
    from pegboard_mcp.collected import Capabilities
    from pegboard_mcp.server.sessions import Connected, Sessions

log = get_logger("pegboard.mcp.serve")

PAUSE_S = 0.05
SEND_S = 10.0
"""How long one client may take to read that something changed."""
MAX_UPDATES = 1_000
"""URIs that are told of in one burst; beyond it the list is said to have changed."""


class Changes:
    """What changed since it was last told."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._lists: dict[str, None] = {}
        self._uris: dict[str, None] = {}
        self._changed = trio.Event()
        self.listening = Listening()

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
                        self.listening.tell(kind)
                    for uri in uris:
                        self.listening.tell("updated", uri)
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
                await way.send_notification(LISTS[kind]())
            for uri in uris:
                if uri in connected.subscribed:
                    params = ResourceUpdatedNotificationParams(uri=uri)
                    await way.send_notification(ResourceUpdatedNotification(params=params))
        except Exception:  # whatever a transport does when its client leaves: the others are told
            log.debug("a client was not told of changes", exc_info=True)
