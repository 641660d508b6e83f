"""Untrusted text on a terminal: what could move the cursor, reorder the line or hide in it is made visible.

Names, descriptions and results come from strangers. Escapes that a terminal obeys, and the characters that only pretend
that a text is another, are shown as `\\x1b` and `\\u202e`. JSON keeps every character, written as its own escape.
"""

from __future__ import annotations

import json
import re
from functools import cache

from pegboard.doctor import BIDI, TAGS, ZERO_WIDTH

_CONTROLS = "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u2028\\u2029"


@cache
def _dangerous() -> re.Pattern[str]:
    return re.compile(f"[{_CONTROLS}{BIDI}{ZERO_WIDTH}{TAGS}\\ud800-\\udfff]")


def printable(text: str) -> str:
    """The text with everything that is not plainly visible escaped; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _dangerous().sub(_escape, text.replace("\r\n", "\n"))


def printable_line(text: str, limit: int | None = None) -> str:
    """The same in one line, shortened to `limit` characters."""
    text = " ".join(printable(text).split())
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def printable_json(text: str) -> str:
    """JSON text with what is not plainly visible as `\\u` escapes: the same value, and harmless to a terminal."""
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return _dangerous().sub(lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
