"""A call with those that led to it and those that it led to, drawn over time. Values in, lines out; no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pegboard_audit._calls import CallRecord
    from pegboard_audit._families import CallInTree

BLOCK, ASCII_BLOCK = "█", "#"


class Bar(NamedTuple):
    """One line: how deep it lies, whose it is, and when, from the beginning of the first call on, in milliseconds."""

    depth: int
    call: CallRecord
    begins_ms: float
    takes_ms: float


def bars_of(tree: Sequence[CallInTree]) -> list[Bar]:
    """The lines of a tree (`AuditReader.tree`), in its order."""
    begins = tree[0].call.started_at
    return [Bar(depth, one, max((one.started_at - begins) * 1000, 0.0), one.duration_ms) for depth, one in tree]


def stages_of(timings: Mapping[str, float]) -> Iterator[tuple[str, float, float]]:
    """Each stage that took time, which follow each other: its name, its beginning and its length in milliseconds."""
    begins = 0.0
    for stage, took_us in timings.items():
        if took_us:
            yield stage, begins / 1000, took_us / 1000
        begins += took_us


def bar(begins_ms: float, takes_ms: float, whole_ms: float, width: int, block: str = BLOCK) -> str:
    """A bar in its place on a line of `width`; the shortest is one block, and none leaves the line."""
    if whole_ms <= 0:
        return block
    start = min(round(begins_ms / whole_ms * width), width - 1)
    length = max(round(takes_ms / whole_ms * width), 1)
    return " " * start + block * min(length, width - start)
