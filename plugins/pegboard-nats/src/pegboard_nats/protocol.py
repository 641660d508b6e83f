"""NATS as a client speaks it, without I/O: bytes in, events out; commands in, bytes out. In the manner of h11.

    AWAIT_INFO --INFO--> AWAIT_CONNECT --connect()--> AWAIT_PONG --PONG--> OPEN
                                                                             |
    a fault of the server, or the end of its bytes, in any state --------> CLOSED

Between INFO and CONNECT the shell may put TLS under the link. Whatever came in clear behind INFO would be taken for
what the server says under TLS, so nothing but its reason to close the connection is read there, and `start_tls` refuses
the rest (CVE-2011-0411 is the same mistake in SMTP).

What is given to `receive` may be cut anywhere: the events are the same. Everything that a server or a peer says is
bounded: lines, messages, headers. A message that is too large is skipped, and headers that are not valid are left out,
since whoever may publish must not be able to end the links of all who listen.

Source of the rules: the client protocol of NATS, and ADR-4 for headers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

MAX_LINE = 65_536
"""Of a line of the server, in bytes. INFO is the longest: it lists the servers of the cluster."""
MAX_MESSAGE = 64 * 1024 * 1024
"""Of a message with its headers, in bytes: no server lets more through (`max_payload`)."""
MAX_HEADERS = 100
"""How many headers of one message are read."""
MAX_SUBJECT = 2_048
"""Of a subject, in characters: every name of a tool fits, also of 128 letters that are escaped as twelve each. A server
reads lines of 4,096 bytes (`max_control_line`)."""
MAX_SHORT, MAX_KEPT = 128, 256
"""Blocks of headers that are kept once they were read, since they come again: their bytes, and how many."""
MAX_DIGITS = 10
"""Of a number that the server says."""

NO_RESPONDERS = 503
"""The status by which the server answers a request that nobody listens to."""

HEAD = b"NATS/1.0"
_FIRST_LINE = HEAD + b"\r\n"
UNREADABLE = "the server announced a message in a way that cannot be read"
_SUBJECT = re.compile(r"[^\s.*>\x00-\x20\x7f]+(?:\.[^\s.*>\x00-\x20\x7f]+)*")
_PATTERN = re.compile(r"(?:(?:\*|[^\s.*>\x00-\x20\x7f]+)\.)*(?:>|\*|[^\s.*>\x00-\x20\x7f]+)")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class State(Enum):
    """Where a link is."""

    AWAIT_INFO = "await_info"
    AWAIT_CONNECT = "await_connect"
    AWAIT_PONG = "await_pong"
    OPEN = "open"
    CLOSED = "closed"


_ANY = frozenset({b"INFO", b"PING", b"PONG", b"+OK", b"-ERR"})
SERVER_MAY = MappingProxyType(
    {
        State.AWAIT_INFO: frozenset({b"INFO"}),
        State.AWAIT_CONNECT: frozenset({b"-ERR"}),
        State.AWAIT_PONG: _ANY,
        State.OPEN: _ANY | {b"MSG", b"HMSG"},
        State.CLOSED: frozenset[bytes](),
    }
)
"""What the server may say in each state."""


class LocalProtocolError(Exception):
    """What was asked for is against the protocol, and nothing was sent: our own mistake."""


class TooLargeError(LocalProtocolError):
    """A message with its headers is larger than the server takes; sent all the same, it would end the link."""

    def __init__(self, size: int, max_payload: int) -> None:
        super().__init__(f"the message takes {size:,} bytes with its headers; the server takes {max_payload:,}")
        self.size = size
        self.max_payload = max_payload


class Info(NamedTuple):
    """What a server says of itself, at first and whenever it changes."""

    server_id: str = ""
    server_name: str = ""
    version: str = ""
    max_payload: int = 1024 * 1024
    headers: bool = False
    jetstream: bool = False
    auth_required: bool = False
    tls_required: bool = False
    tls_available: bool = False
    nonce: str = ""
    ldm: bool = False
    connect_urls: tuple[str, ...] = ()


class HeaderBlock(bytes):
    """Headers as they are sent, judged once: for those that go with many messages. Made by `encode_headers`."""


class Head(Mapping[str, str]):
    """Headers as they came, read when somebody looks one up.

    Attributes:
        raw: their bytes, from the first line on.
    """

    __slots__ = ("_found", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._found: dict[str, str] | None = None

    @property
    def _headers(self) -> dict[str, str]:
        if (found := self._found) is None:
            found = self._found = {}
            _, *lines = self.raw.decode("utf-8", "replace").split("\r\n", MAX_HEADERS + 1)
            for line in lines[:MAX_HEADERS]:
                name, colon, value = line.partition(":")
                if colon and name:
                    found.setdefault(name, value.strip())
        return found

    def get(self, name: str, otherwise: Any = None) -> Any:
        """As of a dict."""
        return self._headers.get(name, otherwise)

    def __getitem__(self, name: str) -> str:
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __repr__(self) -> str:
        return repr(self._headers)


class Message(NamedTuple):
    """A message of a subscription. Names of headers are as they were written; of a name that came twice the first
    counts. `status` is the server's own word in place of an answer, as `NO_RESPONDERS`."""

    subject: str
    sid: int
    reply: str | None
    headers: Mapping[str, str]
    payload: bytes
    status: int | None = None


