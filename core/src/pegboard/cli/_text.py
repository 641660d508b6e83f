"""Untrusted text on a terminal: what could move the cursor, reorder the line or hide in it is made visible.

Names, descriptions and results come from third parties. Escapes that a terminal obeys, and the characters that only
pretend that a text is another, are shown as `\\x1b` and `\\u202e`: those that `pegboard.text` lists. JSON keeps every
character, written as its own escape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.text import counts_in, describe
from pegboard.text import visible as printable
from pegboard.text import visible_json as printable_json

if TYPE_CHECKING:
    from pegboard.results import ToolResult

__all__ = ["printable", "printable_json", "printable_line", "taken_out_of"]


def printable_line(text: str, limit: int | None = None) -> str:
    """`printable` in one line, shortened to `limit` characters.

    .. versionadded:: 0.1
    """
    text = " ".join(printable(text).split())
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def taken_out_of(result: ToolResult) -> str | None:
    """What a person is told where characters that hide were taken out of a result, good or bad; None: none were.

    .. versionadded:: 0.1
    """
    counts = counts_in(result.details if result.error is None else result.error.details)
    return f"note: taken out of the result: {describe(counts)}" if counts else None
