"""What bridges to one provider share: one address, one key, and models that are asked over HTTP.

A bridge says in its class which variables hold key and address, and in a few small methods what its requests look like.
Light to import: a tool that talks to a model has its provider at hand when a board is loaded.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard_chat.contract import Model, ModelDialect
    from pegboard_chat.wire.faults import Place
    from pegboard_chat.wire.transport import Transport

Settings = TypeVar("Settings", bound=Any)


class KeyedProvider(Generic[Settings]):
    """A `Provider` with one address and one key, but for `list_models`.

    Args:
        settings: of the plugin: `api_key`, `base_url` and `model` at least.
        connect: what opens the transport, where it is not the wire's own.

    .. versionadded:: 0.1
    """

    name: ClassVar[str]
    key_variable: ClassVar[str]
    url_variable: ClassVar[str]
    own_url: ClassVar[str]
    versions: ClassVar[tuple[str, ...]] = ()
    """Of the API, as some write them behind the address."""
    advice: ClassVar[Mapping[str, str]] = {}
    """By reason of a `ModelError`: what to do, instead of the general words."""

    def __init__(
        self, settings: Settings, connect: Callable[[], AbstractAsyncContextManager[Transport]] | None = None
    ) -> None:
        self.settings = settings
        self.default_model: str | None = settings.model
        self._connect = connect

    def make_dialect(self) -> ModelDialect:
        """How the provider speaks, by the settings."""
        raise NotImplementedError

    def headers_of(self, key: str | None) -> dict[str, str]:
        """The headers of every request."""
        raise NotImplementedError

    def url_of(self, model: str, *, stream: bool) -> str:
        """The address of one request."""
        raise NotImplementedError

    def model_of(self, named: str) -> str:
        """A model's name as the provider takes it."""
        return named

    @property
    def configured_key(self) -> str | None:
        """The key, where something goes before the variable."""
        key: str | None = self.settings.api_key
        return key

    @property
    def base_url(self) -> str:
        """The address without a version and without a slash at its end."""
        address = self.settings.base_url or os.environ.get(self.url_variable, "").strip() or self.own_url
        url: str = address.strip().rstrip("/")
        for version in self.versions:
            url = url.removesuffix(version)
        return url

    @property
    def address(self) -> str:
        """Where the address comes from, as an error says it."""
        return f"base_url under [plugins.{self.name}]" if self.settings.base_url else self.url_variable

    def missing(self) -> str | None:
        """A key, unless the address is this very machine; see `Provider.missing`."""
        from pegboard_chat.wire.keys import missing_key

        return missing_key(self.base_url, self.key_variable, self.configured_key)

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """A model; see `Provider.open`."""
        from pegboard_chat.wire.http_model import HttpModel

        named = self.model_of(model or self.settings.model)
        place = await self.place(named)
        async with self.transport() as transport:
            yield HttpModel(f"{self.name}:{named}", self.make_dialect(), transport, place)

    def transport(self) -> AbstractAsyncContextManager[Transport]:
        """What carries requests."""
        from pegboard_chat.wire.transport import open_transport

        return (self._connect or open_transport)()

    async def place(self, model: str) -> Place:
        """Where requests go, and with which headers.

        Raises:
            ModelError: reason `no_key`, or `refused` where the key would go in the clear.
        """
        from pegboard_chat.wire.faults import Place
        from pegboard_chat.wire.keys import key_for

        key = await key_for(self.name, self.base_url, self.key_variable, self.configured_key, address=self.address)
        return Place(
            self.name,
            model,
            lambda model, stream: self.url_of(model, stream=stream),
            self.headers_of(key),
            key=key,
            key_variable=self.key_variable,
            advice=self.advice,
        )
