"""Rates and their intervals against values known from elsewhere and against brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_chat.evals.statistics import (
    Count,
    compare,
    design_effect,
    overall,
    rate_of,
    typical_values,
    wilson,
)

COUNTS = st.integers(1, 60).flatmap(lambda runs: st.builds(Count, st.integers(0, runs), st.just(runs)))


@pytest.mark.parametrize(
    ("passed", "runs", "low", "high"),
    # Newcombe (Statistics in Medicine 17, 1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(passed: int, runs: int, low: float, high: float) -> None:
    found = rate_of(Count(passed, runs))
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(COUNTS)
@settings(max_examples=80)
def test_an_interval_holds_its_rate_and_mirrors_with_it(count: Count) -> None:
    found, mirrored = rate_of(count), rate_of(Count(count.runs - count.passed, count.runs))
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high)
    more = wilson(found.value, count.runs * 4)
    assert more.high - more.low < found.high - found.low


def test_nothing_that_ran_tells_nothing() -> None:
    assert overall([]) == overall([Count(0, 0)]) == (0.0, 0.0, 1.0)
    assert rate_of(Count(0, 0)) == (0.0, 0.0, 1.0)


def test_runs_that_came_out_alike_count_as_one_for_each_question() -> None:
    alike = [Count(10, 10), Count(10, 10), Count(0, 10)]
    assert design_effect(alike) == pytest.approx(10)
    assert overall(alike) == pytest.approx(wilson(2 / 3, 3))
    assert overall([Count(10, 10)] * 3) == wilson(1.0, 3)


def test_runs_that_fall_as_they_like_count_in_full() -> None:
    assert design_effect([Count(5, 10), Count(5, 10), Count(5, 10)]) == 1
    assert overall([Count(5, 10)] * 3) == wilson(0.5, 30)
    assert overall([Count(7, 10)]) == wilson(0.7, 10)


@given(st.lists(COUNTS, min_size=1, max_size=8))
@settings(max_examples=80)
def test_the_worth_of_runs_lies_between_the_questions_and_all_of_them(counts: list[Count]) -> None:
    runs = sum(count.runs for count in counts)
    assert len(counts) - 1e-9 <= runs / design_effect(counts) <= runs + 1e-9
    found = overall(counts)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_typical_values_need_six_differences() -> None:
    assert typical_values([1.0] * 5) is None
    assert typical_values([1.0] * 6) == (1.0, 1.0, 1.0)


@given(st.lists(st.integers(-10, 10).map(lambda value: value / 10), min_size=6, max_size=9))
@settings(max_examples=40)
def test_zero_is_outside_exactly_where_flipping_signs_says_so(differences: list[float]) -> None:
    """The interval leaves zero out only if less than one in twenty ways to flip the signs gives a sum as far out."""
    found = typical_values(differences)
    assert found is not None
    total = round(sum(differences), 6)
    sums = [
        round(sum(sign * one for sign, one in zip(signs, differences, strict=True)), 6)
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    as_far = min(sum(one >= total for one in sums), sum(one <= total for one in sums)) / len(sums)
    if found.low > 1e-9 or found.high < -1e-9:
        assert as_far <= 0.05
    assert found.low <= found.value <= found.high


def test_a_pair_is_compared_question_by_question() -> None:
    """Each question a little better: seen in the pairs, though the rates of all runs overlap widely."""
    first = [Count(passed + 2, 10) for passed in range(8)]
    second = [Count(passed, 10) for passed in range(8)]
    found = compare(first, second)
    assert (found.verdict, found.general) == (1, True)
    assert found.difference == pytest.approx((0.2, 0.2, 0.2))
    assert compare(second, first).verdict == -1
    assert compare(first, first).verdict == 0


def test_few_questions_are_compared_for_themselves_alone() -> None:
    """Newcombe (Statistics in Medicine 17, 1998), table II, method 10: 56/70 against 48/80."""
    found = compare([Count(56, 70)], [Count(48, 80)])
    assert not found.general
    assert [round(value, 4) for value in found.difference] == [0.2, 0.0524, 0.3339]


def test_questions_that_one_never_answered_are_left_out() -> None:
    found = compare([Count(0, 0), Count(9, 10)], [Count(5, 5), Count(9, 10)])
    assert found.difference.value == 0
    assert compare([Count(0, 0)], [Count(1, 1)]).difference == (0.0, -1.0, 1.0)


def test_many_questions_are_compared_by_drawn_subsets_alike_each_time() -> None:
    first = [Count(10 if number % 4 else 2, 10) for number in range(40)]
    second = [Count(5, 10) for _ in range(40)]
    found = compare(first, second)
    assert found == compare(first, second)
    assert found.difference.low < 0.3 < found.difference.high
    assert found.verdict == 1
