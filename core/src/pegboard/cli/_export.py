"""`pegboard export`: tool definitions as one consumer wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pegboard.cli._output import emit_json, emit_line, note
from pegboard.cli._program import complete_dialect, complete_tool
from pegboard.cli._text import printable_line
from pegboard.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.cli._run import ProgramRun
    from pegboard.contract import Export, Loss


@click.command("export", short_help="Tool definitions as one consumer wants them.")
@click.option(
    "--to",
    "dialect",
    metavar="DIALECT",
    shell_complete=complete_dialect,
    help="text, json, or one that a plugin brings; without it, the error lists them.",
)
@click.option(
    "--report",
    is_flag=True,
    help="Say on stderr what is lost of each tool, how it is called there, and if it is strict.",
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_tool)
@click.pass_obj
def command(run: ProgramRun, dialect: str | None, report: bool, names: tuple[str, ...]) -> None:
    """Tool definitions as one consumer wants them: all that this run sees, or those that are named."""
    if dialect is None:
        here = sorted(run.load_board().dialects)
        raise ConfigError(f"Missing option '--to': one of {', '.join(here)}", hint=f"pegboard export --to {here[0]}")
    tools = [run.tool(name) for name in names]
    board = run.load_board() if tools else run.load_known_board()
    offered = board.visible_tools().offered
    for tool in tools:
        if tool.name not in offered.plans:
            raise board.not_offered(tool.name)
    export = board.export(dialect, names or offered.names)
    definitions = list(export.definitions)
    if definitions and all(isinstance(one, str) for one in definitions):
        emit_line("\n\n".join(definitions))
    else:
        emit_json(definitions)
    if report:
        _report(dialect, export)


def _report(dialect: str, export: Export) -> None:
    """Say for each tool how it is called there, whether it is strict, and what is lost."""
    called = {name: alias for alias, name in export.aliases.items()}
    strict: Mapping[str, bool] | None = getattr(export, "strict", None)
    lost: dict[str, list[Loss]] = {name: [] for name in called}
    for loss in export.losses:
        lost.setdefault(loss.tool, []).append(loss)
    told = 0
    for name, losses in lost.items():
        alias = called.get(name, name)
        facts = [] if strict is None else ["strict" if strict.get(name) else "not strict"]
        if alias != name:
            facts.append(f"called {printable_line(alias)} there")
            losses = [loss for loss in losses if loss.path != "name"]
        told += len(losses)
        facts.append("nothing lost" if not losses else f"{len(losses)} lost")
        note(f"{printable_line(name)}: {', '.join(facts)}")
        for loss in losses:
            note(f"  {printable_line(loss.path)}: {printable_line(loss.what)}")
    counts = [f"{len(export.definitions)} defined", f"{sum(name != alias for name, alias in called.items())} renamed"]
    counts.append(f"{told} lost")
    if strict is not None:
        counts.append(f"{sum(strict.values())} strict")
    note(f"for {dialect}: {', '.join(counts)}")
