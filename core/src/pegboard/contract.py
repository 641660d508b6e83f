"""The values that plugins hand to the host: guards, validators, executors, observers, sources, dialects, checks.

Hooks (`pegboard.hookspecs`) are asked on the cold path and answer with these; the host compiles them into a tool's plan
and runs them on the hot path. Nothing here does anything by itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import attrs

from pegboard._frozen import EMPTY
from pegboard._values import Shown, Value

if TYPE_CHECKING:
    from pegboard.context import CallContext
    from pegboard.errors import Fault, ToolError
    from pegboard.results import CheckedResult, ToolResult
    from pegboard.session import Session
    from pegboard.tools import Tool, ToolCall

Validator = Callable[[Any], "Sequence[Fault]"]
"""A compiled schema: a JSON value in, every fault out; empty where the value is right. It never changes the value and
never raises on one.

One of a plugin judges a copy, so that it could not; one that says so by an attribute, `reads_only = True`, is spared
that. One that raises all the same, or answers something else, refuses the call: INTERNAL_ERROR, which names the plugin.

.. versionadded:: 0.1
"""

Executor = Callable[["CallContext", Mapping[str, Any]], Awaitable[Any]]
"""Where a tool runs: awaited with the context and the keyword arguments of the handler, returns what it returned.

With the attribute `tells_begun = True` it promises `CallContext.begun()` in each call, before the work may have an
effect.

.. versionadded:: 0.1
"""

Sampler = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""The model behind a session: the request and the result of MCP's `sampling/createMessage`.

.. versionadded:: 0.1
"""


class Stage(StrEnum):
    """When a guard is asked. The stages run in this order; `execute` and `normalise` lie before `filter`.

    .. versionadded:: 0.1
    """

    ADMIT = "admit"
    """`check(session)`, synchronous, before anything is looked at. Returns a `ToolError` or None."""
    APPROVE = "approve"
    """`check(context, arguments)`, plain or async, on the validated JSON arguments; it may wait for a person."""
    LIMIT = "limit"
    """`check(context)`, plain or async. Returns a `ToolError`, None, or a callable that gives back what was taken; the
    host calls that once the tool has ended, however it ended."""
    FILTER = "filter"
    """`check(context, result)`, plain or async. Returns the result to go on with; one that raises withholds it."""


Mode = Literal["enforce", "observe"]


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)  # never the letters of a text


@attrs.frozen(eq=False, repr=False)
class Guard(Shown):
    """A check put on one tool when it is registered on the board.

    Args:
        name: unique among the guards of a tool; guards of a stage run in the order of their names, those that refuse in
            read-only mode last.
        stage: when it is asked, and with what (see `Stage`).
        check: the check itself.
        peek: what `check` would say, without waiting and without spending anything: `peek(session, arguments)` returns
            a `ToolError`, a sentence ("asks for confirmation") or None. `session.check` and `--dry-run` ask it for
            the stages approve and limit; so does mode observe of a check that is async, since that could wait.
        after: names of guards of the same stage that must have run before.
        mode: "observe" lets it decide and be audited without ever refusing, waiting or replacing.
        refuses_read_only: it refuses every call of a read-only session, so such a session is not offered the tool.
        counts: of a limit: its check waits for where it counts and for nobody else, so mode observe asks it too.

    .. versionadded:: 0.1
    """

    name: str = attrs.field(validator=attrs.validators.instance_of(str))
    stage: Stage = attrs.field(converter=Stage)
    check: Callable[..., Any] = attrs.field(validator=attrs.validators.is_callable())
    peek: Callable[[Session, Mapping[str, Any]], ToolError | str | None] | None = None
    after: tuple[str, ...] = attrs.field(default=(), converter=_names)
    mode: Mode = "enforce"
    refuses_read_only: bool = False
    counts: bool = False


