"""Where what is recorded goes: by the variables of OpenTelemetry, within bounds, and nowhere unasked."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

import pytest
import trio
from opentelemetry import trace as trace_api
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pegboard import ConfigError, load_board, open_host, tool
from pegboard_otel import exporting, plugin

if TYPE_CHECKING:
    from collections.abc import Callable

ASKED = "OTEL_EXPORTER_OTLP_ENDPOINT"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


@tool(run="inplace")
def add(a: float, b: float) -> float:
    """Add."""
    return a + b


def test_a_board_that_lists_imports_nothing_of_it() -> None:
    code = (
        "import sys, pegboard, pegboard_otel.plugin\n"
        "pegboard.load_board({}, [pegboard_otel.plugin]).tools\n"
        "assert not [one for one in sys.modules if one.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


async def test_nothing_is_recorded_where_no_variable_says_where_to() -> None:
    async with open_host(plugins=[plugin]) as host:
        assert not host.runtime.observers
        assert not host.runtime.spans


@pytest.mark.parametrize("variable", [ASKED, "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"])
async def test_what_is_asked_for_is_recorded(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1" if variable == ASKED else "none")
    monkeypatch.setattr(exporting, "_processors", list)
    monkeypatch.setattr(exporting, "_readers", list)
    async with open_host(plugins=[plugin]) as host:
        assert len(host.runtime.observers) == 1
        host.add(add)
        assert (await host.session().call("add", {"a": 1, "b": 2})).data == {"result": 3}
        monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    async with open_host(plugins=[plugin]) as host:
        assert not host.runtime.observers


async def test_an_exporter_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "nonsense")
    with pytest.raises(ConfigError, match="OTEL_TRACES_EXPORTER: the exporter 'nonsense' is not installed"):
        async with exporting.open_recorder(metrics=False):
            pass
    board = load_board(plugins=[plugin])
    (check,) = plugin.provide_checks(plugin.OtelSettings())
    assert not list(check(board)), "that calls are observed would be untrue"


async def test_exporters_are_imported_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """They bring a client of HTTP or of gRPC, and a program may be busy while it opens a host."""
    loaded: list[int] = []

    class EntryPoint:
        def load(self) -> Any:
            loaded.append(threading.get_ident())
            return exporting.ConsoleSpanExporter if len(loaded) == 1 else exporting.ConsoleMetricExporter

    monkeypatch.setattr(exporting, "entry_point_of", lambda signal, name: (name, EntryPoint()))
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "ours")
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "ours")
    async with exporting.open_recorder():
        pass
    assert len(loaded) == 2
    assert threading.get_ident() not in loaded


async def test_what_does_not_end_is_left_behind_and_told(autojump_clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A flush that hangs holds the end of a host for 3 s, by the loop's clock, and no longer."""
    import trio

    go, began = threading.Event(), trio.current_time()
    await exporting._end([go.wait, lambda: None])  # type: ignore[list-item]
    assert trio.current_time() - began == exporting.FLUSH_S
    assert "what was recorded was not sent within 3 s" in caplog.text
    go.set()


async def test_what_an_exporter_raises_at_the_end_harms_nobody() -> None:
    def broken() -> None:
        raise OSError("gone")

    await exporting._end([broken])


async def test_spans_of_libraries_go_to_the_host_that_runs(observed: Callable[..., Any]) -> None:
    seen = await observed(add)
    with trace_api.get_tracer("a library").start_as_current_span("of a library"):
        await seen.host.session().call("add", {"a": 1, "b": 2})
    assert seen.parent_of("execute_tool add") == "of a library"


