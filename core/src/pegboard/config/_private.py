"""Files and folders that are their owner's alone: 0600 and 0700, whatever the umask says.

What is written for a person, in the configuration's folders or where they said, holds what they asked and what came
back. A file of ours that is there already with a wider mode is narrowed. One that somebody named may be anything, and
others may need it: root who names `/etc/passwd` as a database must not lock everybody out of it. So it is narrowed
where it is empty, or known to be ours by what is in it; else it is said. Devices and pipes are left as they are.

And files that cannot be written: whether one could be, without trying, and what a person does where it could not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE = 0o600
FOLDER = 0o700
OTHERS = 0o077


def private_folder(folder: Path, *, is_own: bool = True) -> Path:
    """Make a folder of our own, and those above it that are missing; one that is there is narrowed.

    Args:
        folder: which.
        is_own: whether one that is there is ours; one that somebody named may be `.` or `/tmp`, and stays as it is.

    Raises:
        OSError: it cannot be made.

    .. versionadded:: 0.1
    """
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        with contextlib.suppress(FileExistsError):  # somebody was quicker
            missing.mkdir(FOLDER)
            missing.chmod(FOLDER)
    if is_own and os.name == "posix":
        _narrow(folder, folder.stat(), FOLDER)
    return folder


def open_private(path: Path, flags: int, *, is_own: bool = False) -> int:
    """A descriptor of a file, made where it is missing: `os.open` with a mode that holds.

    Args:
        path: the file.
        flags: as of `os.open`.
        is_own: whether what is there is ours, whatever it holds: its path is in a folder of ours. What is not is
            narrowed where it is empty, and else only spoken of.

    Raises:
        OSError: it cannot be opened.

    .. versionadded:: 0.1
    """
    number = os.open(path, flags | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE)
    if os.name == "posix":
        found = os.fstat(number)
        if is_own or not found.st_size:
            _narrow(path, found, FILE, number)
        else:
            _say_where_wide(path, found)
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
            # Before the rename: else power that fails may leave the new name with an empty file (fsync(2); ext4
            # allocates late).
            file.flush()
            os.fsync(number)
        os.replace(made, path)  # noqa: PTH105 - of two names
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)  # noqa: PTH108 - as above
        raise


def _umask() -> int:
    # POSIX has no call that reads it and leaves it as it is (umask(2)).
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
        else:
            _say_where_wide(path, found)


def _say_where_wide(path: Path, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS:
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


# -- files that cannot be written

REPAIRS = {
    errno.EDQUOT: "make room: all that this user may fill is full",
    errno.EFBIG: "let this user write larger files, as ulimit -f says",
    errno.EIO: "look at the disk",
    errno.ELOOP: "repair the link, which leads in a circle",
    errno.ENAMETOOLONG: "give it a shorter name",
    errno.ENOSPC: "make room on its disk",
    errno.ENOTDIR: "move the file away that stands where a folder of its path should be",
    errno.EROFS: "name a place on another file system: nothing can be written on this one",
}
"""By the system's reason (errno(3)). What helps against a missing permission or folder differs from file to file: who
writes it knows."""


def write_hint(problem: BaseException, otherwise: str) -> str:
    """What a person does about a file that could not be written.

    Args:
        problem: what the system said.
        otherwise: what helps against missing permissions and folders, and where nothing is known.

    .. versionadded:: 0.1
    """
    return REPAIRS.get(getattr(problem, "errno", None) or 0, otherwise)


def write_problem(path: Path, *, is_replaced: bool = False) -> OSError | None:
    """What the system would say of writing a file, or of making it with its folder; None: nothing is against it.

    Nothing is changed for that, so it is a guess: a disk may be full for large files alone.

    Args:
        path: the file. Its folder has to be writable too: files are put into their place from beside it, and SQLite
            keeps its journal there.
        is_replaced: another file is put into its place, so its own rights count for nothing.

    .. versionadded:: 0.1
    """
    folder = next(one for one in path.absolute().parents if os.path.lexists(one))
    code = None
    if not folder.is_dir():
        code, folder = errno.ENOTDIR, next(one for one in folder.parents if one.is_dir())
    elif path.is_dir():
        code = errno.EISDIR
    elif not os.access(folder, os.W_OK | os.X_OK) or (
        not is_replaced and path.exists() and not os.access(path, os.R_OK | os.W_OK)
    ):
        code = errno.EROFS if _is_read_only(folder) else errno.EACCES
    elif _is_full(folder):
        code = errno.ENOSPC
    return None if code is None else OSError(code, os.strerror(code), str(path))


def _is_read_only(folder: Path) -> bool:
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _is_full(folder: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    found = os.statvfs(folder)
    # Some file systems count no blocks. Those that are kept for root are free to root alone (statvfs(3)).
    return found.f_blocks > 0 and (found.f_bavail if os.geteuid() else found.f_bfree) == 0
