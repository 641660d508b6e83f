"""Where a user's own files lie: configuration, state, caches, data."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["config", "state", "cache", "data"]
_BELOW_HOME = {"config": ".config", "state": ".local/state", "cache": ".cache", "data": ".local/share"}


def user_folder(kind: Kind) -> Path:
    """The user's folder for files of Pegboard of one kind, whether it is there or not.

    .. versionadded:: 0.1
    """
    from pathlib import Path

    return Path(name_user_folder(kind))


def name_user_folder(kind: Kind) -> str:
    """Its name. What platformdirs says; on Linux, by the XDG Base Directory Specification, an absolute variable or home
    says it all. Every start of the program asks, and the imports of platformdirs and pathlib would each take half as
    long as Python itself."""
    named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    home = os.environ.get("HOME", "")
    if sys.platform == "linux" and not hasattr(sys, "getandroidapilevel"):
        if named.startswith("/"):
            return os.path.join(named, "pegboard")  # noqa: PTH118 - see above
        if home.startswith("/"):
            return os.path.join(home, _BELOW_HOME[kind], "pegboard")  # noqa: PTH118
    import platformdirs

    return str(getattr(platformdirs, f"user_{kind}_path")("pegboard", appauthor=False))
