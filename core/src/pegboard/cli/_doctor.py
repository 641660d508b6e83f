"""`pegboard doctor`: everything that is or will be wrong, each with its fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import click

from pegboard.cli._output import emit_json, emit_line
from pegboard.cli._program import DONE, TOOL_ERROR, Program
from pegboard.cli._waiting import waiting
from pegboard.contract import Finding
from pegboard.errors import ConfigError, Fault, PegboardError
from pegboard.registry.checks import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard.cli._run import ProgramRun
    from pegboard.cli._waiting import Wait
    from pegboard.host import Host

SEVERITIES = ("error", "warning", "note")
OPEN_S = 10.0
"""How long resources may take to open and close."""


@click.command("doctor", short_help="Everything that is or will be wrong, each with its fix.")
@click.option("--json", "as_json", is_flag=True, help="An array of {what, where, why, fix, severity}.")
@click.pass_obj
def command(run: ProgramRun, as_json: bool) -> int:
    """Everything that is or will be wrong, each with its fix. Exit status 1 if anything is; notes alone are not."""
    with waiting("looking at plugins and tools") as wait:
        found = list(dict.fromkeys(map(readable, _findings(run, wait))))
    found.sort(key=lambda one: SEVERITIES.index(one.severity))
    wrong = [one for one in found if one.severity != "note"]
    if as_json:
        emit_json([one.to_json() for one in found])
    elif found:
        emit_line("\n\n".join(map(_shown, found)))
    if not wrong and not as_json:
        board = run.load_board()
        plugins = sum(not record.builtin for record in board.plugins)
        counts = f"{_counted(plugins, 'plugin')}, {_counted(len(board.registry.plans), 'tool')}"
        emit_line(f"{chr(10) if found else ''}nothing is wrong: {counts}")
    return TOOL_ERROR if wrong else DONE


def _findings(run: ProgramRun, wait: Wait) -> Iterator[Finding]:
    try:
        board = run.load_board(lenient=True)
        board.plugins.make_settings()
    except PegboardError as problem:
        yield from _fatal(problem)
        # Without what the configuration says, the rest can still be looked at.
        run = attrs.evolve(run)
        try:
            board = run.load_plain_board()
        except PegboardError:
            return
    yield from board.findings()
    yield from Program().plugin_findings(run)
    wait.text = "opening what the tools need"
    yield from _resources(run)


def _fatal(problem: PegboardError) -> Iterator[Finding]:
    """What keeps the board from loading at all."""
    hint = problem.hint or "pegboard --debug doctor shows where"
    faults: tuple[Fault, ...] = problem.faults if isinstance(problem, ConfigError) else ()
    for fault in faults:
        why = f"expected {fault.expected}, got {fault.got}"
        origin = getattr(fault, "origin", None)
        where = fault.where if origin is None or str(origin) in ("default", fault.where) else f"{fault.where}, {origin}"
        yield Finding("the configuration is wrong", where, why, fault.hint or problem.hint or f"write {fault.expected}")
    if not faults:
        what = "the configuration is wrong" if isinstance(problem, ConfigError) else "the board cannot be loaded"
        yield Finding(what, "the program", problem.message, hint)


def _resources(run: ProgramRun) -> Iterator[Finding]:
    """Open what lives as long as a host, and close it; sources are not started for that."""
    import trio

    board = run.load_board()
    sources, board.sources = board.sources, []

    async def look(host: Host) -> dict[str, str]:
        return dict(host.lost_resources)

    what = "resources would not open"
    try:
        lost = run.open_host(look, timeout_s=OPEN_S)
    except PegboardError as problem:
        yield Finding(what, "the host", problem.message, problem.hint or "repair its settings")
    except trio.TooSlowError:
        why = f"a plugin's resources did not open and close within {OPEN_S:g} s"
        yield Finding(what, "the host", why, "repair what they connect to, or leave the plugin out")
    else:
        for plugin, cause in lost.items():
            yield Finding(what, f"plugin {plugin}", cause, f"repair [plugins.{plugin}], or uninstall it")
    finally:
        board.sources = sources


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _shown(one: Finding) -> str:
    return f"{one.severity}: {one.what}: {one.where}\n  why: {one.why}\n  fix: {one.fix}"
