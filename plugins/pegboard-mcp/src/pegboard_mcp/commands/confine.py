"""`pegboard confine suggest NAME`: run a server in its sandbox, see what it lacks, and propose the smallest policy."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import attrs
import click

from pegboard import ConfigError
from pegboard.cli import Finite
from pegboard.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard.cli import ProgramRun
    from pegboard_confine.learning import Learned
    from pegboard_mcp.definitions import ServerDefinition

MAX_TOLD = 20
"""So many paths of one kind are told."""


@click.group("confine", short_help="What servers need in their sandboxes.")
def confine() -> None:
    """What servers need in their sandboxes."""


@confine.command("suggest", short_help="The smallest policy that one server seems to need.")
@click.argument("name")
@click.option(
    "--call", "calls", metavar="TOOL=JSON", multiple=True, help="Call this tool too, by the server's own name."
)
@click.option(
    "--for",
    "seconds",
    type=Finite(0, 600),
    metavar="S",
    default=2.0,
    help="How long it runs then, in seconds.",
)
@click.pass_obj
def suggest(run: ProgramRun, name: str, calls: tuple[str, ...], seconds: float) -> int:
    """The smallest policy that one server seems to need.

    It runs in a sandbox with the folders of its table, no more; whom it reaches and what it looks for is noted, every
    public host on ports 80 and 443 is let through. Files are noted where strace is installed. Exit status: 0 it ran;
    1 it could not be started, or a call failed.
    """
    import trio

    from pegboard_confine.sandbox import how_to_allow, why_not
    from pegboard_mcp.lock.watch import settings_of

    settings = settings_of(run.load_board(lenient=True))
    known = {one.name: one for one in settings.definitions()} if settings is not None else {}
    if name not in known:
        raise ConfigError(f"there is no server {name[:60]!r}", hint=f"there are: {', '.join(known) or 'none'}")
    definition = known[name]
    if definition.transport != "stdio":
        raise ConfigError(f"{name} is at a URL: it runs elsewhere, and nothing here confines it")
    if problem := why_not():
        raise ConfigError(f"this system cannot confine a server: {problem}", hint=how_to_allow())
    wanted = [_call_of(call) for call in calls]
    learned, problems = trio.run(_learn, definition, wanted, seconds)
    click.echo(_policy(definition, learned), nl=False)
    if shutil.which("strace") is None:
        _note("files were not watched, since strace is not installed: `read` and `write` are as they were")
    if learned.is_cut:
        _note("it looked for more files than are kept: what it looked for later was not seen")
    for why, paths in (
        ("it looks like a credential or a startup file", learned.wanted.refused),
        ("it holds far more than one server is for", learned.wanted.wide),
    ):
        for path in paths[:MAX_TOLD]:
            _note(f"not proposed, for {why}: {path}")
        if len(paths) > MAX_TOLD:
            _note(f"not proposed, for {why}: {len(paths) - MAX_TOLD:,} more")
    for one in learned.relay.refused if learned.relay is not None else ():
        _note(f"it also wanted to connect to {one.host}" + (f":{one.port}" if one.port is not None else ""))
    for host, port in _missed(learned):
        _note(f"{host}:{port} could not be reached from here, and is proposed since it was wanted")
    for one_problem in problems:
        _note(one_problem)
    if not calls and not problems:
        _note("it was started and listed; what its tools need shows where they are called: --call TOOL='{\"key\": 1}'")
    return 1 if problems else 0


def _call_of(text: str) -> tuple[str, dict[str, Any]]:
    tool, _, written = text.partition("=")
    try:
        arguments = json.loads(written or "{}")
    except ValueError:
        arguments = None
    if not tool or not isinstance(arguments, dict):
        raise click.UsageError(
            f'--call {text[:60]}: expected TOOL=JSON, as in --call \'fetch={{"url": "https://a.org"}}\''
        )
    return tool, arguments


async def _learn(
    definition: ServerDefinition, calls: Sequence[tuple[str, dict[str, Any]]], seconds: float
) -> tuple[Learned, list[str]]:
    import trio

    from pegboard_confine.learning import Learned
    from pegboard_mcp.checks import look_at
    from pegboard_mcp.client._errors import LinkError, RpcError
    from pegboard_mcp.client.transports._link import own_words
    from pegboard_mcp.client.transports.stdio import suggestion

    learned = Learned()
    definition = attrs.evolve(definition, confine=True, learned=learned)
    problems: list[str] = []

    async def use(connection: Any) -> None:
        for tool, arguments in calls:
            with trio.move_on_after(definition.request_s):
                try:
                    raw = await connection.request("tools/call", {"name": tool, "arguments": arguments})
                except RpcError as problem:
                    problems.append(f"--call {tool} failed: {own_words(definition, problem.message)}")
                    continue
                if raw.get("isError") is True:
                    problems.append(f"--call {tool} failed: {own_words(definition, _text_of(raw))}")
        await trio.sleep(seconds)

    outcome = await look_at(definition, use)
    if isinstance(outcome, Exception):
        said = outcome.explanation if isinstance(outcome, LinkError) else str(outcome)
        problems.append(
            said.replace(suggestion(definition.name), "add what is proposed to its table, then run this again")
        )
    await trio.to_thread.run_sync(learned.read_trace)
    return learned, problems


def _text_of(raw: Mapping[str, Any]) -> str:
    """What an answer says in words; a server may answer anything."""
    content = raw.get("content")
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    return " ".join(one["text"] for one in blocks if isinstance(one.get("text"), str))


def _missed(learned: Learned) -> list[tuple[str, int]]:
    """Whom it wanted to reach, and nobody was there."""
    relay = learned.relay
    return [] if relay is None else [one for one in relay.missed if one not in relay.reached]


def _policy(definition: ServerDefinition, learned: Learned) -> str:
    """The table, as a person would write it."""
    import tomlkit

    from pegboard_confine.network import entry_of

    wanted = [] if learned.relay is None else [*learned.relay.reached, *_missed(learned)]
    reached = [entry_of(host, port) for host, port in wanted]
    named = [one for one in definition.network if one not in reached and (one.startswith("*") or "/" in one)]
    found = {
        "read": [*definition.read, *learned.wanted.read],
        "write": [*definition.write, *learned.wanted.write],
        "network": [*reached, *named],
    }
    table = tomlkit.table()
    table["confine"] = True
    for key, values in found.items():
        if values:
            table[key] = list(dict.fromkeys(values))
    document = tomlkit.document()
    inner: Any = document
    for step in ("plugins", "mcp", "servers"):
        inner[step] = tomlkit.table(is_super_table=True)
        inner = inner[step]
    inner[definition.name] = table
    return tomlkit.dumps(document)


def _note(text: str) -> None:
    click.echo(visible(text), err=True)
