"""What was called, read from the file: by time, tool, user, outcome, parent; and new calls of every process.

`AuditReader` reads in the thread of its caller, a few milliseconds a question, and never holds a process that writes. A
program on trio hears new calls with `pegboard_audit.follow`. What tools and callers chose (names, users, arguments)
comes as it was: whoever shows it makes it harmless first (`pegboard.text.visible`).

.. versionadded:: 0.1
"""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import attrs

from pegboard import Stage, Timings, Verdict
from pegboard_audit._database import COLUMNS, damaged, error_of, identity_of, open_for_reading
from pegboard_audit.settings import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["AuditReader", "CallQuery", "CallRecord"]

CLOCK_S = 0.001
"""By how much two readings of the clock that belong together may be apart, in seconds."""
PAGE = 1_000
"""Rows that are read at once: no question keeps the file's log from being folded in for long."""

_SELECT = f"SELECT seq, {', '.join(COLUMNS)} FROM calls"  # noqa: S608 - names of ours


@attrs.frozen(kw_only=True)
class CallRecord:
    """One call that ended.

    Args:
        seq: grows with each call that is written, over all processes; `CallQuery.after` takes it.
        id: of the call; a caller may have chosen it, so it is unique in its session alone.
        parent_id: the id of the call of the same session that made this one; None: none did.
        started_at: seconds since the epoch.
        duration_ms: from arrival to answer.
        name: of the tool that was asked for; None: that was no text.
        user_id, session, channel: who, and how they came.
        source: where the tool comes from, as `pegboard list` has it: its source, else its distribution; None: there was
            no such tool.
        status: ok, error, cancelled.
        code, reason: of the error; None: there was none.
        timings: microseconds by stage, as `pegboard.Timings`; empty for what never was a call.
        verdicts: what each guard said.
        trace_id: of the distributed trace that the call was part of, 32 hexadecimal digits; None: of none.
        arguments: where `arguments = true`, declared secrets masked.

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
                ("seq > ?", self.after),
                ("seq <= ?", self.up_to),
                ("(status <> 'ok') = ?", self.failed),
            )
            if value is not None
        ]
        values = [_storable(value) for _, value in said]
        return " AND ".join(condition for condition, _ in said) or "1", values


class AuditReader:
    """Reads one file; a context manager that closes it. For one thread at a time.

    A file that is not there yet has no calls; one that was replaced is opened afresh.

    Args:
        path: the file; None: that of the user, as `file_of()` has it.

    .. versionadded:: 0.1
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = file_of() if path is None else path
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next question opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def calls(self, query: CallQuery | None = None, *, newest: int | None = None) -> Iterator[CallRecord]:
        """The calls that are meant, in the order in which they ended.

        Args:
            query: None: all.
            newest: only so many, the last ones.

        Raises:
            AuditError: the file cannot be read, or holds something else.
        """
        for columns in self._rows(query or CallQuery(), newest):
            try:
                call = _record(columns)
            except (ValueError, TypeError, KeyError) as problem:  # somebody else wrote into it
                raise damaged(self.path) from problem
            yield call

    def last_seq(self) -> int:
        """The `seq` of the last call that was written; 0: none was.

        Raises:
            AuditError: as of `calls`.
        """
        rows = self._ask("SELECT max(seq) FROM calls", ())
        return int(rows[0][0] or 0) if rows else 0

    def names(self) -> list[str]:
        """The names that were asked for, in the order of the alphabet.

        Raises:
            AuditError: as of `calls`.
        """
        return [one for (one,) in self._ask("SELECT DISTINCT name FROM calls WHERE name NOTNULL ORDER BY name", ())]

    def family(self, call: CallRecord) -> list[CallRecord]:
        """A call with those that led to it and those that it led to: the first one, then what it called, each with
        what it called in turn, in the order of time.

        A call is written when it ends: of one whose parent still runs, or was removed already, that is missing.

        Raises:
            AuditError: as of `calls`.
        """
        first, seen = call, {call.seq}
        while first.parent_id is not None:
            before = CallQuery(id=first.parent_id, session=first.session, until=first.started_at + CLOCK_S)
            parents = list(self.calls(before, newest=1))
            if not parents or parents[0].seq in seen:
                break
            first = parents[0]
            seen.add(first.seq)
        return list(self._below(first, set()))

    def _below(self, call: CallRecord, seen: set[int]) -> Iterator[CallRecord]:
        """Callers choose ids: one that comes again is another call, and a circle of them ends."""
        seen.add(call.seq)
        yield call
        same = CallQuery(id=call.id, session=call.session, since=call.started_at + CLOCK_S)
        again = min((one.started_at for one in self.calls(same) if one.seq != call.seq), default=None)
        below = CallQuery(parent_id=call.id, session=call.session, since=call.started_at - CLOCK_S, until=again)
        for child in sorted(self.calls(below), key=lambda one: one.started_at):
            if child.seq not in seen:
                yield from self._below(child, seen)

    def _rows(self, query: CallQuery, newest: int | None) -> Iterator[tuple[Any, ...]]:
        """Page by page: `seq` is what the next page begins behind."""
        where, values = query.where()
        after = -1
        if newest is not None:
            newest_first = f"SELECT seq FROM calls WHERE {where} ORDER BY seq DESC LIMIT 1 OFFSET ?"  # noqa: S608 - ours
            last = self._ask(newest_first, (*values, newest))
            after = last[0][0] if last else after
        while True:
            page = self._ask(f"{_SELECT} WHERE {where} AND seq > ? ORDER BY seq LIMIT {PAGE}", (*values, after))
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def _ask(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        try:
            connection = self._ready()
            return [] if connection is None else connection.execute(statement, values).fetchall()
        except sqlite3.Error as problem:
            self.close()
            raise error_of(problem, self.path) from problem

    def _ready(self) -> sqlite3.Connection | None:
        now = identity_of(self.path)
        if now != self._opened:
            self.close()
        if self._connection is None:
            self._connection = open_for_reading(self.path)
            self._opened = now
        return self._connection


def _record(columns: tuple[Any, ...]) -> CallRecord:
    given = dict(zip(("seq", *COLUMNS), columns, strict=True))
    timings, verdicts, arguments = (given.pop(name) for name in ("timings", "verdicts", "arguments"))
    return CallRecord(
        **given,
        timings=dict.fromkeys(Timings.STAGES, 0.0) | json.loads(timings) if timings else {},
        verdicts=tuple(map(_verdict, json.loads(verdicts or "[]"))),
        arguments=json.loads(arguments) if arguments else None,
    )


def _verdict(one: Any) -> Verdict:
    return Verdict(one["guard"], Stage(one["stage"]), one["verdict"], one["us"])


def _storable(value: Any) -> Any:
    """As it was written: UTF-8 has no halves of surrogate pairs."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
