"""A host for programs without trio: one in a thread of its own, asked from any other."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard.host import Host
    from pegboard.results import ToolResult
    from pegboard.session import Session
    from pegboard.tools import Tool, ToolCall


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
        return SyncSession(self._host.session(user_id, **options), self._ask)

    def call(
        self, name: str, arguments: Any = None, *, user_id: str | None = None, timeout_s: float | None = None
    ) -> ToolResult:
        """One call in a session of its own."""
        return self.session(user_id).call(name, arguments, timeout_s=timeout_s)

    def add(self, *tools: Tool | Callable[..., Any]) -> None:
        """Hang tools; see `Host.add`."""
        with _while_it_runs():
            trio.from_thread.run_sync(self._host.add, *tools, trio_token=self._token)

    def remove(self, *names: str) -> None:
        """Take tools down; see `Host.remove`."""
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


@contextlib.contextmanager
def run_host(open_one: Callable[[], AbstractAsyncContextManager[Host]]) -> Iterator[SyncHost]:
    """Run a host in a thread until the block ends; what it raises at opening and closing is raised here.

    Raises:
        RuntimeError: inside a running trio loop: its thread would be blocked by every call.
    """
    if trio.lowlevel.in_trio_run():
        raise RuntimeError("this program runs trio: use `async with pegboard.open_host()` instead of the sync form")
    opened: Future[tuple[SyncHost, trio.CancelScope]] = Future()

    async def life() -> None:
        with trio.CancelScope() as scope:
            async with open_one() as host:
                opened.set_result((SyncHost(host, trio.lowlevel.current_trio_token()), scope))
                await trio.sleep_forever()

    ended: Future[None] = Future()

    def run() -> None:
        try:
            trio.run(life)
        except BaseException as problem:  # noqa: BLE001 - handed to the thread that waits
            (ended if opened.done() else opened).set_exception(problem)
        else:
            ended.set_result(None)

    def end(host: SyncHost, scope: trio.CancelScope) -> None:
        with contextlib.suppress(trio.RunFinishedError):  # it ended by itself: `ended` says why
            host._token.run_sync_soon(scope.cancel)

    thread = threading.Thread(target=run, name="pegboard-host")
    thread.start()
    try:
        host, scope = opened.result()
    except BaseException:
        # After Ctrl-C the host may still open: it is ended as soon as it has.
        opened.add_done_callback(lambda done: None if done.exception() else end(*done.result()))
        thread.join()
        raise
    try:
        yield host
    finally:
        end(host, scope)
        thread.join()
    ended.result()
