"""The texts that a text holds in another form: percent, base64, base32, hexadecimal, HTML, backslashes, numbers.

A model that is told to may write what it has read in any of them, and so may a page that hides its orders.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from pegboard.limits import ENCODED_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SHORTEST_BASE32 = 10
"""Letters of base32 in a row: six digits are as many."""
_DIGITS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHIJKLMNOPQRSTUV")
"""Its letters as those of numbers to the base 32."""
MAX_PARTS = 1_000
"""More encoded parts of one text are not looked at: they cost time, and nobody could read them."""

SHORTEST = 8
"""Characters of the shortest text that is looked through for hexadecimal and base64."""
SHORT_WORD = 200
_BETWEEN = " \0 "
"""Stands in no form, and a word of one text ends before it."""
LINE = 12
"""Letters of base64 in a row: of one text, or of each of its lines."""
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{LINE},}}(?:\s+[A-Za-z0-9+/_-]{{{LINE},}})*={{0,2}}")
_SHORT_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
"""The same where the value is nothing else, or an address or a path of one word: six digits are eight letters then."""
_GROUPS = re.compile(r"\s((?:(?:[A-Za-z0-9+/_-]{4}\s+){3,}|(?:[A-Za-z0-9+/_-]{8}\s+){2,})[A-Za-z0-9+/_-]{1,8}={0,2})")
"""The same in groups of four or eight, as people read codes out. It begins with the space before them: a look-behind
would be tried at every letter."""
_BASE32 = re.compile(
    r"[A-Z2-7]{10,}(?:[\s.-]{1,2}[A-Z2-7]{4,})*={0,6}"
    r"|(?:[a-p][abefijmnqruvyz45][a-z2-7][a-hq-x][acegikmoqsuwy246][a-z2-7]{5,}|[a-z2-7]{16,})"
    r"(?:[.-][a-z2-7]{4,})*={0,6}"
)
"""RFC 4648, 6: in one case throughout, perhaps over lines, or over the parts of a name as the DNS has it. A short word
of small letters has to begin as four characters of ASCII do, as few words of a text do."""
_CODES = re.compile(r"[1-9]\d{1,2}(?:(?:[\s,;+()\[\]|/-]|chr){1,8}[1-9]\d{1,2}){5,}")
"""Characters of ASCII by their numbers, six or more of two digits or three."""
DIGITS_OF_CODES = 12
_MARKS = b"%=<&\\"
_NO_MARKS = bytes(code for code in range(128) if code not in _MARKS and not chr(code).isdigit())
"""What stands in no other form but base64, base32 and those in words; a form in numbers has a digit of ASCII."""
_HEX = re.compile(r"[2-7][0-9a-fA-F](?:[\s:,;.-]{0,2}(?:0x|\\x)?[0-9a-fA-F]{2}){5,}")
"""It begins with a letter or digit of ASCII, so that the letters of plain words need not be tried."""
_ROW = r"^[ \t]*[0-9a-fA-F]{4,16}:?[ \t]+((?:[0-9a-fA-F]{2,8}(?:[ \t]{1,3}|(?=\r?$))){2,16})"
_DUMP = re.compile(rf"(?:{_ROW}(?:[ \t]*\|?.{{1,40}})?(?:\r?\n|\Z)){{2,}}", re.MULTILINE)
_DUMPED = re.compile(_ROW, re.MULTILINE)
"""Lines as `hexdump -C`, `xxd` and `od -t x1` print them: an offset, bytes, and perhaps the same as letters."""
_BEFORE_HEX = re.compile(r"0x|[^0-9a-fA-F]")
_PARAMETER = re.compile(r"[?&][\w.%[\]-]{1,60}=")
_QUOTED = re.compile(rf"{_PARAMETER.pattern}|(=(?:\r?\n|[2-9A-F][0-9A-F]|0[9AD]))")
"""Quoted-printable, as mails have it (RFC 2045, 6.7): bytes but control codes, or a line that goes on. What stands
behind the name of a parameter is its value."""
_TAG = re.compile(r"<[^<>]{0,1000}>")
_DOT = re.compile(r"(?i)\bdot\b")
_SPELLED = re.compile(r"(?i)\s{0,3}[\[({<]?\b(at|dot)\b[\])}>]?\s{0,3}")
"""`eve (at) example dot org`: how pages write an address that no program shall find."""
_ESCAPE = re.compile(
    r"\\u\{([0-9a-fA-F]{1,6})\}|[\\%]u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\N\{(?P<name>[A-Z0-9 -]{1,80})\}"
    r"|U\+([0-9a-fA-F]{4,6})[\s,;]?|\\x([0-9a-fA-F]{2})"
    r"|\\(?P<octal>[0-7]{3})|\\(?P<plain>.)",
    re.DOTALL,
)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_SEEN = re.compile(rb"[\x20-\x7e\t\r\n]{6,}")
"""What can be read in bytes that are not UTF-8 as a whole, as when the encoded text begins in the middle of a word."""


class Part(NamedTuple):
    """What was found in a text: the form, the text in it, and from where to where it stands there."""

    form: str
    text: str
    start: int
    end: int


def decoded(text: str, depth: int = ENCODED_LEVELS) -> Iterable[Part]:
    """Every text that this one holds in another form, of which there may be others in turn."""
    return _decoded(text, depth) if _may_hold_forms(text) else ()


def _decoded(text: str, depth: int) -> Iterator[Part]:
    for count, part in enumerate(_decoded_once(text)):
        if count >= MAX_PARTS:
            return
        yield part
        if depth > 1:
            for inner in decoded(part.text, depth - 1):
                yield Part(f"{inner.form} in {part.form}", inner.text, part.start, part.end)


def may_hold_forms(texts: list[str]) -> bool:
    """Whether there is anything to decode in one of them: one look at all is cheaper than one at each."""
    return _may_hold_forms(_BETWEEN.join(texts)) or any(
        _SHORT_BASE64.search(one) is not None for one in texts if _is_one_word(one)
    )


def _may_hold_forms(text: str) -> bool:
    """Whether there is anything to decode; most text has nothing, and is looked at again and again."""
    letters = text.encode("ascii", "replace")
    marks = letters.translate(None, _NO_MARKS)
    if (marks and not marks.isdigit()) or "U+" in text or "dot" in text or "DOT" in text:
        if ("?" in text and "&" in text) or any(plain != text for _, plain in _rewritten(text)):
            return True
        marks = marks.translate(None, _MARKS)
    if len(text) < SHORTEST:
        return False
    if marks and (_HEX.search(text) or (len(marks) >= DIGITS_OF_CODES and _CODES.search(text))):
        return True
    shape = letters.translate(_SHAPE)
    if _places_of_base64(text, shape):
        return True
    return _LONG32 in shape and _LONG32 in letters.translate(_SHAPE32) and next(_of_base32(text), None) is not None


def _decoded_once(text: str) -> Iterator[Part]:
    for form, plain in _rewritten(text):
        if plain != text:
            yield Part(form, plain, 0, len(text))
    yield from _of_addresses(text)
    if len(text) < SHORTEST:
        return
    for found in _HEX.finditer(text):
        digits = _BEFORE_HEX.sub("", found[0])
        for start in (0, 1):  # what stands before it may be a digit, too
            pairs = digits[start : start + (len(digits) - start & ~1)]
            for plain in _readable(bytes.fromhex(pairs)):
                yield Part("hexadecimal", plain, *found.span())
    for found in _DUMP.finditer(text) if "  " in text or "\n0" in text else ():
        digits = "".join("".join(line.split()) for line in _DUMPED.findall(found[0]))
        for plain in _readable(bytes.fromhex(digits[: len(digits) & ~1])):
            yield Part("hexadecimal", plain, *found.span())
    yield from _of_codes(text)
    yield from _of_base64(text)
    yield from _of_base32(text)


def _rewritten(text: str) -> Iterator[tuple[str, str]]:
    """The text as a whole, with what is written otherwise in its place."""
    if "%" in text:
        from urllib.parse import unquote

        yield "percent", unquote(text, errors="replace")
    if "=" in text and any(found[1] for found in _QUOTED.finditer(text)):
        from quopri import decodestring

        yield "quoted-printable", decodestring(text.encode("utf-8", "replace")).decode("utf-8", "replace")
    if "<" in text:
        yield "HTML tags", _TAG.sub("", text)
    if "&" in text and (";" in text or "&#" in text):
        from html import unescape

        yield "HTML entities", unescape(text)
    if "\\" in text or "U+" in text or "%u" in text:
        yield "backslashes", _ESCAPE.sub(_unescaped, text)
    if ("dot" in text or "DOT" in text) and _DOT.search(text):
        yield "an address spelled out", _SPELLED.sub(lambda found: "@" if found[1].lower() == "at" else ".", text)


def _of_addresses(text: str) -> Iterator[Part]:
    """From the first address with parameters to the last one, without the names of those."""
    if "?" in text and "&" in text and (names := list(_PARAMETER.finditer(text))):
        start, end = text.rfind(" ", 0, names[0].start()) + 1, text.find(" ", names[-1].end())
        end = len(text) if end < 0 else end
        yield Part("parts of an address", _PARAMETER.sub("", text[start:end]), start, end)


def _unescaped(found: re.Match[str]) -> str:
    assert found.lastindex is not None
    value = found[found.lastindex]
    if found.lastgroup == "plain":
        return _PLAIN.get(value, value)
    if found.lastgroup == "name":
        import unicodedata

        with contextlib.suppress(KeyError):
            return unicodedata.lookup(value)
        return found[0]
    code = int(value, 8 if found.lastgroup == "octal" else 16)
    return chr(code) if code <= sys.maxunicode else found[0]


def _of_base64(text: str) -> Iterator[Part]:
    import binascii

    for start, end in _places_of_base64(text, _shape_of(text)):
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


def _of_codes(text: str) -> Iterator[Part]:
    for found in _CODES.finditer(text):
        yield Part("numbers of characters", "".join(map(chr, map(int, re.findall(r"\d+", found[0])))), *found.span())


def _of_base32(text: str) -> Iterator[Part]:
    for found in _places_of_base32(text):
        letters = "".join(filter(str.isalnum, found[0])).upper()
        bits = 5 * len(letters)
        for plain in _readable((int(letters.translate(_DIGITS), 32) >> bits % 8).to_bytes(bits // 8)):
            yield Part("base32", plain, *found.span())


def _places_of_base32(text: str) -> Iterator[re.Match[str]]:
    """Where base32 may stand: in words that are long enough, which the shape shows sooner than a search."""
    shape = text.encode("ascii", "replace").translate(_SHAPE32) + b" "
    end = 0
    while (start := shape.find(_LONG32, end)) >= 0:
        end = shape.find(b" ", start)
        found = _BASE32.match(text, start)
        if found is None and not text[start:end].islower() and (inside := _BASE32.search(text, start, end)):
            found = _BASE32.match(text, inside.start())
        if found is not None:
            yield found
            end = found.end()


def _places_of_base64(text: str, shape: bytes) -> list[tuple[int, int]]:
    """Where base64 may stand among other words. Most text has none, and its shape says so sooner than a search."""
    if _is_one_word(text):
        return [found.span() for found in _SHORT_BASE64.finditer(text)] if _SHORTEST64 in shape else []
    places: list[tuple[int, int]] = []
    if _LINE64 in shape:
        places += (found.span() for found in _BASE64.finditer(text))
    words = b" %b " % (b" ".join(shape.split()) if b"  " in shape else shape)
    if b" aaaa aaaa aaaa " in words or b" aaaaaaaa aaaaaaaa " in words or not text.isascii():  # with other spaces
        places += ((found.start(1) - 1, found.end() - 1) for found in _GROUPS.finditer(f" {text}"))
    return places


def _is_one_word(text: str) -> bool:
    return " " not in text and len(text) <= SHORT_WORD and text.split(None, 1) == [text]


def _shape_of(text: str) -> bytes:
    return text.encode("ascii", "replace").translate(_SHAPE)


_SHAPE = bytes(
    97 if chr(code).isalnum() or chr(code) in "+/_-" else 32 if chr(code).isspace() else 46 for code in range(128)
) + bytes(128)
"""For `bytes.translate`: a letter of base64 is `a`, a space a space, all else a dot."""
_LINE64, _SHORTEST64 = b"a" * LINE, b"a" * SHORTEST
_SHAPE32 = bytes(97 if chr(code).isalpha() or chr(code) in "234567" else 32 for code in range(128)) + bytes(128)
_LONG32 = b"a" * SHORTEST_BASE32
"""The same for base32: all else is a space."""
_STANDARD = str.maketrans("-_", "+/", "=")


def _readable(data: bytes) -> Iterator[str]:
    data = data.replace(b"\0", b"")  # UTF-16, as PowerShell encodes it
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text and sum(not (one.isprintable() or one.isspace()) for one in text) * 8 <= len(text):
        yield text
        return
    for found in _SEEN.finditer(data):
        yield found[0].decode("ascii")
