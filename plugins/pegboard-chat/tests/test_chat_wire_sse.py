"""Server-sent events: the standard's own examples, any cut of the bytes, and bounds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_chat import ModelError
from pegboard_chat.wire.sse import ServerEvent, SseReader


def read(*pieces: bytes, max_bytes: int = 10_000) -> list[ServerEvent]:
    reader = SseReader(max_bytes=max_bytes)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.close()


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("", "YHOO\n+2\n10")]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third\n\n",
         [("", "first event"), ("", "second event"), ("", " third")]),
        (b"data\n\ndata\ndata\n\ndata:", [("", ""), ("", "\n")]),
        (b"data:test\n\ndata: test\n\n", [("", "test"), ("", "test")]),
        (b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n", [("add", "73857293"), ("remove", "2153")]),
        (b"event: lonely\n\ndata: x\n\n", [("", "x")]),
        (b"retry: 10\nunknown: y\ndata: x\n\n", [("", "x")]),
        (b"\xef\xbb\xbfdata: after the mark\n\n", [("", "after the mark")]),
        (b"data: \xef\xbb\xbf\n\n", [("", "\ufeff")]),
        (b"data: broken \xff utf\n\n", [("", "broken \ufffd utf")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("", "a"), ("", "b"), ("", "c")]),
        (b"data: \xe2\x80\xa8 and \x0b are not ends of lines\n\n", [("", "\u2028 and \x0b are not ends of lines")]),
        (b"", []),
        (b"\xef\xbb", []),
    ],
)  # fmt: skip
def test_the_standard_says_which_events_these_bytes_are(text: bytes, events: list[tuple[str, str]]) -> None:
    assert read(text) == events


def test_an_event_comes_out_with_the_byte_that_ends_it() -> None:
    reader = SseReader()
    assert reader.feed(b"data: x\r\n") == []
    assert reader.feed(b"\r") == [("", "x")]
    assert reader.feed(b"\n") == []
    assert reader.feed(b"data: y\n\n") == [("", "y")]


def test_whole_lines_at_the_end_are_an_event_and_half_a_line_is_none() -> None:
    assert read(b"data: x\n") == [("", "x")]
    assert read(b"data: x\n\ndata: half") == [("", "x")]


LINES = st.one_of(
    st.sampled_from([b"", b":", b": ping", b"data", b"data:", b"event: e", b"event:", b"id: 1", b"retry: 5", b"x: y"]),
    st.binary(max_size=12).map(lambda some: b"data: " + some.translate(None, b"\r\n")),
    st.binary(max_size=12).map(lambda some: some.translate(None, b"\r\n")),
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


def outcome(pieces: list[bytes], max_bytes: int) -> tuple[list[ServerEvent], bool]:
    reader, events = SseReader(max_bytes=max_bytes), []
    try:
        for piece in pieces:
            events += reader.feed(piece)
        events += reader.close()
    except ModelError:
        return events, True
    return events, False


@given(
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    stream=STREAMS,
    rest=st.binary(max_size=10),
    cuts=st.lists(st.integers(0, 300), max_size=12),
    max_bytes=st.sampled_from([20, 60, 10_000]),
)
def test_however_the_bytes_are_cut_the_same_events_come_out(
    mark: bytes, stream: bytes, rest: bytes, cuts: list[int], max_bytes: int
) -> None:
    """Any split of any bytes gives the same events, and the same refusal where one is too long."""
    whole = mark + stream + rest
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(edges)]
    assert outcome(pieces, max_bytes) == outcome([whole], max_bytes)
    assert outcome([bytes([one]) for one in whole], max_bytes) == outcome([whole], max_bytes)


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=20)), max_size=8))
def test_what_was_written_as_events_is_read_back(events: list[tuple[str, str]]) -> None:
    """Any name of one line and any data, written as the standard says, come back (its ends of lines as line feeds)."""
    written, meant = b"", []
    for name, data in events:
        name = name.replace("\r", "").replace("\n", "")
        lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        text = f"event: {name}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
        written += text.encode("utf-8", "replace")
        meant.append((name.encode("utf-8", "replace").decode(), "\n".join(lines).encode("utf-8", "replace").decode()))
    assert read(written) == meant


@pytest.mark.parametrize(
    "endless", [b"data: xxxxxxxxxx", b"x" * 16, b": comments " * 2, b"data: x\n", b"data:\n", b"id: 1\n"]
)
def test_an_event_that_does_not_end_is_refused_at_its_bound(endless: bytes) -> None:
    reader = SseReader("llama", max_bytes=1_000)
    with pytest.raises(ModelError, match=r"llama sent an event of more than 1,000 bytes") as caught:
        [reader.feed(endless) for _ in range(1_000)]
    assert caught.value.details["reason"] == "refused"
    with pytest.raises(ModelError):
        reader.feed(b"\n\ndata: x\n\n")
    with pytest.raises(ModelError):
        reader.close()


def test_comments_between_events_never_add_up_to_the_bound() -> None:
    reader = SseReader(max_bytes=100)
    for _ in range(100):
        assert reader.feed(b": still here\n\n") == []
    assert reader.feed(b"data: x\n\n") == [("", "x")]


def test_events_before_one_that_is_too_long_are_given_first() -> None:
    reader = SseReader(max_bytes=20)
    assert reader.feed(b"data: x\n\ndata: " + b"y" * 100) == [("", "x")]
    with pytest.raises(ModelError):
        reader.feed(b"z")


def test_a_long_event_in_small_pieces_costs_linear_time(in_time: Callable[[], AbstractContextManager[None]]) -> None:
    reader = SseReader(max_bytes=1 << 30)
    with in_time():  # if each piece were put to all before it, this would copy four terabytes
        reader.feed(b"data: ")
        for _ in range(300_000):
            reader.feed(b"x" * 100)
        (event,) = reader.feed(b"\n\n")
    assert len(event.data) == 30_000_000
