"""What a person says, once, of tools of which nobody can tell whether they read or write.

The answers stand in `project.profile.json`, so that later runs of `init` and `check` know them and ask about nothing
twice. Hints of `toolgen.toml` lie over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard_toolgen.assemble import Sources, Unsaid

    Ask = Callable[[Sequence[tuple[str, str, str]]], list[str] | None]


@attrs.frozen
class Answers:
    """The ids that a person was asked about, and those of them that only read."""

    asked: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    @classmethod
    def of(cls, profile: Mapping[str, Any]) -> Answers:
        """As the profile has them."""
        said = profile.get("categories")
        lists = [said.get(key) if isinstance(said, dict) else None for key in ("asked", "read")]
        return cls(*(frozenset(map(str, one)) if isinstance(one, list) else frozenset() for one in lists))

    def to_json(self) -> dict[str, list[str]] | None:
        """For the profile; None where nobody was asked."""
        return {"asked": sorted(self.asked), "read": sorted(self.read)} if self.asked else None

    def laid_on(self, sources: Sources) -> Sources:
        """What was found, with the answers where the source says nothing."""
        drafts = [
            attrs.evolve(draft, category="read" if draft.id in self.read else "write", unknown="")
            if draft.category is None and draft.id in self.asked
            else draft
            for draft in sources.drafts
        ]
        return attrs.evolve(sources, drafts=tuple(drafts))

    def with_more(self, unsaid: Sequence[Unsaid], ask: Ask) -> Answers:
        """These, and what a person says now of what nobody could tell; the same where nobody can be asked."""
        chosen = ask([(one.id, one.name, one.why) for one in unsaid]) if unsaid else None
        if chosen is None:
            return self
        return Answers(self.asked | {one.id for one in unsaid}, self.read | set(chosen))
