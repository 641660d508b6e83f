"""From `provider:model` to an open model: the providers that the plugins of a board give."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pegboard import ConfigError, PluginError
from pegboard.schema import NearNames
from pegboard_chat.wire.transport import REQUEST_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pegboard_chat.contract import Model, Provider

BY_NAME_ONLY = frozenset({"echo", "local"})
"""Providers that need no key: that they lack nothing does not say that they are meant."""
BRIDGES = {
    "anthropic": "pegboard-anthropic",
    "cohere": "pegboard-cohere",
    "gemini": "pegboard-gemini",
    "openai": "pegboard-openai",
}
"""The packages that bring providers, by the plugin's name, which is the provider's too."""
LOCAL = "local"
"""The provider that is a server on this machine, which the bridge to OpenAI brings too."""


_FOUND: WeakKeyDictionary[Any, Mapping[str, tuple[Any, Provider]]] = WeakKeyDictionary()
"""By board: the hook fires once."""


def providers_of(board: Any) -> Mapping[str, Provider]:
    """The providers on a board (or on a host's board), by name, in the order of names.

    A name that two plugins give is a conflict: neither has it, and both are told in doctor.

    .. versionadded:: 0.1
    """
    return {name: provider for name, (_, provider) in sorted(_find(_board_of(board)).items())}


def _board_of(board: Any) -> Any:
    return getattr(board, "board", board)


def _find(board: Any) -> Mapping[str, tuple[Any, Provider]]:
    """By name the plugin's record and the provider, in the order in which the plugins give them; asked for once."""
    if board not in _FOUND:
        _FOUND[board] = _ask(board)
    return _FOUND[board]


def _ask(board: Any) -> dict[str, tuple[Any, Provider]]:
    found: dict[str, tuple[Any, Provider]] = {}
    clashes: dict[str, list[Any]] = {}
    for record, given in board.plugins.ask_for_many("provide_models", _is_provider, "a provider of models"):
        for provider in given:
            if provider.name in found:
                clashes.setdefault(provider.name, [found[provider.name][0]]).append(record)
            else:
                found[provider.name] = (record, provider)
    for name, records in clashes.items():
        del found[name]
        for record in records:
            problem = PluginError(
                f"{name!r} is a provider of two plugins", hint="uninstall one of them, or name plugins with --plugin"
            )
            if record.quarantined is None:
                board.plugins.quarantine(record, "provide_models", problem)
    return {name: pair for name, pair in found.items() if pair[0].quarantined is None}


def _is_provider(value: Any) -> bool:
    return isinstance(getattr(value, "name", None), str) and callable(getattr(value, "open", None))


@contextlib.asynccontextmanager
async def open_model(board: Any, name: str | None = None) -> AsyncIterator[Model]:
    """Open a model for as long as the block lasts.

    Args:
        board: a board or a host.
        name: `provider:model`, or `provider` for its default model; None: the model of the configuration
            (`[plugins.chat] model`), else the default of the only provider that lacks nothing.

    Raises:
        ConfigError: no provider of that name, or none is ready; the hint says what to set.
        ModelError: reason `no_key`, `no_network`.

    .. versionadded:: 0.1
    """
    board = _board_of(board)
    settings = _settings_of(board)
    provider, model = _choose(board, name or getattr(settings, "model", None))
    async with contextlib.AsyncExitStack() as stack:
        token = REQUEST_TIMEOUT_S.set(getattr(settings, "timeout_s", REQUEST_TIMEOUT_S.get()))
        try:
            opened = await stack.enter_async_context(provider.open(model))
        finally:
            REQUEST_TIMEOUT_S.reset(token)
        yield opened


def chosen_model(board: Any) -> str:
    """What is asked where nobody says otherwise: the model of the configuration, or the only provider that is ready.

    Raises:
        ConfigError: none is; the hint says what to set.
    """
    board = _board_of(board)
    name: str | None = getattr(_settings_of(board), "model", None)
    return name if name is not None else _choose(board, None)[0].name


def _settings_of(board: Any) -> Any:
    record = board.plugins.records.get("chat")
    return None if record is None else record.settings


def _choose(board: Any, name: str | None) -> tuple[Provider, str | None]:
    found = _find(board)
    if name is None:
        return _only_ready(board, found), None
    wanted, colon, model = name.partition(":")
    if wanted in found:
        if colon and not model:
            raise ConfigError(f"{name!r} names no model", hint=f"write {wanted}:MODEL, or {wanted} alone")
        return found[wanted][1], model or None
    near = NearNames().find(wanted, found)
    listed = ", ".join(sorted(found)) or "none"
    shown = wanted if len(wanted) <= 60 else f"{wanted[:59]}…"
    raise ConfigError(f"there is no provider of models {shown!r}", hint=_hint_of_unknown(board, wanted, near, listed))


def _hint_of_unknown(board: Any, wanted: str, near: list[str], listed: str) -> str:
    plugin = wanted.partition("-")[0]
    record = board.plugins.records.get(plugin)
    if record is not None and record.quarantined is not None:
        return f"the plugin {plugin} is quarantined: pegboard doctor says why; there are: {listed}"
    if near:
        return f"did you mean {near[0]}? There are: {listed}"
    package = BRIDGES.get("openai" if plugin == LOCAL else plugin)
    if package and record is None:
        return f"pip install {package}; there are: {listed}"
    return f"write PROVIDER:MODEL; providers: {listed}"


def _only_ready(board: Any, found: Mapping[str, tuple[Any, Provider]]) -> Provider:
    """The one provider that a person can have meant who named none."""
    asked = {name: pair for name, pair in found.items() if name not in BY_NAME_ONLY}
    missing: dict[str, str] = {}
    ready: dict[str, Provider] = {}
    for name, (record, provider) in asked.items():
        what = what_is_missing(provider)
        if what is None:
            ready.setdefault(record.name, provider)  # of one plugin the first that it gives
        elif what not in missing.values():  # those of one plugin tend to lack the same
            missing[name] = what
    if len(ready) == 1:
        return next(iter(ready.values()))
    if ready:
        names = sorted(provider.name for provider in ready.values())
        raise ConfigError(
            f"no model is named, and {len(names)} providers are ready: {', '.join(names)}",
            hint=f"say which: --model {names[0]}, or model = {names[0]!r} under [plugins.chat]",
        )
    raise ConfigError("no model is named, and no provider of models is ready", hint=_what_to_set(board, missing))


def what_is_missing(provider: Provider) -> str | None:
    """What a person has to set before a provider can be asked; None: nothing."""
    try:
        return provider.missing()
    except Exception as problem:  # noqa: BLE001 - a third-party provider; the others are still to choose from
        return f"it failed to say what it lacks ({type(problem).__name__})"


def _what_to_set(board: Any, missing: Mapping[str, str]) -> str:
    """Everything that would help, a line each."""
    lines = [f"{name}: {what}" for name, what in sorted(missing.items())]
    lines += [
        f"{record.name}: quarantined, pegboard doctor says why"
        for record in board.plugins.quarantined
        if record.name in BRIDGES
    ]
    if missing:
        lines.append(f"a key in the keyring is looked up when its provider is named: --model {min(missing)}")
    absent = [package for plugin, package in BRIDGES.items() if plugin not in board.plugins.records]
    if absent:
        lines.append(f"more providers: pip install {' '.join(absent)}")
    lines.append("without a key: --model local (a server on this machine), --model echo (no model at all)")
    return "any of these helps\n" + "\n".join(f"  {line}" for line in lines)
