"""What the person of a session said themself, in bounds, and whether words of a call are theirs. No I/O.

Words are compared letter by letter, unlike those that were read. There a changed letter must hide nothing; here it is
another address.
"""

from __future__ import annotations

from collections import deque

MAX_TYPED = 2_000
"""Characters that a person types at once. A longer text was pasted, and may be of anybody."""
MAX_SAID = 65_536
"""Characters of one session that are kept: the newest."""

_BEFORE = "\"'`([{<\u201c\u2018\u201e\u201a\xab"
_BEHIND = "\"'`)]}>.,;:!?\u201d\u2019\u201c\u2018\xbb"
"""Quotes, brackets and stops that may stand around a word of a sentence."""


class WordsSaid:
    """What the person of one session said."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque()
        self._size = 0

    def note(self, text: str) -> None:
        """Note what they typed; a text that is too long to be typed is not noted."""
        if len(text) > MAX_TYPED:
            return
        self._texts.append(f" {' '.join(text.split())} ")
        self._size += len(self._texts[-1])
        while self._size > MAX_SAID:
            self._size -= len(self._texts.popleft())

    def holds(self, value: str, start: int, end: int) -> bool:
        """Whether these words of a value, with all that no space parts from them, stand in one text that was said."""
        before = f"{value[max(start - MAX_TYPED, 0) : start]}|".split()[-1][:-1]
        behind = f"|{value[end : end + MAX_TYPED]}".split()[0][1:]
        words = before.lstrip(_BEFORE) + value[start:end] + behind.rstrip(_BEHIND)
        words = " ".join(words.split())
        # A copy: long arguments are looked through in threads, and the person may say more meanwhile.
        return bool(words) and any(_stands_alone(words, text) for text in tuple(self._texts))


def _stands_alone(words: str, text: str) -> bool:
    """Whether they stand there as words of their own, and not in a longer address, name or number."""
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if text[:at].rstrip(_BEFORE).endswith(" ") and text[end:].lstrip(_BEHIND).startswith(" "):
            return True
        at = text.find(words, at + 1)
    return False
