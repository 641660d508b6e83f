"""`pegboard gateway`: the board as an HTTP API."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from pegboard import ConfigError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pegboard import Host
    from pegboard.cli import ProgramRun


@click.command(short_help="Serve the board as an HTTP API.")
@click.option("--host", "bind", metavar="H", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=8080, show_default=True, help="0 takes a free one."
)
@click.option("--user", "user_id", metavar="ID", help="Who calls without a token; else `user_id` of the configuration.")
@click.option("--inspect", "inspects", is_flag=True, help="The board in a browser beside it, with pegboard-inspect.")
@click.pass_obj
def gateway(run: ProgramRun, bind: str, port: int, user_id: str | None, inspects: bool) -> None:
    """Serve the board as an HTTP API: GET /openapi.json, GET /tools, POST /tools/NAME."""
    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings
    from pegboard_serving import serve_until_signal, tools_of

    settings = next(
        (one.settings for one in run.load_board().plugins if isinstance(one.settings, HttpSettings)), HttpSettings()
    )

    async def main(host: Host) -> None:
        serve = partial(serve_gateway, host, bind=bind, port=port, user_id=user_id, settings=settings)
        tools = tools_of(host.board)
        async with _inspecting(host) if inspects else contextlib.nullcontext():
            await serve_until_signal(
                serve, lambda url: click.echo(f"serving {tools} at {url} (Ctrl-C ends it)", err=True)
            )

    with contextlib.redirect_stdout(sys.stderr):  # what tools print is for people
        run.open_host(main)


def _inspecting(host: Host) -> AbstractAsyncContextManager[str]:
    try:
        from pegboard_inspect import inspecting
    except ModuleNotFoundError as problem:
        raise ConfigError(
            "--inspect needs pegboard-inspect, which is not installed", hint="pip install pegboard-inspect"
        ) from problem
    return inspecting(host, tell=lambda address: click.echo(f"inspect: {address}", err=True))
