"""A file that a person gives with a question, as a block of it: at the terminal and on the page Chat alike. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import ConfigError

if TYPE_CHECKING:
    from pegboard import Content

MAX_ATTACHED_BYTES = 4 * 1024 * 1024
"""The largest file."""


def block_of(name: str, data: bytes, *, what: str | None = None) -> Content:
    """A file as a block of a question, by what its name says it is.

    Args:
        name: of the file, without its folder.
        data: what is in it.
        what: the file as the person named it, for what is said of a bad one; None: as `name`.

    Raises:
        ConfigError: it is a text that is not UTF-8.
    """
    import mimetypes

    from pegboard import AudioContent, BinaryContent, ImageContent, TextContent

    kind = mimetypes.guess_type(name)[0] or ""
    if kind.startswith("image/") and kind != "image/svg+xml":
        return ImageContent(data, kind)
    if kind.startswith("audio/"):
        return AudioContent(data, kind)
    try:
        return TextContent(f"{name}:\n\n{data.decode('utf-8')}\n")
    except UnicodeDecodeError:
        if kind.startswith("text/"):
            utf8_text(data, name if what is None else what)  # which says where
        return BinaryContent(data=data, mime_type=kind or "application/octet-stream", name=name)


def utf8_text(data: bytes, what: str) -> str:
    """The text of bytes that a person gave: none of it is guessed.

    Raises:
        ConfigError: it is not UTF-8; the error says where.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
        place = f"line {line}, column {column}: the byte 0x{data[problem.start]:02x}"
    raise ConfigError(f"{what} is not UTF-8 at {place}", hint="save it as UTF-8, as iconv -t UTF-8 does")
