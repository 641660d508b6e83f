"""`pegboard worker`: the board's tools for other hosts; and `pegboard nats`, for those who run the server."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pegboard import ConfigError
from pegboard_nats.settings import NatsSettings, is_word

if TYPE_CHECKING:
    from pegboard import Host
    from pegboard.cli import ProgramRun


def settings_of(run: ProgramRun) -> NatsSettings:
    """`[plugins.nats]` of the board that the program runs with."""
    given = (one.settings for one in run.load_board().plugins)
    return next((one for one in given if isinstance(one, NatsSettings)), NatsSettings())


@click.command()
@click.option("--group", required=True, metavar="G", help="What hosts find the tools under: [plugins.nats.groups.G].")
@click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Calls at once; else that of [plugins.nats].")
@click.pass_obj
def worker(run: ProgramRun, group: str, concurrency: int | None) -> None:
    """Serve the board's tools to other hosts, over NATS."""
    if not is_word(group):
        raise ConfigError(
            f"--group: {group[:80]!r} is no name of a group", hint="use 1 to 64 letters, digits, '-' and '_'"
        )
    settings = settings_of(run)

    async def main(host: Host) -> None:
        await _serve(host, settings, group, concurrency or settings.concurrency)

    with contextlib.redirect_stdout(sys.stderr):  # what tools print is for people
        run.open_host(main)


async def _serve(host: Host, settings: NatsSettings, group: str, concurrency: int) -> None:
    """Serve until SIGTERM or Ctrl-C, which let calls that run finish; the second one lets them go."""
    import trio

    from pegboard_nats.client import open_client
    from pegboard_nats.wire import Subjects
    from pegboard_nats.worker import Worker

    def tell(trouble: str) -> None:
        click.echo(f"no link to NATS: {trouble}; it is tried again", err=True)

    interrupted = False
    async with open_client(settings.link(f"pegboard worker {group}", role="worker"), tell=tell) as client:
        serving = Worker(
            host,
            client,
            Subjects(settings.prefix, group),
            concurrency=concurrency,
            drain_s=settings.drain_s,
        )
        async with trio.open_nursery() as nursery:

            async def end_at_signals(task_status: trio.TaskStatus[None]) -> None:
                nonlocal interrupted
                with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                    task_status.started()
                    async for number in signals:
                        interrupted = interrupted or number == signal.SIGINT
                        if not serving.drain():
                            nursery.cancel_scope.cancel()

            await nursery.start(end_at_signals)
            await nursery.start(serving.run)
            tools = "1 tool" if serving.tools == 1 else f"{serving.tools} tools"
            click.echo(
                f"serving {tools} in the group {group!r} at {client.address or 'NATS'} (Ctrl-C ends it)", err=True
            )
            await serving.wait_over()
            nursery.cancel_scope.cancel()
    if interrupted:
        raise KeyboardInterrupt


@click.group()
def nats() -> None:
    """What hosts and workers need of NATS."""


@nats.command()
@click.option("--folder", default="nats", show_default=True, metavar="DIR", help="Where the files are written.")
@click.option("--listen", default="127.0.0.1:4222", show_default=True, metavar="ADDRESS", help="Of the server.")
@click.pass_obj
def init(run: ProgramRun, folder: str, listen: str) -> None:
    """Write a server's configuration, and the keys of a host, a worker and a watcher."""
    from pegboard.cli import emit
    from pegboard.config import private_folder, write_private
    from pegboard_nats.accounts import CONFIG, roles, server_config
    from pegboard_nats.credentials import KeyPair

    prefix = settings_of(run).prefix
    to = Path(folder)
    keys = {name: KeyPair.generate() for name in roles(prefix)}
    files = {f"{name}.nk": f"{pair.seed}\n" for name, pair in keys.items()}
    files[CONFIG] = server_config(prefix, listen, str((to / "streams").absolute()), keys)
    if there := [name for name in files if (to / name).exists()]:
        raise ConfigError(f"{to / there[0]} is there already", hint="move it away, or name another --folder")
    try:
        private_folder(to)
        for name, text in files.items():
            write_private(to / name, text.encode())
    except OSError as problem:
        why = (problem.strerror or type(problem).__name__).lower()
        raise ConfigError(f"{to} cannot be written: {why}", hint="name another --folder") from None
    emit(
        f"{to / CONFIG}: run it with `nats-server -c {to / CONFIG}`\n"
        f"{to / 'host.nk'}, {to / 'worker.nk'}, {to / 'watcher.nk'}: secret keys; give each machine its own alone, and "
        "name it as `credentials` under [plugins.nats]\n"
    )
