"""`pegboard show`: one tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import click

from pegboard.cli._output import emit_json, emit_line
from pegboard.cli._program import complete_tool

if TYPE_CHECKING:
    from pegboard.cli._run import ProgramRun
    from pegboard.registry.board import Board
    from pegboard.tools import Tool


@click.command("show", short_help="One tool: description, schema, limits, examples, origin.")
@click.argument("name", shell_complete=complete_tool)
@click.option("--json", "as_json", is_flag=True, help="One object.")
@click.pass_obj
def command(run: ProgramRun, name: str, as_json: bool) -> None:
    """One tool: description, schema, limits, examples, origin, fingerprint."""
    tool, board = run.tool(name), run.load_board()
    if as_json:
        emit_json(describe(tool, board))
    else:
        emit_line("\n".join(_lines(tool, board)))


def describe(tool: Tool, board: Board) -> dict[str, Any]:
    """The tool as `show --json` prints it: the definition of the dialect `json`, and what the host knows of it."""
    from pegboard.dialects.json import describe as define

    return {
        **define(tool),
        "title": tool.title,
        "state": board.state_of(tool.name),
        "version": tool.version,
        "annotations": tool.public_definition["annotations"],
        "limits": tool.limits.to_json(),
        "run": tool.run,
        "secrets": sorted(tool.secrets),
        "output_schema": tool.output_schema,
        "examples": [
            {"arguments": example.arguments, "description": example.description, "text": example.text}
            for example in tool.examples
        ],
        "origin": attrs.asdict(tool.origin),
        "fingerprint": tool.fingerprint,
    }


def _state(name: str, board: Board) -> str:
    state, error = board.state_of(name), getattr(board.registry.plans[name], "error", None)
    if state == "refused":  # by the mode: a tool that the profile leaves out cannot be shown
        return "refused: in read-only mode"
    return f"{state}: {error.message}" if state == "conflict" and error is not None else state


def _lines(tool: Tool, board: Board) -> list[str]:
    import json

    from pegboard.dialects.text import describe as define

    given = ("read_only", "destructive", "idempotent", "open_world", "parallel")
    marks = [name for name in given if getattr(tool.annotations, name)]
    if tool.annotations.risk != "low":
        marks.append(f"{tool.annotations.risk} risk")
    facts = {
        "title": tool.title,
        "category": tool.category,
        "tags": ", ".join(sorted(tool.tags)),
        "marks": ", ".join(marks),
        "limits": ", ".join(f"{name} {value}" for name, value in tool.limits.to_json().items()),
        "secrets": ", ".join(sorted(tool.secrets)),
        "state": _state(tool.name, board),
        "from": str(tool.origin),
        "version": tool.version,
        "fingerprint": tool.fingerprint,
    }
    lines = [define(tool), ""]
    lines += [f"{name + ':':13}{value}" for name, value in facts.items() if value]
    for example in tool.examples:
        lines += ["", f"example:     {example.description}".rstrip()]
        lines.append(f"  pegboard call {tool.name} --args '{json.dumps(example.arguments, ensure_ascii=False)}'")
        if example.text is not None:
            lines.append(f"  {example.text}")
    lines += ["", "input schema:", json.dumps(tool.input_schema, ensure_ascii=False, indent=2)]
    if tool.output_schema is not None:
        lines += ["", "output schema:", json.dumps(tool.output_schema, ensure_ascii=False, indent=2)]
    return lines
