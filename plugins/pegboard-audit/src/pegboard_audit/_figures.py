"""Figures of calls: how many, how many failed, how long they took, how they came over time. No I/O."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pegboard_audit.reading import CallRecord

BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-=+*%#"
"""For terminals that cannot show `BARS`."""
MINUTES = 40
"""How many minutes a spark line shows at most, the last ones."""


@attrs.define
class Figures:
    """What is counted of some calls, one after the other."""

    calls: int = 0
    errors: int = 0
    slowest: CallRecord | None = None
    _durations: list[float] = attrs.field(factory=list)
    _minutes: Counter[int] = attrs.field(factory=Counter)

    def add(self, call: CallRecord) -> None:
        """Count one call."""
        self.calls += 1
        self.errors += call.status != "ok"
        self._durations.append(call.duration_ms)
        self._minutes[int(call.started_at // 60)] += 1
        if self.slowest is None or call.duration_ms > self.slowest.duration_ms:
            self.slowest = call

    def percentile(self, percent: int) -> float:
        """The duration that so many of a hundred calls keep, by nearest rank, in milliseconds."""
        ordered = sorted(self._durations)
        return ordered[max(ceil(len(ordered) * percent / 100) - 1, 0)]

    def spark(self, bars: str = BARS) -> str:
        """A bar a minute, from the first call to the last; the highest is that of the busiest minute."""
        last = max(self._minutes)
        first = max(min(self._minutes), last - MINUTES + 1)
        return spark_line([self._minutes[minute] for minute in range(first, last + 1)], bars)

    def to_json(self) -> dict[str, Any]:
        """Counts and milliseconds."""
        assert self.slowest is not None, "there is a call"
        return {
            "calls": self.calls,
            "errors": self.errors,
            "p50_ms": self.percentile(50),
            "p95_ms": self.percentile(95),
            "slowest_ms": self.slowest.duration_ms,
        }


def figures_of(calls: Iterable[CallRecord]) -> Figures:
    """The figures of all of them."""
    figures = Figures()
    for call in calls:
        figures.add(call)
    return figures


@attrs.define
class FiguresBy:
    """The figures of calls by an attribute of theirs."""

    what: str
    found: dict[str | None, Figures] = attrs.field(factory=dict)

    def add(self, call: CallRecord) -> None:
        """Count one call."""
        self.found.setdefault(getattr(call, self.what), Figures()).add(call)

    def most_first(self) -> dict[str | None, Figures]:
        """The figures by each value, the most calls first."""
        return dict(sorted(self.found.items(), key=lambda one: (-one[1].calls, one[0] or "")))


def spark_line(counts: Sequence[int], bars: str = BARS) -> str:
    """A bar a count: a space for none, the lowest for the fewest, the highest for the most."""
    most = max(counts, default=0)
    return "".join(bars[ceil(count * len(bars) / most) - 1] if count else " " for count in counts)


def milliseconds(value: float) -> str:
    """As people read it: three digits that count, and no more after the point than microseconds."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
