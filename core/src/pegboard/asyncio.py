"""A host for programs on asyncio, uvloop too: FastAPI, notebooks, bots. The same API as on trio, in one import.

    async with pegboard.asyncio.open_host() as host:
        result = await host.session("ada").call("roll_dice", {"notation": "2d6"})

The host runs in a thread of its own, where trio has its own loop, and not as a guest of yours: several hosts may run at
once, a tool that computes does not hold your loop up, and the host closes in order whatever becomes of your loop. What
crosses over is a call, its cancellation and its answer:

    your task is cancelled        the call's scope is, and the task goes on when the call has ended
    the call asks or tells you    your `confirm` and `on_progress` run in your loop; cancelled with the call
    the host ends                 calls that still run raise RuntimeError

Async functions that your program adds as tools run in your loop as well, and may await whatever lives there. Tools of
plugins run under trio.

.. versionadded:: 0.1
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import functools
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import trio

from pegboard._api import open_host as open_host_of_trio
from pegboard._renamed import Former
from pegboard.context import CallContext
from pegboard.session import HOST_ENDED
from pegboard.sync import HostInThread, HostThread, SessionInThread
from pegboard.tools import Tool, as_tool, is_async

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
    from types import TracebackType

    from pegboard.config import Config
    from pegboard.host import Host
    from pegboard.registry import Snapshot
    from pegboard.registry.board import Board
    from pegboard.results import ToolResult
    from pegboard.session import Confirm, OnProgress
    from pegboard.tools import ToolCall

__all__ = ["AsyncioContext", "AsyncioHost", "AsyncioSession", "open_host"]

T = TypeVar("T")

LEAVE_S = 15.0
"""How long a process that ends without leaving the block waits for the host to close."""


OUTWAIT_S = 5.0
"""How long a call that was cancelled waits for what it started in the program's loop to end."""


# -- crossing over


async def _ask_trio(thread: HostThread, work: Callable[[], Awaitable[T]]) -> T:
    """Run trio work in the host's thread, for a task of asyncio; cancelled with it, and always waited for."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    scope = trio.CancelScope()

    async def run() -> None:
        done: Callable[[], None] = partial(_fail, answer, RuntimeError(HOST_ENDED))
        try:
            with scope:
                done = partial(_settle, answer, await work())
            if scope.cancelled_caught:
                done = answer.cancel  # type: ignore[assignment]
        except trio.Cancelled:
            raise  # the host's end
        except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
            done = partial(_fail, answer, problem)
        finally:
            _tell(loop, done)

    thread.start_soon(run)
    try:
        # Shielded: a task that is cancelled cancels the future that it waits for (`asyncio.Task.cancel`), and then
        # nobody would hear how the call ended.
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        if answer.cancelled():  # nobody but us cancels it
            raise
        thread.soon(scope.cancel)
        await _outwait(answer)
        raise


async def _ask_asyncio(loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[T]]) -> T:
    """Run asyncio work in a program's loop, for a task of trio; cancelled with it, and always waited for."""
    token, ended = trio.lowlevel.current_trio_token(), trio.Event()
    context = contextvars.copy_context()
    tasks: list[asyncio.Task[T]] = []

    def tell(_: asyncio.Task[T]) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            token.run_sync_soon(ended.set)

    async def run() -> T:
        return await work()  # in the task, which ends whatever this raises; a callback would tell nobody

    def start() -> None:
        task = loop.create_task(run(), context=context)
        tasks.append(task)
        task.add_done_callback(tell)

    loop.call_soon_threadsafe(start)
    try:
        await ended.wait()
    except trio.Cancelled:
        _tell(loop, lambda: tasks[0].cancel())
        # A loop that was closed, or stopped, ends nothing any more.
        with trio.move_on_after(0 if loop.is_closed() else OUTWAIT_S, shield=True):
            await ended.wait()
        raise
    return tasks[0].result()


async def _outwait(answer: asyncio.Future[Any]) -> None:
    """Wait until it is there, however often the task is cancelled meanwhile."""
    while not answer.done():
        try:
            # `wait` leaves what it waits for as it is when it is cancelled; `wait_for` would cancel it.
            await asyncio.wait([answer])
        except asyncio.CancelledError:
            continue
    if not answer.cancelled():
        answer.exception()  # whoever was cancelled does not hear it


def _settle(answer: asyncio.Future[T], value: T) -> None:
    if not answer.done():
        answer.set_result(value)


def _fail(answer: asyncio.Future[Any], problem: BaseException) -> None:
    if not answer.done():
        answer.set_exception(problem)


def _tell(loop: asyncio.AbstractEventLoop, done: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(done)
    except RuntimeError:  # the loop is closed, and nobody waits there
        return


# -- what a program has


class AsyncioSession(SessionInThread):
    """A `Session` whose calls are awaited under asyncio. Made by `AsyncioHost.session`.

    .. versionadded:: 0.1
    """

    async def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - a public name
        timeout_s: float | None = None,
    ) -> ToolResult:
        """Call a tool; see `Session.call`. Cancelling the task cancels the call, and waits until it has ended."""
        work = partial(self._session.call, name, arguments, id=id, timeout_s=timeout_s)
        return await _ask_trio(self._thread, work)

    async def call_many(
        self, calls: Iterable[ToolCall | Mapping[str, Any]], *, timeout_s: float | None = None
    ) -> list[ToolResult]:
        """Call several tools; see `Session.call_many`."""
        return await _ask_trio(self._thread, partial(self._session.call_many, list(calls), timeout_s=timeout_s))


