"""`pegboard check`: the publish gate for plugin authors."""

from __future__ import annotations

import click

from pegboard.cli._output import emit_table
from pegboard.cli._program import DONE, TOOL_ERROR


@click.command("check", short_help="The publish gate for plugin authors.")
@click.argument("distribution", metavar="[DISTRIBUTION]", required=False)
def command(distribution: str | None) -> int:
    """Hold a distribution against what users rely on: schemas, errors, deadlines, imports, leaks, names.

    Without DISTRIBUTION it is the package of the directory you are in.
    """
    from pegboard.testing.gate import run_gate

    steps = run_gate(distribution)
    emit_table(("step", "state", "what"), [(step.name, "ok" if step.ok else "FAILED", step.message) for step in steps])
    return DONE if all(step.ok for step in steps) else TOOL_ERROR
