"""pegboard: `session.call` of a tool that nobody observes, that an observer hears which does nothing, and that
pegboard-otel records or leaves out, in place and async; beside them the SDK's own `start_span` and `end`.

Spans go to a processor that drops them, so that the SDK's work is in and an exporter's thread is not.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, DEFAULT_ON, ParentBasedTraceIdRatio
from workload import ADD_ARGS

from contestants import Contestant, Path
from pegboard import hookimpl, open_host, tool
from pegboard_otel.recording import Recorder
from pegboard_otel.sampling import Ids

RUNNER = "trio"

SPAN = "start_span and end"

TOLD = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "add",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.description": "Add two numbers.",
    "gen_ai.tool.call.id": "abcdef01-1",
}
"""What the span of a call holds."""


class Observing:
    """A plugin with these observers."""

    name = "observing"

    def __init__(self, *observers):
        self.observers = observers

    @hookimpl
    def provide_observers(self):
        return list(self.observers)


def _hear(outcome):
    """Do nothing."""


def _tracer(sampler):
    provider = TracerProvider(sampler, shutdown_on_exit=False, id_generator=Ids())
    provider.add_span_processor(SpanProcessor())
    return provider.get_tracer("measured")


def _recorder(sampler):
    return Recorder(_tracer(sampler), None, content=False)


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool(read_only=True)
async def add_async(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


TOOLS = {"in place": ("add", add), "async": ("add_async", add_async)}
WAYS = {
    "": (),
    ", an observer": (_hear,),
    ", recorded": (_recorder(DEFAULT_ON),),
    ", not sampled": (_recorder(ALWAYS_OFF),),
    ", one in a million sampled": (_recorder(ParentBasedTraceIdRatio(1e-6)),),
}


@asynccontextmanager
async def open_contestant():
    tracer = _tracer(DEFAULT_ON)

    async def span():
        tracer.start_span("execute_tool add", attributes=TOLD).end()

    calls = {Path(SPAN, "add"): span}
    async with AsyncExitStack() as stack:
        for kind, (name, added) in TOOLS.items():
            for way, observers in WAYS.items():
                host = await stack.enter_async_context(open_host(plugins=[Observing(*observers)]))
                host.add(added)
                session = host.session()
                assert (await session.call(name, dict(ADD_ARGS))).text == "4.0"
                calls[Path(f"session.call, {kind}{way}", "add")] = lambda session=session, name=name: session.call(
                    name, dict(ADD_ARGS)
                )
        yield Contestant(calls=calls)
