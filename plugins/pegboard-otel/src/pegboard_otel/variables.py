"""What the `OTEL_*` variables and the program say: whether anything is observed, and where it goes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint


def is_asked_for(signal: str) -> bool:
    """Whether a variable says where `traces` or `metrics` go. Nothing is sent where nobody asked for it: a host that
    ends would wait for a collector that was never there.
    """
    names = (f"OTEL_{signal.upper()}_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT")
    return any(os.environ.get(name, "").strip() for name in (*names, f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"))


def names_of(signal: str) -> list[str]:
    """The exporters of `traces` or `metrics` that the variables name."""
    if not is_asked_for(signal):
        return []
    said = os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "").strip() or "otlp"
    return [name for one in said.split(",") if (name := one.strip()) and name != "none"]


def entry_point_of(signal: str, name: str) -> tuple[str, EntryPoint | None]:
    """An exporter by the entry points that every package of OpenTelemetry has for its own: its name there, and the
    entry point, None where nothing that has it is installed."""
    from importlib.metadata import entry_points

    protocol = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or os.environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", ""
    )
    wanted = {"otlp": "otlp_proto_grpc" if protocol.strip() == "grpc" else "otlp_proto_http"}.get(name, name)
    return wanted, next(iter(entry_points(group=f"opentelemetry_{signal}_exporter", name=wanted)), None)


def are_exporters_there(signals: Sequence[str]) -> bool:
    """Whether every exporter that is named for them is installed; where one is not, no host records anything."""
    return is_set_up() or all(entry_point_of(signal, name)[1] for signal in signals for name in names_of(signal))


def is_set_up() -> bool:
    """Whether the program has set up OpenTelemetry itself."""
    if "opentelemetry.sdk.trace" not in sys.modules:
        return False
    from opentelemetry.trace import get_tracer_provider

    found = type(get_tracer_provider())
    return found.__name__ != "ProxyTracerProvider" and not found.__module__.startswith("pegboard_otel.")


def why_not() -> tuple[str, str] | None:
    """Why nothing is observed, and what helps; None: it is."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return "OTEL_SDK_DISABLED is true", "unset it"
    if is_set_up() or is_asked_for("traces") or is_asked_for("metrics"):
        return None
    return "no variable says where to", "set OTEL_EXPORTER_OTLP_ENDPOINT, as in http://localhost:4318"


def destination() -> str:
    """Where spans go, as the variables say it; what a URL may hold of credentials is left out."""
    from urllib.parse import urlsplit

    kind = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    if kind != "otlp":
        return f"the exporter {kind[:60]!r}"
    url = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    try:
        there = urlsplit(url or "http://localhost:4318")
        port = f":{there.port}" if there.port else ""
        if there.scheme not in ("http", "https") or not there.hostname:
            raise ValueError
    except ValueError:
        return "an address that cannot be read; look at OTEL_EXPORTER_OTLP_ENDPOINT"
    return f"{there.scheme}://{there.hostname}{port}"
