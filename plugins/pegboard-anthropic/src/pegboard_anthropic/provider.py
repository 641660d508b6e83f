"""The provider `anthropic`: from the settings, the environment and the keyring to a model that answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_anthropic.settings import AnthropicSettings
from pegboard_chat.wire import KeyedProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from pegboard_anthropic.dialect import AnthropicDialect
    from pegboard_chat.wire import Transport


ADVICE = {
    "wrong_key": "set ANTHROPIC_API_KEY, or api_key under [plugins.anthropic], to a key that is valid",
    "refused": "change what is asked: fewer tools, a shorter conversation, other options; strict = false under"
    " [plugins.anthropic] if it names a schema or a grammar",
}


class AnthropicProvider(KeyedProvider[AnthropicSettings]):
    """Anthropic's models, or those of a server that speaks as Anthropic does.

    Args:
        settings: of the plugin.
        connect: what opens the transport, where it is not the wire's own.

    .. versionadded:: 0.1
    """

    name = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    url_variable = "ANTHROPIC_BASE_URL"
    own_url = "https://api.anthropic.com"
    versions = ("/v1",)
    advice = ADVICE

    def __init__(
        self,
        settings: AnthropicSettings | None = None,
        connect: Callable[[], AbstractAsyncContextManager[Transport]] | None = None,
    ) -> None:
        super().__init__(settings or AnthropicSettings(), connect)

    def make_dialect(self) -> AnthropicDialect:
        """Messages, as the settings want them."""
        from pegboard_anthropic.dialect import AnthropicDialect

        return AnthropicDialect.of(self.settings)

    def headers_of(self, key: str | None) -> dict[str, str]:
        """The version, the key, and features to switch on."""
        headers = {"anthropic-version": self.settings.version}
        if key is not None:
            headers["x-api-key"] = key
        if self.settings.betas:
            headers["anthropic-beta"] = ",".join(self.settings.betas)
        return headers

    def url_of(self, model: str, *, stream: bool) -> str:
        """The same for every request."""
        return f"{self.base_url}/v1/messages"

    async def list_models(self) -> Sequence[str]:
        """The models that the key may ask, the newest first."""
        place = await self.place("")
        async with self.transport() as transport:
            answer = await transport.get(f"{self.base_url}/v1/models?limit=1000", place)
        listed = answer.get("data") if isinstance(answer, dict) else None
        entries = listed if isinstance(listed, list) else []
        return [entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
