"""`pegboard worker`: the board's tools for other hosts; and `pegboard nats`, for those who run the server."""

from __future__ import annotations

import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pegboard import ConfigError
from pegboard_nats.settings import GROUP_NAME, NatsSettings, is_group, is_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard import Host
    from pegboard.cli import ProgramRun
    from pegboard_nats.bots import Bots
    from pegboard_nats.client import Client, Servers
    from pegboard_nats.settings import Role
    from pegboard_nats.source import Found
    from pegboard_nats.stats import Tally
    from pegboard_nats.status import GroupStatus
    from pegboard_nats.worker import Worker

    S = TypeVar("S", Worker, Bots)

SHORT = 8
"""Of a hash or the name of a worker, in a table."""
STATUS_QUIET_S = 0.5
"""Once a worker has answered: how long the next may take. What is left out here would be missed."""
STATUS_MOST_S = 60.0
"""How long all of them may take: some thousand, on a line of 1 Mbit/s."""
WENT = ("failed", "mean ms", "longest ms")


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
    from pegboard_nats.executor import at_worker_of

    _check_group(group)
    with at_worker_of(group), contextlib.redirect_stdout(sys.stderr):  # what tools print is for people
        settings = settings_of(run)

        async def main(host: Host) -> None:
            await _serve(host, settings, group, concurrency or settings.concurrency)

        run.open_host(main)


def _check_group(group: str) -> None:
    if not is_group(group):
        raise ConfigError(
            f"--group: {group[:80]!r} is not a name of a group",
            hint=f"write {GROUP_NAME}",
        )


async def _serve(host: Host, settings: NatsSettings, group: str, concurrency: int) -> None:
    """Be a worker until SIGTERM or Ctrl-C."""
    from pegboard_nats.wire import Subjects
    from pegboard_nats.worker import Worker

    def made(client: Client) -> Worker:
        subjects = Subjects(settings.prefix, group)
        return Worker(host, client, subjects, concurrency=concurrency, drain_s=settings.drain_s)

    def words(serving: Worker) -> str:
        tools = "1 tool" if serving.tools == 1 else f"{serving.tools} tools"
        return f"serving {tools} in the group {group!r}"

    await _serve_until_told(settings.link(f"pegboard worker {group}", role="worker", group=group), made, words)


async def _serve_until_told(servers: Servers, made: Callable[[Client], S], words: Callable[[S], str]) -> None:
    """Serve until SIGTERM, Ctrl-C or the end of its terminal, which let what runs finish; the second one lets it go."""
    import trio

    from pegboard.cli import Presses, ending_signals
    from pegboard_nats.client import open_client

    def tell(trouble: str) -> None:
        click.echo(trouble, err=True)

    interrupted = False
    async with open_client(servers, tell=tell) as client:
        serving = made(client)
        async with trio.open_nursery() as nursery:

            async def end_at_signals(task_status: trio.TaskStatus[None]) -> None:
                nonlocal interrupted
                presses, told = Presses(), False
                with trio.open_signal_receiver(*ending_signals()) as signals:
                    task_status.started()
                    async for number in signals:
                        interrupted = interrupted or number == signal.SIGINT
                        if (presses.again(number) or not told) and not serving.drain():
                            nursery.cancel_scope.cancel()
                        told = True

            await nursery.start(end_at_signals)
            await nursery.start(serving.run)
            click.echo(f"{words(serving)} at {client.address or 'NATS'} (Ctrl-C ends it)", err=True)
            await serving.wait_over()
            nursery.cancel_scope.cancel()
    if interrupted:
        raise KeyboardInterrupt


@click.group()
def nats() -> None:
    """What hosts and workers need of NATS."""


