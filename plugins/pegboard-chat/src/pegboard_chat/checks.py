"""What `pegboard doctor` says of models: the one that is configured, and what it may cost."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pegboard import ConfigError, Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pegboard import Board
    from pegboard_chat.contract import Provider
    from pegboard_chat.settings import ChatSettings

WHERE = "[plugins.chat]"


def checks_of(settings: ChatSettings) -> Iterable[Callable[[Board], Iterator[Finding]]]:
    """The checks for these settings."""
    return [functools.partial(check_model, settings), functools.partial(check_cost, settings)]


def check_model(settings: ChatSettings, board: Board) -> Iterator[Finding]:
    """The configured model's provider is on the board, and lacks nothing."""
    if settings.model is None:
        return
    where = f"{WHERE} model"
    provider = _provider_of(settings, board)
    if isinstance(provider, ConfigError):
        fix = provider.hint or "write PROVIDER:MODEL"
        yield Finding("the model cannot be had", where, provider.message, fix)
    elif (missing := provider.missing()) is not None:
        yield Finding("the model cannot be asked", where, f"{provider.name} lacks something", missing)


def check_cost(settings: ChatSettings, board: Board) -> Iterator[Finding]:
    """A bound in money needs the price of the model."""
    if settings.max_cost is None or settings.model is None:
        return
    from pegboard_chat.prices import bundled_prices

    name = settings.model
    provider = _provider_of(settings, board)
    if isinstance(provider, ConfigError):
        return  # that is said already
    if ":" not in name:
        if provider.default_model is None:
            return  # which model it will be is not known yet
        name = f"{name}:{provider.default_model}"
    if bundled_prices().with_own(settings.prices).find(name) is None:
        yield Finding(
            "a bound in money, and no price",
            f"{WHERE} max_cost",
            f"what {name} costs is not known, so that no question can be asked",
            f'write its price: [plugins.chat.prices."{name}"] input = ..., output = ...',
        )


def _provider_of(settings: ChatSettings, board: Board) -> Provider | ConfigError:
    from pegboard_chat.models import providers_of

    name = (settings.model or "").partition(":")[0]
    found = providers_of(board)
    if name in found:
        return found[name]
    listed = ", ".join(found) or "none"
    return ConfigError(
        f"there is no provider of models {name[:60]!r}", hint=f"install its package, or write one of: {listed}"
    )
