"""The isolations a command can run in, and which of them this host has.

`bubblewrap` shows a command only the folders that are bound, in namespaces of its own. `landlock` lets it open
only those, and takes sockets and signals to others away. `rlimits` bounds what it uses, and nothing else. Which of
them work is tried once for each host, since containers refuse what the kernel would grant.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH112, PTH113, PTH114, PTH115, PTH118, PTH120

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import attrs

from pegboard_system._judge import SEARCH, within
from pegboard_system._schema import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard_system._judge import Judged, Policy

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""What programs themselves are made of; shown read-only."""
SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/magic", "/etc/mime.types",
)  # fmt: skip
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/ssl")
"""What names and certificates are looked up in, where the network is allowed."""

PROBE_S = 5.0
INSTALL = "install bubblewrap (Debian: apt-get install bubblewrap), or run Linux 6.2 or later with Landlock"


@attrs.frozen
class Found:
    """What a host has.

    Args:
        levels: the isolations that work, the weakest first.
        bwrap: the words that start bubblewrap, as they worked.
        why: for the others, why not.
    """

    levels: tuple[Level, ...]
    bwrap: tuple[str, ...] = ()
    why: Mapping[str, str] = attrs.field(factory=dict)

    def best(self, least: Level) -> Level | None:
        """The strongest isolation of those that are at least as strong as asked for."""
        good = [level for level in self.levels if LEVELS.index(level) >= LEVELS.index(least)]
        return good[-1] if good else None


def probe(only: Iterable[Level] = LEVELS) -> Found:
    """Try which isolations work here; starts bubblewrap once or twice, and takes some milliseconds."""
    wanted = frozenset(only)
    why: dict[str, str] = {}
    levels: list[Level] = []
    bwrap: tuple[str, ...] = ()
    if os.name != "posix" or not sys.executable:
        return Found((), why=dict.fromkeys(LEVELS, "it needs a POSIX system and a Python interpreter"))
    if "rlimits" in wanted:
        levels.append("rlimits")
    if "landlock" in wanted:
        problem = _probe_landlock()
        if problem:
            why["landlock"] = problem
        else:
            levels.append("landlock")
    if "bubblewrap" in wanted:
        bwrap, problem = _probe_bubblewrap()
        if problem:
            why["bubblewrap"] = problem
        else:
            levels.append("bubblewrap")
    return Found(tuple(levels), bwrap, why)


def _probe_landlock() -> str:
    from pegboard_system import _landlock

    found = _landlock.abi_version()
    if found < _landlock.LEAST_ABI:
        return f"the kernel has Landlock {found or 'not at all'}, and {_landlock.LEAST_ABI} is needed (Linux 6.2)"
    return ""


def _probe_bubblewrap() -> tuple[tuple[str, ...], str]:
    """The words that work: with nested user namespaces forbidden where this version of bubblewrap can."""
    program = _find("bwrap")
    harmless = _find("true")
    if program is None or harmless is None:
        return (), "it is not installed"
    problem = "it does not start"
    for more in (("--disable-userns",), ()):
        start = (program, "--unshare-user", *more)
        words = [*start, *NAMESPACES, "--unshare-net", *mounts([], [], [], network=False), "--", harmless]
        try:
            ran = subprocess.run(  # noqa: S603 - bubblewrap, on a program that does nothing
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S, check=False, env={}, cwd="/"
            )
        except (OSError, subprocess.SubprocessError) as failed:
            return (), f"it does not start ({type(failed).__name__})"
        if ran.returncode == 0:
            return start, ""
        problem = "the kernel or the container refuses it: " + ran.stderr.decode("utf-8", "replace").strip()[:200]
    return (), problem


def _find(name: str) -> str | None:
    places = (os.path.join(folder, name) for folder in SEARCH)
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


