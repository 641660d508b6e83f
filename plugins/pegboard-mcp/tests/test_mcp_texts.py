"""Foreign texts: what hides is taken out, what belongs to a script or an emoji stays."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.doctor import hidden_in
from pegboard_mcp.texts import MAX_DEPTH, MAX_SAID, MAX_TEXT, MAX_VALUES, clean, clean_schema

ODD = "\x00\x1b\u00ad\u034f\u200b\u200c\u200d\u200e\u202e\u2066\ufeff\ufe0f\ufe00\U000e0041\U000e0101\ud800\u3164"
KEYWORDS = ["type", "properties", "description", "enum", "default", "items", "anyOf", "$defs", "$ref", "x-note"]
TEXTS = st.text(st.one_of(st.sampled_from(ODD + "a é\n👩م"), st.characters()), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "cleaned", "what"),
    [
        ("plain\ttext\r\n", "plain\ttext\r\n", []),
        ("hi\U000e0068\U000e0069", "hi", ["characters of the tags block, which only a model reads"]),
        ("a\u202eb\u2066c", "abc", ["marks that turn the direction of text"]),
        ("a\u200bb\ufeffc\u00add", "abcd", ["characters without width"]),
        ("a\x1b[31mb\x9b", "ab", ["control sequences of terminals", "control characters"]),
        ("a\u200db", "ab", ["characters without width"]),
        ("é\u200d\u200cé", "éé", ["characters without width"]),
        ("☺\ufe0f\ufe01\U000e0130", "☺\ufe0f", ["variation selectors"]),
        ("a\u3164", "a", ["letters that are blank"]),
        ("a\ud800", "a", ["halves of characters"]),
    ],
)
def test_what_hides_in_a_text_is_taken_out_and_said(text: str, cleaned: str, what: list[str]) -> None:
    assert clean(text) == (cleaned, what)


@pytest.mark.parametrize(
    "text", ["👩\u200d👩\u200d👧", "می\u200cخواهم", "क\u094d\u200dष", "☺\ufe0f", "日本語", "naïve"]
)
def test_joiners_and_selectors_stay_where_they_belong(text: str) -> None:
    assert clean(text) == (text, [])


def test_a_joiner_that_comes_beside_ascii_by_the_cleaning_goes_too() -> None:
    assert clean("a\u202e\u200dé")[0] == "aé"


def test_a_text_without_end_is_cut() -> None:
    cleaned, said = clean("x" * (MAX_TEXT + 1))
    assert len(cleaned) == MAX_TEXT
    assert said == ["more than 100,000 characters"]


@given(TEXTS)
def test_cleaning_twice_is_cleaning_once_and_nothing_hides_after_it(text: str) -> None:
    cleaned, said = clean(text)
    assert clean(cleaned) == (cleaned, [])
    assert bool(said) == (cleaned != text)
    assert not hidden_in(cleaned)
    cleaned.encode("utf-8")


@settings(max_examples=150)
@given(VALUES)
def test_any_schema_is_cleaned_once_for_all_and_is_left_alone_where_it_is_clean(schema: object) -> None:
    before = json.dumps(schema)
    cleaned, said = clean_schema(schema)
    again, left = clean_schema(cleaned)
    assert again is cleaned
    assert [one.stripped for one in left] == [False] * len(left)
    assert [one for one in said if not one.stripped] == left
    assert (cleaned is schema) == (not any(one.stripped for one in said))
    assert json.dumps(schema) == before


def test_descriptions_are_cleaned_and_what_calls_are_checked_by_is_only_said() -> None:
    schema = {
        "type": "object",
        "description": "a\u200b",
        "properties": {"b\u202e": {"enum": ["c\u200b"], "default": "d\u200b", "anyOf": [{"title": "e\x00"}]}},
        "required": ["b\u202e"],
        "x\u200b": "gone",
        "x-note": {"k": ["f\u200b"]},
    }
    cleaned, said = clean_schema(schema)
    assert cleaned == {
        "type": "object",
        "description": "a",
        "properties": {"b\u202e": {"enum": ["c\u200b"], "default": "d", "anyOf": [{"title": "e"}]}},
        "required": ["b\u202e"],
        "x-note": {"k": ["f"]},
    }
    assert [str(one) for one in said if not one.stripped] == [
        "properties.b\\u202e: marks that turn the direction of text, still there",
        "properties.b\\u202e.enum[0]: characters without width, still there",
        "required[0]: marks that turn the direction of text, still there",
    ]


def test_findings_are_bounded() -> None:
    assert len(clean_schema({"examples": ["\u200b"] * 500})[1]) == MAX_SAID


def test_a_schema_without_end_is_refused() -> None:
    deep: object = {}
    for _ in range(MAX_DEPTH + 1):
        deep = {"not": deep}
    with pytest.raises(ValueError, match="nested deeper"):
        clean_schema(deep)
    with pytest.raises(ValueError, match="values"):
        clean_schema({"enum": [0] * MAX_VALUES})


def test_importing_it_compiles_nothing_and_imports_little() -> None:
    code = "import sys, pegboard_mcp.texts; print([m for m in ('mcp', 'trio', 'pegboard.doctor') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
