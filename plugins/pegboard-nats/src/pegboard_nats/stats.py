"""What a worker counts of its calls, as `$SRV.STATS` tells it. No I/O, and no clock of its own.

Beside the sums since the worker began, which are those of ADR-32, it tells of the last minute: sums alone do not say
whether something is wrong now. The minute goes on in slots, so that a call costs two additions and is not kept.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import attrs

SLOT_S = 10.0
SLOTS = 6
MAX_NAMED = 20
"""How many tools are named, of the last minute: those that failed most, then those that took longest."""


@attrs.define
class Tally:
    """Calls of one tool, or of several."""

    calls: int = 0
    failed: int = 0
    took_s: float = 0.0
    longest_s: float = 0.0

    def add(self, other: Tally) -> None:
        """Take in what another one counted."""
        self.calls += other.calls
        self.failed += other.failed
        self.took_s += other.took_s
        self.longest_s = max(self.longest_s, other.longest_s)

    def note(self, failed: int, took_s: float) -> None:
        """One call."""
        self.calls += 1
        self.failed += failed
        self.took_s += took_s
        if took_s > self.longest_s:
            self.longest_s = took_s

    def to_json(self) -> dict[str, Any]:
        """As it is told, in milliseconds."""
        return {
            "calls": self.calls,
            "failed": self.failed,
            "took_ms": round(1000 * self.took_s, 3),
            "longest_ms": round(1000 * self.longest_s, 3),
        }


class Stats:
    """The calls of one worker.

    Args:
        now: when it began, in seconds of whatever clock the others are of.
    """

    def __init__(self, now: float) -> None:
        self._began = now
        self._whole = Tally()
        self._codes: Counter[str] = Counter()
        self._last_error = ""
        self._slots: deque[tuple[int, dict[str, Tally]]] = deque(maxlen=SLOTS)

    def count(self, tool: str, code: str | None, took_s: float, now: float) -> None:
        """One call that ended; `code` is its error's, and never the error's text: that is the caller's."""
        failed = int(code is not None)
        self._whole.note(failed, took_s)
        if code is not None:
            self._codes[code] += 1
            self._last_error = code
        number = int(now // SLOT_S)
        if not self._slots or self._slots[-1][0] != number:
            self._slots.append((number, {}))
        slot = self._slots[-1][1]
        if (tally := slot.get(tool)) is None:
            tally = slot[tool] = Tally()
        tally.note(failed, took_s)

    def endpoint(self) -> dict[str, Any]:
        """The sums of ADR-32."""
        whole = self._whole
        took_ns = int(whole.took_s * 1e9)
        return {
            "num_requests": whole.calls,
            "num_errors": whole.failed,
            "last_error": self._last_error,
            "processing_time": took_ns,
            "average_processing_time": took_ns // max(1, whole.calls),
        }

    def data(self, now: float) -> dict[str, Any]:
        """What else is told: errors by code, and the last minute."""
        oldest = int(now // SLOT_S) - SLOTS + 1
        tools: dict[str, Tally] = {}
        for number, slot in self._slots:
            for name, tally in slot.items() if number >= oldest else ():
                tools.setdefault(name, Tally()).add(tally)
        every = Tally()
        for tally in tools.values():
            every.add(tally)
        worst = sorted(tools.items(), key=lambda one: (-one[1].failed, -one[1].longest_s, one[0]))
        recent = {
            "seconds": round(max(1.0, now - max(self._began, oldest * SLOT_S)), 3),
            **every.to_json(),
            "tools": {name: tally.to_json() for name, tally in worst[:MAX_NAMED]},
        }
        return {"codes": dict(self._codes), "recent": recent}
