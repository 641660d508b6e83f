"""How calls belong together: within a session by the id of the call that made another, across processes by their trace.

A call that came in with a trace names the span below which it lies (`parent_span_id`). Where the caller's process makes
spans, as pegboard-otel does, that is the very call. Where it makes none, or one more between its call and its request,
the trace says no more than that both belong together. Then the call of another process is taken that lasted all the
while and has the name, as sources give it to the tools of a server: with a prefix.

Ids and traces are chosen by callers, so nothing here relies on them: what is a circle ends, and what is many is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from pegboard_audit._calls import CallQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_audit._calls import CallRecord

CLOCK_S = 0.001
"""By how much two readings of the clock that belong together may be apart, in seconds."""
MAX_OF_TRACE = 2_000
"""Calls of one trace that are looked at: the newest."""


class CallInTree(NamedTuple):
    """A call, and how many calls lie above it.

    .. versionadded:: 0.1
    """

    depth: int
    call: CallRecord


class Ask(Protocol):
    """`AuditReader.calls`."""

    def __call__(self, query: CallQuery, *, newest: int | None = None) -> Iterator[CallRecord]: ...


def tree_of(call: CallRecord, ask: Ask) -> list[CallInTree]:
    """`AuditReader.tree`."""
    kin = _Kin(ask)
    first, seen = call, {call.seq}
    while (parent := kin.parent_of(first)) is not None and parent.seq not in seen:
        if first not in kin.children_of(parent):
            break
        first = parent
        seen.add(first.seq)
    return list(_below(first, kin))


def _below(first: CallRecord, kin: _Kin) -> Iterator[CallInTree]:
    """A call and all below it, each once; without recursion, since callers choose how deep that is."""
    seen, waiting = {first.seq}, [CallInTree(0, first)]
    while waiting:
        yield (here := waiting.pop())
        children = [one for one in kin.children_of(here.call) if one.seq not in seen]
        seen.update(one.seq for one in children)
        waiting += [CallInTree(here.depth + 1, one) for one in reversed(children)]


class _Kin:
    """Parents and children of calls, as the file has them now."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._traces: dict[str, list[CallRecord]] = {}
        self._parents: dict[int, CallRecord | None] = {}

    def parent_of(self, call: CallRecord) -> CallRecord | None:
        if call.seq not in self._parents:
            self._parents[call.seq] = self._parent_in_session(call) or self._parent_elsewhere(call)
        return self._parents[call.seq]

    def children_of(self, call: CallRecord) -> list[CallRecord]:
        """In the order of time."""
        children = {one.seq: one for one in (*self._children_in_session(call), *self._children_elsewhere(call))}
        return sorted(children.values(), key=lambda one: one.started_at)

    # -- within a session

    def _parent_in_session(self, call: CallRecord) -> CallRecord | None:
        if call.parent_id is None:
            return None
        query = CallQuery(id=call.parent_id, session=call.session, until=call.started_at + CLOCK_S)
        return next(self._ask(query, newest=1), None)

    def _children_in_session(self, call: CallRecord) -> Iterator[CallRecord]:
        """Callers choose ids: one that comes again is another call."""
        same = CallQuery(id=call.id, session=call.session, since=call.started_at + CLOCK_S)
        again = min((one.started_at for one in self._ask(same) if one.seq != call.seq), default=None)
        return self._ask(
            CallQuery(parent_id=call.id, session=call.session, since=call.started_at - CLOCK_S, until=again)
        )

    # -- across processes

    def _children_elsewhere(self, call: CallRecord) -> Iterator[CallRecord]:
        for one in self._elsewhere(call):
            if call.started_at - CLOCK_S <= one.started_at and self.parent_of(one) == call:
                yield one

    def _parent_elsewhere(self, call: CallRecord) -> CallRecord | None:
        """The last that began: of those that contain each other the innermost."""
        before = [one for one in self._elsewhere(call) if one.started_at <= call.started_at + CLOCK_S]
        named = [one for one in before if call.parent_span_id == one.span_id != one.parent_span_id]
        around = [one for one in before if _end_of(one) >= _end_of(call) - CLOCK_S and _is_called(call, one)]
        return max(named or around, key=lambda one: one.started_at, default=None)

    def _elsewhere(self, call: CallRecord) -> list[CallRecord]:
        """The calls of the same trace that other processes answered."""
        if call.trace_id is None or call.process is None:
            return []
        if call.trace_id not in self._traces:
            query = CallQuery(trace_id=call.trace_id)
            self._traces[call.trace_id] = list(self._ask(query, newest=MAX_OF_TRACE))
        return [one for one in self._traces[call.trace_id] if one.process not in (None, call.process)]


def _end_of(call: CallRecord) -> float:
    return call.started_at + call.duration_ms / 1000


def _is_called(call: CallRecord, by: CallRecord) -> bool:
    """Whether the names fit: the one on the caller's board may have a prefix, and other signs between words."""
    own = _letters(call.name)
    return own != "" and _letters(by.name).endswith(own)


def _letters(name: str | None) -> str:
    return "".join(filter(str.isalnum, (name or "").casefold()))
