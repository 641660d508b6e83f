"""The sources of the board, for people: those that are waited for, and those that offer nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.cli._output import emit_json, emit_table, note
from pegboard.cli._text import printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard.contract import SourceStatus
    from pegboard.host import Host
    from pegboard.registry.board import Board

WAIT_S = 10.0
"""How long commands that run nothing wait for sources of which nothing is known."""
MAX_NAMED = 20
"""How many names a line names."""


async def wait_for_sources(host: Host, timeout_s: float) -> list[SourceStatus]:
    """Wait until each source has answered or failed, and say at a terminal which ones are waited for; how they are."""
    import trio

    from pegboard.cli._waiting import waiting

    ended: dict[str, SourceStatus] = {}  # one that failed may be starting again, and that is not how it did

    def look() -> list[SourceStatus]:
        sources = host.board.source_statuses()
        ended.update({one.source: one for one in sources if not one.state.is_coming})
        return [ended.get(one.source, one) for one in sources]

    with waiting("") as wait, trio.move_on_after(timeout_s):
        while host.sources_starting:
            coming = [f"{one.source} ({one.state.value})" for one in look() if one.state.is_coming]
            wait.text = f"waiting for {', '.join(coming)}"
            await host.wait_source_moved()
    return look()


def absence_of(one: SourceStatus) -> str:
    """Why a source offers nothing, in a line: its name, the reason, its state and for how long.

    .. versionadded:: 0.1
    """
    reason = printable_line(one.reason or one.state.meaning).rstrip(".")
    how_long = f"{one.state.value} for {one.since_s:.0f} s"
    return f"the source {printable_line(one.source)} offers nothing: {reason} ({how_long})"


def note_absent(sources: Iterable[SourceStatus]) -> None:
    """Say of each source that offers nothing why, on stderr: what is listed goes to stdout."""
    absent = [one for one in sources if not one.tools]
    for one in absent:
        note(f"warning: {absence_of(one)}")
    if any(one.state.value in ("starting", "installing") for one in absent):
        note("hint: a start or an install may take longer: pegboard list --wait 120")


def held_line(board: Board) -> str | None:
    """How much waits to be accepted by a person, and its names; None: nothing does.

    .. versionadded:: 0.1
    """
    held = board.held
    if not held:
        return None
    from pegboard.absence import some_of

    names = some_of([printable_line(one.name) for one in held], MAX_NAMED)
    them = "it" if len(held) == 1 else f"them ({len(held)})"
    return f"held back until somebody accepts {them}: {names}; pegboard lock shows what changed"


def note_held(board: Board) -> None:
    """Say that on stderr."""
    if line := held_line(board):
        note(line)


def emit_sources(sources: Sequence[SourceStatus], *, as_json: bool) -> None:
    """The answer of `list --sources`."""
    if as_json:
        emit_json([one.to_json() for one in sources])
    elif sources:
        rows = [
            (one.source, one.kind, one.state.value, f"{one.since_s:.0f} s", str(one.tools), one.reason or "")
            for one in sources
        ]
        emit_table(("source", "kind", "state", "since", "tools", "reason"), rows, right=(3, 4))
    else:
        note("no source of tools is configured; an MCP server is one: [plugins.mcp.servers.NAME]")
