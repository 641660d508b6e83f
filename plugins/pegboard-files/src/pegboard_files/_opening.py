"""Opening what lies beneath a folder, and knowing what was opened.

A path is never looked at first and opened later: between the two it can be swapped. Everything starts at a descriptor
of the folder, and what is judged is the descriptor that came back. There are two ways:

openat2   Linux 5.6 walks the whole path in one call and refuses to leave the folder (RESOLVE_BENEATH), through `..`, an
          absolute link or a link of /proc (RESOLVE_NO_MAGICLINKS). Links that stay beneath the folder are followed. An
          absolute one that says the folder's own name stays beneath it too, which the kernel does not know: the path is
          then walked by hand, see `follow`. /proc tells where the descriptor really lies.
walk      One component after the other, each relative to the descriptor of the one before, none through a link
          (O_NOFOLLOW). Where nothing was followed, the path that was asked for is the real one.

Descriptors are never inherited, and nothing that is opened can block or become a terminal of the host.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections import deque
from typing import TYPE_CHECKING, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_files._rules import Identity, Parts

READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
FOLDER = READ | getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC if hasattr(os, "O_PATH") else FOLDER
"""To pass through a folder, which takes no right to list it where the system can say so."""

_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_RETRIES = 64
MAX_LINKS = 40
"""On one way, as the kernel has it."""
MAX_ABOVE = 2100
"""As many folders as a path can name."""


class Opened:
    """A descriptor, and where it really lies: parts from the folder that it was opened beneath. Close it, or use it
    in `with`."""

    __slots__ = ("fd", "parts", "stat")

    def __init__(self, fd: int, parts: Parts) -> None:
        self.fd = fd
        self.parts = parts
        self.stat = os.fstat(fd)

    def close(self) -> None:
        """Give the descriptor back; once is enough, and more do no harm."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def identity(self) -> Identity:
        """What was opened, whatever it is called."""
        return self.stat.st_dev, self.stat.st_ino

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file: no folder, pipe, socket or device."""
        return stat.S_ISREG(self.stat.st_mode)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.stat.st_mode)


class Opening(Protocol):
    """One of the two ways."""

    @property
    def name(self) -> str:
        """`openat2` or `walk`."""
        ...

    def open(self, folder_fd: int, parts: Parts, flags: int, spelled: Parts | None = None) -> Opened:
        """Open what the parts lead to, beneath the folder.

        Args:
            folder_fd: the folder.
            parts: names below it.
            flags: as for `os.open`.
            spelled: an absolute path by which links may call the folder, beside its real one.

        Raises:
            OSError: as `open` would; EXDEV, the path leaves the folder; ELOOP, a link was not followed; EAGAIN, folders
                are being moved faster than they can be opened.
        """
        ...


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@attrs.frozen
class Openat2:
    """The way of Linux 5.6."""

    name: str = "openat2"

    def open(self, folder_fd: int, parts: Parts, flags: int, spelled: Parts | None = None) -> Opened:
        """See `Opening.open`."""
        path = "/".join(parts) or "."
        sys.audit("open", path, None, flags)
        try:
            fd = self._open(folder_fd, os.fsencode(path), flags)
        except OSError as problem:
            if problem.errno != errno.EXDEV:
                raise
            fd = follow(folder_fd, parts, flags, spelled)
        try:
            return Opened(fd, real_parts(folder_fd, fd))
        except BaseException:
            os.close(fd)
            raise

    def _open(self, folder_fd: int, path: bytes, flags: int) -> int:
        how = _OpenHow(flags, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
        code = 0
        for _ in range(_RETRIES):
            fd = _syscall(
                ctypes.c_long(_SYS_OPENAT2),
                ctypes.c_int(folder_fd),
                ctypes.c_char_p(path),
                ctypes.byref(how),
                ctypes.c_size_t(ctypes.sizeof(how)),
            )
            if fd >= 0:
                return int(fd)
            code = ctypes.get_errno()
            # A folder on the way was renamed meanwhile, and the kernel could not say whether it is still beneath.
            if code not in (errno.EAGAIN, errno.EINTR):
                break
        raise OSError(code, os.strerror(code))


def _syscall(*arguments: object) -> int:
    return int(_libc().syscall(*arguments))


def _libc() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        _loaded = ctypes.CDLL(None, use_errno=True)
        _loaded.syscall.restype = ctypes.c_long
    return _loaded


_loaded: ctypes.CDLL | None = None


@attrs.frozen
class Walk:
    """The way of every other POSIX system."""

    name: str = "walk"

    def open(self, folder_fd: int, parts: Parts, flags: int, spelled: Parts | None = None) -> Opened:
        """See `Opening.open`."""
        at = os.dup(folder_fd)
        try:
            for part in parts[:-1]:
                at = _step(at, part, THROUGH | _NO_LINK)
            at = _step(at, parts[-1] if parts else ".", flags | _NO_LINK)
            return Opened(at, parts)
        except BaseException:
            os.close(at)
            raise


def follow(folder_fd: int, parts: Parts, flags: int, spelled: Parts | None = None) -> int:
    """Open what the parts lead to, name by name, through links that stay beneath the folder; gives the descriptor.

    No step looks at more than one name in a folder that is held open, and none lets the system follow a link: its text
    is read, and what it says is walked in turn. `..` leads back to a folder that was passed, never above the first. An
    absolute link begins anew at the folder, if it begins with one of the folder's names. So nothing that is swapped
    meanwhile leads out; where a held folder was moved to, its user has to ask (`real_parts`).

    Args:
        folder_fd, parts, flags, spelled: as in `Opening.open`.

    Raises:
        OSError: EXDEV: a link leads out; ELOOP: there are too many; else as `open` would.
    """
    held = [os.dup(folder_fd)]
    todo = deque(parts)
    links = 0
    try:
        while todo:
            name = todo.popleft()
            if name in ("", "."):
                continue
            if name == ".." or "/" in name:
                if len(held) == 1 or "/" in name:
                    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
                os.close(held.pop())
                continue
            target = _said_by(held[-1], name)
            if target is None:
                if not todo:
                    return os.open(name, flags | _NO_LINK, dir_fd=held[-1])
                held.append(os.open(name, THROUGH | _NO_LINK, dir_fd=held[-1]))
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if target.startswith("/"):
                target = _below(target, folder_fd, spelled)
                while len(held) > 1:
                    os.close(held.pop())
            todo.extendleft(reversed(target.split("/")))
        return os.open(".", flags, dir_fd=held[-1])
    finally:
        for fd in held:
            os.close(fd)


def _said_by(folder_fd: int, name: str) -> str | None:
    """What a link says, or None: it is not a link."""
    try:
        return os.readlink(name, dir_fd=folder_fd)
    except OSError as problem:
        if problem.errno != errno.EINVAL:
            raise
        return None


def _below(target: str, folder_fd: int, spelled: Parts | None) -> str:
    """What is left of an absolute path below the folder, by one of its names.

    Raises:
        OSError: EXDEV: it leads elsewhere.
    """
    parts = tuple(part for part in target.split("/") if part not in ("", "."))
    real = tuple(part for part in _real_path(folder_fd).split("/") if part)
    for name in (real, spelled):
        if name is not None and parts[: len(name)] == name:
            return "/".join(parts[len(name) :])
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def open_resolved(parts: Parts) -> int:
    """Open a folder by its real path; gives the descriptor.

    Raises:
        OSError: ELOOP: a part of it is a link by now; else as `open` would.
    """
    top = os.open("/", THROUGH)
    try:
        return Walk().open(top, parts, FOLDER).fd
    finally:
        os.close(top)


def _step(folder_fd: int, name: str, flags: int) -> int:
    """Open one name in a folder, and let go of the folder."""
    try:
        fd = os.open(name, flags, dir_fd=folder_fd)
    except OSError as problem:
        # Of a link, O_DIRECTORY says that it is not a folder, and some systems have codes of their own.
        if problem.errno in (errno.ENOTDIR, errno.EMLINK, getattr(errno, "EFTYPE", -1)) and _is_link(folder_fd, name):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
    os.close(folder_fd)
    return fd


def _is_link(folder_fd: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def folders_above(folder_fd: int, top: Identity) -> Iterator[Identity]:
    """A folder and those that it lies in, up to `top`, by what they are and not by what they are called.

    Raises:
        OSError: EXDEV: it does not lie beneath `top` any more.
    """
    at = os.dup(folder_fd)
    try:
        for _ in range(MAX_ABOVE):
            seen = os.fstat(at)
            yield seen.st_dev, seen.st_ino
            if (seen.st_dev, seen.st_ino) == top:
                return
            up = os.open("..", THROUGH, dir_fd=at)
            os.close(at)
            at = up
    finally:
        os.close(at)
    raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))


def real_parts(folder_fd: int, fd: int) -> Parts:
    """Where a descriptor really lies, as parts from the folder, by what the kernel knows of both.

    Raises:
        OSError: EXDEV: not beneath the folder, or nobody can say where.
    """
    folder, path = _real_path(folder_fd), _real_path(fd)
    if os.fstat(fd).st_nlink == 0:  # replaced since it was opened: the kernel says where it lay
        path = path.removesuffix(" (deleted)")
    base = folder.rstrip("/")
    if path == folder:
        return ()
    if not path.startswith(base + "/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return tuple(path[len(base) + 1 :].split("/"))


def _real_path(fd: int) -> str:
    try:
        path = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - text, and no path of ours
    except OSError:  # longer than the kernel can say
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV)) from None
    if not path.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    return path


def best_opening(folder_fd: int) -> Opening:
    """The best way that works here; a sandbox may forbid what the kernel has."""
    if sys.platform == "linux":
        try:
            Openat2().open(folder_fd, (), FOLDER).close()
        except OSError:
            return Walk()
        return Openat2()
    return Walk()
