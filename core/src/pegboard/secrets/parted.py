"""Keys that stand in a text in parts: over the ends of lines, as mails and terminals break them, letter by letter, or
with spaces in between; and in letters of another width or style.

A key that the host knows is found wherever it is parted. One that is known by its shape alone is found where a text
looks broken; any two words of a sentence could make up a shape.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import normalize

from pegboard.secrets.shapes import NAMED, OF_A_FILE, find_shapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINES = re.compile(r"(?<!\S)\S{8,}+(?:[ \t]*+\r?\n[ \t]*+(?:[>|#*+][ \t]*)?\S+)+")
"""Words at the end of a line, each with the word that begins the next one, perhaps behind the mark of a quotation."""
_LETTERS = re.compile(r"(?<!\S)\S(?:[ \t]\S){15,}(?!\S)")
_BREAK = re.compile(r"[ \t]*\r?\n[ \t]*(?:[>|#*+][ \t]*)?|[ \t]")
_HYPHENATED = re.compile(rf"-?(?:{_BREAK.pattern})")
"""The same where a hyphen says that the word goes on; it may also be a letter of the key."""
_SPELLED = re.compile(
    r"(?<![\w-])[\w-](?P<between>[^\w\s-]{1,4}|[^\w-]{2,4}|\n|-)(?:[\w-](?P=between)){14,}[\w-](?![\w-])"
)
"""Letter by letter, with the same signs between all of them."""
_UNSEEN = re.compile(
    r"\x1b\[[\d;]{0,20}[A-Za-z]|\\\r?\n|[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
)
"""What a reader does not see between letters: colours of a terminal, marks without a width, a line that goes on."""
_STYLED = re.compile("[\uff01-\uff5e\U0001d400-\U0001d7ff]")
"""Letters and digits of full width, and bold, slanted or doubled ones of mathematics, each of which is one of ASCII."""


def _together(text: str) -> Iterator[tuple[str, list[int]]]:
    """The letters of what is spelled out, and those of a text with unseen or styled ones; and where each of them is."""
    for found in _SPELLED.finditer(text):
        step = len(found["between"]) + 1
        yield found[0][::step], list(range(found.start(), found.end(), step))
    if _UNSEEN.search(text):
        yield _UNSEEN.sub("", text), _places(text, _UNSEEN, 0)
    if not text.isascii() and _STYLED.search(text):
        yield _STYLED.sub(lambda found: normalize("NFKC", found[0]), text), [*range(len(text))]


def parted_shapes(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Where keys of a known shape stand in parts: from, to, the key, and its kind."""
    for together, places in _together(text):
        for at, to, kind in find_shapes(together):
            start, end = places[at], places[to - 1] + 1
            if text[start:end] != together[at:to] and kind not in (NAMED, OF_A_FILE):
                yield start, end, together[at:to], kind
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
    values = list(values)
    for together, places in _together(text):
        for value in values:
            for found in re.finditer(re.escape(value), together):
                start, end = places[found.start()], places[found.end() - 1] + 1
                if text[start:end] != value:
                    yield start, end, value
    words = text.split()
    if len(words) < 2:
        return
    together = "".join(words)
    for value in values:
        if value in together:
            for found in re.finditer(r"\s*".join(map(re.escape, value)), text):
                if found[0] != value:
                    yield *found.span(), value
