"""The network of one confined program: who is answered, who is connected, and who was refused.

The sockets lie in the program's own network namespace and belong to the host: a program looks a name up and connects as
it always does, and needs no proxy. Names are resolved here, for each connection, and the addresses that were looked at
are the very ones that are connected to. TLS passes as it is: nobody between reads it.

.. versionadded:: 0.1
"""

from __future__ import annotations

import socket
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import trio

from pegboard_confine.network import Names, Rules, entry_of, is_private

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Refused", "Relay"]

MAX_CONNECTIONS = 64
"""Open at once; one more is closed."""
MAX_LOOKUPS = 8
"""Names that are looked up at once. Each takes a thread for as long as whoever owns the name does not answer, and those
of the host's own are for others."""
CONNECT_S = 10.0
IDLE_S = 900.0
"""A connection that nothing passes through for so long is closed."""
CHUNK = 65_536
PAUSE_S = 0.002
"""Between two answers about names, and before the next look where there is no room: who asks without an end keeps the
host from nothing else."""
MAX_REFUSED = 100
"""So many public hosts that were refused are remembered, and so many that are not: neither hides the other."""


@attrs.frozen
class Refused:
    """A connection that was not made.

    Args:
        host: a name, or an address.
        port: None where a name was looked up and nothing more.
        why: beside that nobody allowed it; empty: that is all.

    .. versionadded:: 0.1
    """

    host: str
    port: int | None = None
    why: str = ""

    def told(self, name: str, rules: Rules) -> str:
        """It in words, with the line to add."""
        wanted = f"{name} wanted to connect to {self.host}" + (f":{self.port}" if self.port is not None else "")
        if self.why:
            return f"{wanted}: {self.why}"
        return f"{wanted}: add {rules.line(entry_of(self.host, self.port or 443))}"


class Relay:
    """The network of one program.

    Args:
        rules: what it may reach.
        on_refused: hears of each host that is refused, once.

    Attributes:
        refused: what was refused, and how often.
        reached: the hosts and ports that were connected to.
        missed: those that were allowed, and that nobody could be connected to.

    .. versionadded:: 0.1
    """

    def __init__(self, rules: Rules, on_refused: Callable[[Refused], None] = lambda refused: None) -> None:
        self.rules = rules
        self.refused: Counter[Refused] = Counter()
        self.reached: Counter[tuple[str, int]] = Counter()
        self.missed: Counter[tuple[str, int]] = Counter()
        self._names = Names(rules, lambda name: self._refuse(Refused(name)))
        self._on_refused = on_refused
        self._room = trio.CapacityLimiter(MAX_CONNECTIONS)
        self._lookups = trio.CapacityLimiter(MAX_LOOKUPS)

    def _refuse(self, refused: Refused) -> None:
        is_new = refused not in self.refused
        if is_new:
            alike = sum(is_private(one.host) is is_private(refused.host) for one in self.refused)
            if alike >= MAX_REFUSED:
                return
        self.refused[refused] += 1
        if is_new:
            self._on_refused(refused)

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Answer until cancelled; the first of the sockets is asked for names. They are closed at the end."""
        opened = [trio.socket.from_stdlib_socket(one) for one in sockets]
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._answer_names, opened[0])
                for listening in opened[1:]:
                    nursery.start_soon(self._accept, listening, nursery)
        finally:
            for one in opened:
                one.close()

    async def _answer_names(self, asked: trio.socket.SocketType) -> None:
        while True:
            try:
                query, sender = await asked.recvfrom(4096)
                await trio.sleep(PAUSE_S)
                if (answer := self._names.answer(query)) is not None:
                    await asked.sendto(answer, sender)
            except OSError:  # who asked is gone
                await trio.lowlevel.checkpoint()

    async def _accept(self, listening: trio.socket.SocketType, nursery: trio.Nursery) -> None:
        while True:
            try:
                inner, _ = await listening.accept()
            except OSError:  # it was given up again, or there is no descriptor left
                await trio.sleep(0.05)
                continue
            try:
                self._room.acquire_on_behalf_of_nowait(inner)
            except trio.WouldBlock:
                inner.close()
                await trio.sleep(PAUSE_S)
                continue
            nursery.start_soon(self._carry, inner)

    async def _carry(self, inner: trio.socket.SocketType) -> None:
        """One connection, from its first byte to its end."""
        try:
            with inner:
                address, port = inner.getsockname()
                outer = await self._reach(self._names.name_at(address), port)
                if outer is not None:
                    with outer:
                        await _join(inner, outer)
        except OSError:  # either side is gone
            pass
        finally:
            self._room.release_on_behalf_of(inner)

    def _leads(self, host: str, port: int, address: str) -> bool:
        if not self.rules.leads(host, port, address):
            return False
        return self.rules.names(host, port, address) or not _is_this_machine(address, port)

    async def _reach(self, host: str, port: int) -> trio.socket.SocketType | None:
        if not self.rules.allows(host, port):
            self._refuse(Refused(host, port))
            return None
        with trio.move_on_after(CONNECT_S):
            try:
                found = await look_up(host, port, self._lookups)
            except OSError:
                found = []
            allowed = [one for one in found if self._leads(host, port, str(one[4][0]))]
            if found and not allowed:
                inside = str(found[0][4][0])
                line = self.rules.line(entry_of(inside, port))
                self._refuse(
                    Refused(
                        host, port, f"it leads to {inside}, which is not public, or this machine; if it may, add {line}"
                    )
                )
                return None
            for family, kind, protocol, _, target in allowed:
                outer = trio.socket.socket(family, kind, protocol)
                try:
                    await outer.connect(target)
                except OSError:
                    outer.close()
                    continue
                except BaseException:
                    outer.close()
                    raise
                self.reached[host, port] += 1
                return outer
        if len(self.missed) < MAX_REFUSED:
            self.missed[host, port] += 1
        return None


async def look_up(host: str, port: int, limiter: trio.CapacityLimiter) -> list[Any]:
    """Where a name leads to, as `socket.getaddrinfo` has it.

    Raises:
        OSError: nowhere.
    """
    return await trio.to_thread.run_sync(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), abandon_on_cancel=True, limiter=limiter
    )


def _is_this_machine(address: str, port: int) -> bool:
    """Whether an address is one of this machine's own, public or not: what listens there may be behind a firewall that
    does not stand between a machine and itself. The kernel answers it with its route; nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, port))
        except OSError:
            return False
        return str(probe.getsockname()[0]) == address


async def _join(one: trio.socket.SocketType, other: trio.socket.SocketType) -> None:
    """Carry bytes both ways until both sides have ended, one broke, or nothing came for long."""
    with trio.CancelScope() as idle:

        async def copy(source: trio.socket.SocketType, target: trio.socket.SocketType) -> None:
            while True:
                idle.deadline = trio.current_time() + IDLE_S
                chunk = await source.recv(CHUNK)
                if not chunk:
                    target.shutdown(socket.SHUT_WR)
                    return
                rest = memoryview(chunk)
                while rest:
                    rest = rest[await target.send(rest) :]

        async def copy_until_broken(source: trio.socket.SocketType, target: trio.socket.SocketType) -> None:
            try:
                await copy(source, target)
            except OSError:
                idle.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(copy_until_broken, one, other)
            nursery.start_soon(copy_until_broken, other, one)