NAMESPACES = (
    "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "pegboard",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
SCRATCH_BYTES = 64_000_000


def mounts(
    readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str], *, network: bool,
    programs: Iterable[str] = (), scratch_bytes: int = SCRATCH_BYTES,
) -> list[str]:  # fmt: skip
    """What bubblewrap shows: the outer folders first, so that an inner one lies over them.

    Everything is read-only but what is writable and /tmp, which is empty, small and ends with the command. What is
    hidden inside of a writable folder stays where it is, as do the folders between: each is a mount of its own, and
    nobody can rename one. Else a command could carry it to a place that is not hidden from the next.
    """
    readable, writable, hidden = list(readable), list(writable), list(hidden)
    shown: list[tuple[str, list[str]]] = [
        ("/proc", ["--proc", "/proc"]),
        ("/dev", ["--dev", "/dev", "--remount-ro", "/dev"]),
        ("/tmp", ["--perms", "1777", "--size", str(scratch_bytes), "--tmpfs", "/tmp"]),  # noqa: S108 - inside
    ]
    if "/" not in readable:
        for path in SYSTEM:
            if os.path.islink(path):
                shown.append((path, ["--symlink", os.readlink(path), path]))
            elif os.path.isdir(path):
                shown.append((path, ["--ro-bind", path, path]))
        for path in (*SYSTEM_FILES, *(NETWORK_FILES if network else ())):
            shown.append((path, ["--ro-bind-try", path, path]))
    shown += [(path, ["--ro-bind-try", path, path]) for path in readable]
    shown += [(path, ["--bind-try", path, path]) for path in writable]
    shown += [(path, ["--bind", path, path]) for path in _between(writable, hidden)]
    for path in programs:
        if not within(path, (*SYSTEM, *readable, *writable)):
            shown.append((path, ["--ro-bind", path, path]))
    for path in (path for path in hidden if within(path, (*readable, *writable))):
        if os.path.isdir(path):
            shown.append((path, ["--perms", "000", "--tmpfs", path, "--remount-ro", path]))
        elif os.path.lexists(path):
            shown.append((path, ["--ro-bind", "/dev/null", path]))
    words = [word for _, given in sorted(shown, key=lambda one: len(one[0].rstrip("/").split("/"))) for word in given]
    return [*words, "--remount-ro", "/"]


def _between(writable: Iterable[str], hidden: Iterable[str]) -> set[str]:
    """The folders between a writable one and what is hidden inside of it."""
    found: set[str] = set()
    for folder in writable:
        for path in hidden:
            above = os.path.dirname(path)
            while above != folder and within(above, (folder,)):
                if os.path.isdir(above):
                    found.add(above)
                above = os.path.dirname(above)
    return found


def bubblewrap_words(found: Found, judged: Judged, policy: Policy, *, network: bool, scratch_bytes: int) -> list[str]:
    """The whole command line: bubblewrap, what it shows, the command."""
    programs = {path for program in judged.programs for path in (program.real, program.path)}
    shown = mounts(
        policy.readable, policy.writable, policy.hidden, network=network, programs=sorted(programs),
        scratch_bytes=scratch_bytes,
    )  # fmt: skip
    net = () if network else ("--unshare-net",)
    return [*found.bwrap, *NAMESPACES, *net, *shown, "--chdir", policy.cwd, "--", *judged.words]


def landlock_paths(judged: Judged, policy: Policy, scratch: str, *, network: bool) -> tuple[list[str], list[str]]:
    """What may be read and what may be written under Landlock; /proc is in neither, since other processes are there."""
    programs = {path for program in judged.programs for path in (program.real, program.path)}
    system = [*SYSTEM, *SYSTEM_FILES, *(NETWORK_FILES if network else ())]
    return [*system, *policy.readable, *sorted(programs)], [*policy.writable, scratch]


def can_hide(level: Level, policy: Policy) -> bool:
    """Whether a level keeps denied paths from programs: Landlock cannot take a part of an allowed folder away."""
    if level != "landlock":
        return True
    return not any(within(path, (*policy.readable, *policy.writable)) for path in policy.hidden)
