"""Where Gemini's models are: keys, addresses and a list of models.

`GOOGLE_GEMINI_BASE_URL` is read as Google's own client reads it: without the version of the API. The key goes in the
header `x-goog-api-key`, never in an address, for addresses are logged.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pegboard_chat.wire.faults import Place
from pegboard_chat.wire.http_model import HttpModel
from pegboard_chat.wire.keys import key_for, missing_key
from pegboard_chat.wire.listing import list_entries
from pegboard_chat.wire.transport import open_transport
from pegboard_gemini.dialect import GeminiDialect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard_chat.contract import Model
    from pegboard_chat.wire.transport import Transport
    from pegboard_gemini.settings import GeminiSettings

BASE_URL = "https://generativelanguage.googleapis.com"
KEY_VARIABLE = "GEMINI_API_KEY"
SECOND_KEY_VARIABLE = "GOOGLE_API_KEY"
URL_VARIABLE = "GOOGLE_GEMINI_BASE_URL"
VERSION = "/v1beta"


class GeminiProvider:
    """The provider `gemini`.

    Args:
        settings: `[plugins.gemini]`.
        connect: what opens the transport, where it is not the wire's own.

    .. versionadded:: 0.1
    """

    name = "gemini"

    def __init__(
        self,
        settings: GeminiSettings,
        connect: Callable[[], AbstractAsyncContextManager[Transport]] = open_transport,
    ) -> None:
        self.default_model: str | None = settings.model
        self._settings = settings
        self._connect = connect

    def missing(self) -> str | None:
        """A key, unless the address is this very machine."""
        return missing_key(self._base_url, KEY_VARIABLE, self._configured)

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """A model; see `Provider.open`."""
        settings = self._settings
        named = (model or settings.model).removeprefix("models/")
        place = await self._place(named)
        dialect = GeminiDialect(
            settings.schema,
            thinking_level=settings.thinking_level,
            thinking_budget=settings.thinking_budget,
            include_thoughts=settings.include_thoughts,
        )
        async with self._connect() as transport:
            yield HttpModel(f"{self.name}:{named}", dialect, transport, place)

    async def list_models(self) -> list[str]:
        """The names of the models that answer questions; see `Provider.list_models`."""
        place = await self._place("")
        url = f"{self._base_url}{VERSION}/models?pageSize=1000"
        async with self._connect() as transport:
            entries = await list_entries(transport, url, place, parameter="pageToken", following="nextPageToken")
        return [name for entry in entries if (name := _name_of(entry))]

    @property
    def _base_url(self) -> str:
        """Without the version, which some write behind it."""
        url = self._settings.base_url or os.environ.get(URL_VARIABLE, "").strip() or BASE_URL
        return url.strip().rstrip("/").removesuffix(VERSION)

    @property
    def _configured(self) -> str | None:
        """The key of the settings, or the second variable's where neither they nor the first one say any."""
        second = None if os.environ.get(KEY_VARIABLE, "").strip() else os.environ.get(SECOND_KEY_VARIABLE)
        return self._settings.api_key or second or None

    async def _place(self, model: str) -> Place:
        base = self._base_url
        key = await key_for(self.name, base, KEY_VARIABLE, self._configured)
        headers = {"x-goog-api-key": key} if key else {}
        return Place(
            self.name,
            model,
            lambda model, stream: url_of(base, model, stream=stream),
            headers,
            key=key,
            key_variable=KEY_VARIABLE,
        )


def url_of(base: str, model: str, *, stream: bool) -> str:
    """The address of one request; a model of one's own says where it is: `tunedModels/mine`."""
    named = quote(model.removeprefix("models/"), safe="/-._~")
    path = named if "/" in named else f"models/{named}"
    return f"{base}{VERSION}/{path}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"


def _name_of(model: Mapping[str, Any]) -> str:
    """The name of a model that answers questions; empty for others."""
    name, methods = model.get("name"), model.get("supportedGenerationMethods")
    answers = not isinstance(methods, list) or "generateContent" in methods
    return name.removeprefix("models/") if isinstance(name, str) and answers else ""
