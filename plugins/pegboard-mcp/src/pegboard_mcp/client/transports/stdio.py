"""A server as a process that speaks over its pipes, one JSON-RPC message a line.

There is no task between the dispatcher and the pipes: reading the link reads the pipe, sending writes to it. Two tasks
live beside that, one keeps the tail of stderr, one waits for the process. The invariants:

- A line is written whole or not at all. What the pipe does not take at once waits in a queue, and a task that lives for
  as long as the queue writes on; a sender that is cancelled takes its line back only if none of it is written.
- Memory is bounded: a line over `max_message_bytes` is skipped and the request it answers fails with `ANSWER_TOO_LONG`;
  where no id can be told, or the line never ends, the link ends ("oversized").
- What is not JSON-RPC is logged and skipped; a server that never said anything else is named for it ("garbage").
- Bytes that are not in the encoding are replaced; they cost no more than themselves.
- The end of the process ends the link, also when a grandchild still holds its pipes: what is in them is read first.

The process leads a session and a group of its own. Leaving ends it in order: its stdin closes, 2 s, TERM to the group,
2 s, KILL to the group; whoever stays behind in the group when the leader went is ended the same way. One that never
said anything has half a second before TERM, and 10 s behind it where it may be installing itself. `_reaper` ends the
group when the host itself is killed.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio and
https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown
"""

from __future__ import annotations

import codecs
import collections
import contextlib
import json
import logging
import os
import re
import signal
from typing import TYPE_CHECKING, cast

import anyio
import trio
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError

from pegboard.schema.envelope import TooLong
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _process, _reaper
from pegboard_mcp.client.transports._codes import ANSWER_TOO_LONG
from pegboard_mcp.client.transports._lines import LineSplitter, find_id
from pegboard_mcp.client.transports._link import GARBAGE_LIMIT, Link, beside, shorten
from pegboard_mcp.client.transports._messages import message_of, read_message
from pegboard_mcp.client.transports._process import CHUNK, INSTALL_GRACE_S, end_group, start, throw_away
from pegboard_mcp.packages import fetches, may_install
from pegboard_mcp.streams import MessageWriter, SteppingReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from trio.lowlevel import FdStream

    from pegboard_confine.sandbox import Box
    from pegboard_mcp.definitions import ServerDefinition

UNHEARD_GRACE_S = 0.5
"""How long one that never said anything has before TERM: it has nothing to bring to an end, and may never read."""
LAST_WORDS_S = 0.5
"""How long after the end of a link its exit status and the rest of stderr are waited for."""
STDERR_LINES = 20
STDERR_LINE_BYTES = 1_000
DRAIN_CHUNKS = 16
AT_ONCE = 50
"""How many lines are read before others have a turn."""
_MISFIT = re.compile(
    r"ImportError: cannot import name|ModuleNotFoundError: No module named '\w+\.|SyntaxError: The requested module"
)
"""What Python and node say where a package is there, and not as the program wants it: no folder or host is missing."""
_WHERE = re.compile(r"(?:File \".*\", line \d|at .*[:(])")
"""Of Python and of node."""
_HEADING = re.compile(r"Traceback \(most recent call last\):|node:internal|[{}\])^]\s*$|Node\.js v")
_OLD_SDK = re.compile(
    r"ImportError: cannot import name '\w+' from 'mcp\b|ModuleNotFoundError: No module named 'mcp\."
    r"|AttributeError: '(?:Server|FastMCP|MCPServer)' object has no attribute"
)
"""What a server says that was written for version 1 of the MCP SDK, where version 2 is installed beside it."""
SKIP_TIMES = 8
"""A line is skipped to its end up to this many times the limit."""


def suggestion(name: str) -> str:
    """How a person finds out what a confined server lacks."""
    return f"what it lacks: pegboard confine suggest {name}"


