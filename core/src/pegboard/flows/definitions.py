"""Which places of a call stand in the definitions of untrusted tools: an address, a host, a number, an account.

A model reads a definition before it calls anything, and orders that stand in one may be meant for the tools of others
("tool poisoning" and "shadowing", Invariant Labs, 2025). A definition speaks of what the tool is for, in words that
any call may hold. So what is compared is less than of results: the places alone that something may be sent to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard._encodings import decoded
from pegboard.flows.words import WEAK, Label, Match, fold, texts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pegboard.flows.words import Path
    from pegboard.tools import Tool

MAX_BYTES = 4_194_304
"""Letters that are kept of one source, those that came last: also of tools that are gone, since a model may have read
their definitions."""
MAX_TEXT = 100_000
"""Characters of one definition that are looked through in other forms than as they are."""
MAX_WAITING = 1_000
MAX_KNOWN = 100_000
"""Definitions that are told from new ones; one more, and all of them are new again."""
_PLACE = re.compile(
    r"[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}"  # an address of mail
    r"|(?<=://)(?:[^\s/?#@]{0,100}@)?(?P<host>[\w.:\[\]-]{3,250})"  # the host of an address
    r"|\b(?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,24}(?=/)"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\+?\d[\d ().-]{5,30}\d"  # of a telephone, an account
    r"|\b(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])[A-Za-z0-9]{12,100}\b"  # of a bank (ISO 13616), a wallet, a channel
)
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
MIN_DIGITS = 7


class Definitions:
    """What untrusted sources say in the definitions of their tools, for as long as the board lives."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Label, Tool]] = []
        self._said: dict[Label, bytearray] = {}
        self._known: set[int] = set()

    def note(self, label: Label, tool: Tool) -> None:
        """Note the definition of a tool that is registered; it is read when somebody asks."""
        self._waiting.append((label, tool))
        if len(self._waiting) > MAX_WAITING:
            self._take_in()

    def _take_in(self) -> None:
        waiting, self._waiting = self._waiting, []
        for label, tool in waiting:
            text = "\n".join(texts_in(tool.public_definition))
            if (known := hash((label, text))) not in self._known:  # a profile has tools of its own that say the same
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known.add(known)
                said = self._said.setdefault(label, bytearray())
                said += _folded(text)
                del said[: max(len(said) - MAX_BYTES, 0)]

    def find(self, arguments: Mapping[str, Any], tool: Tool, strictness: Callable[[Label], int]) -> Iterator[Match]:
        """The places in the arguments of a call that a definition speaks of, the first of each value; but those of
        which the tool's own definition speaks too."""
        own: bytes | None = None
        for path, text in _texts(arguments, ()):
            for place, form, span in places_in(text):
                words = fold(place)
                if len(words) < WEAK or (label := self._sayer(words, strictness)) is None:
                    continue
                own = _folded("\n".join(texts_in(tool.public_definition))) if own is None else own
                if words not in own:
                    yield Match(path, text, (span,), form, place, label)
                    break

    def _sayer(self, words: bytes, strictness: Callable[[Label], int]) -> Label | None:
        """Who says it; of several those that are judged most strictly."""
        if self._waiting:
            self._take_in()
        sayers = [label for label, said in self._said.items() if words in said and strictness(label)]
        return max(sayers, key=strictness, default=None)


def _folded(text: str) -> bytes:
    parts = [text, *(part.text for part in decoded(text[:MAX_TEXT]))]
    return b"\0".join([*map(fold, parts), b""])


def places_in(text: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """The places that a text speaks of: each with its form, empty where it stands there as it is, and its span."""
    for found in _PLACE.finditer(text):
        if _is_place(found[0]):
            group = "host" if found["host"] else 0
            yield found[group], "", found.span(group)
    for part in decoded(text):
        for found in _PLACE.finditer(part.text):
            if _is_place(found[0]):
                yield found["host"] or found[0], part.form, (part.start, part.end)


def _is_place(found: str) -> bool:
    if _DATE.match(found):
        return False
    return (
        not re.fullmatch(r"[+\d ().-]+", found) or sum(map(str.isdigit, found)) >= MIN_DIGITS or found.count(".") == 3
    )


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif type(value) is int:
        yield path, str(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key), key
            yield from _texts(item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
