"""JSON as it stands in the folder: the same value, and no character of it hides from whoever reads the file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_manifest.hygiene import sanitise
from pegboard_toolgen._texts import as_word, indented, to_bytes

HIDDEN_TEXT = "a\u202eb\u200b\U000e0041\x1b[31m\x85\u2028\ufe0f\ud800\x00"
TEXTS = st.text(max_size=20) | st.sampled_from([HIDDEN_TEXT, "Grüße, 日本 ✓"])


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=4))
def test_a_file_is_the_same_value_and_shows_every_character(value: dict[str, Any]) -> None:
    written = to_bytes(value).decode()
    assert json.loads(written) == value
    assert all(sanitise(sign) == sign for sign in set(written) - set(" \n"))


def test_letters_of_every_script_stay_as_they_are() -> None:
    assert to_bytes({"b": "Grüße", "a": ["日本 ✓"]}).decode() == '{\n  "a": [\n    "日本 ✓"\n  ],\n  "b": "Grüße"\n}\n'


def test_a_path_is_one_word_of_a_command_that_a_person_copies() -> None:
    assert as_word("llm-tooling/pegboard.toml") == "llm-tooling/pegboard.toml"
    assert as_word("it's $here\n") == "'it'\"'\"'s $here'"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=15,
)


@given(VALUES, st.sampled_from([1, 2]), st.booleans())
def test_what_is_written_is_what_json_would_write(value: Any, step: int, sort_keys: bool) -> None:
    said = json.dumps(value, indent=step, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys)
    assert indented(value, step, sort_keys=sort_keys) == said


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": object()}, {"a": (1, {"b": set()})}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        indented(value, 2)
