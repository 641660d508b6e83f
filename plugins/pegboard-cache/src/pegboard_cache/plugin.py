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

    return make_layer(tool, rule, lambda host: host.resource(Cache).results)


@hookimpl
def open_resources(settings: CacheSettings) -> AbstractAsyncContextManager[Cache]:
    """What is cached, for as long as the host runs."""
    return _open(settings)


class Cache:
    """What is cached in one host; nothing is imported for it before the first call of a tool that is cached."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._results: Results | None = None

    @property
    def results(self) -> Results:
        """The results, by their keys."""
        if self._results is None:
            from pegboard_cache._results import Results

            self._results = Results(self._max_bytes)
        return self._results

    def close(self) -> None:
        """Forget everything; the host ends."""
        if self._results is not None:
            self._results.close()


@contextlib.asynccontextmanager
async def _open(settings: CacheSettings) -> AsyncIterator[Cache]:
    cache = Cache(settings.max_bytes)
    try:
        yield cache
    finally:
        cache.close()


@hookimpl
def provide_checks(settings: CacheSettings) -> Iterable[Callable[[Any], Iterable[Finding]]]:
    """What is cached, and what is not though somebody said so."""
    from pegboard_cache._checks import findings

    return [lambda board: findings(board, settings)]
