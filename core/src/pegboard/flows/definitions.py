"""Which places of a call stand in the definitions of untrusted tools: an address, a host, a number, an account.

A model reads a definition before it calls anything, and orders that stand in one may be meant for the tools of others
("tool poisoning" and "shadowing", Invariant Labs, 2025). A definition speaks of what the tool is for, in words that
any call may hold. So what is compared is less than of results: the places alone that something may be sent to.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard._encodings import decoded
from pegboard.flows.grams import Grams
from pegboard.flows.words import SHORT, WEAK, Label, Match, fold, hosts_above, texts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pegboard._encodings import Part
    from pegboard.flows.words import Leaf
    from pegboard.tools import Tool

MAX_BYTES = 4_194_304
"""Letters that are kept of one source, those that came last: also of tools that are gone, since a model may have read
their definitions."""
MAX_TEXT = 100_000
"""Characters of one definition that are looked through in other forms than as they are."""
MAX_WAITING = 1_000
MANY = 50
"""Definitions: to read more takes ten milliseconds and more."""
MAX_KNOWN = 100_000
"""Definitions that are told from new ones; one more, and all of them are new again."""
_PLACES = (
    ("@", r"[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}"),  # an address of mail
    ("://", r"(?<=://)(?:[^\s/?#@]{0,100}@)?(?P<host>[\w.:\[\]-]{3,250})"),  # the host of an address
    ("/", r"\b(?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,24}(?=(?::\d{1,5})?/)"),
    ("", r"\b\d{1,3}(?:\.\d{1,3}){3}\b"),
    ("", r"\+?\d[\d ().-]{5,30}\d"),  # of a telephone, an account
    # Of a bank (ISO 13616), a wallet, a channel.
    ("", r"\b(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])[A-Za-z0-9]{12,100}\b"),
)
"""What a place looks like, each shape with what no text is without that has one; of none: a digit."""
_MAY_HAVE = re.compile(r"[@/\d]")
_NO_PLACE = bytes(code for code in range(128) if not _MAY_HAVE.match(chr(code)))
_WORDS = re.compile(r"(?<!\S)[^\s@/\d]*+[@/\d]\S*+(?:\s++(?=[\d+(.)-])\S++)*+")
"""The words in which a place may stand: those that have a sign of one, and what goes on with a number behind them."""
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
_NUMBER = re.compile(r"[+\d ().-]+")
MIN_DIGITS = 7
MAX_SHORT = 20_000
"""Short words of one source that are kept, and those of one definition more."""
_SHORT = re.compile(rf"\b\w{{1,{WEAK - 1}}}\b")


class Definitions:
    """What untrusted sources say in the definitions of their tools, for as long as the board lives. Changed under a
    lock, as `WordsRead` is.

    Attributes:
        labels: those sources.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[Label, Tool | Mapping[str, Any]]] = []
        self._said: dict[Label, _Said] = {}
        self._known: set[int] = set()
        self.labels: dict[Label, None] = {}

    @property
    def is_behind(self) -> bool:
        """Whether the next `find` has many to read first, or waits for another that reads."""
        return len(self._waiting) > MANY or self._lock.locked()

    def note(self, label: Label, defined: Tool | Mapping[str, Any]) -> None:
        """Note a tool that is registered, or what a source lists beside tools; it is read when somebody asks."""
        with self._lock:
            self._waiting.append((label, defined))
            self.labels[label] = None
            if len(self._waiting) > MAX_WAITING:
                self._take_in()

    def _read_on(self) -> None:
        with self._lock:  # also where nothing waits: another call may be reading what waited
            if self._waiting:
                self._take_in()

    def _take_in(self) -> None:
        waiting, self._waiting = self._waiting, []
        new: dict[Label, list[str]] = {}
        for label, one in waiting:
            text = "\n".join(texts_in(one if isinstance(one, Mapping) else one.public_definition))
            if (known := hash((label, text))) not in self._known:  # a profile has tools of its own that say the same
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known.add(known)
                new.setdefault(label, []).append(text)
        for label, texts in new.items():
            self._said.setdefault(label, _Said()).add(texts)

    def find(
        self,
        leaves: Iterable[Leaf],
        tool: Tool,
        strictness: Callable[[Label], int],
        forms: Callable[[str], Iterable[Part]] = decoded,
    ) -> Iterator[Match]:
        """The places in the arguments of a call that a definition speaks of, the first of each value; but those of
        which the tool's own definition speaks too.

        Args:
            leaves: which somebody chose in the arguments.
            tool: what is called.
            strictness: of what came from there: 0 does not count; of several the highest is told.
            forms: gives the texts that a text holds in another form.
        """
        own: bytes | None = None
        for path, text, folded, _ in leaves:
            is_plain = folded.isalpha() and "@" not in text and "/" not in text
            if len(folded) < WEAK or (is_plain and not forms(text)):
                continue
            for place, form, span in places_in(text, forms):
                if (said := self._said_of(place, strictness)) is None:
                    continue
                words, label = said
                own = _folded("\n".join(texts_in(tool.public_definition))) if own is None else own
                if words not in own:
                    yield Match(path, text, (span,), form, place, label)
                    break

    def say(self, words: bytes) -> bool:
        """Whether one of them says these words, folded: a model that gives them to a tool may have them from there."""
        self._read_on()
        return any(said.says(words) for said in list(self._said.values()))

    def _said_of(self, place: str, strictness: Callable[[Label], int]) -> tuple[bytes, Label] | None:
        """Who says that place, or of a host one that it is under, and how it is said."""
        for name in (place, *(hosts_above(place.partition(":")[0]) if "@" not in place else ())):
            words = fold(name)
            if len(words) >= WEAK and (label := self._sayer(words, strictness)) is not None:
                return words, label
        return None

    def _sayer(self, words: bytes, strictness: Callable[[Label], int]) -> Label | None:
        """Who says it; of several those that are judged most strictly."""
        self._read_on()
        sayers = [label for label, said in list(self._said.items()) if said.holds(words) and strictness(label)]
        return max(sayers, key=strictness) if sayers else None


