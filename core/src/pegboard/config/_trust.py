"""Which found files a person has accepted, as they stood: real path and SHA-256 of the content.

The list is a small JSON file in the user's state folder, written beside itself and moved into place, readable by its
owner alone. A list that cannot be read accepts nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from pegboard.config._folders import user_folder
from pegboard.errors import ConfigError

FILE = "trusted.json"
MAX_TRUSTED = 16 * 1024 * 1024
"""The largest file that can be trusted, in bytes: a list of accepted tools may be longer than a configuration."""


def default_state_dir() -> Path:
    """The folder of the user's own in which the list is kept."""
    return user_folder("state")


def trust(file: Path, *, state_dir: Path | None = None) -> str:
    """Accept a configuration file as it stands now; a change of one byte ends that.

    Returns:
        The SHA-256 of the content that was accepted, as hex digits.

    Raises:
        ConfigError: the file cannot be read, or the list cannot be written.

    .. versionadded:: 0.1
    """
    from pegboard.config._files import load_bytes

    content = load_bytes(file, MAX_TRUSTED)
    folder = state_dir or default_state_dir()
    trusted = _read(folder / FILE)
    digest = trusted[_key(file)] = _digest(content)
    try:
        _write(folder / FILE, json.dumps(trusted, indent=1, sort_keys=True) + "\n")
    except OSError as problem:
        raise ConfigError(f"{folder / FILE} cannot be written: {problem.strerror}") from None
    return digest


def is_trusted(file: Path, content: bytes, *, state_dir: Path | None = None) -> bool:
    """Whether this very content of the file was accepted.

    .. versionadded:: 0.1
    """
    return _read((state_dir or default_state_dir()) / FILE).get(_key(file)) == _digest(content)


def _key(file: Path) -> str:
    return str(file.resolve())


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[str, str]:
    try:
        trusted = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(trusted, dict):
        return {}
    return {file: digest for file, digest in trusted.items() if isinstance(digest, str)}


def _write(path: Path, text: str) -> None:
    import os
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE}.")  # made with mode 0600
    try:
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor, no path
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        os.unlink(name)  # noqa: PTH108 - pathlib would say the same
        raise
