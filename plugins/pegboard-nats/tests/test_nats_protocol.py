"""The protocol without I/O: what a server says in any pieces, and what it may say in which state."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.tools import MAX_NAME
from pegboard_nats import wire
from pegboard_nats.protocol import (
    HEAD,
    MAX_HEADERS,
    MAX_KEPT,
    MAX_LINE,
    MAX_SHORT,
    SERVER_MAY,
    Closed,
    Event,
    Info,
    LocalProtocolError,
    Message,
    Ping,
    Pong,
    Protocol,
    ServerError,
    Skipped,
    State,
    TooLargeError,
    encode_headers,
)
from pegboard_nats.settings import MAX_WORD

if TYPE_CHECKING:
    from collections.abc import Iterable

INFO = {"server_id": "S", "version": "2.12.0", "max_payload": 1000, "headers": True}


def info_line(**more: Any) -> bytes:
    return b"INFO " + json.dumps(INFO | more).encode() + b"\r\n"


def opened(**options: Any) -> Protocol:
    one = Protocol(**options)
    one.receive(info_line())
    one.connect()
    assert one.receive(b"PONG\r\n") == [Pong()]
    assert one.state is State.OPEN
    return one


def in_state(state: State) -> Protocol:
    one = Protocol()
    if state is State.AWAIT_INFO:
        return one
    one.receive(info_line())
    if state is State.AWAIT_CONNECT:
        return one
    one.connect()
    if state is State.AWAIT_PONG:
        return one
    one.receive(b"PONG\r\n" if state is State.OPEN else b"")
    assert one.state is state
    return one


words = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters=".*>\x7f"), min_size=1)
words = words.filter(lambda text: not any(sign.isspace() for sign in text))
subjects = st.lists(words, min_size=1, max_size=3).map(".".join).filter(lambda text: len(text) < 500)
names = st.text("abcXYZ019-_", min_size=1, max_size=8)
values = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f")).map(str.strip)
headers = st.dictionaries(names, values, max_size=4)
messages = st.builds(
    Message, subjects, st.integers(1, 10**9), st.none() | subjects, headers, st.binary(max_size=40), st.none()
)
others = st.sampled_from([Ping(), Pong(), ServerError("Slow Consumer")])


def encoded(event: Event) -> bytes:
    """What a server says for an event."""
    if isinstance(event, Message):
        reply = b" " + event.reply.encode() if event.reply else b""
        head = b""
        if event.headers:
            lines = [HEAD, *(f"{name}: {value}".encode() for name, value in event.headers.items())]
            head = b"\r\n".join(lines) + b"\r\n\r\n"
        sizes = b"%d %d" % (len(head), len(head) + len(event.payload)) if head else b"%d" % len(event.payload)
        verb = b"HMSG" if head else b"MSG"
        first = b"%b %b %d%b %b" % (verb, event.subject.encode(), event.sid, reply, sizes)
        return first + b"\r\n" + head + event.payload + b"\r\n"
    if isinstance(event, ServerError):
        return f"-ERR '{event.text}'\r\n".encode()
    return b"PING\r\n" if isinstance(event, Ping) else b"PONG\r\n"


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    at = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [piece for begin, end in itertools.pairwise(at) if (piece := data[begin:end])]


@settings(max_examples=200)
@given(st.lists(messages | others, max_size=6), st.lists(st.integers(0, 10**6), max_size=8))
def test_events_are_the_same_wherever_the_bytes_are_cut(events: list[Event], cuts: list[int]) -> None:
    data = b"".join(map(encoded, events))
    one = opened()
    assert [event for piece in pieces(data, cuts) for event in one.receive(piece)] == events


@settings(max_examples=60)
@given(st.lists(messages | others, min_size=1, max_size=3))
def test_events_are_the_same_byte_by_byte(events: list[Event]) -> None:
    one = opened()
    data = b"".join(map(encoded, events))
    assert [event for at in range(len(data)) for event in one.receive(data[at : at + 1])] == events


_garbage = st.binary(max_size=60) | st.sampled_from(
    [
        b"MSG a 1 5\r\nhello\r\n",
        b"HMSG a 1 90 12\r\n",
        b"MSG a 1 -1\r\n",
        b"MSG a 1 1_0\r\n",
        b"PING\r\n",
        b"+OK\r\n",
        info_line(),
        b"INFO [[[[\r\n",
        b"MSG a 99999999999 1\r\n",
        b"HMSG a 1 0 0\r\n\r\n",
        b"\r\n",
        b"MSG\r\n",
    ]
)


@settings(max_examples=200)
@given(st.sampled_from(State), st.lists(_garbage, max_size=5), st.lists(st.integers(0, 10**6), max_size=5))
def test_any_bytes_give_events_and_nothing_comes_after_the_end(
    state: State, said: list[bytes], cuts: list[int]
) -> None:
    one, whole = in_state(state), in_state(state)
    data = b"".join(said)
    events = [event for piece in pieces(data, cuts) for event in one.receive(piece)]
    assert events == (whole.receive(data) if data else [])
    ends = [index for index, event in enumerate(events) if isinstance(event, Closed)]
    assert ends in ([], [len(events) - 1])
    assert (one.state is State.CLOSED) is bool(ends or state is State.CLOSED)


SAYS = {
    b"INFO": info_line(),
    b"PING": b"PING\r\n",
    b"PONG": b"PONG\r\n",
    b"+OK": b"+OK\r\n",
    b"-ERR": b"-ERR 'why'\r\n",
    b"MSG": b"MSG a 1 0\r\n\r\n",
    b"HMSG": b"HMSG a 1 12 12\r\nNATS/1.0\r\n\r\n\r\n",
    b"HTTP/1.1": b"HTTP/1.1 400 Bad Request\r\n",
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("verb", SAYS)
def test_a_server_says_in_each_state_what_the_table_lets_it(state: State, verb: bytes) -> None:
    one = in_state(state)
    events = one.receive(SAYS[verb])
    refused = any(isinstance(event, Closed) for event in events)
    assert refused is (verb not in SERVER_MAY[state] and state is not State.CLOSED)
    assert one.receive(b"PING\r\n") == [] or not refused


def test_what_is_sent_is_what_the_protocol_says() -> None:
    one = opened()
    assert one.publish("a.b", b"hi") == b"PUB a.b 2\r\nhi\r\n"
    assert one.publish("a", b"", reply="r") == b"PUB a r 0\r\n\r\n"
    assert one.publish("a", b"x", headers={"K": "v"}) == b"HPUB a 18 19\r\nNATS/1.0\r\nK: v\r\n\r\nx\r\n"
    assert one.subscribe(7, "a.*.>", "workers") == b"SUB a.*.> workers 7\r\n"
    assert one.unsubscribe(7) == b"UNSUB 7\r\n"
    assert (one.ping(), one.pong()) == (b"PING\r\n", b"PONG\r\n")


@settings(max_examples=60)
@given(subjects, headers, st.binary(max_size=300), st.none() | subjects)
def test_what_is_published_can_be_read(subject: str, heads: dict[str, str], payload: bytes, reply: str | None) -> None:
    """The server says nearly what it was told: `HPUB a 18 19` comes as `HMSG a SID 18 19`."""
    one = opened()
    one.info = one.info._replace(max_payload=10**6)
    data = one.publish(subject, payload, reply=reply, headers=heads)
    line, _, rest = data.partition(b"\r\n")
    verb, to, *more = line.split(b" ")
    sizes = more[-2:] if verb == b"HPUB" else more[-1:]
    replies = more[: -len(sizes)]
    said = b" ".join([verb.replace(b"PUB", b"MSG"), to, b"3", *replies, *sizes]) + b"\r\n" + rest
    assert opened().receive(said) == [Message(subject, 3, reply, heads, payload)]


@pytest.mark.parametrize("subject", ["", ".", "a.", ".a", "a b", "a\r\nPUB b 0", "a.*", ">", "a\x00", "a" * 2049])
def test_what_is_no_subject_is_not_published_to(subject: str) -> None:
    with pytest.raises(LocalProtocolError):
        opened().publish(subject)


@pytest.mark.parametrize(("name", "value"), [("a b", "x"), ("", "x"), ("a:", "x"), ("a", "x\r\ny"), ("a", "\n")])
def test_what_is_no_header_is_not_sent(name: str, value: str) -> None:
    with pytest.raises(LocalProtocolError):
        opened().publish("a", headers={name: value})


def test_headers_count_to_the_size_of_a_message() -> None:
    """A server closes the connection at what is too large, and all calls of the link end with it."""
    one = opened()
    one.publish("a", b"x" * 1000)
    with pytest.raises(TooLargeError) as caught:
        one.publish("a", b"x" * 1000, headers={"k": "v"})
    assert caught.value.size == 1018


def test_a_message_that_is_too_large_is_skipped_and_the_next_is_read() -> None:
    said = b"MSG a 1 11\r\n" + b"x" * 11 + b"\r\nMSG a 1 1\r\ny\r\n"
    for cut in range(len(said)):
        one = opened(max_message=10)
        assert [event for piece in pieces(said, [cut]) for event in one.receive(piece)] == [
            Skipped("a", 11),
            Message("a", 1, None, {}, b"y"),
        ]


def test_a_line_without_end_ends_the_link() -> None:
    one = opened()
    assert one.receive(b"MSG " + b"a" * MAX_LINE)[-1] == Closed(f"the server's line is longer than {MAX_LINE:,} bytes")


@pytest.mark.parametrize(
    "line",
    [
        *(b"MSG a 1 " + size for size in (b"-1", b"+1", b"1.0", b"0x1", b"1_0", b"1" * 11, b"\xd9\xa1", b"")),
        *(b"MSG " + rest for rest in (b"", b"a", b"a 1", b"a x 1", b"a -1 1", b"a 1 2 3 4", b"a 1 r 1 1")),
        *(b"HMSG a 1 " + rest for rest in (b"", b"1", b"5 3", b"-1 3", b"r 1", b"r r 1 1")),
        *(b"NOTHING", b"", b" MSG a 1 0", b"msgs a 1 0", b"\x00", b"PUB a 0"),
    ],
)
def test_an_announcement_that_cannot_be_read_ends_the_link(line: bytes) -> None:
    events = opened().receive(line + b"\r\n\r\n\r\n")
    assert [type(event) for event in events] == [Closed]


@pytest.mark.parametrize("body", [b"", b"a", b"abc", b"abcd\r\n"])
def test_a_size_that_lies_ends_the_link_and_gives_no_message(body: bytes) -> None:
    one = opened()
    events = [*one.receive(b"MSG a 1 2\r\n" + body + b"\r\nPING\r\n"), *one.receive(b"")]
    assert [type(event) for event in events] == [Closed]


def test_a_line_end_that_is_none_begins_no_header() -> None:
    """Who calls is in a header: a peer that writes half an end of a line must not write another one's."""
    head = HEAD + b"\r\nPb-User: ada\nPb-Claim: 1\rPb-Depth: 2\r\n\r\n"
    (event,) = opened().receive(b"HMSG a 1 %d %d\r\n%b\r\n" % (len(head), len(head), head))
    assert isinstance(event, Message)
    assert list(event.headers) == ["Pb-User"]