@nats.command(short_help="Write a server's configuration, and keys.")
@click.option("--folder", default="nats", show_default=True, metavar="DIR", help="Where the files are written.")
@click.option("--listen", default="127.0.0.1:4222", show_default=True, metavar="ADDRESS", help="Of the server.")
@click.option("--store", metavar="DIR", help="Where the server keeps its streams; else `streams` in the folder.")
@click.option("--group", "groups", multiple=True, metavar="G", help="A group whose workers hear no other; repeated.")
@click.option("--bot", "bots", multiple=True, metavar="USER", help="A bot that asks as that user; may be repeated.")
@click.pass_obj
def init(
    run: ProgramRun, folder: str, listen: str, store: str | None, groups: tuple[str, ...], bots: tuple[str, ...]
) -> None:
    """Write a server's configuration, and the keys of a host, workers, a watcher and bots."""
    from pegboard.cli import emit
    from pegboard.config import private_folder, write_hint, write_private
    from pegboard_nats.accounts import CONFIG, roles, server_config
    from pegboard_nats.credentials import KeyPair

    host, _, port = listen.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536):
        raise ConfigError(f"--listen: {listen[:80]!r} is not an address", hint="write HOST:PORT, as in 0.0.0.0:4222")
    for name in groups:
        _check_group(name)
    for name in bots:
        if not is_word(name):
            hint = "use 1 to 64 letters, digits, '-' and '_'"
            raise ConfigError(f"--bot: {name[:80]!r} is not a name of a bot", hint=hint)
    prefix = settings_of(run).prefix
    to = Path(folder)
    keys = {name: KeyPair.generate() for name in roles(prefix, bots, groups)}
    files = {f"{name}.nk": f"{pair.seed}\n" for name, pair in keys.items()}
    files[CONFIG] = server_config(listen, store or str((to / "streams").absolute()), keys, roles(prefix, bots, groups))
    if there := [name for name in files if (to / name).exists()]:
        raise ConfigError(f"{to / there[0]} is there already", hint="move it away, or name another --folder")
    try:
        private_folder(to, is_own=False)
        for name, text in files.items():
            write_private(to / name, text.encode())
    except OSError as problem:
        why = (problem.strerror or type(problem).__name__).lower()
        raise ConfigError(f"{to} cannot be written: {why}", hint=write_hint(problem, "name another --folder")) from None
    emit(
        f"{to / CONFIG}: run it with `nats-server -c {to / CONFIG}`\n"
        f"{', '.join(str(to / f'{name}.nk') for name in keys)}: secret keys; give each machine its own alone, and "
        "name it as `credentials` under [plugins.nats]\n"
    )


@nats.command("serve", short_help="Serve the board to bots that are on NATS.")
@click.option("--model", metavar="PROVIDER:MODEL", help="Answers questions; else that of the configuration.")
@click.option("--concurrency", type=click.IntRange(1), metavar="N", help="Requests at once; else of [plugins.nats].")
@click.pass_obj
def serve(run: ProgramRun, model: str | None, concurrency: int | None) -> None:
    """Serve the board to bots that are on NATS: tools, calls and questions on subjects."""
    from pegboard_nats.bots import Bots

    with contextlib.redirect_stdout(sys.stderr):  # what tools print is for people
        settings = settings_of(run)
        places = concurrency or settings.concurrency

        async def main(host: Host) -> None:
            def made(client: Client) -> Bots:
                drain_s = settings.drain_s
                return Bots(host, client, settings.prefix, concurrency=places, drain_s=drain_s, model=model)

            def words(serving: Bots) -> str:
                return f"serving bots below {settings.prefix}.llm, with {serving.model},"

            await _serve_until_told(settings.link("pegboard nats serve", role="host"), made, words)

        run.open_host(main)


