"""`pegboard list`: the tools on the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pegboard.cli._numbers import Finite
from pegboard.cli._output import emit_json, emit_table, note
from pegboard.cli._sources import WAIT_S, emit_sources, note_absent, note_held
from pegboard.cli._text import printable_line
from pegboard.errors import PluginError
from pegboard.registry import search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard.cli._run import ProgramRun
    from pegboard.registry.board import Board
    from pegboard.tools import Tool

MAX_NAMED = 20
"""How many tools a line under the table names."""


@click.command("list", short_help="The tools on the board.")
@click.option("--category", metavar="C", help="Only this category.")
@click.option("--tag", metavar="T", help="Only tools with this tag.")
@click.option("--search", "text", metavar="TEXT", help="Only tools that hold every word, the best match first.")
@click.option("--tokens", is_flag=True, help="What each costs a model: characters of its definition, by four.")
@click.option("--all", "everything", is_flag=True, help="What read-only mode or the profile refuses too.")
@click.option("--sources", is_flag=True, help="The sources of tools instead: MCP servers, manifests; their state.")
@click.option(
    "--wait",
    "wait_s",
    metavar="S",
    type=Finite(0),
    default=WAIT_S,
    show_default=True,
    help="How long to wait for sources of which nothing is known yet, in seconds; 0 starts none.",
)
@click.option("--json", "as_json", is_flag=True, help="An array of objects.")
@click.pass_obj
def command(
    run: ProgramRun, category: str | None, tag: str | None, text: str | None, tokens: bool, everything: bool,
    sources: bool, wait_s: float, as_json: bool,
) -> None:  # fmt: skip
    """The tools on the board, with their origin and state."""
    statuses, board = run.look_at_sources(wait_s), run.load_board()
    if sources:
        emit_sources(statuses, as_json=as_json)
        note_held(board)
        return
    plans = board.registry.plans if everything else board.visible_tools().offered.plans
    tools = search((entry.tool for entry in plans.values()), text, category=category, tag=tag)
    costs = _costs_of(tools, board) if tokens else {}
    if as_json:
        from pegboard.dialects.json import listed

        rows = [listed(tool, board.state_of(tool.name)) for tool in tools]
        emit_json([{**row, **({"tokens": costs[row["name"]]} if tokens else {})} for row in rows])
        note_absent(statuses)
        note_held(board)
        return
    if tools and tokens:
        _table_of_costs(costs, sorted({one for cost in costs.values() for one in cost}))
    elif tools:
        _table_of_tools(board, tools)
    note_absent(statuses)
    note_held(board)
    _note_refused(board, tools, everything=everything)
    categories = {entry.tool.category for entry in plans.values()}
    if category is not None and plans and category not in categories:
        from pegboard.schema.near import hint_of

        note(printable_line(f"no tool has the category {category[:60]!r}; {hint_of(category, sorted(categories))}"))
    _note_the_rest(board, found=bool(tools), filtered=bool(board.registry.plans))


def _table_of_tools(board: Board, tools: list[Tool]) -> None:
    """A row for each; a column of marks where there are any."""
    from pegboard.marks import marks_of

    taken_out = {
        name: what for _, source in board.sources for name, what in (getattr(source, "stripped", None) or {}).items()
    }
    kinds: dict[str, dict[str, None]] = {}
    for mark in marks_of((entry.tool for entry in board.registry.plans.values()), taken_out):
        kinds.setdefault(mark.tool.name, {})[mark.kind] = None
    is_marked = any(tool.name in kinds for tool in tools)
    rows = []
    for tool in tools:
        marks = (", ".join(kinds.get(tool.name, ())),) if is_marked else ()
        state = board.state_of(tool.name)
        rows.append((tool.name, tool.category, state, *marks, str(tool.origin), _summary(tool)))
    emit_table(("tool", "category", "state", *(("marks",) if is_marked else ()), "from", "description"), rows)
    if is_marked:
        note("marks are to look at, and nothing is refused for one; pegboard doctor says where and why")


def _summary(tool: Tool) -> str:
    """The first sentence of the description."""
    line = (tool.description or tool.title or "").strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
    return line if len(line) <= 100 else line[:99] + "…"


def _costs_of(tools: Sequence[Tool], board: Board) -> dict[str, dict[str, int]]:
    """What each tool's definition costs in each dialect; one that fails is named, and the others are told."""
    from pegboard.dialects import tokens_of

    costs: dict[str, dict[str, int]] = {tool.name: {} for tool in tools}
    for name, dialect in sorted(board.dialects.items()):
        try:
            counts = {tool.name: tokens_of(dialect.export([tool]).definitions) for tool in tools}
        except PluginError as problem:
            note(f"warning: {problem.message}")
            continue
        for tool, count in counts.items():
            costs[tool][name] = count
    return costs


def _table_of_costs(costs: dict[str, dict[str, int]], dialects: list[str]) -> None:
    """A column for each dialect and nothing else, so that a terminal has room for all of them; last, the sums."""
    rows = [(name, *(str(cost.get(one, "-")) for one in dialects)) for name, cost in costs.items()]
    sums = [str(sum(cost.get(one, 0) for cost in costs.values())) for one in dialects]
    emit_table(("tokens of", *dialects), [*rows, ("(all)", *sums)], right=range(1, 1 + len(dialects)))


def _note_refused(board: Board, shown: list[Tool], *, everything: bool) -> None:
    """Say what read-only mode leaves out; where all is shown, who refuses which."""
    visible = board.visible_tools()
    by_mode = visible.plans.keys() - visible.offered.plans.keys()
    if everything:
        names = [tool.name for tool in shown]
        _note_names("read-only mode refuses", [name for name in names if name in by_mode])
        _note_names(
            f"the profile {visible.profile!r} leaves out", [name for name in names if name not in visible.plans]
        )
    elif by_mode:
        more = "a tool more" if len(by_mode) == 1 else f"{len(by_mode)} tools more"
        note(f"read-only mode refuses {more}; pegboard list --all shows all")


def _note_names(who: str, names: list[str]) -> None:
    if names:
        from pegboard.absence import some_of

        note(f"{who}: {some_of([*map(printable_line, names)], MAX_NAMED)}")


def _note_the_rest(board: Board, *, found: bool, filtered: bool) -> None:
    if not found and filtered:
        note("no tool matches; pegboard list without options and --profile shows all")
    # A tool that is off until somebody configures it is not a reason to look into anything; what is held has its line.
    others = sum(not (one.is_disabled or one.is_held) for one in board.rejected_tools.values())
    not_there = others + len(board.plugins.quarantined_so_far)
    if not found and not filtered and not not_there and not board.held:
        note("no tool is on the board; install a plugin: pip install pegboard-calculator")
    if not_there:
        what = "a tool or plugin is" if not_there == 1 else f"{not_there} tools or plugins are"
        note(f"{what} not on the board; pegboard doctor says why")
