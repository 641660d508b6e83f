"""A board that runs: its resources, its sources, its sessions.

    enter:  resources of every plugin, one after the other; then one supervised task a source
    leave:  sources are cancelled and awaited, worker processes end, resources are left in reverse order

Every task has the host's nursery as its owner, and nothing of it outlives `async with open_host()`.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import random
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from pegboard._renamed import Former
from pegboard._session import HostSession
from pegboard.config._secrets import get_logger
from pegboard.contract import SourceState
from pegboard.errors import ErrorCode, PegboardError, PluginError, ToolError, reason_of
from pegboard.pipeline.classify import pass_on
from pegboard.pipeline.runtime import OBSERVER, is_observer
from pegboard.registry.asking import kind_of
from pegboard.registry.board import Board, load_board
from pegboard.session import HOST_ENDED, SOURCES_WAIT_S
from pegboard.tools import READ_RESULT_NAME

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pegboard.config import Config
    from pegboard.contract import Observer, SpanKind, ToolSource
    from pegboard.limit_stores.shared import SharedLimits
    from pegboard.registry import Snapshot
    from pegboard.registry.asking import PluginRecord
    from pegboard.session import Confirm, OnProgress, Session
    from pegboard.tools import Tool

log = get_logger("pegboard")
notice = logging.getLogger("pegboard.notice")  # what a person reads without looking for it

T = TypeVar("T")

BACK_OFF_S = (1.0, 60.0)
"""A source that crashed is started again after a second, then twice as long each time, up to a minute; with jitter."""
LEAVE_S = 10.0
"""How long a plugin's resources may take to close when the host ends."""


