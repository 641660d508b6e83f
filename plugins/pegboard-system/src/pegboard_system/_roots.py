"""Where the paths of the configuration lead: found out once, before the first command runs, and held from then on.

A command may rename what lies in a writable folder, and put a link in its place. A path of the configuration that
leads through such a folder would say something else at the next call. So no path that is allowed or writable may lie
inside of a writable one, and none that is denied may lead through a link there; a denied path itself is kept where it
is by the isolation (`_isolation.mounts`). What is left no command can change. That nobody else did is looked at again
at each call.

They are held by their real paths and not by descriptors: bubblewrap binds what a name says, and a descriptor that it
inherited would be the command's way out.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH111, PTH115, PTH118, PTH120

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

import attrs

from pegboard import ErrorCode, ToolError
from pegboard_confine.bubblewrap import within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_PLACES = 4_000
"""Places on one way: as many as a path can name, through 40 links."""


@attrs.frozen
class Root:
    """A path of the configuration.

    Args:
        setting: which one it stands in.
        said: as it is spelled there.
        real: where it led when it was looked at.
    """

    setting: str
    said: str
    real: str

    @classmethod
    def of(cls, setting: str, said: str) -> Root:
        """Where a path leads now."""
        return cls(setting, said, os.path.realpath(os.path.expanduser(said)))

    def fault(self, writable: Iterable[str]) -> str | None:
        """Why a command could change where it leads, or None.

        Args:
            writable: the folders that commands may write to, as real paths.
        """
        for place, is_link in places_of(os.path.expanduser(self.said)):
            inside = any(place != folder and within(place, (folder,)) for folder in writable)
            if inside and is_link:
                return "leads through a link in a writable path, which a command could change; write where it leads"
            if inside and self.setting != "denied_paths":
                return (
                    "lies inside of a writable path, so a command could put a link in its place; "
                    "remove it: what is writable may be read"
                )
        return None

    @property
    def is_where_it_was(self) -> bool:
        """Whether no part of the real path has become a link."""
        return os.path.realpath(self.real) == self.real


def refuse_moved(roots: Sequence[Root]) -> None:
    """Require that each root still leads where it led.

    Raises:
        ToolError: FORBIDDEN: one does not.
    """
    for root in roots:
        if not root.is_where_it_was:
            raise ToolError(
                ErrorCode.FORBIDDEN,
                f"{root.setting}: {root.said!r} leads elsewhere than when it was first used; start the host again if "
                "that is meant",
                reason="moved", retry="never",
            )  # fmt: skip


def refuse_nested(roots: Sequence[Root], writable: Sequence[str]) -> None:
    """Require that no command can change where a root leads.

    Raises:
        ToolError: FORBIDDEN: one can.
    """
    for root in roots:
        if fault := root.fault(writable):
            raise ToolError(
                ErrorCode.FORBIDDEN, f"{root.setting}: {root.said!r} {fault}", reason="nested", retry="never"
            )


def places_of(path: str) -> Iterator[tuple[str, bool]]:
    """Every place that is looked at when a path is resolved, and whether it is a link: its folders, its links, and the
    folders that those lead through."""
    at, todo = os.getcwd() if not path.startswith("/") else "/", deque(path.split("/"))  # noqa: PTH109
    for _ in range(MAX_PLACES):
        if not todo:
            return
        name = todo.popleft()
        if name in ("", "."):
            continue
        if name == "..":
            at = os.path.dirname(at)
            continue
        place = os.path.join(at, name)
        try:
            target = os.readlink(place)
        except OSError:
            yield place, False
            at = place
            continue
        yield place, True
        at = "/" if target.startswith("/") else at
        todo.extendleft(reversed(target.split("/")))
