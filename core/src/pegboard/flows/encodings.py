"""The texts that a text holds in another form: percent, base64, hexadecimal, HTML entities, backslashes.

A model that is told to may write what it has read in any of them, and so may a page that hides its orders.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pegboard.limits import ENCODED_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PARTS = 1_000
"""More encoded parts of one text are not looked at: they cost time, and nobody could read them."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}(?:\s+[A-Za-z0-9+/_-]{12,})*={0,2}")
_GROUPS = re.compile(r"\b(?:(?:[A-Za-z0-9+/_-]{4}\s+){3,}|(?:[A-Za-z0-9+/_-]{8}\s+){2,})[A-Za-z0-9+/_-]{1,8}={0,2}")
"""The same in groups of four or eight, as people read codes out."""
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_SEEN = re.compile(rb"[\x20-\x7e\t\r\n]{6,}")
"""What can be read in bytes that are not UTF-8 as a whole, as when the encoded text begins in the middle of a word."""


class Part(NamedTuple):
    """What was found in a text: the form, the text in it, and from where to where it stands there."""

    form: str
    text: str
    start: int
    end: int


def decoded(text: str, depth: int = ENCODED_LEVELS) -> Iterator[Part]:
    """Every text that this one holds in another form, of which there may be others in turn."""
    for count, part in enumerate(_decoded_once(text)):
        if count >= MAX_PARTS:
            return
        yield part
        if depth > 1:
            for inner in decoded(part.text, depth - 1):
                yield Part(f"{inner.form} in {part.form}", inner.text, part.start, part.end)


def _decoded_once(text: str) -> Iterator[Part]:
    whole = 0, len(text)
    if "%" in text:
        from urllib.parse import unquote

        if (plain := unquote(text, errors="replace")) != text:
            yield Part("percent", plain, *whole)
    if "&" in text and ";" in text:
        from html import unescape

        if (plain := unescape(text)) != text:
            yield Part("HTML entities", plain, *whole)
    if "\\" in text and (plain := _ESCAPE.sub(_unescaped, text)) != text:
        yield Part("backslashes", plain, *whole)
    if len(text) < 12:
        return
    for found in _HEX.finditer(text):
        for plain in _readable(bytes.fromhex(found[0])):
            yield Part("hexadecimal", plain, *found.span())
    yield from _of_base64(text)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _PLAIN.get(found[3], found[3])


def _of_base64(text: str) -> Iterator[Part]:
    import binascii

    places = [found.span() for found in _BASE64.finditer(text)]
    places += [found.span() for found in _GROUPS.finditer(text)]
    for start, end in places:
        letters = "".join(text[start:end].split()).rstrip("=").translate(_STANDARD)
        for skipped in range(4):  # what stands before it may be letters of the same alphabet
            rest = letters[skipped:]
            rest = rest[: len(rest) - 1] if len(rest) % 4 == 1 else rest
            try:
                data = binascii.a2b_base64(rest + "=" * (-len(rest) % 4))
            except binascii.Error:
                continue
            for plain in _readable(data):
                yield Part("base64", plain, start, end)


_STANDARD = str.maketrans("-_", "+/", "=")


def _readable(data: bytes) -> Iterator[str]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text and sum(not (one.isprintable() or one.isspace()) for one in text) * 8 <= len(text):
        yield text
        return
    for found in _SEEN.finditer(data):
        yield found[0].decode("ascii")
