"""The hooks of pegboard-memory. The module is a plugin; `MemoryPlugin` takes a clock of your own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard import hookimpl
from pegboard_memory.settings import MemorySettings, place_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from pegboard import Finding, Tool
    from pegboard_memory._memories import Memories
    from pegboard_memory._store import MemoryStore


class MemoryPlugin:
    """The memory tools by a clock of yours: `open_host(plugins=[MemoryPlugin(lambda: noon)])`.

    Args:
        now: gives an aware datetime; None for the system's clock.

    .. versionadded:: 0.1
    """

    name = "memory"

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._now = now

    @hookimpl
    def provide_settings(self) -> type[MemorySettings]:
        """`url`, `max_memories`, `semantic`, `model`."""
        return MemorySettings

    @hookimpl
    def provide_tools(self) -> Iterable[Tool]:
        """`remember`, `search_memory`, `forget_memory`."""
        from pegboard_memory.tools import TOOLS

        return TOOLS

    @hookimpl
    def open_resources(self, settings: MemorySettings) -> AbstractAsyncContextManager[Memories]:
        """The store; it opens its file with the first call that needs it."""
        return self._memories(settings)

    @contextlib.asynccontextmanager
    async def _memories(self, settings: MemorySettings) -> AsyncIterator[Memories]:
        from pegboard_memory._memories import Memories

        memories = Memories(lambda: self._make_store(settings))
        try:
            yield memories
        finally:
            await memories.aclose()

    def _make_store(self, settings: MemorySettings) -> MemoryStore:
        from pegboard_memory import _semantic as semantic
        from pegboard_memory._store import MemoryStore, system_now

        by_meaning = settings.semantic and not semantic.missing(settings.model)
        return MemoryStore(
            place_of(settings),
            settings.max_memories,
            semantic.Embedder(settings.model) if by_meaning else None,
            self._now or system_now,
        )

    @hookimpl
    def provide_checks(self, settings: MemorySettings) -> Iterable[Callable[[Any], Iterable[Finding]]]:
        """Whether the file can be used, and what this machine's SQLite and the extra lack."""
        from pegboard_memory._checks import findings

        return [lambda board: findings(settings)]


_plugin = MemoryPlugin()

# Bound methods carry the mark of their functions.
provide_settings = _plugin.provide_settings
provide_tools = _plugin.provide_tools
open_resources = _plugin.open_resources
provide_checks = _plugin.provide_checks
