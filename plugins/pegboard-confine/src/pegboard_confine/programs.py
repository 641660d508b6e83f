"""What has to be seen for a program to start: its file, what its links lead to, its interpreter, and the libraries of
the installation that each of them belongs to; of that nothing else, for credentials often lie beside.

.. versionadded:: 0.1
"""

# Links have to be seen one by one; pathlib would fold them.
# ruff: noqa: PTH110, PTH114, PTH115, PTH118, PTH119, PTH120, PTH123

from __future__ import annotations

import os
import re
import shutil

from pegboard_confine.bubblewrap import SYSTEM, within

__all__ = ["needs_of"]

FOLDERS = frozenset({"bin", "sbin", "shims"})
"""Where installations have their programs."""
PARTS = (
    "bin", "sbin", "shims", "lib", "lib64", "libexec", "plugins", "pyenv.d", "versions", "version", "node_modules",
    "package.json", "pyvenv.cfg",
)  # fmt: skip
"""What an installation has beside them that they need: of nvm, pyenv, virtual environments and their like."""
MAX_STEPS = 64
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?([^\s=]+))?")


def needs_of(program: str, path: str) -> list[str]:
    """Paths outside of the system's folders that a program needs to be seen.

    Args:
        program: the whole path of its file.
        path: the `PATH` by which it finds its interpreter.

    .. versionadded:: 0.1
    """
    needs: set[str] = set()
    todo, seen = [program], set[str]()
    while todo and len(seen) < MAX_STEPS:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if not within(at, SYSTEM):
            needs |= {at, *_beside(at)}
        if os.path.islink(at):
            todo.append(os.path.normpath(os.path.join(os.path.dirname(at), os.readlink(at))))
        todo += [os.path.realpath(at), *_interpreters(at, path)]
    return sorted(one for one in needs if not within(os.path.dirname(one), needs))


def _beside(file: str) -> list[str]:
    folder, name = os.path.split(os.path.dirname(file))
    parts = [os.path.join(folder, part) for part in PARTS] if name in FOLDERS else []
    return [part for part in parts if os.path.exists(part)]


def _interpreters(file: str, path: str) -> list[str]:
    """The interpreter that the first line of a script names, and the one that `env` is told to find."""
    try:
        with open(file, "rb") as opened:
            found = _SHEBANG.match(opened.read(512))
    except OSError:
        return []
    if found is None:
        return []
    first, second = os.fsdecode(found[1]), os.fsdecode(found[2] or b"")
    located = shutil.which(second, path=path) if os.path.basename(first) == "env" and second else None
    return [one for one in (first, located) if one]
