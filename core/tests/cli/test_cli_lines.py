"""The part without I/O of `batch`: bytes into lines, results into bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ImageContent, TextContent, ToolError, ToolResult
from pegboard.cli._lines import Cutter, line_of
from pegboard.results import stamped
from pegboard.schema.envelope import EDGE, TooLong


def cut(data: bytes, size: int, longest: int = 1000) -> list[tuple[int, bytes | TooLong]]:
    cutter = Cutter(longest)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    return [line for chunk in [*chunks, b""] for line in cutter.cut(chunk)]


@settings(max_examples=200)
@given(st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), st.integers(1, 20), st.integers(1, 20))
def test_lines_do_not_depend_on_how_the_input_is_cut(data, size, longest):
    assert cut(data, size, longest) == cut(data, 1000, longest)


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=8), st.integers(1, 9))
def test_every_line_that_is_not_blank_comes_out_with_its_number(lines, size):
    expected = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if lines and lines[0].startswith(b"\xef\xbb\xbf"):
        return
    assert cut(b"\n".join(lines), size) == expected


def test_a_byte_order_mark_is_skipped_at_the_start_alone():
    bom = b"\xef\xbb\xbf"
    assert cut(bom + b"a\n" + bom + b"b", 2) == [(1, b"a"), (2, bom + b"b")]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_line_that_is_too_long_is_counted_and_not_kept(size):
    lines = cut(b"ab\n" + b"x" * 11 + b"\ncd\n" + b"y" * 2_000, size, 10)
    ends = [TooLong(11, b"x" * 11, b"x" * 11), TooLong(2_000, b"y" * EDGE, b"y" * EDGE)]
    assert lines == [(1, b"ab"), (2, ends[0]), (3, b"cd"), (4, ends[1])]


def test_no_more_of_a_long_line_is_held_than_the_longest():
    cutter = Cutter(10)
    for _ in range(1000):
        assert cutter.cut(b"x" * 100) == []
    assert cutter._line.kept == b""
    assert cutter.cut(b"\n{}\n") == [(1, TooLong(100_000, b"x" * EDGE, b"x" * EDGE)), (2, b"{}")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
blocks = st.builds(TextContent, st.text()) | st.builds(ImageContent, st.binary(max_size=9))
results = st.builds(
    ToolResult,
    content=st.lists(blocks, max_size=2).map(tuple),
    data=st.none() | st.dictionaries(st.text(), json_values, max_size=3),
    error=st.none() | st.builds(lambda text: ToolError("TIMEOUT", text), st.text()),
    details=st.none() | st.dictionaries(st.text(), json_values, max_size=2),
    id=st.text(),
    name=st.text(),
    duration_ms=st.floats(0, 1e9),
)


@settings(max_examples=200)
@given(results, st.booleans())
def test_a_line_is_the_result_as_json_however_it_is_written(result, careful):
    line = line_of(result, careful=careful)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == json.loads(json.dumps(result.to_json()))


@given(results)
def test_a_line_for_a_terminal_holds_nothing_that_it_would_obey(result):
    shown = line_of(result, careful=True).decode()
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u200b" for char in shown[:-1])


def test_half_a_surrogate_pair_is_carried_by_its_escape():
    result = stamped(ToolResult.text("\ud800"), "1", "x", 1.0)
    assert b'"\\ud800"' in line_of(result)
    assert b'"\\ud800"' in line_of(result, careful=True)
