"""What a handler may ask for while it runs."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pegboard._frozen import EMPTY
from pegboard.errors import ErrorCode, Retry, ToolError
from pegboard.limits import CALL_LEVELS
from pegboard.results import CheckedResult, ToolResult
from pegboard.text import clean

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    import trio

    from pegboard.session import Session
    from pegboard.tools import Tool

T = TypeVar("T")

PREPARE_S = 60.0
"""How long a call waits, unless it says otherwise, for what has to be there before its work begins."""

PREPARE_SHARE = 0.8
"""Of what a caller's own deadline leaves; the rest is for saying that nothing was done."""

log = logging.getLogger("pegboard.tool")

_NOBODY_WAITS: frozenset[Any] = frozenset()


class CallContext:
    """What a handler may ask for: annotate a parameter with it and the host injects it.

    Methods that wait are async; a handler in a thread uses the forms that end in `_sync`, which are for threads alone.

    Attributes:
        session: who is calling and what they may use; its `user_id` is the only identity to trust.
        call_id: the id of this call.
        tool: the tool as it stood when the call came.
        deadline: when the execution has to end, in seconds of the loop's clock (`trio.current_time()`); infinite for a
            tool that runs in place.
        has_asked: whether a person was asked something while it ran, by this call or one that it made: then its answer
            is of that person too.
        permissions: the tool's permissions, an instance of the class that it declared, or None.
        arguments: the JSON arguments as they were validated, and repaired where that was possible; the handler's own
            are typed. Nobody changes them.

    .. versionadded:: 0.1
    """

    __slots__ = (
        "_asked",
        "_left",
        "_parent",
        "_secrets",
        "_stops",
        "arguments",
        "call_id",
        "deadline",
        "depth",
        "has_asked",
        "held",
        "is_begun_anew",
        "last_checked",
        "layers_scope",
        "on_begun",
        "permissions",
        "scope",
        "session",
        "tool",
    )

    def __init__(
        self,
        session: Session,
        call_id: str,
        tool: Tool,
        permissions: Any,
        parent: CallContext | None,
        arguments: Mapping[str, Any] = EMPTY,
    ) -> None:
        self.session = session
        self.call_id = call_id
        self.tool = tool
        self.permissions = permissions
        self.arguments = arguments
        # Where the handler runs elsewhere: who is told that it was reached.
        self.on_begun: Callable[[], None] | None = None
        self.deadline = float("inf")
        # What the deadline ends, while the handler runs under one; and who has stopped its clock.
        self.scope: trio.CancelScope | None = None
        self.layers_scope: trio.CancelScope | None = None
        self.last_checked: tuple[ToolResult, int] | None = None  # what layers gave on, and its size
        self._parent = parent
        self._stops = 0
        self._left: list[tuple[trio.CancelScope, float]] = []
        self.has_asked = self.is_begun_anew = False
        self.depth: int = 0 if parent is None else parent.depth + 1
        # Limits that this chain of calls holds: a nested call that would wait for one of them would wait for itself.
        self.held: frozenset[object] = frozenset() if parent is None else parent.held
        self._secrets: tuple[str, ...] = ()
        # Scopes of what threads ask of the loop just now.
        self._asked: set[Any] | frozenset[Any] | None = None

    def __repr__(self) -> str:
        return f"<CallContext {self.call_id} of {self.tool.name}>"

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger of this tool; secrets that the call has read are masked in what it writes."""
        return _MaskingLog(log.getChild(self.tool.name), {"call_id": self.call_id}, self)

    def resource(self, kind: type[T]) -> T:
        """The one resource of that type that a plugin's `open_resources` opened.

        Raises:
            ToolError: INTERNAL_ERROR: no plugin opened one, or it could not be opened; doctor says why.
        """
        return self.session.resource(kind)

    def secret(self, name: str) -> str:
        """The value of the environment variable `name`, which the tool declared in `secrets`.

        It is masked in the result, in errors, in the log and in the audit of this call.

        Raises:
            ToolError: INTERNAL_ERROR: the tool did not declare it; FORBIDDEN, reason `secret`: it is not set.
        """
        if name not in self.tool.secrets:
            raise ToolError(ErrorCode.INTERNAL_ERROR, f"the tool did not declare the secret {name!r}")
        value = os.environ.get(name, "")
        if not value:
            raise ToolError(
                ErrorCode.FORBIDDEN,
                f"the secret {name} is not set; set the environment variable {name} where the host runs",
                reason="secret",
                retry=Retry.CHANGED.value,
            )
        self.hide(value)
        return value

    def hide(self, *texts: str) -> None:
        """Have these texts masked as `secret` does: what was made of a secret, or a secret that came another way.

        .. versionadded:: 0.1
        """
        forms = {form for text in texts if text for form in _forms_of(text)}
        # The longest first, so that none is left in part.
        self._secrets = tuple(sorted(forms.union(self._secrets), key=len, reverse=True))

    @property
    def is_counted(self) -> bool:
        """For a guard that counts: whether this call is to be; not where the host that sent it has counted it, nor
        where it was counted when it came, and begins anew (`begin_anew`).

        .. versionadded:: 0.1
        """
        if self._parent is not None:
            return not self._parent.is_begun_anew
        return self.session.counts_limits

    @property
    def secrets_read(self) -> tuple[str, ...]:
        """The values that must not leave the host, the longest first."""
        return self._secrets

    def begun(self) -> None:
        """For an executor: from here on the work may have an effect.

        Until then, a call that meets its deadline says `executed: false`, and may be repeated: it waited in a queue. An
        executor calls this before it starts the work, or before it lets go of what starts it. One that never did would
        have it told of work that is done; so nothing is said before a call of the tool was seen to begin so, unless the
        executor has the attribute `tells_begun = True`.

        .. versionadded:: 0.1
        """
        if self.on_begun is not None:
            self.on_begun()

    def checked(self, result: ToolResult) -> CheckedResult | None:
        """For a layer: the success that `call_next` just answered, to be given again at another call.

        None for a failure, and for anything else, which nobody has checked.

        .. versionadded:: 0.1
        """
        if self.last_checked is None or result is not self.last_checked[0] or result.error is not None:
            return None
        return CheckedResult(self.tool, *self.last_checked)

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the caller how far the work is; nothing happens where nobody listens."""
        if message is not None and self._secrets:
            message = mask(message, self.secrets_read)
        if message is not None and self.session.masks_secrets:
            try:
                message = self.session.masked(message, source=self.tool.origin.source)
            except ToolError:  # `refuse`: the work goes on, and what it says of itself is not told
                message = None
        await self.session.report_progress(self.call_id, done, total, message)

    async def confirm(self, question: str) -> bool:
        """Ask the person behind the session. The deadlines of the call stand still meanwhile.

        Raises:
            ToolError: FORBIDDEN, reason `confirmation`: there is nobody to ask; TIMEOUT: no answer came within the
                session's `approval_timeout_s`.
        """
        asking = partial(self.session.ask, is_running=True)
        return bool(await self._ask_person(asking, self.tool, {}, mask(question, self.secrets_read)))

    async def begin_anew(self, arguments: Mapping[str, Any], error: ToolError) -> ToolResult:
        """Answer this call by what its tool is now, where that was held back while it ran and a person accepts it.

        Its limits were taken when it came, and are not taken again. Waits as `confirm`.

        Args:
            arguments: of the call.
            error: why it cannot go on.

        Raises:
            ToolError: the error itself: it is another than FORBIDDEN, reason `held`, or nobody accepts.

        .. versionadded:: 0.1
        """
        if not await self._ask_person(self.session.accept_held, self.tool.name, error):
            raise error
        self.is_begun_anew = True
        return await self.call(self.tool.name, arguments)

    async def elicit(
        self, question: str, *, schema: Mapping[str, Any] | None = None, url: str | None = None
    ) -> Mapping[str, Any] | bool | None:
        """Ask the person for more than a yes; see `Session.elicit`. Waits and raises as `confirm`."""
        asking = partial(self.session.elicit, schema=schema, url=url)
        return cast("Mapping[str, Any] | bool | None", await self._ask_person(asking, self.tool, question))

    async def _ask_person(self, ask: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Approval has a limit of its own: neither this call's deadline nor that of a call around it runs."""
        import trio

        one: CallContext | None = self
        while one is not None:
            one.has_asked, one = True, one._parent
        with self._stopped_clock(), trio.move_on_after(self.session.approval_timeout_s) as scope:
            return await ask(*arguments)
        assert scope.cancelled_caught
        raise ToolError(
            ErrorCode.TIMEOUT,
            f"nobody answered the question of {self.tool.name!r} within {self.session.approval_timeout_s:g} s",
            reason="confirmation",
            retry=Retry.SAME.value,
        )

    @contextlib.contextmanager
    def _stopped_clock(self) -> Iterator[None]:
        """Let the deadlines of this call, and of those that it is nested in, stand still."""
        chain = [self]
        while (parent := chain[-1]._parent) is not None:
            chain.append(parent)
        for one in chain:
            one._stop()
        try:
            yield
        finally:
            for one in chain:
                one._go_on()

    def _stop(self) -> None:
        import trio

        self._stops += 1
        if self._stops == 1:
            scopes = [scope for scope in (self.layers_scope, self.scope) if scope is not None]
            self._left = [(scope, scope.deadline - trio.current_time()) for scope in scopes]
            for scope in scopes:
                self.deadline = scope.deadline = float("inf")

    def _go_on(self) -> None:
        import trio

        self._stops -= 1  # a call that asks twice at once goes on with the last answer
        if self._stops == 0:
            for scope, left in self._left:
                self.deadline = scope.deadline = trio.current_time() + left

    async def prepare(self, ready: Callable[[], Awaitable[T]], *, timeout_s: float = PREPARE_S) -> T:
        """Wait for what has to be there before the work begins: a database is opened and migrated, a library imported.

        The deadlines of the call stand still meanwhile: the first call after a start does not pay for the start. This
        wait has a limit of its own, and ends in time for the `timeout_s` of a caller.

        Args:
            ready: does it and returns what it made; nothing of the call's own work.
            timeout_s: how long it may take.

        Raises:
            ToolError: TIMEOUT, reason `preparing`: it took longer. Nothing was done, and the call may be repeated.

        .. versionadded:: 0.1
        """
        import trio

        with self._stopped_clock():
            left_s = (trio.current_effective_deadline() - trio.current_time()) * PREPARE_SHARE
            limit_s = max(0.0, min(timeout_s, left_s))
            with trio.move_on_after(limit_s):
                return await ready()
        raise ToolError(
            ErrorCode.TIMEOUT,
            f"what the tool {self.tool.name!r} needs was not ready within {limit_s:.3g} s; nothing was done",
            reason="preparing",
            executed=False,
            retry=Retry.SAME.value,
        )

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Call another tool as the same session; at most 16 deep.

        A call that would wait on a limit that this chain holds is refused, since it would wait for itself.
        """
        if self.depth + 1 >= CALL_LEVELS:
            return ToolResult.of_error(
                ToolError(
                    ErrorCode.FORBIDDEN,
                    f"calls are nested {CALL_LEVELS} deep; a tool probably calls itself",
                    reason="depth",
                )
            )
        return await self.session.call_nested(name, arguments, self)

    async def run_in_process(
        self, module: str, function: str, arguments: Mapping[str, Any], *, limiter: trio.CapacityLimiter
    ) -> Any:
        """Run a part of the work of an async handler in a worker process: what may hang or burn CPU.

        The process, and all that it started, is killed if the call ends before it does. A tool all of whose work is
        of this kind says `run="process"` instead.

        Args:
            module: where the function is found; it is imported in the process.
            function: its name there, with dots for one inside a class.
            arguments: by keyword; they and what comes back are pickled.
            limiter: how many may run at once, of all calls that share it.

        Raises:
            trio_parallel.BrokenWorkerError: the process died.
            Exception: what the function raised.

        .. versionadded:: 0.1
        """
        from pegboard.pipeline.processes import run_in_process

        return await run_in_process(self.session.host.runtime, (module, function), arguments, limiter)

    def progress_sync(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """`progress` for a handler in a thread."""
        self._from_thread(self.progress, done, total, message)

    def confirm_sync(self, question: str) -> bool:
        """`confirm` for a handler in a thread."""
        return bool(self._from_thread(self.confirm, question, deadline=float("inf")))

    def call_sync(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """`call` for a handler in a thread."""
        result: ToolResult = self._from_thread(self.call, name, arguments)
        return result

    def check_cancelled(self) -> None:
        """For a handler in a thread that works long: raises `trio.Cancelled` once nobody waits for it any more."""
        import trio

        trio.from_thread.check_cancelled()

    def leave_thread(self) -> None:
        """End what the handler's thread asked of the loop, now that nobody waits for it: trio runs that elsewhere."""
        asked, self._asked = self._asked, _NOBODY_WAITS
        for scope in tuple(asked or ()):
            scope.cancel()

    def _from_thread(self, function: Callable[..., Any], *arguments: Any, deadline: float | None = None) -> Any:
        import trio

        async def ask() -> Any:
            asked = self._asked = set() if self._asked is None else self._asked
            if isinstance(asked, set):
                with trio.CancelScope(deadline=self.deadline if deadline is None else deadline) as scope:
                    asked.add(scope)
                    try:
                        return await function(*arguments)
                    finally:
                        asked.discard(scope)
            raise ToolError(ErrorCode.TIMEOUT, "the call is over, and nobody waits for its thread any more")

        return trio.from_thread.run(ask)


@functools.lru_cache(maxsize=256)
def _forms_of(text: str) -> frozenset[str]:
    """A text as it is, and as it stands inside of JSON text."""
    return frozenset((text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]))


def mask(text: str, secrets: tuple[str, ...]) -> str:
    """`text` with every secret replaced by `***`, in their order: `CallContext.secrets_read` has the longest first."""
    for value in secrets:
        if value in text:
            text = text.replace(value, "***")
    return text


def _clean_and_mask(text: str, secrets: tuple[str, ...]) -> str:
    """Mask secrets before and after cleaning: hidden characters may split a secret."""
    return mask(clean(mask(text, secrets))[0], secrets)


class _MaskingLog(logging.LoggerAdapter[logging.Logger]):
    def __init__(self, logger: logging.Logger, extra: Mapping[str, Any], context: CallContext) -> None:
        super().__init__(logger, dict(extra))
        self._context = context

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if self.isEnabledFor(level):
            text = str(msg) % args if args else str(msg)
            super().log(level, "%s", _clean_and_mask(text, self._context.secrets_read), **kwargs)