class Host:
    """A board that runs. Made by `open_host`.

    Attributes:
        board: the board.
        runtime: what its plans share.
        last_checkpoint: when the loop last passed a checkpoint, in seconds of `time.perf_counter`.

    .. versionadded:: 0.1
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.runtime = board.runtime
        self.last_checkpoint = perf_counter()
        self._has_ended = False
        self._nursery: trio.Nursery | None = None
        self._resources: list[Any] = []
        self._lost: dict[str, str] = {}
        self._workers: Any = None
        self._workers_lock = trio.Lock()
        self._source_moved = trio.Event()
        self._source_scopes: dict[str, trio.CancelScope] = {}  # of those that run, or wait to be started again
        self._answered: set[str] = set()  # sources that offered tools, failed or ended at least once

    @functools.cached_property
    def limit_store(self) -> SharedLimits | None:
        """Where limits are counted that other processes share; None: in this process.

        It is made for the first call that a limit holds.

        .. versionadded:: 0.1
        """
        return self.board.limit_stores.open()

    # -- what is registered

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that can be called, by name, as of now; the mapping never changes."""
        return self.board.tools

    def categories(self) -> dict[str, int]:
        """How many tools there are of each category, by name."""
        return self.board.categories()

    def search(self, text: str | None = None, *, category: str | None = None, tag: str | None = None) -> list[Tool]:
        """Tools that hold every word of `text`, the best match first; see `Board.search`."""
        return self.board.search(text, category=category, tag=tag)

    def add(self, *tools: Tool | Callable[..., Any]) -> None:
        """Register tools, or functions that become some, in one swap.

        Raises:
            RuntimeError: the host has ended; so do `remove`, `enable`, `disable`, `add_observer` and what waits.
            ToolError: CONFLICT: a name is already registered.
            PluginError: a tool cannot be registered; the message says why and how to repair it.
        """
        self.require_open()
        self.board.add(*tools)

    def remove(self, *names: str) -> None:
        """Remove tools; calls that are under way go on.

        Raises:
            ToolError: NOT_FOUND: nothing of that name is registered.
        """
        self.require_open()
        self.board.remove(*names)

    def enable(self, *names: str) -> None:
        """Make disabled tools answer again; raises as `Board.enable`."""
        self.require_open()
        self.board.enable(*names)

    def disable(self, *names: str) -> None:
        """Keep tools registered, answering FORBIDDEN; raises as `Board.disable`."""
        self.require_open()
        self.board.disable(*names)

    def watch(self, watcher: Callable[[Snapshot, Snapshot], None]) -> Callable[[], None]:
        """Call `watcher(old, new)` after every change of the tools; returns what ends the watch."""
        return self.board.registry.watch(watcher)

    # -- who hears of calls

    def add_observer(self, observer: Observer, *, plugin: str = "the program") -> Callable[[], None]:
        """Let `observer` hear of every call that begins from now on, beside the observers of plugins.

        For whoever looks for a while, and must cost nothing before and after. The hook `provide_observers` is for those
        that hear all calls of a host.

        Args:
            observer: as of the hook; `Observer` says what it may have and must not do.
            plugin: whose it is, for doctor and the log.

        Returns:
            What ends that; calls that are under way then are still told.

        Raises:
            PluginError: it cannot be called, or is async.

        .. versionadded:: 0.1
        """
        self.require_open()
        if not is_observer(observer):
            raise PluginError(f"expected {OBSERVER}, got {kind_of(observer)}")
        return self.runtime.add_observer(plugin, observer)

    # -- who calls

    def session(
        self,
        user_id: str | None = None,
        *,
        channel: str = "program",
        profile: str | None = None,
        confirm: Confirm | None = None,
        on_progress: OnProgress | None = None,
        masks_secrets: bool = False,
    ) -> Session:
        """A session for one connection, chat or program run.

        Args:
            user_id: who calls; None: `user_id` of the configuration; blank: nobody.
            channel: how they came, for the audit.
            profile: which tools they see; None: the configuration's default.
            confirm: asked before tools that require it: `async confirm(Confirmation) -> True | False | "session"`.
            on_progress: hears progress: `async on_progress(call_id, done, total, message)`.
            masks_secrets: whether a model reads the results: then keys and passwords in them are masked (`[secrets]`).

        Raises:
            ConfigError: there is no such profile.
            RuntimeError: the host has ended.
        """
        self.require_open()
        visible = self.board.visible_tools(profile)
        if user_id is None:
            selected = self.board.config.profiles.get(visible.profile) if visible.profile else None
            user_id = (selected.user_id if selected else None) or self.board.config.core.user_id
        session = HostSession(self, visible, user_id=user_id, channel=channel, confirm=confirm, on_progress=on_progress)
        session.masks_secrets = masks_secrets
        return session

    # -- sources

    @property
    def sources_starting(self) -> bool:
        """Whether a source is still about to offer its first tools; one that has failed once is not waited for."""
        return any(map(self._is_awaited, self.board.source_states))

    def may_come(self, name: str, profile: str | None = None) -> bool:
        """Whether one of those sources could bring a tool of that name to sessions of the profile.

        .. versionadded:: 0.1
        """
        if not self.sources_starting:  # at once: models miss names all day
            return False
        return any(self._is_awaited(one.source) for one in self.board.sources_away(name, profile=profile))

    def _is_awaited(self, source: str) -> bool:
        return source not in self._answered and self.board.source_states[source][0].is_coming

    async def wait_for_sources(
        self, name: str | None = None, *, timeout_s: float = SOURCES_WAIT_S, profile: str | None = None
    ) -> None:
        """Wait until the sources have offered their first tools, or have failed to.

        Args:
            name: of a tool: wait until it is registered at most, and for those sources alone that could bring it.
            timeout_s: how long to wait at most, in seconds.
            profile: of the sessions that want the tool.
        """
        self.require_open()
        with trio.move_on_after(timeout_s):
            while self.sources_starting if name is None else self._is_missed(name, profile):
                await self.wait_source_moved()

    def _is_missed(self, name: str, profile: str | None) -> bool:
        return name not in self.board.registry.plans and self.may_come(name, profile)

    is_settling = Former("sources_starting")
    settle = Former("wait_for_sources")
    breathe = Former("checkpoint")

    async def wait_source_moved(self) -> None:
        """Wait until a source offers other tools, or does better or worse.

        Raises:
            RuntimeError: the host has ended, or ends meanwhile.

        .. versionadded:: 0.1
        """
        self.require_open()
        await self._source_moved.wait()
        self.require_open()

    def source_moved(self, source: str) -> None:
        """A source offers other tools, or does better or worse."""
        state, reason = self.board.source_states[source]
        if not state.is_coming or (state is SourceState.CONFIGURED and reason is not None):
            self._answered.add(source)
        # A `trio.Event` happens once and has no `clear`: who waits has this one, and who comes later waits for the
        # next.
        self._source_moved.set()
        self._source_moved = trio.Event()

    def restart_source(self, name: str) -> None:
        """End a source, and start it again at once; one that waits for its next try does not wait any longer.

        Its tools stay on the board meanwhile, and calls of them that are under way answer for themselves.

        Raises:
            ToolError: NOT_FOUND: no source of that name runs.

        .. versionadded:: 0.1
        """
        # The supervisor runs on after a scope that was cancelled, and starts the source anew.
        scope = self._source_scopes.get(name)
        if scope is None:
            raise ToolError(ErrorCode.NOT_FOUND, f"no source named {name[:80]!r} runs on this host")
        scope.cancel()

    async def _require_sources(self) -> None:
        """Wait for the sources that the host must not open without.

        Raises:
            PluginError: one did not start; it says why.
        """
        for record, source in self.board.sources:
            if not getattr(source, "required", False):
                continue
            while self.board.source_states[source.name][0] is not SourceState.READY:
                state, reason = self.board.source_states[source.name]
                if state in (SourceState.FAILED, SourceState.BACKING_OFF):
                    raise PluginError(
                        f"the source {source.name!r} of {record.label} is required, and did not start: {reason}",
                        hint="repair it, or let it be not required; pegboard doctor explains",
                    )
                await self._source_moved.wait()

    # -- what calls need

    def require_open(self) -> None:
        """Refuse what comes too late.

        Raises:
            RuntimeError: the host has ended.

        .. versionadded:: 0.1
        """
        if self._has_ended:
            raise RuntimeError(HOST_ENDED)

    def _end(self) -> None:
        self._has_ended = True
        self.last_checkpoint = -float("inf")  # every call takes the long way, which refuses it
        self.runtime.watch(())
        self._source_moved.set()  # no source moves any more

    async def checkpoint(self, *, shield: bool = False) -> None:
        """Pass a trio checkpoint: calls that never wait do not starve other tasks.

        Args:
            shield: let other tasks run, and be cancelled later: the caller holds a result.
        """
        # Before the wait too: of a thousand calls that come at once one passes the checkpoint.
        if not self._has_ended:
            self.last_checkpoint = perf_counter()
        await (trio.lowlevel.cancel_shielded_checkpoint() if shield else trio.lowlevel.checkpoint())
        if not self._has_ended:
            self.last_checkpoint = perf_counter()

    def span(
        self, name: str, kind: SpanKind, attributes: Mapping[str, Any]
    ) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """Work of the host beside calls, as observers with a `span` hear it: a request that a server answers, one that
        is made, a question to a model. Nothing is done where there is none.

        Args:
            name: what it is, in a few words that repeat.
            kind: of the span.
            attributes: what is known of it, by the names of OpenTelemetry's conventions; no content, no secret.

        Returns:
            A context manager; what the block puts into its dict is added at the end. Whatever leaves the block is told
            as `error.type`.

        .. versionadded:: 0.1
        """
        return self.runtime.span(name, kind, attributes)

    def measure(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """A figure that belongs to no call and to no span, as observers with a `measure` hear it: how long a session
        lasted, which begins and ends in tasks of its own. Nothing is done where there is none.

        Args:
            name: of the metric, by OpenTelemetry's conventions, as `mcp.server.session.duration`.
            value: in the unit of that metric; durations in seconds.
            attributes: by which it is counted: few values each, no content, no secret.

        .. versionadded:: 0.1
        """
        self.runtime.measure(name, value, attributes)

    def resource(self, kind: type[T]) -> T:
        """The resource of that type.

        Raises:
            ToolError: INTERNAL_ERROR: none is open.
        """
        for resource in self._resources:
            if isinstance(resource, kind):
                return resource
        raise ToolError(
            ErrorCode.INTERNAL_ERROR,
            f"no {kind.__name__} is open on this host; pegboard doctor says why",
            reason="resource",
            retry="never",
        )

    def offer_read_result(self) -> None:
        """Register `read_result`, now that there is something to read."""
        if READ_RESULT_NAME not in self.board.registry.plans:
            from pegboard.result_store import READ_RESULT

            try:
                self.board.add(READ_RESULT)
            except PegboardError:
                log.exception("read_result cannot be registered, so what was cut cannot be read on")

    # -- life

    async def _close_limit_store(self) -> None:
        if (store := vars(self).pop("limit_store", None)) is not None:
            with trio.move_on_after(LEAVE_S, shield=True):
                await store.aclose()

    async def _open_resources(self, stack: contextlib.AsyncExitStack) -> None:
        for record, manager in self.board.plugins.ask("open_resources"):
            try:
                opened = await stack.enter_async_context(_forgiving(record, manager, self._lost))
            except BaseException as problem:
                pass_on(problem)
                if record.named or record.builtin or self.board.plugins.strict:
                    explained = problem if isinstance(problem, PegboardError) else None
                    failed = f"plugin {record.label} could not open its resources: {explained or reason_of(problem)}"
                    raise PluginError(
                        # Of the core's own it helps nobody to know which: what is told is the file of --log-json.
                        str(explained) if record.builtin and explained else failed,
                        hint=(explained and explained.hint)
                        or "repair its settings, or uninstall it; this is fatal because the configuration names it",
                    ) from problem
                log.exception("plugin %s could not open its resources", record.label, exc_info=problem)
                self._lost[record.name] = reason_of(problem)
            else:
                self._resources += opened if isinstance(opened, tuple) else [opened]

    def _reason_of(self, problem: BaseException) -> BaseException:
        """What left the block; a `Cancelled` that is nobody's came of a resource that failed while the host ran."""
        if not _is_cancelled(problem) or trio.current_effective_deadline() == -float("inf"):
            return problem
        plugins = ", ".join(map(repr, self._lost)) or "a plugin"
        return PluginError(f"the resources of {plugins} failed while the host ran", hint="the host's log has the cause")

    @property
    def lost_resources(self) -> Mapping[str, str]:
        """Plugins whose resources could not be opened or closed, with the cause."""
        return dict(self._lost)

    def _find_observers(self) -> None:
        answers = self.board.plugins.ask_for_many("provide_observers", is_observer, OBSERVER)
        self.runtime.watch((record.name, one) for record, observers in answers for one in observers)

    async def _supervise(self, source: ToolSource) -> None:
        """Run a source until it returns; start it again, after a pause, whenever it crashes."""
        slot = _Slot(self, source.name)
        pause_s = BACK_OFF_S[0]
        has_ended = False
        while not has_ended:
            began = trio.current_time()
            slot.start()
            with trio.CancelScope() as self._source_scopes[source.name]:  # `restart_source` cancels it
                try:
                    await source.run(slot)
                except BaseException as problem:
                    pass_on(problem)  # the host's own end, and Ctrl-C
                    log.exception("source %s crashed", source.name, exc_info=problem)
                    # One that ran for longer than the longest pause was well: its next crash is a first one.
                    if trio.current_time() - began > BACK_OFF_S[1]:
                        pause_s = BACK_OFF_S[0]
                    slot.crashed(problem)
                    # Jitter: sources that one outage ended do not all come back in the same moment, again and again
                    # (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
                    await trio.sleep(pause_s * random.uniform(0.5, 1.5))
                    pause_s = min(2 * pause_s, BACK_OFF_S[1])
                else:
                    has_ended = True
        del self._source_scopes[source.name]
        slot.replace(())
        slot.set_state(SourceState.CONFIGURED, "it ended")

    async def _worker_pool(self) -> Any:
        """The worker processes of this host, started when the first tool needs one."""
        async with self._workers_lock:
            if self._workers is None:
                assert self._nursery is not None, "calls are made while the host runs"
                self._workers = await self._nursery.start(_keep_workers)
        return self._workers


class _Slot:
    """A source's place on the board."""

    def __init__(self, host: Host, name: str) -> None:
        self._host = host
        self._board = host.board
        self._name = name
        self._crash: tuple[str | None, str | None] = (None, None)

    def replace(self, tools: Iterable[Tool]) -> None:
        """Swap the source's tools; one that was starting is ready then."""
        self._board.replace_source(self._name, tools)
        if self._board.source_states[self._name][0] is SourceState.STARTING:
            self.set_state(SourceState.READY)
        else:
            self._host.source_moved(self._name)

    def set_state(self, state: SourceState, reason: str | None = None) -> None:
        """Say how the source is doing; whoever misses a tool of its is told the reason."""
        self._tell(SourceState(state), reason)

    def measure(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """`Host.measure`."""
        self._host.measure(name, value, attributes)

    def start(self) -> None:
        """Say that the source is starting; one that crashed keeps the reason until it offers something."""
        self._tell(SourceState.STARTING, *self._crash)

    def crashed(self, problem: BaseException) -> None:
        """Say that `run` raised: its text may hold anything, so callers are told its type alone."""
        told = f"it crashed ({type(problem).__name__}); its cause is in the host's log"
        self._crash = reason_of(problem), told
        self._tell(SourceState.BACKING_OFF, *self._crash)

    def _tell(self, state: SourceState, reason: str | None, told: str | None = None) -> None:
        self._board.set_source_state(self._name, state, reason, told)
        self._host.source_moved(self._name)


def _is_cancelled(problem: BaseException) -> bool:
    if isinstance(problem, BaseExceptionGroup):
        return all(map(_is_cancelled, problem.exceptions))
    return isinstance(problem, trio.Cancelled)


@contextlib.asynccontextmanager
async def _forgiving(
    record: PluginRecord, manager: AbstractAsyncContextManager[Any], lost: dict[str, str]
) -> AsyncIterator[Any]:
    """A plugin's resource: it has a bounded time to close, and its failure to close is logged, not raised.

    The scope is entered before the manager, which may hold scopes and nurseries of its own, and bounds only its end.
    """
    with trio.CancelScope() as scope:
        opened = await manager.__aenter__()
        try:
            yield opened
        finally:
            scope.shield, scope.deadline = True, trio.current_time() + LEAVE_S
            try:
                # Without what ended the block: an exit that answers true would swallow it (PEP 343), and the host's end
                # is not the plugin's to stop.
                await manager.__aexit__(None, None, None)
            except BaseException as problem:
                pass_on(problem)  # the scope's own end, and Ctrl-C
                if not isinstance(problem, PegboardError):  # its text need not say why
                    log.exception("plugin %s could not close its resources", record.label, exc_info=problem)
                lost[record.name] = reason_of(problem)
                notice.error("plugin %s could not close its resources: %s", record.label, lost[record.name])
    if scope.cancelled_caught:
        lost[record.name] = f"it did not close within {LEAVE_S:g} s"
        notice.error("plugin %s did not close its resources within %g s", record.label, LEAVE_S)


async def _keep_workers(task_status: trio.TaskStatus[Any] = trio.TASK_STATUS_IGNORED) -> None:
    """Worker processes, each the leader of a group of its own, and the folder where they say who works on what."""
    import tempfile

    import trio_parallel

    from pegboard.pipeline.processes import keep_out_of_the_working_directory, lead_a_group

    keep_out_of_the_working_directory()
    with tempfile.TemporaryDirectory(prefix="pegboard-") as folder:
        opened = trio_parallel.open_worker_context(idle_timeout=60, grace_period=2, init=lead_a_group)
        async with opened as workers:
            task_status.started((workers, folder))
            with contextlib.suppress(trio.Cancelled):
                await trio.sleep_forever()


@contextlib.asynccontextmanager
async def open_host(
    config: str | os.PathLike[str] | Mapping[str, Any] | Config | Board | None = None,
    plugins: Sequence[Any] | None = None,
    *,
    without: Iterable[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> AsyncIterator[Host]:
    """A board that runs as long as the block; takes what `load_board` takes, or a board.

    Leaving the block cancels the sources, ends worker processes and closes resources in reverse order. An exception of
    the block leaves it as it is, in no group.

    Raises:
        ConfigError: the configuration is wrong; it lists every fault.
        PluginError: a plugin failed whose failure is fatal, or a source did not start that is required.

    .. versionadded:: 0.1
    """
    if not trio.lowlevel.in_trio_run():
        raise RuntimeError(
            "open_host runs under trio; under asyncio use pegboard.asyncio.open_host, "
            "and from other programs pegboard.open_host_sync"
        )
    board = config if isinstance(config, Board) else load_board(config, plugins, without=without, overrides=overrides)
    host = Host(board)
    problem: BaseException | None = None
    try:
        async with contextlib.AsyncExitStack() as stack:
            # Resources may hold nurseries: they lie around the host's own, which ends first. A limit store may use one.
            await host._open_resources(stack)
            stack.push_async_callback(host._close_limit_store)
            # A nursery around a `yield` is sound in a context manager alone (flake8-async, ASYNC101): its block always
            # comes back.
            async with trio.open_nursery() as tasks:
                host._nursery = tasks
                try:
                    host._find_observers()
                    board.runtime.workers = host._worker_pool
                    for _, source in board.sources:
                        tasks.start_soon(host._supervise, source, name=f"pegboard source {source.name}")
                    await host._require_sources()
                    yield host
                except BaseException as raised:  # noqa: BLE001 - raised again below, outside the nursery and its group
                    problem = raised
                finally:
                    tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # Ctrl-C met a task of the host: it comes in a nursery's group
        interrupt = group.subgroup(KeyboardInterrupt)
        problem = KeyboardInterrupt() if interrupt is not None else group
    finally:
        host._end()
    if problem is not None:
        raise host._reason_of(problem)
