"""One start of a program in a sandbox.

    box = await prepare(policy, argv, on_refused)     # whether it works here, and what it will be shown
    process = ... box.words, box.environment, box.descriptors ...
    await box.admit(process)                          # the program begins
    nursery.start_soon(box.serve)                     # its network
    box.close()

The program is in namespaces of its own for users, processes, mounts, names, IPC and the network; without capabilities,
without new privileges, and without the system calls that no namespace holds. It sees the system's programs, what the
policy gives it, a home of its own that lasts, and an empty /tmp. It ends with the process that started bubblewrap.
Landlock is not laid over it: it would say the same of the same folders, and would have to be asked for inside, by an
interpreter that has to be shown there.

.. versionadded:: 0.1
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH100, PTH103, PTH110, PTH114, PTH115, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import stat
import sys
from typing import TYPE_CHECKING

import attrs
import trio

from pegboard_confine import bubblewrap, kernel
from pegboard_confine.bounds import Bounds
from pegboard_confine.bubblewrap import SYSTEM, within
from pegboard_confine.network import Rules
from pegboard_confine.programs import needs_of
from pegboard_confine.relay import Refused, Relay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["HOME", "Box", "ConfineError", "Policy", "home_error", "how_to_allow", "prepare", "why_not"]

HOME = "/home/confined"
"""Its home, as it sees it.

.. versionadded:: 0.1
"""
USER = 1000
BEGIN_S = 10.0
"""How long bubblewrap may take until the program can begin."""
LOOK_S = 0.005
"""Between two looks at the mounts of a sandbox."""
AGAIN_S = 1.0
"""So long is waited for the end of a sandbox that could not be entered."""
MAX_LINKS = 40
"""As many as the kernel follows on one way."""
CHUNK = 65_536
SCRATCH_BYTES = 256_000_000
SOCKETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_sockets.py")
CERTIFICATES = ("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/services", "/etc/protocols")
PRIVATE = ("/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/CA/private")
"""Keys that lie among the certificates: a sandbox of root's could read them."""
FILES = {
    "hosts": "127.0.0.1 localhost\n::1 localhost\n127.0.0.1 confined\n",
    "resolv.conf": "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "passwd": f"confined:x:{USER}:{USER}::{HOME}:/bin/sh\n",
    "group": f"confined:x:{USER}:\n",
}
"""Its own files of /etc."""

Inode = tuple[int, int]
"""The number of a file system, and that of what lies on it."""

_probed: tuple[tuple[str, ...], str] | None = None


