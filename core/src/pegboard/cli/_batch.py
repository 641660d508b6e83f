"""`pegboard batch`: JSON Lines of calls in, JSON Lines of results out, in the order they came.

    read ahead      chunks of the input, read in a thread, cut into lines; bounded in lines
    callers         N tasks, each takes the next line, awaits its call, puts the result into its place
    in order        what is done waits here for those before it; bounded in bytes, and then nobody takes a new line
    written         what is in order, in large chunks while the callers are busy, at once when they are not

A caller that never waits answers line after line without a task of its own for any of them, so a line of an in-place
tool costs little more than its call. One slow call holds back the order and not the work, up to the bounds.

After Ctrl-C everything that is done is written, in order and with gaps where calls did not end.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from collections import OrderedDict, deque
from time import perf_counter
from typing import IO, TYPE_CHECKING, TextIO

import click

from pegboard.cli._lines import Cutter, line_of
from pegboard.cli._output import OutputError, drop_stdout, note
from pegboard.cli._program import DONE, TOOL_ERROR, WRONG_USAGE
from pegboard.cli._terminal import answer_stream, is_terminal
from pegboard.config import open_named
from pegboard.dialects._common import call_of
from pegboard.errors import ErrorCode, PegboardError, ToolError
from pegboard.results import ToolResult
from pegboard.schema.envelope import TooLong, members_of
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard.session import CHECKPOINT_S
from pegboard.tools import MAX_NAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pegboard.cli._lines import Line
    from pegboard.cli._run import ProgramRun
    from pegboard.host import Host
    from pegboard.session import Session
    from pegboard.tools import ToolCall

PARALLEL = 8
CHUNK = 1 << 16
"""How much is read at once, in bytes."""
AHEAD = 1_000
"""From how few lines on the next chunk is read."""
HELD = 8_000_000
"""How much may wait to be written, in bytes: one slow call, or a slow reader, holds back no more than that."""
WAITING = 20_000
"""How many results may wait for one before them."""
FLUSH = 1 << 16
FLUSH_S = 0.02
"""Results are written when that many bytes are there, when nothing is left to do, or after that time."""
LEAVE_S = 0.3
"""How long a write that is under way may still take when the run ends."""
PROGRESS_S = 0.2
SESSIONS = 1_000
"""How many users' sessions are kept; those that called least recently go."""
SPARE = 65_536
"""How much longer than its arguments a line may be, in bytes."""


@click.command("batch", short_help="JSON Lines of calls in, JSON Lines of results out.")
@click.argument("file", metavar="[FILE|-]", default="-")
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 1024),
    default=PARALLEL,
    show_default=True,
    help="How many calls may run at once.",
)
@click.option("--user", metavar="ID", help="Who calls, where a line does not say it.")
@click.option("--record", metavar="FILE", help="Add what tools answer to a recording, which tests replay.")
@click.pass_obj
def command(run: ProgramRun, file: str, parallel: int, user: str | None, record: str | None) -> int:
    """Answer every line of FILE, or of stdin.

    \b
    In:   {"id": "1", "name": "roll_dice", "arguments": {"notation": "2d6"}, "user_id": "ada"}
    Out:  {"id": "1", "name": "roll_dice", "ok": true, "content": [...], "data": {...}, ...}

    Results come in the order of the lines, each as soon as it and those before it are done. Calls overlap where their
    tools are read-only or declare that they may; any other waits for those before it. A line that is not
    a valid call is answered with INVALID_INPUT.
    """
    if answer_stream() is None:
        raise OutputError(None)
    run.record = record
    opened, size = _open(file)
    with opened as source:
        batch = Batch(parallel, user, size)
        try:
            run.open_host(lambda host: batch.run(host, source), last_words=batch.leave)
        finally:
            batch.leave()
            batch.say_how_it_went()
    if batch.problem is not None:
        raise batch.problem
    if run.has_lost_recording:
        return WRONG_USAGE
    return TOOL_ERROR if batch.errors else DONE


def _open(file: str) -> tuple[AbstractContextManager[IO[bytes]], int | None]:
    """The input, and its size where that is known."""
    if file == "-":
        if sys.stdin is None:
            raise click.UsageError("stdin is closed; name a file")
        return contextlib.nullcontext(sys.stdin.buffer), None
    try:
        source = open_named(file)
        about = os.fstat(source.fileno())
    except (OSError, ValueError) as problem:
        raise click.UsageError(f"{file} cannot be read: {_reason(problem)}; FILE holds one call a line") from None
    return source, about.st_size if stat.S_ISREG(about.st_mode) else None


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or "no path that could be opened"


def _reader(source: IO[bytes]) -> Callable[[int], bytes]:
    """How a chunk is read: what is there, below Python's buffers, whose lock a thread left behind would keep."""
    try:
        number = source.fileno()
    except (OSError, ValueError):  # no file of the system's
        return lambda size: source.read(size)
    return lambda size: os.read(number, size)


