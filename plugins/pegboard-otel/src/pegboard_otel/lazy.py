"""Spans that are made when somebody looks at them, and else handed on as finished records.

`Tracer.start_span` makes an object that can be asked, changed and locked, and when it ends processors are given a
`ReadableSpan` of it. Most calls of tools open nothing below them: nobody sees the first object. Of these the record is
made at once, from what the SDK would have put there, for half of the cost. As soon as anybody looks at the context of
the call (a span below it, an attribute, a request that names its trace), the SDK makes the span, with the time at which
the call began.

Only where nobody can tell the two apart: of samplers whose word is known, limits that cut nothing, and processors that
hear the end alone. What the SDK keeps private of a tracer is read in `records_of` and nowhere else; where it is not
there, the SDK makes every span.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, Tracer
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, get_current_span

from pegboard_otel.sampling import SPAN, Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry import trace as trace_api

_FLAGS = TraceFlags(TraceFlags.SAMPLED), TraceFlags(TraceFlags.SAMPLED | TraceFlags.RANDOM_TRACE_ID)
"""Of what is sampled, by whether the trace id is random."""
_HEAR_ENDS = frozenset({BatchSpanProcessor, SimpleSpanProcessor, SpanProcessor})
"""Processors that do nothing when a span starts; a class below one of them may."""
MOST = 8
"""Attributes of a record, with room to spare."""


class Records:
    """Makes finished records in the place of a tracer.

    Args:
        tracer: who would make the spans.
        decision: what its sampler decides.
        scope: what its spans say of who made them.
    """

    def __init__(self, tracer: Tracer, decision: Decision, scope: Any) -> None:
        self.tracer, self.processor, self._decision, self._ids = tracer, tracer.span_processor, decision, decision.ids
        self._resource, self._info, self._scope = tracer.resource, tracer.instrumentation_info, scope
        self._hear_ends: Any = None

    def may_stand_for(self, context: Context) -> bool:
        """Whether a record may stand for the span that lies below this: it is sampled, and nobody hears it start."""
        processors: Any = self.processor._span_processors
        if processors is not self._hear_ends:  # one was added: the SDK makes a new tuple
            if not all(type(one) in _HEAR_ENDS for one in processors):
                return False
            self._hear_ends = processors
        return self._decision.samples(context)

    def record_of(self, name: str, attributes: dict[str, Any], above: Context, started_ns: int) -> ReadableSpan:
        """What the SDK gives processors of a span that ends now."""
        parent = get_current_span(above).get_span_context() if above else None
        if parent is None or not parent.is_valid:
            parent, trace_id, state = None, self._ids.generate_trace_id(), None
            flags = _FLAGS[self._ids.is_trace_id_random()]
        else:
            trace_id, state, flags = parent.trace_id, parent.trace_state, _FLAGS[parent.trace_flags.random_trace_id]
        return ReadableSpan(
            name,
            SpanContext(trace_id, self._ids.generate_span_id(), False, flags, state),
            parent,
            self._resource,
            attributes,
            start_time=started_ns,
            end_time=time.time_ns(),
            instrumentation_info=self._info,
            instrumentation_scope=self._scope,
        )


def records_of(tracer: trace_api.Tracer, decision: Decision | None, longest: int) -> Records | None:
    """What makes the records of a tracer; None: the SDK is to make every span.

    Args:
        tracer: who would make the spans.
        decision: what its sampler decides; None: that is not known.
        longest: the longest text of a span, in characters.
    """
    if type(tracer) is not Tracer or decision is None:
        return None
    processor, limits = tracer.span_processor, getattr(tracer, "_span_limits", None)
    scope, is_enabled = getattr(tracer, "_instrumentation_scope", None), getattr(tracer, "_is_enabled", lambda: True)
    if limits is None or scope is None or not is_enabled() or not hasattr(processor, "_span_processors"):
        return None
    if min(_or_endless(limits.max_span_attributes) / MOST, _or_endless(limits.max_span_attribute_length) / longest) < 1:
        return None
    return Records(tracer, decision, scope)


def _or_endless(limit: int | None) -> float:
    return math.inf if limit is None else limit


def _looking(read: Callable[..., Any]) -> Any:
    """That way of reading a context, once it holds the span."""

    def look(context: LazyContext, *asked: Any) -> Any:
        context.span()
        return read(context, *asked)

    return look


class LazyContext(Context):
    """What is current while a call runs. It holds the span as soon as somebody looks.

    Args:
        records: who makes the record, where nobody looks.
        name: the name of the span.
        attributes: those of the span, which are not changed here.
        above: what it lies below.
    """

    __slots__ = ("_above", "_attributes", "_name", "_records", "_started_ns")

    def __init__(self, records: Records, name: str, attributes: dict[str, Any], above: Context) -> None:
        if above:
            super().__init__({key: value for key, value in above.items() if key != SPAN})
        self._records, self._name, self._attributes, self._above = records, name, attributes, above
        self._started_ns = time.time_ns()

    def span(self) -> trace_api.Span:
        """The span, which is made by the first who looks. After the end it can be asked for its ids alone."""
        found: Any = dict.get(self, SPAN)
        if found is None:
            made = self._records.tracer.start_span(
                self._name, self._above, SpanKind.INTERNAL, self._attributes, start_time=self._started_ns
            )
            found = dict.setdefault(self, SPAN, made)  # in one step: threads that a call has left look too
        return found  # type: ignore[no-any-return]

    def end(self) -> bool:
        """Hand the record on; False: somebody has looked, and the span is to be ended."""
        if dict.__contains__(self, SPAN):
            return False
        record = self._records.record_of(self._name, self._attributes, self._above, self._started_ns)
        ended = NonRecordingSpan(record.context)
        if dict.setdefault(self, SPAN, ended) is not ended:
            return False
        self._records.processor.on_end(record)
        return True

    __getitem__, get, copy = _looking(dict.__getitem__), _looking(dict.get), _looking(dict.copy)
    __contains__, __iter__, __len__ = _looking(dict.__contains__), _looking(dict.__iter__), _looking(dict.__len__)
    __reversed__, __eq__, __ne__ = _looking(dict.__reversed__), _looking(dict.__eq__), _looking(dict.__ne__)
    keys, values, items = _looking(dict.keys), _looking(dict.values), _looking(dict.items)
    __or__, __ror__, __repr__ = _looking(dict.__or__), _looking(dict.__ror__), _looking(dict.__repr__)
    __hash__ = None  # type: ignore[assignment]  # as of every dict