class ConfineError(Exception):
    """A program cannot be confined, and was not started.

    Args:
        why: what is in the way, for people.
        fix: how to repair it.
        impossible: whether it is this system that cannot confine anything.

    .. versionadded:: 0.1
    """

    def __init__(self, why: str, fix: str, *, impossible: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix
        self.impossible = impossible


@attrs.frozen
class Policy:
    """What a program is given.

    Args:
        home: the folder on the host that is its home and lasts; it is made. Beside it lie its files of /etc.
        cwd: where it starts; of that it sees what it is given.
        read: folders and files that it sees.
        write: folders and files that it may change.
        files: more that it sees, where they are there.
        programs: installations that it sees, as `needs_of` names them, beside that of its own program.
        kept: what of `write` it may not change: what the host itself reads. What is not there is made, and empty, where
            it could make it; a folder ends in a slash.
        written: folders that others may write, who may make links there.
        network: whom it may reach.
        environment: all of its variables, but `HOME`, `PATH`, `LANG` and `TMPDIR`.
        path: the host's `PATH`, of which it gets what it sees.
        bounds: how much it may use.
        traced: whether it may be traced, and trace.
        descriptors: what it inherits; closed where it was started, or was not.

    .. versionadded:: 0.1
    """

    home: str
    cwd: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    network: Rules = attrs.field(factory=Rules)
    environment: Mapping[str, str] = attrs.field(factory=dict)
    path: str = os.defpath
    bounds: Bounds = attrs.field(factory=Bounds)
    traced: bool = False
    descriptors: tuple[int, ...] = ()


def why_not() -> str:
    """Why this system cannot confine a program; nothing: it can. Asked once; takes some milliseconds then.

    .. versionadded:: 0.1
    """
    global _probed
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    if _probed is None:
        _probed = bubblewrap.probe()
    return _probed[1]


def how_to_allow() -> str:
    """How a person repairs what `why_not` says.

    .. versionadded:: 0.1
    """
    return bubblewrap.ALLOW if bubblewrap.find_system_program("bwrap") is not None else bubblewrap.INSTALL


def _kept(policy: Policy) -> list[str]:
    """What lies in a folder that it may write, and that it may not change. Nothing can be laid over what is not there,
    so it is made: else the program could make it.

    Raises:
        ConfineError: on the way to one of them is a link, which it could lead elsewhere; or it cannot be made.
    """
    write = [os.path.realpath(path) for path in policy.write]
    found: dict[str, None] = {}
    for path in policy.kept:
        if any(within(link, write) for link in _links_on(os.path.abspath(path))):
            why = f"{path}, which this host reads, is behind a link in a folder that it may write"
            raise ConfineError(why, "Put the file itself there, or let it write another folder.")
        place = os.path.realpath(path)
        if not within(place, write):
            continue
        if not os.path.lexists(place):
            _make_empty(place, is_folder=path.endswith(os.sep))
        found[place] = None
    return list(found)


def _links_on(path: str) -> list[str]:
    """The links that lead from a path to what it names, each where it really lies."""
    found: list[str] = []
    at, left = "/", path.split("/")[::-1]
    while left and len(found) < MAX_LINKS:
        name = left.pop()
        place = os.path.normpath(os.path.join(at, name))
        if os.path.islink(place):
            found.append(place)
            target = os.readlink(place)
            at = "/" if target.startswith("/") else at
            left += target.split("/")[::-1]
        else:
            at = place
    return found


def _make_empty(place: str, *, is_folder: bool) -> None:
    try:
        os.makedirs(place if is_folder else os.path.dirname(place), 0o700, exist_ok=True)
        if not is_folder:
            with contextlib.suppress(FileExistsError):  # somebody was quicker
                os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as failed:
        why = f"{place}, which this host reads, is not there and cannot be made: {failed.strerror}"
        raise ConfineError(why, "Make it, or let it write another folder.") from None


def check_folders(policy: Policy, program: str | None = None) -> frozenset[Inode]:
    """Require that what is given is there, and that none of it was led elsewhere by who may write.

    Returns:
        What has to be mounted: of each that lies where somebody may write, who may lead it elsewhere before it is.

    Raises:
        ConfineError: it is not.
    """
    seen: set[Inode] = set()
    for key, paths in (("read", policy.read), ("write", policy.write), ("args", _files(policy, program))):
        for path in paths:
            if not os.path.exists(path):
                if key == "args":
                    continue
                raise ConfineError(f"{path} of its `{key}` does not exist", "Create it, or take it out.")
            roots = [one for one in (*policy.write, *policy.written) if one != path and within(path, (one,))]
            real = os.path.realpath(path)
            if not roots:
                continue
            inode = _inode_of(real) if within(real, map(os.path.realpath, roots)) else None
            if inode is None:
                own = any(one in policy.write for one in roots)
                who = "it may write" if own else "another server may write"
                why = f"{path} of its `{key}` is a link out of a folder that {who}"
                raise ConfineError(why, "Look who made the link; then remove it, or name where it leads.")
            seen.add(inode)
    return frozenset(seen)


def _inode_of(path: str) -> Inode | None:
    """What lies at a path in which there is no link; None: there is one by now."""
    at = os.open("/", os.O_PATH)
    try:
        for name in filter(None, path.split("/")):
            inner = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        found = os.fstat(at)
    except OSError:
        return None
    finally:
        os.close(at)
    return None if stat.S_ISLNK(found.st_mode) else (found.st_dev, found.st_ino)


def _mounted(mountinfo: bytes) -> tuple[bool, set[str]]:
    """Whether a sandbox has all of its mounts, and where they are."""
    found: set[str] = set()
    is_done = False
    for line in mountinfo.splitlines():
        point, options = line.split()[4:6]
        # The last of the mounts makes the root read-only; a blank stands there as \\040.
        is_done |= point == b"/" and b"ro" in options.split(b",")
        found.add(os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), point)))
    return is_done, found


