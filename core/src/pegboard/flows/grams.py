"""Which runs of letters stand in texts, so that most values which do not are not looked for in them. No I/O.

A search through all that is kept is dear. Every second run of `GRAM` letters of it has a place in a table, so a value
that stands there has all of its runs in the table, at one shift or the other (Bloom, "Space/time trade-offs in hash
coding with allowable errors", 1970).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

WINDOW, EVERY_READ, EVERY_ASKED = 12, 3, 4
"""In bytes: of long texts; see `words`."""
GRAM, EVERY_GRAM = 5, 2
"""In bytes: a value of six letters has a run at each shift, wherever it stands."""
LEAST_BITS = 16
"""Of the number of bytes in a table; a run has one bit of it."""
_ALIKE = struct.Struct(f"{GRAM}s{GRAM * EVERY_GRAM - GRAM}x")
"""The runs of each `EVERY_GRAM`-th place that do not overlap: one behind the other, in one pass."""


class Grams:
    """The runs of letters of a text.

    Args:
        letters: so many bytes of text the table is made for; of more it says less, and nothing that is wrong.
    """

    __slots__ = ("_mask", "_table", "letters")

    def __init__(self, letters: int) -> None:
        self.letters = letters
        bits = max((letters - 1).bit_length(), LEAST_BITS) + 3
        self._table, self._mask = bytearray(1 << bits - 3), (1 << bits) - 1

    def add(self, folded: bytes) -> None:
        """Note the runs of a folded text."""
        table, mask, padded = self._table, self._mask, folded + b"\0" * _ALIKE.size
        for start in range(0, GRAM * EVERY_GRAM, EVERY_GRAM):
            whole = (len(padded) - start) // _ALIKE.size * _ALIKE.size
            for (gram,) in _ALIKE.iter_unpack(padded[start : start + whole]):
                place = hash(gram) & mask
                table[place >> 3] |= 1 << (place & 7)

    def may_hold(self, folded: bytes) -> bool:
        """Whether a value of six bytes or more can stand in what was added; False: it does not."""
        table, mask, end = self._table, self._mask, len(folded) - GRAM + 1
        for shift in range(EVERY_GRAM):
            for at in range(shift, end, EVERY_GRAM):
                place = hash(folded[at : at + GRAM]) & mask
                if not table[place >> 3] >> (place & 7) & 1:
                    break
            else:
                return True
        return False


class Index:
    """Which windows and runs of letters stand in several texts.

    Args:
        letters: as of `Grams`.
        texts: folded ones that are in it from the beginning.
    """

    __slots__ = ("_grams", "windows")

    def __init__(self, letters: int, texts: Iterable[bytes | bytearray] = ()) -> None:
        self.windows: set[bytes] = set()
        self._grams = Grams(letters)
        for text in texts:
            self.add(bytes(text))

    def add(self, folded: bytes) -> None:
        """Note the windows and runs of a folded text."""
        self.windows.update([folded[at : at + WINDOW] for at in range(0, len(folded) - WINDOW + 1, EVERY_READ)])
        self._grams.add(folded)

    def may_hold(self, folded: bytes) -> bool:
        """Whether a value of six bytes or more can stand in what was added; False: it does not."""
        if len(folded) >= WINDOW + EVERY_READ - 1:  # wherever it stands, one of its windows was noted
            return any(folded[at : at + WINDOW] in self.windows for at in range(EVERY_READ))
        return self._grams.may_hold(folded)
