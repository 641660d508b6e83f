"""What a confined program looked for and did not find, out of a trace of its system calls: what it might be given.

A trace is text that the program itself could have written, so it proves nothing and gives nothing: it is a proposal for
a person to read. What looks like a credential, or like what a shell runs, is named and never proposed.

.. versionadded:: 0.1
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH111, PTH118, PTH120

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import attrs

from pegboard_confine.bubblewrap import SYSTEM, within

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Wanted", "holds_credentials", "is_credential", "trace_words", "wanted_in"]

MAX_LINES = 2_000_000
OF_THE_SYSTEM = (*SYSTEM, "/proc", "/sys", "/dev", "/run", "/var/run", "/etc", "/home/confined")
OF_THE_SANDBOX = "/home/confined/"
"""The home that a confined program is told it has; in it there are nobody's keys."""
MANY = 3
"""From so many files of one folder on the folder is proposed."""
OF_A_HOME = (".ssh", ".aws", ".gnupg", ".kube", ".docker", ".netrc")
"""A folder that has one of these is somebody's home, and is proposed to nobody."""
WIDE = frozenset(
    [
        "/", "/boot", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib", "/var/log",  # noqa: S108
        "/var/tmp",  # noqa: S108
    ]
)  # fmt: skip
"""Whole parts of a system (FHS 3.0): more than one program is for. What lies in `/home` is somebody's."""
_CALL = re.compile(r'(?:\d+ +)?(\w+)\((?:AT_FDCWD, )?"((?:[^"\\]|\\.)*)"(.*)\) += +(-?\d+)(?: (E\w+))?')
_CHANGES = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
_CHANGING = frozenset(
    [
        "chmod", "creat", "fchmodat", "link", "linkat", "mkdir", "mkdirat", "mknod", "rename", "renameat", "renameat2",
        "rmdir", "symlink", "symlinkat", "truncate", "unlink", "unlinkat", "utimensat",
    ]
)  # fmt: skip
_CREDENTIAL = re.compile(
    r"(?i)/\.(?:ssh|aws|azure|kube|docker|gnupg|netrc|npmrc|pypirc|git-credentials|config/gcloud|password-store)\b"
    r"|/\.env\b|/id_(?:rsa|dsa|ecdsa|ed25519)\b|\.(?:pem|p12|pfx|key|kdbx)$|wallet|credential"
    r"|/\.(?:bash|zsh|profile|xinit|login)\w*$|/(?:Cookies|Login Data)$"
)


@attrs.frozen
class Wanted:
    """What a program looked for outside of what it was given, and what is there.

    Args:
        read, write: folders and files that would serve it.
        refused: what looks like a credential, or like what a shell runs; it is not among them.
        wide: what holds far more than one program is for; it is not among them either.

    .. versionadded:: 0.1
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()


def trace_words(strace: str, file: str) -> list[str]:
    """The words before a command that have its system calls written to a file.

    .. versionadded:: 0.1
    """
    return [strace, "-f", "-qq", "-s", "4096", "-e", "trace=%file", "-e", "signal=none", "-o", file, "--"]


def wanted_in(lines: Iterable[str], cwd: str, given: Iterable[str], writable: Iterable[str]) -> Wanted:
    """What a trace shows to be missing.

    Args:
        lines: of the trace.
        cwd: where the program began.
        given: what it sees.
        writable: what of that it may change.

    .. versionadded:: 0.1
    """
    given, writable = (*given, *OF_THE_SYSTEM), tuple(writable)
    home = os.path.expanduser("~")
    read, write, refused, wide = set[str](), set[str](), set[str](), set[str]()
    for _, line in zip(range(MAX_LINES), lines, strict=False):
        found = _CALL.match(line)
        if found is None or found[5] not in ("ENOENT", "EACCES", "EROFS", "EPERM"):
            continue
        path = os.path.normpath(os.path.join(cwd, found[2]))
        changes = found[1] in _CHANGING or _CHANGES.search(found[3]) is not None
        if path.startswith(OF_THE_SANDBOX) and is_credential(path):
            refused.add(f"~/{path.removeprefix(OF_THE_SANDBOX)}")
        if within(path, writable if changes and not within(path, OF_THE_SYSTEM) else given):
            continue
        if within(path, OF_THE_SYSTEM) or path in ("/", home) or within(home, (path,)) or within(cwd, (path,)):
            continue
        there = path if os.path.exists(path) else os.path.dirname(path)  # noqa: PTH110
        if there != path and (not changes or not os.path.isdir(there) or within(home, (there,))):  # noqa: PTH112
            continue
        if is_credential(path) or holds_credentials(there):
            refused.add(path)
        elif _is_wide(there):
            wide.add(there)
        else:
            (write if changes else read).add(there)
    write = _folders(write)
    read = _folders({one for one in read if not within(one, write)})
    return Wanted(*(tuple(sorted(paths)) for paths in (read, write, refused, wide)))


def _is_wide(path: str) -> bool:
    return path in WIDE or os.path.dirname(path) == "/home"


def is_credential(path: str) -> bool:
    """Whether a path looks like one of a credential, or of what a shell runs.

    .. versionadded:: 0.1
    """
    return _CREDENTIAL.search(path) is not None


def holds_credentials(folder: str) -> bool:
    """Whether a folder is somebody's home, as far as what lies in it tells.

    .. versionadded:: 0.1
    """
    return any(os.path.lexists(os.path.join(folder, one)) for one in OF_A_HOME)


def _folders(paths: set[str]) -> set[str]:
    """The fewest paths: many files of one folder become the folder, and what lies in another of them goes."""
    found = set(paths)
    for folder in {os.path.dirname(path) for path in paths}:
        inside = {path for path in found if os.path.dirname(path) == folder}
        if len(inside) >= MANY and not within(os.path.expanduser("~"), (folder,)) and not _is_wide(folder):
            found = found - inside | {folder}
    return {path for path in found if not within(os.path.dirname(path), found)}
