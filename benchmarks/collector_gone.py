"""`collector_gone.py`: what a call costs more where its spans go to a collector that is gone, in us of wall time.

Three hosts in turn, a few calls each: nothing records; pegboard-otel records and nobody sends; it records, and its
exporter's thread asks an address where nobody listens. The figures that count are the differences of the last two: the
exporter's own work is all that lies between them. Run it in an environment with pegboard and pegboard-otel; prints
JSON.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
import time
from contextlib import AsyncExitStack

import trio
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from pegboard import hookimpl, open_host, tool
from pegboard_otel.exporting import open_recorder

ROUNDS, CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 2000, 10
QUANTILES = {"median": 0.5, "p99": 0.99, "p99.9": 0.999}


@tool(read_only=True)
async def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


class Recording:
    """A plugin with this recorder."""

    name = "recording"

    def __init__(self, recorder):
        self.recorder = recorder

    @hookimpl
    def provide_observers(self):
        return [self.recorder]


def free_port():
    """A port where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


async def measure():
    """By what is recorded, the quantiles of a call; and what the collector that is gone adds."""
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # that nobody answers is what is measured
    gone = f"http://127.0.0.1:{free_port()}/v1/traces"
    processors = {
        "not sent": SpanProcessor(),
        "collector gone": BatchSpanProcessor(OTLPSpanExporter(gone, timeout=1), schedule_delay_millis=20),
    }
    async with AsyncExitStack() as stack:
        plugins = {"not recorded": []}
        for name, processor in processors.items():
            recorder = await stack.enter_async_context(open_recorder(spans=processor, metrics=False))
            plugins[name] = [Recording(recorder)]
        sessions = {}
        for name, brought in plugins.items():
            host = await stack.enter_async_context(open_host(plugins=brought))
            host.add(add)
            sessions[name] = host.session()
        took = {name: [] for name in sessions}
        for _ in range(ROUNDS):
            for name, session in sessions.items():
                for _ in range(CALLS):
                    began = time.perf_counter()
                    await session.call("add", {"a": 1, "b": 2})
                    took[name].append((time.perf_counter() - began) * 1e6)
    found = {
        name: {quantile: round(sorted(all_of)[int(len(all_of) * at)], 1) for quantile, at in QUANTILES.items()}
        for name, all_of in took.items()
    }
    more = {
        quantile: round(found["collector gone"][quantile] - found["not sent"][quantile], 1) for quantile in QUANTILES
    }
    return {**found, "more": more}


print(json.dumps(trio.run(measure), indent=2))
