"""What the help of the program says of every command and option, with every package of this repository installed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import click
import pytest

from pegboard.cli._program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def commands() -> dict[str, click.Context]:
    """Every command of the program, by the words that name it."""
    program = Program()
    root = click.Context(program, info_name="pegboard")

    def below(ctx: click.Context) -> Iterator[click.Context]:
        yield ctx
        if isinstance(ctx.command, click.Group):
            for name in ctx.command.list_commands(ctx):
                command = ctx.command.get_command(ctx, name)
                assert command is not None
                yield from below(click.Context(command, parent=ctx, info_name=name))

    with root:
        return {ctx.command_path: ctx for ctx in below(root)}


def options_of(ctx: click.Context) -> Iterator[click.Option]:
    shown = (one for one in ctx.command.get_params(ctx) if isinstance(one, click.Option) and not one.hidden)
    return (one for one in shown if not (one.is_flag or one.count))


def test_every_option_says_what_it_takes_in_a_word_of_ours(commands: dict[str, click.Context]) -> None:
    """click's own `TEXT` and `INTEGER RANGE` say what it is to Python, and are as wide as a third of the page."""
    bare = {
        f"{name} {option.opts[0]}"
        for name, ctx in commands.items()
        for option in options_of(ctx)
        if option.metavar is None and not isinstance(option.type, click.Choice)
    }
    assert bare == set()


def test_an_option_of_one_name_takes_the_same_in_every_command(commands: dict[str, click.Context]) -> None:
    words: dict[str, dict[str, str]] = defaultdict(dict)
    for name, ctx in commands.items():
        for option in options_of(ctx):
            words[option.opts[0]][name] = option.make_metavar(ctx)
    several = {option: set(said.values()) for option, said in words.items() if len(set(said.values())) > 1}
    assert several == {"--to": {"FILE", "DIALECT"}}  # of `config import` and of `export`


def test_every_option_that_is_a_number_is_finite(commands: dict[str, click.Context]) -> None:
    numbers = [
        (name, option)
        for name, ctx in commands.items()
        for option in options_of(ctx)
        if isinstance(option.type, click.types.FloatParamType)
    ]
    assert {"pegboard list", "pegboard probe", "pegboard confine suggest", "pegboard chat"} <= {n for n, _ in numbers}
    for name, option in numbers:
        for given in ("nan", "inf", "-inf", "1e999"):
            with pytest.raises(click.BadParameter):
                option.type.convert(given, option, commands[name])


def test_no_line_of_a_list_of_commands_is_cut(commands: dict[str, click.Context]) -> None:
    cut = {name for name, ctx in commands.items() if ctx.parent and ctx.command.get_short_help_str(60).endswith("...")}
    assert cut == set()
