"""One command, run: the supervisor is started, both outputs are drained at once, and nothing is left afterwards."""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH100, PTH101, PTH104, PTH106, PTH108, PTH112, PTH114, PTH118, PTH120, PTH208

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import attrs
import trio

from pegboard_confine import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard_system._schema import Encoding

SUPERVISOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_supervisor.py")
END_S = 5.0
"""How long the end of all processes is waited for; what does not end by SIGKILL hangs in the kernel."""
GRACE_S = 1.0
"""How long outputs may stay open behind a supervisor that has ended, in seconds."""
PIPE_BYTES = 1 << 20
"""What a pipe holds and one read takes, where the system lets us choose."""
END_AFTER_S = 0.5
"""How long a command may go on after it wrote more than it may, in seconds."""


class NotStartedError(Exception):
    """The command could not be started; its text is for the log."""


class LostError(Exception):
    """Nobody knows how the command ended: its supervisor did before."""


@attrs.frozen
class Job:
    """What the supervisor is told.

    Args:
        words: the command as it is started; the first is a path.
        level: the isolation.
        cwd: where the command starts; for bubblewrap, where that is started.
        environment: all of it.
        limits: names of `resource`, and what they are set to.
        readable, writable: what Landlock leaves.
        network: whether sockets may be opened.
        alone: whether the command can start no other program.
    """

    words: list[str]
    level: str
    cwd: str
    environment: Mapping[str, str]
    limits: Mapping[str, int]
    readable: list[str] = attrs.field(factory=list)
    writable: list[str] = attrs.field(factory=list)
    network: bool = False
    alone: bool = False


@attrs.frozen
class Ended:
    """How a command ended: its exit code, or None where it was ended, and what it wrote."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    truncated: bool


async def run(job: Job, *, timeout_s: float, max_bytes: int) -> Ended:
    """Run one command to its end, or end it after `timeout_s` seconds, or soon after it wrote too much.

    Args:
        job: what to run.
        timeout_s: seconds.
        max_bytes: of each output. For more the pipe is closed, so that the next write ends the command by SIGPIPE, as
            `head` ends what stands before it; what does not care is killed `END_AFTER_S` seconds later.

    Raises:
        NotStartedError: it could not be started.
        LostError: its supervisor was killed; what called setsid may be left.
        trio.Cancelled: the caller was cancelled; no process is left.
    """
    outputs = (_Output(max_bytes), _Output(max_bytes))
    status = _Output(100_000)
    read_end, write_end = os.pipe()
    reports = trio.lowlevel.FdStream(read_end)
    # -I -S: no packages, no startup files, no variables of ours; the supervisor needs none.
    command = [sys.executable, "-I", "-S", "-X", "utf8", SUPERVISOR, str(write_end)]
    process = None
    try:
        try:
            process = await _open(command, write_end)
        finally:
            os.close(write_end)
        timed_out = await _follow(process, job, (*outputs, status), reports, timeout_s)
    except OSError as problem:
        raise NotStartedError(f"{type(problem).__name__}: {problem}") from problem
    finally:
        with trio.CancelScope(shield=True):
            if process is not None:
                await _end(process)
            await reports.aclose()
    said: dict[str, Any] = {}
    for line in status.kept.splitlines():
        said |= json.loads(line)
    if "failed" in said:
        raise NotStartedError(said["failed"])
    if not timed_out and "child" not in said:
        raise NotStartedError(f"the supervisor failed: {outputs[1].kept.decode('utf-8', 'replace')}")
    if job.level == "bubblewrap" and said.get("exit_code") == 1 and outputs[1].kept.startswith(b"bwrap: "):
        raise NotStartedError(outputs[1].kept.decode("utf-8", "replace"))
    if not timed_out and "exit_code" not in said:
        _end_group(said.get("child"))
        raise LostError("the supervisor was killed")
    return Ended(
        None if timed_out else said["exit_code"], bytes(outputs[0].kept), bytes(outputs[1].kept),
        outputs[0].dropped or outputs[1].dropped,
    )  # fmt: skip


@attrs.define(eq=False)
class _Output:
    """What came out of one pipe, up to a cap."""

    cap: int
    kept: bytearray = attrs.field(factory=bytearray)
    dropped: bool = False

    async def drain(self, stream: trio.abc.ReceiveStream, dropped: trio.Event) -> None:
        while chunk := await stream.receive_some(PIPE_BYTES):
            room = self.cap - len(self.kept)
            self.kept += chunk[:room]
            if len(chunk) > room:
                self.dropped = True
                await stream.aclose()
                dropped.set()
                return


async def _open(command: list[str], write_end: int) -> trio.Process:
    # Shielded: a cancel between the start and the answer would lose the process.
    with trio.CancelScope(shield=True):
        process = await trio.lowlevel.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=(write_end,), start_new_session=True, env=_interpreters_own(), cwd="/",
        )  # fmt: skip
    import fcntl  # where a command can be started at all, it is there

    for stream in (process.stdout, process.stderr):
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(stream.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)  # type: ignore[union-attr]
    return process


def _interpreters_own() -> dict[str, str]:
    """What this very interpreter may need to start again; the command gets none of it."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}


