"""The files that a server is made of: what `pegboard trust` holds with the table that names them.

Held are its file of variables, its program where a path names it, and what its arguments name and looks like a program
or its settings. Not held are data, which change as the server works (a database among the arguments), a program that
is found on the PATH, what a script imports, `-m MODULE`, and what a package manager fetches: pin its version.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_mcp.definitions import ServerDefinition

SUFFIXES = frozenset(
    [
        ".bash",
        ".bat",
        ".cfg",
        ".cjs",
        ".class",
        ".cmd",
        ".conf",
        ".cs",
        ".dll",
        ".env",
        ".exe",
        ".go",
        ".ini",
        ".jar",
        ".js",
        ".json",
        ".jsx",
        ".kts",
        ".lua",
        ".mjs",
        ".mts",
        ".php",
        ".pl",
        ".ps1",
        ".py",
        ".pyc",
        ".pyz",
        ".rb",
        ".rs",
        ".sh",
        ".so",
        ".toml",
        ".ts",
        ".tsx",
        ".vbs",
        ".wasm",
        ".xml",
        ".yaml",
        ".yml",
        ".zsh",
    ]
)
"""Of programs and of their settings."""


def files_of(definition: ServerDefinition) -> Iterator[tuple[str, Path]]:
    """The files that are held, each with the key of the table that names it; those that are not there are left out."""
    if definition.env_file is not None:
        yield "env_file", Path(definition.env_file)
    folder = Path(definition.cwd or ".").absolute()
    for at, word in enumerate(definition.argv):
        file = _named(word, folder, is_command=at == 0)
        if file is not None:
            yield "args" if at else "command", file


def _named(word: str, folder: Path, *, is_command: bool) -> Path | None:
    """The file that a word of a command line names, `--config=FILE` too, if it is one that is held."""
    text = word.partition("=")[2] if word.startswith("-") else word
    if not text or (is_command and not set(text) & {os.sep, os.altsep}):
        return None
    file = folder / text
    try:
        return file if file.is_file() and (is_command or _is_program(file)) else None
    except (OSError, ValueError):  # a text that is not a path
        return None


def _is_program(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES or file.name.startswith(".env") or os.access(file, os.X_OK) or _begins(file)


def _begins(file: Path) -> bool:
    """Whether it begins as a script does, with the interpreter that runs it."""
    with file.open("rb") as opened:
        return opened.read(2) == b"#!"