def test_odd_headers_of_a_peer_are_left_out_and_the_first_of_a_name_counts() -> None:
    lines = [b"K: 1", b"no colon", b": no name", b"K: 2", b"\xff: \xff", *[b"H%d: x" % n for n in range(200)]]
    head = b"\r\n".join([HEAD, *lines, b"", b""])
    (event,) = opened().receive(b"HMSG a 1 %d %d\r\n%b\r\n" % (len(head), len(head), head))
    assert isinstance(event, Message)
    assert event.headers["K"] == "1"
    assert len(event.headers) < MAX_HEADERS


def test_no_responders_is_a_status() -> None:
    said = b"HMSG i.1 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
    assert opened().receive(said) == [Message("i.1", 1, None, {}, b"", 503)]


@pytest.mark.parametrize(
    "text",
    [b"{", b"[]", b'{"max_payload": "1"}', b'{"max_payload": 0}', b'{"headers": 1}', b'{"nonce": null}', b"[" * 50_000],
)
def test_an_info_that_cannot_be_read_ends_the_link(text: bytes) -> None:
    one = Protocol()
    (event,) = one.receive(b"INFO " + text + b"\r\n")
    assert isinstance(event, Closed)


def test_an_info_keeps_what_is_known_and_leaves_out_the_rest() -> None:
    (event,) = Protocol().receive(info_line(connect_urls=["a:1", 7], go="go1.26", ldm=True))
    assert event == Info("S", "", "2.12.0", 1000, True, ldm=True, connect_urls=("a:1",))


