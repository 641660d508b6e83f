"""Figures of calls: how many, how many failed, how long they took, how they came over time. No I/O."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-=+*%#"
"""For terminals that cannot show `BARS`."""
MINUTES = 40
"""How many minutes a spark line shows at most, the last ones."""


@attrs.frozen(kw_only=True)
class CallFigures:
    """What is counted of some calls, of which there is at least one.

    Args:
        calls: how many.
        errors: how many of them failed or were cancelled.
        p50_ms, p95_ms: what 50 and 95 of a hundred calls kept, by nearest rank: durations of calls, no estimates.
        slowest_ms: the longest duration.
        slowest_name: of the tool of that call; None: it has none, or this was not asked.
        by_minute: how many calls began in each of the last 40 minutes up to the last call, at most from the first call
            on; empty where this was not asked.

    .. versionadded:: 0.1
    """

    calls: int
    errors: int
    p50_ms: float
    p95_ms: float
    slowest_ms: float
    slowest_name: str | None = None
    by_minute: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Counts and milliseconds, as `pegboard audit stats --json` has them."""
        names = ("calls", "errors", "p50_ms", "p95_ms", "slowest_ms")
        return {name: getattr(self, name) for name in names}


def rank_of(percent: int, calls: int) -> int:
    """The place of the duration that so many of a hundred calls keep, from 0 on, by nearest rank."""
    return max(ceil(calls * percent / 100) - 1, 0)


def spark_line(counts: Sequence[int], bars: str = BARS) -> str:
    """A bar a count: a space for none, the lowest for the fewest, the highest for the most."""
    most = max(counts, default=0)
    return "".join(bars[ceil(count * len(bars) / most) - 1] if count else " " for count in counts)


def milliseconds(value: float) -> str:
    """As people read it: three digits that count, and no more after the point than microseconds."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
