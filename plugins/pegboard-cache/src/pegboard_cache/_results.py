"""What is cached in one host: results by their keys, the least recently used forgotten first, bounded by bytes.

Invariants: `size` is the sum of what the results hold; nothing that was forgotten because its tools changed comes back,
not by a call that was under way either.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    import trio

    from pegboard import CheckedResult

    Key = tuple[Hashable, ...]

AROUND = 400
"""What a result holds beside its key and itself: the objects that have them, in bytes, about."""


@attrs.frozen(eq=False)
class Cached:
    """One result. `scope` is what it is forgotten with: its source, or its tool where that has none."""

    checked: CheckedResult
    scope: Hashable
    since: float
    until: float
    size: int


@attrs.define(eq=False)
class Flight:
    """A call that is under way for all who asked alike: it ended, and this came of it.

    Args:
        scope: as of its result.
        ended: set when it is over.
        answered: it came to an answer; False: it was cancelled, and the next may try.
        checked: the answer, where others may have it.
        changed: its tool changed meanwhile.
    """

    scope: Hashable
    ended: trio.Event
    answered: bool = False
    checked: CheckedResult | None = None
    changed: bool = False


class Results:
    """The results of one host.

    Args:
        max_bytes: how much they may hold.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._by_key: OrderedDict[Key, Cached] = OrderedDict()
        self.flights: dict[Key, Flight] = {}
        self.size = 0
        self._unwatch: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._by_key)

    def find(self, key: Key, now: float) -> Cached | None:
        """The result of a key, unless it is too old."""
        found = self._by_key.get(key)
        if found is None:
            return None
        if found.until <= now:
            self._drop(key)
            return None
        self._by_key.move_to_end(key)
        return found

    def add(self, key: Key, checked: CheckedResult, scope: Hashable, since: float, until: float) -> None:
        """Keep a result, and forget those that were not used for the longest time; one that is too large is not
        kept."""
        size = checked.size + sum(map(sys.getsizeof, key)) + AROUND
        if size > self._max_bytes:
            return
        if key in self._by_key:
            self._drop(key)
        self._by_key[key] = Cached(checked, scope, since, until, size)
        self.size += size
        while self.size > self._max_bytes:
            self._drop(next(iter(self._by_key)))

    def _drop(self, key: Key) -> None:
        self.size -= self._by_key.pop(key).size

    # -- changes

    def watch(self, host: Any) -> None:
        """Forget results when the tools that gave them change."""
        if self._unwatch is None:
            self._unwatch = host.watch(self._changed)

    def _changed(self, old: Any, new: Any) -> None:
        if not (self._by_key or self.flights):
            return
        changed = {
            scope_of(tool)
            for tools, others in ((old.tools, new.tools), (new.tools, old.tools))
            for name, tool in tools.items()
            if others.get(name) is not tool
        }
        for key in [key for key, cached in self._by_key.items() if cached.scope in changed]:
            self._drop(key)
        for key in [key for key, flight in self.flights.items() if flight.scope in changed]:
            self.flights.pop(key).changed = True

    def close(self) -> None:
        """Forget everything; the host ends."""
        if self._unwatch is not None:
            self._unwatch()
        self._by_key.clear()
        self.size = 0


def scope_of(tool: Any) -> Hashable:
    """What the results of a tool are forgotten with: all of its source's, whose list changed; else its own."""
    return ("source", tool.origin.source) if tool.origin.source else ("tool", tool.name)
