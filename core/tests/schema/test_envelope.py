"""What is known of a message that is refused: its id, wherever it stands and whatever else is wrong."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.schema.envelope import EDGE, Pieces, TooLong, members_of
from pegboard.schema.jsontext import JsonTextError, first_twice, loads

WRONG = {
    "half a surrogate pair": b'"\\ud800"',
    "half a surrogate pair as a key": b'{"\\udfff": 1}',
    "half a surrogate pair as bytes": b'"\xed\xa0\x80"',
    "no UTF-8": b'"\xff"',
    "too large": b"1e999",
    "too many digits": b"9" * 5_000,
    "nested too deep": b"[" * 100 + b"]" * 100,
    "nested deeper than the parser goes": b'{"a":' * 20_000 + b"[]" + b"}" * 20_000,
    "not a number": b"[NaN, -Infinity]",
    "a control character": b'"\x01"',
}
ORDERS = list(itertools.permutations(["id", "name", "wrong"]))


def text_of(order: Any, wrong: bytes) -> bytes:
    parts = {"id": b'"id": "k\\u00e9y"', "name": b'"name":"add"', "wrong": b'"arguments" : ' + wrong}
    return b"{" + b" , ".join(parts[one] for one in order) + b"}"


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_refused_keeps_its_id_and_name(wrong: bytes, order: Any, bom: bytes) -> None:
    text = bom + text_of(order, wrong)
    with pytest.raises(JsonTextError):
        loads(text)
    assert members_of(text).items() >= {"id": "kéy", "name": "add"}.items()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("filling", [b"x", b'\\", \\"id\\": 5, ', b"\\\\"])
def test_what_is_too_long_keeps_what_stands_before_and_after(order: Any, filling: bytes) -> None:
    text = text_of(order, b'{"text": "' + filling * 3_000 + b'", "id": 7}')
    pieces = Pieces(1_000)
    for start in range(0, len(text), 333):
        pieces.add(text[start : start + 333])
    taken = pieces.take()
    assert taken == TooLong(len(text), text[:EDGE], text[-EDGE:])
    assert isinstance(taken, TooLong)
    assert taken.members == {"id": "kéy", "name": "add"}
    assert pieces.take() == b""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        '"id"',
        "{",
        '{"id": 1',
        '{"id": 1,}',
        '{"id": 1} 2',
        '{"id" 1}',
        "{'id': 1}",
        '{"id": 1, "a": [}',
        "no",
    ],
)
def test_what_is_not_json_has_no_members(text: str) -> None:
    assert members_of(text) == {}


@pytest.mark.parametrize("said", ["true", "null", "1.5", "[1]", "1e999", "9" * 300, '"\\ud800"'])
def test_an_id_that_nobody_can_echo_is_none(said: str) -> None:
    assert members_of(f'{{"id": {said}, "name": "add"}}') == {"name": "add"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=5), st.booleans())
def test_members_are_the_texts_and_integers_of_the_object(value: dict[str, Any], is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    expected = {key: one for key, one in value.items() if type(one) in (int, str)}
    assert members_of(text) == members_of(text.encode()) == expected


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=5), st.integers(0, 60), st.integers(0, 60))
def test_what_is_found_at_the_ends_stands_in_the_outermost_object(value: dict[str, Any], head: int, tail: int) -> None:
    text = json.dumps(value).encode()
    found = TooLong(len(text), text[:head], text[max(0, len(text) - tail) :]).members
    assert found.items() <= {key: one for key, one in value.items() if type(one) in (int, str)}.items()


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ('{"id": 1, "user_id": "a", "user_id": "b"}', "user_id"),
        ('{"id": 1, "user_id": "a", "user_id": "a"}', "user_id"),
        ('{"user_id": "a", "user\\u005fid": "b"}', "user_id"),
        ('{"arguments": {"a": 1, "a": 2}, "id": 1, "x": 1, "x": 2}', "x"),
        ('{"arguments": {"id": 1, "id": 2}, "id": 1}', None),
        ('{"id": "id", "name": "name"}', None),
        ('[{"a": 1, "a": 2}]', None),
    ],
)
def test_an_envelope_names_no_key_twice(text: str, twice: str | None) -> None:
    if twice is not None:
        assert first_twice(text) == twice
        with pytest.raises(JsonTextError, match=f'"{twice}" is there twice'):
            loads(text, is_envelope=True)
    else:
        assert loads(text, is_envelope=True) == json.loads(text)
    assert loads(text) == json.loads(text)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", '"', "\\", "é"]), json_values), max_size=4), st.booleans())
def test_a_key_that_is_there_twice_is_always_found(pairs: list[tuple[str, Any]], is_ascii: bool) -> None:
    text = "{" + ",".join(f"{json.dumps(key, ensure_ascii=is_ascii)}:{json.dumps(one)}" for key, one in pairs) + "}"
    if len({key for key, _ in pairs}) == len(pairs):
        assert loads(text, is_envelope=True) == json.loads(text)
    else:
        with pytest.raises(JsonTextError, match="is there twice"):
            loads(text, is_envelope=True)


def test_a_byte_order_mark_is_skipped_in_text_too() -> None:
    assert loads("\ufeff{}") == loads(b"\xef\xbb\xbf{}") == {}
