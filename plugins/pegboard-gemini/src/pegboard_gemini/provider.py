"""Where Gemini's models are: keys, addresses and a list of models.

`GOOGLE_GEMINI_BASE_URL` is read as Google's own client reads it: without the version of the API. The key goes in the
header `x-goog-api-key`, never in an address, for addresses are logged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pegboard_chat.wire import KeyedProvider
from pegboard_gemini.settings import GeminiSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_gemini.dialect import GeminiDialect

SECOND_KEY_VARIABLE = "GOOGLE_API_KEY"
VERSION = "/v1beta"


class GeminiProvider(KeyedProvider[GeminiSettings]):
    """The provider `gemini`; `settings` are `[plugins.gemini]`.

    .. versionadded:: 0.1
    """

    name = "gemini"
    key_variable = "GEMINI_API_KEY"
    url_variable = "GOOGLE_GEMINI_BASE_URL"
    own_url = "https://generativelanguage.googleapis.com"
    versions = (VERSION,)

    def make_dialect(self) -> GeminiDialect:
        """generateContent, as the settings want it."""
        from pegboard_gemini.dialect import GeminiDialect

        given = self.settings
        return GeminiDialect(
            given.schema,
            thinking_level=given.thinking_level,
            thinking_budget=given.thinking_budget,
            include_thoughts=given.include_thoughts,
        )

    def headers_of(self, key: str | None) -> dict[str, str]:
        """The key."""
        return {"x-goog-api-key": key} if key else {}

    def url_of(self, model: str, *, stream: bool) -> str:
        """See the function."""
        return url_of(self.base_url, model, stream=stream)

    def model_of(self, named: str) -> str:
        """Without the `models/` that the API puts before it."""
        return named.removeprefix("models/")

    @property
    def configured_key(self) -> str | None:
        """The key of the settings, or the second variable's where neither they nor the first one say any."""
        second = None if os.environ.get(self.key_variable, "").strip() else os.environ.get(SECOND_KEY_VARIABLE)
        return self.settings.api_key or second or None

    async def list_models(self) -> list[str]:
        """The names of the models that answer questions; see `Provider.list_models`."""
        from pegboard_chat.wire import list_entries

        place = await self.place("")
        url = f"{self.base_url}{VERSION}/models?pageSize=1000"
        async with self.transport() as transport:
            entries = await list_entries(transport, url, place, parameter="pageToken", following="nextPageToken")
        return [name for entry in entries if (name := _name_of(entry))]


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
