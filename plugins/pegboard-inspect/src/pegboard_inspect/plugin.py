"""The hooks of pegboard-inspect. Nothing here imports hypercorn or reads a file: `pegboard inspect` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import hookimpl

if TYPE_CHECKING:
    import click

    from pegboard_inspect.pages import Page
    from pegboard_inspect.settings import InspectSettings


@hookimpl
def provide_settings() -> type[InspectSettings]:
    """Where it listens, and who is let in."""
    from pegboard_inspect.settings import InspectSettings

    return InspectSettings


@hookimpl
def add_hookspecs() -> Any:
    """`provide_pages`."""
    from pegboard_inspect import hookspecs

    return hookspecs


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`inspect`."""
    from pegboard_inspect.command import inspect

    cli.add_command(inspect)


@hookimpl
def provide_pages() -> list[Page]:
    """Two pages of the inspector itself, made as any plugin makes one."""
    from pegboard_inspect.own_pages import pages

    return pages()
