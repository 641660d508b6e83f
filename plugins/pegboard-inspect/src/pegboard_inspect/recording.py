"""Calls as they happen, for one page that looks: an observer that notes, and batches that are bounded.

Calls of other programs come beside them where they are read (`pegboard_inspect.elsewhere`); what is read of this host's
own there was heard already, and is left out.

The observer is there while somebody looks and not a moment longer, and all that it does in a call is to put the outcome
aside. What a person reads is made of that later, a few times a second: the newest calls in full, how many were left
out, and counts over all of them.

Nothing here does any I/O. Arguments are those that an audit may keep: without secrets.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from pegboard import Outcome
from pegboard.guards.audit import shown_arguments, shown_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard import Session, Tool, ToolCall, Verdict
    from pegboard_audit import CallRecord

    Heard = Outcome | CallRecord

MAX_HELD = 20_000
"""Outcomes between two batches; of more the oldest are counted alone."""
MAX_OWN = 30_000
"""Own calls that are expected in the file of the audit; it has at most 25,000 still to write."""
MAX_SHOWN = 40
"""Calls of one batch that are shown in full: what went wrong before what did not, the newest of each. A dozen batches a
second are more than anybody reads, and of so many rows a browser is still quick."""
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
        elapsed: seconds that only grow.
        reads_audit: whether calls of other programs are heard as well (`hear_elsewhere`).
        user_id: whose calls alone are told; None: everybody's.
    """

    def __init__(
        self,
        wake: Callable[[], object],
        clock: Callable[[], float],
        *,
        elapsed: Callable[[], float] = time.monotonic,
        reads_audit: bool = False,
        user_id: str | None = None,
    ) -> None:
        self._user_id = user_id
        self._wake = wake
        self._clock, self._elapsed = clock, elapsed
        self._ended: deque[Outcome] = deque()
        self._missed = 0
        self._running: dict[int, tuple[ToolCall, Session, str | None, float]] = {}
        self._numbers = itertools.count()
        self._counts = Counts()
        self._reads_audit = reads_audit
        self._own: dict[tuple[float, float], None] = {}
        self._elsewhere: deque[CallRecord] = deque()
        self._audit: dict[str, str | None] | None = None

    def begin(self, call: ToolCall, session: Session, tool: Tool | None, parent_id: str | None) -> int:
        """A call begins."""
        number = next(self._numbers)
        self._running[number] = (call, session, parent_id, self._elapsed())
        return number

    def __call__(self, outcome: Outcome) -> None:
        """A call has ended."""
        ended = self._ended
        if len(ended) >= MAX_HELD:
            self._expect(ended.popleft())
            self._missed += 1
        elif not ended:
            self._wake()
        ended.append(outcome)
        self._running.pop(outcome.token, None)

    def hear_elsewhere(self, record: CallRecord) -> None:
        """A call of any program was written down; this host's own is among them, and comes after its outcome."""
        if len(self._elsewhere) >= MAX_HELD:
            self._missed += not self._is_own(self._elsewhere.popleft())
        self._elsewhere.append(record)
        self._wake()

    def say_of_audit(self, problem: str | None) -> None:
        """Other programs' calls are read from now on; or why they are not."""
        self._audit = {"problem": problem}
        self._wake()

    def _expect(self, outcome: Outcome) -> None:
        """The audit will have this one, too."""
        if self._reads_audit:
            self._own[_key(outcome)] = None
            if len(self._own) > MAX_OWN:
                del self._own[next(iter(self._own))]

    def _is_own(self, record: CallRecord) -> bool:
        return self._own.pop(_key(record), self) is None

    def _heard(self) -> list[Heard]:
        """What ended since the last batch, each call once, in the order in which they ended."""
        ended, self._ended = self._ended, deque()
        records, self._elsewhere = self._elsewhere, deque()
        for outcome in ended:
            self._expect(outcome)
        others = [record for record in records if not self._is_own(record)]
        return sorted([*ended, *others], key=_end_of) if others else [*ended]

    def take(self) -> dict[str, Any]:
        """What happened since the last batch: `{"calls", "running", "skipped", "counts", "audit"}`, all of it JSON;
        `audit` is null where no calls of other programs are read, else `{"problem"}`, which is null as well, or why
        they cannot be."""
        now, elapsed = self._clock(), self._elapsed()
        ended, under_way = self._heard(), self._running
        missed, self._missed = self._missed, 0
        if (only := self._user_id) is not None:  # of the others there is not even the number
            ended, missed = [one for one in ended if _user_of(one) == only], 0
            under_way = {number: one for number, one in under_way.items() if one[1].user_id == only}
        for one in ended:
            self._counts.add(one)
        shown = _sample(ended)
        running = [pair for pair in itertools.islice(under_way.items(), MAX_RUNNING) if elapsed - pair[1][3] >= LONG_S]
        return {
            "now": now,
            "calls": [_row(one) if isinstance(one, Outcome) else _row_elsewhere(one) for one in shown],
            "running": [_running_row(*one, now - elapsed) for _, one in running],
            "under_way": len(under_way),
            "skipped": len(ended) - len(shown) + missed,
            "counts": self._counts.summary(now),
            "audit": self._audit,
        }