def _shown_at(pid: int, points: Iterable[str]) -> set[Inode]:
    """What a sandbox is shown there."""
    found = (_number_of(f"/proc/{pid}/root{point}") for point in points)
    return {one for one in found if one is not None}


class Box:
    """A sandbox for one start; made by `prepare`.

    Attributes:
        words: the command that starts it. Whoever starts that must outlive the program: it ends with its parent.
        environment: of that command.
        descriptors: what the command has to inherit.
        relay: its network.
        bounds: how much it may use.
        replaced: what it may not change, and could from then on, for another file was put there; it was ended. The
            kernel takes a mount away with the name that it lies on, whoever renames that.

    .. versionadded:: 0.1
    """

    def __init__(self, policy: Policy, argv: Sequence[str], relay: Relay, seen: frozenset[Inode] = frozenset()) -> None:
        assert _probed is not None
        self._seen = seen
        self.relay = relay
        self.bounds = policy.bounds
        self.replaced = ""
        kept = _kept(policy)
        self._covered = set(kept)
        self._watched: tuple[int, int] | None = None
        self._sockets: list[socket.socket] = []
        self._open: list[int] = [*policy.descriptors]
        self._theirs: list[int] = [*policy.descriptors]
        try:
            self._info, info = self._pipe(ours=0)
            block, self._block = self._pipe(ours=1)
            seccomp = ["--seccomp", str(self._data(_filter(policy)))] if kernel.can_forbid() else []
            words = [*_words(policy, argv[0], kept), *seccomp, "--info-fd", str(info), "--block-fd", str(block)]
            given = self._data(b"".join(os.fsencode(word) + b"\0" for word in words))
        except BaseException:
            self.close()
            raise
        self.words = [_probed[0][0], "--args", str(given), "--", *argv]
        self.environment = {"PATH": os.defpath}
        self.descriptors = tuple(self._theirs)

    def _pipe(self, ours: int) -> tuple[int, int]:
        ends = os.pipe()
        self._open += ends
        self._theirs.append(ends[1 - ours])
        return ends

    def _data(self, data: bytes) -> int:
        """A descriptor that has these bytes; words of a command line everybody could read, and they hold secrets."""
        held = os.memfd_create("confined")
        self._open.append(held)
        self._theirs.append(held)
        os.write(held, data)
        os.lseek(held, 0, os.SEEK_SET)
        return held

    async def admit(self, process: trio.Process) -> None:
        """Listen in the sandbox, then let the program begin.

        Raises:
            ConfineError: bubblewrap did not come so far, or the network that was named cannot be given.
        """
        for one in self._theirs:
            self._close(one)
        self._theirs.clear()
        with trio.move_on_after(BEGIN_S):
            if (info := await self._begun(process)) is not None:
                pid = json.loads(info)["child-pid"]
                why = await self._listen(pid)
                with trio.move_on_after(AGAIN_S if why else 0):
                    await process.wait()
                if why and process.returncode is None and self.relay.rules.entries:
                    why = f"the kernel lets nobody listen in its sandbox, so that it can reach nobody: {why}"
                    raise ConfineError(why, "Take `network` out, or run it on a system where it can.")
                if process.returncode is None:
                    await self._compare(pid)
                    self._bound(pid)
                    if self._covered:
                        self._watched = os.pidfd_open(pid), os.open(f"/proc/{pid}/mountinfo", os.O_RDONLY)
                        self._open += self._watched
                    os.write(self._block, b".")
                    return
        raise ConfineError("its sandbox did not begin", "Look at its last words, and at what bubblewrap needs.")

    async def _compare(self, pid: int) -> None:
        """Require that what was looked at is what was mounted: a link could be made between the two."""
        if not self._seen and not self._covered:
            return
        while True:
            try:
                with open(f"/proc/{pid}/mountinfo", "rb") as file:
                    is_done, points = _mounted(file.read())
                is_right = self._covered <= points and self._seen <= _shown_at(pid, points)
            except OSError as gone:
                raise ConfineError("its sandbox ended", "Look at its last words.") from gone
            if is_right and (is_done or not self._covered):
                return
            if is_done:
                why = "a folder of its `read` or `write` was led elsewhere while it was started"
                raise ConfineError(why, "Look who may write there, and give each server folders of its own.")
            await trio.sleep(LOOK_S)

    def _bound(self, pid: int) -> None:
        try:
            self.bounds.apply(pid)
        except OSError as failed:
            why = f"the kernel lets nobody bound what it uses: {failed.strerror}"
            raise ConfineError(
                why, "Look at how bubblewrap is installed: it has to run as the user of the host."
            ) from None

    async def _begun(self, process: trio.Process) -> bytes | None:
        """What bubblewrap tells of the sandbox; None: it ended."""
        info = b""
        os.set_blocking(self._info, False)
        async with trio.open_nursery() as nursery:

            async def end() -> None:
                await process.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(end)
            while not info.rstrip().endswith(b"}"):
                await trio.lowlevel.wait_readable(self._info)
                chunk = os.read(self._info, 4096)
                if not chunk:
                    break
                info += chunk
            nursery.cancel_scope.cancel()
        return info if info.rstrip().endswith(b"}") else None

    async def _listen(self, pid: int) -> str:
        """Open its sockets; why that could not be, or nothing."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ports = map(str, self.relay.rules.ports)
            words = [sys.executable, "-I", "-S", SOCKETS, str(pid), str(theirs.fileno()), *ports]
            ran = await trio.run_process(
                words, pass_fds=(theirs.fileno(),), env={}, capture_stderr=True, capture_stdout=True, check=False
            )
            if ran.returncode == 0:
                _, numbers, _, _ = socket.recv_fds(ours, 16, len(self.relay.rules.ports) + 1)
                self._sockets = [socket.socket(fileno=number) for number in numbers]
                return ""
        return ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200] or "no reason is known"

    async def serve(self) -> None:
        """Its network, and a look at what it may not change, until cancelled."""
        async with trio.open_nursery() as nursery:
            if self._watched is not None:
                nursery.start_soon(self._watch_covered, *self._watched)
            if self._sockets:
                sockets, self._sockets = self._sockets, []
                await self.relay.serve(sockets)

    async def _watch_covered(self, process: int, mounts: int) -> None:
        """End it once something that it may not change is covered no more."""
        with select.epoll() as changes:
            changes.register(mounts, select.EPOLLPRI)  # the kernel says so of each mount that comes and goes
            while not self.replaced:
                _, points = _mounted(_read_all(mounts))
                self.replaced = min(self._covered - points, default="")
                if not self.replaced:
                    await trio.lowlevel.wait_readable(changes.fileno())
                    changes.poll(0)
        with contextlib.suppress(ProcessLookupError):  # it has ended
            signal.pidfd_send_signal(process, signal.SIGKILL)

    def close(self) -> None:
        """Close what is left open here; a program that was not admitted has to be ended before."""
        for one in self._sockets:
            one.close()
        self._sockets.clear()
        for descriptor in list(self._open):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        with contextlib.suppress(ValueError):
            self._open.remove(descriptor)
            os.close(descriptor)


async def prepare(
    policy: Policy, argv: Sequence[str], on_refused: Callable[[Refused], None] = lambda refused: None
) -> Box:
    """A sandbox for a program.

    Args:
        policy: what it is given.
        argv: its command; the first is the whole path of a program.
        on_refused: hears of each host that it wanted to reach and may not, once.

    Raises:
        ConfineError: it cannot be confined.

    .. versionadded:: 0.1
    """
    relay = Relay(policy.network, on_refused)

    def make() -> Box:
        try:
            if problem := why_not():
                raise ConfineError(f"this system cannot confine it: {problem}", how_to_allow(), impossible=True)
            seen = check_folders(policy, argv[0])
            _write_files(policy.home)
        except BaseException:
            for one in policy.descriptors:
                os.close(one)
            raise
        return Box(policy, argv, relay, seen)

    try:
        return await trio.to_thread.run_sync(make)
    except OSError as failed:
        raise home_error(policy.home, failed) from None


def home_error(home: str, problem: OSError) -> ConfineError:
    """Why there is no sandbox where the files of its home cannot be written.

    .. versionadded:: 0.1
    """
    from pegboard.config import write_hint

    fix = write_hint(problem, f"let this user write {os.path.dirname(home)}")
    why = f"its home in the sandbox, {home}, cannot be made: {problem.strerror or type(problem).__name__}"
    return ConfineError(why, f"{fix[0].upper()}{fix[1:]}.")


def _filter(policy: Policy) -> bytes:
    """The filter of its system calls; one that is watched is looked into by strace."""
    forbidden = kernel.BEYOND_NAMESPACES if policy.traced else kernel.BEYOND_PROCESSES
    return kernel.program_of(forbidden, families=kernel.FAMILIES, namespaces=False, setuid=False)


def _etc(home: str) -> str:
    return os.path.join(os.path.dirname(home), "etc")


def _write_files(home: str) -> None:
    for folder in (home, _etc(home)):
        os.makedirs(folder, 0o700, exist_ok=True)
    for name, text in FILES.items():
        with open(os.path.join(_etc(home), name), "w", encoding="ascii") as file:
            file.write(text)


def _inner(path: str, given: Sequence[str]) -> str:
    """Where a path is shown: inside of another that is, a link is there already, and what it leads to counts."""
    return os.path.realpath(path) if within(os.path.dirname(path), given) else path


def _installed(policy: Policy, program: str) -> list[str]:
    return [*needs_of(program, policy.path), *policy.programs]


def _files(policy: Policy, program: str | None) -> list[str]:
    """Its files that are shown for themselves."""
    installed = [] if program is None else _installed(policy, program)
    return _shown(policy.files, [*policy.read, *policy.write, *installed, *policy.files])


def _shown(paths: Iterable[str], given: Sequence[str]) -> list[str]:
    """Those that do not lie in what is given anyway."""
    return [one for one in paths if not within(os.path.dirname(one), given)]


def _number_of(place: str) -> Inode | None:
    """What lies there; None: nothing."""
    try:
        found = os.lstat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _read_all(descriptor: int) -> bytes:
    """A file of the kernel's, from its beginning."""
    found = b""
    while chunk := os.pread(descriptor, CHUNK, len(found)):
        found += chunk
    return found


