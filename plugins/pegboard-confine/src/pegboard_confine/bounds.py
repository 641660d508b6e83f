"""How much a confined program may use: rlimits, set from outside before it begins.

They are the kernel's, so they hold for each process alone, but for the number of processes, which counts in the user
namespace of the sandbox (since Linux 5.14) and holds for everybody but root. What all processes of a sandbox use
together is for control groups, which a host that no service manager started may not make.

.. versionadded:: 0.1
"""

from __future__ import annotations

import re
import signal

import attrs

__all__ = ["Bounds"]

_WORDS = {
    "max_memory_bytes": r"(?i)out of memory|MemoryError|cannot allocate memory|\bENOMEM\b|bad_alloc|heap limit",
    "max_processes": r"(?i)can't start new thread|resource temporarily unavailable|\bEAGAIN\b|cannot fork",
    "max_file_bytes": r"(?i)file too large|\bEFBIG\b|file size limit exceeded",
}
"""What programs say that reached a bound; how they end says less."""


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
