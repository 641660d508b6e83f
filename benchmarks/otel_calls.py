"""What pegboard-otel costs a call, beside a bare pair of `start_span` and `end`: medians of interleaved rounds.

    python benchmarks/otel_calls.py [ROUNDS]

It needs the core and pegboard-otel. Spans go to a processor that drops them, so that the SDK's work is in and an
exporter's thread is not.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
from time import process_time
from typing import TYPE_CHECKING, Any

import trio
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from pegboard import hookimpl, open_host, tool
from pegboard_otel.recording import Recorder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CALLS = 2_000


@tool(run="inplace")
def in_place(a: float, b: float) -> float:
    """Add."""
    return a + b


@tool
async def awaited(a: float, b: float) -> float:
    """Add."""
    return a + b


class Plugin:
    """A plugin with these observers."""

    name = "measured"

    def __init__(self, *observers: Any) -> None:
        self.observers = observers

    @hookimpl
    def provide_observers(self) -> list[Any]:
        """What is measured."""
        return list(self.observers)


def hears(outcome: Any) -> None:
    """Do nothing."""


def recorder(*, sampled: bool) -> Recorder:
    """What records, into a processor that drops it."""
    provider = TracerProvider(shutdown_on_exit=False, **({} if sampled else {"sampler": ALWAYS_OFF}))
    provider.add_span_processor(SpanProcessor())
    return Recorder(provider.get_tracer("measured"), None, content=False)


TOLD = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "in_place",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.description": "Add.",
    "gen_ai.tool.call.id": "abcdef01-1",
}
"""What the span of a call holds."""
ROWS: dict[str, tuple[Any, ...]] = {
    "nobody observes": (),
    "an observer that does nothing": (hears,),
    "pegboard-otel, every call": (recorder(sampled=True),),
    "pegboard-otel, no call sampled": (recorder(sampled=False),),
}


async def main(rounds: int) -> None:
    """Measure, and print the table."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SpanProcessor())
    tracer = provider.get_tracer("measured")
    told: dict[tuple[str, str], list[float]] = {}

    async def bare() -> None:
        tracer.start_span("execute_tool add", attributes=TOLD).end()

    async with contextlib.AsyncExitStack() as stack:
        work: dict[tuple[str, str], Callable[[], Awaitable[Any]]] = {("a bare pair of start and end", "in place"): bare}
        for name, observers in ROWS.items():
            host = await stack.enter_async_context(open_host(plugins=[Plugin(*observers)]))
            host.add(in_place, awaited)
            session = host.session()
            for how, tool_name in (("in place", "in_place"), ("async", "awaited")):
                work[name, how] = lambda session=session, named=tool_name: session.call(named, {"a": 1.0, "b": 2.0})
        for _ in range(rounds):
            for row, call in work.items():
                began = process_time()
                for _ in range(CALLS):
                    await call()
                told.setdefault(row, []).append((process_time() - began) / CALLS * 1e6)
    least = {row: statistics.median(times) for row, times in told.items()}
    pair = least["a bare pair of start and end", "in place"]
    print(f"| us of CPU | in place | async |\n|---|---|---|\n| a bare pair of start and end | {pair:.1f} | |")
    for name in ROWS:
        print(f"| {name} | {least[name, 'in place']:.1f} | {least[name, 'async']:.1f} |")
    for how in ("in place", "async"):
        without, every = least["nobody observes", how], least["pegboard-otel, every call", how]
        out = least["pegboard-otel, no call sampled", how]
        print(
            f"{how}: a recorded call costs {(every - without) / pair:.2f} x a bare pair more; one that is not sampled "
            f"{out / without:.2f} x one without"
        )


if __name__ == "__main__":
    trio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 7)