@nats.command(short_help="Groups, their workers, and how calls went.")
@click.option("--group", "only", metavar="G", help="This group alone; else all that have workers or are configured.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def status(run: ProgramRun, only: str | None, as_json: bool) -> int:
    """Groups and their workers: what they serve, and how their calls went in the last minute.

    Every worker is asked, and no tool is called: the key of a watcher is enough. Exit status 1: a group has no worker.
    """
    import trio

    from pegboard.cli import emit_json, note
    from pegboard_nats.status import groups_of

    settings = settings_of(run)
    if only is not None:
        _check_group(only)
    name = "pegboard nats status"
    server, (answers, is_whole) = trio.run(_with_link, settings, name, "watcher", _workers_asked, settings.prefix, only)
    groups = groups_of(answers, settings.groups if only is None else [only])
    if as_json:
        emit_json({"server": server, "groups": [one.to_json() for one in groups], "complete": is_whole})
    elif answers:
        _emit_status(groups)
    if not is_whole:
        more = "; name a group: --group G" if only is None else ""
        note(f"more workers are there: they were still answering after {STATUS_MOST_S:g} s{more}")
    empty = [one.name for one in groups if not one.workers]
    where = ", ".join(settings.addresses)
    for name in empty:
        note(f"no worker of the group {name!r} answers at {where}; start one: pegboard worker --group {name}")
    if not groups:
        note(f"no worker answers at {where}; start one: pegboard worker --group G")
    for group in groups:
        for one in group.differing:
            usual, count = group.hashes[0]
            note(
                f"the worker {one.instance} of {group.name!r} has the definitions {one.hash[:SHORT]}, "
                f"and {count} of {len(group.workers)} have {usual[:SHORT]}"
            )
    return int(bool(empty) or not groups)


def _emit_status(groups: Iterable[GroupStatus]) -> None:
    """A line for each worker, and one for each tool that was called lately."""
    from pegboard.cli import emit, emit_table

    workers = [
        (
            *(group.name, one.instance[:SHORT], f"{one.machine}:{one.pid}", one.version, one.hash[:SHORT]),
            *(str(one.serves), f"{one.running}/{one.concurrency}", f"{one.calls_per_s:.1f}"),
            *_went(one.recent),
        )
        for group in groups
        for one in group.workers
    ]
    head = ("group", "worker", "machine", "version", "definitions", "tools", "running", "calls/s", *WENT)
    emit_table(head, workers, right=range(5, 11))
    tools = [
        (group.name, name, str(tally.calls), *_went(tally)) for group in groups for name, tally in group.tools.items()
    ]
    if tools:
        emit("\n")
        emit_table(("group", "tool", "calls", *WENT), tools, right=range(2, 6))


def _went(tally: Tally) -> tuple[str, ...]:
    mean_ms = 1000 * tally.took_s / max(1, tally.calls)
    return str(tally.failed), f"{mean_ms:.1f}", f"{1000 * tally.longest_s:.1f}"


async def _workers_asked(client: Client, prefix: str, group: str | None) -> tuple[dict[str, str], Found]:
    from pegboard_nats.source import find_workers

    found = await find_workers(client, "STATS", prefix, group, quiet_s=STATUS_QUIET_S, most_s=STATUS_MOST_S)
    return {"name": client.info.server_name, "version": client.info.version}, found


async def _with_link(settings: NatsSettings, name: str, role: Role, ask: Callable[..., Any], *arguments: Any) -> Any:
    """What `await ask(client, *arguments)` gives, over a link of that role, in a bounded time.

    Raises:
        ToolError: there is no link, or no answer.
        PluginError: the server does not let us ask.
    """
    import trio

    from pegboard import ErrorCode, PluginError, ToolError
    from pegboard_nats.checks import CONNECT_S
    from pegboard_nats.client import open_client
    from pegboard_nats.mailbox import DeniedError, LinkError, UnheardError

    problem: Exception
    async with open_client(settings.link(name, role=role)) as client:
        with trio.move_on_after(CONNECT_S):
            await client.wait_connected()
        try:
            return await ask(client, *arguments)
        except (LinkError, trio.TooSlowError) as caught:  # raised below: a nursery would make a group of it
            problem = caught
    text = f"NATS at {', '.join(settings.addresses)}: {str(problem) or 'it does not answer'}"
    if isinstance(problem, (DeniedError, UnheardError)):
        raise PluginError(text, hint=f"name the key of a {role} as `credentials` under [plugins.nats]")
    raise ToolError(ErrorCode.UPSTREAM_ERROR, text)


@nats.command("call-state", short_help="What became of a call that was recorded.")
@click.argument("call")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def call_state(run: ProgramRun, call: str, as_json: bool) -> int:
    """What became of a call that was recorded (`claims = true`); its error's `call` names it.

    Exit status 1: nobody began it, or that is longer ago than records are kept.
    """
    import trio

    from pegboard.cli import emit_json, emit_line, note
    from pegboard_nats import claims

    group, _, name = call.partition(".")
    if not (is_group(group) and claims.is_name(name)):
        raise ConfigError(f"{call[:80]!r} names no call", hint="give what `call` in the details of its error says")
    settings = settings_of(run)
    record = trio.run(
        _with_link, settings, "pegboard nats call-state", "host", _state_asked, settings.prefix, group, name
    )
    if as_json:
        emit_json({"call": call, **(record or {"state": None})})
    elif record is not None:
        emit_line(str(record.get("state")))
        if (result := claims.result_of(record)) is not None:
            note(result.text if result.error is None else f"{result.error.code.value}: {result.error.message}")
    if record is None:
        note(f"no worker began the call {call}, or that is longer ago than {claims.MAX_AGE_S // 60} minutes")
    return int(record is None)


async def _state_asked(client: Client, prefix: str, group: str, name: str) -> dict[str, Any] | None:
    from pegboard_nats import claims
    from pegboard_nats.wire import Subjects

    return await claims.state_of(client, Subjects(prefix, group), name)
