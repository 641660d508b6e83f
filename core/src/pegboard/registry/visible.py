"""What one kind of session sees of the board: everything, or what a profile selects, with the profile's limits.

What read-only mode refuses can be called by name, to hear why not, and is not offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from pegboard.pipeline.plan import Refusal
from pegboard.registry import Snapshot
from pegboard.tools import READ_RESULT_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard.config import Profile
    from pegboard.pipeline.plan import PlanEntry
    from pegboard.registry import Registry
    from pegboard.tools import Limits, Tool


class VisibleTools:
    """The tools of a session without a profile, as of now: everything that is on the board."""

    profile: str | None = None

    def __init__(self, registry: Registry, *, read_only: bool) -> None:
        self._registry = registry
        self.read_only = read_only

    @property
    def snapshot(self) -> Snapshot:
        """One state of the board, to be read whole: what a call finds."""
        return self._registry.snapshot

    @property
    def offered(self) -> Snapshot:
        """What a session is shown of it, which is all but what read-only mode refuses."""
        return self.snapshot.offered(read_only=self.read_only)

    @property
    def plans(self) -> Mapping[str, PlanEntry]:
        """What is registered, by name."""
        # Not by way of `self.snapshot`, which would be one property more for every call.
        return self._registry.snapshot.plans


class ProfileTools(VisibleTools):
    """The visible tools of a session with a profile; their plans carry the profile's limits.

    They are shared by all sessions of the profile and keep their plans while the tools stay, so that a rate limit
    goes on counting when other tools come and go.
    """

    def __init__(
        self,
        registry: Registry,
        name: str,
        profile: Profile,
        tighten: Callable[[Tool], Limits],
        recompile: Callable[[Tool], PlanEntry],
        *,
        read_only: bool,
    ) -> None:
        super().__init__(registry, read_only=read_only or profile.read_only)
        self.profile = name
        self._selects = profile.selects
        self._tighten = tighten
        self._recompile = recompile
        self._made: dict[str, tuple[PlanEntry, PlanEntry]] = {}
        self._snapshot = Snapshot(-1, {})

    @property
    def snapshot(self) -> Snapshot:
        """What the profile selects of the registry's snapshot."""
        whole = self._registry.snapshot
        if self._snapshot.version != whole.version:
            self._made = {
                name: self._made_of(name, entry)
                for name, entry in whole.plans.items()
                if self._selects(entry.tool) or name == READ_RESULT_NAME
            }
            self._snapshot = Snapshot(whole.version, {name: made for name, (_, made) in self._made.items()})
        return self._snapshot

    @property
    def plans(self) -> Mapping[str, PlanEntry]:
        """What is registered for this profile."""
        return self.snapshot.plans

    def _made_of(self, name: str, entry: PlanEntry) -> tuple[PlanEntry, PlanEntry]:
        known = self._made.get(name)
        # By identity: the same entry is the same tool, and its plan of this profile goes on counting.
        if known is not None and known[0] is entry:
            return known
        tool = entry.tool
        limits = self._tighten(tool)
        if isinstance(entry, Refusal) or limits == tool.limits:
            return entry, entry
        return entry, self._recompile(attrs.evolve(tool, limits=limits))
