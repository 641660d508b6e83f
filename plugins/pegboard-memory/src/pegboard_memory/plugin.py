"""The hooks of pegboard-memory. The module is a plugin; `MemoryPlugin` takes a clock of your own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import hookimpl, setting
from pegboard.config import user_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from pegboard import Finding, Tool
    from pegboard_memory._memories import Memories
    from pegboard_memory._place import Place
    from pegboard_memory._store import MemoryStore


def _a_file(_: Any, field: attrs.Attribute[Any], value: str | None) -> None:
    if value is not None:
        from pegboard_memory._place import path_of

        path_of(value)


def _above_zero(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    if value < 1:
        raise ValueError("a number above zero")


@attrs.frozen
class MemorySettings:
    """`[plugins.memory]`.

    .. versionadded:: 0.1
    """

    url: str | None = setting(
        None,
        widens=True,
        secret=True,  # somebody may try a URL with a password in it; the fault must not show that
        validator=_a_file,
        help="where the memories are, as sqlite:///memory.db; by default memory.db in the user's data folder",
    )
    max_memories: int = setting(
        100_000, stricter="lower", validator=_above_zero, help="how many memories one user may have"
    )
    semantic: bool = setting(True, help="search by meaning too, where the extra pegboard-memory[semantic] is installed")
    model: str | None = setting(
        None, widens=True, help="a folder with model.onnx and tokenizer.json, instead of the packaged model"
    )


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


def place_of(settings: MemorySettings) -> Place:
    """The file that the settings mean."""
    from pegboard_memory._place import FILE_NAME, Place, path_of

    if settings.url is not None:
        return Place(path_of(settings.url).absolute())
    return Place(user_folder("data") / FILE_NAME, make_folder=True)


_plugin = MemoryPlugin()

# Bound methods carry the mark of their functions.
provide_settings = _plugin.provide_settings
provide_tools = _plugin.provide_tools
open_resources = _plugin.open_resources
provide_checks = _plugin.provide_checks
