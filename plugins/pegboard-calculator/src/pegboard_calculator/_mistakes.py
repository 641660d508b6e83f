"""What can be wrong with a text, and how it is told."""

from __future__ import annotations

EXCERPT_BEFORE = 24
EXCERPT_AFTER = 16


class Mistake(ValueError):  # noqa: N818 - made by who wrote the text, not by us
    """A text that has no value. `at` and `end` bound the place, counted from 0; None until somebody knows it."""

    def __init__(self, message: str, at: int | None = None, end: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.end = end


class Undecided(Exception):  # noqa: N818 - no error: a request for more digits
    """The digits at hand cannot tell which side of a boundary a value lies on."""


def excerpt(text: str, at: int, end: int) -> str:
    """The surroundings of a place in one line, the place itself between » and «: `2 + »*« 3`.

    Characters that do not print come out as `?`: they could turn the line round or hide.
    """
    end = min(max(end, at), at + EXCERPT_AFTER)
    start, stop = max(0, at - EXCERPT_BEFORE), min(len(text), end + EXCERPT_AFTER)
    head = ("…" if start else "") + _printable(text[start:at])
    tail = _printable(text[end:stop]) + ("…" if stop < len(text) else "")
    return f"{head}»{_printable(text[at:end])}«{tail}"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c in "\t\r\n" else "?" for c in text)
