"""`pegboard plugins`: what is installed, what it provides, what is quarantined and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pegboard.cli._output import emit_json, emit_table

if TYPE_CHECKING:
    from pegboard.cli._run import ProgramRun
    from pegboard.registry.asking import PluginRecord
    from pegboard.registry.board import Board

_COUNTED = {"provide_tools": "tool", "provide_sources": "source", "provide_dialects": "dialect"}
_NAMED = {
    "open_resources": "resources",
    "make_validator": "a validator",
    "make_guards": "guards",
    "make_layers": "layers",
    "make_executor": "an executor",
    "provide_observers": "observers",
    "provide_checks": "checks",
    "register_commands": "commands",
    "add_hookspecs": "hooks",
    "provide_settings": "settings",
}


@click.command("plugins", short_help="Distributions on the board, and what they provide.")
@click.option("--json", "as_json", is_flag=True, help="An array of objects.")
@click.pass_obj
def command(run: ProgramRun, as_json: bool) -> None:
    """Distributions on the board: version, what they provide, what is quarantined and why."""
    board = run.load_board()
    _ = board.dialects  # asked for late, and counted then
    records = sorted(board.plugins, key=lambda one: (one.builtin, one.distribution or "", one.name))
    rows = [_row(record, board) for record in records]
    if as_json:
        emit_json(rows)
        return
    emit_table(
        ("plugin", "from", "version", "state", "import ms", "provides"),
        [
            (
                row["name"], row["distribution"] or "the program", row["version"] or "", row["state"],
                f"{row['import_ms']:.1f}", row["quarantined"] or ", ".join(row["words"]),
            )
            for row in ({**one, "words": _words(one["provides"])} for one in rows)
        ],
        right=(4,),
    )  # fmt: skip


def _row(record: PluginRecord, board: Board) -> dict[str, Any]:
    return {
        "name": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "builtin": record.builtin,
        "state": "on the board" if record.quarantined is None else "quarantined",
        "quarantined": record.quarantined,
        "import_ms": round(record.import_s * 1000, 2),
        "provides": _provides(record, board),
    }


def _provides(record: PluginRecord, board: Board) -> dict[str, int | None]:
    """What a plugin gives, by hook: how many where they are counted, null where it is asked later."""
    callers = board.plugins.manager.get_hookcallers(record.plugin) if record.plugin is not None else None
    hooks = sorted(caller.name for caller in callers or ())
    return {hook: record.provides.get(hook) for hook in hooks}


def _words(provides: dict[str, int | None]) -> list[str]:
    words = []
    for hook, count in provides.items():
        if hook in _COUNTED:
            if count:
                words.append(f"{count} {_COUNTED[hook]}{'' if count == 1 else 's'}")
        else:
            words.append(_NAMED.get(hook, hook))
    return words
