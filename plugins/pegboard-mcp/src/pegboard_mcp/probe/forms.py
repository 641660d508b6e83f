"""Other forms in which a text may give orders that nobody reads there: encoded, letter by letter, digits as letters."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PARTS = 100
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){16,}")
_SPACED = re.compile(r"(?<!\S)(?:\S[ \t]+){12,}\S(?!\S)")
_AS_LETTERS = str.maketrans("013457@$", "oieastas")


def forms_of(text: str) -> Iterator[tuple[str, str]]:
    """The texts that stand in this one otherwise, each with its form."""
    for found in list(_BASE64.finditer(text))[:MAX_PARTS]:
        letters = found[0].rstrip("=").translate(str.maketrans("-_", "+/"))
        try:
            yield "base64", base64.b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            continue
    for found in list(_HEX.finditer(text))[:MAX_PARTS]:
        try:
            yield "hexadecimal", bytes.fromhex(re.sub(r"[ :]", "", found[0])).decode("utf-8")
        except (ValueError, UnicodeDecodeError):
            continue
    if "%" in text:
        yield "percent", unquote(text)
    for found in list(_SPACED.finditer(text))[:MAX_PARTS]:
        words = re.split(r"[ \t]{2,}", found[0])
        yield "letter by letter", " ".join(word.replace(" ", "") for word in words)
    if any(map(str.isdigit, text)):
        yield "digits as letters", text.translate(_AS_LETTERS)
