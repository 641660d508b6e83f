"""Other writings in which a text may give orders that nobody reads there, and that models read: encoded, letter by
letter, backwards, in letters that look alike, as a name. Each is tried where the text has a sign of it."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pegboard.marks import skeleton

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PARTS = 100
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){16,}")
_SPACED = re.compile(r"(?<!\S)(?:\S[ \t]+){12,}\S(?!\S)")
_NAME = re.compile(r"(?<![\w/.-])[A-Za-z]{1,30}(?:[_-][A-Za-z]{1,30}){3,20}(?![\w/.-])")
_CAMEL = re.compile(r"(?<![\w/.-])[a-z]{1,30}(?:[A-Z][a-z]{1,30}){3,20}(?![\w/.-])")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_BACKWARDS = re.compile(r"\b(?:eht|lla|dna|uoy|ruoy|siht|erofeb|resu)\b", re.IGNORECASE)
_TURNED = re.compile(r"\b(?:gur|nyy|naq|lbh|lbhe|guvf|orsber|hfre)\b", re.IGNORECASE)
"""Words of most sentences, backwards and in rot13."""
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
    for found in list(_NAME.finditer(text))[:MAX_PARTS]:
        yield "words of a name", re.sub(r"[_-]", " ", found[0])
    for found in list(_CAMEL.finditer(text))[:MAX_PARTS]:
        yield "words of a name", re.sub(r"(?=[A-Z])", " ", found[0])
    if _BACKWARDS.search(text):
        yield "backwards", text[::-1]
    if _TURNED.search(text):
        yield "rot13", codecs.decode(text, "rot13")
    if "&#" in text:
        yield "entities", html.unescape(text)
    if _ESCAPE.search(text):
        yield "escapes", _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        yield "accents", "".join(letter for letter in letters if not unicodedata.combining(letter))
        yield "letters that look alike", "".join(one if one.isascii() else skeleton(one) for one in letters)
