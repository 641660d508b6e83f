"""Writing one file, whole or not at all.

    a temporary file in the same folder -> all bytes -> fsync -> rename over the old -> fsync of the folder

Whatever ends the work - a signal, a full disk, a power cut - the old content is there or the new, never a part. All
steps go through the descriptor of the folder, so nothing that is swapped meanwhile leads elsewhere, and `rename`
replaces a name without following it. A work that was killed may leave its temporary file, `.pegboard-` and 16 hex
digits.

Between looking at what stands there and the rename, a lock is held on the folder: `flock`, which every process that
writes through these tools takes, which leaves no file behind, needs no right to write, and ends with the process that
holds it. It is advisory, so other programs are not held off; what they changed is seen before the rename and left to
them, but for the moment between the two. Network file systems hold it among the processes of one machine, or refuse it.

What is kept: the permission bits of the file, and its owner and group where the host may set them. What is not: other
hard links keep the old content; extended attributes and ACLs are those of a new file; set-user-id bits are dropped.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl  # POSIX alone, as the tools are; imported at the first call that writes
import logging
import os
import secrets
import stat
import threading
import time
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard_files import _faults as faults
from pegboard_files._opening import FOLDER, READ, Opened, real_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard_files._names import Asked
    from pegboard_files._places import Root, Scope
    from pegboard_files._rules import Parts

log = logging.getLogger("pegboard.tool.files")

CHUNK = 1 << 20
LOCKS = 64
LOCK_S = 10.0
"""How long another process that writes in the same folder is waited for, in seconds."""
PATIENCE_S = 0.05
"""Between two looks whether somebody still waits for the result, in seconds."""
POLL_S = 0.002
"""Between two tries to get the lock, in seconds; who waits in `flock` itself could not be cancelled."""
_locks = tuple(threading.Lock() for _ in range(LOCKS))
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@attrs.frozen
class Place:
    """Where a file is to be: its folder, held open, and its name there.

    Args:
        root: the root that it lies in.
        folder: the folder.
        name: the file's own name.
        before: what stands there now; None: nothing.
    """

    root: Root
    folder: Opened
    name: str
    before: os.stat_result | None


@contextlib.contextmanager
def place_of(
    scope: Scope, asked: Asked, *, create_dirs: bool = False, check: Callable[[], None] = lambda: None
) -> Iterator[Place]:
    """Find and judge where a file is to be written, and keep others from writing there meanwhile. Blocks.

    A link that stays beneath its root is followed, where the system can say so safely; else it is refused.

    Raises:
        ToolError: it may not be written, its folder is not there, or something else than a file stands there; CONFLICT:
            another process holds the folder.
    """
    root, parts = scope.locate(asked)
    if asked.of_folder or not parts:
        message = f"{asked} names a folder; name the file that is to be written"
        raise ToolError(ErrorCode.INVALID_INPUT, message, reason="folder")
    try:
        with _parent(scope, asked, root, parts, create_dirs) as (folder, name), _held(asked, folder, check):
            yield Place(root, folder, name, _before(scope, asked, folder, name))
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ENOTDIR):  # whether it is there is nobody's business elsewhere
            scope.check(asked, root, parts)
        raise faults.answer_of(problem, asked) from problem


@contextlib.contextmanager
def _parent(scope: Scope, asked: Asked, root: Root, parts: Parts, create_dirs: bool) -> Iterator[tuple[Opened, str]]:
    """The folder that the file lies in, links resolved; judged before anything is made."""
    target = _target(root, parts)
    if target != parts:
        create_dirs = False
    folder, missing = _deepest(root, target[:-1]) if create_dirs else (_folder(scope, asked, root, target), ())
    try:
        scope.check(asked, root, (*folder.parts, *missing, target[-1]), folder)
        for name in missing:
            folder = _made(folder, name)
        yield folder, target[-1]
    finally:
        folder.close()


@contextlib.contextmanager
def _held(asked: Asked, folder: Opened, check: Callable[[], None]) -> Iterator[None]:
    """Hold a folder against all who write in it through these tools: other threads, and other processes."""
    until = time.monotonic() + LOCK_S

    def wait() -> None:
        if time.monotonic() >= until:
            message = f"{asked} was not written: another program holds its folder; try again"
            raise ToolError(ErrorCode.CONFLICT, message, reason="busy", retry="same")
        check()

    own = _locks[hash(folder.identity) % LOCKS]  # for file systems that cannot lock a folder; some folders share one
    while not own.acquire(timeout=PATIENCE_S):
        wait()
    try:
        while not _locked(folder):
            wait()
            time.sleep(POLL_S)
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(folder.fd, fcntl.LOCK_UN)
        own.release()


def _locked(folder: Opened) -> bool:
    """Whether the folder is ours now; or cannot be anybody's."""
    try:
        fcntl.flock(folder.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:  # NFS takes no lock on what is not open to be written, FUSE may take none
        log.debug("a folder cannot be locked: %s", problem.strerror)
    return True


def _target(root: Root, parts: Parts) -> Parts:
    """The parts themselves; or where the link leads that stands there.

    Raises:
        OSError: the link leads out of the root, nowhere, or is not followed here.
    """
    try:
        folder = root.open(parts[:-1], FOLDER)
    except OSError as problem:
        if problem.errno == errno.ENOENT:
            return parts
        raise
    with folder:
        try:
            seen = os.stat(parts[-1], dir_fd=folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            return parts
    if not stat.S_ISLNK(seen.st_mode):
        return parts
    try:
        with root.open(parts, READ) as opened:
            return opened.parts
    except FileNotFoundError:  # what a link that leads nowhere would make is not what was asked for
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _folder(scope: Scope, asked: Asked, root: Root, parts: Parts) -> Opened:
    try:
        return root.open(parts[:-1], FOLDER)
    except FileNotFoundError:
        scope.check(asked, root, parts)
        raise ToolError(
            ErrorCode.NOT_FOUND,
            f"the folder of {asked} is not there; create_dirs=true makes it",
            reason="missing",
        ) from None


def _deepest(root: Root, parts: Parts) -> tuple[Opened, Parts]:
    """The deepest folder on the way that is there, and the names of those that are not."""
    for end in range(len(parts), 0, -1):
        with contextlib.suppress(FileNotFoundError):
            return root.open(parts[:end], FOLDER), parts[end:]
    return root.open((), FOLDER), parts


def _made(folder: Opened, name: str) -> Opened:
    """Make one folder, or take the one that somebody else made meanwhile; gives the descriptor above back."""
    with folder:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder.fd)
        with contextlib.suppress(OSError):  # file systems that cannot
            os.fsync(folder.fd)
        fd = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder.fd)
        return Opened(fd, (*folder.parts, name))


