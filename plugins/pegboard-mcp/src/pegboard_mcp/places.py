"""Where other programs keep their MCP servers, on this platform: read here, and written by `pegboard connect`.

| program | the user's own | a project's |
|---|---|---|
| `claude` (Claude Desktop) | `claude_desktop_config.json` in its folder | |
| `claude-code` | `~/.claude.json`, or in `$CLAUDE_CONFIG_DIR` | `.mcp.json` |
| `vscode` | `mcp.json` in its user folder | `.vscode/mcp.json` |
| `cursor` | `~/.cursor/mcp.json` | `.cursor/mcp.json` |

Nothing that is found here is started: a person names a file with `--mcp-config`, or takes its servers over with
`pegboard config import`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pegboard.config import expand_home

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROGRAMS = ("claude", "claude-code", "vscode", "cursor")
TITLES = {"claude": "Claude Desktop", "claude-code": "Claude Code", "vscode": "VS Code", "cursor": "Cursor"}


class Place(NamedTuple):
    """A file of a program.

    Args:
        program: one of `PROGRAMS`.
        path: where it is, whether it is there or not.
        key: the key of its table of servers.
    """

    program: str
    path: Path
    key: str


class FoundFile(NamedTuple):
    """A file that another program left in its usual place.

    Args:
        program: one of `PROGRAMS`.
        path: where it is.
        servers: the names of the servers in it.
        problem: why it cannot be read, or None.
    """

    program: str
    path: Path
    servers: tuple[str, ...]
    problem: str | None = None


class Surroundings(NamedTuple):
    """What decides where files are.

    Args:
        home: the user's home folder.
        cwd: the working directory.
        environ: the variables of the host.
        platform: as `sys.platform` says it.
    """

    home: Path
    cwd: Path
    environ: Mapping[str, str]
    platform: str

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        home = expand_home("~")
        return cls(home, Path.cwd(), os.environ, sys.platform)

    @property
    def applications(self) -> Path:
        """The folder in which desktop programs keep what is the user's."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        name, otherwise = ("APPDATA", "AppData/Roaming") if self.platform == "win32" else ("XDG_CONFIG_HOME", ".config")
        named = Path(self.environ.get(name) or ".")
        return named if named.is_absolute() else self.home / otherwise


def user_place(program: str, around: Surroundings | None = None) -> Place:
    """The user's own file of a program."""
    around = around or Surroundings.here()
    if program == "claude":
        return Place(program, around.applications / "Claude" / "claude_desktop_config.json", "mcpServers")
    if program == "claude-code":
        folder = around.environ.get("CLAUDE_CONFIG_DIR")
        return Place(program, (Path(folder) if folder else around.home) / ".claude.json", "mcpServers")
    if program == "vscode":
        return Place(program, around.applications / "Code" / "User" / "mcp.json", "servers")
    return Place(program, around.home / ".cursor" / "mcp.json", "mcpServers")


def project_place(program: str, around: Surroundings | None = None, folder: Path | None = None) -> Place | None:
    """A project's file of a program; None where the program has none. The folder is the working directory's if none is
    named."""
    folder = folder or (around or Surroundings.here()).cwd
    if program == "claude":
        return None
    if program == "claude-code":
        return Place(program, folder / ".mcp.json", "mcpServers")
    if program == "vscode":
        return Place(program, folder / ".vscode" / "mcp.json", "servers")
    return Place(program, folder / ".cursor" / "mcp.json", "mcpServers")


def places(around: Surroundings | None = None) -> Iterator[Place]:
    """Every usual place: the user's own, and those of projects from the working directory upwards, the nearest of each
    program alone."""
    around = around or Surroundings.here()
    seen = set()
    for program in PROGRAMS:
        own = user_place(program, around)
        seen.add(own.path)
        yield own
        for folder in (around.cwd, *around.cwd.parents):
            place = project_place(program, around, folder)
            if place is not None and place.path not in seen and _is_file(place.path):
                yield place
                break


def found_files(around: Surroundings | None = None) -> list[FoundFile]:
    """The files that other programs left in their usual places, and the servers in them; nothing is started.

    A file in which there are none is left out; one that cannot be read has no names, and says why.
    """
    from pegboard_mcp.foreign import load, names_in

    found = []
    for place in places(around):
        if not _is_file(place.path):
            continue
        value, problem = load(place.path)
        names = names_in(value)
        if names or problem:
            found.append(FoundFile(place.program, place.path, names, problem))
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
