"""Throwing by a known source of randomness, and the words for it."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard_dice import _throwing as throwing
from pegboard_dice._notation import MAX_DICE, Dice, parse
from pegboard_dice._throwing import MAX_AGAIN, Outcome, throw


class Loaded:
    """Dice that show what they are told, and check that they could."""

    def __init__(self, values: Iterable[int]) -> None:
        self._values = iter(values)

    def randint(self, a: int, b: int, /) -> int:
        value = next(self._values)
        assert a <= value <= b
        return value


Thrower = Callable[..., Outcome]


@pytest.fixture
def thrown() -> Thrower:
    return lambda notation, *values: throw(parse(notation), Loaded(values))


@pytest.mark.parametrize(
    ("notation", "values", "text"),
    [
        ("4d6kh3", (6, 4, 3, 2), "Rolled 4d6kh3: [6, 4, 3, 2] → kept [6, 4, 3] = **13**"),
        ("2d6+3", (4, 2), "Rolled 2d6+3: [4, 2] +3 = **9**"),
        ("1d20+5", (12,), "Rolled 1d20+5: **17**"),
        ("d20", (17,), "Rolled 1d20: **17**"),
        ("2d6", (4, 2), "Rolled 2d6: [4, 2] = **6**"),
        ("D%", (42,), "Rolled 1d100: **42**"),
        ("4dF", (-1, 0, 1, 1), "Rolled 4dF: [-1, 0, 1, 1] = **1**"),
        ("2 D 6 - 1", (4, 2), "Rolled 2d6-1: [4, 2] -1 = **5**"),
        ("2d6+1d8-2", (4, 2, 7), "Rolled 2d6+1d8-2: [4, 2] +[7] -2 = **11**"),
        ("-1d4+2d6", (3, 4, 5), "Rolled -1d4+2d6: -[3] +[4, 5] = **6**"),
        ("10-1d4", (3,), "Rolled 10-1d4: **7**"),
        ("10-2d4", (3, 1), "Rolled 10-2d4: 10 -[3, 1] = **6**"),
        ("2d20kl", (9, 4), "Rolled 2d20kl1: [9, 4] → kept [4] = **4**"),
        ("4d6kh4", (6, 4, 3, 2), "Rolled 4d6kh4: [6, 4, 3, 2] = **15**"),
        ("4d6dl", (6, 2, 3, 2), "Rolled 4d6dl1: [6, 2, 3, 2] → kept [6, 2, 3] = **11**"),
        ("4d6dh2", (2, 6, 3, 5), "Rolled 4d6dh2: [2, 6, 3, 5] → kept [2, 3] = **5**"),
        ("1d6!", (6, 6, 2), "Rolled 1d6!: [6, 6, 2] = **14**"),
        ("1d6!", (2,), "Rolled 1d6!: **2**"),
        ("2d6!kh1", (6, 1, 4), "Rolled 2d6!kh1: [6, 1, 4] → kept [6] = **6**"),
        ("1d20r1", (1, 1, 15), "Rolled 1d20r1: [1, 1, 15] → kept [15] = **15**"),
        ("1d20ro1", (1, 1), "Rolled 1d20ro1: [1, 1] → kept [1] = **1**"),
        ("1d6ro1!", (1, 6, 1, 2), "Rolled 1d6ro1!: [1, 6, 1, 2] → kept [6, 2] = **8**"),
    ],
)
def test_a_roll_reads_as_people_say_it(thrown: Thrower, notation: str, values: tuple[int, ...], text: str) -> None:
    assert throwing.text(thrown(notation, *values)) == text


def test_data_holds_every_die_of_every_term(thrown: Thrower) -> None:
    outcome = thrown("2d6!r1kh2-1", 1, 6, 4, 3)

    def die(value: int, kept: bool, exploded: bool, rerolled: bool) -> dict[str, object]:
        return {"value": value, "kept": kept, "exploded": exploded, "rerolled": rerolled}

    assert throwing.data(outcome) == {
        "notation": "2d6r1!kh2-1",
        "total": 9,
        "terms": [
            {
                "notation": "2d6r1!kh2",
                "sign": 1,
                "value": 10,
                "dice": [
                    die(1, False, False, True),
                    die(6, True, True, False),
                    die(4, True, False, False),
                    die(3, False, False, False),
                ],
                "cut": False,
            },
            {"notation": "1", "sign": -1, "value": -1, "dice": [], "cut": False},
        ],
    }


@pytest.mark.parametrize("notation", ["1d6!", "1d6r6", "1d6r5!"])
def test_a_die_that_would_go_on_for_ever_is_cut_and_says_so(thrown: Thrower, notation: str) -> None:
    outcome = throw(parse(notation), Loaded(itertools.repeat(6)))
    assert len(outcome.thrown[0].dice) == MAX_AGAIN + 1
    assert outcome.thrown[0].cut
    assert throwing.text(outcome).endswith("(a die is thrown again at most 10 times)")
    assert throwing.data(outcome)["terms"][0]["cut"] is True


def test_the_worst_roll_ends() -> None:
    outcome = throw(parse("100d1000!>1"), Loaded(itertools.repeat(1000)))
    assert sum(len(thrown.dice) for thrown in outcome.thrown) == MAX_DICE * (MAX_AGAIN + 1)
    assert outcome.total == 1_100_000


NOTATION = st.text(st.sampled_from("123456789ddfkhlro!<>+-%"), max_size=16)
KINDS = st.sampled_from(["{}d6", "{}d%!", "{}dF", "{}d20r<5!kh1", "{}d8ro1dl1", "{}d2!kl2+3-1d4", "7-{}d1"])


@given(NOTATION | st.builds(str.format, KINDS, st.integers(2, 99)), st.integers())
def test_a_total_is_the_sum_of_the_kept_dice_and_the_numbers(text: str, seed: int) -> None:
    try:
        roll = parse(text)
    except ToolError:
        return  # test_dice_notation holds what it says
    data = throwing.data(throw(roll, random.Random(seed)))
    total = 0
    for term, shown in zip(roll.terms, data["terms"], strict=True):
        kept = [die["value"] for die in shown["dice"] if die["kept"]]
        total += term.sign * (sum(kept) if isinstance(term.what, Dice) else term.what)
        if isinstance(term.what, Dice):
            assert kept
            assert all(die["value"] in term.what.faces for die in shown["dice"])
            assert term.what.count <= len(shown["dice"]) <= term.what.count * (MAX_AGAIN + 1)
            assert not any(die["kept"] for die in shown["dice"] if die["rerolled"])
    assert data["total"] == total


@given(st.lists(st.integers(1, 6), min_size=2, max_size=9), st.data())
def test_keeping_and_dropping_choose_by_value(values: list[int], data: st.DataObject) -> None:
    number = data.draw(st.integers(1, len(values) - 1))
    ordered = sorted(values)
    expected = {
        "kh": ordered[-number:],
        "kl": ordered[:number],
        "dh": ordered[: len(values) - number],
        "dl": ordered[number:],
    }
    for how, kept in expected.items():
        outcome = throw(parse(f"{len(values)}d6{how}{number}"), Loaded(values))
        assert sorted(outcome.thrown[0].kept) == kept


# The upper 0.001 quantiles of chi-square, by degrees of freedom (NIST/SEMATECH e-Handbook, 1.3.6.7.4).
CRITICAL = {2: 13.816, 5: 20.515, 19: 43.820, 99: 148.230}


@pytest.mark.parametrize("notation", ["100dF", "100d6", "100d20", "100d%"])
def test_every_face_is_as_likely_as_the_others(notation: str) -> None:
    randomness = random.Random(20261121)
    roll = parse(notation)
    dice = roll.terms[0].what
    assert isinstance(dice, Dice)
    seen = Counter(die.value for _ in range(300) for die in throw(roll, randomness).thrown[0].dice)
    expected = 30_000 / len(dice.faces)
    chi_square = sum((seen[face] - expected) ** 2 / expected for face in dice.faces)
    assert set(seen) == set(dice.faces)
    assert chi_square < CRITICAL[len(dice.faces) - 1]


def test_the_chi_square_test_would_notice_a_loaded_die() -> None:
    randomness = random.Random(20261121)
    faces = [1, 2, 3, 4, 5, 6, 6]
    seen = Counter(randomness.choice(faces) for _ in range(30_000))
    assert sum((seen[face] - 5000) ** 2 / 5000 for face in range(1, 7)) > CRITICAL[5]