def _before(scope: Scope, asked: Asked, folder: Opened, name: str) -> os.stat_result | None:
    try:
        before = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if (why := scope.refusal_of(before)) is not None:
        raise faults.refused(asked, why)
    if stat.S_ISDIR(before.st_mode):
        raise faults.is_folder(asked)
    if not stat.S_ISREG(before.st_mode):
        raise faults.not_regular(asked)
    # A rename would replace a file that nobody may write, since it asks the folder alone.
    if not os.access(name, os.W_OK, dir_fd=folder.fd, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return before


def replace(
    place: Place, data: bytes, check: Callable[[], None], still_right: Callable[[], None] = lambda: None
) -> None:
    """Put `data` where the place is, whole. Blocks.

    Args:
        place: where.
        data: the whole content.
        check: raises where nobody waits any more; the old content is there then.
        still_right: asked at the very end, before the new content takes its place; raises to keep the old one.

    Raises:
        OSError: the old content is there.
        ToolError: OUTCOME_UNKNOWN: the new content is there, and the disk did not say that it will last.
    """
    folder_fd, before = place.folder.fd, place.before
    temporary = f".pegboard-{secrets.token_hex(8)}.tmp"
    fd = os.open(temporary, _NEW, 0o666 if before is None else 0o600, dir_fd=folder_fd)
    try:
        try:
            _write_all(fd, data, check)
            if before is not None:
                _keep(fd, before)
            os.fsync(fd)
        finally:
            os.close(fd)
        check()
        still_right()
        os.rename(temporary, place.name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder_fd)
        raise
    try:
        os.fsync(folder_fd)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot
            log.warning("a folder was not synced: %s", problem.strerror)
            message = "the file was written, and the disk failed to say that it will last; read it back"
            raise ToolError(ErrorCode.OUTCOME_UNKNOWN, message, executed=True) from problem


def _write_all(fd: int, data: bytes, check: Callable[[], None]) -> None:
    rest = memoryview(data)
    while rest:
        check()
        rest = rest[os.write(fd, rest[:CHUNK]) :]


def _keep(fd: int, before: os.stat_result) -> None:
    """The permission bits of the old file, and its owner where the host may set it; no more rights than it had."""
    mode = stat.S_IMODE(before.st_mode) & 0o777
    now = os.fstat(fd)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(fd, before.st_uid, before.st_gid)
        except OSError:
            with contextlib.suppress(OSError):
                os.fchown(fd, -1, before.st_gid)
    if os.fstat(fd).st_gid != before.st_gid:
        mode &= ~0o070  # another group must not get what the old one had
    os.fchmod(fd, mode)


def write(scope: Scope, asked: Asked, data: bytes, create_dirs: bool, check: Callable[[], None]) -> ToolResult:
    """Write a file. Blocks.

    Raises:
        ToolError: it may not or could not be written; the old content is there.
    """
    if not scope.writable:
        raise faults.no_write(scope.tool)
    with place_of(scope, asked, create_dirs=create_dirs, check=check) as place:
        replace(place, data, check, lambda: still_there(scope, asked, place))
        made: dict[str, Any] = {"path": asked.text, "bytes": len(data), "created": place.before is None}
    return ToolResult.text(f"Written to {asked.text}", data=made)


def still_there(scope: Scope, asked: Asked, place: Place) -> None:
    """Judge again where the folder lies, and that it was not deleted: it may have been moved since it was opened.

    Raises:
        ToolError: FORBIDDEN; CONFLICT.
        OSError: EXDEV: it left its root.
    """
    if os.fstat(place.folder.fd).st_nlink == 0:
        message = f"the folder of {asked} was deleted meanwhile; nothing was written"
        raise ToolError(ErrorCode.CONFLICT, message, reason="changed", retry="same")
    parts = place.folder.parts
    if place.root.opening.name == "openat2":
        parts = real_parts(place.root.fd(), place.folder.fd)
    scope.check(asked, place.root, (*parts, place.name), place.folder)
