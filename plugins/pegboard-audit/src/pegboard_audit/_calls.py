"""One call as it was kept, and what calls a question means. Values alone, no I/O."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Verdict


@attrs.frozen(kw_only=True)
class CallRecord:
    """One call that ended.

    Args:
        seq: grows with each call that is written, over all processes; `CallQuery.after` takes it.
        id: of the call; a caller may have chosen it, so it is unique in its session alone.
        parent_id: the id of the call of the same session that made this one; None: none did.
        started_at: seconds since the epoch.
        duration_ms: from arrival to answer.
        name: of the tool that was asked for; None: that was not a text.
        user_id, session, channel: who, and how they came.
        source: where the tool comes from, as `pegboard list` has it: its source, else its distribution; None: there was
            no such tool.
        status: ok, error, cancelled.
        code, reason: of the error; None: there was none.
        timings: microseconds by stage, as `pegboard.Timings`; empty for what never was a call.
        verdicts: what each guard said.
        trace_id: of the distributed trace that the call was part of, 32 hexadecimal digits; None: of none.
        arguments: where `arguments = true`, without secrets that are declared or look like one.
        process: the id of the process that answered; None: it had an older version of pegboard-audit.
        span_id: of the call's own span, 16 hexadecimal digits; where nothing makes spans, that of `parent_span_id`.
        parent_span_id: of the span below which the process was asked, in `trace_id`; None: it was not in this trace.

    .. versionadded:: 0.1
    """

    seq: int
    id: str
    parent_id: str | None = None
    started_at: float
    duration_ms: float
    name: str | None = None
    user_id: str | None = None
    session: str = ""
    channel: str | None = None
    source: str | None = None
    status: str = "ok"
    code: str | None = None
    reason: str | None = None
    timings: Mapping[str, float] = attrs.field(factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    trace_id: str | None = None
    arguments: Any = None
    process: int | None = None
    span_id: str | None = None
    parent_span_id: str | None = None

    @property
    def outcome(self) -> str | None:
        """The error's code, CANCELLED, or None: it was done."""
        return "CANCELLED" if self.status == "cancelled" else self.code

    def to_json(self) -> dict[str, Any]:
        """A line of `pegboard audit --json`."""
        line: dict[str, Any] = {
            "id": self.id,
            "parent_id": self.parent_id,
            "time": datetime.fromtimestamp(self.started_at, UTC).isoformat(timespec="milliseconds"),
            "name": self.name,
            "user_id": self.user_id,
            "source": self.source,
            "code": self.outcome,
            "duration_ms": self.duration_ms,
            "timings": dict(self.timings),
            "verdicts": [
                {"guard": one.guard, "stage": one.stage.value, "verdict": one.verdict, "us": one.duration_us}
                for one in self.verdicts
            ],
            "trace_id": self.trace_id,
        }
        return line if self.arguments is None else {**line, "arguments": self.arguments}


@attrs.frozen(kw_only=True)
class CallQuery:
    """Which calls are meant: those to which everything applies that is not None.

    Args:
        since, until: seconds since the epoch; calls that began in between, `until` excluded.
        name: of the tool.
        user_id: who called.
        failed: True: errors and cancelled calls alone; False: done ones alone.
        id: of the call.
        parent_id: the calls that this one made.
        session: of one session.
        trace_id: of one distributed trace, in whatever process.
        after: those that were written after the call of this `seq`.
        up_to: those that were written before or with it.

    .. versionadded:: 0.1
    """

    since: float | None = None
    until: float | None = None
    name: str | None = None
    user_id: str | None = None
    failed: bool | None = None
    id: str | None = None
    parent_id: str | None = None
    session: str | None = None
    trace_id: str | None = None
    after: int | None = None
    up_to: int | None = None

    def where(self) -> tuple[str, list[Any]]:
        """The condition in SQL, and its values."""
        said = [
            (condition, value)
            for condition, value in (
                ("started_at >= ?", self.since),
                ("started_at < ?", self.until),
                ("name = ?", self.name),
                ("user_id = ?", self.user_id),
                ("id = ?", self.id),
                ("parent_id = ?", self.parent_id),
                ("session = ?", self.session),
                ("trace_id = ?", self.trace_id),
                ("seq > ?", self.after),
                ("seq <= ?", self.up_to),
                ("(status <> 'ok') = ?", self.failed),
            )
            if value is not None
        ]
        values = [_storable(value) for _, value in said]
        return " AND ".join(condition for condition, _ in said) or "1", values


def _storable(value: Any) -> Any:
    """As it was written: UTF-8 has no halves of surrogate pairs."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
