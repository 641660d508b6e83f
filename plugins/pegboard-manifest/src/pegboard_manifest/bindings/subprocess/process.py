"""A program as a process group of its own: started, fed, drained, and ended whatever happens.

    start   no shell, an environment and a working directory that are given, a session of its own, no descriptor of ours
    run     standard input is fed while both outputs are drained; the end of the process is watched beside that
    end     SIGTERM to the group, a short grace, SIGKILL; then the zombie is taken in and every pipe is closed

Invariants: when `run` is left, by whichever way, no process of the group is left, no descriptor is open and no task
runs. The leader stays a zombie until its group was killed, so that its number cannot have become another's meanwhile.
What calls `setsid` leaves the group: it is ended too where the program is ended before its time and the kernel lists
its children (Linux). It is not reached once its parents are gone; a program that ends well may so leave a daemon
behind, which is not waited for, whatever it holds open.

A process that ends while something it started still holds its outputs has said what it says: the rest is given
`REST_S` and is then killed. Starting blocks the loop for about a millisecond, until the new program is loaded: a
thread would not shorten that, since the interpreter's lock is held meanwhile. POSIX only.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import trio

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

log = logging.getLogger("pegboard")

hanging: list[subprocess.Popen[bytes]] = []
"""Processes that did not end by SIGKILL; each start looks whether they have by now, and takes them in."""

GRACE_S = 0.5
"""Between SIGTERM and SIGKILL, in seconds."""
REST_S = 0.1
"""How long outputs may stay open behind a process that has ended, in seconds."""
END_S = 5.0
"""How long the end by SIGKILL is waited for, in seconds; what takes longer hangs in the kernel."""
KEPT_STDERR = 16_384
"""The last bytes of standard error that are kept."""
MAX_STDERR = 10_000_000
"""Who writes more than this to standard error, or what its output may have where that is more, is ended; in bytes."""
MAX_DESCENDANTS = 1_000
"""Processes whose children are looked for."""
CHUNK = 65_536
TICK_S = 0.01
"""Between two looks at a process where the kernel cannot tell that it ended, in seconds."""


@attrs.frozen
class Ended:
    """How a process ended.

    Args:
        status: its exit status; below zero, the signal that ended it.
        stdout: all that it wrote.
        stderr: the last of what it wrote.
        too_much: it wrote more than it may, and was ended for that.
    """

    status: int
    stdout: bytes
    stderr: str
    too_much: bool = False


@trio.lowlevel.enable_ki_protection
async def run(
    command: Sequence[str], *, cwd: str, environment: Mapping[str, str], stdin: bytes | None, max_bytes: int
) -> Ended:
    """Run a program to its end.

    Args:
        command: the program's path, absolute, and its words.
        cwd: where it works.
        environment: all of it.
        stdin: what it reads; None: /dev/null.
        max_bytes: of standard output; more ends it.

    Raises:
        OSError: it could not be started; `filename` is `cwd` where that was the cause.
        ValueError: a word holds a NUL.
        trio.Cancelled: the caller was cancelled; the group has been ended.
    """
    await trio.lowlevel.checkpoint_if_cancelled()  # nobody waits for it any more: start nothing
    hanging[:] = [popen for popen in hanging if popen.poll() is None]
    child = _Child(command, cwd, environment, stdin, max_bytes)
    try:
        await child.follow(stdin)
    finally:
        with trio.CancelScope(shield=True):
            await child.end()
    return Ended(child.status, bytes(child.stdout), child.stderr_text(), child.too_much)


class _Child:
    """One process, its pipes, and what came out of them."""

    def __init__(
        self, command: Sequence[str], cwd: str, environment: Mapping[str, str], stdin: bytes | None, max_bytes: int
    ) -> None:
        self.max_bytes = max_bytes
        self.stdout, self.stderr = bytearray(), bytearray()
        self.too_much = self.has_ended = False
        self.pidfd: int | None = None
        self.streams = list[trio.lowlevel.FdStream]()
        theirs = list[int]()
        try:
            for mine in (0, 0) if stdin is None else (0, 0, 1):
                ends = os.pipe()
                theirs.append(ends[1 - mine])
                self.streams.append(trio.lowlevel.FdStream(ends[mine]))
            self.popen = subprocess.Popen(  # noqa: S603 - that no shell starts it is the point
                [word.encode() for word in command],
                stdin=subprocess.DEVNULL if stdin is None else theirs[2],
                stdout=theirs[0],
                stderr=theirs[1],
                cwd=cwd,
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            self.close()
            raise
        finally:
            for end in theirs:
                os.close(end)
        with contextlib.suppress(AttributeError, OSError):
            self.pidfd = os.pidfd_open(self.popen.pid)

    async def follow(self, stdin: bytes | None) -> None:
        """Until it has ended and its outputs are closed, or it wrote too much."""
        open_pipes = len(self.streams)
        closed = trio.Event()

        def one_less() -> None:
            nonlocal open_pipes
            open_pipes -= 1
            if not open_pipes:
                closed.set()

        async def read_stderr() -> None:
            most, count = max(MAX_STDERR, self.max_bytes), 0
            while chunk := await self.streams[1].receive_some(CHUNK):
                count += len(chunk)
                self.stderr += chunk
                del self.stderr[: -KEPT_STDERR - 1]  # one byte more tells that some were dropped
                if count > most:
                    self.too_much = True
                    nursery.cancel_scope.cancel()
            one_less()

        async def feed() -> None:
            stream = self.streams[2]
            with contextlib.suppress(trio.BrokenResourceError):  # it reads no more, which is its own affair
                await stream.send_all(stdin or b"")
            stream.close()
            one_less()

        async def watch() -> None:
            await self.wait()
            with trio.move_on_after(REST_S):
                await closed.wait()
                return
            self.signal(signal.SIGKILL)
            with trio.move_on_after(REST_S):
                await closed.wait()
                return
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_stderr)
            nursery.start_soon(watch)
            if stdin is not None:
                nursery.start_soon(feed)
            while chunk := await self.streams[0].receive_some(CHUNK):
                self.stdout += chunk
                if len(self.stdout) > self.max_bytes:
                    self.too_much = True
                    nursery.cancel_scope.cancel()
            one_less()

    async def wait(self) -> None:
        """Until the process has ended; it stays a zombie, and its number its own."""
        if self.pidfd is not None:
            await trio.lowlevel.wait_readable(self.pidfd)
        else:
            while os.waitid(os.P_PID, self.popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                await trio.sleep(TICK_S)
        self.has_ended = True

    def signal(self, number: signal.Signals) -> None:
        """To the whole group; its leader was not taken in yet, so the group is its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, number)

    async def end(self) -> None:
        """End what is left of the group, take the process in, close everything."""
        with contextlib.ExitStack() as strays:
            try:
                if not self.has_ended:
                    left = list(_strays(self.popen.pid, strays))
                    self.signal(signal.SIGTERM)
                    with trio.move_on_after(GRACE_S):
                        await self.wait()
                    left += _strays(self.popen.pid, strays)  # it may have started more; a zombie has no children
                    for pidfd in left:
                        with contextlib.suppress(ProcessLookupError, PermissionError):
                            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                self.signal(signal.SIGKILL)
                if not self.has_ended:
                    with trio.move_on_after(END_S):
                        await self.wait()
                if self.has_ended:
                    self.popen.wait()
                else:
                    log.error("the process %d does not end by SIGKILL; it hangs in the kernel", self.popen.pid)
                    hanging.append(self.popen)
            finally:
                self.close()

    def close(self) -> None:
        """Close every descriptor of ours."""
        for stream in self.streams:
            stream.close()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    @property
    def status(self) -> int:
        """The exit status; -SIGKILL for a process that hangs in the kernel and will end by that."""
        return -signal.SIGKILL if self.popen.returncode is None else self.popen.returncode

    def stderr_text(self) -> str:
        """The last words. Where some were dropped the next few go too: half a secret would not be recognised."""
        dropped = len(self.stderr) > KEPT_STDERR
        return bytes(self.stderr[KEPT_STDERR // 8 if dropped else 0 :]).decode("utf-8", "replace")


def _strays(leader: int, opened: contextlib.ExitStack) -> Iterator[int]:
    """A pidfd for every descendant that lives in another group, which a signal to the group does not reach.

    A descriptor, and not a number, which could be another's by the time the signal is sent.
    """
    todo = [leader]
    for _ in range(MAX_DESCENDANTS):
        if not todo:
            return
        parent = todo.pop()
        for child in _children(parent):
            with contextlib.suppress(AttributeError, OSError):
                pidfd = os.pidfd_open(child)
                opened.callback(os.close, pidfd)
                if child in _children(parent):  # it has not ended meanwhile, and its number is its own
                    todo.append(child)
                    if os.getpgid(child) != leader:
                        yield pidfd


def _children(number: int) -> list[int]:
    """The children of a process as the kernel lists them; none where it does not, or the process has ended."""
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for listed in Path(f"/proc/{number}/task").glob("*/children"):
            found += map(int, listed.read_text(encoding="ascii").split())
    return found
