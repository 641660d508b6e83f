"""Where a user's own files lie: configuration, state, caches, data."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Literal

from pegboard.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["config", "state", "cache", "data"]
_BELOW_HOME = {"config": ".config", "state": ".local/state", "cache": ".cache", "data": ".local/share"}


def user_folder(kind: Kind) -> Path:
    """The user's folder for files of Pegboard of one kind, whether it is there or not.

    Raises:
        ConfigError: nothing says where the user's files lie.

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

    try:
        named = str(getattr(platformdirs, f"user_{kind}_path")("pegboard", appauthor=False))
    except RuntimeError:  # a user whom the system does not know, as in a container
        named = ""
    if not os.path.isabs(named):  # noqa: PTH117 - a text, as above
        hint = f"set HOME to a folder of this user, or XDG_{kind.upper()}_HOME"
        raise ConfigError("this user has no home folder", hint=hint)
    return named


def expand_home(path: str | os.PathLike[str]) -> Path:
    """A path as a person writes it: `~` is the user's home. One of a user who has none stays as it is, and whoever
    opens it says that nothing is there; `Path.expanduser` would raise a RuntimeError.

    .. versionadded:: 0.1
    """
    from pathlib import Path

    return Path(os.path.expanduser(path))  # noqa: PTH111 - see above


def working_folder() -> str:
    """The working directory.

    Raises:
        ConfigError: it was removed.
    """
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib takes long to import
    except FileNotFoundError:
        raise gone_folder() from None


def gone_folder() -> ConfigError:
    """The error of a working directory that was removed: the system's own names no file."""
    return ConfigError("the working directory is gone", hint="change to a folder that is there: cd ~")
