"""Where the lock of a folder is. Every board asks, and most have none: nothing is imported for the answer."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

NAME = "pegboard.lock"


def find_lock(start: Path) -> Path | None:
    """The nearest `pegboard.lock` in a folder or above it."""
    for folder in (start, *start.parents):
        path = folder / NAME
        with contextlib.suppress(OSError):
            if path.is_file():
                return path
    return None


def name_of(path: Path) -> str:
    """A lock as people and callers are told of it, to be used from here: a folder above the working directory, or the
    user's own, is nobody's business."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        here = Path.cwd()
        if path.is_absolute() and path.parent in (here, *here.parents):
            return os.path.relpath(path, here)
        return f"~/{path.relative_to(Path.home())}"
    return str(path)
