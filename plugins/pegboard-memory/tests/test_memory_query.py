"""What people write becomes pieces that FTS5 can be asked for, whatever it is."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_memory._query import MAX_PIECES, MAX_QUERY, Query, all_of, any_of, fold, parse, quoted
from pegboard_memory._ranking import band_score, fuse

OPERATORS = [
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    ")",
    "(",
    '"',
    '""',
    "'",
    "*",
    "^",
    "-",
    "+",
    ":",
    "folded:",
    "{a b}",
    "\0",
    ",",
]
TEXTS = st.lists(st.sampled_from(OPERATORS) | st.text(max_size=8), max_size=12).map(" ".join) | st.text(max_size=60)


@pytest.fixture(scope="module")
def indexes() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for name, tokenizer in (("words", "unicode61"), ("parts", "trigram")):
        connection.execute(f"CREATE VIRTUAL TABLE {name} USING fts5(folded, tokenize='{tokenizer}')")
        connection.execute(f"INSERT INTO {name} VALUES ('and or not near a b c')")
    return connection


@pytest.mark.parametrize(
    ("text", "phrases", "parts", "scraps"),
    [
        ("Tea, milk!", ("tea", "milk"), ("tea", "milk"), ()),
        ("CAFÉ ｃａｆｅ", ("cafe",), ("cafe",), ()),
        ("e-mail", ("e-mail",), ("e-mail", "mail"), ()),
        ("東京タワー", ("東京タワー",), ("東京タワー", "東京タ", "京タワ", "タワー"), ("東京", "京タ", "タワ", "ワー")),
        ("京", ("京",), (), ("京",)),
        ("🎉 party", ("party",), ("party",), ("🎉",)),
        ("a is", ("a", "is"), (), ("a", "is")),
        ("is it tea", ("is", "it", "tea"), ("tea",), ()),
        ("C++", ("c",), (), ("c",)),
        ("++", (), (), ("++",)),
        ("tea TEA Tea", ("tea",), ("tea",), ()),
        (" \t\n", (), (), ()),
        ("", (), (), ()),
        ("\0", (), (), ()),
    ],
)
def test_a_query_is_taken_apart(
    text: str, phrases: tuple[str, ...], parts: tuple[str, ...], scraps: tuple[str, ...]
) -> None:
    found = parse(text)
    assert (found.phrases, found.parts, found.scraps) == (phrases, parts, scraps)


@settings(max_examples=200)
@given(TEXTS)
def test_every_expression_made_of_any_text_is_one_that_fts5_takes(indexes: sqlite3.Connection, text: str) -> None:
    query = parse(text)
    for index, expression in [
        ("words", all_of(query.phrases)),
        ("words", any_of(query.phrases + query.words)),
        ("parts", any_of(query.parts)),
    ]:
        if expression:
            rows = indexes.execute(f"SELECT rowid FROM {index} WHERE {index} MATCH ?", (expression,)).fetchall()
            assert rows in ([], [(1,)])


@given(st.text(max_size=40))
def test_folding_a_folded_text_changes_nothing_but_what_folding_uncovers(text: str) -> None:
    assert "\0" not in fold(text)
    assert fold(fold(fold(text))) == fold(fold(text))


def test_half_a_character_is_not_an_error_in_a_query() -> None:
    assert parse("tea \ud800").phrases == ("tea",)


def test_operators_are_words() -> None:
    assert all_of(parse('NOT "tea" OR').phrases) == '"not" AND "tea" AND "or"'
    assert quoted('a"b') == '"a""b"'


def test_a_query_without_end_is_cut() -> None:
    query = parse(" ".join(f"word{number}" for number in range(10_000)))
    assert len(query.phrases) == MAX_PIECES
    assert max(map(len, parse("x" * 100_000).parts)) == MAX_QUERY
    assert all(len(pieces) <= MAX_PIECES for pieces in (query.words, query.parts, query.scraps))
    assert isinstance(query, Query)


def test_a_better_band_is_above_all_of_a_worse_one() -> None:
    assert 0 <= band_score(0, 0) < band_score(0, 1e9) <= band_score(1, 0) < band_score(3, 5) <= 1


def test_orders_are_fused_by_their_ranks() -> None:
    fused = fuse([[1, 2, 3], [3, 1]])
    assert [key for key, _ in fused] == [1, 3, 2]
    assert fuse([[1], [1]]) == [(1, 1.0)]
    assert fuse([[], []]) == []
