"""Reading one file: text by lines, images and sound as what they are, other bytes as a resource.

Lines end with "\\n" (so "\\r\\n" stays in its line, and a lone "\\r" ends none); what is shown is exactly what stands
in the file. A byte order mark at its beginning is not shown, and told of in the data.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import attrs

from pegboard import AudioContent, BinaryContent, ErrorCode, ImageContent, TextContent, ToolError, ToolResult
from pegboard_files import _codecs as codecs
from pegboard_files import _faults as faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard_files._names import Asked
    from pegboard_files._opening import Opened
    from pegboard_files._places import Scope

CHUNK = 1 << 16


@attrs.frozen
class Caps:
    """How much of a file one call takes, in bytes: shown as text, looked through for lines, handed on as it is."""

    text: int
    scan: int
    binary: int


def read(
    scope: Scope,
    asked: Asked,
    codec: str,
    offset: int,
    limit: int | None,
    caps: Caps,
    check: Callable[[], None],
) -> ToolResult:
    """Read a file, or some lines of it. Blocks.

    Args:
        scope: what the tool may use.
        asked: the path.
        codec: as `find_codec` gives it.
        offset: lines to pass over.
        limit: lines to show; None: as many as the caps let through.
        caps: how much of it.
        check: raises where nobody waits any more.

    Raises:
        ToolError: it cannot be opened, is not text in this encoding, or is larger than the caps.
    """
    _, opened = scope.open_file(asked)
    with opened:
        try:
            head = os.pread(opened.fd, codecs.HEAD, 0)
            mime_type = None if codecs.looks_like_text(head) else codecs.media_type(head)
            if mime_type is None and head.startswith(b"%PDF-"):
                mime_type = "application/pdf"
            if mime_type is not None or codecs.is_binary(head, codec):
                return _read_bytes(opened, asked, mime_type or "application/octet-stream", caps.binary, check)
            window = _window(_decoded(opened, asked, codec, caps.scan, check), offset, limit, caps.text)
        except OSError as problem:
            raise faults.answer_of(problem, asked) from problem
        return _shown(window, opened, asked, codec, offset, codecs.marked(head))


def read_whole(opened: Opened, asked: Asked, most: int, check: Callable[[], None]) -> bytes:
    """All bytes of an open file.

    Raises:
        ToolError: INVALID_INPUT, reason `too_large`: there are more than `most`.
        OSError: as `read` would.
    """
    size = opened.stat.st_size
    if size <= most:
        pieces = []
        at = 0
        while piece := os.pread(opened.fd, CHUNK, at):
            pieces.append(piece)
            at += len(piece)
            if at > most:  # it grows while it is read
                break
            check()
        if at <= most:
            return b"".join(pieces)
        size = at
    raise faults.too_large(asked, size, most, "the setting that raises it is under [plugins.files]")


def _read_bytes(opened: Opened, asked: Asked, mime_type: str, most: int, check: Callable[[], None]) -> ToolResult:
    data = read_whole(opened, asked, most, check)
    block: ImageContent | AudioContent | BinaryContent
    if mime_type.startswith("image/"):
        block = ImageContent(data, mime_type)
    elif mime_type.startswith("audio/"):
        block = AudioContent(data, mime_type)
    else:
        name = opened.parts[-1] if opened.parts else asked.text
        block = BinaryContent(data, mime_type, f"files:{quote(asked.text)}", name)
    return ToolResult((block,), {"path": asked.text, "size": len(data), "mime_type": mime_type})


def _decoded(opened: Opened, asked: Asked, codec: str, most: int, check: Callable[[], None]) -> Iterator[str]:
    """The text of a file, chunk by chunk, without the byte order mark."""

    def chunks() -> Iterator[bytes]:
        at = 0
        while piece := os.pread(opened.fd, CHUNK, at):
            at += len(piece)
            if at > most:
                message = f"{asked}: these lines lie behind its first {most} bytes, which is as far as one call reads"
                raise ToolError(ErrorCode.INVALID_INPUT, message, reason="too_large", max_bytes=most)
            check()
            yield piece

    first = True
    head = os.pread(opened.fd, 4, 0)
    for text in codecs.decode(chunks(), codecs.exact(codec, head), str(asked)):
        if text:
            yield text.removeprefix(codecs.MARK) if first else text
            first = False


@attrs.define
class _Window:
    """The lines that are shown."""

    pieces: list[str] = attrs.field(factory=list)
    lines: int = 0
    passed: int = 0
    more: bool = False
    cut_in_line: bool = False


def _window(texts: Iterator[str], offset: int, limit: int | None, most: int) -> _Window:
    """Pass over `offset` lines and take up to `limit` of those that follow, at most `most` bytes of UTF-8.

    A line that does not fit ends the window before it; one that does not fit alone is cut.
    """
    window = _Window()
    line: list[str] = []
    room = most  # what the lines may still take
    unended = False
    for text in texts:
        at = 0
        while at < len(text):
            end = text.find("\n", at) + 1
            piece = text[at : end or len(text)]
            at += len(piece)
            if window.passed < offset:
                window.passed += bool(end)
                unended = not end
                continue
            if limit is not None and window.lines >= limit:
                window.more = True
                return window
            size = len(piece.encode("utf-8", "surrogatepass"))
            if size > room:
                window.more = True
                if not window.lines:
                    window.pieces = [*line, _fitting(piece, room)]
                    window.lines, window.cut_in_line = 1, True
                return window
            room -= size
            line.append(piece)
            if end:
                window.pieces += line
                window.lines += 1
                line = []
    if line:
        window.pieces += line
        window.lines += 1
    elif window.passed < offset:
        window.passed += unended
    return window


def _fitting(text: str, size: int) -> str:
    return text.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")


def _shown(window: _Window, opened: Opened, asked: Asked, codec: str, offset: int, mark: str | None) -> ToolResult:
    text = "".join(window.pieces)
    if window.passed < offset:
        message = f"offset: {asked} has only {window.passed} lines, {offset} were to be passed over"
        raise ToolError(ErrorCode.INVALID_INPUT, message, parameter="offset", lines=window.passed)
    data: dict[str, Any] = {
        "path": asked.text,
        "size": opened.stat.st_size,
        "encoding": codec,
        "bom": mark is not None and mark == codec.removesuffix("-le").removesuffix("-be"),
        "newline": _newline(text),
        "offset": offset,
        "lines": window.lines,
        "truncated": window.more,
        "next_offset": offset + window.lines if window.more else None,
    }
    content = [TextContent(text)]
    if window.more:
        content.append(TextContent(_note(window, offset)))
    return ToolResult(tuple(content), data)


def _note(window: _Window, offset: int) -> str:
    following = offset + window.lines
    if window.cut_in_line:
        return (
            f"[truncated within line {following}, which is too long to show; the lines behind it: offset={following}]"
        )
    return f"[lines {offset + 1} to {following}; there is more: read on with offset={following}]"


def _newline(text: str) -> str:
    """How the lines that are shown end: lf, crlf, mixed, or none where there is only one."""
    crlf, lf = text.count("\r\n"), text.count("\n")
    if not lf:
        return "none"
    return "crlf" if crlf == lf else "mixed" if crlf else "lf"
