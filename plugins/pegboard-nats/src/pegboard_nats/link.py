"""The one link of a host: opened when somebody first wants it, closed after the host's sources ended."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pegboard import ErrorCode, PluginError, Retry, ToolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import trio

    from pegboard_nats.calls import RemoteCalls
    from pegboard_nats.client import Client
    from pegboard_nats.settings import NatsSettings

notice = logging.getLogger("pegboard.notice")


class Link:
    """What a host has of NATS: a client, once a source or a call asked for one."""

    def __init__(self, settings: NatsSettings, nursery: trio.Nursery) -> None:
        self._settings = settings
        self._nursery = nursery
        self._client: Client | None = None
        self._calls: dict[str, RemoteCalls] = {}

    @property
    def client(self) -> Client:
        """The client, whose link comes up while the host runs; nobody waits for it here."""
        if self._client is None:
            from pegboard_nats.client import Client

            self._client = Client(self._settings.link("pegboard host", role="host"), tell=_tell)
            self._nursery.start_soon(self._client.run)
        return self._client

    def calls(self, group: str) -> RemoteCalls:
        """Calls of a group's tools."""
        if (calls := self._calls.get(group)) is None:
            from pegboard_nats.calls import RemoteCalls
            from pegboard_nats.wire import Subjects

            settings = self._settings
            calls = self._calls[group] = RemoteCalls(
                self.client, Subjects(settings.prefix, group), alive_s=settings.alive_s, claims=settings.claims
            )
        return calls

    async def aclose(self) -> None:
        """Send what was published last, and end the link."""
        if self._client is not None:
            await self._client.aclose()


def _tell(trouble: str) -> None:
    notice.warning("%s", trouble)


# The settings of a board are one object, which all hooks of it are given.
_links: WeakKeyDictionary[NatsSettings, Link] = WeakKeyDictionary()


def link_of(settings: NatsSettings) -> Client:
    """The link of the host that runs with these settings.

    Raises:
        PluginError: none runs.
    """
    if (link := _links.get(settings)) is None:
        raise PluginError("no host runs that has a link to NATS")
    return link.client


def calls_of(settings: NatsSettings, group: str) -> RemoteCalls:
    """Calls of a group's tools, over the link of the host.

    Raises:
        ToolError: no host runs with these settings.
    """
    link = _links.get(settings)
    if link is None:
        text = "the host has no link to NATS"
        raise ToolError(ErrorCode.UPSTREAM_ERROR, text, executed=False, retry=Retry.SAME.value)
    return link.calls(group)


@asynccontextmanager
async def open_link(settings: NatsSettings) -> AsyncIterator[Link]:
    """The place of a host's link, for as long as the host runs."""
    import trio

    async with trio.open_nursery() as nursery:
        link = _links[settings] = Link(settings, nursery)
        try:
            yield link
        finally:
            del _links[settings]
            await link.aclose()