class LimitStore(Protocol):
    """Where cooldown, rate and concurrency are counted, for all processes that ask the same store.

    Each method answers with how long to wait, in seconds, and 0 where what was asked for was taken. A key has at most
    64 characters of `a-z`, `0-9` and `-`, and says nothing of who calls. Times are the store's own: whoever asks may
    have another clock. What a cancelled method took it gives back. A method that raises, answers something else or
    takes longer than 10 s has failed, and the call is refused (RATE_LIMITED, reason `limit_store`), unless
    `limit_store_fails` of the configuration is `open`.

    It may also have `where`, a text for people that says where it counts; `peek_take`, `peek_claim` and `peek_lease`,
    plain functions with the same arguments that say what would be answered without taking anything or waiting, or None
    where that cannot be known (a dry run asks them); and `async aclose()`, awaited when the host ends. A store may be
    asked again after that.

    .. versionadded:: 0.1
    """

    async def take(self, key: str, count: int, period_s: float) -> float:
        """Take one of `count` calls in every `period_s` seconds, of which at most `count` at once."""
        ...

    async def claim(self, key: str, ttl_s: float) -> float:
        """Take what nobody else can take for `ttl_s` seconds."""
        ...

    async def lease(self, key: str, places: int, ttl_s: float) -> Callable[[], object] | float:
        """Take one of `places` until it is given back by calling the answer, a plain function that does not wait.

        The store renews the place for as long as it runs. Where it runs no longer, the place is free after `ttl_s`
        seconds at the latest. Where no place is free the answer is when to ask again; those that ask are served in
        turn.
        """
        ...


CallNext = Callable[[], Awaitable["ToolResult"]]
"""Runs the tool and whatever layers lie below, and answers: it raises nothing but a cancellation.

A tool that is neither read-only nor idempotent runs once: where it may have run, the next time answers INTERNAL_ERROR.

.. versionadded:: 0.1
"""


@attrs.frozen(eq=False, repr=False)
class Layer(Shown):
    """Work around the work of one tool, between its limits and its filters: a cache, a retry, a recorder.

    Args:
        name: unique among the layers of a tool; the first in the order of their names is the outermost.
        around: `await around(context, arguments, call_next)`, with the validated JSON arguments, gives the result.
            `await call_next()` runs the tool; a layer may do that again, or not at all. Its answer is checked as what
            a handler returns. A `ToolError` that it raises is the answer; anything else is INTERNAL_ERROR, and says
            whether the tool ran. The tool's deadline is that of its layers, too.
        after: names of layers that must lie around this one.
        at_once: `at_once(context, arguments)`, plain: what the layer answers without the tool and without waiting, as a
            pair of a `CheckedResult` and details to add; None: it has nothing, and `around` is asked. Only the
            outermost layer is asked so, since it costs a fraction of `around`; so `around` alone has to do as well.

    .. versionadded:: 0.1
    """

    name: str = attrs.field(validator=attrs.validators.instance_of(str))
    around: Callable[[CallContext, Mapping[str, Any], CallNext], Awaitable[ToolResult]] = attrs.field(
        validator=attrs.validators.is_callable()
    )
    after: tuple[str, ...] = attrs.field(default=(), converter=_names)
    at_once: Callable[[CallContext, Mapping[str, Any]], tuple[CheckedResult, Mapping[str, Any]] | None] | None = None


class Verdict(NamedTuple):
    """What one guard said in one call, for the audit: `passed`, `refused`, `would_refuse` (mode observe), `failed`.

    `asked` are the questions that it asked a person, as they were read. They may quote arguments: whoever keeps none of
    those keeps none of these.

    .. versionadded:: 0.1
    """

    guard: str
    stage: Stage
    verdict: str
    duration_us: float
    asked: tuple[str, ...] = ()


