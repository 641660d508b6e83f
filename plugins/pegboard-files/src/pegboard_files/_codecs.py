"""Which text encodings files are read in, and what a file is by its first bytes.

The list of codecs is closed: Python has others that are not encodings of text (`rot13`, `zlib`), run backwards
(`unicode_escape`) or differ from host to host (`mbcs`). Bytes that do not fit are an error; nothing is ever replaced.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from pegboard import ErrorCode, ToolError
from pegboard_files._names import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SELF_NAMED = (
    "ascii", "big5", "cp437", "cp850", "cp852", "cp855", "cp858", "cp862", "cp866",
    "cp874", "cp932", "cp949", "cp950", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "hz",
    "iso2022-jp", "johab", "koi8-r", "koi8-u", "mac-cyrillic", "mac-greek", "mac-latin2",
    "mac-roman", "mac-turkish", "ptcp154", "shift-jis", "shift-jisx0213", "tis-620", "utf-8", "utf-16",
    "utf-16-be", "utf-16-le", "utf-32", "utf-32-be", "utf-32-le",
)  # fmt: skip
CODECS: dict[str, str] = {
    **{name: name for name in _SELF_NAMED},
    **{f"iso8859-{part}": f"iso8859-{part}" for part in range(1, 17) if part != 12},
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in range(1, 17) if part != 12},
    **{f"cp{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"windows-{page}": f"cp{page}" for page in range(1250, 1259)},
    "utf8": "utf-8",
    "utf-8-sig": "utf-8",
    "utf16": "utf-16",
    "utf16-le": "utf-16-le",
    "utf16-be": "utf-16-be",
    "utf32": "utf-32",
    "us-ascii": "ascii",
    "latin1": "iso8859-1",
    "latin-1": "iso8859-1",
    "latin-9": "iso8859-15",
    "sjis": "shift-jis",
    "gb-18030": "gb18030",
    "eucjp": "euc-jp",
    "euckr": "euc-kr",
    "macroman": "mac-roman",
}
"""What callers may write (in any case, `_` and spaces as `-`), and Python's name for it."""

MARK = "\ufeff"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
HEAD = 8192
"""How many bytes decide what a file is."""


def find_codec(name: str) -> str:
    """Python's name of an encoding.

    Raises:
        ToolError: INVALID_INPUT: it is not one of those that are read; the message names near ones.
    """
    folded = "-".join(name.strip().lower().replace("_", "-").split()) if len(name) <= 40 else ""
    found = CODECS.get(folded)
    if found is not None:
        return found
    from pegboard.schema import NearNames

    near = NearNames().find(folded, CODECS, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "write utf-8, utf-16, latin-1 or windows-1252"
    raise ToolError(
        ErrorCode.INVALID_INPUT,
        f"encoding: {shown(name)} is not an encoding that is read here; {hint}",
        parameter="encoding",
        suggestions=near,
    )


def is_wide(codec: str) -> bool:
    """Whether text in this encoding holds zero bytes."""
    return codec.startswith(("utf-16", "utf-32"))


def marked(head: bytes) -> str | None:
    """The encoding that a byte order mark at the beginning names."""
    return next((codec for mark, codec in _MARKS if head.startswith(mark)), None)


def exact(codec: str, head: bytes) -> str:
    """The encoding with its byte order said, so that a mark stays in the text as a character and is written back."""
    if codec not in ("utf-16", "utf-32"):
        return codec
    big = head.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    return f"{codec}-{'be' if big else 'le'}"


def decode(chunks: Iterable[bytes], codec: str, name: str) -> Iterator[str]:
    """Text out of bytes, chunk by chunk; a byte order mark stays, as the character that it is.

    Args:
        chunks: the bytes from the beginning of the file.
        codec: as `exact` gives it.
        name: the path, in quotes, for the error.

    Raises:
        ToolError: INVALID_INPUT: bytes that the encoding does not have, with their offset.
    """
    decoder = codecs.getincrementaldecoder(codec)("strict")
    taken = before = 0
    head = b""
    try:
        for chunk in chunks:
            head = head or chunk[:4]
            before = taken - len(decoder.getstate()[0])
            taken += len(chunk)
            yield decoder.decode(chunk)
        before = taken - len(decoder.getstate()[0])
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as problem:
        raise _undecodable(problem, before, codec, name, head) from None


def _undecodable(problem: UnicodeDecodeError, before: int, codec: str, name: str, head: bytes) -> ToolError:
    offset = before + problem.start
    bytes_there = problem.object[problem.start : problem.start + 4].hex(" ")
    mark = marked(head)
    if mark is not None and mark != codec:
        hint = f"it begins with the byte order mark of {mark}: say encoding={mark}"
    else:
        hint = "say the encoding that it is in, such as latin-1 or windows-1252"
    return ToolError(
        ErrorCode.INVALID_INPUT,
        f"{name} is not {codec}: the bytes {bytes_there} at offset {offset} have no meaning in it; {hint}",
        reason="encoding",
        offset=offset,
        encoding=codec,
    )


def is_binary(head: bytes, codec: str) -> bool:
    """Whether the first bytes are not text: they hold a zero byte, which text has in wide encodings alone."""
    return b"\0" in head and not is_wide(codec) and marked(head) in (None, "utf-8")


def media_type(head: bytes) -> str | None:
    """The media type that the first bytes of a file that is not text show, or None."""
    for offset, magic, mime_type in _MAGIC:
        if head.startswith(magic, offset):
            return mime_type
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return next((mime for brand, mime in _BRANDS if head.startswith(brand, 8)), "video/mp4")
    if head[:2] == b"BM" and head[6:10] == bytes(4) and head[14:15] in (b"\x0c", b"\x28", b"\x6c", b"\x7c"):
        return "image/bmp"
    if head[:1] == b"\xff" and head[1:2] in (b"\xfb", b"\xfa", b"\xf3", b"\xf2"):
        return "audio/mpeg"
    if head[:1] == b"\xff" and head[1:2] in (b"\xf1", b"\xf9"):
        return "audio/aac"
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "audio/aiff"
    return None


def looks_like_text(head: bytes) -> bool:
    """Whether the first bytes are plain UTF-8 without control characters: then a magic number is a coincidence."""
    try:
        text = codecs.getincrementaldecoder("utf-8")("strict").decode(head)
    except UnicodeDecodeError:
        return False
    return not any(char < " " and char not in "\t\n\r\f\x1b" for char in text)


_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = (
    (b"avif", "image/avif"),
    (b"heic", "image/heic"),
    (b"heix", "image/heic"),
    (b"mif1", "image/heif"),
    (b"M4A ", "audio/mp4"),
    (b"M4B ", "audio/mp4"),
    (b"qt  ", "video/quicktime"),
)
_MAGIC = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\1\0", "image/x-icon"),
    (0, b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
    (0, b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS\0", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"MThd\0\0\0\6", "audio/midi"),
    (0, b"#!AMR", "audio/amr"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\3\4", "application/zip"),
    (0, b"PK\5\6", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
)
