"""`pegboard probe`: look at a server before it is configured."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError
from pegboard.cli import Finite
from pegboard.text import visible, visible_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import Board
    from pegboard.cli import ProgramRun
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.probe.looking import Report

NAME = "probed"
"""What a server is called that has no name yet."""
MAX_SHOWN = 40


def offer(file: Path | None = None) -> str:
    """What is said wherever servers come in that nobody looked at.

    Args:
        file: the one that has them, where no configuration has them yet.
    """
    first = "" if file is None else f" --mcp-config {shlex.quote(str(file))}"
    return f"what you do not know yet, look at before you use it: pegboard{first} probe NAME"


class ProbeCommand(click.Command):
    """Says where a command stands to whoever gave its options to probe."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> click.Context:
        """The context of the command.

        Raises:
            click.UsageError: an option is not one of probe.
        """
        words = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.NoSuchOption as problem:
            if words[0].startswith("-") or "--" in words:
                raise
            message = f"{problem.option_name} is not an option of probe; a command stands behind --: pegboard probe -- "
            raise click.UsageError(message + shlex.join(words)[:200], problem.ctx) from None


@click.command("probe", cls=ProbeCommand, short_help="Look at an MCP server before it is configured.")
@click.argument("server", nargs=-1, required=True)
@click.option(
    "--wait",
    "wait_s",
    type=Finite(0, 3600),
    default=60.0,
    show_default=True,
    metavar="S",
    help="How long it is watched before it is asked again.",
)
@click.option("--read", multiple=True, metavar="PATH", help="A file or folder that it sees.")
@click.option("--write", multiple=True, metavar="PATH", help="A folder that it may change.")
@click.option("--network", multiple=True, metavar="HOST", help="A host that it may reach.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable that it is told.")
@click.option("--unconfined", is_flag=True, help="Start it without a sandbox, with all of your rights.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@click.pass_obj
def probe(
    run: ProgramRun, server: tuple[str, ...], wait_s: float, read: tuple[str, ...], write: tuple[str, ...],
    network: tuple[str, ...], env: tuple[str, ...], unconfined: bool, as_json: bool,
) -> int:  # fmt: skip
    """Look at an MCP server before it is configured.

    SERVER is the name of a configured one, an address, or a command behind `--`. It is started in a sandbox without
    your files, your variables and the network, and asked what it offers: twice as this host, a minute apart and after
    a restart, and once under another client's name. Nothing of it is called. What it says is looked through for
    orders, for what hides, for arguments that ask for too much; whom it wanted to reach and what it looked for is
    noted. Exit status: 0 nothing was found but notes; 1 something was; 2 it could not be looked at and did nothing bad,
    or wrong usage.
    """
    import trio

    from pegboard_mcp.probe.checks import verdict_of
    from pegboard_mcp.probe.looking import probe as look
    from pegboard_mcp.probe.reporting import to_json

    board = run.load_board(lenient=True)
    table = _table(server, read, write, network, env)
    definition = _definition(board, server, table, unconfined=unconfined)
    others = [name for name in _known(board) if name != definition.name]
    with _new_home(definition) as at_home:
        report = trio.run(lambda: look(at_home, board.tools.values(), others, wait_s=wait_s, tell=_note))
    if as_json:
        click.echo(visible_json(json.dumps(to_json(definition, report), indent=2, ensure_ascii=False)))
    else:
        _show(definition, report, table if definition.name == NAME else None)
    verdict = verdict_of(report.findings)
    if report.offered is None and verdict != "danger":
        return 2
    return 1 if verdict not in (None, "note") else 0


@contextlib.contextmanager
def _new_home(definition: ServerDefinition) -> Iterator[ServerDefinition]:
    """The server in a home of its own that is removed, where it is not configured: what it left the last time would be
    what is looked at, its package of then, and what it noted of being looked at."""
    if not definition.confine or definition.name != NAME:
        yield definition
        return
    import secrets
    import shutil

    import attrs

    from pegboard.config import user_folder

    folder = user_folder("data") / "confined" / f"{NAME}-{secrets.token_hex(8)}"
    try:
        yield attrs.evolve(definition, home=str(folder / "home"))
    finally:
        with contextlib.suppress(RecursionError):  # it may have nested folders without an end
            shutil.rmtree(folder, ignore_errors=True)


# -- which server


def _table(
    server: tuple[str, ...], read: tuple[str, ...], write: tuple[str, ...], network: tuple[str, ...],
    env: tuple[str, ...],
) -> dict[str, Any]:  # fmt: skip
    """The server's table, as a configuration would have it."""
    words = shlex.split(server[0]) if len(server) == 1 and " " in server[0] else list(server)
    if re.match(r"(?i)(https?|wss?)://", words[0]):
        if len(words) > 1 or read or write or env:
            raise click.UsageError("a server at an address runs elsewhere: give the address alone")
        return {"url": words[0]}
    variables = {}
    for one in env:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--env {one[:40]!r}: expected NAME=VALUE")
        variables[name] = value
    table: dict[str, Any] = {"command": words[0], "args": words[1:], "confine": True}
    given = {"env": variables, "read": list(read), "write": list(write), "network": list(network)}
    return {**table, **{key: value for key, value in given.items() if value}}


def _known(board: Board) -> Mapping[str, ServerDefinition]:
    from pegboard_mcp.lock.watch import settings_of

    settings = settings_of(board)
    return {} if settings is None else {one.name: one for one in settings.definitions()}


def _definition(board: Board, server: tuple[str, ...], table: dict[str, Any], *, unconfined: bool) -> ServerDefinition:
    """The definition of the server, confined where it runs here.

    Raises:
        ConfigError: there is no such server, its table is wrong, or this system cannot confine it.
    """
    from pegboard_mcp.probe.looking import confined

    known = _known(board)
    if len(server) == 1 and server[0] in known:
        if not table.keys() <= {"command", "args", "confine"}:
            options = "--read, --write, --network and --env are for a command behind --"
            raise click.UsageError(f"{server[0]} is configured, and its own table says what it has: {options}")
        definition = known[server[0]]
    elif len(server) == 1 and re.fullmatch(r"[\w.-]+", server[0]) and not _is_program(server[0]):
        raise ConfigError(
            f"there is no server and no program {server[0][:60]!r}",
            hint=f"configured are: {', '.join(known) or 'none'}; a command stands behind --",
        )
    else:
        definition = _defined({**table, "confine": not unconfined} if "command" in table else table)
    return confined(definition, is_confined=not unconfined)


def _defined(table: Mapping[str, Any]) -> ServerDefinition:
    from pegboard_mcp.rules import TableRules
    from pegboard_mcp.secrets import secrets_of_host

    rules = TableRules(NAME, table, Path.cwd(), secrets_of_host(os.environ))
    definition = rules.define()
    if definition is None or rules.faults:
        raise ConfigError("no server can be made of this: " + "; ".join(map(str, rules.faults)))
    return definition


def _is_program(word: str) -> bool:
    import shutil

    return shutil.which(word) is not None


# -- what is told


def _show(definition: ServerDefinition, report: Report, table: dict[str, Any] | None) -> None:
    from pegboard_mcp.client.transports.stdio import suggestion
    from pegboard_mcp.probe.checks import CHECKS, verdict_of
    from pegboard_mcp.probe.reporting import UNSEEN, pin_of, words_of

    offered, verdict = report.offered, verdict_of(report.findings)
    if offered is not None:
        counts = ", ".join(
            f"{len(entries)} {kind if len(entries) != 1 else kind[:-1]}"
            for kind in ("tools", "prompts", "resources", "templates")
            if (entries := getattr(offered, kind))
        )
        name = offered.server.get("name", "a server without a name")
        click.echo(visible(f"{name} {offered.server.get('version', '')}: {counts or 'nothing'}".replace(" :", ":")))
    for one in report.findings[:MAX_SHOWN]:
        click.echo(visible(f"{one.level:8} {one}"))
    if len(report.findings) > MAX_SHOWN:
        click.echo(f"and {len(report.findings) - MAX_SHOWN} more: --json has them")
    if offered is not None or verdict == "danger":
        click.echo(f"{len(CHECKS)} checks: {words_of(report)}")
    if offered is None:
        why, fix = report.problem or ("it could not be reached", "see the log of the host")
        if verdict == "danger":  # who reads what it did is not told what to give it
            _note(f"{definition.shown}: {why}")
            return
        fix = fix.replace(suggestion(NAME), "give it what it asks for: --env NAME=VALUE, --read, --write or --network")
        raise ConfigError(f"{definition.shown}: {why}", hint=fix)
    if not report.is_confined and definition.transport == "stdio":
        click.echo(UNSEEN)
    click.echo(f"pin: {pin_of(report)}")
    if table is not None and verdict != "danger":
        click.echo("to use it, add this to the configuration; its first definitions are then remembered:\n")
        click.echo(_toml(table, report))


def _toml(table: dict[str, Any], report: Report) -> str:
    import tomlkit

    found = {key: value for key, value in table.items() if key not in ("env", "args") or value}
    named = (report.offered.server.get("name") if report.offered is not None else None) or NAME
    name = re.sub(r"[^a-z0-9_-]+", "-", str(named).casefold()).strip("-")[:40] or NAME
    document: Any = tomlkit.document()
    inner = document
    for step in ("plugins", "mcp", "servers"):
        inner[step] = tomlkit.table(is_super_table=True)
        inner = inner[step]
    inner[name] = found
    return tomlkit.dumps(document)


def _note(text: str) -> None:
    click.echo(visible(text), err=True)
