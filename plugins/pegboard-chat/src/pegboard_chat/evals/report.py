"""What an eval found, as tables for a person and as JSON for a program; and whether it is enough."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.cli import printable_line
from pegboard_chat.evals.picture import Row
from pegboard_chat.evals.statistics import Comparison, Count, Interval, compare, overall, rate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_chat.evals.questions import EvalFile, Question, Thresholds
    from pegboard_chat.evals.running import Ran, Series

SLACK = 1e-9
"""A rate of 0.9 that was summed up is not below 0.9."""


@attrs.frozen
class Report:
    """An eval that was run: one series, or two that are compared."""

    found: EvalFile
    series: tuple[Series, ...]

    @property
    def failures(self) -> list[str]:
        """Why the first series is not good enough; nothing: it is."""
        first = self.series[0]
        counts = first.counts
        failed = _below(self.found.thresholds, self.found.questions, counts)
        counted = [(one.label, len(one.errors)) for one in self.series if one.errors]
        lost = [f"{label}: {many} {'run was' if many == 1 else 'runs were'} not answered" for label, many in counted]
        return failed + lost

    @property
    def comparison(self) -> Comparison | None:
        """The first less the second, where there are two."""
        if len(self.series) < 2:
            return None
        return compare(self.series[0].counts, self.series[1].counts)

    @property
    def are_comparable(self) -> bool:
        """Whether any question was answered in both series."""
        return any(all(one.runs for one in pair) for pair in zip(*(one.counts for one in self.series), strict=True))

    @property
    def rows(self) -> list[Row]:
        """What a picture shows: a row a question, and one for all of them."""
        counts = [one.counts for one in self.series]
        rows = [
            Row(question.id, [rate_of(of[index]) if of[index].runs else None for of in counts])
            for index, question in enumerate(self.found.questions)
        ]
        return [*rows, Row("all", [overall(of) if any(one.runs for one in of) else None for of in counts])]

    # -- for a person

    def table(self, label: int = 30) -> tuple[list[str], list[list[str]]]:
        """Heads and rows: a question, how many of its runs passed, and the mistake that was made most often."""
        heads = ["question", "expected"]
        for number, _ in enumerate(self.series):
            heads += ["passed" if number == 0 else "passed (2)", "95 %" if number == 0 else "95 % (2)"]
        heads.append("most often wrong")
        rows = []
        for index, question in enumerate(self.found.questions):
            cells = [printable_line(question.id, label), printable_line(_names_of(question), label + 10)]
            for one in self.series:
                count = one.counts[index]
                cells += [f"{count.passed}/{count.runs}", span(rate_of(count)) if count.runs else ""]
            rows.append([*cells, printable_line(_worst(self.series[0].runs[index]), 100)])
        return heads, rows

    def sentences(self) -> list[str]:
        """All runs, the comparison, and the thresholds, in sentences."""
        lines = []
        for one in self.series:
            counts = [count for count in one.counts if count.runs]
            passed, runs = sum(count.passed for count in counts), sum(count.runs for count in counts)
            if not runs:
                lines.append(f"{one.label}: no run was answered")
                continue
            rate = overall(counts)
            counted = "1 run" if runs == 1 else f"{runs} runs"
            lines.append(f"{one.label}: {passed} of {counted} passed, {rate.value * 100:.0f} % ({span(rate)})")
        if self.comparison is not None and self.are_comparable:
            lines.append(verdict_of(self.comparison, self.series[0].label, self.series[1].label))
        return lines

    # -- for a program

    def to_json(self) -> dict[str, Any]:
        """The whole report."""
        return {
            "ok": not self.failures,
            "failures": self.failures,
            "thresholds": attrs.asdict(self.found.thresholds),
            "series": [_series_json(one, self.found.questions) for one in self.series],
            "comparison": None if self.comparison is None else _comparison_json(self.comparison, self.series),
        }


def span(interval: Interval) -> str:
    """An interval in words: `62-94 %`."""
    return f"{interval.low * 100:.0f}-{interval.high * 100:.0f} %"


def _below_in_words(rate: float, limit: float) -> str:
    """`66.7 %, below 90.0 %`, with as many digits as it takes to see it."""
    digits = next((number for number in range(1, 9) if f"{rate * 100:.{number}f}" != f"{limit * 100:.{number}f}"), 9)
    return f"{rate * 100:.{digits}f} %, below {limit * 100:.{digits}f} %"


def verdict_of(comparison: Comparison, first: str, second: str) -> str:
    """What a comparison says, and for which questions."""
    value, low, high = (100 * part for part in comparison.difference)
    scope = "for questions like these" if comparison.general else "for these very questions; six would tell of others"
    if comparison.verdict == 0:
        return f"these runs do not tell {first} from {second}: {value:+.0f} points ({low:+.0f} to {high:+.0f}, {scope})"
    better, worse, sign = (first, second, 1) if comparison.verdict > 0 else (second, first, -1)
    low, high = sorted((sign * low, sign * high))
    return f"{better} is better than {worse} by {sign * value:.0f} points ({low:.0f} to {high:.0f}, {scope})"


def _below(thresholds: Thresholds, questions: Sequence[Question], counts: Sequence[Count]) -> list[str]:
    rate = overall(counts)
    failed = []
    if thresholds.rate is not None and rate.value < thresholds.rate - SLACK:
        failed.append(f"the rate of all runs is {_below_in_words(rate.value, thresholds.rate)} (thresholds.rate)")
    if thresholds.low is not None and rate.low < thresholds.low - SLACK:
        failed.append(f"the rate may be as low as {_below_in_words(rate.low, thresholds.low)} (thresholds.low)")
    if thresholds.each is not None:
        for question, count in zip(questions, counts, strict=True):
            if count.rate < thresholds.each - SLACK:
                failed.append(
                    f"question {printable_line(question.id, 60)}: {count.passed} of {count.runs} runs passed, "
                    f"{_below_in_words(count.rate, thresholds.each)} (thresholds.each)"
                )
    return failed


def _names_of(question: Question) -> str:
    names = Counter(call.name for call in question.calls)
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in names.items()) or "no call"


def _worst(runs: Sequence[Ran]) -> str:
    """The mistake that was made most often, and in how many runs, where not in all."""
    lines = Counter(str(mistake) for run in runs for mistake in dict.fromkeys(run.mistakes))
    if not lines:
        errors = [run.error for run in runs if run.error is not None]
        return f"not answered: {errors[0].message}" if errors else ""
    (text, count), *_ = lines.most_common(1)
    return text if count == len(runs) else f"{text} ({count} of {len(runs)})"


def _series_json(series: Series, questions: Sequence[Question]) -> dict[str, Any]:
    rate = overall(series.counts)
    return {
        "label": series.label,
        "model": series.model,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "usage": dict(series.usage.to_json()),
        "cost": series.cost,
        "questions": [
            _question_json(question, count, runs)
            for question, count, runs in zip(questions, series.counts, series.runs, strict=True)
        ],
    }


def _question_json(question: Question, count: Count, runs: Sequence[Ran]) -> dict[str, Any]:
    rate = rate_of(count)
    return {
        "id": question.id,
        "question": question.text,
        "passed": count.passed,
        "runs": count.runs,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
        "details": [
            {
                "passed": run.passed,
                "mistakes": [mistake.to_json() for mistake in run.mistakes],
                "calls": [{"name": call.name, "arguments": call.arguments} for call in run.made],
                "answer": run.answer,
                "error": None if run.error is None else run.error.to_json(),
            }
            for run in runs
        ],
    }


def _comparison_json(comparison: Comparison, series: Sequence[Series]) -> dict[str, Any]:
    better = {1: series[0].label, -1: series[1].label, 0: None}[comparison.verdict]
    value, low, high = comparison.difference
    return {"difference": value, "low": low, "high": high, "general": comparison.general, "better": better}
