"""`pegboard serve --processes N`: one port, several processes, and the one that looks after them.

The parent binds the port and hands the very socket over to its children: all of them accept from one queue. With
SO_REUSEPORT each would have a queue of its own, and the system would drop the connections in it whenever a process
ends; so no child could be replaced, or die, without some client hearing of it. The parent serves nothing and loads no
plugin's work: it starts children, starts those again that died, and passes signals on.

    parent -- a socket pair each --> child: {"port": FD, "folder": ..., "key": ..., "process": ...} at its start,
                                            {"replaced": true} when another one takes its place
    child  -----------------------> parent: {"ready": true} once it serves

A child that finds its end of the pair closed has lost its parent, and ends in order; so none outlives it. What one
child has and another is asked for - a question that is open, a session - is forwarded between them (`server.instances`)
over sockets in a folder that only this user can enter.

SIGHUP replaces the children, one after the other. The one that is replaced takes no new connection, tells its clients
to open another with their next answer, and goes on with what it has begun; then it ends. SIGTERM and Ctrl-C end all
of them in order, a second one at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from pegboard import ConfigError
from pegboard.cli import Presses
from pegboard_serving import LAST_S, at_signals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

START_S = 120.0
"""How long a child may take until it serves, in seconds."""
FIRST_S, LONGEST_S = 1.0, 30.0
"""How long it takes until a child that died is started again: at first, and at most, in seconds."""
STEADY_S = 60.0
"""A child that lived so long, in seconds, died of something new."""
MAX_LINE = 10_000
MAX_PATH = 100
"""The longest path of a socket that all systems take, in bytes."""


class SharedPort(NamedTuple):
    """What the processes of one program share, as one of them has it."""

    bound: socket.socket
    folder: str
    """Where each has a socket for the others."""
    key: str
    """Under which they seal what clients carry, where none is configured."""
    process: str
    """The name of this one."""
    replaced: trio.Event
    """Set when another one takes its place."""


class Link:
    """One end of a socket pair: JSON, a line each."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(end))
        self._read = bytearray()

    async def send(self, message: dict[str, Any]) -> None:
        """Send; nothing happens where nobody is there any more."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            await self._stream.send_all(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None: the other end is closed."""
        while b"\n" not in self._read:
            try:
                more = await self._stream.receive_some(MAX_LINE)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                more = b""
            if not more or len(self._read) > MAX_LINE:
                return None
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    async def aclose(self) -> None:
        """Close it, which the other end sees."""
        await self._stream.aclose()


# -- a child


@contextlib.asynccontextmanager
async def handed_over(number: int) -> AsyncIterator[tuple[SharedPort, Callable[[str], None]]]:
    """What a child was handed over at a descriptor, as long as it serves, and what it calls once it does; without its
    parent it ends itself.

    Raises:
        ConfigError: nobody handed anything over.
    """
    try:
        link = Link(socket.socket(fileno=number))
    except OSError:
        raise ConfigError(
            "--handed-over is not for people: nothing lies there", hint="leave it out, and say --processes N"
        ) from None
    told = await link.receive()
    if told is None:
        raise ConfigError("the program that serves is gone", hint="start it again")
    bound, replaced, is_orphan = socket.socket(fileno=told["port"]), trio.Event(), trio.Event()

    async def listen() -> None:
        while (message := await link.receive()) is not None:
            if message.get("replaced") is True:
                replaced.set()
        is_orphan.set()
        signal.raise_signal(signal.SIGTERM)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen)
        shared = SharedPort(bound, told["folder"], told["key"], told["process"], replaced)
        yield shared, lambda url: nursery.start_soon(link.send, {"ready": True})
        nursery.cancel_scope.cancel()
    await link.aclose()
    if is_orphan.is_set() and not any(Path(told["folder"]).glob("*.sock")):
        shutil.rmtree(told["folder"], ignore_errors=True)  # the last of them leaves nothing behind


# -- the parent


