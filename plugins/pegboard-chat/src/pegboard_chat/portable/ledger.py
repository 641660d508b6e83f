"""What a compilation may still cost, and what it lost so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_chat.portable.forms import NotStrictError, Path
from pegboard_chat.portable.words import say as say_in_words

if TYPE_CHECKING:
    from pegboard_chat.portable.merge import Schema
    from pegboard_chat.portable.profiles import Profile

MAX_VALUES = 4_000
"""How many schemas are written out for one tool."""
MAX_LOSSES = 100
"""How many losses are told of one tool, one by one."""
_LONG = 256
"""So many characters of a description cost as much as one schema more."""


class Ledger:
    """What is left of the budget, what was lost, and what has to be said of the arguments as a whole.

    Args:
        profile: what the provider takes.

    Attributes:
        left: how many schemas may still be written out.
        lost: what was lost, and where; `untold` more were.
        notes: words about the arguments as a whole.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.left = MAX_VALUES
        self.lost: list[tuple[Path, str]] = []
        self.untold = 0
        self.notes: list[str] = []

    def lose(self, path: Path, what: str) -> None:
        """Note what the provider will not see, or not as it was."""
        if len(self.lost) < MAX_LOSSES:
            self.lost.append((path, what))
        else:
            self.untold += 1

    def say(self, name: str, value: Any, path: Path, words: list[str]) -> None:
        """Leave a keyword out, and say it in words."""
        text = say_in_words(name, value)
        if text:
            words.append(text)
        self.lose((*path, name), "said in the description" if text else "left out")

    def widen(self, path: Path, why: str) -> None:
        """Take more than the original does; impossible where the provider holds the model to the form."""
        if self.profile.strict:
            raise NotStrictError(path, why)
        self.lose(path, why)

    def charge(self, schema: Schema) -> None:
        """Take what writing out a schema costs from the budget: its size, without what stands inside."""
        self.left -= 1
        if "properties" in schema or "enum" in schema:
            self.left -= (len(schema.get("properties", ())) + len(schema.get("enum", ()))) // 8
        if "description" in schema:
            self.left -= len(schema["description"]) // _LONG
