"""`pegboard worker`: the board's tools for other hosts."""

from __future__ import annotations

import contextlib
import signal
import sys
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
    async with open_client(settings.link(f"pegboard worker {group}"), tell=tell) as client:
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
