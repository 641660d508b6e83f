"""Outputs and answers that are made to take long, to fill memory, or to be read wrongly. Values in, values out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard_manifest.bindings.subprocess import call, output
from pegboard_manifest.bindings.subprocess.output import read_output


def read(parser, data):
    """The result, or what the error says."""
    try:
        return read_output({"output": {"parser": parser}}, data)["result"]
    except ToolError as problem:
        return problem.message


@pytest.mark.parametrize(
    ("parser", "data", "says"),
    [
        ("csv", b"," * 1_000_000 + b"\n1\n", "100,000 columns"),
        ("csv", b"a," * 1_000_000 + b"\n1\n", "100,000 columns"),
        ("csv", b"a\n" + b"," * 1_000_000, "100,000 columns"),
        ("csv", b'"' + b"x" * 200_000, "field larger than field limit"),
        ("csv", b"\xff\xfe", "UTF-8 at byte 0"),
        ("csv", b'a\n"x"y\n', "expected after"),
        ("json", b"[" * 1_000_000, "levels deep"),
        ("json", b'{"a":' * 1_000_000, "levels deep"),
        ("json", b"9" * 1_000_000, "digits"),
        ("json", b"[NaN]", "NaN"),
        ("json", b"-Infinity", "-Infinity"),
        ("json", b"1e999", "too large"),
        ("json", b'"\\ud800"', "surrogate"),
        ("json", b'{"a": "\xff"}', "UTF-8"),
        ("jsonl", b'{"a": 1}\n{"a": ', "line 2"),
    ],
)
def test_hostile_outputs_are_errors_soon(parser, data, says):
    assert says in read(parser, data)


@pytest.mark.parametrize(("parser", "data"), [("jsonl", b"1\n"), ("jsonl", b"\n"), ("csv", b"1\n")])
def test_lines_have_a_bound(parser, data, monkeypatch):
    monkeypatch.setattr(output, "MAX_VALUES", 1_000)
    assert "more than 1,000 lines" in read(parser, data * 1_002)


def test_columns_of_one_name_cost_no_more_than_others():
    (row,) = read("csv", b"a," * 99_999 + b"a\n" + b"1," * 99_999 + b"1\n")
    assert len(row) == 100_000
    assert (row["a"], row["a_100000"]) == ("1", "1")


@given(st.lists(st.sampled_from(["", "a", "a_2", "a_3", "column_2", "b"]), min_size=2, max_size=12))
@settings(max_examples=60)
def test_every_column_keeps_its_value(names):
    """Invariant: whatever columns are called, each cell of a row is in the data once."""
    data = (",".join(names) + "\n" + ",".join(map(str, range(len(names)))) + "\n").encode()
    (row,) = read("csv", data)
    assert list(row.values()) == list(map(str, range(len(names))))


@pytest.mark.parametrize(
    ("parser", "line"), [("json", b"[],"), ("jsonl", b"1\n"), ("csv", b"1\n"), ("csv", b"1,2,3\n"), ("text", b"x")]
)
def test_what_is_read_in_the_loop_takes_little_of_its_time(parser, line, lines_run):
    most = call.MAX_IN_LOOP[parser]
    data = line * (most // len(line))
    if parser == "json":
        data = b"[" + data[:-1] + b"]"
    assert lines_run(lambda: read(parser, data)) < 300_000
    assert set(call.MAX_IN_LOOP) == set(output._PARSERS)
