"""Figures of calls, summed where they lie: of a million calls no row is made.

An index by duration would answer percentiles at once, and cost each call that is written as much as all the rest: its
entries come in no order. So a sample says between which two durations a percentile lies, one pass counts what is below,
and the few durations in between are sorted (Floyd and Rivest, "Expected time bounds for selection", 1975). What comes
out is exact; memory is that of the sample, and of the durations in between.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

from pegboard_audit._figures import MINUTES, CallFigures, rank_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Ask = Callable[[str, tuple[Any, ...]], Iterable[tuple[Any, ...]]]
    """The rows that a statement with its values answers, one after the other."""

SAMPLE = 10_000
"""Rows that are looked at, evenly over the file."""
LEAST_SAMPLE = 1_000
"""Where fewer of them are meant, so are few calls, and all their durations are counted."""
SPREAD = 2.0
"""How far the two durations lie apart, in square roots of the sample: four standard deviations of a median."""
_OUTCOME = "CASE status WHEN 'ok' THEN NULL WHEN 'cancelled' THEN 'CANCELLED' ELSE code END"


def figures_of(ask: Ask, condition: str, values: tuple[Any, ...]) -> CallFigures | None:
    """The figures of the calls of a condition; None: there are none."""
    sample = sorted(_sample(ask, condition, values))
    ranges = [_range(sample, percent) for percent in (50, 95)]
    lows, ends = [low for low, _ in ranges], [end for one in ranges for end in one]
    # A column beside `max()` is that of the row which has it: https://sqlite.org/lang_select.html#bareagg
    summed = "count(*), total(status <> 'ok'), max(duration_ms), name, total(duration_ms < ?), total(duration_ms < ?)"
    ((calls, errors, slowest_ms, slowest_name, *below),) = ask(_of(summed, condition), (*lows, *values))
    if not calls:
        return None
    is_between = "(duration_ms BETWEEN ? AND ? OR duration_ms BETWEEN ? AND ?)"
    between = Counter(chain.from_iterable(ask(_of("duration_ms", f"{is_between} AND {condition}"), (*ends, *values))))
    durations = []
    for percent, (low, high), less in zip((50, 95), ranges, below, strict=True):
        inside = {value: count for value, count in between.items() if low <= value <= high}
        found = _at(inside, rank_of(percent, calls) - int(less))
        durations.append(_counted(ask, condition, values, percent) if found is None else found)
    return CallFigures(
        calls=calls, errors=int(errors), p50_ms=durations[0], p95_ms=durations[1], slowest_ms=slowest_ms,
        slowest_name=slowest_name, by_minute=_by_minute(ask, condition, values),
    )  # fmt: skip


def figures_by(ask: Ask, condition: str, values: tuple[Any, ...]) -> dict[str, dict[str | None, CallFigures]]:
    """The figures by `name`, by `user_id`, and of failed calls by `code`; the most calls first."""
    by_name: dict[str | None, _Sums] = {}
    by_user: dict[str | None, _Sums] = {}
    by_code: dict[str | None, _Sums] = {}
    for name, user_id, code, failed, duration_ms in ask(
        _of(f"name, user_id, {_OUTCOME}, status <> 'ok', duration_ms", condition), values
    ):
        groups = (
            ((by_name, name), (by_user, user_id), (by_code, code)) if failed else ((by_name, name), (by_user, user_id))
        )
        for found, key in groups:
            sums = found.get(key)
            if sums is None:
                sums = found[key] = _Sums()
            sums.durations.append(duration_ms)
            sums.errors += failed
    summed = {"name": by_name, "user_id": by_user, "code": by_code}
    return {what: {key: one.figures() for key, one in _most_first(found)} for what, found in summed.items()}


class _Sums:
    """Of one group: eight bytes a call."""

    def __init__(self) -> None:
        self.errors = 0
        self.durations = array("d")

    def figures(self) -> CallFigures:
        ordered = sorted(self.durations)
        p50_ms, p95_ms = (ordered[rank_of(percent, len(ordered))] for percent in (50, 95))
        return CallFigures(calls=len(ordered), errors=self.errors, p50_ms=p50_ms, p95_ms=p95_ms, slowest_ms=ordered[-1])


def _most_first(found: dict[str | None, _Sums]) -> list[tuple[str | None, _Sums]]:
    return sorted(found.items(), key=lambda one: (-len(one[1].durations), one[0] or ""))


def _of(columns: str, condition: str) -> str:
    return f"SELECT {columns} FROM calls WHERE {condition}"  # noqa: S608 - words of ours


def _sample(ask: Ask, condition: str, values: tuple[Any, ...]) -> list[float]:
    """Durations of rows that lie evenly over the file; empty: too few of them are meant."""
    ((first, last),) = ask("SELECT (SELECT min(seq) FROM calls), (SELECT max(seq) FROM calls)", ())
    if first is None:
        return []
    step = max((last - first + 1) // SAMPLE, 1)
    places = ",".join(map(str, range(first, last + 1, step)))
    found = [one for (one,) in ask(_of("duration_ms", f"seq IN ({places}) AND {condition}"), values)]
    return found if len(found) >= LEAST_SAMPLE else []


def _range(sample: list[float], percent: int) -> tuple[float, float]:
    """Between which durations a percentile should lie; without a sample anywhere."""
    place, away = len(sample) * percent / 100, SPREAD * math.sqrt(len(sample))
    low, high = int(place - away), int(place + away)
    return (
        sample[low] if sample and low >= 0 else -math.inf,
        sample[high] if high < len(sample) else math.inf,
    )


def _counted(ask: Ask, condition: str, values: tuple[Any, ...], percent: int) -> float:
    """A percentile of all durations, where the sample misled."""
    found = Counter(chain.from_iterable(ask(_of("duration_ms", condition), values)))
    return _at(found, rank_of(percent, found.total())) or 0.0


def _at(counts: dict[float, int], rank: int) -> float | None:
    """The duration at a place from 0 on, in the order of durations; None: it is not among them."""
    if rank < 0:
        return None
    for value in sorted(counts):
        rank -= counts[value]
        if rank < 0:
            return value
    return None


def _by_minute(ask: Ask, condition: str, values: tuple[Any, ...]) -> tuple[int, ...]:
    """How many calls began in each of the last minutes."""
    ends = f"SELECT ({_of('min(started_at)', condition)}), ({_of('max(started_at)', condition)})"
    ((first, last),) = ask(ends, values * 2)
    last_minute = int(last // 60)
    count = _of("count(*)", f"started_at >= ? AND started_at < ? AND {condition}")
    counts: list[int] = []
    for minute in range(max(int(first // 60), last_minute - MINUTES + 1), last_minute + 1):
        ((found,),) = ask(count, (minute * 60, minute * 60 + 60, *values))
        counts.append(found)
    return tuple(counts)