def _words(policy: Policy, program: str, kept: Sequence[str]) -> list[str]:
    """What bubblewrap is told, but the descriptors."""
    assert _probed is not None
    path = policy.path.split(os.pathsep)
    given = [*policy.read, *policy.write]
    needs = _files(policy, program)
    read, write = ([_inner(one, given) for one in paths] for paths in (policy.read, policy.write))
    needs += _shown(_installed(policy, program), [*given, *needs])
    shown = (*read, *write, *needs)
    more: dict[str, list[str]] = {HOME: ["--bind", policy.home, HOME]}
    for name in FILES:
        more[f"/etc/{name}"] = ["--ro-bind", os.path.join(_etc(policy.home), name), f"/etc/{name}"]
    if not within(policy.cwd, (*shown, *SYSTEM)) and policy.cwd not in ("/", "/tmp", HOME):  # noqa: S108 - inside
        more[policy.cwd] = ["--dir", policy.cwd]
    mounts = bubblewrap.mounts(
        (*read, *needs, *CERTIFICATES),
        write,
        PRIVATE,
        network=False,
        kept=kept,
        scratch_bytes=SCRATCH_BYTES,
        more=more,
    )
    variables = {
        "HOME": HOME, "LANG": "C.UTF-8", "TMPDIR": "/tmp",  # noqa: S108 - inside
        "PATH": os.pathsep.join(one for one in path if within(one, (*SYSTEM, *shown))) or os.defpath,
        **policy.environment,
    }  # fmt: skip
    set_all = [word for name, value in variables.items() for word in ("--setenv", name, value)]
    return [
        *_probed[0][1:], *bubblewrap.NAMESPACES, "--unshare-net", "--uid", str(USER), "--gid", str(USER), *mounts,
        "--clearenv", *set_all, "--chdir", policy.cwd,
    ]  # fmt: skip
