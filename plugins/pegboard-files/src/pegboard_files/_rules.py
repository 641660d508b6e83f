"""Which paths a tool may use: `allowed_paths` and `denied_paths`, compiled and matched. No file is touched here.

An entry names a file, or a folder and everything in it. It is absolute, or counts from a folder: what is allowed from
the first root, what is denied from each root. With `*`, `?` or `**` it is a glob for such paths: `**/.env`.

Secrets by their names (`_secrets`) are denied below every root, whatever is listed.

What is judged is the real path of something that was opened, as parts from the root of the file system. Denied beats
allowed; a path that no entry names is allowed only where nothing is listed as allowed. A denied folder keeps its
identity too (device and inode), so that other spellings of its name, on a file system that folds case, are denied.

Invariants: an entry holds for a path if and only if it holds for the path or for a folder that the path lies in; adding
a denied entry never allows anything, adding an allowed one never denies anything.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

import attrs

from pegboard_files._secrets import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_files._globs import Glob

Parts = tuple[str, ...]
Identity = tuple[int, int]
"""Device and inode."""

KERNEL_FOLDERS = (("proc",), ("sys",), ("dev",))
"""Denied to every tool whose root lies above them: what they hold are not documents."""


@attrs.frozen
class Entry:
    """One line of a list: a folder or file, or a glob of what lies in a folder."""

    parts: Parts
    glob: Glob | None = None

    def holds(self, parts: Parts) -> bool:
        """Whether it names this path or a folder that the path lies in."""
        length = len(self.parts)
        if parts[:length] != self.parts:
            return False
        if self.glob is None:
            return True
        return any(self.glob.matches("/".join(parts[length:end])) for end in range(length + 1, len(parts) + 1))


@attrs.frozen
class Rules:
    """What one tool may use.

    Args:
        allowed: None: everything that is not denied.
        denied: what it may not use, whatever is allowed.
        denied_identities: the folders and files that denied entries name, where they are there.
        secrets_below: folders below which what is a secret by its name is denied.
    """

    allowed: tuple[Entry, ...] | None = None
    denied: tuple[Entry, ...] = ()
    denied_identities: frozenset[Identity] = frozenset()
    secrets_below: tuple[Parts, ...] = ()

    @property
    def denies(self) -> bool:
        """Whether it denies anything."""
        return bool(self.denied or self.secrets_below)

    def refusal(self, parts: Parts) -> str | None:
        """`denied`, `secret`, `not_allowed`, or None where the path may be used."""
        if any(entry.holds(parts) for entry in self.denied):
            return "denied"
        if self._is_secret(parts):
            return "secret"
        if self.allowed is None or any(entry.holds(parts) for entry in self.allowed):
            return None
        return "not_allowed"

    def _is_secret(self, parts: Parts) -> bool:
        """Whether it is one by what it is called below the nearest root: who gives `.ssh` itself as a root means it."""
        above = [len(base) for base in self.secrets_below if parts[: len(base)] == base]
        return bool(above) and is_secret("/".join(parts[max(above) :]))


DENIED = ("denied", "secret")
"""What a refusal says of what may not be used, whatever is allowed."""


def parts_of(path: str) -> Parts:
    """The parts of an absolute path, `.` and `..` resolved as text."""
    return tuple(part for part in posixpath.normpath(path).split("/") if part)


def entries(lines: Iterable[str], bases: Iterable[str]) -> list[Entry]:
    """Compile lines of a list, each relative one for every base. A path that leads through links is meant as it is
    spelled and as it is real.

    Args:
        lines: paths and globs as somebody configured them.
        bases: absolute paths of the folders that relative ones count from.
    """
    made = []
    known = list(bases)
    for line in lines:
        for folder, rest in _split(line, known):
            glob = _glob(rest) if rest else None
            spelled, real = parts_of(folder), parts_of(os.path.realpath(folder))
            made += [Entry(parts, glob) for parts in dict.fromkeys((spelled, real))]
    return made


def is_glob(path: str) -> bool:
    """Whether an entry is a glob."""
    return "*" in path or "?" in path


def _glob(rest: str) -> Glob:
    from pegboard_files._globs import Glob

    return Glob(rest, brackets=False, anchored=True)


def _split(line: str, bases: list[str]) -> Iterable[tuple[str, str]]:
    """The folder that holds everything a line can mean, as an absolute path, and the glob below it, if there is one."""
    names = os.path.expanduser(line).split("/")  # noqa: PTH111 - a text that may hold a glob, no path yet
    first = next((at for at, name in enumerate(names) if is_glob(name)), len(names))
    folder, rest = "/".join(names[:first]), "/".join(names[first:])
    if line.startswith(("/", "~")):
        return [(folder or "/", rest)]
    return [(posixpath.join(base, folder), rest) for base in bases]
