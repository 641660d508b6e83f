"""`pegboard trust`: accept a project's configuration as it stands now."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import click

from pegboard.cli._output import emit_line, note
from pegboard.config import NAMES
from pegboard.errors import ConfigError, PegboardError


@click.command("trust", short_help="Accept a project's configuration as it stands now.")
@click.argument("file", metavar="[FILE]", required=False)
def command(file: str | None) -> None:
    """Accept a configuration file as it stands now, so that it may start programs and widen permissions.

    Without FILE it is the one that is found from here. The files that it names are accepted with it: files of
    variables, scripts, manifests, other programs' files of servers. A change of one byte ends the trust.
    """
    from pegboard.config import find_found_file, trust

    path = Path(file) if file is not None else find_found_file()
    if path is None:
        raise ConfigError("no configuration is found from here", hint="name it: pegboard trust FILE")
    _require_readable(path)
    named, problem = _named_files(path)
    digest = trust(path, named=named)
    emit_line(f"trusted {path} as it stands now (sha256 {digest[:16]}…)")
    for one in named:
        emit_line(f"  with {one}")
    if problem is not None:
        note(f"warning: what it names was not accepted, for it does not load: {problem}")
        note(f"hint: repair that, then run pegboard trust {shlex.quote(str(path))} again")


def _require_readable(path: Path) -> None:
    """Require that a configuration can be read at all: trust in one that is broken would end with its repairing.

    Raises:
        ConfigError: it cannot.
    """
    from pegboard.config._files import load_bytes, read_file

    if path.name in NAMES or path.suffix in (".toml", ".yaml", ".yml"):
        read_file(path, load_bytes(path))


def _named_files(path: Path) -> tuple[list[Path], str | None]:
    """The files that a configuration names and that are there; or why that cannot be told."""
    if path.name not in NAMES or not path.is_file():
        return [], None  # a list of accepted tools, which names none; or nothing, of which `trust` tells
    folder = path.absolute().parent
    named: dict[Path, None] = {}
    problems: list[PegboardError] = []
    starts = {Path.cwd(), folder}  # where the relative paths of programs may begin
    for start in sorted(starts):
        try:
            with contextlib.chdir(start):
                named |= dict.fromkeys(_named_from(folder / path.name))
        except PegboardError as problem:
            problems.append(problem)
    return list(named), str(problems[0]) if len(problems) == len(starts) else None


def _named_from(path: Path) -> list[Path]:
    """The files that it names, relative ones from the working directory on."""
    from pegboard.config import find_found_file, load_config
    from pegboard.registry.board import load_board

    is_found = find_found_file(path.parent) == path  # then it lies over the user's own
    config = load_config(cwd=path.parent, accept=True) if is_found else load_config(path)
    named = load_board(config).config.named_files(path)
    return [file.absolute() for file in named if file.is_file()]
