"""What one server offers, compared with what was first seen of it (`pegboard_mcp.lock.memory`)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import attrs

from pegboard import HeldBackError
from pegboard_mcp.settings import LOCKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard_mcp.client.discovery import Listing
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.lock.memory import Changed, Memory, Verdict
    from pegboard_mcp.lock.pins import Pin
    from pegboard_mcp.settings import McpSettings


class Comparison:
    """Whether one server is as it was.

    Attributes:
        changed: what is other than it was first seen or accepted, by the names of `pegboard_mcp.lock.memory`.
        unreadable: why nobody knows what was first seen; None: that is known.
        holding: what is held back: see `pegboard_mcp.settings.LOCKS`.
    """

    def __init__(self, definition: ServerDefinition, settings: McpSettings | None) -> None:
        self.changed: Mapping[str, Changed] = {}
        self.unreadable: str | None = None
        self.holding = LOCKS[getattr(settings, "lock", "off")]
        self._definition = definition
        self._settings = settings
        self._decisions = 0

    @functools.cached_property
    def memory(self) -> Memory | None:
        """What is known of the server; None: it is not compared."""
        if self.holding not in ("nothing", "changes"):
            return None
        from pegboard_mcp.lock.memory import Memory

        keeps = getattr(self._settings, "remember", True)
        return Memory(self._definition, keeps=keeps, again=self.holding == "nothing")

    @property
    def holds(self) -> bool:
        """Whether anything is held back since it changed."""
        return self.holding == "changes" and (bool(self.changed) or self.unreadable is not None)

    async def look_at_start(self) -> None:
        """Tell a person where another program is about to be started than the one that was first seen."""
        from trio.to_thread import run_sync

        from pegboard_mcp.lock.memory import server_pin

        if self.memory is not None:
            pin = await run_sync(server_pin, self._definition)
            await run_sync(self.memory.look_at_server, pin)
        elif self.holding == "all" and self._settings is not None:
            from pegboard_mcp.lock.watch import watch_of

            pin = await run_sync(lambda: server_pin(self._definition, is_shared=True))
            await run_sync(watch_of(self._settings).verify_ahead)
            watch_of(self._settings).look_at_server(pin)

    async def look_at(self, listing: Listing) -> Listing:
        """The list, compared: in a thread, since it may be long, and what is known of the server lies in a file. It is
        compared anew where a person decided meanwhile."""
        from trio.to_thread import run_sync

        while True:
            decisions = self._decisions
            verdict = await run_sync(self._judge, listing)
            if decisions == self._decisions:
                return self._judged(listing, verdict)

    def looked_at(self, listing: Listing) -> Listing:
        """The list, compared at once: one from the cache, while the board is loaded."""
        return self._judged(listing, self._judge(listing))

    def decided(self, listing: Listing) -> Listing:
        """The list, now that a person decided anew about some of it. What they accepted is not a change any more, so
        that all of it need not be compared."""
        self._decisions += 1
        if self.unreadable is not None:
            return self.looked_at(attrs.evolve(listing, is_accepted=False))
        return attrs.evolve(listing, is_accepted=self.memory is not None and not self.changed)

    def accept(self, pins: Iterable[Pin]) -> None:
        """Know these as they are now; see `Memory.accept`."""
        if self.memory is not None:
            pins = list(pins)
            self.memory.accept(pins)
            accepted = {pin.name: pin.fingerprint for pin in pins}
            self._decisions += 1
            self.changed = {key: one for key, one in self.changed.items() if accepted.get(key) != one.now.fingerprint}

    def why_held(self, key: str, name: str) -> HeldBackError | None:
        """Why something is held back, since it is not as it was first seen; None: it is, or was accepted.

        Args:
            key: its name in the memory.
            name: by which a person accepts it.
        """
        from pegboard_mcp.lock.watch import ACCEPT_ALL, how_to_accept

        if self.unreadable is not None:
            return HeldBackError(self.unreadable, hint=how_to_accept(name), all_hint=ACCEPT_ALL)
        one = self.changed.get(key)
        return None if one is None else HeldBackError(f"it {one.plain}", hint=how_to_accept(name))

    def _judge(self, listing: Listing) -> Verdict | None:
        """What the list comes to; None: it is not compared. One from the cache that was all accepted is not: it is what
        was known, and a start reads one file less."""
        verdict: Verdict | None = None
        if self.memory is not None and not listing.is_accepted:
            from pegboard_mcp.client.seen import seen_pins

            verdict = self.memory.look(seen_pins(listing, self._definition.name))
        is_asked = self.holding == "changes" and verdict is not None and bool(verdict.changed)
        if self._settings is not None and (self.holding == "all" or is_asked):
            from pegboard_mcp.lock.watch import watch_of

            watch_of(self._settings).verify_ahead()
        return verdict

    def _judged(self, listing: Listing, verdict: Verdict | None) -> Listing:
        if verdict is None:
            return listing
        self.changed, self.unreadable = verdict.changed, verdict.problem
        return attrs.evolve(listing, is_accepted=not verdict.changed and verdict.problem is None)
