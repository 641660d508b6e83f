"""Where the memories are: one SQLite file, and whether it still is the one that was opened.

A file that was removed stays open for whoever has it open; what is written to it then is lost in silence. So each use
compares the file at the path with the one that was opened:

    the same                         it is used
    another one                      a backup was put in its place: it is opened afresh
    none, in the same folder         somebody removed it: that is said once, then a new one begins
    none, and no or another folder   a disk was unmounted, a folder moved: said until it is back; nothing new is begun
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import attrs

from pegboard.config import keep_private, open_private, private_folder
from pegboard.sqlite_files import identity_of
from pegboard_memory._trouble import StorageError

SCHEME = "sqlite:///"
FILE_NAME = "memory.db"
SQLITE_FILES = ("", "-wal", "-shm", "-journal")
"""Ends of the names of a database and of what SQLite puts beside it."""

Identity = tuple[int, int]


def path_of(url: str) -> Path:
    """The file that `sqlite:///memory.db` (relative to the working directory) or `sqlite:////var/memory.db` names.

    Raises:
        ValueError: it names none; the message says what would.
    """
    name = url.removeprefix(SCHEME)
    if not url.startswith(SCHEME) or not name.strip() or name.startswith(":memory:") or set(name) & set("?#\0"):
        raise ValueError(
            "a file of SQLite as in sqlite:///memory.db, without options; "
            "PostgreSQL and other databases have no FTS5, which ranks the memories"
        )
    return Path(name)


@attrs.define(eq=False)
class Place:
    """The file of the memories.

    Args:
        path: the file.
        make_folder: whether its folder may be made: the user's own data folder may, one that somebody named may not.
    """

    path: Path
    make_folder: bool = False
    _file: Identity | None = attrs.field(default=None, init=False)
    _folder: Identity | None = attrs.field(default=None, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def look(self) -> Identity | None:
        """The file that is there now; None where there is none yet.

        Raises:
            StorageError: the file that was there is gone.
        """
        with self._lock:
            now = identity_of(self.path)
            if now is not None:
                self._file, self._folder = now, identity_of(self.path.parent)
            elif self._file is not None:
                if identity_of(self.path.parent) == self._folder:
                    self._file = None
                raise StorageError("gone", "the database is gone", retry="same", retry_after_s=5)
            return now

    def make(self) -> None:
        """Make the file where there is none, readable by its owner alone.

        Raises:
            OSError: it cannot be made.
        """
        if self.make_folder:
            private_folder(self.path.parent)
        os.close(open_private(self.path, os.O_RDWR))

    def keep(self) -> None:
        """Keep the file, and what SQLite puts beside it, to its owner; of a place that somebody named that is said."""
        for end in SQLITE_FILES:
            keep_private(self.path.with_name(self.path.name + end), is_own=self.make_folder)