class Timings(Mapping[str, float]):
    """How long each stage of one call took, in microseconds, by its name: `admit`, `validate`, `approve`, `limit`,
    `queue` (for a thread, or for what an executor waits for), `execute` (with the layers around it), `normalise`,
    `filter`, in this order.

    A stage that the tool does not have, or that the call did not come to, took 0. What the host does between two stages
    counts to the first of them. They are computed when they are read: an observer that reads none pays for none.

    .. versionadded:: 0.1
    """

    STAGES = ("admit", "validate", "approve", "limit", "queue", "execute", "normalise", "filter")

    # When each began, in seconds of `time.perf_counter`; 0: it did not.
    admit_at = validate_at = approve_at = limit_at = queue_at = execute_at = normalise_at = filter_at = ended_at = 0.0

    _computed: Mapping[str, float] = EMPTY

    def __getitem__(self, stage: str) -> float:
        return (self._computed or self._compute())[stage]

    def items(self) -> ItemsView[str, float]:
        """All of them; cheaper than one by one."""
        return (self._computed or self._compute()).items()

    def _compute(self) -> Mapping[str, float]:
        """All of them in one pass from the end, since a stage ends where the next that began does; once, when the call
        has ended."""
        took, moments, ended = dict.fromkeys(self.STAGES, 0.0), vars(self), self.ended_at
        for stage, attribute in _BEGINNINGS:
            if began := moments.get(attribute):
                if ended:
                    took[stage] = round((ended - began) * 1e6, 1)
                ended = began
        if self.ended_at:
            self._computed = took
        return took

    def __iter__(self) -> Iterator[str]:
        return iter(self.STAGES)

    def __len__(self) -> int:
        return len(self.STAGES)

    def __repr__(self) -> str:
        return f"Timings({dict(self)})"


_BEGINNINGS = tuple((stage, f"{stage}_at") for stage in reversed(Timings.STAGES))


@attrs.define(eq=False, repr=False)
class Outcome(Shown):
    """One call as observers hear it: every one, those that were refused, not found, cancelled or no call at all too.

    All observers are given the same one, so none of them changes it.

    Args:
        call: what was asked for; its arguments are untrusted, and may hold secrets that only the tool declares.
        session: who asked.
        tool: the tool as it stood, None where there was none of that name.
        result: the answer; None where the call was cancelled.
        started_at: seconds since the epoch.
        duration_ms: from arrival to answer.
        verdicts: what each guard said, in the order they were asked.
        timings: how long each stage took; empty for what never was a call.
        parent_id: the id of the call that made this one, by `CallContext.call`; None for all others.
        token: what `begin` of this observer gave for the call; None where it has none, or it failed.

    .. versionadded:: 0.1
    """

    call: ToolCall
    session: Session
    tool: Tool | None
    result: ToolResult | None
    started_at: float
    duration_ms: float
    verdicts: tuple[Verdict, ...] = ()
    timings: Mapping[str, float] = EMPTY
    parent_id: str | None = None
    token: Any = None

    @property
    def status(self) -> Literal["ok", "error", "cancelled"]:
        """What became of the call, in a word."""
        if self.result is None:
            return "cancelled"
        return "ok" if self.result.ok else "error"

    def with_token(self, token: Any) -> Outcome:
        """The same for the observer whose `begin` gave `token`."""
        return Outcome(
            self.call, self.session, self.tool, self.result, self.started_at, self.duration_ms, self.verdicts,
            self.timings, self.parent_id, token,
        )  # fmt: skip


class Unobserved:
    """What `begin` of an observer gives of a call whose outcome it does not want to hear, as a sampler decides.

    In the place of the outcome `end()` is called, once, in the same task. Where no observer wants the outcome, none is
    made, and nothing of the call is measured.

    .. versionadded:: 0.1
    """

    __slots__ = ()

    def end(self) -> None:
        """The call is over: take back what `begin` did. It neither waits nor raises."""


SpanKind = Literal["server", "client", "internal"]
"""What a span is about: a request that is answered, one that is made, or neither.

.. versionadded:: 0.1
"""

