"""Where a user's own files lie: configuration, state, caches, data."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

_BELOW_HOME = {"config": ".config", "state": ".local/state", "cache": ".cache", "data": ".local/share"}


def user_folder(kind: Literal["config", "state", "cache", "data"]) -> Path:
    """The user's folder for files of Pegboard of one kind, whether it is there or not.

    What platformdirs says. On Linux, by the XDG Base Directory Specification, an absolute variable or home says it all;
    every start of the program asks, and the import of platformdirs would take half as long as Python itself.

    .. versionadded:: 0.1
    """
    named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    home = os.environ.get("HOME", "")
    if sys.platform == "linux" and not hasattr(sys, "getandroidapilevel"):
        if named.startswith("/"):
            return Path(named, "pegboard")
        if home.startswith("/"):
            return Path(home, _BELOW_HOME[kind], "pegboard")
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_path")("pegboard", appauthor=False))
