"""`pegboard serve`: the board as an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pegboard.cli import ProgramRun
    from pegboard.host import Host


@click.command()
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http", "sse", "websocket"]),
    default="stdio",
    show_default=True,
    help="How clients reach it.",
)
@click.option("--host", "bind", default="127.0.0.1", show_default=True, help="Where to listen; not for stdio.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--user", "user_id", metavar="ID", help="Who calls; else `user_id` of the configuration.")
@click.pass_obj
def serve(run: ProgramRun, transport: str, bind: str, port: int, user_id: str | None) -> None:
    """Serve the board to MCP clients."""

    async def main(host: Host) -> None:
        if transport == "stdio":
            await _serve_stdio(host, user_id)

    run.open_host(main)


async def _serve_stdio(host: Host, user_id: str | None) -> None:
    from pegboard.cli._output import answer
    from pegboard_mcp.server.app import open_server
    from pegboard_mcp.server.stdio import serve_stdio

    stream = answer()
    assert stream is not None
    async with open_server(host, user_id=user_id) as server:
        await serve_stdio(server, 0, stream.fileno())
