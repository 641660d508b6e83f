"""What people write, as what the index understands. Text in, text out; no database.

Memories and queries are folded alike: compatibility forms (full width, ligatures), case and the accents of European
scripts go, so that `Café`, `CAFÉ` and `cafe` are one. A query then becomes a `Query` of three kinds of pieces:

    phrases    what stands between spaces, for the index of words; `e-mail` is the word `e` followed by `mail`
    words      the words inside of those
    parts      of three characters and more, for the index of trigrams, which finds them inside of words and in scripts
               that put no spaces between words; runs of such a script are also cut into all their trigrams
    scraps     shorter than that, which no index holds: they are looked for in the texts themselves

Invariant: any text gives a query, and every expression made of it is valid for FTS5, because each piece stands in
quotes with the quotes inside of it doubled, and holds no NUL.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_QUERY = 1000
"""Characters of a query that are looked at; a longer one is cut, since no query is an error."""
MAX_PIECES = 32
"""Pieces of one kind; the rest of a long query is left out."""

TRIGRAM = 3

_ACCENTS = re.compile("[\u0300-\u036f]")  # of Latin, Greek and Cyrillic; marks of other scripts are letters of theirs
_WORD = re.compile(r"[^\W_]+")
_EDGES = (
    "".join(chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum())
    + "«»“”„‘’‚…¿¡、。，！？：；「」『』（）"
)


@functools.cache
def _unspaced() -> re.Pattern[str]:
    """Runs of scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han (with its extensions).

    Compiled with the first query: every host that opens imports this module.
    """
    return re.compile(
        "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    )


@attrs.frozen
class Query:
    """A query in pieces; each kind in the order of the text, without repeats. See the module."""

    phrases: tuple[str, ...]
    words: tuple[str, ...]
    parts: tuple[str, ...]
    scraps: tuple[str, ...]


def fold(text: str) -> str:
    """A text as it is indexed and compared: half of a surrogate pair and NUL become a space."""
    whole = text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", whole).casefold()))


def parse(text: str) -> Query:
    """Take a query apart. Any text is a query; one without anything to look for has no pieces."""
    chunks = _distinct(chunk.strip(_EDGES) or chunk for chunk in fold(text[:MAX_QUERY]).split())
    words = _distinct(word for chunk in chunks for word in _WORD.findall(chunk))
    pieces = _distinct([*chunks, *words, *_cut(chunks, TRIGRAM)])
    parts = _distinct(piece for piece in pieces if len(piece) >= TRIGRAM)
    short = _distinct(piece for piece in [*pieces, *_cut(chunks, 2)] if len(piece) < TRIGRAM)
    return Query(
        phrases=tuple(chunk for chunk in chunks if _WORD.search(chunk)),
        words=words,
        parts=parts,
        # A letter or two of Latin are in every text; they are looked for where there is nothing else to look for.
        scraps=tuple(piece for piece in short if not piece.isascii()) if parts else short,
    )


def _cut(chunks: Iterable[str], size: int) -> list[str]:
    runs = [run for chunk in chunks for run in _unspaced().findall(chunk)]
    return [run[start : start + size] for run in runs for start in range(len(run) - size + 1)]


def _distinct(pieces: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pieces))[:MAX_PIECES]


def quoted(piece: str) -> str:
    """A piece as a string of FTS5's query language: nothing in it is an operator."""
    return '"' + piece.replace('"', '""') + '"'


def all_of(pieces: Iterable[str]) -> str:
    """An expression that wants every piece."""
    return " AND ".join(map(quoted, pieces))


def any_of(pieces: Iterable[str]) -> str:
    """An expression that wants one of the pieces, and ranks by all."""
    return " OR ".join(map(quoted, pieces))