async def _follow(
    process: trio.Process, job: Job, outputs: tuple[_Output, ...], reports: trio.abc.ReceiveStream, timeout_s: float
) -> bool:
    """Hand the job over and drain until everything is closed; gives whether that took too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    line = json.dumps(attrs.asdict(job) | {"kernel": kernel.FOLDER}).encode() + b"\n"
    with trio.CancelScope(deadline=trio.current_time() + timeout_s) as scope:
        with contextlib.suppress(trio.BrokenResourceError):
            await process.stdin.send_all(line)
        dropped = trio.Event()
        async with trio.open_nursery() as watching:
            watching.start_soon(_give_up, process, watching.cancel_scope)
            watching.start_soon(_end_after, process, dropped)
            async with trio.open_nursery() as draining:
                for output, stream in zip(outputs, (process.stdout, process.stderr, reports), strict=True):
                    draining.start_soon(output.drain, stream, dropped)
            watching.cancel_scope.cancel()
    return bool(scope.cancelled_caught)


async def _end_after(process: trio.Process, dropped: trio.Event) -> None:
    """Let the supervisor end a command that goes on though nobody hears it; it says how that ended."""
    assert process.stdin is not None
    await dropped.wait()
    await trio.sleep(END_AFTER_S)
    await process.stdin.aclose()


async def _give_up(process: trio.Process, scope: trio.CancelScope) -> None:
    """A supervisor that ends has closed everything; one that was killed has not, and who it left may write for ever."""
    await process.wait()
    await trio.sleep(GRACE_S)
    scope.cancel()


async def _end(process: trio.Process) -> None:
    """Let the supervisor end everything: its control closes. Only if it does not is it killed itself."""
    assert process.stdin is not None
    await process.stdin.aclose()
    with trio.move_on_after(END_S) as scope:
        await process.wait()
    if scope.cancelled_caught:
        process.kill()
        await process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()


def _end_group(child: int | None) -> None:
    """What can be done without a supervisor: kill the command's own group."""
    if child:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)


def make_scratch() -> str:
    """A folder for one command's HOME and TMPDIR, where it has no /tmp of its own."""
    return tempfile.mkdtemp(prefix="pegboard-")


def remove_scratch(path: str) -> None:
    """Remove it, whatever the command made of it: folders without rights, or nested deeper than a recursion goes.

    Each round takes one level away, and lifts what lies below to the top. What cannot be removed is left.
    """
    mark = secrets.token_hex(8)
    numbers = itertools.count()
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
        while names := os.listdir(path):
            for name in names:
                _lift(os.path.join(path, name), path, mark, numbers)
        os.rmdir(path)


def _lift(one: str, top: str, mark: str, numbers: Iterator[int]) -> None:
    if not _open_up(one):
        os.unlink(one)
        return
    for name in os.listdir(one):
        child = os.path.join(one, name)
        _open_up(child)  # a folder that moves has to be writable itself
        os.rename(child, os.path.join(top, f"{mark}-{next(numbers)}"))
    os.rmdir(one)


def _open_up(path: str) -> bool:
    """Whether it is a folder, which may now be read and changed."""
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    os.chmod(path, 0o700)
    return True


def as_text(stdout: bytes, stderr: bytes, *, cut: bool) -> tuple[str, str, Encoding]:
    """Both outputs as text, and how: `utf-8`, or `escaped` where one of them is not text.

    Escaped text loses nothing: `\\xNN` is a byte and `\\\\` a backslash, in both. Where output was cut, half a
    character at its end is left out.
    """
    if cut:
        stdout, stderr = _whole(stdout), _whole(stderr)
    try:
        return stdout.decode(), stderr.decode(), "utf-8"
    except UnicodeDecodeError:
        return _escaped(stdout), _escaped(stderr), "escaped"


def _escaped(data: bytes) -> str:
    return data.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


def _whole(data: bytes) -> bytes:
    """Without the first bytes of a character at the end, which were cut from the rest of it."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if needed > back else data
        if byte < 0x80:
            break
    return data