class StdioReader(SteppingReader):
    """Messages out of the server's stdout."""

    def __init__(self, link: StdioLink, fd: int) -> None:
        definition = link.definition
        self._link = link
        self._fd = fd
        self._lines: collections.deque[bytes | TooLong] = collections.deque()
        self._ready: collections.deque[SessionMessage] = collections.deque()
        self._splitter = LineSplitter(definition.max_message_bytes)
        plain = codecs.lookup(definition.encoding).name == "utf-8"
        self._decoder = None if plain else codecs.getincrementaldecoder(definition.encoding)("replace")
        self.closed = False

    async def __anext__(self) -> SessionMessage:
        ready, lines = self._ready, self._lines
        while not ready:
            if lines:  # a flood of short ones: everybody else has a turn in between
                await trio.lowlevel.checkpoint()
                self._take_some()
                continue
            chunk = await self._read()
            if chunk:
                self._take(chunk)
                self._take_some()
            elif not ready and not lines:
                raise StopAsyncIteration
        return ready.popleft()

    async def aclose(self) -> None:
        """Read no more; what the server still writes is thrown away when the link is left."""
        self.closed = True

    async def _read(self) -> bytes:
        link = self._link
        while not self.closed and not link.stopped:
            try:
                await trio.lowlevel.wait_readable(self._fd)
                if link.stopped:  # it was woken by bytes and by the end at once
                    break
                chunk = os.read(self._fd, CHUNK)
            except BlockingIOError:  # pragma: no cover - a wake-up for nothing
                continue
            except (trio.ClosedResourceError, OSError):
                break
            if not chunk:
                break
            return chunk
        link.end()
        if not self.closed:
            await link.last_words()
        return b""

    def drain(self) -> None:
        """Take what is in the pipe already, a pipe's capacity of it."""
        with contextlib.suppress(OSError):
            for _ in range(DRAIN_CHUNKS):
                chunk = os.read(self._fd, CHUNK)
                if not chunk:
                    break
                self._take(chunk)

    def hear_out(self) -> None:
        """Parse everything that is left of a server that has ended."""
        self.drain()
        while self._lines:
            self._take_some()

    def _take(self, chunk: bytes) -> None:
        if self._decoder is not None:
            chunk = self._decoder.decode(chunk).encode("utf-8", "replace")
        self._lines.extend(self._splitter.feed(chunk))
        limit = self._link.definition.max_message_bytes
        if self._splitter.skipping > SKIP_TIMES * limit:
            self._link.stop(self._oversized(self._splitter.skipping))

    def _take_some(self) -> None:
        """Read the next few lines."""
        for _ in range(min(AT_ONCE, len(self._lines))):
            line = self._lines.popleft()
            if isinstance(line, TooLong):
                self._skip(line)
                continue
            try:
                message = message_of(line)
            except ValueError:
                self._replace_bad_bytes(line)
                continue
            self._link.heard = True
            self._ready.append(SessionMessage(message))

    def _replace_bad_bytes(self, line: bytes) -> None:
        """Try again with what is not UTF-8 replaced, then give the line up."""
        text = line.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").strip()
        if not text:
            return
        message = read_message(text)
        if message is None:
            self._link.garbled(text)
            if not self._link.heard and self._link.garbage == GARBAGE_LIMIT:
                self._link.stop(self._link.garbage_fault())
            return
        self._link.heard = True
        self._ready.append(SessionMessage(message))

    def _skip(self, line: TooLong) -> None:
        found = find_id(line)
        cause = self._oversized(line.size)
        if found is None:
            self._link.stop(cause)
            return
        error = ErrorData(code=ANSWER_TOO_LONG, message=cause.why, data={"limit": self._splitter.limit})
        self._link.heard = True
        self._ready.append(SessionMessage(JSONRPCError(jsonrpc="2.0", id=found, error=error)))

    def _oversized(self, size: int) -> LinkError:
        return LinkError(
            "oversized",
            f"it sent a message of {size:,} bytes or more; the limit is {self._splitter.limit:,} bytes",
            "Ask it for less, or raise `max_message_bytes` of the server.",
        )


class _Outgoing:
    """A line in the queue."""

    __slots__ = ("data", "done", "started")

    def __init__(self, data: memoryview, *, started: bool) -> None:
        self.data = data
        self.started = started
        self.done = trio.Event()


