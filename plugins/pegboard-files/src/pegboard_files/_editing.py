"""Exact replacement in a text, and what changed as a unified diff.

Edits are applied one after the other, each on what those before it made. A text to be replaced has to occur exactly
once, or as often as it likes where all are meant; else nothing is changed, and the answer says where it occurs or what
comes near. In a text whose lines all end with "\\r\\n", a "\\n" of an edit means that too.

What hides in a text (`pegboard.text`) is not shown by `read_file`, so an edit that does not name it finds its place all
the same: it goes where the text around it is replaced, and stays everywhere else.

Invariants: `apply` changes nothing but what edits name; what it does not replace stays byte for byte.
"""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard.text import clean
from pegboard_files import _codecs as codecs
from pegboard_files import _faults as faults
from pegboard_files._opening import READ, Opened
from pegboard_files._reading import read_whole
from pegboard_files._writing import place_of, replace, still_there

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard_files._names import Asked
    from pegboard_files._places import Scope
    from pegboard_files._schema import Edit
    from pegboard_files._writing import Place

MAX_DIFF_LINES = 4000
"""Where more lines lie between the first and the last change, they are shown as one: comparing them takes too long."""
_CONTEXT = 3
_MAX_PLACES = 5
_BREAKS = "\x0b\x0c\x85\u2028\u2029"
"""What is shown as a line feed."""


def apply(text: str, edits: Sequence[Edit]) -> tuple[str, int]:
    """The text with every edit made, and how many places were replaced.

    Raises:
        ToolError: INVALID_INPUT: a text occurs not at all, or more than once; `details["edit"]` counts from 0.
    """
    is_crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    made = 0
    for number, edit in enumerate(edits):
        old, new = edit.old_text, edit.new_text
        if not old:
            raise _wrong(number, "old_text is empty; write what is to be replaced, or use write_file for a new file")
        if is_crlf and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        count = text.count(old)
        if count == 0 and (spans := _places_as_shown(text, old)):
            if len(spans) > 1 and not edit.replace_all:
                raise _wrong(
                    number, f"old_text occurs {len(spans)} times; write more of it, or replace_all=true",
                    occurrences=len(spans),
                )  # fmt: skip
            for start, end in reversed(spans):
                text = text[:start] + new + text[end:]
            made += len(spans)
            continue
        if count == 0:
            raise _wrong(number, f"old_text does not occur{_near(text, edit.old_text)}", occurrences=0)
        if not edit.replace_all and _occurs_again(text, old):
            places = ", ".join(map(str, _lines_of(text, old)))
            more = ", ..." if count > _MAX_PLACES else ""
            advice = "write more of what stands around it, or replace_all=true"
            raise _wrong(
                number, f"old_text occurs {max(count, 2)} times, in lines {places}{more}; {advice}", occurrences=count
            )
        text = text.replace(old, new)
        made += count
    return text, made


def _places_as_shown(text: str, old: str) -> list[tuple[int, int]]:
    """Where `old` stands in a text in which something hides, as it is shown: from and to, the hidden included.

    Nowhere in a text with carriage returns of their own, which are not line ends to an editor of lines.
    """
    shown, hidden = clean(text)
    if not hidden or old not in shown or text.count("\r") != text.count("\r\n"):
        return []
    origin: list[int] = []
    at = 0  # where each shown character stands in the text
    for character in shown:
        while text[at] != character and not (character == "\n" and text[at] in _BREAKS):
            at += 1
        origin.append(at)
        at += 1
    places: list[tuple[int, int]] = []
    found = shown.find(old)
    while found >= 0:
        places.append((origin[found], origin[found + len(old) - 1] + 1))
        found = shown.find(old, found + len(old))
    return places if all(clean(text[start:end])[0] == old for start, end in places) else []


def _occurs_again(text: str, old: str) -> bool:
    """Whether a second occurrence begins anywhere behind the first, one that overlaps it included."""
    return text.find(old, text.find(old) + 1) >= 0


def _lines_of(text: str, old: str) -> list[int]:
    places: list[int] = []
    at = text.find(old)
    while at >= 0 and len(places) < _MAX_PLACES:
        places.append(text.count("\n", 0, at) + 1)
        at = text.find(old, at + 1)
    return places


def _near(text: str, old: str) -> str:
    """Where the first line of `old` stands but for its spaces, as a hint."""
    wanted = next((line.split() for line in old.splitlines() if line.strip()), None)
    if wanted is None:
        return ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.split() == wanted:
            return f"; line {number} is like its first line, and what follows or the spaces differ: read the file again"
    return "; read the file again, it may have changed"


def _wrong(number: int, why: str, **details: Any) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, f"edits[{number}]: {why}; nothing was changed", edit=number, **details)


