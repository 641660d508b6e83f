"""Rates with intervals that do not promise more than was seen, and two series compared question by question.

Several runs of one question tell less than as many questions: a model at temperature 0 gives the same answer each
time. So the interval of a whole file counts runs by what they are worth (`design effect`, Kish 1965), and where every
run came out alike, which tells nothing of how alike they are, a question counts once.

Pairs are compared by Hartigan's typical values (J. Am. Stat. Assoc. 64, 1969): the means of all subsets of the
differences cut the line into pieces of equal probability, whatever the spread, as long as differences fall to both
sides alike. It needs six questions for 95 %; below, only these very questions are compared (Newcombe 1998, method 10,
and MOVER for their mean), and the report says which was done.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Z = 1.959963984540054
"""Of a normal distribution, for 95 %."""
OUTSIDE = 0.05
MANY = 12
"""From more differences than that, subsets are drawn instead of counted out."""


class Interval(NamedTuple):
    """A rate or a difference, and where the true one is in 95 of 100 cases."""

    value: float
    low: float
    high: float


class Count(NamedTuple):
    """How many runs of one question passed."""

    passed: int
    runs: int

    @property
    def rate(self) -> float:
        """The part that passed; 0 where none ran."""
        return self.passed / self.runs if self.runs else 0.0


class Comparison(NamedTuple):
    """The first less the second.

    Args:
        difference: of the mean rates.
        general: whether it holds for questions like these; False: for these very questions alone.
    """

    difference: Interval
    general: bool

    @property
    def verdict(self) -> int:
        """1: the first is better, -1: the second is, 0: these runs cannot tell."""
        return 1 if self.difference.low > 0 else -1 if self.difference.high < 0 else 0


def wilson(rate: float, runs: float) -> Interval:
    """Wilson's interval of a rate (J. Am. Stat. Assoc. 22, 1927); `runs` may be a part of one. None ran: 0 to 1."""
    if runs <= 0:
        return Interval(rate, 0.0, 1.0)
    scale = 1 + Z * Z / runs
    centre = (rate + Z * Z / (2 * runs)) / scale
    half = Z / scale * math.sqrt(rate * (1 - rate) / runs + Z * Z / (4 * runs * runs))
    return Interval(rate, min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half)))


def rate_of(count: Count) -> Interval:
    """The rate of one question."""
    return wilson(count.rate, count.runs)


def overall(counts: Sequence[Count]) -> Interval:
    """The rate over all runs, and its interval for questions like these."""
    ran = [count for count in counts if count.runs]
    runs = sum(count.runs for count in ran)
    if not runs:
        return Interval(0.0, 0.0, 1.0)
    rate = sum(count.passed for count in ran) / runs
    return wilson(rate, runs / design_effect(ran))


def design_effect(counts: Sequence[Count]) -> float:
    """By how much runs of the same questions are worth less than runs of as many questions: from 1 to the number of
    runs of a question. One question alone is compared with nothing, so its runs count in full."""
    questions, runs = len(counts), sum(count.runs for count in counts)
    if questions < 2 or runs <= questions:
        return 1.0
    rate = sum(count.passed for count in counts) / runs
    size = (runs - sum(count.runs**2 for count in counts) / runs) / (questions - 1)
    between = sum(count.runs * (count.rate - rate) ** 2 for count in counts) / (questions - 1)
    within = sum(count.runs * count.rate * (1 - count.rate) for count in counts) / (runs - questions)
    spread = between + (size - 1) * within
    alike = (between - within) / spread if spread > 0 else 1.0
    return 1 + (runs / questions - 1) * min(1.0, max(0.0, alike))


def compare(first: Sequence[Count], second: Sequence[Count]) -> Comparison:
    """The same questions, in the same order, answered by two; questions that one of them never answered are left out.

    With less than six of them the answer is about these very questions alone.
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a.runs and b.runs]
    if not pairs:
        return Comparison(Interval(0.0, -1.0, 1.0), general=False)
    differences = [a.rate - b.rate for a, b in pairs]
    typical = typical_values(differences)
    if typical is not None:
        return Comparison(typical, general=True)
    value = math.fsum(differences) / len(pairs)
    down = up = 0.0
    for a, b in pairs:
        one, other = rate_of(a), rate_of(b)
        down += (one.value - one.low) ** 2 + (other.high - other.value) ** 2
        up += (one.high - one.value) ** 2 + (other.value - other.low) ** 2
    low, high = value - math.sqrt(down) / len(pairs), value + math.sqrt(up) / len(pairs)
    return Comparison(Interval(value, max(-1.0, low), min(1.0, high)), general=False)


def typical_values(differences: Sequence[float]) -> Interval | None:
    """The mean of differences and its interval; None: there are too few of them to say it."""
    means = _subset_means(differences)
    cut = math.floor(OUTSIDE / 2 * (len(means) + 1))
    if cut < 1:
        return None
    value = math.fsum(differences) / len(differences)
    return Interval(value, min(value, means[cut - 1]), max(value, means[-cut]))


def _subset_means(differences: Sequence[float]) -> list[float]:
    """The means of all subsets but the empty one, or of many that are drawn, sorted. Exact sums first: rounding must
    not lift a zero above itself."""
    count = len(differences)
    if count <= MANY:
        subsets: Sequence[int] = range(1, 1 << count)
    else:
        draw = random.Random(count)  # the same file gives the same answer twice
        subsets = [draw.randrange(1, 1 << count) for _ in range((1 << MANY) - 1)]
    means = []
    for subset in subsets:
        chosen = [differences[index] for index in range(count) if subset >> index & 1]
        means.append(math.fsum(chosen) / len(chosen))
    return sorted(means)
