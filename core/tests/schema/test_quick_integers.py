"""The happy path leaves integers that are too long to be read or written to the validator."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import tool
from pegboard.validation import make_validator


@attrs.frozen
class Count:
    n: int


def one(value: int) -> None: ...


def many(value: list[int]) -> None: ...


def inside(value: Count) -> None: ...


def perhaps(value: int | None = None) -> None: ...


WRAPPED = [
    (one, lambda number: number),
    (many, lambda number: [1, number]),
    (inside, lambda number: {"n": number}),
    (perhaps, lambda number: number),
]
LIMIT = 2**63
LONG = 10**4_300


@pytest.mark.parametrize(("function", "wrap"), WRAPPED, ids=[function.__name__ for function, _ in WRAPPED])
@pytest.mark.parametrize("number", [LIMIT, -LIMIT, LONG, -LONG], ids=["word", "-word", "long", "-long"])
def test_integers_beyond_a_word_are_left_to_the_validator(function: Any, wrap: Any, number: int) -> None:
    made = tool(function)
    assert made.signature.quick()({"value": wrap(number)}) is None
    validate = make_validator(schema=made.input_schema, foreign=False)
    assert bool(validate({"value": wrap(number)})) is (abs(number) == LONG)


@given(number=st.integers(1 - LIMIT, LIMIT - 1) | st.sampled_from([1 - LIMIT, LIMIT - 1]))
def test_every_other_integer_takes_the_happy_path(number: int) -> None:
    """Whatever the place of an integer of less than 64 bits: it is taken as it is."""
    for function, wrap in WRAPPED:
        taken = tool(function).signature.quick()({"value": wrap(number)})
        assert taken == {"value": Count(number) if function is inside else wrap(number)}


def test_an_integer_that_is_not_given_is_not_looked_for() -> None:
    assert tool(perhaps).signature.quick()({}) == {}