class Ping(NamedTuple):
    """To be answered with `pong`."""


class Pong(NamedTuple):
    """The answer to the oldest `ping` that has none; everything sent before it was read by the server."""


class Skipped(NamedTuple):
    """A message was larger than `MAX_MESSAGE` or what the link takes, and was not read."""

    subject: str
    size: int


class ServerError(NamedTuple):
    """What the server complains of; after most of these it closes the connection."""

    text: str


class Closed(NamedTuple):
    """The last event of a link: why it can go on no longer."""

    why: str


Event = Info | Message | Ping | Pong | Skipped | ServerError | Closed


class _Expected(NamedTuple):
    """The first line of a message, whose rest has yet to come."""

    subject: str
    sid: int
    reply: str | None
    header_size: int
    size: int


class _FaultError(Exception):
    """The server said what it may not."""


class Protocol:
    """One link to one server.

    Args:
        max_message: larger messages are skipped, in bytes.

    Attributes:
        state: where the link is.
        info: the newest that the server said.
    """

    def __init__(self, *, max_message: int = MAX_MESSAGE) -> None:
        self._enter(State.AWAIT_INFO)
        self.info = Info()
        self._max_message = max_message
        self._buffer = bytearray()
        self._searched = 0  # so far there is no end of a line
        self._expected: _Expected | None = None
        self._skip = 0
        self._heads: dict[bytes, dict[str, str]] = {}

    def _enter(self, state: State) -> None:
        self.state = state
        self._may = SERVER_MAY[state]  # looked up once, and not for each line

    # -- what comes in

    def receive(self, data: bytes) -> list[Event]:
        """The events that these bytes complete; no bytes are the end of the link. The last may be `Closed`, after
        which nothing comes."""
        events: list[Event] = []
        if self.state is State.CLOSED:
            return events
        if not data:
            return [self._close("the server closed the connection")]
        if waited := bool(self._buffer):
            self._buffer += data
        try:
            at = self._read(self._buffer if waited else data, events)
        except _FaultError as fault:
            events.append(self._close(str(fault)))
        else:
            if waited:
                del self._buffer[:at]
            elif at < len(data):  # most of what comes is whole, and is not copied
                self._buffer += data[at:]
            self._searched = max(0, self._searched - at)
        return events

    def _close(self, why: str) -> Closed:
        self._enter(State.CLOSED)
        self._buffer.clear()
        return Closed(why)

    def _read(self, buffer: bytes | bytearray, events: list[Event]) -> int:
        """Append what is complete; where the rest begins."""
        at = 0
        while True:
            if self._skip:
                skipped = min(self._skip, len(buffer) - at)
                self._skip -= skipped
                at += skipped
                if self._skip:
                    return at
            if (expected := self._expected) is not None:
                end = at + expected.size
                if len(buffer) < end + 2:
                    return at
                if buffer[end : end + 2] != b"\r\n":
                    raise _FaultError("the server's message does not end where it said")
                events.append(self._message_of(expected, bytes(buffer[at:end])))
                self._expected, at = None, end + 2
                continue
            end = buffer.find(b"\r\n", max(at, self._searched))
            if (len(buffer) if end < 0 else end) - at > MAX_LINE:
                raise _FaultError(f"the server's line is longer than {MAX_LINE:,} bytes")
            if end < 0:
                self._searched = max(at, len(buffer) - 1)  # the last byte may be half of an end
                return at
            if (event := self._line(bytes(buffer[at:end]))) is not None:
                events.append(event)
            at = end + 2

    def _line(self, line: bytes) -> Event | None:
        """The event of one line; None: it has none, or its message has yet to come.

        Raises:
            _FaultError: the server may not say that.
        """
        verb, _, rest = line.partition(b" ")
        verb = verb.upper()
        if verb not in self._may:
            shown = line[:40].decode("ascii", "replace")
            raise _FaultError(f"the server said {shown!r} in the state {self.state.value}: is it a NATS server?")
        if verb == b"MSG" or verb == b"HMSG":
            return self._message_line(rest.split(), has_headers=verb == b"HMSG")
        if verb == b"PING":
            return Ping()
        if verb == b"PONG":
            if self.state is State.AWAIT_PONG:
                self._enter(State.OPEN)
            return Pong()
        if verb == b"INFO":
            self.info = _info_of(rest)
            if self.state is State.AWAIT_INFO:
                self._enter(State.AWAIT_CONNECT)
            return self.info
        if verb == b"-ERR":
            return ServerError(rest.decode("utf-8", "replace").strip().strip("'"))
        return None  # +OK

    def _message_line(self, words: list[bytes], *, has_headers: bool) -> Event | None:
        fewest = 4 if has_headers else 3
        if not fewest <= len(words) <= fewest + 1:
            raise _FaultError(UNREADABLE)
        sid, size = _number_of(words[1]), _number_of(words[-1])
        header_size = _number_of(words[-2]) if has_headers else 0
        if header_size > size:
            raise _FaultError("the server announced headers that are longer than their message")
        subject = words[0].decode("utf-8", "surrogateescape")
        if size > self._max_message:
            self._skip = size + 2
            return Skipped(subject, size)
        reply = words[2].decode("utf-8", "surrogateescape") if len(words) > fewest else None
        self._expected = _Expected(subject, sid, reply, header_size, size)
        return None

    def _message_of(self, expected: _Expected, body: bytes) -> Message:
        subject, sid, reply, header_size, _ = expected
        if not header_size:
            return Message(subject, sid, reply, NO_HEADERS, body)
        raw = body[:header_size]
        head: Mapping[str, str] | None = self._heads.get(raw)
        if head is None:
            head = Head(raw)
            if header_size <= MAX_SHORT:
                if len(self._heads) >= MAX_KEPT:
                    self._heads.clear()
                head = self._heads[raw] = dict(head)
        status = None if raw.startswith(_FIRST_LINE) else _status_of(raw)
        return Message(subject, sid, reply, head, body[header_size:], status)

    # -- what goes out

    def start_tls(self) -> None:
        """TLS begins here: from now on, bytes are those that come out of it.

        Raises:
            LocalProtocolError: it is too late, or something came in clear that would be taken for more than it is.
        """
        if self.state is not State.AWAIT_CONNECT or self._buffer:
            raise LocalProtocolError("something was said in clear behind INFO, where TLS has to begin")

    def connect(self, **options: Any) -> bytes:
        """CONNECT, and the PING whose answer says that the server lets us in."""
        self._require(State.AWAIT_CONNECT)
        self._enter(State.AWAIT_PONG)
        fixed = {"verbose": False, "pedantic": False, "lang": "python", "protocol": 1, "echo": True}
        capabilities = {"headers": self.info.headers, "no_responders": self.info.headers}
        return b"CONNECT %b\r\nPING\r\n" % json.dumps(fixed | capabilities | options).encode()

    def ping(self) -> bytes:
        """PING: the server answers `Pong` once it has read all before it."""
        self._require(State.OPEN)
        return b"PING\r\n"

    def pong(self) -> bytes:
        """The answer to `Ping`."""
        self._require(State.AWAIT_PONG, State.OPEN)
        return b"PONG\r\n"

    def publish(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        reply: str | None = None,
        headers: Mapping[str, str] | HeaderBlock | None = None,
    ) -> bytes:
        """A message.

        Raises:
            TooLargeError: with its headers it is larger than the server takes.
            LocalProtocolError: a subject or a header is not valid, or the link is not open.
        """
        self._require(State.OPEN)
        head = b"" if not headers else headers if isinstance(headers, HeaderBlock) else encode_headers(headers)
        if head and not self.info.headers:
            raise LocalProtocolError("the server takes no headers")
        size = len(head) + len(payload)
        if size > self.info.max_payload:
            raise TooLargeError(size, self.info.max_payload)
        where = _checked(subject, _SUBJECT)
        if reply is not None:
            where += b" " + _checked(reply, _SUBJECT)
        if head:
            return b"HPUB %b %d %d\r\n%b%b\r\n" % (where, len(head), size, head, payload)
        return b"PUB %b %d\r\n%b\r\n" % (where, size, payload)

    def subscribe(self, sid: int, subject: str, queue: str | None = None) -> bytes:
        """Listen to a subject, which may hold `*` and `>`; as one of a queue group each message reaches one of."""
        self._require(State.OPEN)
        where = _checked(subject, _PATTERN)
        if queue is not None:
            where += b" " + _checked(queue, _SUBJECT)
        return b"SUB %b %d\r\n" % (where, sid)

    def unsubscribe(self, sid: int) -> bytes:
        """Listen no longer."""
        self._require(State.OPEN)
        return b"UNSUB %d\r\n" % sid

    def _require(self, *states: State) -> None:
        if self.state not in states:
            raise LocalProtocolError(f"the link is {self.state.value}")


