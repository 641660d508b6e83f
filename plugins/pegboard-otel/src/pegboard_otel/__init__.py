"""OpenTelemetry for Pegboard: spans and metrics of tool calls, of MCP on both sides and of chats.

plugin      the hooks; every board imports it, and it imports nothing of OpenTelemetry
variables   whether anything is observed, and where it goes
recording   what is observed, as spans and histograms, by the semantic conventions
sampling    whether a span is not sampled, decided before anything is made for it
lazy        spans that are made when somebody looks at them, else handed on as finished records
exporting   the SDK, as `OTEL_*` variables say it, for as long as a host runs
"""

from __future__ import annotations
