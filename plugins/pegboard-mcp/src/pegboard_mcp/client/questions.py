"""What a person is asked about what changed of a server since it was first seen, where some of it is used."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import attrs

from pegboard import Annotations, Origin, Tool
from pegboard.absence import HeldQuestion
from pegboard_mcp.lock.words import line, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pegboard_mcp.lock.memory import Changed
    from pegboard_mcp.lock.pins import Pin

notices = logging.getLogger("pegboard.notice")  # what a person reads without looking for it

MOST_ASKED = 5
"""Changes that one question is about: as many as a person reads before they answer."""


def question_about(
    changed: Mapping[str, Changed], key: str, tool: Tool, keep: Callable[[list[Pin]], None]
) -> HeldQuestion:
    """The question about all that changed of one server, as much as a person reads. What is shown is what yes accepts.

    Args:
        changed: by the names of `pegboard_mcp.lock.memory`.
        key: what is used, which comes first.
        tool: through which it is used.
        keep: knows these as they are now; it raises `OSError`.
    """
    server = changed[key].now.source
    shown = [changed[one] for one in (key, *(one for one in changed if one != key))][:MOST_ASKED]
    lines = [f"Accept what changed of {server}?", *(f"{_called(one.key)} {one.words}" for one in shown)]
    if more := len(changed) - len(shown):
        lines.append(f"({more} more changes stay held back: pegboard lock shows them)")

    def accept() -> None:
        try:
            keep([one.now for one in shown])
        except OSError as problem:  # it stays held back, and the person hears why
            why = problem.strerror or "no reason is known"
            notices.warning("what was accepted of %s cannot be kept: %s", server, why)

    return HeldQuestion("\n".join(lines), attrs.evolve(tool, origin=Origin(source=server)), accept)


def _called(key: str) -> str:
    """A name in one line, however the server wrote it."""
    kind, _, name = key.partition(":")
    return line(name, 100) if kind == "tool" else f"the {kind} {quoted(name, 100)}"


def reading_tool(read: Callable[..., Any]) -> Tool:
    """The tool that a person is asked about where a resource is read, whoever reads it."""
    return Tool(
        name="read_resource",
        description="Read what lies at an address.",
        handler=read,
        input_schema={"type": "object", "properties": {"uri": {"type": "string"}}},
        category="mcp",
        annotations=Annotations(read_only=True),
        run="async",
    )
