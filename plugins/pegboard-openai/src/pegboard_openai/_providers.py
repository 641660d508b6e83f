"""The providers: OpenAI, compatible servers by name, and whatever serves models on this machine.

No trio and no httpx2 before a model is opened.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import ErrorCode
from pegboard_chat import ModelError
from pegboard_openai._flavours import COMPATIBLE, OPENAI, flavour_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from pegboard_chat import Model, ModelDialect
    from pegboard_chat.wire import Place, Transport
    from pegboard_openai.settings import OpenAISettings, ServerSettings

KEY = "OPENAI_API_KEY"
BASE_URL = "OPENAI_BASE_URL"
OWN_URL = "https://api.openai.com/v1"
OWN_MODEL = "gpt-5-mini"

LOOK_S = 2.0
"""How long a port of this machine may take to say which models it has."""
PORTS = {8080: "llama.cpp", 11434: "Ollama", 1234: "LM Studio", 8000: "vLLM"}
"""Where servers of models listen unless they are told otherwise."""
_NO_CHAT = ("embed", "rerank", "whisper", "tts", "moderation")
"""Parts of names of models that answer no questions; they are passed over where the first model is wanted."""


class Server:
    """One server that speaks OpenAI's language, as a `Provider`.

    Args:
        name: of the provider.
        settings: where it is, its key, its model.
        wants_key: whether it refuses requests without a key; None: it does where a variable is named for one.
        responses: whether it is asked by the responses API instead of chat completions.
        address: where its address comes from, as an error says it.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        name: str,
        settings: ServerSettings,
        *,
        wants_key: bool | None = None,
        responses: bool = False,
        address: str | None = None,
    ) -> None:
        self.address = address or f"base_url under [plugins.openai.servers.{name}]"
        self.name = name
        self.default_model = settings.model
        self._settings = settings
        self._wants_key = settings.key_variable is not None if wants_key is None else wants_key
        self._responses = responses

    @property
    def base_url(self) -> str:
        """The address with its version, without a slash at its end."""
        return self._settings.base_url.strip().rstrip("/")

    def missing(self) -> str | None:
        """What has to be set first; the keyring is not asked."""
        from pegboard_chat.wire import missing_key

        variable = self._settings.key_variable
        if not self._wants_key or variable is None:
            return None
        return missing_key(self.base_url, variable, self._settings.api_key)

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """A model of that name, else the configured one, else the first that the server lists.

        Raises:
            ModelError: reason `no_key`; `no_model`, `no_network` and the like where the server has to be asked first.
        """
        from pegboard_chat.wire import open_transport

        place = await self._place()
        async with open_transport() as transport:
            name = model or self.default_model or _first(self.name, await _models(transport, self.base_url, place))
            yield _model(self, name, transport, place, self._dialect())

    async def list_models(self) -> Sequence[str]:
        """The names of its models, as it lists them."""
        from pegboard_chat.wire import open_transport

        place = await self._place()
        async with open_transport() as transport:
            return await _models(transport, self.base_url, place)

    def _dialect(self) -> ModelDialect:
        from pegboard_openai._chat import ChatDialect
        from pegboard_openai._responses import ResponsesDialect

        kind = ResponsesDialect if self._responses else ChatDialect
        return kind(flavour_of(self.base_url), self.name)

    async def _place(self) -> Place:
        from pegboard_chat.wire import key_for

        base_url, settings = self.base_url, self._settings
        key = await key_for(
            self.name,
            base_url,
            settings.key_variable,
            settings.api_key,
            needed=self._wants_key,
            address=self.address,
        )
        return _place_of(self.name, base_url, key, settings.key_variable, responses=self._responses)


