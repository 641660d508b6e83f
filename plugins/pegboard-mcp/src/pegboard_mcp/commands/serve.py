"""`pegboard serve`: the board as an MCP server."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from typing import Literal

    from pegboard import Host
    from pegboard.cli import ProgramRun
    from pegboard_mcp.settings import McpSettings

    Transport = Literal["http", "sse", "websocket"]

MAX_PROCESSES = 256


@click.command()
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http", "sse", "websocket"]),
    default="stdio",
    show_default=True,
    help="How clients reach it.",
)
@click.option(
    "--host", "bind", metavar="H", default="127.0.0.1", show_default=True, help="Where to listen; not for stdio."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--user", "user_id", metavar="ID", help="Who calls; else `user_id` of the configuration.")
@click.option(
    "--processes",
    type=click.IntRange(1, MAX_PROCESSES),
    metavar="N",
    help="So many processes serve on one port, and SIGHUP replaces them; not for stdio.",
)
@click.option("--handed-over", type=click.IntRange(0), hidden=True)
@click.pass_obj
def serve(
    run: ProgramRun,
    transport: str,
    bind: str,
    port: int,
    user_id: str | None,
    processes: int | None,
    handed_over: int | None,
) -> None:
    """Serve the board to MCP clients."""
    from pegboard import ConfigError
    from pegboard.cli import answer_descriptor
    from pegboard_mcp.settings import McpSettings

    if transport == "stdio":
        _require_no_address(click.get_current_context())
    if processes is not None:
        _require_processes(transport)
    if transport == "stdio" and importlib.util.find_spec("fcntl") is None:
        # What is waited for on a descriptor is asked of the system, and Windows knows that of sockets alone.
        raise ConfigError("stdio is served on POSIX systems alone, not on Windows", hint="take another --transport")
    importlib.import_module("pegboard_mcp.server._sdk")  # refuses an SDK that does not fit before a source is started
    settings = next(
        (one.settings for one in run.load_board().plugins if isinstance(one.settings, McpSettings)), McpSettings()
    )

    if processes is not None:
        _serve_processes(run, transport, bind, port, user_id, processes, settings)  # type: ignore[arg-type]
        return
    write_fd = answer_descriptor()

    async def main(host: Host) -> None:
        if transport == "stdio":
            await _serve_stdio(host, write_fd, user_id, settings)
        else:
            await _serve_http(host, transport, bind, port, user_id, settings, handed_over)  # type: ignore[arg-type]

    # What tools print is for people: a command of a plugin is lent stdout, and here it is the wire.
    with contextlib.redirect_stdout(sys.stderr):
        run.open_host(main)


async def _serve_stdio(host: Host, write_fd: int | None, user_id: str | None, settings: McpSettings) -> None:
    import trio

    from pegboard import ConfigError
    from pegboard.cli import Presses, ending_signals, is_terminal, leave_within
    from pegboard_mcp.server.app import make_server
    from pegboard_mcp.server.stdio import GONE_S, Stdio
    from pegboard_serving import at_signals

    if write_fd is None:
        raise ConfigError("stdout is closed: no client can be served there", hint="take another --transport")
    if is_terminal(sys.stdin):
        click.echo("serving on stdin and stdout, one JSON message a line; Ctrl-D ends it", err=True)
    server = make_server(host, user_id=user_id)
    gone = partial(leave_within, GONE_S, 0, "the client is gone; what did not end by itself was left behind")
    stdio = Stdio(0, write_fd, drain_s=settings.stop_timeout_s, on_end=server.end_listening, on_closed=gone)
    threading.Thread(target=stdio.watch, name="pegboard stdin", daemon=True).start()
    presses, is_told = Presses(), False

    def end(number: int) -> None:
        nonlocal is_told
        if presses.again(number) or not is_told:
            stdio.end()
        is_told = True

    ending = tuple(number for number in ending_signals() if number != signal.SIGINT)
    async with trio.open_nursery() as nursery:
        await nursery.start(at_signals, ending, end)
        await server.run(stdio, stdio.out, server.create_initialization_options())
        nursery.cancel_scope.cancel()


async def _serve_http(
    host: Host,
    transport: Transport,
    bind: str,
    port: int,
    user_id: str | None,
    settings: McpSettings,
    descriptor: int | None = None,
) -> None:
    """Serve until a signal says to end; `descriptor`: where another process of the program hands over its socket."""
    from pegboard_mcp.server.http import serve_http
    from pegboard_serving import serve_until_signal, tools_of

    serve = partial(serve_http, host, transport=transport, bind=bind, port=port, user_id=user_id, settings=settings)
    if descriptor is not None:
        from pegboard_mcp.server.processes import handed_over

        async with handed_over(descriptor) as (shared, tell):
            await serve_until_signal(partial(serve, shared=shared), tell)
        return
    tools = tools_of(host.board)
    await serve_until_signal(serve, lambda url: click.echo(f"serving {tools} at {url} (Ctrl-C ends it)", err=True))


# -- several processes


def _require_no_address(ctx: click.Context) -> None:
    from pegboard import ConfigError

    for name, option in (("bind", "--host"), ("port", "--port")):
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise ConfigError(f"{option} is not for stdio, which listens nowhere", hint="say --transport http")


def _require_processes(transport: str) -> None:
    from pegboard import ConfigError

    if transport == "stdio":
        raise ConfigError("--processes is not for stdio, which has one client", hint="say --transport http")
    if importlib.util.find_spec("fcntl") is None:
        raise ConfigError("--processes is for POSIX systems alone, not for Windows", hint="leave it out")


def _serve_processes(
    run: ProgramRun,
    transport: Transport,
    bind: str,
    port: int,
    user_id: str | None,
    count: int,
    settings: McpSettings,
) -> None:
    """Look after the processes that serve, until a signal says to end."""
    import trio

    from pegboard_mcp.commands.connect import options_of, running_program
    from pegboard_mcp.server.http import endpoint_of, require_caller
    from pegboard_mcp.server.processes import Processes
    from pegboard_serving import bound_socket, tools_of

    require_caller(bind, settings)
    board = run.load_board()
    if board.limit_stores.choose()[0] == "memory":
        tell('warning: limits are counted in each process alone; `limit_store = "sqlite"` counts in all of them')
    if settings.task_after_s is not None and settings.task_store == "memory":
        tell('warning: what tasks come to is lost with their process; `task_store = "sqlite"` keeps it for all of them')
    with bound_socket(bind, port) as bound:
        address = bound.getsockname()
        command = [*running_program(), *options_of(run), *(["--debug"] if run.debug else []), "serve"]
        command += ["--transport", transport, "--host", bind, "--port", str(address[1])]
        command += ["--user", user_id] if user_id is not None else []
        parent = Processes(command, count, bound, settings.stop_timeout_s, tell)

        where = f"{tools_of(board)} at {endpoint_of(transport, address)}"
        ready = f"serving {where} in {count} processes (Ctrl-C ends it, SIGHUP replaces them)"
        trio.run(parent.run, lambda: tell(ready))


def tell(text: str) -> None:
    """Say something to the person who runs it."""
    click.echo(text, err=True)
