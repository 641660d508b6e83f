"""`pegboard new plugin`: a plugin package that passes its own tests."""

from __future__ import annotations

from pathlib import Path

import click

from pegboard.cli._output import emit_line, note
from pegboard.config import write_hint
from pegboard.errors import ConfigError


@click.group("new", short_help="Make a package.")
def command() -> None:
    """Make a package."""


@command.command("plugin", short_help="A plugin package that passes its own tests.")
@click.argument("name")
@click.option("--in", "folder", metavar="DIR", default=".", help="Where the package's folder goes; here if not said.")
def make(name: str, folder: str) -> None:
    """A plugin package that passes its own tests: pyproject, README, tests, entry point."""
    from pegboard.testing.scaffold import make_plugin

    try:
        made = make_plugin(name, Path(folder))
    except OSError as problem:
        why = problem.strerror or type(problem).__name__
        raise ConfigError(
            f"nothing can be made in {folder}: {why}",
            hint=write_hint(problem, "name a folder that you may write to"),
        ) from None
    emit_line(str(made))
    note(f"next: pip install -e '{made}[test]', then cd {made}, pytest, and pegboard check")
