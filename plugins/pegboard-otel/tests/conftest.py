"""What the tests of pegboard-otel share: a host whose spans and metrics lie in memory."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class Observed:
    """What is observed, as a plugin: it records as pegboard-otel does, into memory."""

    name = "observed"

    def __init__(self, *, content: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.content = content
        self.recorder: Any = None
        self.host: Any = None

    @hookimpl
    def open_resources(self) -> Any:
        """Record into memory."""
        return self._open()

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[Any]:
        from pegboard_otel.exporting import open_recorder

        processor = SimpleSpanProcessor(self.exporter)
        async with open_recorder(content=self.content, spans=processor, reader=self.reader) as self.recorder:
            yield self.recorder

    @hookimpl
    def provide_observers(self) -> list[Any]:
        """What records."""
        return [self.recorder]

    @property
    def spans(self) -> dict[str, Any]:
        """Every span by its name; two of one name are a failure."""
        found = self.exporter.get_finished_spans()
        by_name = {span.name: span for span in found}
        assert len(by_name) == len(found), [span.name for span in found]
        return by_name

    def parent_of(self, name: str) -> str | None:
        """The name of the span that one lies below; None: of none that is here."""
        spans = self.spans
        parent = spans[name].parent
        return next((one for one, span in spans.items() if parent and span.context.span_id == parent.span_id), None)

    @property
    def counted(self) -> dict[str, list[dict[str, Any]]]:
        """By the name of each histogram, the attributes of what was counted."""
        data = self.reader.get_metrics_data()
        metrics = (
            []
            if data is None
            else [metric for of in data.resource_metrics for scope in of.scope_metrics for metric in scope.metrics]
        )
        return {metric.name: [dict(point.attributes) for point in metric.data.data_points] for metric in metrics}


@pytest.fixture
def make_observed() -> type[Observed]:
    """For tests that open their hosts themselves."""
    return Observed


@pytest.fixture
def observed(host_with: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Observed]]:
    """`await observed(*tools, content=False, plugins=())`: what is seen of a host with these tools, as `.host`."""

    async def start(*tools: Any, content: bool = False, plugins: tuple[Any, ...] = ()) -> Observed:
        seen = Observed(content=content)
        seen.host = await host_with(seen, *plugins)
        seen.host.add(*tools)
        return seen

    return start
