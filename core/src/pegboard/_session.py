"""The session of a host: one per connection, chat or program run. `pegboard.session` says what each member is."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from math import inf, isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from pegboard._frozen import EMPTY
from pegboard.contract import Outcome
from pegboard.dialects._common import MAX_ID, call_of, id_of
from pegboard.errors import ErrorCode, Retry, ToolError
from pegboard.pipeline.classify import GivenError, missing_loop, pass_on, timed_out
from pegboard.pipeline.normalise import clean_error
from pegboard.pipeline.stages import Heard, Trace, asked_here
from pegboard.registry import Page, page_of
from pegboard.results import ToolResult, stamped
from pegboard.session import CHECKPOINT_S, SOURCES_WAIT_S, Confirmation, Session
from pegboard.text import clean
from pegboard.tools import MAX_NAME, Tool, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import trio

    from pegboard.context import CallContext
    from pegboard.pipeline.plan import PlanEntry
    from pegboard.protocols import Host
    from pegboard.registry import Snapshot
    from pegboard.registry.visible import VisibleTools
    from pegboard.result_store import ResultStore
    from pegboard.session import Answer, Confirm, OnProgress, Sampler

T = TypeVar("T")
_new = object.__new__  # of what is filled by its maker

AT_ONCE = 64
"""How many calls of `call_many` begin before the loop passes a checkpoint: trio runs all tasks that can go on in one
turn.
"""


def _is_number(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _wrong_timeout(timeout_s: Any) -> ToolError | None:
    """Why it is not a deadline. One that has passed is a deadline all the same, and so is infinity."""
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if is_number and (timeout_s == inf or timeout_s == -inf or _is_number(timeout_s)):
        return None
    if is_number:
        got = "NaN" if isinstance(timeout_s, float) else "an integer that is too large"
    else:
        got = type(timeout_s).__name__
    return ToolError(ErrorCode.INVALID_INPUT, f"timeout_s: expected a number of seconds or None, got {got}")


def _as_asked(call_id: Any, timeout_s: Any) -> tuple[str, float | None, ToolError | None]:
    """The id of a call, empty where one is to be drawn, and its deadline; or what is wrong with them."""
    wrong = None if timeout_s is None else _wrong_timeout(timeout_s)
    given = id_of(call_id)
    if isinstance(given, ToolError):
        wrong, given = given, ""
    return given, timeout_s if timeout_s is None or wrong is not None else max(timeout_s, 0), wrong


class HostSession(Session):
    """The session of a host; what its members are says `Session`."""

    def __init__(
        self,
        host: Host,
        visible: VisibleTools,
        *,
        user_id: str | None = None,
        channel: str = "program",
        confirm: Confirm | None = None,
        on_progress: OnProgress | None = None,
        id: str | None = None,  # noqa: A002 - the attribute's name
    ) -> None:
        if not isinstance(user_id, str | None):
            raise TypeError(
                f"user_id: expected text or None, got {type(user_id).__name__}; str(...) makes text of a number"
            )
        for name, given in (("confirm", confirm), ("on_progress", on_progress)):
            if given is not None and not callable(given):
                raise TypeError(f"{name}: expected an async function or None, got {type(given).__name__}")
        self._host = host
        self._visible = visible
        self._confirm = confirm
        self._on_progress = on_progress
        self.id = id or os.urandom(8).hex()
        self.user_id = user_id.strip() or None if user_id else None
        self.channel = channel
        self.read_only = visible.read_only
        self.approvals: set[str] = set()
        self.sampler: Sampler | None = None
        self.cuts_results = True
        self.counts_limits = True
        self.masks_secrets = False
        self.reads_with: Session | None = None
        core = host.board.config.core
        self.approval_timeout_s = core.approval_timeout_s
        self._kept: ResultStore | None = None
        self._asking = 0
        self._acceptance: trio.Lock | None = None
        self._declined: set[str] = set()
        self._held: dict[trio.CancelScope, float] = {}  # what their deadlines have left, while a person is asked

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.user_id or 'nobody'} on {self.channel}>"

    @property
    def host(self) -> Host:
        return self._host

    @property
    def kept(self) -> ResultStore:
        if self._kept is None:
            from pegboard.result_store import ResultStore

            core = self._host.board.config.core
            self._kept = ResultStore(core.kept_results_bytes, core.kept_results_s)
        return self._kept

    @property
    def profile(self) -> str | None:
        return self._visible.profile

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._offered.tools

    @property
    def _offered(self) -> Snapshot:
        return self._visible.snapshot.offered(read_only=self.read_only)

    def masked(self, value: Any, *, source: str | None = None, target: str | None = None) -> Any:
        if target is None and not self.masks_secrets:
            return value
        secrets = self._host.runtime.secrets
        return value if secrets is None else secrets.mask_value(value, source, target)

    def note_read(
        self, read: Any, *, source: str | None = None, tool: str | None = None, arguments: Any = None
    ) -> None:
        if (flows := self._host.runtime.flows) is not None:
            known = None if tool is None else self._visible.plans.get(tool)
            flows.note_read(self, read, source if known is None else known.tool, tool or "", arguments)

    def note_defined(self, definition: Mapping[str, Any], *, source: str) -> None:
        if (flows := self._host.runtime.flows) is not None:
            flows.note_defined(definition, source)

    async def require_flow(self, tool: Tool, arguments: Mapping[str, Any], *, asks: bool = True) -> None:
        if (flows := self._host.runtime.flows) is None:
            return
        import trio

        with trio.move_on_after(self.approval_timeout_s) as scope:
            await flows.require(self, tool, arguments, asks=asks)
        if not scope.cancelled_caught:
            return
        raise ToolError(
            ErrorCode.TIMEOUT,
            f"nobody answered the question of {tool.name!r} within {self.approval_timeout_s:g} s",
            reason="confirmation",
            executed=False,
            retry=Retry.SAME.value,
        )

    def note_said(self, text: str) -> None:
        if (flows := self._host.runtime.flows) is not None:
            flows.note_said(self, text)

    def list_tools(self, cursor: str | None = None, limit: int = 100) -> Page:
        snapshot = self._offered
        return page_of(snapshot.tools, snapshot.names, cursor, limit)

    async def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - a public name
        timeout_s: float | None = None,
    ) -> ToolResult:
        host = self._host
        runtime = host.runtime
        observers, ask, unobserved = runtime.observers, runtime.asked_first, None
        if (
            timeout_s is not None
            or (observers and ask is None)
            or not (id is None or (type(id) is str and len(id) <= MAX_ID))
        ):
            return await self._call_with_care(name, arguments, id, timeout_s, None)
        # A name comes from a model and may be a list or an object, which have no hash: `get` would raise.
        plan = self._visible.plans.get(name) if type(name) is str else None
        if plan is None or perf_counter() - host.last_checkpoint > CHECKPOINT_S:
            return await self._call_with_care(name, arguments, id, timeout_s, None)
        if ask is not None and (unobserved := runtime.unobserved(ask)) is None:
            return await self._call_with_care(name, arguments, id, timeout_s, None)
        arguments = EMPTY if arguments is None else arguments
        try:
            return await plan.answer(self, arguments, id or next(runtime.ids), None, None)
        finally:
            if unobserved is not None:
                runtime.end(unobserved, observers[0][0])

    async def call_nested(self, name: str, arguments: Any, parent: CallContext) -> ToolResult:
        return await self._call_with_care(name, arguments, None, None, parent)

    async def call_many(
        self, calls: Iterable[ToolCall | Mapping[str, Any]], *, timeout_s: float | None = None
    ) -> list[ToolResult]:
        import trio

        asked = [call if isinstance(call, ToolCall) else call_of(call) for call in calls]
        results: list[ToolResult | None] = [None] * len(asked)

        async def one(index: int) -> None:
            call = asked[index]
            if isinstance(call, ToolResult):
                results[index] = self._notify_observers(call)
                return
            results[index] = await self.call(call.name, call.arguments, id=call.id, timeout_s=timeout_s)

        index = 0
        while index < len(asked):
            end = index
            while end < len(asked) and self.may_overlap(asked[end].name):
                end += 1
            if end - index < 2:
                await one(index)
                index += 1
                continue
            try:
                async with trio.open_nursery() as nursery:
                    for overlapping in range(index, end):
                        nursery.start_soon(one, overlapping)
                        if (overlapping - index) % AT_ONCE == AT_ONCE - 1:
                            await trio.lowlevel.checkpoint()
            except BaseExceptionGroup as problem:
                pass_on(problem)  # bare, out of the nursery's group
                raise
            index = end
        return [result for result in results if result is not None]

    def may_overlap(self, name: str) -> bool:
        entry = self._visible.plans.get(name) if type(name) is str else None
        if entry is None:  # a source may bring it yet
            return type(name) is not str or not self._host.may_come(name, self.profile)
        return entry.tool.annotations.read_only or entry.tool.annotations.parallel

    def may_wait(self, name: str) -> bool:
        entry = self._visible.plans.get(name) if type(name) is str else None
        return entry is None or entry.waits

    def check(self, name: str, arguments: Any = None) -> ToolResult:
        self._host.require_open()
        started = perf_counter()
        entry = self._visible.plans.get(name) if type(name) is str else None
        if entry is None:
            result = ToolResult.of_error(clean_error(self.missing(name))[0])
        else:
            result = entry.check(self, EMPTY if arguments is None else arguments)
        return stamped(result, "", _shown(name), (perf_counter() - started) * 1000)

    async def _call_with_care(
        self, name: Any, arguments: Any, call_id: str | None, timeout_s: float | None, parent: CallContext | None
    ) -> ToolResult:
        """The long way of `call`: a name that is not there, a caller's deadline, observers, a checkpoint.

        The checkpoint comes after the call, and only a cancellation is asked for before it (`trio.lowlevel` splits a
        checkpoint so): no other task runs between the caller's turn and the call's guards, so of two calls the one that
        was made first spends the limit, and asks the person first; and no cancellation loses what a tool has answered.
        """
        host, runtime = self._host, self._host.runtime
        if type(name) is not str and isinstance(name, str):
            name = str.__str__(name)  # of a subclass too: an enum of texts is its value
        wrong: ToolError | None = None
        if timeout_s is not None or call_id is not None:
            call_id, timeout_s, wrong = _as_asked(call_id, timeout_s)
        call_id, arguments = call_id or next(runtime.ids), EMPTY if arguments is None else arguments
        entry = self._visible.plans.get(name) if type(name) is str else None
        tool = None if entry is None else entry.tool
        parent_id = None if parent is None else parent.call_id
        observers, call, trace = runtime.observers, None, None
        tokens: Sequence[Any] = ()
        is_heard = bool(observers)
        if runtime.begins:
            call = ToolCall(call_id, name, arguments)
            tokens, is_heard = runtime.begin(call, self, tool, parent_id)
        started_at, started = time.time(), perf_counter()
        if is_heard or entry is None or timeout_s is not None or wrong is not None:
            trace = Trace()
            trace.arrived_at = started
        result: ToolResult | None = None
        try:
            if started - host.last_checkpoint > CHECKPOINT_S:
                from trio.lowlevel import checkpoint_if_cancelled

                host.require_open()  # the last checkpoint of a host that has ended lies behind every call
                await checkpoint_if_cancelled()
            if wrong is not None:
                result = stamped(ToolResult.of_error(wrong), call_id, _shown(name), 0.0)
            elif entry is not None and timeout_s is None:
                result = await entry.answer(self, arguments, call_id, parent, trace)
            else:
                assert trace is not None, "of every call that is not plain there is one"
                entry = entry or await self._entry_to_come(name, timeout_s)
                entry = entry or await self._accepted_entry(name, timeout_s)
                tool = None if entry is None else entry.tool
                trace.arrived_at = perf_counter()
                call = call or ToolCall(call_id, name, arguments)
                result = await self._answer_in_time(entry, call, timeout_s, parent, trace)
                result = stamped(result, call_id, _shown(name), (perf_counter() - started) * 1000)
        finally:
            ended = perf_counter()
            if not is_heard:
                for token, (plugin, _) in zip(tokens, observers, strict=True):
                    runtime.end(token, plugin)
            elif trace is not None and runtime.observers:  # there are none any more once the host has ended
                trace.ended_at, duration_ms, outcome = ended, (ended - started) * 1000, _new(Heard)
                outcome.told = (
                    call, call_id, name, arguments, self, tool, result, started_at, duration_ms, trace, parent_id
                )  # fmt: skip
                runtime.observe(outcome, tokens, observers)
        if ended - host.last_checkpoint > CHECKPOINT_S:
            await host.checkpoint(shield=True)
        return result

    async def _entry_to_come(self, name: Any, timeout_s: float | None) -> PlanEntry | None:
        """What is registered under a name once its source has started; None: nothing."""
        if type(name) is not str or not self._host.may_come(name, self.profile):
            return None
        wait_s = SOURCES_WAIT_S if timeout_s is None else min(timeout_s, SOURCES_WAIT_S)
        await self._host.wait_for_sources(name, timeout_s=wait_s, profile=self.profile)
        return self._visible.plans.get(name)

    async def _accepted_entry(self, name: Any, timeout_s: float | None) -> PlanEntry | None:
        """What is registered under a name once the person has accepted it; None: nothing, or they did not."""
        if self._confirm is None or type(name) is not str:
            return None
        error = self._host.board.held_back(name, profile=self.profile)
        if error is None:
            return None
        import trio

        with trio.move_on_after(self.approval_timeout_s if timeout_s is None else timeout_s):
            await self.accept_held(name, error)
        return self._visible.plans.get(name)

    async def accept_held(self, name: str, error: ToolError) -> bool:
        if self._confirm is None or error.details.get("reason") != "held":
            return False
        import trio

        from pegboard.absence import question_of

        self._acceptance = self._acceptance or trio.Lock()
        async with self._acceptance:  # of several calls at once one asks
            if name in self.tools:
                return True
            board = self._host.board
            about = question_of(board.sources, name, error)
            if about is None or about.question in self._declined:
                return False
            question = clean(about.question)[0]
            asked = Confirmation(question, about.tool, EMPTY, self, is_running=True, is_acceptance=True)
            try:
                answer = await self._answer_to(asked)
            except ToolError:  # whoever is there cannot be asked: a client that asks nobody, a page that is closed
                return False
            if answer is not True:
                self._declined.add(about.question)
                return False
            await trio.to_thread.run_sync(about.accept)  # it may write a file
            board.offer_again()
            return name in self.tools

    async def _answer_in_time(
        self, entry: PlanEntry | None, call: ToolCall, timeout_s: float | None, parent: CallContext | None, trace: Trace
    ) -> ToolResult:
        """The answer by the deadline of the caller; where nothing has the name, that."""
        import trio

        if entry is None:
            return ToolResult.of_error(clean_error(self.missing(call.name))[0])
        if timeout_s is None:
            return await entry.answer(self, call.arguments, call.id, parent, trace)
        result: ToolResult | None = None
        with trio.move_on_after(timeout_s) as scope:
            result = await entry.answer(self, call.arguments, call.id, parent, trace)
        left = self._host.runtime.threads.is_left(entry.tool.name, call.id)
        return _by_the_callers_deadline(
            entry.tool, result, scope.cancel_called, timeout_s, left=left, reached=trace.reached
        )

    def refuse_line(self, error: ToolError, *, id: str = "", name: str = "", line: Any = None) -> ToolResult:  # noqa: A002
        return self._notify_observers(
            stamped(ToolResult.of_error(clean_error(error)[0]), id, clean(name)[0], 0.0), line
        )

    def _notify_observers(self, result: ToolResult, line: Any = None) -> ToolResult:
        if self._host.runtime.observers:
            call = ToolCall(result.id, result.name, line)
            self._host.runtime.observe(Outcome(call, self, None, result, time.time(), 0.0))
        return result

    def missing(self, name: Any) -> ToolError:
        if type(name) is not str:
            return ToolError(ErrorCode.INVALID_INPUT, f"name: expected the name of a tool, got {type(name).__name__}")
        from pegboard.absence import not_found, told_to

        board = self._host.board
        if (held := board.held_back(name, profile=self.profile)) is not None:
            return held
        return not_found(name, self.tools, told_to(self, board.sources_away(name, profile=self.profile)))

    # What the context of a call passes on.

    def resource(self, kind: type[T]) -> T:
        return self._host.resource(kind)

    async def report_progress(self, call_id: str, done: float, total: float | None, message: str | None) -> None:
        if self._on_progress is not None and _is_number(done):  # what is not finite has no JSON form, and says nothing
            total = total if total is not None and _is_number(total) else None
            with _of_the_program("on_progress"):
                await self._on_progress(call_id, done, total, message and clean(message)[0])

    @property
    def can_ask(self) -> bool:
        return self._confirm is not None

    def nobody_to_ask(self, tool: Tool) -> ToolError:
        return ToolError(
            ErrorCode.FORBIDDEN,
            f"{tool.name!r} asks a person first, and there is nobody to ask here; at a terminal --yes answers for them",
            reason="confirmation",
            retry=Retry.CHANGED.value,
        )

    async def ask(self, tool: Tool, arguments: Mapping[str, Any], question: str, *, is_running: bool = False) -> bool:
        if self._confirm is None:
            raise self.nobody_to_ask(tool)
        answer = await self._answer_to(Confirmation(clean(question)[0], tool, arguments, self, is_running=is_running))
        if answer == "session" and not is_running:
            self.approvals.add(tool.fingerprint)
        return answer is True or answer == "session"

    async def elicit(
        self, tool: Tool, question: str, *, schema: Mapping[str, Any] | None = None, url: str | None = None
    ) -> Mapping[str, Any] | bool | None:
        if self._confirm is None:
            raise self.nobody_to_ask(tool)
        asked = Confirmation(clean(question)[0], tool, EMPTY, self, schema, url, is_running=True)
        answer = await self._answer_to(asked)
        if schema is None:
            return None if answer is None else answer is True or answer == "session"
        return answer if answer is None or isinstance(answer, Mapping) else False

    async def _answer_to(self, confirmation: Confirmation) -> Answer:
        import trio

        assert self._confirm is not None, "whoever asks has looked"
        if (asked := asked_here.get()) is not None:
            asked.append(confirmation.question)
        # The clocks stand while a person is asked, from the first of several questions to the last: what they hold is
        # how much was left.
        if not self._asking:
            for scope in self._held:
                self._held[scope], scope.deadline = scope.deadline - trio.current_time(), float("inf")
        self._asking += 1
        try:
            with _of_the_program("confirm"):
                return await self._confirm(confirmation)
        finally:
            self._asking -= 1
            if not self._asking:  # of several questions at once the last one
                for scope, left in self._held.items():
                    scope.deadline = trio.current_time() + left

    @contextlib.contextmanager
    def hold_while_asked(self, scope: trio.CancelScope) -> Iterator[None]:
        import trio

        self._held[scope] = scope.deadline - trio.current_time()
        if self._asking:
            scope.deadline = float("inf")
        try:
            yield
        finally:
            left = self._held.pop(scope)
            if self._asking:
                scope.deadline = trio.current_time() + left

    def cut(self, result: ToolResult, max_bytes: int) -> ToolResult:
        if not self.cuts_results:
            return result
        shown = self.kept.cut(result, max_bytes)
        if shown is not result:
            self._host.offer_read_result()
        return shown


_NOT_AWAITABLE = ("can't be used in 'await' expression", "can't be awaited")  # before and since Python 3.14


@contextlib.contextmanager
def _of_the_program(function: str) -> Iterator[None]:
    """What a program gave to a session fails as its own, not as the tool's, where it waits for the other loop."""
    try:
        yield
    except (AttributeError, RuntimeError, TypeError) as problem:
        loop = missing_loop(problem)
        if loop is None and not any(words in str(problem) for words in _NOT_AWAITABLE):
            raise
        if loop is None:
            why = f"the function {function!r} of the session cannot be awaited: write it as `async def`"
            raise GivenError(why) from problem
        cure = (
            "runs on trio here: write it with trio or anyio, or open the host by pegboard.asyncio.open_host"
            if loop == "asyncio"
            else "runs in the loop of asyncio here: write it with asyncio, or open the host under trio"
        )
        raise GivenError(f"the function {function!r} of the session waits for {loop}, and {cure}") from problem


def _shown(name: Any) -> str:
    return clean(name[:MAX_NAME])[0] if type(name) is str else ""


def _by_the_callers_deadline(
    tool: Tool, result: ToolResult | None, fired: bool, timeout_s: float, *, left: bool, reached: bool
) -> ToolResult:
    """The caller's deadline over everything: nothing came, it came late, or the tool broke on being stopped."""
    if result is None:
        details: dict[str, Any] = {"still_running": True} if left else {}
        if not reached:
            details = {"executed": False, "retry": Retry.SAME.value, "retry_after_s": 1}
        return ToolResult.of_error(timed_out(tool, timeout_s, by="caller", **details))
    if not fired:
        return result
    if result.error is None:
        details = {**(result.details or {}), "late": True, "timeout_s": timeout_s}
        return ToolResult(result.content, result.data, None, details, result.id, result.name, result.duration_ms)
    # A tool that breaks when it is told to end did not fail: it ran out of time. Any other error is its real answer.
    if result.error.code is ErrorCode.INTERNAL_ERROR:
        return ToolResult.of_error(timed_out(tool, timeout_s, by="caller"))
    return result
