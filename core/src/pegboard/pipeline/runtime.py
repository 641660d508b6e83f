"""What all plans of one board share while a host runs: clock-free counters, observers, worker processes.

It imports no trio: a board that does not run has one too, with nothing in it.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import logging
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Shown
from pegboard.config._secrets import get_logger
from pegboard.contract import Unobserved
from pegboard.pipeline.classify import pass_on
from pegboard.text import counts_in, describe

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from pegboard.contract import Observer, Outcome, SpanKind
    from pegboard.flows.guard import Flows
    from pegboard.secrets.mask import SecretMask
    from pegboard.session import Session
    from pegboard.tools import Tool, ToolCall

    Observers = tuple[tuple[str, Observer], ...]
    """Who hears of calls: the plugin of each, and the observer."""

log = get_logger("pegboard")


class Threads:
    """Counts the threads that outlived their call, by tool. Tickets come back from the threads themselves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left_behind: Counter[str] = Counter()
        self._left_calls: set[tuple[str, str]] = set()

    @property
    def left_behind(self) -> dict[str, int]:
        """Threads that nobody waits for any more and that have not ended, by tool."""
        with self._lock:
            return {name: count for name, count in self._left_behind.items() if count}

    def is_left(self, tool: str, call_id: str) -> bool:
        """Whether the thread of that call goes on without it."""
        return type(call_id) is str and (tool, call_id) in self._left_calls

    def ticket(self, tool: str, call_id: str = "") -> Ticket:
        """A ticket for one thread that is about to start."""
        return Ticket(self, tool, call_id if type(call_id) is str else "")

    def _move(self, ticket: Ticket, *, over: bool) -> None:
        # The handler's thread and the loop may come at once: which of them is first decides what is counted.
        with self._lock:
            if over:
                ticket.is_over = True
                if ticket.is_left:
                    self._left_behind[ticket.tool] -= 1
                    self._left_calls.discard((ticket.tool, ticket.call_id))
            elif not ticket.is_over:
                ticket.is_left = True
                self._left_behind[ticket.tool] += 1
                self._left_calls.add((ticket.tool, ticket.call_id))


@attrs.define(eq=False, repr=False)
class Ticket(Shown):
    """One thread of one call."""

    threads: Threads
    tool: str
    call_id: str = ""
    is_over: bool = False
    is_left: bool = False

    def ended(self) -> None:
        """The handler returned or raised."""
        self.threads._move(self, over=True)

    def abandoned(self) -> None:
        """The call is over, and the handler is not."""
        self.threads._move(self, over=False)


OBSERVER = "a callable, neither async nor a generator, nor with such a method"
"""What an observer is, for errors."""


def is_observer(given: Any) -> bool:
    """Whether something can hear calls. What an async function gives nobody would await, and a generator, one with
    `contextlib.contextmanager` too, would not run: neither would fail, and neither would hear anything."""
    methods = (getattr(given, name, None) for name in ("__call__", "begin", "unobserved", "span", "measure"))
    return callable(given) and not any(map(_waits, (given, *methods)))


def _waits(function: Any) -> bool:
    return (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        or inspect.isgeneratorfunction(inspect.unwrap(function))
    )


async def _no_workers() -> Any:
    raise RuntimeError("worker processes are there only while a host runs")


def _ids() -> Iterator[str]:
    # All of it runs in C, since every call draws one.
    return map((os.urandom(4).hex() + "-").__add__, map(str, itertools.count()))


