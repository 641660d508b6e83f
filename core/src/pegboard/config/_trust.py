"""Which discovered files a person trusts, by real path and SHA-256 of the content; and with them the files
that they name, as a file of variables or the script that a server is.

Each of those is read at every load, so a large one is held as git's index holds its files: by size, inode and the times
of its last changes, which who writes to it cannot set back. A file that is not there is not held; who reads it says so,
and once it is there it has to be accepted. What is held is held when the configuration loads: what changes while a host
runs is seen at the next load.

The list is a small JSON file in the user's state folder, written beside itself and moved into place, readable by its
owner alone. A list that cannot be read accepts nothing.
"""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from pegboard.config._folders import user_folder
from pegboard.config._private import private_folder, write_hint, write_private
from pegboard.errors import ConfigError
from pegboard.limits import DIGESTED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILE = "trusted.json"
MAX_TRUSTED = DIGESTED_BYTES
"""The largest file that can be trusted, in bytes."""

MAX_READ = 1024 * 1024
"""Named files up to this size are held by their content, in bytes."""
MAX_NAMED = 1000
"""How many files one configuration may name and have held."""
MAX_LISTED = 1000
"""Above so many files those are forgotten that are not there any more: every load reads the list, and folders that were
made for an hour would stay in it for good."""
_LARGE = "large:"


def default_state_dir() -> Path:
    """The folder of the user's own in which the list is kept."""
    return user_folder("state")


def trust(file: Path, *, named: Iterable[Path] = (), state_dir: Path | None = None) -> str:
    """Accept a configuration file as it stands now, and the files that it names; a change of one byte ends that.

    Args:
        file: the configuration.
        named: files whose content counts as its own, see `Config.named_files`; those that are not there are passed
            over.
        state_dir: where the list is; None: the platform's folder.

    Returns:
        The SHA-256 of the content that was accepted, as hex digits.

    Raises:
        ConfigError: the file cannot be read, it names too many, or the list cannot be written.

    .. versionadded:: 0.1
    """
    from pegboard.config._files import load_bytes

    content = load_bytes(file, MAX_TRUSTED)
    folder = state_dir or default_state_dir()
    trusted = _read(folder / FILE)
    stamps = {_key(one): stamp for one in named if (stamp := _stamp(one)) is not None}
    if len(stamps) > MAX_NAMED:
        raise ConfigError(f"{file} names more than {MAX_NAMED} files", hint="name fewer, or a script that has the rest")
    digest = _digest(content)
    if len(trusted) > MAX_LISTED:
        trusted = {one: known for one, known in trusted.items() if os.path.lexists(one)}
    trusted |= {**stamps, _key(file): digest}
    try:
        private_folder(folder)
        write_private(folder / FILE, (json.dumps(trusted, indent=1, sort_keys=True) + "\n").encode("utf-8"))
    except OSError as problem:
        raise ConfigError(
            f"{folder / FILE} cannot be written: {problem.strerror}",
            hint=write_hint(problem, "let this user write it and its folder"),
        ) from None
    return digest


def is_trusted(file: Path, content: bytes, *, state_dir: Path | None = None) -> bool:
    """Whether this very content of the file was accepted.

    .. versionadded:: 0.1
    """
    return _read((state_dir or default_state_dir()) / FILE).get(_key(file)) == _digest(content)


def is_held(file: Path, *, state_dir: Path | None = None) -> bool | None:
    """Whether a file that a configuration names was accepted as it stands; None: there is nothing that could be read.

    .. versionadded:: 0.1
    """
    # What was noted by its content is read by its content again, though it may have become large since.
    known = _read((state_dir or default_state_dir()) / FILE).get(_key(file))
    stamp = _stamp(file, whole=known is not None and not known.startswith(_LARGE))
    return None if stamp is None else stamp == known


def _stamp(file: Path, *, whole: bool = False) -> str | None:
    """What identifies a named file, a large one by its content only if `whole`; None: it is not a file, or cannot be
    read."""
    limit = MAX_TRUSTED if whole else MAX_READ
    try:
        # A pipe would wait for its writer.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as opened:  # noqa: PTH123 - a descriptor, no path
            now = os.fstat(descriptor)
            if not stat.S_ISREG(now.st_mode):
                return None
            content = opened.read(limit + 1)
    except (OSError, ValueError):
        return None
    if len(content) <= limit:
        return _digest(content)
    return f"{_LARGE}{now.st_size}:{now.st_dev}:{now.st_ino}:{now.st_mtime_ns}:{now.st_ctime_ns}"


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
