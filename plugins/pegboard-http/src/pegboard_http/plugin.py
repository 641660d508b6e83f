"""The hooks of pegboard-http. Nothing here imports Starlette or hypercorn: `pegboard gateway` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    import click

    from pegboard_http.settings import HttpSettings


@hookimpl
def provide_settings() -> type[HttpSettings]:
    """`tokens`, `allowed_hosts`, bounds."""
    from pegboard_http.settings import HttpSettings

    return HttpSettings


@hookimpl
def register_commands(cli: click.Group) -> None:
    """`gateway`."""
    from pegboard_http.command import gateway

    cli.add_command(gateway)
