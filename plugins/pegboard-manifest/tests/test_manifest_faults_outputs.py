"""Outputs and answers that are made to take long, to fill memory, or to be read wrongly. Values in, values out."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard_manifest.bindings.http.unpack import MAX_MEMBERS, PackedError, Unpacker
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


def unpacked(data, coding="gzip", room=10**9, pieces=()):
    unpacker = Unpacker(coding)
    got = b""
    for piece in pieces or [data]:
        got += unpacker.feed(piece, room - len(got))
    return got, unpacker.is_whole


def test_members_of_gzip_are_all_there():
    data = gzip.compress(b"first ") + gzip.compress(b"") + gzip.compress(b"second")
    assert unpacked(data) == (b"first second", True)
    assert unpacked(None, pieces=[data[at : at + 1] for at in range(len(data))]) == (b"first second", True)
    assert unpacked(data[:-5])[1] is False


@pytest.mark.parametrize("filling", [b"\x00" * 100, b"garbage", b"\x00\x1f\x8b"])
def test_filling_behind_the_end_is_left_out(filling):
    assert unpacked(gzip.compress(b"all") + filling) == (b"all", True)
    assert unpacked(zlib.compress(b"all") + filling, "deflate") == (b"all", True)
    data = gzip.compress(b"all")
    assert unpacked(None, pieces=[data, filling, gzip.compress(b"more")]) == (b"all", True)


def test_a_member_that_is_none_is_refused():
    with pytest.raises(PackedError):
        unpacked(gzip.compress(b"all") + b"\x1f garbage")


def test_members_without_end_are_refused():
    with pytest.raises(PackedError):
        unpacked(gzip.compress(b"") * (MAX_MEMBERS + 1))


def test_a_bomb_of_members_stops_at_the_bound():
    bomb = gzip.compress(b"\x00" * 10_000_000)
    got, _ = unpacked(bomb * 20, room=100_000)
    assert len(got) < 1_000_000


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate"]))
@settings(max_examples=100)
def test_any_bytes_are_unpacked_or_refused(data, coding):
    """Invariant: whatever comes, it is bytes within the bound or a `PackedError`."""
    for given_bytes in (data, b"\x1f\x8b\x08\x00" + data, gzip.compress(b"a") + data):
        try:
            got, _ = unpacked(given_bytes, coding, room=1000)
        except PackedError:
            continue
        assert isinstance(got, bytes)
