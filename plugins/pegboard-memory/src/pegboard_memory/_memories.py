"""The resource of a host: its store, made by the first call that needs it.

Every host has this plugin's resource open, and most calls are of other tools: SQLite, the query parser and the model's
loader are imported with the store, in the wait that `CallContext.prepare` gives to a first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard_memory._store import MemoryStore


class Memories:
    """The memories of all users of one host.

    Args:
        make: makes the store, and opens nothing.
    """

    def __init__(self, make: Callable[[], MemoryStore]) -> None:
        self._make = make
        self._store: MemoryStore | None = None

    def find_open(self, *, writes: bool) -> MemoryStore | None:
        """The store, where `open` has nothing to do."""
        return self._store if self._store is not None and self._store.is_open(writes=writes) else None

    async def open(self, *, writes: bool) -> MemoryStore:
        """The store, made and opened.

        Raises:
            StorageError: its file cannot be used.
        """
        if self._store is None:
            self._store = self._make()
        await self._store.open(writes=writes)
        return self._store

    async def aclose(self) -> None:
        """Close what was opened."""
        if self._store is not None:
            await self._store.aclose()
