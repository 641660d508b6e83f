"""`pegboard inspect`: the board in a browser."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard import Host
    from pegboard.cli import ProgramRun


@click.command(short_help="The board in a browser.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser of this machine.")
@click.option(
    "--host",
    "bind",
    metavar="H",
    help="Where to listen; else `host` of [plugins.inspect], which is this machine alone.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=0, help="Where to listen; a free one by default."
)
@click.option("--user", "user_id", metavar="ID", help="Who calls; else `user_id` of the configuration.")
@click.option("--server", metavar="CMD|URL", help="One MCP server that is in no configuration, alone.")
@click.option("--transport", type=click.Choice(["stdio", "http", "sse", "websocket"]), help="How it is reached.")
@click.option("--protocol", type=click.Choice(["auto", "modern", "legacy"]), help="Which era --server is spoken to in.")
@click.pass_obj
def inspect(
    run: ProgramRun,
    opens: bool,
    bind: str | None,
    port: int,
    user_id: str | None,
    server: str | None,
    transport: str | None,
    protocol: str | None,
) -> None:
    """The board in a browser: find tools, call them by a form, see calls as they happen.

    The address lets one browser in, once; when it was used, the next one is told. It is served on this machine alone,
    unless [plugins.inspect] says a host, tokens, and a certificate with its key.

    With --server there is one MCP server on the board and nothing else: no configuration holds for it, nothing of it
    is accepted or kept, and its tools are called by your hand alone. It runs as any program that you start.
    """
    from pegboard_inspect.one_server import PAGE, board_of_server, page_of_asked, require_alone
    from pegboard_inspect.serving import serve_inspector, told_by
    from pegboard_serving import serve_until_signal

    board, pages = None, []
    if server is not None:
        require_alone(run)
        board = board_of_server(server, transport, protocol=protocol, overrides=run.overrides)
        pages = [page_of_asked(board)]
    elif given := [option for option, value in (("transport", transport), ("protocol", protocol)) if value]:
        raise click.UsageError(f"--{given[0]} says how --server is reached, and there is none")

    async def main(host: Host) -> None:
        with browsing() as browse:
            told = told_by(partial(click.echo, err=True))
            waiting = [browse] if opens else []

            def tell(address: str) -> None:
                address = address if board is None else f"{address}&page={PAGE}"
                if waiting:
                    waiting.pop()(address)
                told(address)

            serve = partial(serve_inspector, host, bind=bind, port=port, user_id=user_id, pages=pages, tell=tell)
            count = len(host.board.registry.plans)
            tools = "1 tool" if count == 1 else f"{count} tools"
            tools = tools if board is None else "one server, and nothing else"
            await serve_until_signal(serve, lambda url: click.echo(f"inspecting {tools} (Ctrl-C ends it)", err=True))

    with contextlib.redirect_stdout(sys.stderr):  # what tools print is for people
        run.open_host(main, board=board)


@contextlib.contextmanager
def browsing() -> Iterator[partial[None]]:
    """Opens an address as long as the block. Whoever is on this machine sees the arguments of a browser that is
    started: so it is given a file that only its user can read, and that leads on to the address."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="pegboard-inspect-") as folder:
        yield partial(_browse, folder)


def _browse(folder: str, address: str) -> None:
    import html
    import os
    import threading
    import webbrowser
    from pathlib import Path

    from pegboard.config import open_private

    file = Path(folder) / "open.html"
    number = open_private(file, os.O_WRONLY | os.O_TRUNC, is_own=True)
    with open(number, "w", encoding="utf-8") as page:  # noqa: PTH123 - a descriptor
        page.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(address)}">\n')
    threading.Thread(target=webbrowser.open, args=(file.as_uri(),), daemon=True).start()
