"""A host for programs without trio: one in a thread of its own, asked from any other.

`HostThread` is that thread. What of a host and its sessions is the same for all who ask from elsewhere stands in
`HostInThread` and `SessionInThread`; those for programs on asyncio are in `pegboard.asyncio`.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from pegboard.session import HOST_ENDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard.host import Host
    from pegboard.registry.board import Board
    from pegboard.results import ToolResult
    from pegboard.session import Session
    from pegboard.tools import Page, Tool, ToolCall

T = TypeVar("T")


class SessionInThread:
    """A `Session` of a host that runs in a thread of its own: all of it that need not be waited for.

    .. versionadded:: 0.1
    """

    def __init__(self, session: Session, thread: HostThread) -> None:
        self._session = session
        self._thread = thread

    def __repr__(self) -> str:
        return repr(self._session)

    @property
    def id(self) -> str:
        """Unique in this run of the host."""
        return self._session.id

    @property
    def user_id(self) -> str | None:
        """Who calls, None for nobody."""
        return self._session.user_id

    @property
    def channel(self) -> str:
        """How they came."""
        return self._session.channel

    @property
    def profile(self) -> str | None:
        """The profile that selects the tools of this session."""
        return self._session.profile

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools this session sees, by name, as of now."""
        return self._session.tools

    def list_tools(self, cursor: str | None = None, limit: int = 100) -> Page:
        """A page of them; see `Session.list_tools`."""
        return self._session.list_tools(cursor, limit)

    def check(self, name: str, arguments: Any = None) -> ToolResult:
        """What a call would meet; see `Session.check`."""
        return self._thread.run_sync(partial(self._session.check, name, arguments))


class HostInThread:
    """A `Host` that runs in a thread of its own: all of it that need not be waited for.

    .. versionadded:: 0.1
    """

    def __init__(self, host: Host, thread: HostThread) -> None:
        self._host = host
        self._thread = thread

    @property
    def board(self) -> Board:
        """The board that runs; to be read."""
        return self._host.board

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name, as of now; the mapping never changes."""
        return self._host.tools

    @property
    def lost_resources(self) -> Mapping[str, str]:
        """Plugins whose resources could not be opened or closed, with the cause."""
        return self._host.lost_resources

    def categories(self) -> dict[str, int]:
        """How many tools there are of each category, by name."""
        return self._host.categories()

    def search(self, text: str | None = None, *, category: str | None = None, tag: str | None = None) -> list[Tool]:
        """Tools that hold every word of `text`, the best match first; see `Board.search`."""
        return self._host.search(text, category=category, tag=tag)

    def add(self, *tools: Tool | Callable[..., Any]) -> None:
        """Register tools, or functions that become some; see `Host.add`."""
        self._thread.run_sync(partial(self._host.add, *tools))

    def remove(self, *names: str) -> None:
        """Remove tools; see `Host.remove`."""
        self._thread.run_sync(partial(self._host.remove, *names))

    def enable(self, *names: str) -> None:
        """Make disabled tools answer again; see `Host.enable`."""
        self._thread.run_sync(partial(self._host.enable, *names))

    def disable(self, *names: str) -> None:
        """Let tools stay and answer FORBIDDEN; see `Host.disable`."""
        self._thread.run_sync(partial(self._host.disable, *names))

    def _open_session(self, user_id: str | None, **options: Any) -> Session:
        # There: the first session of a profile makes its plans, which all its sessions share.
        return self._thread.run_sync(partial(self._host.session, user_id, **options))


class SyncSession(SessionInThread):
    """A `Session` whose calls block until they are answered.

    .. versionadded:: 0.1
    """

    def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - a public name
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Call a tool; see `Session.call`."""
        return self._thread.run(partial(self._session.call, name, arguments, id=id, timeout_s=timeout_s))

    def call_many(
        self, calls: Iterable[ToolCall | Mapping[str, Any]], *, timeout_s: float | None = None
    ) -> list[ToolResult]:
        """Call several tools; see `Session.call_many`."""
        return self._thread.run(partial(self._session.call_many, list(calls), timeout_s=timeout_s))


