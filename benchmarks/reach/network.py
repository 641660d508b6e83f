"""A network and a NATS server in virtual time: sockets that trio hands out in place of the system's.

Everything above the socket is the real thing: `Client`, its protocol module, workers, sources, calls. trio has the two
doors for it: `trio.testing.MockClock` for the time, and `set_custom_socket_factory` for the sockets.

A machine spends time on what comes in, one piece after the other (`Cost`), so a storm of questions shows as delay. A
line has a latency and a width, and can be cut: what is sent then waits, as TCP does, and nobody is told.
"""

from __future__ import annotations

import heapq
import json
import random
import socket
from collections import Counter, defaultdict, deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_S = 0.05
"""How far ahead of its line a sender may be before it waits."""
MAX_PAYLOAD = 1024 * 1024

here: ContextVar[Machine] = ContextVar("machine")
"""The machine whose task this is: what it opens begins there."""


class Cost(NamedTuple):
    """CPU time of what comes in, in seconds.

    A page of definitions is what messages above 4 KiB are; of those each byte counts, since a tool is made of it.
    """

    message: float
    byte: float = 0.0

    def of(self, messages: int, size: int) -> float:
        """Of so many messages with so many bytes together."""
        return messages * self.message + max(0, size - 4096 * messages) * self.byte


@attrs.define(eq=False)
class Machine:
    """One process, its line to the server, and what went over it."""

    name: str
    cost: Cost
    latency_s: float = 0.000_25
    bytes_s: float = 125e6
    is_cut: bool = False
    busy_until: float = 0.0
    busy_s: float = 0.0
    sent: Counter[str] = attrs.field(factory=Counter)
    came: Counter[str] = attrs.field(factory=Counter)
    _held: list[Callable[[], None]] = attrs.field(factory=list)

    def cut(self) -> None:
        """From now on nothing passes, and nobody is told."""
        self.is_cut = True

    def heal(self) -> None:
        """What waited passes, in its order."""
        self.is_cut = False
        held, self._held = self._held, []
        for one in held:
            one()

    def pass_or_hold(self, arrive: Callable[[], None]) -> None:
        """Let something pass, now or once the line is whole again."""
        if self.is_cut:
            self._held.append(arrive)
        else:
            arrive()

    def work(self, now: float, seconds: float) -> float:
        """When work that comes now is done."""
        self.busy_until = max(now, self.busy_until) + seconds
        self.busy_s += seconds
        return self.busy_until