class Writer:
    """What is in order and goes to stdout. `add` is for the loop, the rest for any thread."""

    def __init__(self) -> None:
        self._stream = answer_stream()
        self.is_terminal = is_terminal(self._stream)
        self.waiting = 0
        self._lines: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def add(self, line: bytes) -> None:
        """Put one line behind the others."""
        self._lines.append(line)
        self.waiting += len(line)

    def drain(self) -> int:
        """Write what is there; returns how many bytes that was.

        Raises:
            OSError: stdout is closed or full.
        """
        with self._lock:
            return 0 if self._closed else self._drain()

    def close(self, rest: dict[int, bytes]) -> None:
        """Write what is there, then the rest in its order, and nothing more; a write that hangs is not waited for.

        Raises:
            OSError: stdout is closed or full.
        """
        if not self._lock.acquire(timeout=LEAVE_S):
            return
        try:
            if not self._closed:
                self._closed = True
                self._lines.extend(rest[place] for place in sorted(rest))
                self._drain()
        finally:
            self._lock.release()

    def _drain(self) -> int:
        # A copy by length: the loop may add lines meanwhile.
        data = b"".join(self._lines.popleft() for _ in range(len(self._lines)))
        self.waiting -= len(data)
        assert self._stream is not None, "a batch without stdout does not begin"
        _write_all(self._stream, data)
        return len(data)


def _write_all(stream: TextIO, data: bytes) -> None:
    try:
        number = stream.fileno()
    except (OSError, ValueError):  # no file of the system's
        stream.buffer.write(data)
        return
    left = memoryview(data)
    while left:
        left = left[os.write(number, left) :]


