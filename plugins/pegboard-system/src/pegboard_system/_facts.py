"""What `system_info` tells, without starting a program: the standard library's `platform` would run `uname`."""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH109, PTH123

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard_system._schema import SystemFacts


def system_facts() -> SystemFacts:
    """What the host is. What cannot be known is an empty text."""
    system, release, version, machine = _names()
    libc = "-".join(part for part in ("with", "".join(platform.libc_ver())) if part)
    return {
        "platform": "-".join(part for part in (system, release, machine, libc if libc != "with" else "") if part),
        "system": system,
        "release": release,
        "version": version,
        "machine": machine,
        "processor": _processor() or machine,
        "python_version": platform.python_version(),
        "cwd": _here(),
        "user": _user(),
    }


def _names() -> tuple[str, str, str, str]:
    if hasattr(os, "uname"):
        found = os.uname()
        return found.sysname, found.release, found.version, found.machine
    return platform.system(), platform.release(), platform.version(), platform.machine()


@cache
def _processor() -> str:
    """The model's name, as Linux tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read(65_536).splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _here() -> str:
    try:
        return os.getcwd().encode("utf-8", "backslashreplace").decode()
    except OSError:
        return ""  # it was removed


def _user() -> str:
    """Whom the host runs as; by the system, not by variables that anybody may set."""
    if sys.platform == "win32":
        import getpass

        return getpass.getuser()
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
