"""What is not sampled: decided as the SDK would, handed on with its trace, and cheap."""

from __future__ import annotations

import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace as trace_api
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace import sampling as sdk
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, TraceState

from pegboard import CallContext, hookimpl, tool, trace
from pegboard_otel import recording
from pegboard_otel.recording import CURRENT, Recorder
from pegboard_otel.sampling import Ids, decision_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

RATIO = 0.3
KNOWN = (
    "always_on", "always_off", "parentbased_always_on", "parentbased_always_off", "traceidratio",
    "parentbased_traceidratio",
)  # fmt: skip
"""`OTEL_TRACES_SAMPLER`: every value that OpenTelemetry names for it and the SDK has."""


class Recording(sdk.Sampler):
    """A sampler of somebody else's, which writes down what it is asked."""

    def __init__(self, decision: sdk.Decision) -> None:
        self.decision = decision
        self.asked: list[tuple[Any, ...]] = []

    def should_sample(
        self, parent_context: Any, trace_id: int, name: str, kind: Any = None, attributes: Any = None,
        links: Any = None, trace_state: Any = None,
    ) -> sdk.SamplingResult:  # fmt: skip
        """Decide, and note."""
        self.asked.append((parent_context, trace_id, name, kind, attributes, links))
        return sdk.SamplingResult(self.decision, attributes)

    def get_description(self) -> str:
        """As that of the SDK has it: a description proves nothing."""
        return "AlwaysOffSampler"


class Lying(sdk.TraceIdRatioBased):
    """One of the SDK's, changed."""


@tool
async def told() -> dict[str, Any]:
    """Tell the trace, as it is handed on and as OpenTelemetry has it."""
    known = trace_api.get_current_span().get_span_context()
    return {"carried": dict(trace.carrier.get() or {}), "current": f"{known.trace_id:032x}-{known.span_id:016x}"}


@tool
async def outer(context: CallContext) -> dict[str, Any]:
    """Call another, and tell both traces."""
    return {"above": dict(trace.carrier.get() or {}), "below": (await context.call("told")).data}


@tool(run="inplace")
def nothing() -> None:
    """Do nothing."""


@pytest.fixture
def sampled_by(host_with: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[tuple[Any, InMemorySpanExporter]]]:
    """`await sampled_by(sampler)`: a session of a host whose spans that sampler chooses, and the spans."""

    async def start(sampler: sdk.Sampler | None, ids: Any = None) -> tuple[Any, InMemorySpanExporter]:
        exporter = InMemorySpanExporter()
        provider = TracerProvider(sampler, shutdown_on_exit=False, id_generator=ids)
        provider.add_span_processor(SimpleSpanProcessor(exporter))

        class Plugin:
            name = "sampled"

            @hookimpl
            def provide_observers(self) -> list[Any]:
                return [Recorder(provider.get_tracer("tests"), None, content=False)]

        host = await host_with(Plugin())
        host.add(told, outer, nothing)
        return host.session(), exporter

    return start


PARENTS = st.one_of(
    st.none(),
    st.builds(
        SpanContext,
        st.integers(1, 2**128 - 1),
        st.integers(1, 2**64 - 1),
        is_remote=st.booleans(),
        trace_flags=st.sampled_from([TraceFlags(one) for one in range(4)]),
        trace_state=st.sampled_from([TraceState(), TraceState([("rojo", "00f067aa0ba902b7")])]),
    ),
)


