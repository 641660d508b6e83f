"""Calls as they happen, for one page that looks: an observer that notes, and batches that are bounded.

The observer is there while somebody looks and not a moment longer, and all that it does in a call is to put the outcome
aside. What a person reads is made of that later, a few times a second: the newest calls in full, how many were left
out, and counts over all of them.

Nothing here does any I/O. Arguments are those that an audit may keep: secrets that the tool declared are masked.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from pegboard.guards.audit import shown_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard import Outcome, Session, Tool, ToolCall

MAX_HELD = 20_000
"""Outcomes between two batches; of more the oldest are counted alone."""
MAX_SHOWN = 100
"""Calls of one batch that are shown in full: the newest."""
MAX_RUNNING = 50
"""Calls under way that one batch shows."""
LONG_S = 0.1
"""A call that has run for longer is shown before it ends."""
MAX_NAME = 200
MAX_TEXT = 4_000
"""Characters of a result that are shown."""
WINDOW_S = 60
"""What the counts are over, in seconds."""
MAX_SAMPLES = 1_000
"""Durations of one second that the percentiles are of."""
SLOWEST = 5


class Recording:
    """What one page has not been told yet.

    Args:
        wake: called when there is something to tell and there was nothing before; it must not wait.
        clock: seconds since the epoch.
    """

    def __init__(self, wake: Callable[[], object], clock: Callable[[], float]) -> None:
        self._wake = wake
        self._clock = clock
        self._ended: deque[Outcome] = deque()
        self._missed = 0
        self._running: dict[int, tuple[ToolCall, Session, str | None, float]] = {}
        self._numbers = itertools.count()
        self._told: set[int] = set()
        self._counts = Counts()

    def begin(self, call: ToolCall, session: Session, tool: Tool | None, parent_id: str | None) -> int:
        """A call begins."""
        number = next(self._numbers)
        self._running[number] = (call, session, parent_id, self._clock())
        return number

    def __call__(self, outcome: Outcome) -> None:
        """A call has ended."""
        ended = self._ended
        if len(ended) >= MAX_HELD:
            ended.popleft()
            self._missed += 1
        elif not ended:
            self._wake()
        ended.append(outcome)
        self._running.pop(outcome.token, None)

    def take(self) -> dict[str, Any]:
        """What happened since the last batch: `{"calls", "running", "skipped", "counts"}`, all of it JSON."""
        now = self._clock()
        ended, self._ended = self._ended, deque()
        missed, self._missed = self._missed, 0
        for outcome in ended:
            self._counts.add(outcome)
        shown = list(itertools.islice(ended, max(0, len(ended) - MAX_SHOWN), None))
        running = [pair for pair in itertools.islice(self._running.items(), MAX_RUNNING) if now - pair[1][3] >= LONG_S]
        return {
            "now": now,
            "calls": [_row(outcome) for outcome in shown],
            "running": [_running_row(*one) for _, one in running],
            "under_way": len(self._running),
            "skipped": len(ended) - len(shown) + missed,
            "counts": self._counts.summary(now),
        }


def _row(outcome: Outcome) -> dict[str, Any]:
    """One call, for a person who looks at it."""
    result = outcome.result
    error = None if result is None else result.error
    return {
        **_who(outcome.call, outcome.session, outcome.parent_id),
        "started_at": outcome.started_at,
        "duration_ms": round(outcome.duration_ms, 3),
        "status": outcome.status,
        "error": None if error is None else error.code.value,
        "message": None if error is None else _cut(error.message),
        "arguments": shown_arguments(outcome),
        "text": None if result is None else _cut(result.text),
        "timings": dict(outcome.timings),
        "guards": [
            {"guard": one.guard, "stage": one.stage.value, "verdict": one.verdict, "us": one.duration_us}
            for one in outcome.verdicts
        ],
    }


def _running_row(call: ToolCall, session: Session, parent_id: str | None, began: float) -> dict[str, Any]:
    return {**_who(call, session, parent_id), "started_at": began}


def _who(call: ToolCall, session: Session, parent_id: str | None) -> dict[str, Any]:
    name: Any = call.name  # as it came
    return {
        "request_id": call.id,
        "tool": name[:MAX_NAME] if isinstance(name, str) else None,
        "user_id": session.user_id,
        "channel": session.channel,
        "parent_id": parent_id,
    }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


class Counts:
    """Calls of the last minute, by the second in which they began; what is older is forgotten."""

    def __init__(self) -> None:
        self._seconds: dict[int, _Second] = {}

    def add(self, outcome: Outcome) -> None:
        """Count one."""
        second = int(outcome.started_at)
        counted = self._seconds.get(second)
        if counted is None:
            counted = self._seconds[second] = _Second()
        counted.add(outcome)

    def summary(self, now: float) -> dict[str, Any]:
        """`{"per_second", "errors_per_second", "calls", "errors", "p50_ms", "p95_ms", "slowest"}`."""
        first = int(now) - WINDOW_S + 1
        self._seconds = {second: one for second, one in self._seconds.items() if second >= first}
        seconds = [self._seconds.get(second) for second in range(first, first + WINDOW_S)]
        there = [one for one in seconds if one is not None]
        durations = sorted(itertools.chain.from_iterable(one.durations for one in there))
        return {
            "per_second": [one.calls if one is not None else 0 for one in seconds],
            "errors_per_second": [one.errors if one is not None else 0 for one in seconds],
            "calls": sum(one.calls for one in there),
            "errors": sum(one.errors for one in there),
            "p50_ms": _percentile(durations, 0.5),
            "p95_ms": _percentile(durations, 0.95),
            "slowest": _slowest(there),
        }


class _Second:
    """The calls of one second."""

    def __init__(self) -> None:
        self.calls = self.errors = 0
        self.durations: list[float] = []
        self.by_tool: Counter[str] = Counter()
        self.time_by_tool: dict[str, float] = {}

    def add(self, outcome: Outcome) -> None:
        self.calls += 1
        self.errors += outcome.status == "error"
        if len(self.durations) < MAX_SAMPLES:
            self.durations.append(outcome.duration_ms)
        if outcome.tool is not None:  # names of tools that are not there are without end
            name = outcome.tool.name
            self.by_tool[name] += 1
            self.time_by_tool[name] = self.time_by_tool.get(name, 0.0) + outcome.duration_ms


def _percentile(values: list[float], share: float) -> float | None:
    """The nearest rank; None of nothing."""
    return round(values[min(len(values) - 1, int(len(values) * share))], 3) if values else None


def _slowest(seconds: Iterable[_Second]) -> list[dict[str, Any]]:
    """The tools whose calls took longest on the average."""
    calls: Counter[str] = Counter()
    times: dict[str, float] = {}
    for one in seconds:
        calls.update(one.by_tool)
        for name, took in one.time_by_tool.items():
            times[name] = times.get(name, 0.0) + took
    means = sorted(((times[name] / calls[name], name) for name in calls), reverse=True)
    return [{"tool": name, "mean_ms": round(mean, 3), "calls": calls[name]} for mean, name in means[:SLOWEST]]