class StdioWriter(MessageWriter):
    """Messages into the server's stdin."""

    def __init__(self, link: StdioLink, fd: int, nursery: trio.Nursery) -> None:
        self._link = link
        self._fd = fd
        self._nursery = nursery
        self._queue: collections.deque[_Outgoing] = collections.deque()
        self.closed = self._given_up = False
        encoding = link.definition.encoding
        plain = codecs.lookup(encoding).name == "utf-8"
        self._encoder = None if plain else codecs.getincrementalencoder(encoding)("replace")

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message; returns when the pipe has all of it."""
        if self.closed:
            raise anyio.BrokenResourceError if self._given_up else anyio.ClosedResourceError
        data = self._encode(item)
        written = 0
        if not self._queue:
            try:
                written = os.write(self._fd, data)
            except BlockingIOError:
                pass
            except OSError:
                self._broken()
                raise anyio.BrokenResourceError from None
            if written == len(data):
                return
            self._nursery.start_soon(self._write_on)
        one = _Outgoing(memoryview(data)[written:], started=written > 0)
        self._queue.append(one)
        try:
            await one.done.wait()
        except trio.Cancelled:
            if not one.started and one in self._queue:
                self._queue.remove(one)
            raise
        if one.data:
            raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """Close the server's stdin, unless a line is still on its way."""
        self.closed = True
        if not self._queue:
            self._link.close_stdin()

    def _encode(self, item: SessionMessage) -> bytes:
        message = item.message
        if self._encoder is None:
            try:
                return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            except ValueError:  # half a surrogate pair in a text: JSON can escape it, UTF-8 cannot say it
                pass
        text = json.dumps(message.model_dump(by_alias=True, mode="python", exclude_unset=True)) + "\n"
        return text.encode() if self._encoder is None else self._encoder.encode(text)

    async def _write_on(self) -> None:
        """Empty the queue."""
        try:
            while self._queue:
                await trio.lowlevel.wait_writable(self._fd)
                if self._given_up or not self._queue:
                    break
                one = self._queue[0]
                one.started = True
                with contextlib.suppress(BlockingIOError):
                    one.data = one.data[os.write(self._fd, one.data) :]
                if not one.data:
                    self._queue.popleft()
                    one.done.set()
            if self.closed:
                self._link.close_stdin()
        except (trio.ClosedResourceError, OSError):
            self._broken()

    def give_up(self) -> None:
        """Write nothing more; who waits for their line to be written hears it."""
        self.closed = self._given_up = True
        for one in self._queue:
            one.done.set()
        self._queue.clear()

    def _broken(self) -> None:
        self.give_up()
        # A server that hears nothing any more is gone, though it may not have noticed.
        self._link.stop(None)


