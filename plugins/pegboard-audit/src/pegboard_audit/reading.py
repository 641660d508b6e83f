"""What was called, read from the file: by time, tool, user, outcome, parent; and new calls of every process.

`AuditReader` reads in the thread of its caller, a few milliseconds a question, and never holds a process that writes. A
program on trio hears new calls with `pegboard_audit.follow`. What tools and callers chose (names, users, arguments)
comes as it was: whoever shows it makes it harmless first (`pegboard.text.visible`).

.. versionadded:: 0.1
"""

from __future__ import annotations

import json
import math
import sqlite3
from types import NoneType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pegboard import Stage, Timings, Verdict
from pegboard.sqlite_files import identity_of
from pegboard_audit._calls import CallQuery, CallRecord
from pegboard_audit._database import COLUMNS, damaged, error_of, open_for_reading
from pegboard_audit._families import CallInTree, tree_of
from pegboard_audit._figures import CallFigures
from pegboard_audit.settings import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["AuditReader", "CallFigures", "CallInTree", "CallQuery", "CallRecord"]

T = TypeVar("T")

MOST = 2**63 - 1  # the largest integer of SQLite
PAGE = 1_000
"""Rows that are read at once: no question keeps the file's log from being folded in for long."""


_TEXT = (str, NoneType)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "seq": int, "id": str, "started_at": float, "duration_ms": float, "session": str, "status": str,
    "process": (int, NoneType),
}  # fmt: skip
"""Of cells that are not a text or empty: SQLite takes anything in any column."""
_FIRST, _LAST = -62_135_510_400.0, 253_402_214_400.0
"""The seconds that are a date in every zone: from the second day of year 1 to the last but one of 9999."""


def _select_of(columns: Iterable[str]) -> str:
    return f"SELECT seq, {', '.join(columns)} FROM calls"  # noqa: S608 - names of ours


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
            except (
                ValueError,
                TypeError,
                KeyError,
                AttributeError,
                RecursionError,
            ) as problem:  # somebody else wrote into it
                raise damaged(self.path) from problem
            yield call

    def figures(self, query: CallQuery | None = None) -> CallFigures | None:
        """How many calls are meant, how many failed, how long they took and how they came; None: there are none. They
        are summed in the file, of a million calls in less than half a second.

        Args:
            query: None: all.

        Raises:
            AuditError: as of `calls`.

        .. versionadded:: 0.1
        """
        from pegboard_audit._summing import figures_of

        return self._sum(figures_of, query)

    def figures_by(self, query: CallQuery | None = None) -> dict[str, dict[str | None, CallFigures]]:
        """The figures by `name`, by `user_id`, and of calls that failed by `code`, each by its values, the most calls
        first; all three are empty where there are none.

        Args:
            query: None: all.

        Raises:
            AuditError: as of `calls`.

        .. versionadded:: 0.1
        """
        from pegboard_audit._summing import figures_by

        return self._sum(figures_by, query) or {"name": {}, "user_id": {}, "code": {}}

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
        """The calls of `tree`, in its order.

        Raises:
            AuditError: as of `calls`.
        """
        return [one.call for one in self.tree(call)]

    def tree(self, call: CallRecord) -> list[CallInTree]:
        """A call with those that led to it and those that it led to: the first one, then what it called, each with
        what it called in turn, in the order of time.

        Calls of several processes belong together where they are part of one trace: that of a client's board is above
        that of the board that served it, if both were written into this file. A call is written when it ends: of one
        whose parent still runs, or was removed already, that is missing. Every call is in it once, whatever ids callers
        chose.

        Raises:
            AuditError: as of `calls`.
        """
        return tree_of(call, self.calls)

    def _sum(self, sum_up: Callable[[Any, str, tuple[Any, ...]], T], query: CallQuery | None) -> T | None:
        """What is summed up of the calls as they are at one moment; None: there is no file."""
        condition, values = (query or CallQuery()).where()
        try:
            connection = self._ready()
            if connection is None:
                return None
            connection.execute("BEGIN")
            try:
                return sum_up(connection.execute, condition, tuple(values))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as problem:
            self.close()
            raise error_of(problem, self.path) from problem
        except (ValueError, TypeError) as problem:  # somebody else wrote into it
            raise damaged(self.path) from problem

    def _rows(self, query: CallQuery, newest: int | None) -> Iterator[tuple[Any, ...]]:
        """Page by page: `seq` is what the next page begins behind."""
        where, values = query.where()
        after = -1
        if newest is not None:
            newest_first = f"SELECT seq FROM calls WHERE {where} ORDER BY seq DESC LIMIT 1 OFFSET ?"  # noqa: S608 - ours
            last = self._ask(newest_first, (*values, min(newest, MOST)))
            after = last[0][0] if last else after
        while True:
            page = self._ask(f"{self._select()} WHERE {where} AND seq > ? ORDER BY seq LIMIT {PAGE}", (*values, after))
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1][0]

    def _select(self) -> str:
        """All columns; those that an older version did not make, and no newer one has added yet, are empty."""
        there = {name for _, name, *_ in self._ask("PRAGMA table_info(calls)", ())}
        return _select_of(name if name in there else f"NULL AS {name}" for name in COLUMNS)

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
    """A row as a call.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, RecursionError: a cell holds what no row of ours does.
    """
    given = dict(zip(("seq", *COLUMNS), columns, strict=True))
    for name, value in given.items():
        if not isinstance(value, _TYPES.get(name, _TEXT)):
            raise TypeError(f"{name} is {type(value).__name__}")
    if not (_FIRST <= given["started_at"] < _LAST and math.isfinite(given["duration_ms"])):
        raise ValueError("no time that a clock tells")
    timings, verdicts, arguments = (given.pop(name) for name in ("timings", "verdicts", "arguments"))
    return CallRecord(
        **given,
        timings=_timings(json.loads(timings)) if timings else {},
        verdicts=tuple(map(_verdict, json.loads(verdicts or "[]"))),
        arguments=json.loads(arguments) if arguments else None,
    )


def _timings(found: Any) -> dict[str, float]:
    if not all(type(us) in (int, float) and math.isfinite(us) for us in found.values()):
        raise ValueError("no time that a clock tells")
    told: dict[str, float] = dict.fromkeys(Timings.STAGES, 0.0) | found
    return told


def _verdict(one: Any) -> Verdict:
    guard, verdict, us = one["guard"], one["verdict"], one["us"]
    if not (isinstance(guard, str) and isinstance(verdict, str) and type(us) in (int, float)):
        raise TypeError("no verdict")
    return Verdict(guard, Stage(one["stage"]), verdict, us)
