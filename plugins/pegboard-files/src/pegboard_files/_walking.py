"""Walking a folder: from descriptor to descriptor, through no link, within a budget.

A folder is opened by its one name in the descriptor of the folder above, with O_NOFOLLOW: whatever is renamed,
a walk stays beneath where it began. Names come in the order of their characters, a folder before what it holds.
"""

from __future__ import annotations

import os
import stat
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ToolResult
from pegboard.limits import FOLDER_LEVELS
from pegboard_files._names import decoded, printable
from pegboard_files._opening import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard_files._globs import Glob
    from pegboard_files._names import Asked
    from pegboard_files._places import Root, Scope
    from pegboard_files._rules import Parts

_CHECK_EVERY = 64
_REPORT_EVERY_S = 0.25


class Budget:
    """What a long work may use, and what it says meanwhile.

    Args:
        entries: how many files and folders it may look at.
        until: when it has to end, in seconds of the monotonic clock.
        check: raises where nobody waits any more.
        report: tells the caller how many were looked at.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        entries: int,
        until: float,
        check: Callable[[], None],
        report: Callable[[int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.left = entries
        self.seen = 0
        self.exhausted = False
        self._until = until
        self._check = check
        self._report = report
        self._clock = clock
        self._report_at = clock() + _REPORT_EVERY_S

    def spend(self) -> bool:
        """Count one more; False where the budget is used up, or the time."""
        self.left -= 1
        self.seen += 1
        if self.left < 0:
            self.exhausted = True
        elif self.seen % _CHECK_EVERY == 0:
            self.pause()
        return not self.exhausted

    def pause(self) -> None:
        """Look at the clock, and whether somebody still waits."""
        self._check()
        now = self._clock()
        if now >= self._until:
            self.exhausted = True
        if now >= self._report_at:
            self._report_at = now + _REPORT_EVERY_S
            self._report(self.seen)


@attrs.frozen
class Found:
    """One file, folder or other thing that a walk came by.

    Args:
        name: its name as it stands on the disk.
        parts: its place beneath the root.
        stat: of itself; of a link, not of what it leads to.
        folder_fd: the folder that holds it; open until the walk goes on.
    """

    name: str
    parts: Parts
    stat: os.stat_result
    folder_fd: int

    @property
    def kind(self) -> str:
        """`file`, `directory`, `symlink` or `other`."""
        mode = self.stat.st_mode
        if stat.S_ISREG(mode):
            return "file"
        if stat.S_ISDIR(mode):
            return "directory"
        return "symlink" if stat.S_ISLNK(mode) else "other"

    @property
    def path(self) -> str:
        """Its place beneath the root, as text."""
        return "/".join(map(decoded, self.parts))

    def to_json(self) -> dict[str, Any]:
        """One entry of a listing."""
        kind = self.kind
        return {
            "name": decoded(self.name),
            "path": self.path,
            "type": kind,
            "size": None if kind == "directory" else self.stat.st_size,
            "modified": _moment(self.stat.st_mtime),
        }


@attrs.define
class _Level:
    """A folder that is being walked."""

    fd: int
    parts: Parts
    names: Iterator[str]


def walk(
    scope: Scope,
    root: Root,
    folder_fd: int,
    parts: Parts,
    budget: Budget,
    *,
    recursive: bool = True,
    enter: Callable[[Found], bool] = lambda found: True,
    entered: Callable[[int, Parts], None] = lambda fd, parts: None,
) -> Iterator[Found]:
    """Everything in a folder that the scope lets be seen, and in the folders below it.

    What vanishes meanwhile, and folders that may not be listed, are passed over.

    Args:
        scope: what the tool may use.
        root: the root that the folder lies in.
        folder_fd: the folder; it stays open.
        parts: its place beneath the root.
        budget: ends the walk.
        recursive: whether folders are gone into.
        enter: whether to go into a folder.
        entered: hears of each folder whose content follows.
    """
    levels = [_Level(os.dup(folder_fd), parts, _names(folder_fd, budget))]
    entered(folder_fd, parts)
    try:
        while levels:
            level = levels[-1]
            name = next(level.names, None)
            if name is None:
                os.close(levels.pop().fd)
                continue
            found = _look(scope, root, level, name)
            if found is None:
                continue
            if not budget.spend():
                return
            yield found
            if recursive and found.kind == "directory" and enter(found):
                if len(levels) >= FOLDER_LEVELS:
                    budget.exhausted = True
                    continue
                _descend(levels, found, budget, entered)
    finally:
        for level in levels:
            os.close(level.fd)


def _descend(levels: list[_Level], found: Found, budget: Budget, entered: Callable[[int, Parts], None]) -> None:
    try:
        fd = os.open(found.name, FOLDER | os.O_NOFOLLOW, dir_fd=found.folder_fd)
    except OSError:
        return
    try:
        opened = os.fstat(fd)
        if (opened.st_dev, opened.st_ino) != (found.stat.st_dev, found.stat.st_ino):  # what was judged is gone
            os.close(fd)
            return
        levels.append(_Level(fd, found.parts, _names(fd, budget)))
    except OSError:
        os.close(fd)
        return
    entered(fd, found.parts)


def _look(scope: Scope, root: Root, level: _Level, name: str) -> Found | None:
    try:
        seen = os.stat(name, dir_fd=level.fd, follow_symlinks=False)
    except OSError:
        return None
    parts = (*level.parts, name)
    return Found(name, parts, seen, level.fd) if scope.may_show(root, parts, seen) else None


def _names(folder_fd: int, budget: Budget) -> Iterator[str]:
    """The names in a folder, in order; no more of them than the budget could look at."""
    names: list[str] = []
    with os.scandir(folder_fd) as entries:
        for entry in entries:
            if len(names) > budget.left:
                budget.exhausted = True
                break
            names.append(entry.name)
            if len(names) % 1000 == 0:
                budget.pause()
    return iter(sorted(names))


def list_folder(scope: Scope, asked: Asked, recursive: bool, most: int, budget: Budget) -> ToolResult:
    """What a folder holds. Blocks.

    Args:
        scope: what the tool may use.
        asked: the folder.
        recursive: whether what its folders hold is listed too.
        most: how many entries are shown.
        budget: what the walk may use.

    Raises:
        ToolError: it cannot be opened, or is not a folder.
    """
    shown, more = _collect(scope, asked, most, budget, recursive=recursive, wanted=lambda path: True)
    data = {"path": asked.text, "entries": [found.to_json() for found in shown], "truncated": more}
    head = f"{asked} holds {_count(len(shown), 'entry', 'entries')}"
    return _lines(head, shown, more, data)


def search_names(scope: Scope, asked: Asked, pattern: str, glob: Glob, most: int, budget: Budget) -> ToolResult:
    """Files and folders whose path fits a glob. Blocks.

    Args:
        scope: what the tool may use.
        asked: the folder that is searched.
        pattern: the glob, as it was written.
        glob: the same, compiled.
        most: how many matches are shown.
        budget: what the walk may use.

    Raises:
        ToolError: the folder cannot be opened, or is not a folder.
    """
    shown, more = _collect(scope, asked, most, budget, recursive=True, wanted=glob.matches)
    data = {"path": asked.text, "pattern": pattern, "matches": [found.to_json() for found in shown], "truncated": more}
    return _lines(f"Found {_count(len(shown), 'match', 'matches')}", shown, more, data)


def _collect(
    scope: Scope, asked: Asked, most: int, budget: Budget, *, recursive: bool, wanted: Callable[[str], bool]
) -> tuple[list[Found], bool]:
    root, opened = scope.open_folder(asked)
    shown: list[Found] = []
    with opened:
        start = len(opened.parts)
        for found in walk(scope, root, opened.fd, opened.parts, budget, recursive=recursive):
            if not wanted("/".join(map(decoded, found.parts[start:]))):
                continue
            if len(shown) >= most:
                return shown, True
            shown.append(found)
    return shown, budget.exhausted


def _lines(head: str, shown: list[Found], more: bool, data: dict[str, Any]) -> ToolResult:
    lines = [f"{head}{':' if shown else ''}"]
    for found in shown:
        path = printable(found.path)
        if found.kind == "directory":
            lines.append(f"{path}/")
        elif found.kind == "file":
            lines.append(f"{path}  {found.stat.st_size} bytes")
        else:
            lines.append(f"{path}  ({found.kind})")
    if more:
        lines.append("[truncated: there is more; name a folder below it, or a narrower pattern]")
    return ToolResult.text("\n".join(lines), data=data)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _moment(seconds: float) -> str | None:
    """A time of the disk in UTC; None where it lies outside of the calendar."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None
