"""bubblewrap: whether it works here, and the words that show a program only what it may see.

Whoever runs a program of others under it begins here: the commands of pegboard-system, the servers of pegboard-mcp.

.. versionadded:: 0.1
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH112, PTH113, PTH114, PTH115, PTH118, PTH120

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "ALLOW",
    "INSTALL",
    "NAMESPACES",
    "NETWORK_FILES",
    "NOT_GIVEN",
    "NOT_WRITTEN",
    "PROC_HIDDEN",
    "PROC_READ_ONLY",
    "SCRATCH_BYTES",
    "SEARCH",
    "SYSTEM",
    "SYSTEM_FILES",
    "find_system_program",
    "mounts",
    "probe",
    "within",
]

SEARCH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where programs of the system are looked for. Never the working directory, never what the host's own PATH says.

.. versionadded:: 0.1
"""
INSTALL = "install bubblewrap (Debian: apt-get install bubblewrap)"
"""How a person gets bubblewrap.

.. versionadded:: 0.1
"""
ALLOW = (
    "let user namespaces be made here: sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, "
    "kernel.unprivileged_userns_clone=1 on Debian; in a container, one whose seccomp profile allows them"
)
"""How a person lets bubblewrap start, where it is installed.

.. versionadded:: 0.1
"""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""What programs themselves are made of; shown read-only.

.. versionadded:: 0.1
"""
NOT_GIVEN = frozenset(["/", "/dev", "/proc", "/sys"])
"""What a sandbox has of its own: that of the host is given to nobody.

.. versionadded:: 0.1
"""
NOT_WRITTEN = frozenset([*SYSTEM, *map(os.path.realpath, SYSTEM), "/boot", "/etc", "/run", "/var/run"])
"""What everybody's programs are made of, and what starts them.

.. versionadded:: 0.1
"""
SYSTEM_FILES = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/magic", "/etc/mime.types",
)  # fmt: skip
"""What they read beside themselves: where libraries lie, the time, kinds of files.

.. versionadded:: 0.1
"""
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/ssl")
"""What names and certificates are looked up in, where the network is allowed.

.. versionadded:: 0.1
"""
PROC_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/pressure", "/proc/sys", "/proc/sysrq-trigger")
"""What settings of the kernel lie in, which no namespace holds: those of root's are root's in a sandbox too, and a
program that stands in core_pattern runs outside (runc has the same list, `readonlyPaths`).

.. versionadded:: 0.1
"""
PROC_HIDDEN = (
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/kpagecgroup", "/proc/kpagecount",
    "/proc/kpageflags", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
    "/proc/timer_stats",
)  # fmt: skip
"""What the kernel tells of others, and of the machine (runc's `maskedPaths`).

.. versionadded:: 0.1
"""
PROBE_S = 5.0


def probe() -> tuple[tuple[str, ...], str]:
    """The words that start bubblewrap as it works here, with nested user namespaces forbidden where this version can;
    or none, and why. Starts it once or twice, and takes some milliseconds.

    .. versionadded:: 0.1
    """
    program = find_system_program("bwrap")
    harmless = find_system_program("true")
    if program is None or harmless is None:
        return (), "bubblewrap is not installed"
    problem = "bubblewrap does not start"
    for more in (("--disable-userns",), ()):
        start = (program, "--unshare-user", *more)
        words = [*start, *NAMESPACES, "--unshare-net", *mounts([], [], [], network=False), "--", harmless]
        try:
            ran = subprocess.run(  # noqa: S603 - bubblewrap, on a program that does nothing
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S, check=False, env={}, cwd="/"
            )
        except (OSError, subprocess.SubprocessError) as failed:
            return (), f"bubblewrap does not start ({type(failed).__name__})"
        if ran.returncode == 0:
            return start, ""
        problem = "the kernel or the container refuses it: " + ran.stderr.decode("utf-8", "replace").strip()[:200]
    return (), problem


def within(path: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of the roots or lies in one.

    .. versionadded:: 0.1
    """
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def find_system_program(name: str) -> str | None:
    """The file of a program of the system; None: it is not there.

    .. versionadded:: 0.1
    """
    places = (os.path.join(folder, name) for folder in SEARCH)
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), None)


NAMESPACES = (
    "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "pegboard",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
"""The namespaces of a sandbox, but that of the network; it ends with its parent.

.. versionadded:: 0.1
"""
SCRATCH_BYTES = 64_000_000
"""The size of /tmp.

.. versionadded:: 0.1
"""


def mounts(
    readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str], *, network: bool,
    programs: Iterable[str] = (), kept: Iterable[str] = (), scratch_bytes: int = SCRATCH_BYTES,
    more: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:  # fmt: skip
    """What bubblewrap shows: the outer folders first, so that an inner one lies over them.

    Everything is read-only but what is writable and /tmp, which is empty, small and ends with the command. What is
    hidden inside of a writable folder stays where it is, as do the folders between: each is a mount of its own, and
    nobody can rename one. Else a command could carry it to a place that is not hidden from the next.

    Args:
        readable, writable, hidden: paths of the host, shown or not under the same names.
        network: whether to show what names and certificates are looked up in.
        programs: files that are shown wherever they lie.
        kept: files and folders inside of a writable one that stay as they are.
        scratch_bytes: the size of /tmp.
        more: words for other paths, by where they are in the sandbox.

    .. versionadded:: 0.1
    """
    readable, writable, hidden, kept = list(readable), list(writable), list(hidden), list(kept)
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
    shown += [(path, ["--bind", path, path]) for path in _between(writable, [*hidden, *kept])]
    shown += [(path, ["--ro-bind", path, path]) for path in kept]
    for path in programs:
        if not within(path, (*SYSTEM, *readable, *writable)):
            shown.append((path, ["--ro-bind", path, path]))
    shown += [(path, ["--ro-bind-try", path, path]) for path in PROC_READ_ONLY]
    for path in (*PROC_HIDDEN, *(path for path in hidden if within(path, (*readable, *writable)))):
        if os.path.isdir(path):
            shown.append((path, ["--perms", "000", "--tmpfs", path, "--remount-ro", path]))
        elif os.path.lexists(path):
            shown.append((path, ["--ro-bind", "/dev/null", path]))
    shown += [(path, list(words)) for path, words in (more or {}).items()]
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