class LocalProvider:
    """A server of models on this very machine: the first of the usual ports that lists models.

    Args:
        ports: to look at, in this order.

    .. versionadded:: 0.1
    """

    name = "local"
    default_model = None

    def __init__(self, ports: Iterable[int] = tuple(PORTS)) -> None:
        self._ports = tuple(ports)

    def missing(self) -> None:
        """Nothing that could be said without a look at the network."""

    @contextlib.asynccontextmanager
    async def open(self, model: str | None) -> AsyncIterator[Model]:
        """The named model, or the first one.

        Raises:
            ModelError: reason `no_network`: no port lists models; `no_model`: none has that one, or any.
        """
        from pegboard_chat.wire import open_transport
        from pegboard_openai._chat import ChatDialect

        async with open_transport() as transport:
            found = await self._look(transport)
            base_url, name = self._chosen(found, model)
            place = _place_of(self.name, base_url, None, None)
            yield _model(self, name, transport, place, ChatDialect(COMPATIBLE, self.name))

    async def list_models(self) -> Sequence[str]:
        """The models of all servers that were found.

        Raises:
            ModelError: reason `no_network`: there is none.
        """
        from pegboard_chat.wire import open_transport

        async with open_transport() as transport:
            found = await self._look(transport)
        return [name for server in found for name in server.models]

    async def _look(self, transport: Transport) -> list[_Found]:
        """The servers that list models, in the order of the ports; all are asked at once."""
        import trio

        found: dict[int, list[str]] = {}

        async def ask(port: int) -> None:
            place = _place_of(self.name, _local_url(port), None, None)
            with contextlib.suppress(ModelError):
                found[port] = await _models(transport, _local_url(port), place, timeout_s=LOOK_S)

        async with trio.open_nursery() as nursery:
            for port in self._ports:
                nursery.start_soon(ask, port)
        if not found:
            looked = ", ".join(f"{port} ({PORTS[port]})" if port in PORTS else str(port) for port in self._ports)
            raise ModelError(
                ErrorCode.UPSTREAM_ERROR,
                f"local: no server of models answers on this machine; looked at the ports {looked}. Start one, as in"
                " `ollama serve` or `llama-server -m MODEL.gguf --jinja`, or name one: base_url under"
                " [plugins.openai.servers.NAME]",
                provider=self.name,
                reason="no_network",
            )
        return [_Found(port, found[port]) for port in self._ports if port in found]

    def _chosen(self, found: list[_Found], model: str | None) -> tuple[str, str]:
        there_are = [(server.port, name) for server in found for name in server.models]
        if chosen := _first_of(there_are, model):
            return _local_url(chosen[0]), chosen[1]
        there = "; ".join(f"port {one.port} has {', '.join(one.models[:10]) or 'none'}" for one in found)
        lacks = "no model" if model is None else f"no model {model[:60]!r}"
        raise ModelError(
            ErrorCode.NOT_FOUND,
            f"local: {lacks} on this machine: {there}; load one, as in `ollama pull NAME`, or choose one of those",
            provider=self.name,
            reason="no_model",
        )


def _first_of(models: Sequence[tuple[int, str]], wanted: str | None) -> tuple[int, str] | None:
    """The first that answers questions; or the one of a name, as it is, as Ollama's latest, or as the only one that
    has it in its own: llama.cpp names a model by its file."""
    if wanted is None:
        return next((one for one in models if _is_chat(one[1])), None)
    name = wanted.lower()
    near = [one for one in models if name in one[1].lower()]
    exact = [one for one in near if one[1].lower() in (name, f"{name}:latest")]
    return next(iter(exact or (near if len(near) == 1 else ())), None)


class _Found(NamedTuple):
    port: int
    models: list[str]


def providers_of(settings: OpenAISettings) -> list[Server | LocalProvider]:
    """All providers that the settings, and the environment, make possible.

    `openai` takes a key where there is one, and misses it at OpenAI alone: what `base_url` puts in its place may need
    none.
    """
    from pegboard_openai.settings import ServerSettings

    base_url = settings.base_url or os.environ.get(BASE_URL, "").strip() or OWN_URL
    is_own = flavour_of(base_url) is OPENAI
    model = settings.model or (OWN_MODEL if base_url.rstrip("/") == OWN_URL else None)
    own = ServerSettings(base_url=base_url, api_key=settings.api_key, key_variable=KEY, model=model)
    address = "base_url under [plugins.openai]" if settings.base_url else BASE_URL
    return [
        Server("openai", own, wants_key=is_own, address=address),
        Server("openai-responses", own, wants_key=is_own, responses=True, address=address),
        LocalProvider(settings.local_ports),
        *(Server(name, server, responses=server.responses) for name, server in settings.servers.items()),
    ]


def _place_of(provider: str, base_url: str, key: str | None, variable: str | None, *, responses: bool = False) -> Place:
    from pegboard_chat.wire import Place

    end = "responses" if responses else "chat/completions"
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    advice = {} if variable else {"wrong_key": _SET_KEY.format("NAME" if provider == "local" else provider)}
    return Place(
        provider, "", lambda model, stream: f"{base_url}/{end}", headers, key=key, key_variable=variable, advice=advice
    )


_SET_KEY = "set api_key or key_variable under [plugins.openai.servers.{}]"


def _model(
    provider: Server | LocalProvider, model: str, transport: Transport, place: Place, dialect: ModelDialect
) -> Any:
    import attrs

    from pegboard_chat.wire import HttpModel

    return HttpModel(f"{provider.name}:{model}", dialect, transport, attrs.evolve(place, model=model))


async def _models(transport: Transport, base_url: str, place: Place, *, timeout_s: float | None = None) -> list[str]:
    """The names that `GET /models` lists.

    Raises:
        ModelError: it lists none, in the form that this API has.
    """
    tries = None if timeout_s is None else 1
    answer = await transport.get(f"{base_url}/models", place, timeout_s=timeout_s, tries=tries)
    listed = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise place.fault(ErrorCode.UPSTREAM_ERROR, "no_json", "lists no models; check the base_url")
    return [one["id"] for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str) and one["id"]]


def _first(provider: str, models: Sequence[str]) -> str:
    for name in models:
        if _is_chat(name):
            return name
    raise ModelError(
        ErrorCode.NOT_FOUND,
        f"{provider} has no model; load one there, or name one: --model {provider}:MODEL",
        provider=provider,
        reason="no_model",
    )


def _is_chat(name: str) -> bool:
    return not any(part in name.lower() for part in _NO_CHAT)


def _local_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"
