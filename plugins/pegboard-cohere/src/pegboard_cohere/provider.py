"""Where Cohere's models are: the key, the address and a list of models.

`CO_API_URL` is read as Cohere's own client reads it: the address without the version of the API.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from pegboard_chat.wire.faults import Place
from pegboard_chat.wire.http_model import HttpModel
from pegboard_chat.wire.keys import key_for, missing_key
from pegboard_chat.wire.listing import list_entries
from pegboard_chat.wire.transport import open_transport
from pegboard_cohere.dialect import CohereDialect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from pegboard_chat.contract import Model
    from pegboard_chat.wire.transport import Transport
    from pegboard_cohere.settings import CohereSettings

BASE_URL = "https://api.cohere.com"
KEY_VARIABLE = "CO_API_KEY"
URL_VARIABLE = "CO_API_URL"


class CohereProvider:
    """The provider `cohere`.

    Args:
        settings: `[plugins.cohere]`.
        connect: what opens the transport, where it is not the wire's own.

    .. versionadded:: 0.1
    """

    name = "cohere"

    def __init__(
        self,
        settings: CohereSettings,
        connect: Callable[[], AbstractAsyncContextManager[Transport]] = open_transport,
    ) -> None:
        self.default_model: str | None = settings.model
        self._settings = settings
        self._connect = connect

    def missing(self) -> str | None:
        """A key, unless the address is this very machine."""
        return missing_key(self._base_url, KEY_VARIABLE, self._settings.api_key)

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """A model; see `Provider.open`."""
        settings = self._settings
        named = model or settings.model
        place = await self._place(named)
        dialect = CohereDialect(
            strict=settings.strict,
            thinking=settings.thinking,
            thinking_budget=settings.thinking_budget,
            images=settings.images,
        )
        async with self._connect() as transport:
            yield HttpModel(f"{self.name}:{named}", dialect, transport, place)

    async def list_models(self) -> list[str]:
        """The names of the models that chat; see `Provider.list_models`."""
        place = await self._place("")
        url = f"{self._base_url}/v1/models?endpoint=chat&page_size=1000"
        async with self._connect() as transport:
            entries = await list_entries(transport, url, place, parameter="page_token", following="next_page_token")
        names = (entry.get("name") for entry in entries)
        return [name for name in names if isinstance(name, str) and name]

    @property
    def _base_url(self) -> str:
        """Without the version, which some write behind it."""
        url = (self._settings.base_url or os.environ.get(URL_VARIABLE, "").strip() or BASE_URL).strip().rstrip("/")
        return url.removesuffix("/v2").removesuffix("/v1")

    async def _place(self, model: str) -> Place:
        base = self._base_url
        key = await key_for(self.name, base, KEY_VARIABLE, self._settings.api_key)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return Place(
            self.name, model, lambda model, stream: f"{base}/v2/chat", headers, key=key, key_variable=KEY_VARIABLE
        )