class AsyncioHost(HostInThread):
    """A `Host` for a program on asyncio. Made by `pegboard.asyncio.open_host`.

    Its methods are for the loop that opened it. After the block, what would have to reach the host raises
    `RuntimeError`.

    .. versionadded:: 0.1
    """

    def __init__(self, host: Host, thread: HostThread, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(host, thread)
        self._loop = loop

    def add(self, *tools: Tool | Callable[..., Any]) -> None:
        """Register tools, or functions that become some; see `Host.add`. Async ones run in this loop."""
        super().add(*(self._in_this_loop(as_tool(one)) for one in tools))

    def watch(self, watcher: Callable[[Snapshot, Snapshot], None]) -> Callable[[], None]:
        """Call `watcher(old, new)`, in this loop, after every change of the tools; returns what ends the watch."""
        stop = self._host.watch(lambda old, new: _tell(self._loop, partial(watcher, old, new)))
        return partial(self._thread.run_sync, stop)

    async def wait_for_sources(self, name: str | None = None, **options: Any) -> None:
        """Wait until the sources have offered their first tools; see `Host.wait_for_sources`."""
        await _ask_trio(self._thread, partial(self._host.wait_for_sources, name, **options))

    settle = Former("wait_for_sources")

    def session(
        self,
        user_id: str | None = None,
        *,
        confirm: Confirm | None = None,
        on_progress: OnProgress | None = None,
        **options: Any,
    ) -> AsyncioSession:
        """A session; takes what `Host.session` takes. `confirm` and `on_progress` run in this loop."""
        asking = partial(_over, self._loop, confirm) if callable(confirm) else confirm
        telling = partial(_over, self._loop, on_progress) if callable(on_progress) else on_progress
        session = self._open_session(user_id, confirm=asking, on_progress=telling, **options)
        return AsyncioSession(session, self._thread)

    def _in_this_loop(self, one: Tool) -> Tool:
        """An async tool of the program itself: its handler awaits what lives in the program's loop."""
        if not is_async(one):
            return one
        handler, loop, thread = one.handler, self._loop, self._thread

        @functools.wraps(handler)
        async def run(*args: Any, **kwargs: Any) -> Any:
            def mine(value: Any) -> Any:
                return AsyncioContext(value, thread, loop) if isinstance(value, CallContext) else value

            given = [mine(one) for one in args]
            named = {name: mine(one) for name, one in kwargs.items()}
            return await _ask_asyncio(loop, lambda: handler(*given, **named))

        return attrs.evolve(one, handler=run)


class AsyncioContext:
    """What an async tool of an asyncio program gets as its `CallContext`: the same, awaited under asyncio.

    .. versionadded:: 0.1
    """

    def __init__(self, context: CallContext, thread: HostThread, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._thread = thread
        self._loop = loop

    async def prepare(self, ready: Callable[[], Coroutine[Any, Any, T]], **options: Any) -> T:
        """Wait for what has to be there before the work begins; see `CallContext.prepare`. `ready` runs here."""
        work = partial(self._context.prepare, partial(_over, self._loop, ready), **options)
        return await _ask_trio(self._thread, work)

    def __getattr__(self, name: str) -> Any:
        """Everything that is not awaited is the context's own."""
        found = getattr(self._context, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def ask(*args: Any, **kwargs: Any) -> Any:
            return await _ask_trio(self._thread, partial(found, *args, **kwargs))

        return ask


async def _over(loop: asyncio.AbstractEventLoop, function: Callable[..., Any], *arguments: Any) -> Any:
    return await _ask_asyncio(loop, partial(function, *arguments))


class _Opening:
    """The host as long as its block. A class, since an asynchronous generator that is left open belongs to its loop."""

    def __init__(self, open_one: Callable[[], Any]) -> None:
        self._open_one = open_one
        self._thread: HostThread | None = None

    async def __aenter__(self) -> AsyncioHost:
        loop = asyncio.get_running_loop()
        # A daemon: a program that ends without leaving the block ends all the same, after the host was closed.
        thread = self._thread = HostThread(self._open_one, daemon=True)
        atexit.register(self._leave)
        opened = asyncio.wrap_future(thread.opened)
        try:
            return AsyncioHost(await asyncio.shield(opened), thread, loop)
        except BaseException:
            if not opened.done():
                opened.add_done_callback(lambda done: done.cancelled() or done.exception())  # heard by nobody
            await self._end()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()
        if problem is None and self._thread is not None:
            self._thread.ended.result()

    async def _end(self) -> None:
        """Close the host and wait for it, however often the task is cancelled meanwhile; then let it be cancelled."""
        assert self._thread is not None, "it was entered"
        self._thread.end()
        ended = asyncio.wrap_future(self._thread.ended)
        is_cancelled = False
        while not ended.done():
            try:
                await asyncio.wait([ended])
            except asyncio.CancelledError:
                is_cancelled = True
        if not ended.cancelled():
            ended.exception()
        self._thread.join()
        atexit.unregister(self._leave)
        if is_cancelled:
            raise asyncio.CancelledError

    def _leave(self) -> None:
        if self._thread is not None:
            self._thread.end()
            self._thread.join(LEAVE_S)


def open_host(
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | Board | None = None,
    plugins: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> _Opening:
    """A board that runs, for a program on asyncio: `async with pegboard.asyncio.open_host() as host`.

    Takes and raises what `pegboard.open_host` does; the host has the same methods. Several may be open at once.

    .. versionadded:: 0.1
    """
    return _Opening(lambda: open_host_of_trio(config, plugins, without=without, overrides=overrides))
