"""Whether a span is not sampled, decided before anything is made for it.

The samplers of the SDK look at the parent and at the trace id alone, so what they would say is known without a name,
attributes or a span. Any other sampler is asked by `Tracer.start_span`, with all that OpenTelemetry gives it.
"""

from __future__ import annotations

import os
import random
import threading
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    ParentBased,
    ParentBasedTraceIdRatio,
    Sampler,
    TraceIdRatioBased,
)
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    SpanContext,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

if TYPE_CHECKING:
    from opentelemetry import trace as trace_api

(SPAN,) = set_span_in_context(INVALID_SPAN, Context())
"""The key of a span in a context."""
LOW_BITS = TraceIdRatioBased.TRACE_ID_LIMIT
"""Of a trace id: a ratio is a bound on them."""
_FLAGS = TraceFlags(TraceFlags.DEFAULT), TraceFlags(TraceFlags.RANDOM_TRACE_ID)
"""Of what is not sampled, by whether the trace id is random."""
_BY_PARENT = {
    "_remote_parent_sampled": ALWAYS_ON,
    "_remote_parent_not_sampled": ALWAYS_OFF,
    "_local_parent_sampled": ALWAYS_ON,
    "_local_parent_not_sampled": ALWAYS_OFF,
}


class Ids(RandomIdGenerator, threading.local):
    """Random ids, the next trace id of this thread being one that was decided on, where there is such a one."""

    decided = 0

    def generate_trace_id(self) -> int:
        """The one that was decided on, else a new one."""
        decided, self.decided = self.decided, 0
        return decided or super().generate_trace_id()


class Dropped(NonRecordingSpan):
    """A span that is not sampled: what lies below it is of its trace. Its ids are drawn when something asks.

    Args:
        decision: who decided so.
        parent: what it lies below; None: nothing.
    """

    def __init__(self, decision: Decision, parent: SpanContext | None = None) -> None:
        self.decision, self._parent = decision, parent
        self.made: dict[str, SpanContext] = {}

    def get_span_context(self) -> SpanContext:
        """The same each time, in every thread."""
        return self.made.get("ids") or self.made.setdefault("ids", self._make())

    def _make(self) -> SpanContext:
        ids, parent = self.decision.ids, self._parent
        if parent is None:
            flags, state, trace_id = _FLAGS[ids.is_trace_id_random()], None, self.decision.draw_dropped()
        else:
            flags, state, trace_id = _FLAGS[parent.trace_flags.random_trace_id], parent.trace_state, parent.trace_id
        return SpanContext(trace_id, ids.generate_span_id(), is_remote=False, trace_flags=flags, trace_state=state)


class Decision:
    """What a sampler of the SDK decides.

    Args:
        bound: trace ids whose low bits are below it are sampled, where the parent does not decide.
        parent_decides: whether a span below another is sampled as that is.
        ids: who draws ids.
    """

    def __init__(self, bound: int, ids: IdGenerator, *, parent_decides: bool) -> None:
        self._bound, self.ids, self._parent_decides = bound, ids, parent_decides
        # A span gets the id that was decided on from `Ids` alone.
        self.may_drop_root = bound == 0 or (bound <= LOW_BITS and isinstance(ids, Ids))

    def samples(self, context: Context) -> bool:
        """Whether a span below this is sampled, whatever its trace id; where not, the sampler may sample it still."""
        parent = get_current_span(context).get_span_context() if context and SPAN in context else None
        if parent is not None and parent.is_valid and self._parent_decides:
            return parent.trace_flags.sampled
        return self._bound > LOW_BITS

    def has_dropped(self, span: object) -> bool:
        """Whether a span is one of those that `dropped` made."""
        return type(span) is Dropped and span.decision is self

    def dropped(self, context: Context) -> Dropped | None:
        """The span of what is not sampled; None: `Tracer.start_span` is to make the span, at once and in this thread.

        Args:
            context: what the span would lie below.
        """
        parent = get_current_span(context).get_span_context() if SPAN in context else None
        if parent is not None and parent.is_valid:
            if parent.trace_flags.sampled if self._parent_decides else parent.trace_id & LOW_BITS < self._bound:
                return None
            return Dropped(self, parent)
        is_decided = isinstance(self.ids, Ids) and self.ids.decided
        return Dropped(self) if not is_decided and self.drops_root() else None

    def drops_root(self) -> bool:
        """Whether a span below nothing is not sampled; else `Tracer.start_span` is to make it, as of `dropped`."""
        if not self.may_drop_root:
            return False
        bound = self._bound
        if not bound or (low := random.getrandbits(64)) >= bound:
            return True
        self.ids.decided = random.getrandbits(64) << 64 | low  # type: ignore[attr-defined]  # it is an `Ids`
        return False

    def draw_dropped(self) -> int:
        """A trace id that is not sampled."""
        if not self._bound:
            return self.ids.generate_trace_id()
        return random.getrandbits(64) << 64 | random.randrange(self._bound, LOW_BITS + 1)


def decision_of(tracer: trace_api.Tracer) -> Decision | None:
    """What is known of a tracer's sampler; None: nothing."""
    if type(tracer) is not Tracer or _counts_dropped():
        return None
    sampler, parent_decides = tracer.sampler, False
    if type(sampler) in (ParentBased, ParentBasedTraceIdRatio):
        parts = dict(vars(sampler))
        sampler, parent_decides = parts.pop("_root", None), True
        if parts != _BY_PARENT:
            return None
    bound = _bound_of(sampler)
    return None if bound is None else Decision(bound, tracer.id_generator, parent_decides=parent_decides)


def _bound_of(sampler: Sampler) -> int | None:
    if sampler is ALWAYS_OFF:
        return 0
    if sampler is ALWAYS_ON:
        return LOW_BITS + 1
    return sampler.bound if type(sampler) is TraceIdRatioBased else None


def _counts_dropped() -> bool:
    """Whether the SDK is to count what it drops, which it does in `Tracer.start_span`."""
    return os.environ.get("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "").strip().lower() == "true"
