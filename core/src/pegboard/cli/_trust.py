"""`pegboard trust`: accept a project's configuration as it stands now."""

from __future__ import annotations

from pathlib import Path

import click

from pegboard.cli._output import emit_line
from pegboard.errors import ConfigError


@click.command("trust", short_help="Accept a project's configuration as it stands now.")
@click.argument("file", metavar="[FILE]", required=False)
def command(file: str | None) -> None:
    """Accept a configuration file as it stands now, so that it may start programs and widen permissions.

    Without FILE it is the one that is found from here. A change of one byte ends the trust.
    """
    from pegboard.config import find_found_file, trust

    path = Path(file) if file is not None else find_found_file()
    if path is None:
        raise ConfigError("no configuration is found from here", hint="name it: pegboard trust FILE")
    digest = trust(path)
    emit_line(f"trusted {path} as it stands now (sha256 {digest[:16]}…)")
