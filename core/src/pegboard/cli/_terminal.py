"""The terminal at the other end of a stream: is there one, how wide is it, which characters can it show."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

COLUMNS = 80
"""Of a terminal that does not say how wide it is."""
ROWS = 24
"""Of a terminal that does not say how high it is."""


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the other end."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def moves_cursor() -> bool:
    """Whether the terminal knows more than text."""
    return os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def can_show(stream: TextIO | None, text: str) -> bool:
    """Whether these characters can be written there: not without UTF-8, as with `LANG=C`."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns_of(stream: TextIO | None) -> int:
    """How many columns the terminal has; `COLUMNS` of the environment wins, as everywhere."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return (0 if stream is None else os.get_terminal_size(stream.fileno()).columns) or COLUMNS
    except (OSError, ValueError):
        return COLUMNS


def rows_of(stream: TextIO | None) -> int:
    """How many lines the terminal has; `LINES` of the environment wins."""
    said = os.environ.get("LINES", "")
    if said.isdecimal() and int(said):
        return int(said)
    try:
        return (0 if stream is None else os.get_terminal_size(stream.fileno()).lines) or ROWS
    except (OSError, ValueError):
        return ROWS


def cells_of(character: str) -> int:
    """How many columns a character takes: none that combines with the one before, two for a wide one (UAX 11)."""
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """The beginning of a line that fits into so many columns."""
    if text.isascii():
        return text[:columns]
    taken = 0
    for index, character in enumerate(text):
        taken += cells_of(character)
        if taken > columns:
            return text[:index]
    return text
