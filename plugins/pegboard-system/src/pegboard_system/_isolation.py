"""The isolations a command can run in, and which of them this host has.

`bubblewrap` shows a command only the folders that are bound, in namespaces of its own. `landlock` lets it open
only those, and takes sockets and signals to others away. `rlimits` bounds what it uses, and nothing else. Which of
them work is tried once for each host, since containers refuse what the kernel would grant.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import attrs

from pegboard_confine import kernel
from pegboard_confine.bubblewrap import INSTALL, NAMESPACES, NETWORK_FILES, SYSTEM, SYSTEM_FILES, mounts, within
from pegboard_confine.bubblewrap import probe as probe_bubblewrap
from pegboard_system._schema import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard_system._judge import Judged, Policy


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

    def how_to_get(self, *, landlock: bool = True) -> str:
        """How a person gets bubblewrap, or Landlock where that would do as well."""
        from pegboard_confine.sandbox import how_to_allow  # only now: it comes with the network of a sandbox

        bubblewrap = how_to_allow() if self.why.get("bubblewrap") else INSTALL
        return f"{bubblewrap}, or run Linux 6.2 or later with Landlock" if landlock else bubblewrap


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
        bwrap, problem = probe_bubblewrap()
        if problem:
            why["bubblewrap"] = problem
        else:
            levels.append("bubblewrap")
    return Found(tuple(levels), bwrap, why)


def _probe_landlock() -> str:
    found = kernel.abi_version()
    if found < kernel.LEAST_ABI:
        return f"the kernel has Landlock {found or 'not at all'}, and {kernel.LEAST_ABI} is needed (Linux 6.2)"
    return ""


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