class SyncHost(HostInThread):
    """A `Host` whose methods may be called from any thread. Made by `pegboard.open_host_sync`.

    After its `with` block, what would have to reach the host raises `RuntimeError`; so do its sessions.

    .. versionadded:: 0.1
    """

    def session(self, user_id: str | None = None, **options: Any) -> SyncSession:
        """A session; takes what `Host.session` takes."""
        return SyncSession(self._open_session(user_id, **options), self._thread)

    def call(
        self, name: str, arguments: Any = None, *, user_id: str | None = None, timeout_s: float | None = None
    ) -> ToolResult:
        """One call in a session of its own."""
        return self.session(user_id).call(name, arguments, timeout_s=timeout_s)


@contextlib.contextmanager
def _while_it_runs() -> Iterator[None]:
    try:
        yield
    except trio.RunFinishedError:
        raise RuntimeError(HOST_ENDED) from None


class HostThread:
    """A thread in which a host runs until it is told to end; for those who ask it from elsewhere.

    Attributes:
        opened: has the host once it is open, or why it could not be opened.
        ended: is done when the thread has nothing left to do; has what the host raised when it closed.
    """

    def __init__(self, open_one: Callable[[], AbstractAsyncContextManager[Host]], *, daemon: bool = False) -> None:
        self._open_one = open_one
        self.opened: Future[Host] = Future()
        self.ended: Future[None] = Future()
        self._scope = trio.CancelScope()
        self._is_ending = False
        self._token: trio.lowlevel.TrioToken | None = None
        self._calls: trio.Nursery | None = None
        self._thread = threading.Thread(target=self._run, name="pegboard-host", daemon=daemon)
        self._thread.start()

    async def _live(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        with self._scope:
            if self._is_ending:
                return
            async with self._open_one() as host, trio.open_nursery() as self._calls:
                self.opened.set_result(host)
                await trio.sleep_forever()

    def _run(self) -> None:
        try:
            trio.run(self._live)
        except BaseException as problem:  # noqa: BLE001 - handed to the thread that waits
            if self.opened.done():
                self.ended.set_exception(problem)
                return
            self.opened.set_exception(problem)
        if not self.opened.done():
            self.opened.set_exception(RuntimeError("the host was ended before it was open"))
        self.ended.set_result(None)

    @property
    def token(self) -> trio.lowlevel.TrioToken:
        """For what has to run in the thread; there once the host is open."""
        assert self._token is not None, "the host is open"
        return self._token

    def start_soon(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start work in the thread, in a task that ends with the host and has the context of whoever asks.

        Raises:
            RuntimeError: the host has ended.
        """
        # As `asyncio.to_thread` does: the trace of whoever asks goes along, and what else a context variable holds.
        context = contextvars.copy_context()

        def start() -> None:
            assert self._calls is not None, "the host is open"
            context.run(self._calls.start_soon, work)

        with _while_it_runs():
            self.token.run_sync_soon(start)

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run an async function in the thread, and wait for what it returns, as `trio.from_thread.run` does.

        Raises:
            RuntimeError: the host has ended.
        """
        with _while_it_runs():
            value: T = trio.from_thread.run(work, trio_token=self.token)
            return value

    def run_sync(self, function: Callable[[], T]) -> T:
        """Run a function in the thread, and wait for what it returns.

        Raises:
            RuntimeError: the host has ended.
        """
        with _while_it_runs():
            value: T = trio.from_thread.run_sync(function, trio_token=self.token)
            return value

    def soon(self, function: Callable[[], object]) -> None:
        """Run a function in the thread, and wait for nothing; after the host's end nothing happens."""
        with contextlib.suppress(trio.RunFinishedError):
            self.token.run_sync_soon(function)

    def end(self) -> None:
        """Let the host close, or open no further; from any thread, and as often as one likes."""
        self._is_ending = True  # for a thread that has no token yet: it looks when it has one
        if self._token is not None:
            self.soon(self._scope.cancel)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until the thread is gone."""
        self._thread.join(timeout_s)


@contextlib.contextmanager
def run_host(open_one: Callable[[], AbstractAsyncContextManager[Host]]) -> Iterator[SyncHost]:
    """Run a host in a thread until the block ends; what it raises at opening and closing is raised here.

    Raises:
        RuntimeError: inside a running trio loop: its thread would be blocked by every call.
    """
    if trio.lowlevel.in_trio_run():
        raise RuntimeError("this program runs trio: use `async with pegboard.open_host()` instead of the sync form")
    thread = HostThread(open_one)
    try:
        yield SyncHost(thread.opened.result(), thread)
    finally:
        thread.end()
        thread.join()
    thread.ended.result()