async def test_spans_of_libraries_go_to_no_host_that_has_ended() -> None:
    """Hosts end in any order; where none runs any more, nothing is recorded, and no trace begins."""
    processors = [SimpleSpanProcessor(InMemorySpanExporter()) for _ in range(2)]
    first, second = (contextlib.AsyncExitStack() for _ in range(2))
    for stack, processor in zip((first, second), processors, strict=True):
        await stack.enter_async_context(exporting.open_recorder(spans=processor))
    library = trace_api.get_tracer("a library")
    await first.aclose()
    library.start_span("one").end()
    await second.aclose()
    assert not library.start_span("two").get_span_context().is_valid
    told = [[span.name for span in one.span_exporter.get_finished_spans()] for one in processors]
    assert told == [[], ["one"]]


def test_doctor_says_what_is_observed_and_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        (one,) = [one for one in load_board({}, [plugin]).findings() if one.where == "plugin otel"]
        assert one.severity == "note"
        return f"{one.what}: {one.why}"

    assert told() == "nothing is observed: no variable says where to"
    monkeypatch.setenv(ASKED, "https://ada:s3cret@collector.example:4318/path?key=s3cret")
    assert told() == (
        "calls, MCP and chats are observed: spans and metrics, without arguments and results, go to "
        "https://collector.example:4318"
    )
    monkeypatch.setenv(ASKED, "nonsense")
    assert told().endswith("an address that cannot be read; look at OTEL_EXPORTER_OTLP_ENDPOINT")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "TRUE")
    assert told() == "nothing is observed: OTEL_SDK_DISABLED is true"


async def test_no_call_waits_for_a_collector_that_hangs_and_what_does_not_fit_is_dropped(
    host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By construction: while the threads that export hang, whatever they hold, the loop's thread takes each lock of the
    SDK at once, waits for no event and flushes nothing; and queues that are full grow no further."""
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    from pegboard import hookimpl

    go, hanging = threading.Event(), threading.Barrier(3)
    sent: list[Any] = []
    loop, waited = threading.get_ident(), []

    class Lock:
        """A lock that notes when the loop's thread does not get it at once."""

        def __init__(self) -> None:
            self._lock = make_lock()

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            if self._lock.acquire(blocking=False):
                return True
            if blocking and threading.get_ident() == loop:
                waited.append("".join(traceback.format_stack()))
            return bool(blocking) and self._lock.acquire(blocking, timeout)

        def release(self) -> None:
            self._lock.release()

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, *_: object) -> None:
            self.release()

    def hang() -> None:
        if not go.is_set():
            hanging.wait(20)
        go.wait()

    class Spans(SpanExporter):
        def export(self, spans: Any) -> SpanExportResult:
            hang()
            sent.extend(spans)
            return SpanExportResult.SUCCESS

    class Metrics(MetricExporter):
        def export(self, *_: Any, **__: Any) -> MetricExportResult:
            hang()
            return MetricExportResult.SUCCESS

        def force_flush(self, timeout_millis: float = 0) -> bool:
            return True

        def shutdown(self, timeout_millis: float = 0, **_: Any) -> None:
            return None

    class Plugin:
        name = "hanging"

        @hookimpl
        def provide_observers(self) -> list[Any]:
            return [recorder]

    make_lock = threading.Lock
    monkeypatch.setattr("threading.Lock", Lock)
    processor = BatchSpanProcessor(Spans(), max_queue_size=64, max_export_batch_size=32, schedule_delay_millis=1)
    reader = PeriodicExportingMetricReader(Metrics(), export_interval_millis=1)
    async with exporting.open_recorder(spans=processor, reader=reader) as recorder:
        monkeypatch.setattr("threading.Lock", make_lock)
        host = await host_with(Plugin())
        host.add(add)
        session = host.session()
        assert (await session.call("add", {"a": 1, "b": 2})).ok  # there is something to send
        await trio.to_thread.run_sync(hanging.wait, 20)
        waited.clear()  # what two threads that both run take at the same moment is not a wait for an export
        for number in range(1000):
            assert (await session.call("add", {"a": number, "b": 2})).ok
        assert not waited, waited[0]
        assert not sent
        go.set()
    assert 0 < len(sent) <= 64 + 32