@pytest.mark.parametrize("sampler", KNOWN)
@given(parent=PARENTS)
@settings(max_examples=40, deadline=None)
def test_every_sampler_of_the_sdk_is_known_and_decided_as_the_sdk_does(
    sampler: str, parent: SpanContext | None
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_TRACES_SAMPLER", sampler)
        patch.setenv("OTEL_TRACES_SAMPLER_ARG", str(RATIO))
        tracer = TracerProvider(shutdown_on_exit=False, id_generator=Ids()).get_tracer("tests")
    decision = decision_of(tracer)
    context = Context() if parent is None else trace_api.set_span_in_context(NonRecordingSpan(parent), Context())
    dropped = None if decision is None else decision.dropped(context)
    span = tracer.start_span("one", context)  # of a root it takes the trace id that was decided on
    theirs = span.get_span_context()
    if dropped is None:
        assert span.is_recording()
        assert decision is not None
        return
    ours = dropped.get_span_context()
    assert not ours.trace_flags.sampled
    assert ours is dropped.get_span_context()
    assert ours.is_valid
    if parent is None:
        assert ours.trace_flags.random_trace_id
        if "ratio" in sampler:
            assert ours.trace_id & sdk.TraceIdRatioBased.TRACE_ID_LIMIT >= sdk.TraceIdRatioBased(RATIO).bound
        return
    assert not span.is_recording()
    assert (ours.trace_id, ours.trace_flags, ours.trace_state) == (
        theirs.trace_id, theirs.trace_flags, theirs.trace_state,
    )  # fmt: skip
    assert ours.span_id != parent.span_id


async def test_a_trace_that_is_not_sampled_is_handed_on_with_its_id_and_without_the_flag(sampled_by: Any) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    for sampler, flag in ((sdk.DEFAULT_ON, "00"), (sdk.ALWAYS_OFF, "01"), (sdk.DEFAULT_OFF, None)):
        session, exporter = await sampled_by(sampler)
        came = flag and {"traceparent": f"00-{trace_id}-b7ad6b7169203331-{flag}", "tracestate": "a=1", "baggage": "b=2"}
        with trace.following(came):
            data = (await session.call("outer")).data
        above, below = data["above"], data["below"]["carried"]
        for one in (above, below):
            _, its_trace, _, its_flag = one["traceparent"].split("-")
            assert its_trace == (trace_id if came else above["traceparent"][3:35])
            assert int(its_flag, 16) & TraceFlags.SAMPLED == 0
            assert {key: one.get(key) for key in ("tracestate", "baggage")} == (
                {"tracestate": "a=1", "baggage": "b=2"} if came else {"tracestate": None, "baggage": None}
            )
        assert data["below"]["current"] in below["traceparent"]
        assert not exporter.get_finished_spans()
        assert trace.carrier.get() is None


async def test_a_share_of_roots_is_sampled_with_all_that_lies_below_them(sampled_by: Any) -> None:
    calls = 400
    for ids in (Ids(), None):  # of a host of its own; of a program
        session, exporter = await sampled_by(sdk.ParentBasedTraceIdRatio(RATIO), ids)
        for _ in range(calls):
            await session.call("outer")
        spans = exporter.get_finished_spans()
        by_trace: dict[int, list[str]] = {}
        for span in spans:
            by_trace.setdefault(span.context.trace_id, []).append(span.name)
        assert all(sorted(names) == ["execute_tool outer", "execute_tool told"] for names in by_trace.values())
        assert 0.5 * RATIO < len(by_trace) / calls < 1.5 * RATIO  # six standard deviations


@pytest.mark.parametrize("decision", list(sdk.Decision))
async def test_an_unknown_sampler_is_asked_once_with_all_that_opentelemetry_gives(
    sampled_by: Any, decision: sdk.Decision
) -> None:
    sampler = Recording(decision)
    session, exporter = await sampled_by(sampler)
    await session.call("nothing", id="call-7")
    ((_, trace_id, name, kind, attributes, links),) = sampler.asked
    assert trace_id
    assert (name, kind, links) == ("execute_tool nothing", SpanKind.INTERNAL, ())
    assert attributes["gen_ai.tool.name"] == "nothing"
    assert attributes["gen_ai.tool.call.id"] == "call-7"
    assert len(exporter.get_finished_spans()) == (decision is sdk.Decision.RECORD_AND_SAMPLE)


@pytest.mark.parametrize(
    "sampler",
    [
        Recording(sdk.Decision.DROP),
        Lying(RATIO),
        sdk.ParentBased(Lying(RATIO)),
        sdk.ParentBased(sdk.ALWAYS_OFF, local_parent_not_sampled=Recording(sdk.Decision.DROP)),
    ],
)
def test_what_is_not_the_sdks_own_is_not_known(sampler: sdk.Sampler) -> None:
    assert decision_of(TracerProvider(sampler, shutdown_on_exit=False).get_tracer("tests")) is None


def test_where_the_sdk_counts_what_it_drops_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    tracer = TracerProvider(sdk.ALWAYS_OFF, shutdown_on_exit=False).get_tracer("tests")
    assert decision_of(tracer) is not None
    monkeypatch.setenv("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "true")
    assert decision_of(tracer) is None
    assert decision_of(trace_api.NoOpTracer()) is None


async def test_a_call_that_is_not_sampled_makes_no_span_no_context_no_text_and_no_outcome(
    sampled_by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = await sampled_by(sdk.ALWAYS_OFF)

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(Tracer, "start_span", never)
    monkeypatch.setattr("pegboard_otel.sampling.SpanContext", never)
    monkeypatch.setattr("pegboard._session.Heard", never)
    assert (await session.call("nothing")).ok
    assert not session.host.runtime.failed_observers


async def test_a_call_that_is_not_sampled_makes_few_calls_of_its_own(
    sampled_by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures of time are in docs/reference/benchmarks.md; a busy machine does not change how much is called."""
    monkeypatch.setattr("pegboard._session.CHECKPOINT_S", float("inf"))  # a late call goes the long way
    session, _ = await sampled_by(sdk.ALWAYS_OFF)
    plain = await sampled_by(sdk.ALWAYS_OFF)
    plain[0].host.runtime.watch(())

    async def called(by: Any) -> int:
        made = 0

        def count(_: Any, event: str, __: Any) -> None:
            nonlocal made
            made += event == "call"

        await by.call("nothing")
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            await by.call("nothing")
        finally:
            sys.setprofile(before)
        return made

    nobody, root = await called(plain[0]), await called(session)
    with session.host.span("POST /tools/{name}", "server", {}):
        below = await called(session)
    assert below - nobody <= 7
    assert root - nobody <= 6


async def test_what_nobody_asked_for_its_ids_stands_for_the_next_call_and_no_two_share_a_trace(sampled_by: Any) -> None:
    """Each call that looks has a trace of its own, whatever runs beside it, and whatever ran before."""
    session, _ = await sampled_by(sdk.ALWAYS_OFF)
    (observer,) = (one for _, one in session.host.runtime.observers)
    met = trio.Event()
    seen: list[str] = []

    @tool
    async def meets() -> None:
        """Tell the trace, once the other call runs as well."""
        if seen:
            met.set()
        seen.append("")
        await met.wait()
        seen.append((trace.carrier.get() or {})["traceparent"])

    session.host.add(meets)
    for _ in range(3):
        assert (await session.call("nothing")).ok
    assert len(observer.spare) == 1
    carried = [(await session.call("told")).data["carried"]["traceparent"] for _ in range(3)]
    assert observer.spare == []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(session.call, "meets")
        nursery.start_soon(session.call, "meets")
    assert len({one[3:35] for one in (*carried, *filter(None, seen))}) == 5
    assert trace.carrier.get() is None
    assert not trace_api.get_current_span().get_span_context().is_valid


@given(share=st.floats(0, 1, exclude_max=True))
@settings(deadline=None)
def test_the_trace_of_what_is_dropped_is_one_that_its_sampler_drops(share: float) -> None:
    sampler = sdk.TraceIdRatioBased(share)
    tracer = TracerProvider(sampler, shutdown_on_exit=False, id_generator=Ids()).get_tracer("tests")
    decision = decision_of(tracer)
    assert decision is not None
    assert not sampler.should_sample(None, decision.draw_dropped(), "one").decision.is_sampled()


async def test_a_call_that_is_not_sampled_is_counted_where_calls_are(host_with: Any) -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader], shutdown_on_exit=False).get_meter("tests")
    tracer = TracerProvider(sdk.ALWAYS_OFF, shutdown_on_exit=False).get_tracer("tests")

    class Plugin:
        name = "sampled"

        @hookimpl
        def provide_observers(self) -> list[Any]:
            return [Recorder(tracer, meter, content=False)]

    host = await host_with(Plugin())
    host.add(nothing)
    assert (await host.session().call("nothing")).ok
    (measured,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    assert (measured.name, measured.data.data_points[0].count) == ("gen_ai.execute_tool.duration", 1)


async def test_what_is_carried_goes_to_a_worker_process_as_plain_text(sampled_by: Any) -> None:
    seen = []

    @tool
    async def packs() -> None:
        """Pack the trace."""
        carried = trace.carrier.get()
        seen.append((dict(carried or {}), pickle.loads(pickle.dumps(carried))))

    session, _ = await sampled_by(sdk.ALWAYS_ON)
    session.host.add(packs)
    assert (await session.call("packs")).ok
    ((carried, unpacked),) = seen
    assert type(unpacked) is dict
    assert unpacked == carried
    assert unpacked["traceparent"].endswith("-03")


async def test_below_what_is_not_sampled_nothing_is_set_and_the_trace_goes_on(
    sampled_by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A nested call, or one of a served request, has the span above it; but not that of another host's sampler."""
    session, exporter = await sampled_by(sdk.DEFAULT_ON)
    everything, theirs = await sampled_by(sdk.ALWAYS_ON)
    with session.host.span("POST /tools/{name}", "server", {}):
        assert trace.carrier.get()["traceparent"].endswith("-03")
    attached: list[Any] = []

    class Current:
        """OpenTelemetry's context variable, and a list of what it is set to."""

        get, reset = CURRENT.get, CURRENT.reset

        def set(self, context: Context) -> Any:
            attached.append(context)
            return CURRENT.set(context)

    monkeypatch.setattr(recording, "CURRENT", Current())
    came = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
    with trace.following(came), session.host.span("POST /tools/{name}", "server", {}):
        above = dict(trace.carrier.get() or {})
        assert len(attached) == 1
        data = (await session.call("outer")).data
        assert data["above"] == data["below"]["carried"] == above
        assert data["below"]["current"] in above["traceparent"]
        assert len(attached) == 1
        assert not exporter.get_finished_spans()[1:]
        await everything.call("nothing")
        assert [span.name for span in theirs.get_finished_spans()] == ["execute_tool nothing"]
        assert above == trace.carrier.get()
    assert trace.carrier.get() is None
