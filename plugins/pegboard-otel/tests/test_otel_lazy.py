"""Calls whose span nobody looks at are handed on as records; nobody can tell them from the SDK's own."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace as trace_api
from opentelemetry.context import Context, attach, detach, get_current, set_value
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TraceState

from pegboard import hookimpl, tool, trace
from pegboard_otel.lazy import LazyContext, records_of
from pegboard_otel.recording import MAX_TEXT, Recorder
from pegboard_otel.sampling import Ids, decision_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

KNOWN: dict[str, sampling.Sampler] = {
    "always_on": sampling.ALWAYS_ON,
    "always_off": sampling.ALWAYS_OFF,
    "traceidratio": sampling.TraceIdRatioBased(0.5),
    "traceidratio of all": sampling.TraceIdRatioBased(1.0),
    "parentbased_always_on": sampling.DEFAULT_ON,
    "parentbased_always_off": sampling.DEFAULT_OFF,
    "parentbased_traceidratio": sampling.ParentBasedTraceIdRatio(0.5),
}
PARENTS = st.one_of(
    st.none(),
    st.builds(
        SpanContext,
        st.integers(0, 2**128 - 1),
        st.integers(0, 2**64 - 1),
        is_remote=st.booleans(),
        trace_flags=st.sampled_from([TraceFlags(one) for one in range(4)]),
        trace_state=st.sampled_from([TraceState(), TraceState([("rojo", "00f067aa0ba902b7")])]),
    ),
)
TOLD = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}


def made_by(sampler: sampling.Sampler = sampling.DEFAULT_ON, **more: Any) -> tuple[Any, Any, InMemorySpanExporter]:
    """A provider that keeps what ends, one of its tracers, and what was kept."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler, shutdown_on_exit=False, **more)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, provider.get_tracer("tests", "1.0"), exporter


def lazily(tracer: Any) -> Any:
    """What makes the records of that tracer."""
    return records_of(tracer, decision_of(tracer), MAX_TEXT)


@pytest.mark.parametrize("ids", [None, Ids()], ids=["their ids", "our ids"])
@pytest.mark.parametrize("sampler", KNOWN)
@given(parent=PARENTS)
@settings(max_examples=15, deadline=None)
def test_a_record_is_what_the_sdk_would_have_exported(sampler: str, ids: Any, parent: SpanContext | None) -> None:
    # Invariant: where a record may stand for a span, the SDK samples it, and both are alike but for ids and times.
    _, tracer, exporter = made_by(KNOWN[sampler], id_generator=ids)
    above = Context() if parent is None else trace_api.set_span_in_context(NonRecordingSpan(parent), Context())
    records = lazily(tracer)
    span = tracer.start_span("execute_tool add", above, SpanKind.INTERNAL, TOLD)
    if not records.may_stand_for(above):
        return
    span.end()
    assert LazyContext(records, "execute_tool add", dict(TOLD), above).end()
    theirs, ours = exporter.get_finished_spans()
    for field in ("name", "kind", "parent", "status", "attributes", "events", "links", "resource"):
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.instrumentation_scope == theirs.instrumentation_scope
    assert (ours.dropped_attributes, ours.dropped_events, ours.dropped_links) == (0, 0, 0)
    a_root = parent is None or not parent.is_valid
    assert ours.context[2:] == theirs.context[2:], "whether it is remote, flags, state, whether it is valid"
    assert (ours.context.trace_id == theirs.context.trace_id) is not a_root
    assert ours.context.span_id != theirs.context.span_id
    assert theirs.start_time <= theirs.end_time <= ours.start_time <= ours.end_time
    told = [json.loads(one.to_json()) for one in (theirs, ours)]
    for one in told:
        for key in ("context", "start_time", "end_time"):
            del one[key]
    assert told[0] == told[1]


# -- looked at by a tool

LOOKS: dict[str, Callable[[], Any]] = {
    "the current span": trace_api.get_current_span,
    "a span below": lambda: _below().end(),
    "what is handed on": lambda: dict(trace.carrier.get() or {}),
    "a value beside it": lambda: detach(attach(set_value("key", "value"))),
    "whether it is empty": lambda: bool(get_current()),
    "its keys": lambda: list(get_current()),
    "its keys, backwards": lambda: list(reversed(get_current())),  # type: ignore[call-overload]
    "its values": lambda: list(get_current().values()),
    "its items": lambda: get_current().items(),
    "a copy": lambda: dict(get_current()),
    "a copy with more": lambda: {**get_current(), "key": "value"},
    "one joined to another": lambda: get_current() | {"key": "value"},
    "one joined to it": lambda: {"key": "value"} | get_current(),
    "whether it is like another": lambda: get_current() == Context(),
    "whether it is unlike another": lambda: get_current() != Context(),
    "its text": lambda: repr(get_current()),
}


def _below() -> Any:
    return trace_api.get_tracer_provider().get_tracer("below").start_span("below")