def unified(before: str, after: str, path: str) -> str:
    """What changed, as a unified diff; empty where nothing did."""
    old, new = _split(before), _split(after)
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    if first == len(old) == len(new):
        return ""
    if len(old) + len(new) - 2 * (first + last) > MAX_DIFF_LINES:
        lines = _one_hunk(old, new, first, last, path)
    else:
        # Only what lies between the first and the last change is compared; the numbers are repaired afterwards.
        start = max(0, first - _CONTEXT)
        end = max(0, last - _CONTEXT)
        lines = list(
            difflib.unified_diff(
                old[start : len(old) - end], new[start : len(new) - end], f"a/{path}", f"b/{path}", n=_CONTEXT
            )
        )
        lines = [_moved(line, start) if at > 1 and line.startswith("@@") else line for at, line in enumerate(lines)]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _split(text: str) -> list[str]:
    """Lines with their ends; only "\\n" ends one, as in every diff."""
    lines = text.split("\n")
    return [*(line + "\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]


def _one_hunk(old: list[str], new: list[str], first: int, last: int, path: str) -> list[str]:
    start, end = max(0, first - _CONTEXT), max(0, last - _CONTEXT)
    counts = len(old) - end - start, len(new) - end - start
    return [
        f"--- a/{path}\n",
        f"+++ b/{path}\n",
        f"@@ -{start + 1 if counts[0] else start},{counts[0]} +{start + 1 if counts[1] else start},{counts[1]} @@\n",
        *(f" {line}" for line in old[start:first]),
        *(f"-{line}" for line in old[first : len(old) - last]),
        *(f"+{line}" for line in new[first : len(new) - last]),
        *(f" {line}" for line in old[len(old) - last : len(old) - end]),
    ]


def _moved(header: str, by: int) -> str:
    """The header of a hunk, `by` lines further down; a content line begins with another sign."""
    _, old, new, _ = header.split(" ", 3)
    return f"@@ {_shifted(old, by)} {_shifted(new, by)} @@\n"


def _shifted(place: str, by: int) -> str:
    line, comma, count = place[1:].partition(",")
    return f"{place[0]}{int(line) + by}{comma}{count}"


def edit_file(
    scope: Scope,
    asked: Asked,
    edits: Sequence[Edit],
    codec: str,
    dry_run: bool,
    most: int,
    check: Callable[[], None],
) -> ToolResult:
    """Apply edits to a file, or show what they would change. Blocks.

    Raises:
        ToolError: it may not or could not be edited; the old content is there.
    """
    if not scope.writable and not dry_run:
        raise faults.no_write(scope.tool)
    if dry_run:
        _, opened = scope.open_file(asked)
        with opened:
            edited = _edited(opened, asked, edits, codec, most, check)
    else:
        with place_of(scope, asked, check=check) as place:
            with _open_again(asked, place) as opened:
                edited = _edited(opened, asked, edits, codec, most, check)
                current = attrs.evolve(place, before=opened.stat)
            if edited.changed:
                replace(current, edited.data, check, lambda: _still_right(scope, asked, current, edited.was))
    diff = unified(edited.before, edited.after, asked.text.lstrip("/"))
    return ToolResult.text(
        diff or f"{asked} is as it was: the edits change nothing",
        data={
            "path": asked.text,
            "dry_run": dry_run,
            "replacements": edited.replacements,
            "changed": edited.changed,
            "diff": diff,
        },
    )


@attrs.frozen
class _Edited:
    """A text before and after, and the bytes that it was and becomes."""

    before: str
    after: str
    was: bytes
    data: bytes
    replacements: int

    @property
    def changed(self) -> bool:
        return self.before != self.after


def _edited(
    opened: Opened, asked: Asked, edits: Sequence[Edit], codec: str, most: int, check: Callable[[], None]
) -> _Edited:
    try:
        data = read_whole(opened, asked, most, check)
    except OSError as problem:
        raise faults.answer_of(problem, asked) from problem
    if codecs.is_binary(data[: codecs.HEAD], codec):
        message = f"{asked} is not text but binary; it cannot be edited"
        raise ToolError(ErrorCode.INVALID_INPUT, message, reason="binary")
    exact = codecs.exact(codec, data[:4])
    before = "".join(codecs.decode([data], exact, str(asked)))
    if before.encode(exact) != data:
        message = f"{asked} cannot be edited as {codec}: it spells its text in a way that would not be kept"
        raise ToolError(ErrorCode.INVALID_INPUT, message, reason="encoding")
    after, made = apply(before, edits)
    try:
        changed = after.encode(exact)
    except UnicodeEncodeError as problem:
        char = ascii(problem.object[problem.start])
        message = f"the new text holds {char}, which {codec} does not have; nothing was changed"
        raise ToolError(ErrorCode.INVALID_INPUT, message, reason="encoding") from None
    if len(changed) > most:
        raise faults.too_large(asked, len(changed), most, "nothing was changed")
    return _Edited(before, after, data, changed, made)


def _open_again(asked: Asked, place: Place) -> Opened:
    """Open the file that stands in a place, and nothing that came in its stead."""
    fd = os.open(place.name, READ | os.O_NOFOLLOW, dir_fd=place.folder.fd)
    opened = Opened(fd, (*place.folder.parts, place.name))
    if not opened.is_file:
        opened.close()
        raise faults.not_regular(asked)
    return opened


def _still_right(scope: Scope, asked: Asked, place: Place, was: bytes) -> None:
    """Require that the file is the one that was read, and unchanged: its bytes too, since clocks of files are
    coarse.
    """
    still_there(scope, asked, place)
    before = place.before
    assert before is not None
    now = os.stat(place.name, dir_fd=place.folder.fd, follow_symlinks=False)
    same = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    if any(getattr(now, name) != getattr(before, name) for name in same) or not _holds(place, was):
        message = f"{asked} was changed by somebody else meanwhile; nothing was written, read it again"
        raise ToolError(ErrorCode.CONFLICT, message, reason="changed", retry="changed")


def _holds(place: Place, data: bytes) -> bool:
    fd = os.open(place.name, READ | os.O_NOFOLLOW, dir_fd=place.folder.fd)
    with open(fd, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        return file.read(len(data) + 1) == data