class StdioLink(Link):
    """The link to a process."""

    def __init__(
        self, definition: ServerDefinition, on_gone: Callable[[], None], process: trio.Process, nursery: trio.Nursery
    ) -> None:
        super().__init__(definition, on_gone)
        self.process = process
        self.stdin = cast("FdStream", process.stdin)
        self.stdout = cast("FdStream", process.stdout)
        self.stderr = cast("FdStream", process.stderr)
        self.pid = process.pid
        self.box: Box | None = None
        """The sandbox, where it is confined."""
        self.stopped = False
        self._tail: collections.deque[bytes] = collections.deque(maxlen=STDERR_LINES)
        self.explanation = trio.Event()
        """Set once stderr has ended."""
        self.read: StdioReader = StdioReader(self, self.stdout.fileno())
        self.write: StdioWriter = StdioWriter(self, self.stdin.fileno(), nursery)

    @property
    def tail(self) -> list[str]:
        """The last lines of stderr, fit to be shown."""
        return [text for line in self._tail if (text := self._shown(line))]

    def stop(self, cause: LinkError | None) -> None:
        """End the link from this side: nothing more is read than what is there already."""
        if self.stopped:
            return
        self.stopped = True
        if cause is None:
            self.read.drain()
        self.end(cause)
        trio.lowlevel.notify_closing(self.stdout.fileno())

    def close_stdin(self) -> None:
        """The server reads the end of its input."""
        self.write.give_up()
        self.stdin.close()

    def leave(self) -> None:
        """The host ends the link from now on: nobody is notified, and nothing more is read."""
        super().leave()
        self.stopped = True
        trio.lowlevel.notify_closing(self.stdout.fileno())

    def close(self) -> None:
        """Close all pipes; nobody may use them any more."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()

    def garbage_fault(self) -> LinkError:
        """Nothing but garbage came."""
        fault = super().garbage_fault()
        status = self.process.returncode
        ended = f", then {_ended(status)}" if status is not None else ""
        return LinkError(
            "garbage",
            f"{fault.why}{ended}{self._words()}",
            "Check that the command starts an MCP server in its stdio mode and prints its logs to stderr.",
        )

    def _guess(self) -> LinkError:
        status = self.process.returncode
        if status is not None:
            return self._exited(status)
        if self.gone.is_set():
            return LinkError(
                "closed",
                f"it closed its pipes without an exit{self._words()}",
                "Look into the log of the server: `--verbose` shows its stderr.",
            )
        if not self.heard:
            return LinkError(
                "silent",
                f"it runs but says nothing: no answer within {self.definition.connect_s:g} s (time-out){self._words()}",
                "Check that the command starts an MCP server in its stdio mode, or give it more time to start: "
                + (
                    "`timeout`, or `install_timeout` where it fetches what it runs."
                    if fetches(self.definition.argv)
                    else f"`timeout` (now {self.definition.connect_s:g} s)."
                ),
            )
        return LinkError("timeout", f"it does not answer{self._words()}", "Raise `request_timeout`, or ask for less.")

    def _exited(self, status: int) -> LinkError:
        early = "" if self.heard else ", before it said anything"
        last = next(reversed(self.tail), "")
        if status in {126, 127} and last.startswith(f"{_reaper.GATE_NAME}:"):
            return LinkError(
                "missing_command" if status == 127 else "not_executable",
                f"the command cannot be started: {shorten(last.rpartition('exec: ')[2])}",
                "Check that the program its first line (#!) names is installed.",
            )
        fix = "Run the command in a terminal to see why it ends."
        if any(_OLD_SDK.match(line) for line in self.tail):
            fix = (
                "It was written for version 1 of the package mcp, and another is installed beside it: pin that, as in "
            )
            fix += "uvx --with 'mcp<2' PACKAGE."
        elif any(_MISFIT.match(line) for line in self.tail):
            fix = "Its package does not fit another beside it: pin one that does, as in uvx --with 'NAME<2'."
        elif self.box is not None and self.box.replaced:
            why = f"it was ended, for {self.box.replaced}, which this host reads, was replaced where it may write"
            return LinkError("exited", why, "Look at that file, which it could change for a moment.")
        elif self.box is not None:
            fix = f"It is confined; {suggestion(self.definition.name)}"
            fix = " ".join([*self.refusals(), *self._bound(status), fix])
        return LinkError("exited", f"it {_ended(status)}{early}{self._words()}", fix)

    def _bound(self, status: int) -> list[str]:
        """The bound of its sandbox that it seems to have ended by, with the line to change."""
        assert self.box is not None
        reached = self.box.bounds.reached(status, " ".join(self.tail))
        if reached is None:
            return []
        return [f"It seems to have reached {reached} = {getattr(self.box.bounds, reached)}: raise that in its table."]

    def refusals(self) -> list[str]:
        """What its sandbox refused to it, in words, each with the line to add."""
        if self.box is None:
            return []
        from pegboard_mcp.client.transports._box import told

        return [f"{told(self.definition, one)}." for one in self.box.relay.refused]

    def _words(self) -> str:
        """The last lines of stderr, for a message, without those that point at a place in the line before. Where a
        program tells by indented lines where it was, those at the margin say what was wrong."""
        raw = [(line, text) for line in self._tail if (text := self._shown(line)).strip(" ^~")]
        lines = [text for _, text in raw]
        if any(map(_WHERE.match, lines)):
            at_margin = [text for line, text in raw if not (line[:1].isspace() or _HEADING.match(text))]
            lines = at_margin or lines
        shown = " | ".join(map(shorten, lines[-5:]))
        return f"; its last words: {shown}" if shown else ""

    async def explain(self) -> LinkError:
        """`why`, after the exit status and the end of stderr, which are waited for shortly."""
        if self.gone.is_set():
            await self.last_words()
            if not self.heard and not self.garbage:
                self.read.hear_out()
        return self.why()

    async def last_words(self) -> None:
        """Wait shortly for the exit status and for the end of stderr."""
        with trio.move_on_after(LAST_WORDS_S):
            await self.process.wait()
            await self.explanation.wait()

    async def keep_stderr(self) -> None:
        """Keep the last lines of stderr, and log what the budget takes."""
        fd = self.stderr.fileno()
        splitter = LineSplitter(STDERR_LINE_BYTES)
        try:
            while True:
                is_behind = self._budget.left_out > 0
                with trio.move_on_at(self._budget.renews_at if is_behind else float("inf")) as pause:
                    await trio.lowlevel.wait_readable(fd)
                if pause.cancelled_caught:  # it is silent again
                    self._log_count(logging.INFO)
                    continue
                try:
                    chunk = os.read(fd, CHUNK)
                except BlockingIOError:  # pragma: no cover - a wake-up for nothing
                    continue
                if not chunk:
                    break
                for number, line in enumerate(splitter.feed(chunk.replace(b"\r", b"\n")), 1):
                    self._keep(line.head if isinstance(line, TooLong) else line)
                    if number % AT_ONCE == 0:
                        await trio.lowlevel.checkpoint()
            self._keep(splitter.rest())
            self._log_count(logging.INFO)
        except (trio.ClosedResourceError, OSError):  # left: nobody is there to hear the rest
            pass
        finally:
            self.explanation.set()

    def _keep(self, line: bytes) -> None:
        if not line.strip():
            return
        self._tail.append(line)
        if self.journal is not None:
            self.journal.note(line)
        if self.log.isEnabledFor(logging.INFO) and self._budget.takes(len(line), trio.current_time()):
            self._log_count(logging.INFO)
            self.log.info("%s", self._shown(line))

    def _shown(self, line: bytes) -> str:
        return shorten(self.definition.mask_words(line.decode("utf-8", "replace")), STDERR_LINE_BYTES)

    async def watch(self) -> None:
        """Wait for the process, then end the link, whoever still holds its pipes."""
        await self.process.wait()
        if self._leaving:
            return
        self.end()
        with trio.move_on_after(LAST_WORDS_S):
            await self.explanation.wait()
        if not self._leaving:
            self.stop(None)


def _ended(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


@contextlib.asynccontextmanager
async def open_stdio(definition: ServerDefinition, on_gone: Callable[[], None]) -> AsyncIterator[StdioLink]:
    """Start a server and give the link to it. Raises `LinkError`."""
    _reaper.acquire()
    process: trio.Process | None = None
    box: Box | None = None
    link: StdioLink | None = None
    try:
        process, box = await start(definition, gently=may_install(definition.argv))
        async with beside() as nursery:
            link = StdioLink(definition, on_gone, process, nursery)
            if box is not None:
                link.box = box
                nursery.start_soon(box.serve)
            nursery.start_soon(link.keep_stderr)
            nursery.start_soon(link.watch)
            try:
                yield link
            finally:
                with trio.CancelScope(shield=True):
                    await _stop(link)
    finally:
        if link is not None:
            link.close()
        if box is not None:
            box.close()
        _reaper.release(process.pid if process is not None else None)


async def _stop(link: StdioLink) -> None:
    """End the process and all of its group. Every wait is bounded."""
    process = link.process
    link.leave()
    async with trio.open_nursery() as nursery:
        # A server that is stuck in writing reads no end of its input: throw away what it still writes.
        nursery.start_soon(throw_away, link.stdout.fileno())
        with trio.move_on_after(_process.GRACE_S if link.heard else UNHEARD_GRACE_S):
            await link.write.aclose()
            await process.wait()
        link.close_stdin()
        # One that has said nothing yet may still be installing itself.
        installs = not link.heard and may_install(link.definition.argv)
        await end_group(process, INSTALL_GRACE_S if installs else _process.GRACE_S)
        nursery.cancel_scope.cancel()
