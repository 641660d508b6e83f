"""Markdown around foreign texts: what is foreign stays words, whatever it says.

A foreign text is never a heading, list, fence, table border, link, picture, HTML or entity; it cannot end the cell,
line or fence that it stands in. Rules by CommonMark 0.31 (2.4 backslash escapes, 4.5 fenced code, 6.1 code spans) and
GitHub's extensions (tables, autolinks without brackets). What looks like an address is shown as code, because code is
the one place where no reader makes a link of it. The property tests hold this against an independent reader.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pegboard_manifest import sanitise
from pegboard_toolgen.write._json import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LINE = 2000
"""Of one foreign paragraph; longer ones are cut, in characters."""
MAX_PARAGRAPHS = 40
MAX_JSON_LINE = 110
_LINKED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s:]|//|www\.|[^\s]@[^\s]", re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`*\[\]<|~]|&(?=#?\w{1,40};)|\$(?=\S)|(?<!\S)#|(?<![^\W_])_|_(?![^\W_])")
_AS_ENTITY = {"<": "&lt;", "&": "&amp;", "|": "&#124;"}
_AFTER_LINK = re.compile(r"[.,;:!?\"')\]]*\Z")
_BLOCK_START = re.compile(r"(?:[-+=:>]|\d{1,9}(?=[.)](?:\s|$)))")


def inline(text: object, limit: int = MAX_LINE) -> str:
    """Foreign text as one line of words, in a paragraph, a list's item, a heading or a cell."""
    words = sanitise(str(text), one_line=True)
    if len(words) > limit:
        words = words[: limit - 3].rstrip() + "..."
    shown = " ".join(_word(word) for word in words.split(" "))
    start = _BLOCK_START.match(shown)
    if start is None:
        return shown
    at = start.end()
    return shown[:at] + "\\" + shown[at:] if start[0].isdigit() else "\\" + shown


def _word(word: str) -> str:
    if _LINKED.search(word):
        end = _AFTER_LINK.search(word).start()  # type: ignore[union-attr]
        return f"{code(word[:end])}{_word(word[end:])}" if _LINKED.search(word[:end]) else code(word)
    return _SPECIAL.sub(lambda found: _AS_ENTITY.get(found[0], "\\" + found[0]), word)


def paragraphs(text: object) -> list[str]:
    """Foreign text as paragraphs, a blank line between them; its lines stay lines, and none becomes a block."""
    found = re.split(r"\n\s*\n", sanitise(str(text)))
    parts = [[inline(line) for line in part.split("\n") if line.strip()] for part in found[:MAX_PARAGRAPHS]]
    return [line for part in parts if part for line in (*part, "")]


def code(text: object) -> str:
    """Foreign text as code in a line. The border of a table cannot stand in code; it stands between two pieces."""
    pieces = sanitise(str(text), one_line=True).split("|")
    return _AS_ENTITY["|"].join(_span(piece.strip()) for piece in pieces)


def _span(words: str) -> str:
    if not words:
        return ""
    ticks = "`" * (_longest_run(words) + 1)
    pad = " " if words[0] == "`" or words[-1] == "`" else ""
    return f"{ticks}{pad}{words}{pad}{ticks}"


def fence(text: str, info: str) -> list[str]:
    """A block of code whose fence is longer than any run of backticks inside. `info` is ours."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return [f"{ticks}{info}", *text.split("\n"), ticks, ""]


def json_block(value: object) -> list[str]:
    """A value as a block of JSON, on one line where it is short."""
    text = text_of(value, indent=None)
    return fence(text if len(text) <= MAX_JSON_LINE else text_of(value), "json")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose cells are already Markdown of one line."""
    lines = [_row(head), _row(["---"] * len(head)), *(_row(row) for row in rows)]
    return [*lines, ""]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
