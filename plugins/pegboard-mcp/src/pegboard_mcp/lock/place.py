"""Where the lock of a folder is. Every board asks, and most have none: nothing is imported for the answer."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