class Child:
    """One process, from its start to its end."""

    def __init__(self, process: trio.Process, link: Link, name: str, pause_s: float) -> None:
        self.process = process
        self.link = link
        self.name = name
        self.pause_s = pause_s
        """How long its place was empty before it, since the one there died."""
        self.began = trio.current_time()
        self.settled = trio.Event()
        """Set once it has its place, or did not come to serve. It may be dead by then, and still have said that it
        serves: until then its link is read."""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it is still there."""
        if self.process.poll() is None:
            self.process.send_signal(number)


class Processes:
    """The parent: starts children, and looks after them until it is told to end.

    Args:
        command: what starts a child; where it finds its end of the pair is added.
        count: how many serve at once.
        bound: the socket that they share.
        stop_s: how long children may take to end once they are told to.
        tell: told what a person should know.
    """

    def __init__(
        self, command: Sequence[str], count: int, bound: socket.socket, stop_s: float, tell: Callable[[str], object]
    ) -> None:
        self._command = command
        self._count = count
        self._bound = bound
        self._stop_s = stop_s
        self._tell = tell
        self._key = secrets.token_urlsafe(32)
        self._program = secrets.token_hex(8)
        self._folder = ""
        self._places: list[Child] = []
        self._alive: set[Child] = set()
        self._ended = trio.Event()
        self._is_ending = False
        self._is_interrupted = False
        self._presses = Presses()
        # A program that nohup started outlives its terminal.
        self._ends_with_terminal = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN and _has_terminal()
        self._asked_to_replace = trio.Event()

    async def run(self, on_ready: Callable[[], object]) -> None:
        """Serve until a signal says to end.

        Args:
            on_ready: called once all children serve.

        Raises:
            ConfigError: a child did not come to serve; it said why itself.
            KeyboardInterrupt: it was Ctrl-C that said to end.
        """
        with _private_folder() as self._folder:
            async with trio.open_nursery() as nursery:
                await nursery.start(at_signals, (signal.SIGTERM, signal.SIGINT), self._on_end)
                await nursery.start(at_signals, (signal.SIGHUP,), self._on_hangup)
                try:
                    if has_begun := await self._fill(nursery):
                        on_ready()
                        await self._replace_when_asked(nursery)
                finally:
                    with trio.CancelScope(shield=True):
                        await self._end_all()
                    nursery.cancel_scope.cancel()
        if self._is_interrupted:
            raise KeyboardInterrupt
        if not has_begun:
            raise ConfigError("a process did not come to serve", hint="see what it said above")

    async def _fill(self, nursery: trio.Nursery) -> bool:
        """Whether all children serve, or were told to end before that."""
        while len(self._places) < self._count and not self._is_ending:
            # One after the other: what keeps the first from serving keeps the others from it too, and is said once.
            child = await self._start(nursery)
            if child is None:
                return self._is_ending
            self._places.append(child)
            child.settled.set()
        return True

    async def _replace_when_asked(self, nursery: trio.Nursery) -> None:
        while not self._is_ending:
            await self._asked_to_replace.wait()
            self._asked_to_replace = trio.Event()
            if not self._is_ending:
                await self._replace_all(nursery)

    # -- signals

    def _on_end(self, number: int) -> None:
        self._is_interrupted = self._is_interrupted or number == signal.SIGINT
        if not self._presses.again(number) and self._is_ending:
            return
        self._is_ending = True
        self._asked_to_replace.set()
        for child in self._alive:  # the second time it cuts off what is in flight
            child.signal(signal.SIGTERM)

    def _on_hangup(self, number: int) -> None:
        if self._ends_with_terminal and not _has_terminal():
            self._on_end(number)
        else:
            self._asked_to_replace.set()

    # -- children

    async def _start(self, nursery: trio.Nursery, pause_s: float = 0.0) -> Child | None:
        """A child that serves; None: it did not come to that."""
        ours, theirs = socket.socketpair()
        name = f"{self._program}-{secrets.token_hex(4)}"
        with theirs:
            process = await trio.lowlevel.open_process(
                [*self._command, "--handed-over", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), self._bound.fileno()),
                process_group=0,  # Ctrl-C goes to the parent, which says it to all in order
            )
        child = Child(process, Link(ours), name, pause_s)
        self._alive.add(child)
        if self._is_ending:  # since it was begun
            child.signal(signal.SIGTERM)
        nursery.start_soon(self._watch, child, nursery)
        told = {"port": self._bound.fileno(), "folder": self._folder, "key": self._key, "process": name}
        with trio.move_on_after(START_S):
            await child.link.send(told)
            if await child.link.receive() is not None:  # it is ready
                return child
        child.signal(signal.SIGTERM)
        child.settled.set()
        return None

    async def _watch(self, child: Child, nursery: trio.Nursery) -> None:
        """Wait for the end of a child; one that died has another in its place soon."""
        status = await child.process.wait()
        self._alive.discard(child)
        Path(self._folder, f"{child.name}.sock").unlink(missing_ok=True)
        if not self._alive:
            self._ended.set()
        try:
            await child.settled.wait()
        finally:
            await child.link.aclose()
        if child not in self._places or self._is_ending:
            return
        place = self._places.index(child)
        pause_s = 0.0 if trio.current_time() - child.began > STEADY_S else child.pause_s
        while True:
            pause_s = min(LONGEST_S, max(FIRST_S, 2 * pause_s))
            self._tell(f"a process ended ({_said(status)}); another one is started in {pause_s:g} s")
            await trio.sleep(pause_s)
            if self._places[place] is not child:  # a restart has filled its place
                return
            if self._is_ending:
                return
            other = await self._start(nursery, pause_s)
            if other is not None:
                await self._put(other, place)
                return

    async def _replace_all(self, nursery: trio.Nursery) -> None:
        for place in range(self._count):
            new = await self._start(nursery)
            if new is None:
                if not self._is_ending:
                    self._tell("a new process did not come to serve; those that serve go on")
                return
            await self._put(new, place)
        self._tell("all processes are replaced; those from before end when their calls are done")

    async def _put(self, new: Child, place: int) -> None:
        """Give a child its place; who has it is replaced. One that died there may have been replaced by a restart while
        another was started for it."""
        old, self._places[place] = self._places[place], new
        new.settled.set()
        await old.link.send({"replaced": True})

    async def _end_all(self) -> None:
        """Have all children end, in order as long as that does not take too long."""
        if not self._is_ending:
            self._on_end(signal.SIGTERM)
        with trio.move_on_after(self._stop_s + 3 * LAST_S):
            while self._alive:
                self._ended = trio.Event()
                await self._ended.wait()
        for child in tuple(self._alive):
            child.signal(signal.SIGKILL)
        while self._alive:
            self._ended = trio.Event()
            await self._ended.wait()


def _said(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def _has_terminal() -> bool:
    """Whether there is a terminal that this process belongs to; SIGHUP says that it is gone, or asks for a restart."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _private_folder() -> Iterator[str]:
    """A folder that only this user can enter, with a path short enough for sockets."""
    folder = tempfile.mkdtemp(prefix="pegboard-")
    if len(os.fsencode(folder)) > MAX_PATH - 30:
        Path(folder).rmdir()
        folder = tempfile.mkdtemp(prefix="pegboard-", dir="/tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
