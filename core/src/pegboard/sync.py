"""A host for programs without trio: one in a thread of its own, asked from any other."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard.host import Host
    from pegboard.results import ToolResult
    from pegboard.session import Session
    from pegboard.tools import Tool, ToolCall


T = TypeVar("T")


class SyncSession:
    """A `Session` whose calls block until they are answered.

    .. versionadded:: 0.1
    """

    def __init__(self, session: Session, ask: Callable[..., Any]) -> None:
        self._session = session
        self._ask = ask

    @property
    def user_id(self) -> str | None:
        """Who calls, None for nobody."""
        return self._session.user_id

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools this session sees, by name, as of now."""
        return self._session.tools

    def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - a public name
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Call a tool; see `Session.call`."""
        result: ToolResult = self._ask(partial(self._session.call, name, arguments, id=id, timeout_s=timeout_s))
        return result

    def call_many(
        self, calls: Iterable[ToolCall | Mapping[str, Any]], *, timeout_s: float | None = None
    ) -> list[ToolResult]:
        """Call several tools; see `Session.call_many`."""
        results: list[ToolResult] = self._ask(partial(self._session.call_many, list(calls), timeout_s=timeout_s))
        return results

    def check(self, name: str, arguments: Any = None) -> ToolResult:
        """What a call would meet; see `Session.check`."""

        async def check() -> ToolResult:
            return self._session.check(name, arguments)

        result: ToolResult = self._ask(check)
        return result


class SyncHost:
    """A `Host` whose methods may be called from any thread. Made by `pegboard.open_host_sync`.

    After its `with` block, what would have to reach the host raises `RuntimeError`; so do its sessions.

    .. versionadded:: 0.1
    """

    def __init__(self, host: Host, token: trio.lowlevel.TrioToken) -> None:
        self._host = host
        self._token = token

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name, as of now."""
        return self._host.tools

    def categories(self) -> dict[str, int]:
        """How many tools there are of each category, by name."""
        return self._host.categories()

    def session(self, user_id: str | None = None, **options: Any) -> SyncSession:
        """A session; takes what `Host.session` takes."""
        make = partial(self._host.session, user_id, **options)
        with _while_it_runs():  # there: the first session of a profile makes its plans, which all its sessions share
            session: Session = trio.from_thread.run_sync(make, trio_token=self._token)
        return SyncSession(session, self._ask)

    def call(
        self, name: str, arguments: Any = None, *, user_id: str | None = None, timeout_s: float | None = None
    ) -> ToolResult:
        """One call in a session of its own."""
        return self.session(user_id).call(name, arguments, timeout_s=timeout_s)

    def add(self, *tools: Tool | Callable[..., Any]) -> None:
        """Register tools; see `Host.add`."""
        with _while_it_runs():
            trio.from_thread.run_sync(self._host.add, *tools, trio_token=self._token)

    def remove(self, *names: str) -> None:
        """Remove tools; see `Host.remove`."""
        with _while_it_runs():
            trio.from_thread.run_sync(self._host.remove, *names, trio_token=self._token)

    def _ask(self, function: Callable[[], Any]) -> Any:
        with _while_it_runs():
            return trio.from_thread.run(function, trio_token=self._token)


@contextlib.contextmanager
def _while_it_runs() -> Iterator[None]:
    try:
        yield
    except trio.RunFinishedError:
        raise RuntimeError("the host has ended") from None


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
        context = contextvars.copy_context()

        def start() -> None:
            assert self._calls is not None, "the host is open"
            context.run(self._calls.start_soon, work)

        with _while_it_runs():
            self.token.run_sync_soon(start)

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
        host = thread.opened.result()
        yield SyncHost(host, thread.token)
    finally:
        thread.end()
        thread.join()
    thread.ended.result()
