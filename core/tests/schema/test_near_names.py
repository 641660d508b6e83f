"""Near misses of names, within bounds."""

from __future__ import annotations

from difflib import get_close_matches

from hypothesis import given
from hypothesis import strategies as st

from pegboard.schema.near import MAX_WORD, NearNames


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
def test_within_its_work_it_finds_what_difflib_finds(word: str, names: list[str]) -> None:
    """Names that are left out for their length alone are never near."""
    assert NearNames().find(word, names, 3) == (get_close_matches(word, names, 3) if word else [])
