"""The hooks of pegboard-cache."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard import hookimpl
from pegboard_cache.settings import CacheSettings, rule_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    from pegboard import Finding, Layer, Tool
    from pegboard_cache._results import Results


@hookimpl
def provide_settings() -> type[CacheSettings]:
    """`max_bytes` and `tools`."""
    return CacheSettings


@hookimpl
def make_layers(tool: Tool, settings: CacheSettings) -> Layer | None:
    """A layer around each tool that only reads and that is to be cached; the others have none."""
    rule = rule_of(tool, settings)
    if rule is None or not tool.read_only:
        return None
    from pegboard_cache._layer import make_layer

    return make_layer(tool, rule)


@hookimpl
def open_resources(settings: CacheSettings) -> AbstractAsyncContextManager[Results]:
    """What is cached, for as long as the host runs."""
    return _open(settings)


@contextlib.asynccontextmanager
async def _open(settings: CacheSettings) -> AsyncIterator[Results]:
    from pegboard_cache._results import Results

    results = Results(settings.max_bytes)
    try:
        yield results
    finally:
        results.close()


@hookimpl
def provide_checks(settings: CacheSettings) -> Iterable[Callable[[Any], Iterable[Finding]]]:
    """What is cached, and what is not though somebody said so."""
    from pegboard_cache._checks import findings

    return [lambda board: findings(board, settings)]