Observer = Callable[[Outcome], None]
"""Hears every outcome, synchronously, in the task of the call: it must neither wait nor raise. One that raises is
counted, logged the first time that it raises such a thing, and the call does not notice. One that is async, or a
generator, would hear nothing: its plugin is quarantined.

An object may also have `begin(call, session, tool, parent_id)`, which hears the beginning: in the same task, before the
call is admitted, under the same rules. `tool` is None where there is none of that name, or where its source is only
starting. What `begin` gives comes back as `Outcome.token`, unless it is an `Unobserved`. A context variable that it
sets is seen by the handler, async or in a thread, and by every call that is made there; the observer resets it when it
hears the outcome.

With `begin` it may have `unobserved()`, which is asked before anything is made of a call, where no other observer is
there: it gives an `Unobserved` of a call that it does not want to hear, else None, and then `begin` is asked. Not every
call asks it, so `begin` decides alike. The precedent is `Enabled` of OpenTelemetry's tracers.

And it may have `span(name, kind, attributes)`, which hears of the other work of a host (`Host.span`): it gives a
callable that ends it, called once in the same task with the attributes that are known by then, `error.type` where it
failed. And `measure(name, value, attributes)`, which hears of figures that belong to no call and no span
(`Host.measure`), as how long a session of MCP lasted.

.. versionadded:: 0.1
"""


class SourceState(StrEnum):
    """How a source of tools is doing; shown by `pegboard list --sources`, and by `pegboard list` for its tools.

    .. versionadded:: 0.1
    """

    CONFIGURED = "configured"
    INSTALLING = "installing"
    STARTING = "starting"
    READY = "ready"
    KNOWN = "known"
    BACKING_OFF = "backing_off"
    FAILED = "failed"
    HELD = "held"

    @property
    def meaning(self) -> str:
        """The state in a sentence, which is also the reason of a source that gave none."""
        return _MEANINGS[self]

    @property
    def is_coming(self) -> bool:
        """Whether the source is on its way to offer its tools by itself."""
        return self in (SourceState.CONFIGURED, SourceState.INSTALLING, SourceState.STARTING)


_MEANINGS = {
    SourceState.CONFIGURED: "it was not started yet, and nothing is known of it",
    SourceState.INSTALLING: "its package is being installed, before it is started",
    SourceState.STARTING: "it is being started, and has not offered its tools yet",
    SourceState.READY: "it runs",
    SourceState.KNOWN: "it offered its tools when it last ran; the first call starts it",
    SourceState.BACKING_OFF: "it ended, or did not start; it is tried again after a pause, or at the next call",
    SourceState.FAILED: "it cannot be started until somebody repairs it; a call of its tools tries all the same",
    SourceState.HELD: "none of its tools is on the board until somebody accepts them",
}


@attrs.frozen(eq=False, repr=False)
class SourceStatus(Value):
    """How one source is doing, as `pegboard list --sources` shows it.

    Args:
        source: its name.
        kind: the plugin that provides it, as in `mcp`.
        state: how it is doing.
        since_s: for how long, in seconds.
        reason: why it offers nothing; None where it does.
        tools: how many tools of it are on the board.

    .. versionadded:: 0.1
    """

    source: str
    kind: str
    state: SourceState
    since_s: float
    reason: str | None
    tools: int

    @property
    def is_ready(self) -> bool:
        """Whether a name that it does not list is certainly not one of its tools."""
        return self.state in (SourceState.READY, SourceState.KNOWN)

    def to_json(self) -> dict[str, Any]:
        """One element of `list --sources --json`, and of `details.sources` of a NOT_FOUND."""
        return attrs.asdict(self) | {"state": self.state.value, "since_s": round(self.since_s, 1)}


