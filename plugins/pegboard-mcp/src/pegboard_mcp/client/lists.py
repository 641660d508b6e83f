"""The lists of one MCP server: read, followed while it runs, and read again where they changed meanwhile.

A server says that a list changed by a notification; from 2026-07-28 on by a stream that is held open (`listen`). Many
changes in a row are read once they are over.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard_mcp.client._errors import LinkError, Lost, RpcError

if TYPE_CHECKING:
    from pegboard_mcp.client.catalogue import Catalogue
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.discovery import Listing
    from pegboard_mcp.definitions import ServerDefinition

log = logging.getLogger("pegboard.mcp")

DEBOUNCE_S = (0.1, 30.0)
"""How long a list that changed is left alone before it is read; more each time it changes while it is read."""
REREAD = 2
"""How often lists that changed while they were read are read again at once."""
RELISTEN_S = (1.0, 60.0)
"""The pause before a stream of changes that ended is opened again; as long as that of a server that is restarted."""
HEALTHY_S = 60.0
"""A stream, or a server, that lasted this long is opened again without delay of the past."""
METHOD_NOT_FOUND = -32601


class Lists:
    """The lists of one server, as its catalogue has them."""

    def __init__(self, definition: ServerDefinition, catalogue: Catalogue) -> None:
        self._name = definition.name
        self._request_s = definition.request_s
        self._catalogue = catalogue
        self._changed: Any = None
        self._changes = self._seen = 0

    def begin(self) -> None:
        """The host runs."""
        import trio

        self._changed = trio.Event()

    async def read(self, connection: Connection) -> Listing:
        """The lists, read again where they changed meanwhile, but not for ever."""
        from pegboard_mcp.client.discovery import discover

        for _ in range(REREAD):
            self._seen = self._changes
            listing = await discover(connection)
            if self._seen == self._changes:
                return listing
        self._seen = self._changes
        return await discover(connection)

    async def read_again(self, connection: Connection) -> None:
        """Read the lists, and have what they say from here on."""
        self._catalogue.adopt(await self._catalogue.comparison.look_at(await self.read(connection)))

    def hear(self, method: str, params: Mapping[str, Any]) -> None:
        """A notification that a list changed, or what lies at an address."""
        if method == "notifications/resources/updated":
            uri = params.get("uri")
            if isinstance(uri, str) and self._catalogue.capabilities is not None:
                self._catalogue.capabilities.updated(uri)
            return
        self._note_change()

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.set()

    async def follow(self, connection: Connection) -> None:
        """Read the lists again whenever the server says that they changed."""
        import trio

        name, pause_s = self._name, DEBOUNCE_S[0]
        while True:
            await self._changed.wait()
            self._changed = trio.Event()  # here alone: nobody else waits for it
            await trio.sleep(pause_s)
            try:
                with trio.fail_after(self._request_s):
                    await self.read_again(connection)
            except Lost:
                return
            except (LinkError, RpcError, trio.TooSlowError) as problem:
                log.warning("a new list of the MCP server %s cannot be read, the old one stays: %s", name, problem)
            if self._seen == self._changes:
                self._changed = trio.Event()
                pause_s = DEBOUNCE_S[0]
            else:
                pause_s = min(2 * pause_s, DEBOUNCE_S[1])

    async def listen(self, connection: Connection) -> None:
        """Hold a stream of changes open (2026-07-28); what changed while there was none is read after each start."""
        import trio

        has = connection.capabilities
        wanted = {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if isinstance(has.get(kind), Mapping) and has[kind].get("listChanged")
        }
        if not wanted:
            return
        pause_s = RELISTEN_S[0]
        while True:
            began = trio.current_time()
            try:
                await connection.listen({"notifications": wanted})
            except Lost:
                return
            except RpcError as problem:
                if problem.code == METHOD_NOT_FOUND:
                    return
                log.info("the stream of changes of the MCP server %s ended: %s", self._name, problem.message[:200])
            pause_s = RELISTEN_S[0] if trio.current_time() - began > HEALTHY_S else min(2 * pause_s, RELISTEN_S[1])
            await trio.sleep(pause_s * random.uniform(0.5, 1.5))
            self._note_change()
