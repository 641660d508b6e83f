"""JSON from outside: what is read, what is refused, and in which words."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.schema.jsontext import MAX_DEPTH, JsonTextError, check_value, loads, reject_non_finite, shorten

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def nested(depth: int) -> list:
    value: list = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(JSON)
def test_what_json_writes_is_read_back(value):
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False).encode()) == value
    assert check_value(value) is None


@given(st.text(max_size=30) | st.binary(max_size=30) | st.text('[]{}",:0129.eE+-\\u d\udc80', max_size=30))
def test_any_text_is_read_or_refused_with_a_reason(text):
    try:
        value = loads(text)
    except JsonTextError as problem:
        text = str(problem)
        ok = bool(problem.reason) and "\n" not in text
    else:
        ok = check_value(value) is None
    assert ok


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("1e999", "the number 1e999 is too large"),
        ("1" * 4_301, "more than 4,300 digits"),
        ('{"a": [' + "1" * 5_000 + "]}", "more than 4,300 digits"),
        ("[" * 65 + "]" * 65, "nested more than 64 levels deep"),
        ("[" * 100_000, "nested more than 64 levels deep"),
        ('{"a":' * 5_000, "nested more than 64 levels deep"),
        ('"\\ud800"', "half a surrogate pair"),
        ('{"a": ["\\uDC00"]}', "half a surrogate pair (a[0])"),
        ('"\ud800"', "half a surrogate pair at character 1"),
        (b'"\xff"', "not valid UTF-8 at byte 1"),
        ("", "not valid JSON: expecting value at line 1, column 1"),
        ("{'a': 1}", "line 1, column 2"),
        ("[1,\n2,]", "at line 2, column"),  # of the bracket; from Python 3.13 on of the comma
    ],
)
def test_refusals_say_what_and_where(text, reason):
    with pytest.raises(JsonTextError) as caught:
        loads(text)
    assert reason in str(caught.value)


def test_brackets_inside_strings_are_no_nesting():
    text = json.dumps({"text": "[{" * 500 + '\\"' * 10})
    assert loads(text) == {"text": "[{" * 500 + '\\"' * 10}


def test_depth_and_length_bounds_are_inclusive():
    assert loads("[" * 64 + "]" * 64) == nested(64)
    assert loads("[[]]", max_depth=2) == [[]]
    with pytest.raises(JsonTextError, match="more than 1 levels"):
        loads("[[]]", max_depth=1)
    assert loads(b"1234", max_bytes=4) == 1234
    with pytest.raises(JsonTextError, match="longer than 3 bytes"):
        loads(b"1234", max_bytes=3)
    with pytest.raises(JsonTextError, match="longer than 3 characters"):
        loads("1234", max_bytes=3)


def test_many_brackets_side_by_side_are_no_depth():
    assert len(loads("[" + ",".join(["[]"] * 1_000) + "]")) == 1_000


def test_a_long_number_of_digits_inside_a_string_is_text():
    assert loads(json.dumps("9" * 5_000)) == "9" * 5_000


def test_surrogate_pairs_and_a_byte_order_mark_are_read():
    assert loads('"\\ud83d\\ude00"') == "\N{GRINNING FACE}"
    assert loads(b"\xef\xbb\xbf[1]") == [1]


def test_of_a_key_named_twice_the_last_value_counts():
    assert loads('{"a": 1, "a": 2}') == {"a": 2}


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "path", "got"),
    [
        ({"a": [1, math.nan]}, "a[1]", "nan"),
        (-math.inf, "", "-inf"),
        ({1: 2}, "", "a key of type int"),
        ({"a": {None: 1}}, "a", "a key of type NoneType"),
        ([Opaque()], "[0]", "a Python Opaque"),
        (b"bytes", "", "a Python bytes"),
        ({"n": 10**5_000}, "n", "a longer one"),
        ({"s": "\udc80"}, "s", "a string with half a surrogate pair"),
        ({"\udc80": 1}, "", "a key with half a surrogate pair"),
    ],
)
def test_what_json_cannot_say_is_found(value, path, got):
    fault = check_value(value)
    assert fault is not None
    assert (fault.where, fault.got) == (path, got)
    assert reject_non_finite(value) == fault


@pytest.mark.unmeasured
def test_values_deeper_than_the_stack_and_values_without_end_are_refused():
    circle: list = []
    circle.append(circle)
    wide: list = [1]
    for _ in range(60):
        wide = [wide, wide]
    assert check_value(nested(MAX_DEPTH)) is None
    for value, expected in ((nested(65), "levels"), (nested(5_000), "levels"), (circle, "levels"), (wide, "values")):
        fault = check_value(value)
        assert fault is not None
        assert expected in fault.expected


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 100, '"' + "x" * 59 + '…"'),
        ("\udc80", "a string"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        (10**100, "a very long integer"),
        ({}, "an empty object"),
        ({"a": 1}, "an object of 1 property"),
        ({"a": 1, "b": 2}, "an object of 2 properties"),
        ([], "an empty array"),
        ([1], "an array of 1 item"),
        ((1, 2), "an array of 2 items"),
        (Opaque(), "a Python Opaque"),
    ],
)
def test_values_are_shown_shortened(value, shown):
    assert shorten(value) == shown
