"""Dice notation as text in, `Roll` out."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_dice._notation import (
    MAX_DICE,
    MAX_LENGTH,
    MAX_NUMBER,
    MAX_SIDES,
    Condition,
    Dice,
    Keep,
    Roll,
    Term,
    parse,
)

HOW: tuple[Literal["kh", "kl", "dh", "dl"], ...] = ("kh", "kl", "dh", "dl")


def one(what: Dice) -> Roll:
    return Roll((Term(1, what),))


@pytest.mark.parametrize(
    ("text", "roll"),
    [
        ("2d6", one(Dice(2, 6))),
        ("d20", one(Dice(1, 20))),
        ("d%", one(Dice(1, 100))),
        ("3d%", one(Dice(3, 100))),
        ("4dF", one(Dice(4, None))),
        ("4df", one(Dice(4, None))),
        ("4d6kh3", one(Dice(4, 6, keep=Keep("kh", 3)))),
        ("2d20kh", one(Dice(2, 20, keep=Keep("kh", 1)))),
        ("2d20kl", one(Dice(2, 20, keep=Keep("kl", 1)))),
        ("4d6dl", one(Dice(4, 6, keep=Keep("dl", 1)))),
        ("4d6dh3", one(Dice(4, 6, keep=Keep("dh", 3)))),
        ("4d6kh4", one(Dice(4, 6, keep=Keep("kh", 4)))),
        ("3d6!", one(Dice(3, 6, explode=Condition("=", 6)))),
        ("3d6!5", one(Dice(3, 6, explode=Condition("=", 5)))),
        ("3d6!>4", one(Dice(3, 6, explode=Condition(">", 4)))),
        ("2d6r1", one(Dice(2, 6, reroll=Condition("=", 1)))),
        ("2d6ro<3", one(Dice(2, 6, reroll=Condition("<", 3), reroll_once=True))),
        ("4dFr-1", one(Dice(4, None, reroll=Condition("=", -1)))),
        ("4dF!", one(Dice(4, None, explode=Condition("=", 1)))),
        ("4dF!-1", Roll((Term(1, Dice(4, None, explode=Condition("=", 1))), Term(-1, 1)))),
        ("4dFr>0", one(Dice(4, None, reroll=Condition(">", 0)))),
        ("1d1", one(Dice(1, 1))),
        ("002d06", one(Dice(2, 6))),
        ("1d20+5", Roll((Term(1, Dice(1, 20)), Term(1, 5)))),
        ("-1d4+0", Roll((Term(-1, Dice(1, 4)), Term(1, 0)))),
        ("+2d6-1d4-3", Roll((Term(1, Dice(2, 6)), Term(-1, Dice(1, 4)), Term(-1, 3)))),
        ("100d1000", one(Dice(100, 1000))),
        ("50d6+50d6", Roll((Term(1, Dice(50, 6)), Term(1, Dice(50, 6))))),
    ],
)
def test_notation_is_read(text: str, roll: Roll) -> None:
    assert parse(text) == roll


@pytest.mark.parametrize("text", ["4D6KH3+1", " 4 d 6 kh 3 + 1 ", "4d6\tkH3\n+1"])
def test_case_and_spaces_do_not_matter(text: str) -> None:
    assert parse(text) == parse("4d6kh3+1")


def test_the_order_of_modifiers_does_not_matter() -> None:
    assert parse("4d6kh3!r1") == parse("4d6r1!kh3")


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("", 1, "nothing to roll"),
        ("   ", 4, "nothing to roll"),
        ("5", 1, "no die to roll"),
        ("2+3", 1, "no die to roll"),
        ("0d6", 1, "from 1 to 100, got 0"),
        ("101d6", 1, "from 1 to 100, got 101"),
        ("50d6+51d6", 6, "at most 100 dice in all, this makes 101"),
        ("1d0", 3, "from 1 to 1000, got 0"),
        ("1d1001", 3, "from 1 to 1000, got 1001"),
        ("9" * 30 + "d6", 1, "got a number of 30 digits"),
        ("1d6+1000001", 5, "from 0 to 1000000"),
        ("2d", 3, "expected the number of sides, a number from 1 to 1000, got the end"),
        ("2d6+", 5, "expected dice or a number, got the end"),
        ("2d6++3", 5, "expected dice or a number, got '+'"),
        ("2d6 3", 5, "expected +, - or the end, got '3'"),
        ("2d6d4", 4, "expected +, - or the end, got 'd'"),
        ("1 0d6", 3, "expected +, - or the end"),
        ("4d6kh0", 6, "from 1 to 4, got 0"),
        ("4d6kh5", 6, "from 1 to 4, got 5"),
        ("4d6dl4", 6, "from 1 to 3, got 4"),
        ("1d6dh", 4, "dh drops the only die"),
        ("4d6kh3kl1", 7, "kh3 says already which dice count"),
        ("1d6!!", 5, "explode already"),
        ("1d6r1ro2", 6, "rerolled already"),
        ("1d1!", 4, "explode for ever"),
        ("1d1!1", 4, "every face is 1"),
        ("1d1r1", 4, "every face is 1"),
        ("1d6r9", 5, "from 1 to 6, got 9"),
        ("1d6!0", 5, "from 1 to 6, got 0"),
        ("1d6r", 5, "expected the face that r means, a number from 1 to 6, got the end"),
        ("1d6rkh", 5, "got 'kh'"),
        ("1d6r<1", 4, "no face is <1"),
        ("1d6!>6", 4, "no face is >6"),
        ("2dFr-2", 6, "from 1 to 1, got 2"),
        ("٣d6", 1, "no meaning"),
        ("2d６", 3, "no meaning"),
        ("4d6\u212ah3", 4, "no meaning"),  # the Kelvin sign
        ("4d6k3", 4, "write kh or kl"),
        ("1d6−1", 4, "write - instead"),
        ("2*1d6", 2, "only + and - join terms"),
        ("1d6;rm -rf /", 4, "no meaning"),
        ("1d6\ud800", 4, "no meaning"),
        ("1" * (MAX_LENGTH + 1), MAX_LENGTH + 1, "at most 200"),
    ],
)
def test_what_is_not_a_roll_is_refused_where_it_goes_wrong(text: str, position: int, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse(text)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert says in caught.value.message
    assert caught.value.details["position"] == position


def test_a_long_notation_is_shortened_in_the_error() -> None:
    with pytest.raises(ToolError) as caught:
        parse("1d6+" * 40 + "x")
    assert len(caught.value.message) < 200


def conditions(faces: range) -> st.SearchStrategy[Condition]:
    def tells_some_definitions(condition: Condition) -> bool:
        return 0 < sum(map(condition.meets, faces)) < len(faces)

    every = st.builds(Condition, st.sampled_from(["=", "<", ">"]), st.integers(faces[0], faces[-1]))
    return every.filter(tells_some_definitions)


@st.composite
def dice(draw: st.DrawFn) -> Dice:
    what = Dice(draw(st.integers(1, 20)), draw(st.none() | st.integers(1, MAX_SIDES)))
    condition = st.none() | conditions(what.faces) if len(what.faces) > 1 else st.none()
    minus_one = Condition("=", -1)  # 1dF!-1 takes 1 away
    reroll = draw(condition)
    how = draw(st.sampled_from(HOW))
    most = what.count if how in ("kh", "kl") else what.count - 1
    return Dice(
        what.count,
        what.sides,
        reroll=reroll,
        reroll_once=reroll is not None and draw(st.booleans()),
        explode=draw(condition.filter(lambda c: c != minus_one)),
        keep=Keep(how, draw(st.integers(1, most))) if most and draw(st.booleans()) else None,
    )


terms = st.builds(Term, st.sampled_from([1, -1]), dice() | st.integers(0, MAX_NUMBER))
rolls = (
    st.lists(terms, min_size=1, max_size=5)
    .filter(lambda terms: any(isinstance(term.what, Dice) for term in terms))
    .map(lambda terms: Roll(tuple(terms)))
)


@given(rolls)
def test_a_roll_written_down_is_read_back_as_itself(roll: Roll) -> None:
    assert parse(str(roll)) == roll


@given(rolls, st.data())
def test_spaces_between_the_parts_and_capitals_change_nothing(roll: Roll, data: st.DataObject) -> None:
    text = str(roll).replace("kh", " KH").replace("r", " R ").replace("ro", "RO").replace("R o", "RO")
    for sign in "+-!dk":
        text = text.replace(sign, data.draw(st.sampled_from(["", " ", "\t "])) + sign)
    assert parse(text.replace("d h", "dh").replace("d l", "dl")) == roll


NOTATION = st.text(st.sampled_from("0123456789dDfFkKhlro!<>+-% "), max_size=24)


def roll_or_error(text: str) -> Roll | ToolError:
    try:
        return parse(text)
    except ToolError as error:
        return error


@given(NOTATION | st.text(max_size=40))
@example("-" * MAX_LENGTH)
@example("d" * MAX_LENGTH)
@example("1d6!" * 50)
@example("9" * MAX_LENGTH)
def test_any_text_is_a_roll_within_its_limits_or_invalid_input(text: str) -> None:
    roll = roll_or_error(text)
    if isinstance(roll, ToolError):
        assert roll.code is ErrorCode.INVALID_INPUT
        assert 1 <= roll.details["position"] <= len(text) + 1
        return
    thrown = [term.what for term in roll.terms if isinstance(term.what, Dice)]
    assert 1 <= sum(what.count for what in thrown) <= MAX_DICE
    assert all(len(what.faces) <= MAX_SIDES for what in thrown)
    assert all(term.what <= MAX_NUMBER for term in roll.terms if isinstance(term.what, int))
    assert parse(str(roll)) == roll
