"""`pegboard export`: tool definitions as one consumer wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pegboard.cli._output import emit_json, emit_line, note
from pegboard.cli._program import complete_dialect, complete_tool
from pegboard.cli._text import printable_line

if TYPE_CHECKING:
    from pegboard.cli._run import ProgramRun


@click.command("export", short_help="Tool definitions as one consumer wants them.")
@click.option(
    "--to",
    "dialect",
    metavar="DIALECT",
    required=True,
    shell_complete=complete_dialect,
    help="text, json, or one that a plugin brings.",
)
@click.option(
    "--report", is_flag=True, help="Say on stderr what is lost, which names had to change, and which tools are strict."
)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=complete_tool)
@click.pass_obj
def command(run: ProgramRun, dialect: str, report: bool, names: tuple[str, ...]) -> None:
    """Tool definitions as one consumer wants them: all that this run sees, or those that are named."""
    board = run.load_known_board()
    for name in names:
        run.tool(name)
    export = board.export(dialect, names or board.view().snapshot.names)
    definitions = list(export.definitions)
    if definitions and all(isinstance(one, str) for one in definitions):
        emit_line("\n\n".join(definitions))
    else:
        emit_json(definitions)
    if report:
        renamed = {alias: name for alias, name in export.aliases.items() if alias != name}
        for alias, name in renamed.items():
            note(f"renamed: {printable_line(name)} is {printable_line(alias)} there")
        for loss in export.losses:
            note(f"lost: {printable_line(loss.tool)} {printable_line(loss.path)}: {printable_line(loss.what)}")
        counts = [f"{len(definitions)} defined", f"{len(renamed)} renamed", f"{len(export.losses)} lost"]
        strict = getattr(export, "strict", None)
        if strict is not None:
            for name, is_strict in strict.items():
                note(f"{'strict' if is_strict else 'not strict'}: {printable_line(name)}")
            counts.append(f"{sum(strict.values())} strict")
        note(f"for {dialect}: {', '.join(counts)}")
