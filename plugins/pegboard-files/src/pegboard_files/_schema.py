"""What callers give and get beside plain values: the tools' schemas are derived from these classes.

Apart from the code that fills them, so that listing the tools imports only this. The hints are not texts (there is no
`from __future__ import annotations`): a class of them is made in a tenth of the time, at every start.
"""

from typing import Annotated, Literal, NamedTuple, NotRequired, TypedDict


class Edit(NamedTuple):
    """One replacement.

    Args:
        old_text: what is replaced, exactly as it stands in the file, indentation included.
        new_text: what comes in its place.
        replace_all: whether every occurrence is meant; else old_text has to occur exactly once.

    .. versionadded:: 0.1
    """

    old_text: str
    new_text: str
    replace_all: bool = False


Newline = Literal["lf", "crlf", "mixed", "none"]
Engine = Literal["ripgrep", "own"]
_Asked = Annotated[str, "as it was asked for"]
_Relative = Annotated[str, "relative to its root"]
_Truncated = Annotated[bool, "whether there is more than is shown"]


class Entry(TypedDict):
    name: str
    path: _Relative
    type: Literal["file", "directory", "symlink", "other"]
    size: Annotated[int | None, "in bytes; null for folders"]
    modified: Annotated[str | None, "UTC, as in 2026-07-06T14:30:00Z"]


class Read(TypedDict):
    path: _Asked
    size: Annotated[int, "of the whole file, in bytes"]
    mime_type: NotRequired[Annotated[str, "of what is not text"]]
    encoding: NotRequired[str]
    bom: NotRequired[Annotated[bool, "whether the file begins with a byte order mark, which is not shown"]]
    newline: NotRequired[Newline]
    offset: NotRequired[Annotated[int, "lines that were passed over"]]
    lines: NotRequired[Annotated[int, "lines that are shown"]]
    truncated: NotRequired[_Truncated]
    next_offset: NotRequired[Annotated[int | None, "the offset to read on with"]]


class Written(TypedDict):
    path: _Asked
    bytes: int
    created: bool


class Edited(TypedDict):
    path: _Asked
    dry_run: bool
    replacements: int
    changed: bool
    diff: str


class Listed(TypedDict):
    path: _Asked
    entries: list[Entry]
    truncated: _Truncated


class FilesFound(TypedDict):
    path: _Asked
    pattern: str
    matches: list[Entry]
    truncated: _Truncated


class Match(TypedDict):
    path: _Relative
    line: Annotated[int, "counted from 1"]
    text: str
    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class LinesFound(TypedDict):
    path: _Asked
    matches: list[Match]
    files: Annotated[int, "files with a match that is shown"]
    skipped: Annotated[int, "files that were binary, too large or not to be read"]
    truncated: _Truncated
    engine: Engine
