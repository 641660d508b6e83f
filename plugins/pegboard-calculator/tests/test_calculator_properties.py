"""Whatever text comes, there is a value or a mistake that points into it, and the work is bounded."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pegboard_calculator import _evaluate
from pegboard_calculator._evaluate import calculate
from pegboard_calculator._functions import CONSTANTS, FUNCTIONS
from pegboard_calculator._mistakes import Mistake, excerpt
from pegboard_calculator._numbers import MAX_BITS, Meter
from pegboard_calculator._parser import parse
from pegboard_calculator._show import Answer
from pegboard_calculator._tokens import MAX_CHARACTERS, MAX_TOKENS

MAX_TEXT = 4_300  # characters: an integer in full
PIECES = [*FUNCTIONS, *CONSTANTS, *"0123456789+-*/%^()[],.<>= _!×÷−√eE", "**", "//", "of", "1e", "10**", "==", " % "]

OPERATORS = ["+", "-", "*", "/", "//", " % ", "**", "<", "==", " - "]

numbers = st.one_of(
    st.integers(0, 10**20).map(str),
    st.decimals(0, 10**6, places=4).map(lambda d: f"{d:f}"),
    st.sampled_from(["pi", "e", "tau", "0", "1", "1e400", "1e-400", "3**8000", "9**999", "0.1", "10%"]),
)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", " % ", "**", "<", "==", " - "]), inner).map(
            "".join
        ),
        st.tuples(st.sampled_from(["-", "√", "+", "--"]), inner).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"{text}%"),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.lists(inner, min_size=1, max_size=3)).map(
            lambda call: f"{call[0]}({', '.join(call[1])})"
        ),
        st.lists(inner, max_size=4).map(lambda items: f"sum([{', '.join(items)}])"),
    ),
    max_leaves=12,
)
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    expressions,
    st.builds(lambda text, times: (text * times)[: MAX_CHARACTERS + 1], expressions, st.integers(1, 400)),
)


def outcome(text: str) -> Answer | Mistake:
    try:
        return calculate(text)
    except Mistake as mistake:
        return mistake


@given(texts)
@settings(max_examples=400)
@example("tan(pi/2)" * 3)
@example("0/0")
@example("√" * 64 + "2")
def test_any_text_has_a_value_or_a_mistake_that_points_into_it(text: str) -> None:
    """A value or INVALID_INPUT, never another exception; both short."""
    result = outcome(text)
    if isinstance(result, Mistake):
        assert result.at is not None
        assert result.end is not None
        assert 0 <= result.at <= result.end <= max(len(text), MAX_CHARACTERS + 1)
        assert len(result.message) < 400
        assert len(excerpt(text, result.at, result.end)) < 80
        assert "\n" not in result.message
    else:
        assert len(result.text) <= MAX_TEXT
        assert len(result.exact or "") <= MAX_TEXT
        json.dumps(result._asdict(), allow_nan=False)


@given(expressions)
@settings(max_examples=200)
def test_the_work_of_any_text_is_metered(text: str) -> None:
    """A meter that allows nothing stops every text before its first step; one that allows N gives the same value as
    one that allows more, or refuses."""
    full = outcome(text)
    metered = _with_budget(text, Meter.BUDGET // 10)
    assert metered == full or isinstance(metered, Mistake)
    assert isinstance(_with_budget(text, 0), Mistake)


def _with_budget(text: str, budget: int) -> Answer | Mistake:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_evaluate, "Meter", lambda: Meter(budget))
        return outcome(text)


@given(expressions)
@settings(max_examples=100)
def test_no_exact_number_on_the_stack_exceeds_its_bits(text: str) -> None:
    """What any step of any text leaves behind is at most MAX_BITS above and below the line."""
    seen: list[Any] = []

    class Watched(list[Any]):
        def append(self, value: Any) -> None:
            seen.append(value)
            super().append(value)

    with pytest.MonkeyPatch.context() as patch:
        for name, step in list(_evaluate._STEPS.items()):
            patch.setitem(_evaluate._STEPS, name, _watching(step, Watched))
        patch.setattr(_evaluate, "_binary", _watching(_evaluate._binary, Watched))
        outcome(text)
    for value in seen:
        if hasattr(value, "numerator") and not isinstance(value, bool):
            assert max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS + 1


def _watching(step: Any, watched: Any) -> Any:
    def run(at: Any, stack: Any, arithmetic: Any) -> None:
        seeing = watched(stack)
        step(at, seeing, arithmetic)
        stack[:] = seeing

    return run


@given(expressions)
@settings(max_examples=100)
def test_blanks_and_parentheses_around_a_text_change_nothing(text: str) -> None:
    """`( text )` is text, unless the text was a percentage."""
    plain = outcome(text)
    wrapped = outcome(f" ( {text}\n) ")
    assert isinstance(plain, Mistake) == isinstance(wrapped, Mistake)
    if isinstance(plain, Answer):
        assert plain == wrapped


@given(st.lists(st.sampled_from(["(", "[", "√", "-", "2**", "1+(", "sum(", "1<"]), max_size=MAX_TOKENS))
@settings(max_examples=60)
def test_nesting_never_exhausts_the_stack(openings: list[str]) -> None:
    """However deep a text opens, it is parsed or refused, in a bounded number of frames."""
    text = "".join(openings) + "1"
    try:
        program = parse(text)
    except Mistake:
        return
    assert len(program) <= len(text)


def test_the_heaviest_texts_stay_far_below_50_mb() -> None:
    heavy = ["9" * 4000, "factorial(1500)/7**4900", "+".join(["1"] * 600), "ln(3**4000)-ln(3**3999)-ln(3)", "1" * 10**6]
    outcome("sin(1)")
    tracemalloc.start()
    try:
        for text in heavy:
            outcome(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000