class _Said:
    """What one source says, folded."""

    def __init__(self) -> None:
        self._folded = bytearray()
        self._grams = Grams(0)
        self._short: set[bytes] = set()

    def add(self, texts: list[str]) -> None:
        folded = b"".join(map(_folded, texts))
        if len(self._short) < MAX_SHORT:
            self._short.update(map(fold, {word for text in texts for word in _SHORT.findall(text)}))
        self._folded += folded
        del self._folded[: max(len(self._folded) - MAX_BYTES, 0)]
        if len(self._folded) > self._grams.letters:
            folded, self._grams = bytes(self._folded), Grams(2 * len(self._folded))
        self._grams.add(folded)

    def holds(self, words: bytes) -> bool:
        return self._grams.may_hold(words) and words in self._folded

    def says(self, words: bytes) -> bool:
        """The same, also of a short word or number, where it stands alone."""
        return words in self._short if len(words) < WEAK else self.holds(words)


def _folded(text: str) -> bytes:
    parts = [text, *(part.text for part in decoded(text[:MAX_TEXT]))]
    return b"\0".join([*map(fold, parts), b""])


def places_in(
    text: str, forms: Callable[[str], Iterable[Part]] = decoded
) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """The places that a text speaks of: each with its form, empty where it stands there as it is, and its span.

    Args:
        text: the text.
        forms: gives the texts that it holds in another form.
    """
    for place, span in _plain_places(text):
        yield place, "", span
    for part in forms(text):
        for place, _ in _plain_places(part.text):
            yield place, part.form, (part.start, part.end)


def _may_have_place(text: str) -> bool:
    """Most sentences have none, and a search for all shapes is dear."""
    if text.isascii():
        return bool(text.encode().translate(None, _NO_PLACE))
    return _MAY_HAVE.search(text) is not None


def _plain_places(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    if not _may_have_place(text):
        return
    shapes = _shapes("@" in text, "://" in text, "/" in text)
    places = shapes.finditer(text) if len(text) <= SHORT else _places_in_words(shapes, text)
    for found in places:
        if not _DATE.match(found[0]) and (
            not _NUMBER.fullmatch(found[0]) or sum(map(str.isdigit, found[0])) >= MIN_DIGITS or found[0].count(".") == 3
        ):
            group = found.lastgroup or 0
            yield found[group], found.span(group)


def _places_in_words(shapes: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The same as a search through the whole text, which would try each shape at each letter of it."""
    for words in _WORDS.finditer(text):
        yield from shapes.finditer(text, *words.span())


@functools.cache
def _shapes(*has: bool) -> re.Pattern[str]:
    """The shapes of places that a text may have that has these of the marks."""
    marks = {"", *(mark for mark, is_there in zip(("@", "://", "/"), has, strict=True) if is_there)}
    return re.compile("|".join(shape for mark, shape in _PLACES if mark in marks))
