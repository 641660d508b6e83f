"""Calls as models write them: whatever comes, something that a provider takes back is made of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_chat.portable.calls import (
    INVALID_JSON,
    MAX_BROKEN,
    MAX_ID,
    draw_id,
    kept_arguments,
    kept_text,
    object_in,
    take_id,
    take_name,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WRITTEN = JSON | st.text(max_size=40) | JSON.map(json.dumps) | JSON.map(lambda value: json.dumps(value)[:-1])


@given(WRITTEN)
def test_whatever_came_as_arguments_goes_back_as_the_text_of_an_object(given_arguments: Any) -> None:
    kept = kept_arguments(given_arguments)
    text = kept_text(given_arguments, kept)
    assert json.loads(text) == kept
    text.encode()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        (None, {}),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ('{"a": ', {INVALID_JSON: '{"a": '}),
        ("[1]", {INVALID_JSON: "[1]"}),
        ([1], {INVALID_JSON: "[1]"}),
        ('{"a": NaN}', {INVALID_JSON: '{"a": NaN}'}),
        ("half \ud83d", {INVALID_JSON: "half ?"}),
    ],
)
def test_arguments_are_kept_as_an_object(text: Any, kept: dict[str, Any]) -> None:
    assert kept_arguments(text) == kept


def test_of_broken_arguments_the_beginning_is_kept() -> None:
    assert len(kept_arguments("x" * 10_000_000)[INVALID_JSON]) == MAX_BROKEN


def test_text_that_holds_an_object_goes_back_letter_by_letter() -> None:
    text = ' {"a" : 1.0}'
    assert kept_text(text, kept_arguments(text)) == text


def test_what_is_not_an_object_holds_none() -> None:
    assert [object_in(text) for text in ("7", "[]", "{", '"a"', "{}", "")] == [None, None, None, None, {}, {}]


@given(st.lists(st.none() | st.integers() | st.text(max_size=4) | st.just("x" * (MAX_ID + 1)), max_size=6))
def test_no_two_calls_of_a_turn_share_an_id(given_ids: list[Any]) -> None:
    taken: set[str] = set()
    ids = [take_id(one, taken) for one in given_ids]
    assert len(set(ids)) == len(ids)
    assert taken == set(ids)
    assert all(one.strip() and one.isprintable() and len(one) <= MAX_ID for one in ids)


def test_an_id_that_is_one_is_kept_and_others_are_drawn_as_the_provider_wants_them() -> None:
    taken: set[str] = set()
    assert [take_id(one, taken, lambda: "drawn") for one in ("a", 7, "a")] == ["a", "7", "drawn"]
    assert draw_id() != draw_id()


@given(st.text(max_size=100))
def test_a_name_goes_back_as_every_provider_takes_it(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", take_name(name), re.ASCII)