@attrs.define(eq=False, repr=False)
class Runtime(Shown):
    """One a board; the host fills it when it opens and empties it when it ends."""

    timeout_s: float = 30.0
    max_result_bytes: int = 100_000
    approval_timeout_s: float = 300.0
    make_secrets: Callable[[], SecretMask | None] | None = attrs.field(default=None, repr=False)
    """Asked once, by the first call that needs it; None from then on."""
    has_secret_rules: bool = False
    """Whether `[secrets]` says anything, so that it may be about any tool."""
    flows: Flows | None = attrs.field(default=None, init=False, repr=False)
    """Guards what goes from untrusted sources into other tools; None: there are none."""
    observers: Observers = ()
    """Who hears of calls. `watch` sets them."""
    begins: tuple[tuple[int, Callable[..., Any]], ...] = attrs.field(default=(), init=False)
    """Those of them that hear beginnings: the place of each, and its `begin`."""
    _secrets: SecretMask | None = attrs.field(default=None, init=False, repr=False)
    hears_all: bool = attrs.field(default=False, init=False)
    """Whether one of them hears every outcome, since it has no `begin` that could say otherwise."""
    asked_first: Callable[[], Any] | None = attrs.field(default=None, init=False)
    """`unobserved` of the only observer; None: there is none that has it, or others too."""
    spans: tuple[tuple[str, Callable[..., Any]], ...] = attrs.field(default=(), init=False)
    """Those of them that hear of other work: the plugin of each, and its `span`."""
    measures: tuple[tuple[str, Callable[..., Any]], ...] = attrs.field(default=(), init=False)
    """Those of them that hear figures: the plugin of each, and its `measure`."""
    source_timeouts: dict[str, float] = attrs.field(factory=dict)
    threads: Threads = attrs.field(factory=Threads)
    workers: Callable[[], Awaitable[Any]] = _no_workers
    failed_observers: Counter[str] = attrs.field(factory=Counter)
    _told_failures: set[tuple[str, type[BaseException]]] = attrs.field(factory=set, init=False)
    cleaned: dict[str, Counter[str]] = attrs.field(factory=dict)
    """What was taken out of the texts of results, by tool and kind."""
    ids: Iterator[str] = attrs.field(factory=_ids)
    """Draws an id for a call that brought none: unique in this run, and unlike those of another."""

    @property
    def secrets(self) -> SecretMask | None:
        """What masks secrets on their way to models and to other people's servers; None: all are let through."""
        if self.make_secrets is not None:
            self._secrets, self.make_secrets = self.make_secrets(), None
        return self._secrets

    def may_mask_arguments(self, tool: Tool) -> bool:
        """Whether somebody else may be sent the arguments of a tool, or something is said of them."""
        return tool.origin.source is not None or bool(tool.annotations.open_world) or self.has_secret_rules

    def timeout_of(self, tool: Tool) -> float:
        """The deadline of the tool's execution in seconds: its own, else its source's, else the host's."""
        return tool.limits.timeout_s or self.timeout_of_source(tool) or self.timeout_s

    def timeout_of_source(self, tool: Tool) -> float | None:
        """The deadline that the tool's source has for all of its tools, in seconds."""
        return self.source_timeouts.get(tool.origin.source or "")

    def note_cleaned(self, tool: str, details: Mapping[str, Any]) -> None:
        """Count what was taken out of a result of a tool, as its details say; the first time it is warned of."""
        if not (counts := counts_in(details)):
            return
        level = logging.DEBUG if tool in self.cleaned else logging.WARNING
        log.log(level, "what hides was taken out of a result of tool %s: %s", tool, describe(counts))
        self.cleaned.setdefault(tool, Counter()).update(counts)

    def watch(self, observers: Iterable[tuple[str, Observer]]) -> None:
        """From now on these hear of calls, and nobody else: the plugin of each, and the observer."""
        # A new tuple each time: a call that is under way tells those that heard its beginning, whoever came or went
        # since.
        self.observers = tuple(observers)
        begins = ((place, getattr(observer, "begin", None)) for place, (_, observer) in enumerate(self.observers))
        self.begins = tuple((place, begin) for place, begin in begins if begin is not None)
        self.hears_all = len(self.begins) < len(self.observers)
        self.asked_first = getattr(self.observers[0][1], "unobserved", None) if len(self.observers) == 1 else None
        self.spans, self.measures = self._having("span"), self._having("measure")

    def _having(self, method: str) -> tuple[tuple[str, Callable[..., Any]], ...]:
        """The plugin and the method of each observer that has it."""
        found = ((plugin, getattr(observer, method, None)) for plugin, observer in self.observers)
        return tuple((plugin, one) for plugin, one in found if one is not None)

    def measure(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """`Host.measure`."""
        for plugin, measure in self.measures:
            try:
                measure(name, value, attributes)
            except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
                self._note_failed(plugin, problem)

    def span(
        self, name: str, kind: SpanKind, attributes: Mapping[str, Any]
    ) -> contextlib.AbstractContextManager[dict[str, Any]]:
        """`Host.span`."""
        return self._span(name, kind, attributes) if self.spans else contextlib.nullcontext({})

    @contextlib.contextmanager
    def _span(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        ends: list[tuple[str, Callable[..., Any]]] = []
        found: dict[str, Any] = {}
        try:
            for plugin, span in self.spans:
                try:
                    ends.append((plugin, span(name, kind, attributes)))
                except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
                    self._note_failed(plugin, problem)
            yield found
        except BaseException as problem:
            found.setdefault("error.type", type(problem).__qualname__)
            raise
        finally:
            for plugin, end in reversed(ends):
                try:
                    end(found)
                except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
                    self._note_failed(plugin, problem)

    def add_observer(self, plugin: str, observer: Observer) -> Callable[[], None]:
        """From now on this one hears of calls too; returns what ends that."""
        added = (plugin, observer)
        self.watch((*self.observers, added))
        return lambda: self.watch(one for one in self.observers if one is not added)

    def begin(
        self, call: ToolCall, session: Session, tool: Tool | None, parent_id: str | None
    ) -> tuple[Sequence[Any], bool]:
        """Tell every observer that hears beginnings; what each observer gave, in their order, and whether any of them
        wants to hear the outcome."""
        tokens, is_wanted = [None] * len(self.observers), self.hears_all
        for place, begin in self.begins:
            try:
                token = tokens[place] = begin(call, session, tool, parent_id)
                is_wanted = is_wanted or not isinstance(token, Unobserved)
            except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
                self._note_failed(self.observers[place][0], problem)
                is_wanted = True
        return tokens, is_wanted

    def unobserved(self, asked_first: Callable[[], Any]) -> Unobserved | None:
        """What `asked_first` gives of a call that it does not want to hear; None: `begin` is to tell."""
        try:
            given = asked_first()
            if given is None or isinstance(given, Unobserved):
                return given
            raise TypeError(f"unobserved() gave {type(given).__name__}, expected an Unobserved or None")
        except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
            self._note_failed(self.observers[0][0], problem)
            return None

    def end(self, token: Unobserved, plugin: str) -> None:
        """End a call whose outcome an observer of that plugin does not want."""
        try:
            token.end()
        except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
            self._note_failed(plugin, problem)

    def observe(self, outcome: Outcome, tokens: Sequence[Any] = (), observers: Observers | None = None) -> None:
        """Tell observers; one that raises is logged and counted, and the call does not notice.

        Args:
            outcome: what they are told.
            tokens: what `begin` gave for it; none: nobody heard a beginning.
            observers: those that were there when the call began, whose places the tokens have: who came later has not
                heard the beginning, and hears no end either. None: those of now, where there was no beginning.
        """
        observers = self.observers if observers is None else observers
        if not tokens:
            for plugin, observer in observers:
                try:
                    observer(outcome)
                except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
                    self._note_failed(plugin, problem)
            return
        is_only = len(observers) == 1
        for token, (plugin, observer) in zip(tokens, observers, strict=True):
            try:
                if token is None:
                    observer(outcome)
                elif isinstance(token, Unobserved):
                    token.end()
                elif is_only:
                    outcome.token = token
                    observer(outcome)
                else:  # nobody sees the token of another
                    observer(outcome.with_token(token))
            except BaseException as problem:  # noqa: BLE001 - logged; what is not the observer's is passed on
                self._note_failed(plugin, problem)

    def _note_failed(self, plugin: str, problem: BaseException) -> None:
        pass_on(problem)
        self.failed_observers[plugin] += 1
        kind = (plugin, type(problem))
        level = logging.DEBUG if kind in self._told_failures else logging.ERROR  # it may fail at every call
        log.log(level, "an observer of plugin %s failed", plugin, exc_info=problem)
        self._told_failures.add(kind)
