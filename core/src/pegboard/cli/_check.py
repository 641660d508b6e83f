"""`pegboard check`: the publish gate for plugin authors."""

from __future__ import annotations

import click

from pegboard.cli._output import emit_json, emit_line
from pegboard.cli._program import DONE, TOOL_ERROR
from pegboard.cli._terminal import running_third_party_code
from pegboard.cli._text import printable
from pegboard.cli._waiting import waiting


@click.command("check", short_help="The publish gate for plugin authors.")
@click.argument("distribution", metavar="[DISTRIBUTION]", required=False)
@click.option("--json", "as_json", is_flag=True, help="An array of {name, ok, seen, fix}.")
def command(distribution: str | None, as_json: bool) -> int:
    """Hold a distribution against what users rely on: schemas, errors, deadlines, imports, leaks, names.

    Without DISTRIBUTION it is the project of the directory you are in. Exit status 1 if anything fails.
    """
    from pegboard.testing.gate import run_gate

    failed = 0
    steps = []
    with waiting("checking"), running_third_party_code():
        for step in run_gate(distribution):
            failed += not step.ok
            if as_json:
                steps.append(step.to_json())
                continue
            emit_line(printable(f"{'ok    ' if step.ok else 'FAILED'} {step.name}: {step.seen}"))
            if not step.ok and step.fix:
                emit_line(printable(f"       fix: {step.fix}"))
    if as_json:
        emit_json(steps)
    elif failed:
        emit_line(f"{failed} {'step' if failed == 1 else 'steps'} failed")
    return TOOL_ERROR if failed else DONE
