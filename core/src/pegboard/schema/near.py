"""The near miss of a name, within bounds: comparing costs the product of two lengths, and names come from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_WORD = 100
MAX_WORK = 200_000
"""Pairs of characters that may be compared, which takes some 20 ms."""
CUTOFF = 0.6
"""From which likeness on a name is near; `difflib` suggests it."""


class NearNames:
    """Finds near misses until its work is done, and none from then on.

    Args:
        work: pairs of characters that may be compared, in all calls together.
    """

    def __init__(self, work: int = MAX_WORK) -> None:
        self._left = work

    def find(self, word: str, names: Iterable[str], count: int = 1) -> list[str]:
        """At most `count` of the names that are near to the word, the nearest first."""
        if not 0 < len(word) < MAX_WORD:
            return []
        compared, characters = [], set(word)
        for name in names:
            if 2 * min(len(word), len(name)) < CUTOFF * (len(word) + len(name)):
                continue  # the lengths alone say no
            if characters.isdisjoint(name):
                continue
            self._left -= len(word) * len(name)
            if self._left < 0:
                break
            compared.append(name)
        if not compared:
            return []
        from difflib import get_close_matches

        return get_close_matches(word, compared, n=count, cutoff=CUTOFF)