def test_what_stands_in_clear_behind_info_keeps_tls_from_beginning() -> None:
    """Else it would be read as what the server says under TLS."""
    one = Protocol()
    one.receive(info_line() + b"MSG")
    with pytest.raises(LocalProtocolError, match="in clear"):
        one.start_tls()
    clear = Protocol()
    clear.receive(info_line())
    clear.start_tls()


def test_nothing_is_sent_before_the_server_let_us_in() -> None:
    one = Protocol()
    one.receive(info_line())
    one.connect()
    for attempt in (lambda: one.publish("a"), lambda: one.subscribe(1, "a"), one.ping, one.connect):
        with pytest.raises(LocalProtocolError, match="the link is await_pong"):
            attempt()


@pytest.mark.parametrize("letter", ["a", ".", "\u00e9", "\U0001f600", "%"])
def test_every_name_that_a_tool_may_have_is_a_subject(letter: str) -> None:
    """A worker ended over a name of 128 letters that are escaped as twelve each."""
    name = letter * MAX_NAME
    where = wire.Subjects("p" * MAX_WORD, "g" * MAX_WORD).call(name)
    proto = opened()
    for line in (proto.subscribe(1, where, wire.QUEUE), proto.publish(where, reply="_INBOX.host." + "f" * 40)):
        assert len(line) < 4096  # `max_control_line` of a server
    assert wire.unescape(where.rpartition(".")[2]) == name


@given(subjects, headers.filter(bool), st.binary(max_size=300))
def test_headers_that_were_judged_before_are_sent_as_any_other(
    subject: str, heads: dict[str, str], payload: bytes
) -> None:
    one = opened()
    assert one.publish(subject, payload, headers=encode_headers(heads)) == one.publish(subject, payload, headers=heads)


def test_headers_that_come_again_are_read_once_and_those_that_are_kept_are_bounded() -> None:
    one = opened()

    def heard(value: str) -> Message:
        head = encode_headers({"K": value})
        (event,) = one.receive(b"HMSG a 1 %d %d\r\n%b\r\n" % (len(head), len(head), head))
        assert isinstance(event, Message)
        assert event.headers == {"K": value}
        return event

    assert heard("x").headers is heard("x").headers
    assert heard("x" * MAX_SHORT).headers is not heard("x" * MAX_SHORT).headers
    for number in range(3 * MAX_KEPT):
        heard(str(number))
        assert len(one._heads) <= MAX_KEPT
