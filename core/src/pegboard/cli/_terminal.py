"""The streams of the process: whose stdout is; and the terminal at the other end of one, how wide it is and which
characters it can show.

In a process of its own, the program keeps stdout to itself (`keep_stdout`): what third-party code prints, in a tool,
when a plugin is imported, in a worker process, is on stderr. A command of a plugin is trusted with stdout:
`sys.stdout` is the answer while it runs (`lend_stdout`).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_IN_ASCII = str.maketrans(
    {"…": "...", "»": ">>", "«": "<<", "─": "-", "–": "-", "—": "-", "→": "->", "×": "x", "’": "'"}
)
SIGNS = "".join(map(chr, _IN_ASCII))
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
"""What Python itself sets `LC_CTYPE` to where the locale is C (PEP 538)."""
COLUMNS = 80
"""Of a terminal that does not say how wide it is."""
ROWS = 24
"""Of a terminal that does not say how high it is."""


_kept: TextIO | None = None
"""The stdout of the process, where the program keeps it to itself."""
_is_lent = False


def answer_stream() -> TextIO | None:
    """Where the answer goes; None if that is closed.

    .. versionadded:: 0.1
    """
    return _kept or sys.stdout


def keeps_stdout() -> bool:
    """Whether the program keeps stdout to itself."""
    return _kept is not None


def keep_stdout() -> None:
    """Keep stdout to the program: descriptor 1 is stderr from here on, for this process and those it starts.

    Does nothing where `sys.stdout` is not the process's own, as in a program that runs this one inside itself.
    """
    global _kept
    for number in range(3):
        try:
            os.fstat(number)
        # Closed: it is taken, or the next file that is opened would have its number, since `open` gives the lowest that
        # is free (POSIX), and what is printed would go into that file.
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    own = sys.stdout
    try:
        if own.fileno() != 1:
            return
        own.flush()
    except (OSError, ValueError, AttributeError):  # closed, or no file of the system's: nothing there to keep
        return
    number = os.dup(1)
    os.dup2(2, 1)
    # Open as long as the process: nobody closes it.
    sys.stdout = _kept = os.fdopen(number, "w", encoding=own.encoding, errors=own.errors, closefd=False)
    if isinstance(own, io.TextIOWrapper):
        _kept.reconfigure(line_buffering=own.line_buffering, write_through=own.write_through)


@contextlib.contextmanager
def running_third_party_code() -> Iterator[None]:
    """From here on `sys.stdout` is stderr: third-party code runs. In a command of a plugin only until the block
    ends.

    .. versionadded:: 0.1
    """
    if _kept is None:
        yield
        return
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        if _is_lent:
            sys.stdout = _kept


def lend_stdout() -> None:
    """What is printed from here on is the answer: a command of a plugin runs, or click shows a help."""
    global _is_lent
    if _kept is not None:
        _is_lent = True
        sys.stdout = _kept


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person sits at the other end.

    .. versionadded:: 0.1
    """
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def moves_cursor() -> bool:
    """Whether the terminal knows more than text.

    .. versionadded:: 0.1
    """
    return os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def can_show(stream: TextIO | None, text: str) -> bool:
    """Whether these characters can be seen there: not without UTF-8.

    Python takes the locale `C` for UTF-8 (PEP 538 and 540), since files mostly are; a terminal of somebody who says
    `LANG=C` need not be. `PYTHONIOENCODING` and `PYTHONUTF8` say what somebody wants.

    .. versionadded:: 0.1
    """
    if text.isascii():
        return True
    if not any(os.environ.get(name) for name in ("PYTHONIOENCODING", "PYTHONUTF8")) and _locale() in ("C", "POSIX"):
        return False
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _locale() -> str:
    """The locale of characters that somebody chose; empty where nobody did."""
    kind = os.environ.get("LC_CTYPE", "")
    if kind in COERCED and not os.environ.get("LC_ALL"):
        kind = ""  # Python's own doing
    return os.environ.get("LC_ALL") or kind or os.environ.get("LANG", "")


def shown_on(stream: TextIO | None, text: str) -> str:
    """The text with the signs that the program and its tools write in ASCII, where the terminal cannot show them."""
    if text.isascii() or can_show(stream, SIGNS):
        return text
    return text.translate(_IN_ASCII)


def columns_of(stream: TextIO | None) -> int:
    """How many columns the terminal has; `COLUMNS` of the environment wins, as everywhere.

    .. versionadded:: 0.1
    """
    return _said_by("COLUMNS") or _size_of(stream)[0] or COLUMNS


def rows_of(stream: TextIO | None) -> int:
    """How many lines the terminal has; `LINES` of the environment wins."""
    return _said_by("LINES") or _size_of(stream)[1] or ROWS


def _said_by(variable: str) -> int:
    said = os.environ.get(variable, "")
    return int(said) if said.isdecimal() else 0


def _size_of(stream: TextIO | None) -> tuple[int, int]:
    """Columns and lines; 0 is not known. `shutil.get_terminal_size` asks stdout alone, whatever stream is meant."""
    try:
        return (0, 0) if stream is None else os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):  # no terminal, or closed
        return 0, 0


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
