"""What `.gitignore` files say, folder by folder, within the root and nowhere above it.

The library `pathspec` says what the lines mean; RE2 matches them, since a `.gitignore` comes from whoever wrote the
folder and must not be able to make a search hang.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from pegboard_files._names import decoded
from pegboard_files._opening import READ

if TYPE_CHECKING:
    from pegboard_files._rules import Parts

FILE = ".gitignore"
MAX_BYTES = 1 << 18
MAX_LINES = 2000
MAX_LINE = 1000


@attrs.define
class Ignored:
    """The `.gitignore` files of a folder and of those above it that a walk has come by."""

    _entered: list[tuple[Parts, Any]] = attrs.field(factory=list)

    def enter(self, folder_fd: int, parts: Parts) -> None:
        """Read what a folder says, and forget what those said that do not lie above it."""
        while self._entered and parts[: len(self._entered[-1][0])] != self._entered[-1][0]:
            self._entered.pop()
        self._entered.append((parts, _read(folder_fd)))

    def knows(self, parts: Parts) -> bool:
        """Whether this folder was entered, and none since that does not lie in it."""
        return any(folder == parts for folder, _ in self._entered)

    def says(self, parts: Parts, is_folder: bool) -> bool:
        """Whether a file or folder is ignored; the nearest file that has an opinion decides."""
        for folder, spec in reversed(self._entered):
            if spec is None or parts[: len(folder)] != folder:
                continue
            path = "/".join(map(decoded, parts[len(folder) :]))
            verdict = spec.check_file(path + "/" if is_folder else path).include
            if verdict is not None:
                return bool(verdict)
        return False


def _read(folder_fd: int) -> Any:
    """The patterns of one folder, or None where there are none."""
    try:
        fd = os.open(FILE, READ | os.O_NOFOLLOW, dir_fd=folder_fd)
    except OSError:
        return None
    try:
        data = os.read(fd, MAX_BYTES)
    except OSError:
        return None
    finally:
        os.close(fd)
    return compile_lines(data.decode("utf-8", "surrogateescape").splitlines()[:MAX_LINES])


def compile_lines(lines: list[str]) -> Any:
    """The patterns of a `.gitignore`; a line that means nothing is passed over, as git does."""
    verdict = [line for line in lines if _may_say_something(line)]
    made = _compiled(verdict)
    if made is None:
        made = _compiled([line for line in verdict if _compiled([line]) is not None])
    return made


def _compiled(lines: list[str]) -> Any:
    import re

    import re2  # type: ignore[import-untyped]  # it has none
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines, backend="re2") if lines else None
    except (ValueError, re.error, re2.error):  # the library tries a line with `re` before RE2 matches it
        return None


# Sets in which Python's `re` sees operations that it may have one day, and warns.
_ODD_SETS = ("[[", "--", "&&", "||", "~~")


def _may_say_something(line: str) -> bool:
    if not line.strip() or line.startswith("#") or len(line) > MAX_LINE or "\0" in line:
        return False
    return "[" not in line or not any(odd in line for odd in _ODD_SETS)
