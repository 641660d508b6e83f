"""One outcome as a row, in two steps: what the task of the call notes, and what the writer's thread makes of it.

The first step is all that a call waits for. It keeps nothing that is large: no result and, unless the settings ask for
them, no arguments. The texts of a call are untrusted: they are cut here, and made harmless where they are shown.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pegboard.trace import arrived, carrier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Outcome, Verdict

MAX_TEXT = 200
"""Characters of an id, a name, a user that are kept; whoever calls chooses them."""

Noted = tuple[Any, ...]
"""What `row_of` makes the columns of `_database.COLUMNS` of; `timings` and `verdicts` as the outcome has them, texts as
they came."""


def noted(outcome: Outcome, *, arguments: bool) -> Noted:
    """What is kept of one call."""
    call, session, tool, result = outcome.call, outcome.session, outcome.tool, outcome.result
    error = None if result is None else result.error
    given = None
    if arguments:
        from pegboard.guards.audit import shown_arguments

        given = json.dumps(shown_arguments(outcome), ensure_ascii=False)
    return (
        call.id, outcome.parent_id, outcome.started_at, outcome.duration_ms, call.name, session.user_id, session.id,
        session.channel, None if tool is None else tool.origin,
        "cancelled" if result is None else "ok" if error is None else "error",
        None if error is None else error.code.value, None if error is None else error.details.get("reason"),
        outcome.timings, outcome.verdicts, _traceparents(), given,
    )  # fmt: skip


def _traceparents() -> tuple[str | None, str | None] | None:
    """That of the call, and the one that came into this process; None: it is part of no trace.

    Observers are told in the order of their plugins' names, so what makes spans, as pegboard-otel does, has not left
    the call's own one yet.
    """
    trace = carrier.get()
    if trace is None or "traceparent" not in trace:
        return None
    came = arrived.get()
    return trace["traceparent"], None if came is None else came.get("traceparent")


def row_of(one: Noted) -> tuple[Any, ...]:
    """The row, as SQLite takes it."""
    (
        id_, parent_id, started_at, duration_ms, name, user_id, session, channel, origin, status, code, reason,
        timings, verdicts, traceparents, arguments,
    ) = one  # fmt: skip
    trace_id, span_id, parent_span_id = _spans(*traceparents) if traceparents else (None, None, None)
    return (
        _text(id_) or "", _text(parent_id), started_at, round(duration_ms, 3), _text(name), _text(user_id),
        _text(session) or "", _text(channel), None if origin is None else _text(str(origin)), status, code,
        _text(reason), _timings(timings), _verdicts(verdicts), trace_id, _utf8(arguments),
        os.getpid(), span_id, parent_span_id,
    )  # fmt: skip


def _spans(own: str, came: str | None) -> tuple[str, str, str | None]:
    """Trace, span and the span that came in, of `VERSION-TRACE-SPAN-FLAGS`, whose form is held where it comes in
    (https://www.w3.org/TR/trace-context/)."""
    return own[3:35], own[36:52], None if came is None else came[36:52]


def _text(value: Any) -> str | None:
    if value is None or not isinstance(value, str):
        return None
    return _utf8(value[:MAX_TEXT])


def _utf8(text: str | None) -> str | None:
    """The text with halves of surrogate pairs as escapes: UTF-8, and so the file, has none."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _timings(timings: Mapping[str, float]) -> str | None:
    """The stages that took time, as JSON; None where there was no call to measure."""
    if not timings:
        return None
    parts = [f'"{stage}": {us}' for stage, us in timings.items() if us]  # finite, and `json.dumps` takes longer
    return f"{{{', '.join(parts)}}}"


def _verdicts(verdicts: tuple[Verdict, ...]) -> str | None:
    if not verdicts:
        return None
    rows = [
        {"guard": one.guard, "stage": one.stage.value, "verdict": one.verdict, "us": one.duration_us}
        for one in verdicts
    ]
    return _utf8(json.dumps(rows, ensure_ascii=False))
