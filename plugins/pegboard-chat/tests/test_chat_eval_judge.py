"""The calls of a run against those that were expected."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_chat.evals._faults import Faults
from pegboard_chat.evals.judge import MAX_JUDGED, Made, judge
from pegboard_chat.evals.questions import Question, eval_of

SCHEMAS = {"add": {"a": {"type": "number"}, "b": {"type": "number", "default": 10}}}


def asked(*calls: Any, **more: Any) -> Question:
    faults = Faults()
    found = eval_of({"questions": [{"question": "?", "calls": list(calls), **more}]}, faults)
    assert faults.found == []
    return found.questions[0]


def add(a: Any, **more: Any) -> dict[str, Any]:
    return {"name": "add", "arguments": {"a": a, **more}}


def made(a: Any, **more: Any) -> Made:
    return Made("add", {"a": a, **more})


def kinds(question: Question, *calls: Made, answer: str | None = None) -> list[str]:
    return [mistake.kind for mistake in judge(question, calls, SCHEMAS, answer)]


def test_calls_fit_in_any_order_unless_it_matters() -> None:
    assert kinds(asked(add(1), add(2)), made(2), made(1)) == []
    assert kinds(asked(add(1), add(2), order=True), made(1), made(2)) == []
    assert kinds(asked(add(1), add(2), order=True), made(2), made(1)) == ["order"]


def test_a_call_that_fits_two_is_given_to_the_one_that_needs_it() -> None:
    assert kinds(asked(add({"any": True}), add(1)), made(1), made(2)) == []
    assert kinds(asked(add(1), add({"any": True})), made(2), made(1)) == []


def test_no_call_is_expected() -> None:
    assert kinds(asked()) == []
    assert kinds(asked(), made(1)) == ["extra"]
    assert kinds(asked(more_calls=True), made(1)) == []


def test_each_mistake_says_where_what_was_expected_and_what_came() -> None:
    question = asked(add(1, b={"number": 2, "tolerance": 0.5}))
    assert [str(one) for one in judge(question, [made(3, b=9)], SCHEMAS)] == [
        "add.a: expected 1, got 3",
        "add.b: expected the number 2 ± 0.5, got 9",
    ]
    assert [str(one) for one in judge(question, [], SCHEMAS)] == ["add: expected a call of add, got no call"]
    assert [str(one) for one in judge(question, [Made("sub", {"a": 1})], SCHEMAS)] == [
        "add: expected a call of add, got one of sub"
    ]


@pytest.mark.parametrize(
    ("call", "made_kinds"),
    [
        (made(1, b=10), []),
        (made(1, b=None), ["argument"]),
        (made(1, b=3), ["argument"]),
        (made(1, c=None), []),
        (made(1, c=2), ["argument"]),
        (Made("add", "no object"), ["argument"]),
        (Made("add", {"a": 1}, refused="a: expected a number"), ["refused"]),
    ],
    ids=str,
)
def test_an_argument_that_nobody_asked_for_is_right_only_if_it_says_the_default(
    call: Made, made_kinds: list[str]
) -> None:
    assert kinds(asked(add(1)), call) == made_kinds


def test_a_default_stands_for_an_argument_that_is_missing() -> None:
    assert kinds(asked(add(1, b=10)), made(1)) == []
    assert kinds(asked(add(1, b=11)), made(1)) == ["argument"]


def test_a_name_alone_expects_a_call_whatever_its_arguments() -> None:
    assert kinds(asked("add"), made(1, b=5)) == []
    assert kinds(asked({"name": "add", "arguments": {"a": 1}, "more_arguments": True}), made(1, b=5)) == []


def test_more_calls_may_stand_between_those_that_are_expected_in_order() -> None:
    question = asked(add(1), add(2), order=True, more_calls=True)
    assert kinds(question, made(1), made(5), made(2)) == []
    assert kinds(question, made(2), made(5), made(1)) == ["order"]
    assert kinds(question, made(1), made(5)) == ["argument"]


def test_the_nearest_call_is_the_one_that_was_meant() -> None:
    question = asked(add(1, b=1), "sub")
    assert kinds(question, made(9, b=9), made(1, b=9), Made("sub", {})) == ["argument", "extra"]
    assert kinds(question, made(1, b=1)) == ["missing"]


def test_the_answer_is_judged_too() -> None:
    question = asked(answer={"contains": "four"})
    assert kinds(question, answer="It is Four.") == []
    assert kinds(question, answer="five") == ["answer"]
    assert judge(question, [], {}, None)[0].got == "no answer"
    assert kinds(asked(answer={"regex": "^4$"}, more_calls=True), answer="4") == []


def test_thousands_of_calls_are_too_many_and_quickly_judged() -> None:
    assert len(kinds(asked(add(1)), *[made(number) for number in range(10_000)])) == MAX_JUDGED - 1


SMALL = st.lists(st.integers(0, 3), max_size=4)


@given(st.lists(st.integers(0, 3) | st.just({"any": True}), max_size=4), SMALL, st.booleans())
@settings(max_examples=150)
def test_a_run_is_right_exactly_where_some_pairing_fits(expected: list[Any], given: list[int], more: bool) -> None:
    """The matching finds a pairing whenever trying all of them does."""
    question = asked(*map(add, expected), more_calls=more)
    fits = any(
        all(one == {"any": True} or one == value for one, value in zip(expected, order, strict=True))
        for order in itertools.permutations(given, len(expected))
    ) and (more or len(given) == len(expected))
    assert (kinds(question, *map(made, given)) == []) is fits


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.builds(Made, st.sampled_from(["add", "sub", ""]), JSON, st.none() | st.text()), max_size=4), JSON)
@settings(max_examples=100)
def test_any_calls_are_judged_and_every_mistake_can_be_shown(calls: list[Made], expected: Any) -> None:
    question = asked({"name": "add", "arguments": {"a": {"exact": expected}}}, "sub", order=True)
    for mistake in judge(question, calls, SCHEMAS):
        assert all(isinstance(part, str) for part in mistake.to_json().values())
        assert len(str(mistake)) < 1_000
