"""Figures: what is summed in the file is what the calls say, one by one."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_audit import AuditError, AuditReader, CallQuery, _summing
from pegboard_audit._database import open_for_writing
from pegboard_audit._figures import milliseconds, spark_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

INSERT = (
    "INSERT INTO calls (id, session, started_at, duration_ms, name, user_id, status, code)"
    " VALUES ('c', 's', ?, ?, ?, ?, ?, ?)"
)
Row = tuple[float, float, str | None, str | None, str, str | None]
"""When, how long, which tool, who, how it ended."""

TOLD = st.tuples(
    st.sampled_from([None, "halve", "double"]),
    st.sampled_from([None, "ada", "bob"]),
    st.sampled_from([("ok", None), ("error", "TIMEOUT"), ("error", "FORBIDDEN"), ("cancelled", None)]),
).map(lambda one: (one[0], one[1], *one[2]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures") / "audit.sqlite3"


def fill(path: Path, rows: Iterable[Any]) -> None:
    connection = open_for_writing(path, make_folder=False)
    connection.execute("BEGIN")
    connection.execute("DELETE FROM calls")
    connection.executemany(INSERT, rows)
    connection.execute("COMMIT")
    connection.close()


def nearest_rank(durations: list[float], percent: int) -> float:
    """By the definition: the least duration that so many of a hundred calls keep."""
    return sorted(durations)[max(ceil(len(durations) * percent / 100), 1) - 1]


def hold(rows: list[Row], path: Path, **asked: Any) -> None:
    """What is summed up of a file is what its rows say."""
    query = CallQuery(**asked)
    meant = [
        row
        for row in rows
        if (query.since is None or row[0] >= query.since)
        and (query.name is None or row[2] == query.name)
        and (query.failed is None or (row[4] != "ok") is query.failed)
    ]
    with AuditReader(path) as reader:
        figures, by = reader.figures(query), reader.figures_by(query)
    if not meant:
        assert figures is None
        assert not any(by.values())
        return
    assert figures is not None
    durations = [row[1] for row in meant]
    assert figures.to_json() == {
        "calls": len(meant), "errors": sum(row[4] != "ok" for row in meant), "slowest_ms": max(durations),
        "p50_ms": nearest_rank(durations, 50), "p95_ms": nearest_rank(durations, 95),
    }  # fmt: skip
    slowest = max(durations)
    assert figures.slowest_name in {row[2] for row in meant if row[1] == slowest}
    minutes = Counter(int(row[0] // 60) for row in meant)
    last = max(minutes)
    assert figures.by_minute == tuple(minutes[one] for one in range(max(min(minutes), last - 39), last + 1))
    for what, place, of in (("name", 2, meant), ("user_id", 3, meant), ("code", 5, [r for r in meant if r[4] != "ok"])):
        code = {"cancelled": "CANCELLED"} if what == "code" else {}
        groups: dict[str | None, list[Row]] = {}
        for row in of:
            groups.setdefault(code.get(row[4], row[place]), []).append(row)  # type: ignore[arg-type]
        assert {key: (one.calls, one.errors, one.p95_ms) for key, one in by[what].items()} == {
            key: (len(found), sum(row[4] != "ok" for row in found), nearest_rank([row[1] for row in found], 95))
            for key, found in groups.items()
        }
        calls = [one.calls for one in by[what].values()]
        assert calls == sorted(calls, reverse=True)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e6), TOLD).map(lambda one: (*one[:2], *one[2])), max_size=50),
    st.fixed_dictionaries({}, optional={"since": st.floats(0, 1e4), "name": st.just("halve"), "failed": st.booleans()}),
    st.sampled_from([(1, 1), (4, 1), (10_000, 1_000)]),
)
def test_figures_are_those_of_the_calls_one_by_one(
    path: Path, rows: list[Row], asked: dict[str, Any], sample: tuple[int, int]
) -> None:
    """Also where a sample is so small that it misleads."""
    before = _summing.SAMPLE, _summing.LEAST_SAMPLE
    _summing.SAMPLE, _summing.LEAST_SAMPLE = sample
    try:
        fill(path, rows)
        hold(rows, path, **asked)
    finally:
        _summing.SAMPLE, _summing.LEAST_SAMPLE = before


@pytest.mark.parametrize("kind", ["spread", "alike", "two", "misleading"])
def test_percentiles_of_many_calls_are_exact(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more calls than are looked at first; just every tenth call, which is looked at, may be unlike the others."""
    monkeypatch.setattr(_summing, "SAMPLE", 2_000)
    random.seed(7)
    count = 10 * _summing.SAMPLE

    def took(number: int) -> float:
        if kind == "spread":
            return round(random.lognormvariate(1, 2), 3)
        if kind == "alike":
            return 0.05
        if kind == "two":
            return 1.0 if number % 2 else 2.0
        return 900.0 + number if number % 10 == 0 else number / 1e6

    rows: list[Row] = [(float(number), took(number), "halve", "ada", "ok", None) for number in range(count)]
    fill(path, rows)
    hold(rows, path)
    hold(rows, path, since=float(count // 2))


def test_the_figures_of_many_calls_cost_no_row_of_them(path: Path) -> None:
    """Counted in what Python is handed: of 100,000 calls less than a fifth, where each was one row before."""
    rows = [(float(number), random.random(), "halve", "ada", "ok", None) for number in range(100_000)]
    fill(path, rows)
    handed = 0
    with AuditReader(path) as reader:
        reader.last_seq()
        connection: Any = reader._connection

        class Counted:
            def execute(self, *words: Any) -> Any:
                nonlocal handed
                found = connection.execute(*words).fetchall()
                handed += len(found)
                return iter(found)

            def close(self) -> None:
                connection.close()

        reader._connection = Counted()  # type: ignore[assignment]
        assert reader.figures() is not None
    assert handed < len(rows) / 5


def test_what_somebody_else_wrote_is_damage(path: Path) -> None:
    fill(path, [(1.0, 1.0, "halve", None, "ok", None), (2.0, "soon", "halve", None, "ok", None)])
    with AuditReader(path) as reader:
        for ask in (reader.figures, reader.figures_by):
            with pytest.raises(AuditError, match="damaged"):
                ask()


def test_figures_are_of_one_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is written while figures are summed is in all of them or in none."""
    fill(path, [(1.0, 5.0, "halve", None, "ok", None)] * 3)
    inner = _summing._sample

    def sample(*given: Any) -> Any:
        found = inner(*given)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute(INSERT, (time.time(), 9.0, "halve", None, "ok", None))
        other.close()
        return found

    monkeypatch.setattr(_summing, "_sample", sample)
    with AuditReader(path) as reader:
        figures = reader.figures()
        assert figures is not None
        assert (figures.calls, sum(figures.by_minute), figures.slowest_ms) == (3, 3, 5.0)


def test_no_file_has_no_figures(tmp_path: Path) -> None:
    with AuditReader(tmp_path / "none.sqlite3") as reader:
        assert reader.figures() is None
        assert reader.figures_by() == {"name": {}, "user_id": {}, "code": {}}


def test_a_spark_line_has_a_bar_a_minute() -> None:
    assert spark_line([1, 8, 0, 4]) == "▁█ ▄"
    assert spark_line([1, 8, 0, 4], "12345678") == "18 4"
    assert spark_line([]) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.0004, "0.00"), (0.456, "0.46"), (9.999, "10.00"), (12.34, "12.3"), (1234.5, "1234")]
)
def test_milliseconds_are_as_exact_as_people_need(value: float, text: str) -> None:
    assert milliseconds(value) == text
