"""What a person should look at before anybody trusts a source: its tools, and all else that it says.

What is looked for is the core's (`pegboard.marks`) and, where pegboard-mcp is installed, all that `pegboard probe`
looks for in definitions. A mark refuses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import trio

from pegboard import Origin, PegboardError
from pegboard.marks import marks_of, orders_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import Board, Tool, ToolSource
    from pegboard.sources import SourceDetails

MAX_FINDINGS = 500


def tools_to_judge(board: Board, source: ToolSource) -> dict[str, Tool]:
    """The tools of the board, and those of the source that are not on it: what nobody accepted yet is what a person
    has to look at most."""
    tools = {name: entry.tool for name, entry in board.registry.plans.items()}
    known = getattr(source, "known", None)
    try:
        offered = known() if known is not None else None
    except PegboardError:  # it says so in its state
        offered = None
    for one in offered or ():
        if one.name not in tools:
            tools[one.name] = attrs.evolve(one, origin=Origin(source=source.name))
    return tools


class Judged:
    """What was found in each source, until it says something else: it is asked for as often as the page is drawn."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, list[dict[str, Any]]]] = {}

    async def of(self, board: Board, source: ToolSource, details: SourceDetails) -> list[dict[str, Any]]:
        """As `judged`, in a thread where it is not known."""
        tools = tools_to_judge(board, source)
        told = (details.instructions, tuple(_texts(details)), tuple(details.left_out.items()))
        others = tuple(one.fingerprint for name, one in tools.items() if name not in board.registry.plans)
        key = (board.registry.snapshot.version, others, told)
        if self._known.get(source.name, (None,))[0] != key:
            found = await trio.to_thread.run_sync(judged, tools, source, details)
            self._known[source.name] = key, found
        return self._known[source.name][1]


def judged(tools: Mapping[str, Tool], source: ToolSource, details: SourceDetails) -> list[dict[str, Any]]:
    """Everything to look at, as `{"kind", "where", "why"}`; `tool` names the tool, where it is of one.

    Args:
        tools: as of `tools_to_judge`.
        source: whose they are that are judged.
        details: what it tells of itself.
    """
    hidden = getattr(source, "stripped", None) or {}
    marks = marks_of(tools.values(), hidden)
    found: list[dict[str, Any]] = [
        {
            "kind": mark.kind,
            "tool": mark.tool.name,
            "where": mark.where,
            "why": mark.why if mark.kind != "hidden text" else _hidden(hidden.get(mark.tool.name)) or mark.why,
        }
        for mark in marks
        if mark.tool.origin.source == source.name
    ]
    found += [
        {
            "kind": "contradiction",
            "tool": one.name,
            "where": "annotations",
            "why": "it says that it only reads, and that it may destroy; it counts as one that may",
        }
        for one in tools.values()
        if one.origin.source == source.name and one.annotations.says_both
    ]
    found += [
        {"kind": "orders", "tool": None, "where": where, "why": why}
        for where, text in _texts(details)
        for why in orders_in(text)
    ]
    found += _probed(tools, source, details)
    found += [{"kind": "left out", "tool": None, "where": name, "why": why} for name, why in details.left_out.items()]
    return found[:MAX_FINDINGS]


def _probed(tools: Mapping[str, Tool], source: ToolSource, details: SourceDetails) -> list[dict[str, Any]]:
    """What `pegboard probe` would find in the definitions, beside marks; notes are for knowing, and left out."""
    try:
        from pegboard_mcp.probe.checks import CHECKS, OF_MARKS
        from pegboard_mcp.probe.definitions import Offered, look_at_offer
    except ModuleNotFoundError:
        return []
    own = [one for one in tools.values() if one.origin.source == source.name]
    offered = Offered(
        tools=tuple({"name": one.name, "description": one.description, "inputSchema": one.input_schema} for one in own),
        server={"name": source.name, "version": "?"},
        instructions=details.instructions or "",
    )
    return [
        {"kind": one.check, "tool": None, "where": one.where, "why": f"{CHECKS[one.check].what} {one.why}".strip()}
        for one in look_at_offer(offered)
        if one.level != "note" and one.check not in OF_MARKS
    ]


def _hidden(what: Any) -> str:
    return f"taken out: {', '.join(map(str, what))}" if what else ""


def _texts(details: SourceDetails) -> Iterator[tuple[str, str]]:
    """The texts of a source that reach a model, beside those of its tools."""
    if details.instructions:
        yield "its instructions", details.instructions
    for offer in details.offers:
        yield f"{offer.kind} {offer.name[:100]}", f"{offer.title or ''}\n{offer.description}"