class Batch:
    """One run over one input.

    Args:
        parallel: how many calls may run at once; only those of tools that are read-only or declare it do.
        user: who calls where a line does not say it; None: who the configuration says.
        size: of the input in bytes, where it is known, for the progress.
    """

    def __init__(self, parallel: int, user: str | None, size: int | None) -> None:
        self.errors = 0
        self.problem: Exception | None = None
        self._parallel = parallel
        self._user = user
        self._size = size
        self._out = Writer()
        self._lines: deque[Line] = deque()
        self._ended = False
        self._bytes_read = 0
        self._taken = 0
        self._next = 0
        self._done: dict[int, bytes] = {}
        self._held = 0
        self._alone = False
        self._running = 0
        self._started = perf_counter()

    async def run(self, host: Host, source: IO[bytes]) -> None:
        """Answer every line."""
        import trio

        self._host = host
        self._session = host.session(self._user, channel="cli")
        self._nobody = self._of_the_reader("") if self._session.user_id else self._session
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._max_line = int(host.board.config.core.max_arguments_bytes) + SPARE
        self._has_lines, self._has_room, self._wants_lines = (trio.lowlevel.ParkingLot() for _ in range(3))
        self._turn, self._quiet = trio.lowlevel.ParkingLot(), trio.lowlevel.ParkingLot()
        self._wake, self._urgent = trio.Event(), trio.Event()
        async with trio.open_nursery() as nursery:
            self._scope = nursery.cancel_scope
            nursery.start_soon(self._write)
            if is_terminal(sys.stderr) and not self._out.is_terminal:
                nursery.start_soon(self._show_progress)
            async with trio.open_nursery() as callers:
                callers.start_soon(self._read, source)
                for _ in range(self._parallel):
                    callers.start_soon(self._call)
            await self._drain()
            nursery.cancel_scope.cancel()

    # -- the tasks

    async def _read(self, source: IO[bytes]) -> None:
        import trio

        cutter, read = Cutter(self._max_line), _reader(source)
        while not self._ended:
            while len(self._lines) > AHEAD:
                await self._wants_lines.park()
            try:
                # A thread, since nothing else ends a wait for a pipe or a terminal at Ctrl-C; it is left behind then.
                chunk = await trio.to_thread.run_sync(read, CHUNK, abandon_on_cancel=True)
            except OSError as problem:
                self.problem = PegboardError(
                    f"the input cannot be read: {_reason(problem)}", hint="name a file of calls, or - for stdin"
                )
                chunk = b""
            self._ended = not chunk
            self._bytes_read += len(chunk)
            self._lines.extend(cutter.cut(chunk))
            self._has_lines.unpark_all()

    async def _call(self) -> None:
        host = self._host
        while True:
            # Before a line is taken: one that is in hand would be overtaken meanwhile.
            if perf_counter() - host.last_checkpoint > CHECKPOINT_S:
                await host.checkpoint()
            while self._held > HELD or len(self._done) > WAITING:
                await self._has_room.park()
            while self._alone:
                await self._turn.park()
            if not self._lines:
                if self._ended:
                    self._turn.unpark_all()
                    return
                await self._has_lines.park()
                continue
            number, line = self._lines.popleft()
            if len(self._lines) == AHEAD:
                self._wants_lines.unpark_all()
            place = self._taken
            self._taken += 1
            asked = self._understand(number, line)
            if isinstance(asked, ToolResult):
                self._put(place, asked)
            elif asked[0].may_overlap(asked[1].name):
                self._put(place, await self._beside_others(*asked))
            else:
                self._put(place, await self._by_itself(*asked))

    async def _beside_others(self, session: Session, call: ToolCall) -> ToolResult:
        self._running += 1
        self._turn.unpark()  # the next caller may come along; it wakes the one after it
        try:
            return await session.call(call.name, call.arguments, id=call.id)
        finally:
            self._running -= 1
            if self._alone and not self._running:
                self._quiet.unpark()

    async def _by_itself(self, session: Session, call: ToolCall) -> ToolResult:
        """A call that may change something: it waits for those before it and holds back those after it."""
        self._alone = True
        while self._running:
            await self._quiet.park()
        try:
            return await session.call(call.name, call.arguments, id=call.id)
        finally:
            self._alone = False

    async def _write(self) -> None:
        """Write what is in order: in large chunks, at once where nothing is left to do, else after a moment."""
        import trio

        while True:
            await self._wake.wait()
            with trio.move_on_after(FLUSH_S):
                await self._urgent.wait()
            self._wake, self._urgent = trio.Event(), trio.Event()
            await self._drain()

    async def _drain(self) -> None:
        import trio

        try:
            self._held -= await trio.to_thread.run_sync(self._out.drain, abandon_on_cancel=True)
        except OSError as problem:
            self.problem = OutputError(problem)
            drop_stdout()
            self._scope.cancel()
        if self._has_room:
            self._has_room.unpark_all()

    # -- one line

    def _understand(self, number: int, line: bytes | TooLong) -> tuple[Session, ToolCall] | ToolResult:
        """Who calls what; or the answer to what is not a valid call."""
        if isinstance(line, TooLong):
            known = call_of(line.members)
            return self._no_call(number, f"it is longer than {self._max_line:,} bytes", known.id, known.name)
        try:
            value = loads(line, max_bytes=self._max_line, is_envelope=True)
        except JsonTextError as problem:
            known = call_of(members_of(line))
            # The line's number is that of the batch: JSON that is one line long has no other.
            why = str(problem).replace(" at line 1, column ", " at column ")
            return self._no_call(number, why, known.id, known.name)
        call = call_of(value)
        if isinstance(call, ToolResult):
            return self._no_call(number, call.text, call.id, call.name)
        session = self._session
        if "user_id" in value:
            user = value["user_id"]
            if user is not None and not isinstance(user, str):
                return self._no_call(number, "user_id: expected text or null", call.id, call.name)
            session = self._session_of((user or "").strip())
        return session, call

    def _no_call(self, number: int, why: str, id: str = "", name: str = "") -> ToolResult:  # noqa: A002 - the field's name
        error = ToolError(ErrorCode.INVALID_INPUT, f"line {number} is not a valid call: {why}", line=number)
        return self._session.refuse_line(error, id=id, name=name[:MAX_NAME])

    def _of_the_reader(self, user: str) -> Session:
        """A session of a user. Whose a line is, it says itself: all results are read by whoever writes the lines."""
        session = self._host.session(user, channel="cli")
        session.reads_with = self._session
        return session

    def _session_of(self, user: str) -> Session:
        """The session of a user: one for each, so that what is kept for them is theirs."""
        if not user or user == self._session.user_id:
            return self._session if user else self._nobody
        session = self._sessions.get(user)
        if session is None:
            session = self._sessions[user] = self._of_the_reader(user)
            if len(self._sessions) > SESSIONS:
                self._sessions.popitem(last=False)
        else:
            self._sessions.move_to_end(user)
        return session

    # -- order

    def _put(self, place: int, result: ToolResult) -> None:
        """Put a result into its place; it, and what waited for it, goes out if it is the next."""
        if not result.ok:
            self.errors += 1
        line, done, out = line_of(result, careful=self._out.is_terminal), self._done, self._out
        self._held += len(line)
        if place != self._next:
            done[place] = line
            return
        out.add(line)
        self._next += 1
        while done and self._next in done:
            out.add(done.pop(self._next))
            self._next += 1
        self._wake.set()
        if out.waiting > FLUSH or not self._lines:
            self._urgent.set()

    def leave(self) -> None:
        """Write everything that is done, in order, also what waited for a call that did not end; for any thread."""
        try:
            self._out.close(dict(self._done))
        except OSError as problem:
            self.problem = self.problem or OutputError(problem)
            drop_stdout()

    # -- the person

    async def _show_progress(self) -> None:
        import trio

        while True:
            await trio.sleep(PROGRESS_S)
            part = f" {min(self._bytes_read / self._size, 1):4.0%}" if self._size else ""
            rate = self._next / max(perf_counter() - self._started, 0.001)
            _draw(f"{part} {self._next:,} lines, {self.errors:,} errors, {rate:,.0f}/s")

    def say_how_it_went(self) -> None:
        """A last line for a person who watches, and what is missing in the answer."""
        if is_terminal(sys.stderr):
            if not self._out.is_terminal:
                _draw("")
            note(f"{self._next:,} lines, {self.errors:,} errors, {perf_counter() - self._started:.1f} s")
        missing = self._taken - self._next - len(self._done)
        if missing > 0 and not isinstance(self.problem, OutputError):
            note(f"{missing} {'call' if missing == 1 else 'calls'} did not end; what was done is written")


def _draw(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
