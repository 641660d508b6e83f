"""The one link of a host: opened before its sources run, closed after they ended."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pegboard_nats.client import Client
    from pegboard_nats.settings import NatsSettings

notice = logging.getLogger("pegboard.notice")

# The settings of a board are one object, which all hooks of it are given.
_links: WeakKeyDictionary[NatsSettings, Client] = WeakKeyDictionary()


def link_of(settings: NatsSettings) -> Client | None:
    """The link of the host that runs with these settings; None: none runs."""
    return _links.get(settings)


@asynccontextmanager
async def open_link(settings: NatsSettings) -> AsyncIterator[Client]:
    """The link of a host, which comes up while the host runs; nobody waits for it here."""
    from pegboard_nats.client import open_client

    def tell(trouble: str) -> None:
        notice.warning("no link to NATS: %s; it is tried again", trouble)

    async with open_client(settings.link("pegboard host", role="host"), tell=tell) as client:
        _links[settings] = client
        try:
            yield client
        finally:
            del _links[settings]