def _checked(subject: str, form: re.Pattern[str]) -> bytes:
    if len(subject) > MAX_SUBJECT or form.fullmatch(subject) is None:
        raise LocalProtocolError(f"{subject[:80]!r} is not a subject")
    return subject.encode("utf-8", "surrogateescape")


def encode_headers(headers: Mapping[str, str]) -> HeaderBlock:
    """Headers as they are sent.

    Raises:
        LocalProtocolError: a name or a value is not valid.
    """
    # Both expressions say what each character may be, so all names are judged at once, and all values.
    if _HEADER_NAME.fullmatch("".join(headers)) is None or "" in headers:
        raise LocalProtocolError(f"{next(filter(_is_no_name, headers))[:40]!r} is not a name of a header")
    if _HEADER_VALUE.fullmatch("".join(headers.values())) is None:
        raise LocalProtocolError("the value of a header takes more than a line")
    text = "".join([f"\r\n{name}: {value}" for name, value in headers.items()])
    return HeaderBlock(b"%b%b\r\n\r\n" % (HEAD, text.encode("utf-8", "surrogateescape")))


def _is_no_name(name: str) -> bool:
    return _HEADER_NAME.fullmatch(name) is None


def _number_of(word: bytes) -> int:
    """A number of the server's; Python reads more as one than the protocol does.

    Raises:
        _FaultError: it is not one.
    """
    if not word.isdigit() or len(word) > MAX_DIGITS:
        raise _FaultError(UNREADABLE)
    return int(word)


def _status_of(raw: bytes) -> int | None:
    """The server's own word, from the first line of a header block; a message of a peer has none."""
    head = raw.partition(b"\r\n")[0].decode("utf-8", "replace")
    status = head[len(HEAD) :].split(maxsplit=1)[:1] if head.startswith(HEAD.decode()) else []
    return int(status[0]) if status and len(status[0]) == 3 and status[0].isascii() and status[0].isdigit() else None


def _info_of(text: bytes) -> Info:
    """Read INFO; what is unknown is left out, what is of another type is a fault.

    Raises:
        _FaultError: it is not an INFO.
    """
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        raw = None
    if not isinstance(raw, dict):
        raise _FaultError("the server's INFO is not a JSON object")
    found: dict[str, Any] = {}
    for name, otherwise in Info()._asdict().items():
        value = raw.get(name, otherwise)
        if name == "connect_urls":
            value = value if isinstance(value, (list, tuple)) else ()
            value = tuple(one for one in value if isinstance(one, str))
        elif type(value) is not type(otherwise):
            raise _FaultError(f"the server's INFO has a {name!r} of another type")
        found[name] = value
    if found["max_payload"] <= 0:
        raise _FaultError("the server's INFO has a 'max_payload' that lets nothing through")
    return Info(**found)
