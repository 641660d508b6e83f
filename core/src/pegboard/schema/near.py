"""The near miss of a name, within bounds: comparing costs the product of two lengths, and names come from outside.

Everything that says "did you mean" asks here, so that a name is near on every interface or at none.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MAX_WORD = 100
MAX_WORK = 200_000
"""Pairs of characters that may be compared, which takes some 20 ms."""
CUTOFF = 0.5
"""From which likeness of `difflib` on names are looked at: from 0.6 on, its own, it misses `__b` for `_b_b`. It is not
enough: it finds `openai` in `nope`."""
MAX_LISTED = 12


class NearNames:
    """Finds near misses until its work is done, and none from then on.

    Args:
        work: pairs of characters that may be compared, in all calls together.

    .. versionadded:: 0.1
    """

    def __init__(self, work: int = MAX_WORK) -> None:
        self._left = work

    def find(self, word: str, names: Iterable[str], count: int = 1) -> list[str]:
        """At most `count` of the names that are near to the word, the nearest first.

        Case and the kind of dash tell no two names apart.
        """
        if not 0 < len(word) < MAX_WORD:
            return []
        word = _fold(word)
        compared: dict[str, str] = {}
        characters = set(word)
        for name in names:
            if 2 * min(len(word), len(name)) < CUTOFF * (len(word) + len(name)):
                continue  # the lengths alone say no
            folded = _fold(name)
            if characters.isdisjoint(folded):
                continue
            self._left -= len(word) * len(name)
            if self._left < 0:
                break
            compared.setdefault(folded, name)
        if not compared:
            return []
        from difflib import get_close_matches

        alike = get_close_matches(word, compared, n=3 * count, cutoff=CUTOFF)
        return [compared[name] for name in alike if _may_be_meant(word, name)][:count]


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that is likely meant by the word, or None."""
    return next(iter(NearNames().find(word, names)), None)


def hint_of(word: str, names: Collection[str], *, none: str = "there are none") -> str:
    """What helps who named something that is not there: the name that was meant, else what there is, shortly.

    Args:
        word: what was asked for.
        names: of what is there.
        none: what to say where there is nothing.

    .. versionadded:: 0.1
    """
    near = nearest(word, names)
    return f"did you mean {near!r}?" if near else listed(names) if names else none


def listed(names: Collection[str]) -> str:
    """What there is, shortly.

    .. versionadded:: 0.1
    """
    shown = ", ".join(islice(sorted(names), MAX_LISTED))
    more = len(names) - MAX_LISTED
    return f"there are: {shown} and {more} more" if more > 0 else f"there are: {shown}"


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _may_be_meant(word: str, name: str) -> bool:
    """Whether one is a slip of the other, or they share all of the shorter or more than half of the longer.

    How many slips there may be is CPython's measure for misspelt attributes (`traceback.py`): one in three characters.
    """
    from difflib import SequenceMatcher

    shared = SequenceMatcher(None, word, name, autojunk=False).find_longest_match().size
    if shared == min(len(word), len(name)) or 2 * shared > max(len(word), len(name)):
        return True
    return 6 * _slips(word, name) <= len(word) + len(name) + 3


def _slips(one: str, other: str) -> int:
    """Characters that are added, missing, wrong or swapped with the next: the optimal string alignment distance."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        two_before, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            least = min(before[j] + 1, row[-1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                least = min(least, two_before[j - 2] + 1)
            row.append(least)
    return row[-1]
