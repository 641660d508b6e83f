"""Where Cohere's models are: the key, the address and a list of models.

`CO_API_URL` is read as Cohere's own client reads it: the address without the version of the API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_chat.wire import KeyedProvider
from pegboard_cohere.settings import CohereSettings

if TYPE_CHECKING:
    from pegboard_cohere.dialect import CohereDialect


class CohereProvider(KeyedProvider[CohereSettings]):
    """The provider `cohere`; `settings` are `[plugins.cohere]`.

    .. versionadded:: 0.1
    """

    name = "cohere"
    key_variable = "CO_API_KEY"
    url_variable = "CO_API_URL"
    own_url = "https://api.cohere.com"
    versions = ("/v2", "/v1")

    def make_dialect(self) -> CohereDialect:
        """Chat, as the settings want it."""
        from pegboard_cohere.dialect import CohereDialect

        given = self.settings
        return CohereDialect(
            strict=given.strict, thinking=given.thinking, thinking_budget=given.thinking_budget, images=given.images
        )

    def headers_of(self, key: str | None) -> dict[str, str]:
        """The key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def url_of(self, model: str, *, stream: bool) -> str:
        """The same for every request."""
        return f"{self.base_url}/v2/chat"

    async def list_models(self) -> list[str]:
        """The names of the models that chat; see `Provider.list_models`."""
        from pegboard_chat.wire import list_entries

        place = await self.place("")
        url = f"{self.base_url}/v1/models?endpoint=chat&page_size=1000"
        async with self.transport() as transport:
            entries = await list_entries(transport, url, place, parameter="page_token", following="next_page_token")
        names = (entry.get("name") for entry in entries)
        return [name for name in names if isinstance(name, str) and name]