class Network(trio.abc.SocketFactory):
    """What happens, in the order of virtual time; a factory of sockets whose other end is the server."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.server = Server(self)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._earlier = trio.Event()

    def socket(self, *kind: int) -> Socket:
        """A socket of the machine whose task asks."""
        return Socket(self, here.get())

    def at(self, when: float, happen: Callable[[], None]) -> None:
        """Have something happen."""
        self._count += 1
        heapq.heappush(self._events, (when, self._count, happen))
        if self._events[0][1] == self._count:
            self._earlier.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._earlier = trio.Event()
            now = trio.current_time()
            while self._events and self._events[0][0] <= now:
                heapq.heappop(self._events)[2]()
            with trio.move_on_at(self._events[0][0] if self._events else float("inf")):
                await self._earlier.wait()


class Pipe:
    """One direction of a line: bytes leave one after the other, and arrive in order."""

    def __init__(self, network: Network, line: Machine, arrived: Callable[[bytes, int], None]) -> None:
        self._network = network
        self._line = line
        self._arrived = arrived
        self.free_at = 0.0

    def send(self, data: bytes, messages: int, *, not_before: float = 0.0) -> None:
        """Put bytes on the line; none are its end."""
        self.free_at = max(trio.current_time(), self.free_at, not_before) + len(data) / self._line.bytes_s
        arrive = lambda: self._line.pass_or_hold(lambda: self._arrived(data, messages))  # noqa: E731
        self._network.at(self.free_at + self._line.latency_s, arrive)


class Socket(trio.socket.SocketType):
    """A machine's end of one connection."""

    family, type, proto = socket.AF_INET, socket.SOCK_STREAM, 0
    did_shutdown_SHUT_WR = False  # noqa: N815 - trio's name

    def __init__(self, network: Network, machine: Machine) -> None:
        self._network = network
        self.machine = machine
        self._in: deque[bytes] = deque()
        self._filled = trio.Event()
        self._is_closed = False
        self._connection: Connection | None = None

    def setsockopt(self, *options: object) -> None:
        """Nothing to set."""

    def fileno(self) -> int:
        """As of a socket that is open, or not."""
        return -1 if self._is_closed else 3

    async def connect(self, address: object) -> None:
        """One round trip; a line that is cut leaves whoever asks waiting."""
        answered = trio.Event()
        back = lambda: self._network.at(trio.current_time() + self.machine.latency_s, answered.set)  # noqa: E731
        self._network.at(trio.current_time() + self.machine.latency_s, lambda: self.machine.pass_or_hold(back))
        await answered.wait()
        if not self._network.server.is_up:
            raise ConnectionRefusedError(111, "Connection refused")
        self._connection = Connection(self._network, self)

    async def send(self, data: bytes, flags: int = 0) -> int:
        """All of it, once the line has room."""
        await trio.lowlevel.checkpoint()
        if self._is_closed or self._connection is None:
            raise BrokenPipeError(32, "Broken pipe")
        up = self._connection.up
        await trio.sleep_until(up.free_at - WINDOW_S)
        chunk = bytes(data)
        self.machine.sent["bytes"] += len(chunk)
        up.send(chunk, 0)
        return len(chunk)

    async def recv(self, size: int, flags: int = 0) -> bytes:
        """What has come; nothing is the end."""
        await trio.lowlevel.checkpoint()
        while not self._in:
            if self._is_closed:
                raise OSError(9, "Bad file descriptor")
            await self._filled.wait()
        if not self._in[0]:
            return b""
        data = b"".join(self._in) if self._in[-1] else self._in.popleft()
        if self._in and self._in[-1]:
            self._in.clear()
        if len(data) > size:
            self._in.appendleft(data[size:])
        return data[:size]

    def arrived(self, data: bytes, messages: int) -> None:
        """Bytes are there; they are read once the machine comes to it."""
        self.machine.came["bytes"] += len(data)
        self.machine.came["messages"] += messages
        done = self.machine.work(trio.current_time(), self.machine.cost.of(messages, len(data)))
        self._network.at(done, lambda: self._read(data))

    def _read(self, data: bytes) -> None:
        self._in.append(data)
        self._filled.set()
        self._filled = trio.Event()

    def close(self) -> None:
        """The end of it, which the server is told."""
        if not self._is_closed:
            self._is_closed = True
            self._filled.set()
            if self._connection is not None:
                self._connection.up.send(b"", 0)


class Connection:
    """The server's end of one connection."""

    def __init__(self, network: Network, peer: Socket) -> None:
        self.server = network.server
        self.peer = peer
        self.up = Pipe(network, peer.machine, lambda data, messages: self.server.read(self, data))
        self.down = Pipe(network, peer.machine, peer.arrived)
        self.buffer = b""
        self.subscriptions: dict[bytes, tuple[bytes, bytes]] = {}
        self.out: list[bytes] = []
        self.pings = 0
        self.server.enter(self)


