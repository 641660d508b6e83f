"""What is on the board, as an immutable snapshot that is swapped whole.

Readers take `snapshot` once and see one state of the board, without a lock: a tool that is replaced while a call runs
is still the tool that the call was made of. Writers build the next snapshot and swap it in one assignment.
"""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING

import attrs

from pegboard._values import Shown
from pegboard.config._secrets import get_logger
from pegboard.errors import ErrorCode, ToolError
from pegboard.tools import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard.pipeline.plan import PlanEntry
    from pegboard.tools import Tool

log = get_logger("pegboard")

__all__ = ["PAGE", "Page", "Registry", "Snapshot", "page_of", "search"]

PAGE = 100


# Without slots: `functools.cached_property` keeps its value in the instance's `__dict__`.
@attrs.frozen(eq=False, slots=False, repr=False)
class Snapshot(Shown):
    """The board at one moment.

    Args:
        version: grows by one with every change.
        plans: everything that is registered, by name; what is disabled or in conflict is a `Refusal`.
    """

    version: int
    plans: Mapping[str, PlanEntry]

    @functools.cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name."""
        return MappingProxyType({name: entry.tool for name, entry in self.plans.items() if not hasattr(entry, "error")})

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names of these tools, sorted."""
        return tuple(sorted(self.tools))

    @functools.cached_property
    def _reading(self) -> Snapshot:
        left = {name: entry for name, entry in self.plans.items() if not _refuses_read_only(entry)}
        return self if len(left) == len(self.plans) else Snapshot(self.version, left)

    def offered(self, *, read_only: bool) -> Snapshot:
        """What a session is shown of it: in read-only mode, nothing that the mode refuses."""
        return self._reading if read_only else self


def _refuses_read_only(entry: PlanEntry) -> bool:
    return any(guard.refuses_read_only and guard.mode == "enforce" for guard in entry.guards)


class Registry:
    """Holds the snapshot, swaps it, and tells watchers of each swap."""

    def __init__(self) -> None:
        self.snapshot = Snapshot(0, {})
        self._watchers: list[Callable[[Snapshot, Snapshot], None]] = []

    @property
    def plans(self) -> Mapping[str, PlanEntry]:
        """Everything that is registered now."""
        return self.snapshot.plans

    def change(self, *, put: Mapping[str, PlanEntry] | None = None, drop: Iterable[str] = ()) -> None:
        """Remove `drop`, then register `put`, in one swap."""
        plans = dict(self.snapshot.plans)
        for name in drop:
            plans.pop(name, None)
        plans.update(put or {})
        # Copy on write, one assignment: readers take no lock, as in RCU (read-copy-update) of Linux.
        old, self.snapshot = self.snapshot, Snapshot(self.snapshot.version + 1, plans)
        # A copy: a watcher may end its own watch, or begin another, while it is told.
        for watcher in tuple(self._watchers):
            try:
                watcher(old, self.snapshot)
            except KeyboardInterrupt:
                raise
            except BaseException:
                log.exception("a watcher of the board failed")

    def watch(self, watcher: Callable[[Snapshot, Snapshot], None]) -> Callable[[], None]:
        """Call `watcher(old, new)` after every change, in the task that made it; returns what ends the watch."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None


def page_of(tools: Mapping[str, Tool], names: tuple[str, ...], cursor: str | None, limit: int = PAGE) -> Page:
    """The tools after the cursor, at most `limit`.

    The cursor holds the last name that was seen, so it stays valid while tools come and go: none that stays is shown
    twice or left out.

    Raises:
        ToolError: INVALID_INPUT: the cursor is not one of ours.
    """
    import bisect

    start = 0 if cursor is None else bisect.bisect_right(names, _name_of(cursor))
    shown = names[start : start + max(1, limit)]
    more = start + len(shown) < len(names)
    return Page(tuple(tools[name] for name in shown), _cursor_of(shown[-1]) if more else None)


def _cursor_of(name: str) -> str:
    import base64

    # Opaque, as MCP wants cursors (server utilities, pagination), so that nobody builds one; `1:` is its form, so that
    # there can be another.
    return base64.urlsafe_b64encode(b"1:" + name.encode("utf-8")).decode("ascii")


def _name_of(cursor: str) -> str:
    import base64

    try:
        version, _, name = base64.urlsafe_b64decode(cursor.encode("ascii")).decode("utf-8").partition(":")
    except ValueError:  # no ASCII, no base64, no UTF-8
        version, name = "", ""
    if version != "1" or not name:
        raise ToolError(ErrorCode.INVALID_INPUT, "the cursor is not one of this board; start again without one")
    return name


def search(
    tools: Iterable[Tool], text: str | None = None, *, category: str | None = None, tag: str | None = None
) -> list[Tool]:
    """Tools whose name, title, description, category or tags hold every word of `text`, the best match first.

    A word in the name counts more than one in the tags, and that more than one in the description; ties go by name.
    """
    words = (text or "").casefold().split()
    found: list[tuple[int, str, Tool]] = []
    for tool in tools:
        if (category is not None and tool.category != category) or (tag is not None and tag not in tool.tags):
            continue
        weights = [_weight(tool, word) for word in words]
        if all(weights):
            found.append((-sum(weights), tool.name, tool))
    return [tool for _, _, tool in sorted(found, key=lambda row: row[:2])]


def _weight(tool: Tool, word: str) -> int:
    name = tool.name.casefold()
    if word == name:
        return 16
    if word in name:
        return 8
    if word in (tool.title or "").casefold() or any(word in tag.casefold() for tag in (*tool.tags, tool.category)):
        return 4
    return 1 if word in tool.description.casefold() else 0
