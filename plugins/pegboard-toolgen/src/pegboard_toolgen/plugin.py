"""The hooks of pegboard-toolgen: one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`toolgen` with try, init, build and check."""
    from pegboard_toolgen.commands import toolgen

    cli.add_command(toolgen)
