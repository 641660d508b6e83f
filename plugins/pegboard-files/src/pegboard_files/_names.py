"""Paths as callers write them: text in, the parts of a path out, before anything is opened.

    path = ["/"] part ("/" part)* ["/"]

A path is POSIX: `/` divides, everything else is part of a name, backslashes, newlines and trailing dots too. `.` and
doubled slashes mean nothing; `..` takes back the part before it, as text, so what a name leads to does not matter here.

Invariants: no part is empty, `.`, `..`, holds `/` or NUL, or is longer than a name of a file can be; a relative path
that would climb above its start is refused, so parts lead down and nowhere else.
"""

from __future__ import annotations

import attrs

from pegboard import ErrorCode, ToolError
from pegboard.text import visible

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
MAX_SHOWN = 60


@attrs.frozen
class Asked:
    """A path that somebody asked for.

    Args:
        text: as they wrote it; the only spelling that an answer repeats.
        parts: the names from the root of the file system where it is absolute, else from the first root of the tools.
        absolute: whether it began with a slash.
        of_folder: whether it ended like the path of a folder.
    """

    text: str
    parts: tuple[str, ...]
    absolute: bool = False
    of_folder: bool = False

    def __str__(self) -> str:
        return shown(self.text)


def shown(text: str) -> str:
    """A text of the caller's in quotes, shortened, with everything escaped that does not print."""
    return repr(text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "...")


def parse(text: str) -> Asked:
    """Read a path.

    Raises:
        ToolError: INVALID_INPUT, it cannot be the path of a file; FORBIDDEN, reason `outside`, it climbs above its
            start.
    """
    if not text:
        raise _wrong("the path is empty; write . for the folder itself")
    if "\0" in text:
        raise _wrong(f"{shown(text)} holds a NUL character, which no path can")
    try:
        length = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise _wrong(f"{shown(text)} holds half of a surrogate pair, which is not a character") from None
    if length > MAX_PATH_BYTES:
        raise _wrong(f"the path has {length} bytes, at most {MAX_PATH_BYTES} can be opened")
    absolute = text.startswith("/")
    parts: list[str] = []
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts and not absolute:
                raise outside(text)
            del parts[-1:]
        elif len(part.encode("utf-8")) > MAX_NAME_BYTES:
            raise _wrong(f"{shown(part)} is longer than a name can be, {MAX_NAME_BYTES} bytes")
        else:
            parts.append(part)
    return Asked(text, tuple(parts), absolute, text.endswith(("/", "/.", "/..")))


def outside(text: str) -> ToolError:
    """The refusal of a path that leaves the folders that the tools were given."""
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"{shown(text)} lies outside of the folders that this tool may use; name a path inside of them",
        reason="outside",
        retry="changed",
    )


def printable(name: str) -> str:
    """A name for a line of text: nothing in it can break the line or hide what stands there."""
    if name.isascii() and name.isprintable():
        return name
    return visible("".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name))


def decoded(name: str) -> str:
    """A name from the disk as text: bytes that are not UTF-8 are shown as `\\xe9`. Such a name cannot be asked for."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return name


def _wrong(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message)