class Server:
    """What of a NATS server workers and hosts can see: subjects, queue groups, no-responders, pings.

    Attributes:
        ping_s: how often it asks a client that is silent; after two questions without an answer it is closed.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self.is_up = True
        self.ping_s = 10.0  # as `pegboard nats init` writes it
        self.machine = Machine("server", Cost(0.000_001, 0.0))
        self.connections: set[Connection] = set()
        self._plain: defaultdict[bytes, dict[tuple[Connection, bytes], None]] = defaultdict(dict)
        self._queues: defaultdict[bytes, dict[bytes, list[tuple[Connection, bytes]]]] = defaultdict(dict)
        self._written: list[Connection] = []
        self._delivered = 0

    def enter(self, connection: Connection) -> None:
        """Someone has connected."""
        self.connections.add(connection)
        info = {"server_id": "sim", "version": "2.12.0", "max_payload": MAX_PAYLOAD, "headers": True}
        connection.down.send(b"INFO " + json.dumps(info).encode() + b"\r\n", 1)
        self._network.at(trio.current_time() + self.ping_s, lambda: self._ping(connection))

    def _ping(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        connection.pings += 1
        if connection.pings > 2:
            self.close(connection)
            return
        connection.down.send(b"PING\r\n", 0)
        self._network.at(trio.current_time() + self.ping_s, lambda: self._ping(connection))

    def close(self, connection: Connection) -> None:
        """Forget a client, and tell it, where it can be told."""
        if connection in self.connections:
            self.connections.discard(connection)
            for sid in list(connection.subscriptions):
                self._unsubscribe(connection, sid)
            connection.down.send(b"", 0)

    def stop(self) -> None:
        """End as by kill -9; the machine is there, so clients are told."""
        self.is_up = False
        for connection in list(self.connections):
            self.close(connection)

    def start(self) -> None:
        """Come back, knowing nobody."""
        self.is_up = True

    def read(self, connection: Connection, data: bytes) -> None:
        """What a client sent."""
        if not data or connection not in self.connections:
            self.close(connection)
            return
        connection.pings = 0
        data, at = connection.buffer + data, 0
        while (end := data.find(b"\r\n", at)) >= 0:
            words = data[at:end].split(b" ")
            body_end = end + 2
            if words[0] in (b"PUB", b"HPUB"):
                body_end += int(words[-1]) + 2
                if body_end > len(data):
                    break
                self._publish(words, data[end + 2 : body_end - 2])
            else:
                self._command(connection, words)
            at = body_end
        connection.buffer = data[at:]
        self._flush()

    def _command(self, connection: Connection, words: list[bytes]) -> None:
        if words[0] == b"PING":
            self._write(connection, b"PONG\r\n")
        elif words[0] == b"SUB":
            subject, queue, sid = words[1], words[2] if len(words) == 4 else b"", words[-1]
            connection.subscriptions[sid] = (subject, queue)
            if queue:
                self._queues[subject].setdefault(queue, []).append((connection, sid))
            else:
                self._plain[subject][connection, sid] = None
        elif words[0] == b"UNSUB":
            self._unsubscribe(connection, words[1])

    def _unsubscribe(self, connection: Connection, sid: bytes) -> None:
        subject, queue = connection.subscriptions.pop(sid, (b"", b""))
        if queue:
            self._queues[subject][queue].remove((connection, sid))
        elif subject:
            self._plain[subject].pop((connection, sid), None)

    def _publish(self, words: list[bytes], body: bytes) -> None:
        has_headers = words[0] == b"HPUB"
        sizes = words[-2:] if has_headers else words[-1:]
        subject, reply = words[1], words[2] if len(words) == len(sizes) + 3 else b""
        if not self._route(subject, reply, sizes, body) and reply:
            self._route(reply, b"", [b"16", b"16"], b"NATS/1.0 503\r\n\r\n")

    def _route(self, subject: bytes, reply: bytes, sizes: list[bytes], body: bytes) -> bool:
        """Whether anybody was there."""
        found = []
        for pattern in (subject, subject.rpartition(b".")[0] + b".*"):
            found += self._plain.get(pattern, ())
            for members in self._queues.get(pattern, {}).values():
                if members:
                    found.append(self._network.random.choice(members))
        rest = b" ".join([reply, *sizes] if reply else sizes) + b"\r\n" + body + b"\r\n"
        verb = b"HMSG " if len(sizes) == 2 else b"MSG "
        for connection, sid in found:
            self._write(connection, verb + subject + b" " + sid + b" " + rest)
        self._delivered += len(found)
        return bool(found)

    def _write(self, connection: Connection, data: bytes) -> None:
        if not connection.out:
            self._written.append(connection)
        connection.out.append(data)

    def _flush(self) -> None:
        """What one read made the server say, in one piece for each client."""
        self.machine.came["messages"] += self._delivered
        done = self.machine.work(trio.current_time(), self.machine.cost.of(self._delivered, 0))
        written, self._written, self._delivered = self._written, [], 0
        for connection in written:
            data, count = b"".join(connection.out), len(connection.out)
            connection.out.clear()
            connection.down.send(data, count, not_before=done)
