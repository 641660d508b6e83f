"""The provider `anthropic`: from the settings, the environment and the keyring to a model that answers."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from pegboard_anthropic.settings import AnthropicSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from pegboard_chat.contract import Model
    from pegboard_chat.wire.faults import Place
    from pegboard_chat.wire.transport import Transport

KEY = "ANTHROPIC_API_KEY"
BASE_URL = "ANTHROPIC_BASE_URL"
OWN_URL = "https://api.anthropic.com"

ADVICE = {
    "wrong_key": f"set {KEY}, or api_key under [plugins.anthropic], to a key that is valid",
    "refused": "change what is asked: fewer tools, a shorter conversation, other options; strict = false under"
    " [plugins.anthropic] if it names a schema or a grammar",
}


class AnthropicProvider:
    """Anthropic's models, or those of a server that speaks as Anthropic does.

    Args:
        settings: of the plugin.
        connect: what opens the transport, where it is not the wire's own.

    .. versionadded:: 0.1
    """

    name = "anthropic"

    def __init__(
        self,
        settings: AnthropicSettings | None = None,
        connect: Callable[[], AbstractAsyncContextManager[Transport]] | None = None,
    ) -> None:
        self._settings = settings or AnthropicSettings()
        self._connect = connect
        self.default_model = self._settings.model

    @property
    def base_url(self) -> str:
        """The address before `/v1`, without a slash at its end; one that says `/v1` itself is taken too."""
        said = self._settings.base_url or os.environ.get(BASE_URL, "").strip() or OWN_URL
        return said.rstrip("/").removesuffix("/v1")

    def missing(self) -> str | None:
        """What has to be set first; the keyring is not asked."""
        from pegboard_chat.wire.keys import missing_key

        return missing_key(self.base_url, KEY, self._settings.api_key)

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """A model of that name, or the default one."""
        from pegboard_anthropic.dialect import AnthropicDialect
        from pegboard_chat.wire.http_model import HttpModel

        name = model or self.default_model
        place = await self._place(name)
        async with self._transport() as transport:
            yield HttpModel(f"{self.name}:{name}", AnthropicDialect.of(self._settings), transport, place)

    async def list_models(self) -> Sequence[str]:
        """The models that the key may ask, the newest first."""
        place = await self._place("")
        async with self._transport() as transport:
            answer = await transport.get(f"{self.base_url}/v1/models?limit=1000", place)
        listed = answer.get("data") if isinstance(answer, dict) else None
        entries = listed if isinstance(listed, list) else []
        return [entry["id"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]

    def _transport(self) -> AbstractAsyncContextManager[Transport]:
        from pegboard_chat.wire.transport import open_transport

        return (self._connect or open_transport)()

    async def _place(self, model: str) -> Place:
        """Where requests go, and with which headers."""
        from pegboard_chat.wire.faults import Place
        from pegboard_chat.wire.keys import key_for

        base_url = self.base_url
        key = await key_for(self.name, base_url, KEY, self._settings.api_key, address=BASE_URL)
        headers = {"anthropic-version": self._settings.version}
        if key is not None:
            headers["x-api-key"] = key
        if self._settings.betas:
            headers["anthropic-beta"] = ",".join(self._settings.betas)
        return Place(
            self.name,
            model,
            lambda model, stream: f"{base_url}/v1/messages",
            headers,
            key=key,
            key_variable=KEY,
            advice=ADVICE,
        )
