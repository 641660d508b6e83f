"""Which process of a program (`--processes`) reads for a caller who has no session.

From 2026-07-28 on requests of one client come to any process, and the board knows in the process alone what a caller
was given, from which words may go into no other tool without a question. So all requests that are given something, or
could give it on, are answered in one process, the first that meets its caller; where that is gone, so is what it knew,
and another one takes its place.

Who it is stands in the folder that the processes share, as a link which no file system makes twice: of each caller one,
and one more for each process that is gone. Nothing is ever removed or changed there, so nobody can be late.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = ("tools/call", "resources/read", "prompts/get", "completion/complete")
"""What gives a client something, or could give it on."""
MAX_LINKS = 1_000
"""Processes that were there for one caller, one after the other: then anybody answers."""


class Readers:
    """As one process knows them.

    Args:
        folder: what the processes share.
        own: the name of this one.
        is_there: whether another one is.
    """

    def __init__(self, folder: str, own: str, is_there: Callable[[str], bool]) -> None:
        self._folder = Path(folder)
        self._own = own
        self._is_there = is_there
        self._is_leaving = False

    def leave(self) -> None:
        """Another one takes the place of this one, with another configuration: nobody is sent here any more."""
        self._is_leaving = True
        with contextlib.suppress(OSError):  # the parent is gone, and its folder
            self._left(self._own).touch()

    def find(self, caller: str) -> str:
        """The process that reads for a caller, which may be this one.

        Args:
            caller: who, as a text.
        """
        place = hashlib.sha256(caller.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        name = place
        for _ in range(MAX_LINKS):
            process = self._at(name)
            if process is None or (process == self._own and not self._is_leaving):
                return self._own
            if process != self._own and self._is_there(process) and not self._left(process).exists():
                return process
            name = f"{place}.{process}"
        return self._own

    def _at(self, name: str) -> str | None:
        """Who stands there; who asks first, if nobody does. None: this one is leaving, or nothing can be kept."""
        link = self._folder / f"{name}.reader"
        with contextlib.suppress(FileNotFoundError):
            return str(link.readlink())
        if self._is_leaving:
            return None
        try:
            link.symlink_to(self._own)
        except FileExistsError:
            return str(link.readlink())
        except OSError:
            return None
        return self._own

    def _left(self, process: str) -> Path:
        return self._folder / f"{process}.left"
