"""Where the tools may go: roots with their descriptors, and a scope for each tool.

    Files    lives as long as the host: the roots, the threads that work on files, where ripgrep is
    Root     a folder that was given, held open; what lies beneath it is opened from its descriptor
    Scope    what one tool may use: its roots, its rules, whether it may write

Where a root lies is found out once, when the host opens; it is opened by that real path, through no link. A descriptor
of a root outlives renames of the folder; only a root that was deleted is opened anew, in the same way. So a command or
another program that puts a link in its place leads nobody elsewhere.

Invariant: `Scope.open` gives only what lies beneath a root and passes the rules *by where it really lies*; nothing else
in the package opens what a caller named.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from pegboard import ErrorCode, ToolError
from pegboard_files import _faults as faults
from pegboard_files._names import Asked, decoded, outside
from pegboard_files._opening import (
    FOLDER,
    READ,
    THROUGH,
    Openat2,
    Opened,
    Opening,
    Walk,
    best_opening,
    folders_above,
    open_resolved,
)
from pegboard_files._rules import DENIED, KERNEL_FOLDERS, Entry, Rules, entries, parts_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from pegboard_files._rules import Identity, Parts
    from pegboard_files.settings import FilesSettings, PathPermissions

T = TypeVar("T")

THREADS = 8
CLOSE_S = 10.0
MAX_TRIES = 64
MOVED = (errno.EAGAIN, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV)
"""What is said where something was moved or replaced after it was opened: it is opened anew, to be judged."""
LINKS_LOOKED_AT = 50_000
LINKS_LOOKED_S = 1.0
"""How far the other names of a file are looked for: in files and folders, and in seconds."""
LINKS_KEPT_NS = 10_000_000_000
LINKS_AHEAD_NS = 1_000_000_000
"""How long what was found is kept; for files whose clock is ahead of ours. In nanoseconds."""
LINK_CLOCK_NS = 20_000_000
"""How coarse the clock of files may be, in nanoseconds."""
MAX_NEAR = 1000
"""Names of a folder that are compared with one that is not there."""


class Root:
    """A folder that was given.

    Args:
        path: its absolute path, as it was configured.
        opening: how to open what lies beneath it; None: the best way there is.
    """

    def __init__(self, path: str, opening: Opening | None = None) -> None:
        self.parts = parts_of(path)
        self.real_parts: Parts = parts_of(os.path.realpath(path))
        self._opening = opening
        self._fd = -1
        self._retired: list[int] = []
        self._lock = threading.Lock()

    @property
    def opening(self) -> Opening:
        """How what lies beneath it is opened."""
        self.fd()
        assert self._opening is not None
        return self._opening

    def fd(self) -> int:
        """The descriptor of the folder; opened at the first use, and again where the folder was deleted meanwhile.

        Raises:
            OSError: it is not there, or no folder; ELOOP: a link came in its place.
        """
        with self._lock:
            if self._fd < 0 or os.fstat(self._fd).st_nlink == 0:
                fd = open_resolved(self.real_parts)
                if self._fd >= 0:
                    if os.path.sameopenfile(fd, self._fd):  # a file system that counts no links
                        os.close(fd)
                        return self._fd
                    self._retired.append(self._fd)  # others may still be working with it
                self._fd = fd
                self._opening = self._opening or best_opening(fd)
            return self._fd

    def identity(self) -> Identity:
        """What the folder is, whatever it is called now."""
        seen = os.fstat(self.fd())
        return seen.st_dev, seen.st_ino

    def open(self, parts: Parts, flags: int) -> Opened:
        """Open what lies beneath it."""
        fd = self.fd()
        return self.opening.open(fd, parts, flags, self.parts)

    def below(self, parts: Parts) -> Parts | None:
        """What is left of an absolute path below this root, by its configured or its real name; None: nothing."""
        for own in (self.parts, self.real_parts):
            if parts[: len(own)] == own:
                return parts[len(own) :]
        return None

    def close(self) -> None:
        """Give its descriptors back."""
        with self._lock:
            for fd in (self._fd, *self._retired):
                if fd >= 0:
                    os.close(fd)
            self._fd, self._retired = -1, []


class Linked:
    """Files that are denied and have more than one name, by what they are: a hard link is the file itself.

    No file system tells the names of a file, so they are looked for when one that has several is first used. What was
    found holds for a file that was not linked since: a new name changes the time of the file's own record.

    Args:
        roots: where names are looked for, beside the places that the rules name.
        rules: what is denied.
    """

    def __init__(self, roots: Iterable[Root], rules: Rules) -> None:
        self._tops = [*(entry.parts for entry in rules.denied), *(root.real_parts for root in roots)]
        self._rules = rules
        self._lock = threading.Lock()
        self._found: frozenset[Identity] = frozenset()
        self._looked_ns = 0

    def since(self, changed_ns: int) -> frozenset[Identity]:
        """Those that were there after a moment, in nanoseconds of the clock of files. Blocks."""
        with self._lock:
            now_ns = time.time_ns()
            age_ns = now_ns - self._looked_ns
            is_ahead = changed_ns > now_ns  # of another clock, so that it says nothing here
            kept_ns = LINKS_AHEAD_NS if is_ahead else LINKS_KEPT_NS
            if age_ns > kept_ns or (not is_ahead and changed_ns + LINK_CLOCK_NS > self._looked_ns):
                self._found = frozenset(self._look())
                self._looked_ns = now_ns
            return self._found

    def _look(self) -> Iterator[Identity]:
        for path in self._denied():
            with contextlib.suppress(OSError):
                seen = os.lstat(path)
                if seen.st_nlink > 1:
                    yield seen.st_dev, seen.st_ino

    def _denied(self) -> Iterator[str]:
        """Every file that is denied, as far as the bounds reach: what was not found is not known."""
        left, until = LINKS_LOOKED_AT, time.monotonic() + LINKS_LOOKED_S
        for top in dict.fromkeys("/" + "/".join(parts) for parts in self._tops):
            yield top
            for folder, below, names in os.walk(top):
                parts = parts_of(folder)
                if parts in KERNEL_FOLDERS:
                    below.clear()
                    continue
                yield from (f"{folder}/{name}" for name in names if self._rules.refusal((*parts, name)) in DENIED)
                left -= 1 + len(names)
                if left < 0 or time.monotonic() > until:
                    return


@attrs.frozen(eq=False)
class Scope:
    """What one tool may use.

    Args:
        tool: its name.
        roots: the folders; relative paths begin at the first.
        rules: what in them is allowed and denied.
        writable: whether somebody configured that files may be written.
    """

    tool: str
    roots: tuple[Root, ...]
    rules: Rules
    writable: bool
    _linked: Linked = attrs.field(
        init=False, default=attrs.Factory(lambda self: Linked(self.roots, self.rules), takes_self=True)
    )

    def locate(self, asked: Asked) -> tuple[Root, Parts]:
        """The root that a path lies in, and its parts below it.

        Raises:
            ToolError: FORBIDDEN: it lies in none; or it is denied as it is spelled, whatever it leads to.
        """
        if asked.absolute:
            found = [(root, below) for root in self.roots if (below := root.below(asked.parts)) is not None]
            if not found:
                raise outside(asked.text)
            root, parts = min(found, key=lambda one: len(one[1]))
        else:
            root, parts = self.roots[0], asked.parts
        why = self.rules.refusal(root.real_parts + parts)
        if why in DENIED:
            raise faults.refused(asked, why)
        return root, parts

    def open(self, asked: Asked, flags: int = READ) -> tuple[Root, Opened]:
        """Open what a path leads to, and judge where it really lies.

        Raises:
            ToolError: it is not there, not allowed, or not to be opened.
        """
        root, parts = self.locate(asked)
        for _ in range(MAX_TRIES):
            try:
                opened = root.open(parts, flags)
            except OSError as problem:
                if problem.errno in (errno.ENOENT, errno.ENOTDIR):  # whether it is there is nobody's business elsewhere
                    self.check(asked, root, parts)
                    raise faults.missing(asked, self._near(root, parts)) from problem
                raise faults.answer_of(problem, asked) from problem
            try:
                why = self.refusal(root, opened)
            except OSError as problem:
                opened.close()
                if problem.errno not in MOVED:
                    raise faults.answer_of(problem, asked) from problem
                continue
            except BaseException:
                opened.close()
                raise
            if why is None:
                return root, opened
            opened.close()
            raise faults.refused(asked, why)
        raise faults.answer_of(OSError(errno.EAGAIN, "moved"), asked)

    def open_file(self, asked: Asked) -> tuple[Root, Opened]:
        """Open a regular file for reading.

        Raises:
            ToolError: as `open`; or it is not a regular file.
        """
        root, opened = self.open(asked)
        if not opened.is_file:
            opened.close()
            raise faults.is_folder(asked) if opened.is_folder else faults.not_regular(asked)
        return root, opened

    def open_folder(self, asked: Asked) -> tuple[Root, Opened]:
        """Open a folder for listing.

        Raises:
            ToolError: as `open`; or it is not a folder.
        """
        root, opened = self.open(asked)
        if not opened.is_folder:
            opened.close()
            raise faults.no_folder(asked)
        return root, opened

    def refusal(self, root: Root, opened: Opened) -> str | None:
        """Why something that was opened may not be used, or None.

        Raises:
            OSError: it was moved or replaced since; or it left the root.
        """
        why = self.rules.refusal(root.real_parts + opened.parts)
        why = why or self.refusal_of(opened.stat)
        denied = self.rules.denied_identities
        if why is not None or not denied:
            return why
        with contextlib.ExitStack() as stack:
            folder = opened
            if not opened.is_folder:
                folder = stack.enter_context(root.open(opened.parts[:-1], THROUGH))
                there = os.stat(opened.parts[-1], dir_fd=folder.fd, follow_symlinks=False)
                if (there.st_dev, there.st_ino) != opened.identity:
                    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            above = folders_above(folder.fd, root.identity())
            return "denied" if any(one in denied for one in list(above)) else None

    def check(self, asked: Asked, root: Root, parts: Parts, folder: Opened | None = None) -> None:
        """Judge a place beneath a root where something is to be made, or was looked for.

        Args:
            asked: the path, for the error.
            root: the root.
            parts: the place.
            folder: the folder that is to hold it, where it is open.

        Raises:
            ToolError: FORBIDDEN.
            OSError: EXDEV: the folder left the root.
        """
        why = self.rules.refusal(root.real_parts + parts)
        if why is None and folder is not None and self.rules.denied_identities:
            above = folders_above(folder.fd, root.identity())
            why = "denied" if any(one in self.rules.denied_identities for one in list(above)) else None
        if why is not None:
            raise faults.refused(asked, why)

    def may_show(self, root: Root, parts: Parts, seen: os.stat_result) -> bool:
        """Whether a walk, which follows no links, may show and go into what lies here."""
        return self.rules.refusal(root.real_parts + parts) is None and self.refusal_of(seen) is None

    def refusal_of(self, seen: os.stat_result) -> str | None:
        """Why something may not be used by what it is, whatever it is called, or None: an entry names it (`denied`), or
        it is a file that has another name, by which it is denied (`linked`)."""
        identity = seen.st_dev, seen.st_ino
        if identity in self.rules.denied_identities:
            return "denied"
        if seen.st_nlink < 2 or not self.rules.denies or not stat.S_ISREG(seen.st_mode):
            return None
        return "linked" if identity in self._linked.since(seen.st_ctime_ns) else None

    def _near(self, root: Root, parts: Parts) -> list[str]:
        """Names of what there is in the same folder that come near; none that the tool may not use."""
        if not parts:
            return []
        import itertools

        from pegboard.schema import NearNames

        try:
            with root.open(parts[:-1], FOLDER) as folder, os.scandir(folder.fd) as found:
                there = folder.parts
                known = [entry.name for entry in itertools.islice(found, MAX_NEAR)]
        except OSError:
            return []
        places = [(*there, name) for name in NearNames().find(parts[-1], known, 3)]
        return [decoded(place[-1]) for place in places if self.rules.refusal(root.real_parts + place) is None]


class Files:
    """What the tools share as long as a host is open; reached by `context.resource(Files)`.

    Args:
        settings: `[plugins.files]`.
        opening: `openat2` or `walk`, for tests; None: the best way there is.
    """

    def __init__(self, settings: FilesSettings, opening: str | None = None) -> None:
        import trio

        self.settings = settings
        ways: dict[str | None, Opening | None] = {"openat2": Openat2(), "walk": Walk(), None: None}
        self._opening = ways[opening]
        self.roots = tuple(self._root(path) for path in (settings.roots if settings.roots is not None else (".",)))
        self.is_configured = settings.roots is not None
        self._more_roots: dict[str, Root] = {}
        self._scopes: dict[str, Scope] = {}
        self._lock = threading.Lock()
        # Threads of their own: others that hang must not keep these waiting, nor these others.
        self._limiter = trio.CapacityLimiter(THREADS)
        self.ripgrep = find_ripgrep(settings.ripgrep)

    def _root(self, path: str) -> Root:
        return Root(os.path.abspath(os.path.expanduser(path)), self._opening)  # noqa: PTH100, PTH111 - no links resolved

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what blocks in a thread of the tools' own. The thread ends with the call: long work looks now and then
        whether somebody still waits (`trio.from_thread.check_cancelled`)."""
        import trio

        return await trio.to_thread.run_sync(function, *arguments, limiter=self._limiter)

    def scope(self, tool: str, permissions: PathPermissions) -> Scope:
        """What a tool may use; compiled at its first call. Blocks.

        Raises:
            ToolError: FORBIDDEN: there is nothing that it may use.
        """
        with self._lock:
            found = self._scopes.get(tool)
            if found is None:
                found = self._scope(tool, permissions)
                if all(_is_there(root) for root in found.roots):  # what is missing may come
                    self._scopes[tool] = found
            return found

    def _scope(self, tool: str, permissions: PathPermissions) -> Scope:
        roots = list(self.roots)
        bases = ["/" + "/".join(root.parts) for root in roots]
        allowed: tuple[Entry, ...] | None = None
        if permissions.allowed_paths is not None:
            allowed = tuple(entries(permissions.allowed_paths, bases[:1]))
            # What is allowed outside of every root was allowed by the same person who gives the roots.
            for entry in allowed:
                if not any(root.below(entry.parts) is not None for root in roots):
                    roots.append(self._another_root(entry))
        elif not roots:
            raise ToolError(ErrorCode.FORBIDDEN, "roots is empty, so there is no file to use", reason="not_allowed")
        all_bases = ["/" + "/".join(root.parts) for root in roots]
        denied = entries((*self.settings.denied_paths, *permissions.denied_paths), all_bases)
        for folder in KERNEL_FOLDERS:
            if any(folder[: len(root.real_parts)] == root.real_parts for root in roots):
                denied.append(Entry(folder))
        named = [entry.parts for entry in denied if entry.glob is None]
        secrets_below = tuple(root.real_parts for root in roots) if self.settings.deny_secrets else ()
        rules = Rules(allowed, tuple(denied), _identities(named), secrets_below)
        writable = self.is_configured or permissions.allowed_paths is not None
        return Scope(tool, tuple(roots), rules, writable)

    def _another_root(self, entry: Entry) -> Root:
        path = "/" + "/".join(entry.parts)
        if not os.path.isdir(path):  # noqa: PTH112 - a file is reached from its folder; the rules let only it through
            path = os.path.dirname(path)  # noqa: PTH120
        if path not in self._more_roots:
            self._more_roots[path] = self._root(path)
        return self._more_roots[path]

    async def close(self) -> None:
        """Wait for every thread that still works, then give the descriptors back.

        Where one hangs they are kept: a number that is given back is given to somebody else, and the thread would open
        what lies beneath that.
        """
        import trio

        with trio.move_on_after(CLOSE_S, shield=True) as waiting:
            for _ in range(THREADS):
                await self._limiter.acquire_on_behalf_of(object())
        if waiting.cancelled_caught:
            faults.log.warning("a file system hangs: the folders of the file tools stay open")
            return
        for root in (*self.roots, *self._more_roots.values()):
            root.close()


@contextlib.asynccontextmanager
async def open_files(settings: FilesSettings, opening: str | None = None) -> AsyncIterator[Files]:
    """The resource of the plugin."""
    files = Files(settings, opening)
    try:
        yield files
    finally:
        await files.close()


def _is_there(root: Root) -> bool:
    try:
        root.fd()
    except OSError:
        return False
    return True


def _identities(paths: Iterable[Parts]) -> frozenset[Identity]:
    found = set()
    for parts in paths:
        with contextlib.suppress(OSError):
            seen = os.stat("/" + "/".join(parts))  # noqa: PTH116
            found.add((seen.st_dev, seen.st_ino))
    return frozenset(found)


def find_ripgrep(name: str) -> str | None:
    """The absolute path of ripgrep, or None: none is wanted or there. Relative parts of PATH do not count."""
    if not name or not os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - its folder is handed over through /proc
        return None
    import shutil

    path = os.pathsep.join(
        part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part.startswith("/")
    )
    found = shutil.which(os.path.expanduser(name), path=path)  # noqa: PTH111
    return found if found is not None and found.startswith("/") else None
