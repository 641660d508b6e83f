"""Files and folders that are their owner's alone: 0600 and 0700, whatever the umask says, whatever they were before.

What is written for a person, in the configuration's folders or where they said, holds what they asked and what came
back. A file that is there already with a wider mode is narrowed; where that cannot be done, because it is somebody
else's, it is said. Devices and pipes are left as they are.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE = 0o600
FOLDER = 0o700
OTHERS = 0o077


def private_folder(folder: Path) -> Path:
    """Make a folder of our own, and those above it that are missing; one that is there is narrowed.

    Raises:
        OSError: it cannot be made.

    .. versionadded:: 0.1
    """
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        with contextlib.suppress(FileExistsError):  # somebody was quicker
            missing.mkdir(FOLDER)
            missing.chmod(FOLDER)
    if os.name == "posix":
        _narrow(folder, folder.stat(), FOLDER)
    return folder


def open_private(path: Path, flags: int) -> int:
    """A descriptor of a file, made where it is missing: `os.open` with a mode that holds.

    Raises:
        OSError: it cannot be opened.

    .. versionadded:: 0.1
    """
    number = os.open(path, flags | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE)
    if os.name == "posix":
        _narrow(path, os.fstat(number), FILE, number)
    return number


def write_private(path: Path, content: bytes) -> None:
    """Put the content in the place of a file that is its owner's alone, whole or not at all.

    Raises:
        OSError: it cannot be written; it is as it was.

    .. versionadded:: 0.1
    """
    replace_file(path, content, FILE)


def replace_file(path: Path, content: bytes, mode: int | None = None) -> None:
    """Put the content in the place of a file, whole or not at all.

    Args:
        path: the file; a link is replaced, not what it leads to.
        content: what it is to hold.
        mode: its rights; None: those that the system gives to a new file.

    Raises:
        OSError: it cannot be written; it is as it was.

    .. versionadded:: 0.1
    """
    import tempfile

    mode = 0o666 & ~_umask() if mode is None else mode

    number, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")  # a name that nobody can know
    try:
        with os.fdopen(number, "wb") as file:
            if os.name == "posix":
                os.fchmod(number, mode)
            file.write(content)
            file.flush()
            os.fsync(number)
        os.replace(made, path)  # noqa: PTH105 - of two names
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)  # noqa: PTH108 - as above
        raise


def _umask() -> int:
    mask = os.umask(OTHERS)  # for a moment; what another thread makes then is private
    os.umask(mask)
    return mask


def keep_private(path: Path, *, is_own: bool) -> None:
    """Narrow a file that is there; one that is not our own, since a person may share it, is only spoken of.

    .. versionadded:: 0.1
    """
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        found = path.stat()
        if is_own:
            _narrow(path, found, FILE)
        elif stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS:
            _say(path, FILE)


def _narrow(path: Path, found: os.stat_result, mode: int, number: int | None = None) -> None:
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)) or not found.st_mode & OTHERS:
        return
    try:
        os.chmod(path if number is None else number, mode)  # noqa: PTH101 - of a descriptor
    except OSError:
        _say(path, mode)


def _say(path: Path, mode: int) -> None:
    import logging

    logging.getLogger("pegboard.notice").warning(
        "others on this machine can read %s; its owner may say: chmod %o '%s'", path, mode, path
    )
