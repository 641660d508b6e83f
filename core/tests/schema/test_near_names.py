"""Near misses of names, within bounds."""

from __future__ import annotations

from difflib import get_close_matches

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pegboard.schema.near import CUTOFF, MAX_WORD, NearNames, hint_of


def test_the_nearest_come_first() -> None:
    near = NearNames()
    assert near.find("naem", ["number", "name", "named"], 2) == ["name", "named"]
    assert near.find("x", ["name"]) == []
    assert near.find("", [""]) == []


def test_a_long_word_is_compared_with_nothing() -> None:
    assert NearNames().find("a" * MAX_WORD, ["a" * MAX_WORD]) == []


def test_when_the_work_is_done_nothing_is_near_any_more() -> None:
    near = NearNames(work=30)
    assert near.find("name", ["nam", "nome"]) == ["nam"]
    assert near.find("name", ["nome"]) == []


@given(word=st.text("abc", max_size=6), names=st.lists(st.text("abc", max_size=9), max_size=6))
def test_what_is_near_is_alike_to_difflib_too(word: str, names: list[str]) -> None:
    """`difflib` judges first, and its order stays: the nearest come first."""
    found = NearNames().find(word, names, 3)
    alike = get_close_matches(word, dict.fromkeys(names), 9, CUTOFF) if word else []
    assert found == [name for name in alike if name in found]


@given(
    name=st.text("abcdefgh_", min_size=3, max_size=20),
    place=st.integers(0, 19),
    letter=st.sampled_from("abxyz"),
    how=st.sampled_from(["add", "miss", "wrong", "swap", "case", "dash"]),
)
def test_one_slip_is_always_near(name: str, place: int, letter: str, how: str) -> None:
    place %= len(name)
    word = {
        "add": name[:place] + letter + name[place:],
        "miss": name[:place] + name[place + 1 :],
        "wrong": name[:place] + letter + name[place + 1 :],
        "swap": name[:place] + name[place : place + 2][::-1] + name[place + 2 :],
        "case": name.upper(),
        "dash": name.replace("_", "-"),
    }[how]
    assume(len(set(word) & set(name)) > 1 or len(name) > 3)
    assert NearNames().find(word, ["xxxxxxxxxxxx", name, "yyyyy"]) == [name]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("nope", ["openai", "openai-responses"]),
        ("none", ["cohere", "anthropic"]),
        ("unknown", ["tasks", "time", "calculator"]),
        ("read_file", ["write_file", "delete_task"]),
        ("rubbish", ["dice", "files", "mcp"]),
    ],
)
def test_sharing_a_few_letters_is_not_near(word: str, names: list[str]) -> None:
    assert NearNames().find(word, names, 3) == []


@pytest.mark.parametrize(
    ("word", "name"),
    [("roll", "roll_dice"), ("fetch_weather", "get_weather"), ("ehco", "echo"), ("Roll-Dice", "roll_dice")],
)
def test_a_part_that_is_most_of_the_name_is_near(word: str, name: str) -> None:
    assert NearNames().find(word, ["zzz", name]) == [name]


def test_what_there_is_is_told_shortly() -> None:
    assert hint_of("zzz", ["b", "a"]) == "there are: a, b"
    assert hint_of("zzz", [f"n{i:03}" for i in range(100)]).endswith("n011 and 88 more")
    assert hint_of("zzz", []) == "there are none"
    assert hint_of("nam", ["name"]) == "did you mean 'name'?"
