from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import AbstractContextManager

from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.schema.envelope import EDGE, TooLong
from pegboard_mcp.client.transports._lines import LineSplitter, LogBudget, find_id


@settings(max_examples=150)
@given(
    lines=st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ")), max_size=8),
    cuts=st.lists(st.integers(0, 400), max_size=12),
    limit=st.integers(1, 30),
)
def test_wherever_the_stream_is_cut_its_lines_are_the_same(lines: list[bytes], cuts: list[int], limit: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    splitter = LineSplitter(limit)
    found = [line for start, end in itertools.pairwise(places) for line in splitter.feed(stream[start:end])]
    expected = [line for line in lines if line]
    assert len(found) == len(expected)
    for one, line in zip(found, expected, strict=True):
        if len(line) <= limit:
            assert one == line
        else:
            assert one == TooLong(len(line), line[:EDGE], line[-EDGE:])
    assert splitter.rest() == b""


def test_of_a_line_that_does_not_end_only_its_edges_are_kept() -> None:
    splitter = LineSplitter(10_000)
    for _ in range(500):
        assert splitter.feed(b"x" * 5_000) == []
        assert len(splitter.rest()) <= 10_000
    assert splitter.skipping == 2_500_000
    (line,) = splitter.feed(b"end\nnext")
    assert isinstance(line, TooLong)
    assert (line.size, line.head[:2], line.tail[-4:]) == (2_500_003, b"xx", b"xend")
    assert splitter.rest() == b"next"


def test_a_long_line_in_small_pieces_takes_linear_time(in_time: Callable[[], AbstractContextManager[None]]) -> None:
    splitter = LineSplitter(1 << 30)
    with in_time():  # if each piece were put to all before it, this would copy four terabytes
        for _ in range(300_000):
            splitter.feed(b"x" * 100)
        assert splitter.feed(b"\n") == [b"x" * 30_000_000]


@settings(max_examples=150)
@given(
    number=st.one_of(st.integers(0, 10**12), st.text(max_size=20)),
    text=st.text(max_size=60),
    order=st.permutations(["jsonrpc", "id", "result"]),
    compact=st.booleans(),
)
def test_an_id_that_is_found_is_the_answers_own(number: int | str, text: str, order: list[str], compact: bool) -> None:
    # The text holds what looks like an id: it must never be taken for one.
    members = {"jsonrpc": "2.0", "id": number, "result": {"text": text + '"id":77}', "id": 78, "z": {"id": 79}}}
    separators = (",", ":") if compact else (", ", ": ")
    line = json.dumps({name: members[name] for name in order}, separators=separators).encode()
    found = find_id(TooLong(len(line), line[:EDGE], line[-EDGE:]))
    assert found is None or found == number
    if order.index("id") == 0 or order[-1] != "result" or order[0] == "jsonrpc":
        assert found is not None


def test_a_request_of_the_server_that_is_too_long_is_not_an_answer() -> None:
    line = b'{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"x":"' + b"x" * 2_000 + b'"}}'
    assert find_id(TooLong(len(line), line[:EDGE], line[-EDGE:])) is None


# -- what is logged of a flood

moments = st.lists(st.tuples(st.floats(0, 2), st.integers(0, 500)), max_size=200)


@given(moments, st.integers(1, 20), st.integers(1, 2_000))
def test_a_budget_is_kept_in_every_second_and_every_line_is_logged_or_counted(
    lines: list[tuple[float, int]], most: int, size: int
) -> None:
    budget, now, logged, counted = LogBudget(most, size), 0.0, [], 0
    for pause, length in lines:
        now += pause
        if budget.takes(length, now):
            logged.append((now, length))
            counted += budget.count()
    assert len(logged) + counted + budget.left_out == len(lines)
    for begin, _ in logged:
        within = [length for at, length in logged if begin <= at < begin + 1]
        assert len(within) <= 2 * most  # a second of ours may meet two of the budget's
        assert sum(within) <= 2 * size
