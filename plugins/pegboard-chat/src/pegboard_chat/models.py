"""From `provider:model` to an open model: the providers that the plugins of a board give."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard import PluginError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pegboard_chat.contract import Model, Provider


def providers_of(board: Any) -> Mapping[str, Provider]:
    """The providers on a board (or on a host's board), by name, in the order of names.

    A name that two plugins give is a conflict: neither has it, and both are told in doctor.

    .. versionadded:: 0.1
    """
    board = getattr(board, "board", board)
    found: dict[str, tuple[Any, Provider]] = {}
    clashes: set[str] = set()
    for record, given in board.plugins.ask_for_many("provide_models", _is_provider, "a provider of models"):
        for provider in given:
            if provider.name in found:
                board.plugins.quarantine(
                    record, "provide_models", PluginError(f"{provider.name!r} is a provider of another plugin already")
                )
                clashes.add(provider.name)
            else:
                found[provider.name] = (record, provider)
    return {name: found[name][1] for name in sorted(found)}


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
    raise NotImplementedError
    yield
