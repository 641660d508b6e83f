"""Where the lock of a folder is. Every board asks, and most have none: nothing is imported for the answer."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "pegboard.lock"


def find_lock(start: str | os.PathLike[str]) -> Path | None:
    """The nearest `pegboard.lock` in a folder or above it."""
    above, folder = "", os.fspath(start)
    while folder != above:
        above, name = folder, os.path.join(folder, NAME)  # noqa: PTH118 - pathlib takes long to import
        if os.path.isfile(name):  # noqa: PTH113
            from pathlib import Path

            return Path(name)
        folder = os.path.dirname(folder)  # noqa: PTH120
    return None


def name_of(path: Path) -> str:
    """A lock as people and callers are told of it, to be used from here: a folder above the working directory, or the
    user's own, is nobody's business."""
    from pathlib import Path

    from pegboard.config import expand_home

    with contextlib.suppress(OSError, ValueError):
        here = Path.cwd()
        if path.name == NAME and path.parent in (here, *here.parents):  # one that is found
            return os.path.relpath(path, here)
        return f"~/{path.relative_to(expand_home('~'))}"
    return str(path)
