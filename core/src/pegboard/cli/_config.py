"""`pegboard config`: the configuration in force, and where each value came from."""

from __future__ import annotations

from typing import Any

import click

from pegboard.cli._output import emit_json, emit_table, note, to_json
from pegboard.cli._program import Program
from pegboard.cli._run import ProgramRun
from pegboard.cli._terminal import lend_stdout
from pegboard.errors import ConfigError, PegboardError, PluginError


class _ConfigGroup(click.Group):
    """Shows what is in force; `config import` and its like are added by plugins."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A subcommand, which only plugins bring."""
        self._ask(ctx)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """What plugins brought."""
        try:
            self._ask(ctx)
        except PegboardError as problem:
            note(f"note: commands of plugins are missing: {problem.message}")
        return super().list_commands(ctx)

    def get_help(self, ctx: click.Context) -> str:
        """The help, which click prints: it may go to stdout."""
        text = super().get_help(ctx)
        lend_stdout()
        return text

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, or say whose it is."""
        if args[0] == "import" and self.get_command(ctx, "import") is None:
            raise ConfigError(
                "the command 'config import' comes with pegboard-mcp, which is not on the board",
                hint="pip install pegboard-mcp",
            )
        return super().resolve_command(ctx, args)

    def _ask(self, ctx: click.Context) -> None:
        program = ctx.find_root().command
        assert isinstance(program, Program), "the group is in no other program"
        program.list_commands_of_plugins(ctx)


@click.group("config", cls=_ConfigGroup, invoke_without_command=True, short_help="The configuration in force.")
@click.option("--json", "as_json", is_flag=True, help="An array of {key, value, origin}.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """The configuration in force, and where each value came from; secrets are masked."""
    if ctx.invoked_subcommand is not None:
        lend_stdout()
        return
    run: ProgramRun = ctx.find_object(ProgramRun)  # type: ignore[assignment]
    try:
        board = run.load_board(lenient=True)
        board.plugins.make_settings()  # plugins know their defaults, and which of their settings are secret
        config = board.config
    except PluginError as problem:
        note(f"note: settings of plugins are left out: {problem.message}")
        config = run.load_config()
    rows = config.describe()
    if as_json:
        emit_json([row.to_json() for row in rows])
        return
    emit_table(("setting", "value", "from"), [(row.key, _shown(row.value), row.origin) for row in rows])
    for file in config.files:
        note(f"read: {file}")


def _shown(value: Any) -> str:
    return "" if value is None else to_json(value)