def _sample(ended: list[Heard]) -> list[Heard]:
    """Those that are shown, in their order."""
    if len(ended) <= MAX_SHOWN:
        return ended
    order = sorted(range(len(ended)), key=lambda place: (ended[place].status == "error", place))
    return [ended[place] for place in sorted(order[-MAX_SHOWN:])]


def _key(one: Heard) -> tuple[float, float]:
    """What tells a call in the file of the audit that was heard already: to the microsecond, no two begin together and
    take equally long. Ids and names do not: callers choose them, and the audit cuts them."""
    return one.started_at, round(one.duration_ms, 3)


def _user_of(one: Heard) -> str | None:
    return one.session.user_id if isinstance(one, Outcome) else one.user_id


def _end_of(one: Heard) -> float:
    return one.started_at + one.duration_ms / 1000


def _row(outcome: Outcome) -> dict[str, Any]:
    """One call, for a person who looks at it."""
    result = outcome.result
    error = None if result is None else result.error
    return {
        **_who(outcome.call, outcome.session, outcome.parent_id),
        **_how_long(outcome),
        "elsewhere": False,
        "source": None if outcome.tool is None else str(outcome.tool.origin),
        "error": None if error is None else error.code.value,
        "message": None if error is None else _cut(error.message),
        "arguments": shown_arguments(outcome),
        "text": None if result is None else _cut(result.text),
    }


def _row_elsewhere(record: CallRecord) -> dict[str, Any]:
    """The same of a call of another program: the audit keeps no texts, and arguments only where it is told to."""
    return {
        "request_id": record.id,
        "tool": record.name,
        "user_id": record.user_id,
        "channel": record.channel,
        "session": record.session,
        "parent_id": record.parent_id,
        **_how_long(record),
        "elsewhere": True,
        "source": record.source,
        "error": record.code,
        "message": None,
        "arguments": record.arguments,
        "text": None,
    }


def _how_long(one: Heard) -> dict[str, Any]:
    return {
        "started_at": one.started_at,
        "duration_ms": round(one.duration_ms, 3),
        "status": one.status,
        "timings": dict(one.timings),
        "guards": [_said(verdict, one) for verdict in one.verdicts],
    }


def _said(verdict: Verdict, one: Heard) -> dict[str, Any]:
    asked = [shown_question(one, question) for question in verdict.asked] if isinstance(one, Outcome) else []
    said = {"guard": verdict.guard, "stage": verdict.stage.value, "verdict": verdict.verdict, "us": verdict.duration_us}
    return {**said, "asked": asked}


def _running_row(call: ToolCall, session: Session, parent_id: str | None, began: float, epoch: float) -> dict[str, Any]:
    return {**_who(call, session, parent_id), "started_at": epoch + began}


def _who(call: ToolCall, session: Session, parent_id: str | None) -> dict[str, Any]:
    name: Any = call.name  # as it came
    return {
        "request_id": call.id,
        "tool": name[:MAX_NAME] if isinstance(name, str) else None,
        "user_id": session.user_id,
        "channel": session.channel,
        "session": session.id,
        "parent_id": parent_id,
    }


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


class Counts:
    """Calls of the last minute, by the second in which they began; what is older is forgotten."""

    def __init__(self) -> None:
        self._seconds: dict[int, _Second] = {}

    def add(self, one: Heard) -> None:
        """Count one."""
        second = int(one.started_at)
        counted = self._seconds.get(second)
        if counted is None:
            counted = self._seconds[second] = _Second()
        counted.add(one)

    def summary(self, now: float) -> dict[str, Any]:
        """`{"per_second", "errors_per_second", "calls", "errors", "p50_ms", "p95_ms", "slowest"}`."""
        first = int(now) - WINDOW_S + 1
        # What lies ahead is of a clock that was set back since.
        self._seconds = {second: one for second, one in self._seconds.items() if first <= second < first + WINDOW_S}
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

    def add(self, one: Heard) -> None:
        self.calls += 1
        self.errors += one.status == "error"
        if len(self.durations) < MAX_SAMPLES:
            self.durations.append(one.duration_ms)
        if (name := _tool_of(one)) is not None:
            self.by_tool[name] += 1
            self.time_by_tool[name] = self.time_by_tool.get(name, 0.0) + one.duration_ms


def _tool_of(one: Heard) -> str | None:
    """The name of the tool; None where there was none of the name, since such names are without end."""
    if isinstance(one, Outcome):
        return None if one.tool is None else one.tool.name
    return None if one.source is None else one.name


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