@pytest.fixture
def recorded(host_with: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """`await recorded(tracer, *tools)`: a session whose calls that tracer records."""

    async def start(tracer: Any, *tools: Any, content: bool = False) -> Any:
        class Plugin:
            name = "recorded"

            @hookimpl
            def provide_observers(self) -> list[Any]:
                return [Recorder(tracer, None, content=content)]

        host = await host_with(Plugin())
        host.add(*tools)
        return host.session()

    return start


@pytest.mark.parametrize("run", ["inplace", "thread"])
@pytest.mark.parametrize("look", LOOKS)
async def test_whoever_looks_finds_the_span_of_the_call(
    recorded: Callable[..., Awaitable[Any]], look: str, run: Any
) -> None:
    _, tracer, exporter = made_by()
    seen = []

    def looks() -> None:
        """Look at the call's own span."""
        LOOKS[look]()
        span: Any = trace_api.get_current_span()
        assert span.is_recording()
        assert span is trace_api.get_current_span()
        assert span.attributes["gen_ai.tool.name"] == "looks"
        span.set_attribute("set.by", "a tool")
        carried = (trace.carrier.get() or {})["traceparent"]
        seen.append((carried, span.get_span_context()))

    session = await recorded(tracer, tool(looks, run=run))
    assert (await session.call("looks")).ok
    (span,) = exporter.get_finished_spans()  # of the tracer of "below" nothing is exported
    ((carried, known),) = seen
    assert span.context == known
    assert carried == f"00-{known.trace_id:032x}-{known.span_id:016x}-{int(known.trace_flags):02x}"
    assert span.attributes["set.by"] == "a tool"
    assert span.start_time <= span.end_time


async def test_a_span_below_lies_in_the_time_of_the_call(recorded: Callable[..., Awaitable[Any]]) -> None:
    _, tracer, exporter = made_by()

    @tool
    async def opens() -> None:
        """Open a span."""
        with tracer.start_as_current_span("below"):
            pass

    session = await recorded(tracer, opens)
    assert (await session.call("opens")).ok
    below, above = exporter.get_finished_spans()
    assert (below.name, above.name) == ("below", "execute_tool opens")
    assert below.parent == above.context
    assert above.start_time <= below.start_time <= below.end_time <= above.end_time


async def test_what_is_current_beside_the_span_stays(recorded: Callable[..., Awaitable[Any]]) -> None:
    _, tracer, exporter = made_by()

    @tool(run="inplace")
    def reads() -> Any:
        """Read a value of the context."""
        return get_current().get("key")

    session = await recorded(tracer, reads)
    with tracer.start_as_current_span("above"):
        token = attach(set_value("key", "value"))
        assert (await session.call("reads")).text == "value"
        detach(token)
    call, above = exporter.get_finished_spans()
    assert call.parent == above.context


def test_of_threads_that_look_at_once_all_find_the_same_span() -> None:
    _, tracer, exporter = made_by()
    inside = LazyContext(lazily(tracer), "execute_tool add", dict(TOLD), Context())
    together = threading.Barrier(8, timeout=10)

    def look() -> Any:
        together.wait()
        return inside.span()

    with ThreadPoolExecutor(8) as threads:
        found = {id(one.result()) for one in [threads.submit(look) for _ in range(8)]}
    assert len(found) == 1
    assert not inside.end(), "it is the SDK's to end"
    inside.span().end()
    assert len(exporter.get_finished_spans()) == 1


def test_a_thread_that_the_call_has_left_finds_its_ids_and_records_nothing() -> None:
    _, tracer, exporter = made_by()
    inside = LazyContext(lazily(tracer), "execute_tool add", dict(TOLD), Context())
    assert inside.end()
    (record,) = exporter.get_finished_spans()
    late = trace_api.get_current_span(inside)
    assert late.get_span_context() == record.context
    assert not late.is_recording()
    tracer.start_span("late", inside).end()
    assert exporter.get_finished_spans()[1].parent == record.context


# -- where somebody could tell


class Starts(SpanProcessor):
    """Hears spans start, and marks them."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def on_start(self, span: Any, parent_context: Context | None = None) -> None:
        self.started.append(span.name)
        span.set_attribute("marked", value=True)


@tool(run="inplace")
def nothing() -> None:
    """Do nothing that takes long, and say so in a description of a certain length."""


async def test_a_processor_that_hears_starts_hears_them_also_when_it_comes_late(
    recorded: Callable[..., Awaitable[Any]],
) -> None:
    provider, tracer, exporter = made_by()
    session = await recorded(tracer, nothing)
    assert (await session.call("nothing")).ok
    provider.add_span_processor(late := Starts())
    assert (await session.call("nothing")).ok
    unmarked, marked = exporter.get_finished_spans()
    assert "marked" not in unmarked.attributes
    assert marked.attributes["marked"]
    assert late.started == ["execute_tool nothing"]


async def test_limits_of_the_sdk_that_cut_are_kept(recorded: Callable[..., Awaitable[Any]]) -> None:
    for limits in (SpanLimits(max_span_attributes=2), SpanLimits(max_span_attribute_length=10)):
        _, tracer, exporter = made_by(span_limits=limits)
        session = await recorded(tracer, nothing)
        assert (await session.call("nothing")).ok
        (span,) = exporter.get_finished_spans()
        assert len(span.attributes) == (2 if limits.max_span_attributes == 2 else 5)
        assert limits.max_span_attribute_length is None or max(map(len, span.attributes.values())) == 10


@pytest.mark.parametrize(
    "make",
    [
        lambda: trace_api.NoOpTracer(),
        lambda: made_by(type("Own", (sampling.StaticSampler,), {})(sampling.Decision.RECORD_AND_SAMPLE))[1],
    ],
    ids=["no SDK", "a sampler of the program's own"],
)
def test_what_is_not_known_is_left_to_the_sdk(make: Callable[[], Any]) -> None:
    tracer = make()
    assert records_of(tracer, decision_of(tracer), MAX_TEXT) is None


@pytest.mark.parametrize("private", ["_span_limits", "_instrumentation_scope"])
def test_an_sdk_that_keeps_its_parts_elsewhere_makes_every_span(private: str) -> None:
    _, tracer, _ = made_by()
    assert lazily(tracer) is not None
    delattr(tracer, private)
    assert lazily(tracer) is None