class SourceSlot(Protocol):
    """A source's place on the board, handed to its `run`.

    .. versionadded:: 0.1
    """

    def replace(self, tools: Iterable[Tool]) -> None:
        """Swap all of the source's tools for these, in one step: no call finds the board half changed."""
        ...

    def set_state(self, state: SourceState, reason: str | None = None) -> None:
        """Say how the source is doing."""
        ...

    def measure(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """Tell observers a figure: `Host.measure`."""
        ...


class ToolSource(Protocol):
    """A long-lived provider of tools that come and go: an MCP server, a manifest, another host.

    The host runs each source in one supervised task. `run` is called again, after a back-off with jitter, when it
    raises; its tools stay on the board meanwhile, and their handlers answer for themselves. When it returns, its tools
    are taken down. It is cancelled when the host ends.

    It may also have `required: bool` (the host does not open unless the source is ready), `known()`, its tools as it
    last offered them (those are registered from the moment the board is loaded; None: nothing is known; a `PluginError`
    that it raises says why the source cannot run as things are: the reason of its state, until it is started), and
    `other_name(name)`: under which name a tool of its is registered where another has that one already; None: not at
    all. `may_bring(name)` says whether a tool of that name could be its own, while it is not ready; a source without
    it may bring any. `why_held(name)` gives, of a name that it once had and that a person has to decide about, what
    changed and how that is accepted, two texts; None of any other name. `held` is what it has beside tools and a
    person has to accept first: a mapping of names, each as `KIND:NAME`, to the `HeldBackError` that says why.
    `question_of_held(name)` gives what a person is asked, as a `pegboard.absence.HeldQuestion`, where a tool of that
    name is called and held back, or what it has beside tools is asked for, as `KIND:NAME`; None: nothing.
    `offer_again()` has it offer all of it once more, now that a person accepted some. `trusted` is True where a person
    said that nobody need be asked before words of its results go into other tools (see `[flows]`). `why_empty` is why
    it offers no tool though it is well; None: nothing is known of that.

    For whoever looks after it, it may have `describe()`, which gives a `pegboard.sources.SourceDetails` at once and
    starts nothing; and `listen(hear)`: from its next start on `hear` is given each `pegboard.sources.SourceMessage`, in
    the loop, and must not wait; what `listen` returns ends that. Nobody listening costs a source nothing.

    .. versionadded:: 0.1
    """

    name: str
    """Unique on the board; stands in `Tool.origin.source`."""
    timeout_s: float | None
    """The deadline of its tools that have none of their own, in seconds; None for the host's."""

    async def run(self, slot: SourceSlot) -> None:
        """Offer tools through `slot` until cancelled."""
        ...


class Loss(NamedTuple):
    """What one consumer will not see of a tool: a keyword it refuses, a name that had to change.

    .. versionadded:: 0.1
    """

    tool: str
    path: str
    what: str


class Export(Protocol):
    """The tools as one consumer wants them, and the way back.

    It may also have `strict: Mapping[str, bool]`, where the consumer can hold a model to the schema of a tool: by the
    tool's own name, whether it does; `pegboard export --report` tells.

    .. versionadded:: 0.1
    """

    @property
    def definitions(self) -> Sequence[Any]:
        """JSON values, one a tool, in the order of the tools."""
        ...

    @property
    def aliases(self) -> Mapping[str, str]:
        """The name the consumer sees, to the tool's own name."""
        ...

    @property
    def losses(self) -> Sequence[Loss]:
        """What the consumer will not see, or not as it was."""
        ...

    def parse(self, message: Any) -> Sequence[ToolCall | ToolResult]:
        """The calls that a message of the consumer holds; what is not a valid call is an error result with its id."""
        ...

    def format(self, results: Sequence[ToolResult]) -> Sequence[Any]:
        """The messages that carry the results of one turn back."""
        ...


class Dialect(Protocol):
    """How one consumer speaks.

    .. versionadded:: 0.1
    """

    name: str

    def export(self, tools: Iterable[Tool]) -> Export:
        """Compile the tools for the consumer."""
        ...


Severity = Literal["error", "warning", "note"]
"""An error breaks something, a warning will; a note is worth knowing and nothing is wrong."""


class Finding(NamedTuple):
    """One thing that is or will be wrong, for `pegboard doctor`: what, where, why, and how to repair it.

    .. versionadded:: 0.1
    """

    what: str
    where: str
    why: str
    fix: str
    severity: Severity = "error"

    def to_json(self) -> dict[str, str]:
        """One element of `doctor --json`."""
        return self._asdict()


Check = Callable[[Any], Iterable[Finding]]
"""Looks at a board (`pegboard.protocols.Board`) and reports what is wrong; it changes nothing. It runs in a thread of
its own, and may take 10 s, or what its attribute `timeout_s` says.

.. versionadded:: 0.1
"""
