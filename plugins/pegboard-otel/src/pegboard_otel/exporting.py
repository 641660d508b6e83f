"""The SDK of OpenTelemetry as `OTEL_*` variables say it, for as long as a host runs.

Where the program has set up the SDK itself, that is used as it is, and is the program's to end. Else each host has one
of its own, which is flushed when the host ends, within `FLUSH_S`; and what libraries record beside us, as the MCP SDK
does, goes to the host that runs (`_Passing`), since a process sets its provider once.

Nothing waits for a collector: spans lie in a queue of bounded length (`OTEL_BSP_MAX_QUEUE_SIZE`), which a thread
empties, and what does not fit is dropped.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import trio
from opentelemetry import metrics as metrics_api
from opentelemetry import trace as trace_api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

from pegboard import ConfigError, __version__
from pegboard_otel.recording import Recorder
from pegboard_otel.sampling import Ids
from pegboard_otel.variables import destination, entry_point_of, names_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

notice = logging.getLogger("pegboard.notice")  # what a person reads without looking for it

FLUSH_S = 3.0
"""How long the end of a host waits for what is still to be sent, in seconds."""
NAME = "pegboard"


@contextlib.asynccontextmanager
async def open_recorder(
    *, content: bool = False, metrics: bool = True, spans: Any = None, reader: Any = None
) -> AsyncIterator[Recorder]:
    """What records, until the block ends.

    Args:
        content: whether spans hold arguments and results.
        metrics: whether durations and tokens are counted.
        spans: a processor of spans in the place of what the variables say, for tests.
        reader: a reader of metrics in the place of what the variables say, for tests.

    Raises:
        ConfigError: a variable names an exporter that is not installed.
    """
    theirs = trace_api.get_tracer_provider()
    if spans is None and not isinstance(theirs, (trace_api.ProxyTracerProvider, _Global)):
        meter = metrics_api.get_meter(NAME, __version__) if metrics else None
        yield Recorder(theirs.get_tracer(NAME, __version__), meter, content=content)
        return
    resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {SERVICE_NAME: NAME})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False, id_generator=Ids())
    for processor in [spans] if spans is not None else await _in_thread(_processors):
        tracers.add_span_processor(processor)
    readers = ([reader] if reader else [] if spans else await _in_thread(_readers)) if metrics else []
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False) if readers else None
    meter = None if meters is None else meters.get_meter(NAME, __version__)
    try:
        with _passing_on_to(tracers):
            yield Recorder(tracers.get_tracer(NAME, __version__), meter, content=content)
    finally:
        await _end([tracers.shutdown] if meters is None else [tracers.shutdown, meters.shutdown])


async def _in_thread(make: Callable[[], Iterator[Any]]) -> list[Any]:
    """All that is made, in a thread: what an exporter imports takes a while."""
    return await trio.to_thread.run_sync(list, make())


async def _end(ends: list[Callable[[], None]]) -> None:
    """Flush and end, all at once; a thread that waits for a collector which is gone is left behind."""

    async def end(one: Callable[[], None]) -> None:
        with contextlib.suppress(Exception):  # whatever an exporter raises, the host ends
            await trio.to_thread.run_sync(one, abandon_on_cancel=True)

    with trio.move_on_after(FLUSH_S, shield=True) as scope:
        async with trio.open_nursery() as nursery:
            for one in ends:
                nursery.start_soon(end, one)
    if scope.cancelled_caught:
        notice.warning(
            "what was recorded was not sent within %g s, to %s; calls are not affected", FLUSH_S, destination()
        )


# -- exporters


def _processors() -> Iterator[BatchSpanProcessor]:
    for name in names_of("traces"):
        # stdout carries the answer of the program alone
        make = functools.partial(ConsoleSpanExporter, out=sys.stderr) if name == "console" else None
        yield BatchSpanProcessor((make or _exporter("traces", name))())


def _readers() -> Iterator[PeriodicExportingMetricReader]:
    for name in names_of("metrics"):
        make = functools.partial(ConsoleMetricExporter, out=sys.stderr) if name == "console" else None
        yield PeriodicExportingMetricReader((make or _exporter("metrics", name))())


def _exporter(signal: str, name: str) -> Any:
    """What makes the exporter of that name."""
    wanted, found = entry_point_of(signal, name)
    if found is None:
        raise ConfigError(
            f"OTEL_{signal.upper()}_EXPORTER: the exporter {wanted[:60]!r} is not installed",
            hint="install the package that has it, or set the variable to otlp, console or none",
        )
    return found.load()


# -- what libraries record beside us


class _Global(trace_api.TracerProvider):
    """The provider of this process, where the program has set none: that of the host that runs, of several the one that
    opened last. Hosts end in any order, and one that has ended is given nothing."""

    def __init__(self) -> None:
        self.running: list[trace_api.TracerProvider] = [trace_api.NoOpTracerProvider()]

    def get_tracer(self, *named: Any, **more: Any) -> trace_api.Tracer:
        return _Passing(self, named, more)


class _Passing(trace_api.Tracer):
    def __init__(self, owner: _Global, named: tuple[Any, ...], more: dict[str, Any]) -> None:
        self._owner, self._named, self._more = owner, named, more

    @property
    def _tracer(self) -> trace_api.Tracer:
        return self._owner.running[-1].get_tracer(*self._named, **self._more)

    def start_span(self, *args: Any, **kwargs: Any) -> trace_api.Span:
        return self._tracer.start_span(*args, **kwargs)

    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Any:
        return self._tracer.start_as_current_span(*args, **kwargs)


@contextlib.contextmanager
def _passing_on_to(tracers: TracerProvider) -> Iterator[None]:
    if isinstance(trace_api.get_tracer_provider(), trace_api.ProxyTracerProvider):
        trace_api.set_tracer_provider(_Global())
    found = trace_api.get_tracer_provider()
    if not isinstance(found, _Global):
        yield
        return
    found.running.append(tracers)
    try:
        yield
    finally:
        found.running.remove(tracers)
