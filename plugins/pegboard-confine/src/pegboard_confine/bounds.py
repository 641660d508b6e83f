"""How much a confined program may use: rlimits, set from outside before it begins.

They are the kernel's, so they hold for each process alone, but for the number of processes, which counts in the user
namespace of the sandbox (since Linux 5.14) and holds for everybody but root. What all processes of a sandbox use
together is for control groups, which a host that no service manager started may not make: `unbounded_together`.

.. versionadded:: 0.1
"""

from __future__ import annotations

import re
import signal
from pathlib import Path

import attrs

__all__ = ["TOGETHER", "Bounds", "unbounded_together"]

TOGETHER = {"memory": "memory.max", "processes": "pids.max", "the processor": "cpu.max"}
"""What programs use together, and the file of a control group that bounds it (Linux, cgroup-v2.rst).

.. versionadded:: 0.1
"""

_WORDS = {
    "max_memory_bytes": r"(?i)out of memory|MemoryError|cannot allocate memory|\bENOMEM\b|bad_alloc|heap limit",
    "max_processes": r"(?i)can't start new thread|resource temporarily unavailable|\bEAGAIN\b|cannot fork",
    "max_file_bytes": r"(?i)file too large|\bEFBIG\b|file size limit exceeded",
}
"""What programs say that reached a bound; how they end says less."""


def unbounded_together(own: Path | None = None, groups: Path | None = None) -> tuple[str, ...]:
    """Which of `TOGETHER` no control group bounds for all that this process starts; of what the first version of
    control groups has, nothing is said.

    Args:
        own: the file that says of which group this process is; None: the kernel's.
        groups: where the groups lie; None: where they are mounted.

    .. versionadded:: 0.1
    """
    own, groups = own or Path("/proc/self/cgroup"), groups or Path("/sys/fs/cgroup")
    try:
        lines = own.read_text("ascii", "replace").splitlines()
    except OSError:
        lines = []
    first = {name for line in lines if line.count(":") > 1 for name in line.split(":")[1].split(",")}
    group = next((groups / line[3:].lstrip("/") for line in lines if line.startswith("0::")), groups)
    folders = [one for one in (group, *group.parents) if one == groups or groups in one.parents]

    def bounds(folder: Path, name: str) -> bool:
        try:
            return not (folder / name).read_text("ascii").startswith("max")
        except (OSError, ValueError):  # the group of all has none
            return False

    wanted = {what: name for what, name in TOGETHER.items() if name.partition(".")[0] not in first}
    return tuple(what for what, name in wanted.items() if not any(bounds(one, name) for one in folders))


@attrs.frozen
class Bounds:
    """How much a program may use.

    Args:
        max_memory_bytes: of each process: what it may write to and shares with nobody (RLIMIT_DATA). Not its address
            space: node and Java reserve more of that than any machine has.
        max_processes: processes and threads at once.
        max_file_bytes: the longest file that it may write.

    .. versionadded:: 0.1
    """

    max_memory_bytes: int = 4_000_000_000
    max_processes: int = 512
    max_file_bytes: int = 1_000_000_000

    def apply(self, pid: int) -> None:
        """Bound a process, and all that it starts from now on; no file of its memory is written when it dies.

        Raises:
            OSError: the kernel refuses it.
        """
        import resource  # there is none on Windows, where nothing is confined

        for kind, wanted in (
            (resource.RLIMIT_DATA, self.max_memory_bytes), (resource.RLIMIT_NPROC, self.max_processes),
            (resource.RLIMIT_FSIZE, self.max_file_bytes), (resource.RLIMIT_CORE, 0),
        ):  # fmt: skip
            hard = resource.prlimit(pid, kind)[1]
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.prlimit(pid, kind, (most, most))

    def reached(self, status: int, words: str) -> str | None:
        """The name of the bound that a program seems to have ended by; None: nothing tells.

        Args:
            status: with which it ended.
            words: its last ones.
        """
        if status in (128 + signal.SIGXFSZ, -signal.SIGXFSZ):
            return "max_file_bytes"
        return next((name for name, said in _WORDS.items() if re.search(said, words)), None)
