"""Keys that stand in a text in parts: over the ends of lines, as mails and terminals break them, letter by letter, or
with spaces in between.

A key that the host knows is found wherever it is parted. One that is known by its shape alone is found where a text
looks broken; any two words of a sentence could make up a shape.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from pegboard.secrets.shapes import NAMED, OF_A_FILE, find_shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINES = re.compile(r"(?<!\S)\S{8,}+(?:[ \t]*+\r?\n[ \t]*+(?:[>|#*+][ \t]*)?\S+)+")
"""Words at the end of a line, each with the word that begins the next one, perhaps behind the mark of a quotation."""
_LETTERS = re.compile(r"(?<!\S)\S(?:[ \t]\S){15,}(?!\S)")
_BREAK = re.compile(r"[ \t]*\r?\n[ \t]*(?:[>|#*+][ \t]*)?|[ \t]")
_HYPHENATED = re.compile(rf"-?(?:{_BREAK.pattern})")
"""The same where a hyphen says that the word goes on; it may also be a letter of the key."""


def parted_shapes(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Where keys of a known shape stand in parts: from, to, the key, and its kind."""
    lines = _LINES.finditer(text) if "\n" in text else ()
    for found in chain(lines, _LETTERS.finditer(text)):
        words = found[0]
        if not any(map(str.isdigit, words)):  # words of a sentence have none, and nearly every key has some
            continue
        for between in (_BREAK, _HYPHENATED) if "-" in words else (_BREAK,):
            together = between.sub("", words)
            for at, to, kind in find_shapes(together):
                if kind not in (NAMED, OF_A_FILE):
                    places = _places(words, between, found.start())
                    yield places[at], places[to - 1] + 1, together[at:to], kind


def _places(words: str, between: re.Pattern[str], start: int) -> list[int]:
    """Where each letter comes from, once what is between the parts is gone."""
    places: list[int] = []
    done = 0
    for found in between.finditer(words):
        places += range(start + done, start + found.start())
        done = found.end()
    return [*places, *range(start + done, start + len(words))]


def parted_in(text: str, values: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Where values that are known stand with spaces or ends of lines in between: from, to, and the value."""
    words = text.split()
    if len(words) < 2:
        return
    together = "".join(words)
    for value in values:
        if value in together:
            for found in re.finditer(r"\s*".join(map(re.escape, value)), text):
                if found[0] != value:
                    yield *found.span(), value
