"""The hooks of pegboard-otel. OpenTelemetry is imported when a host opens, and never by a board that only lists."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import attrs

from pegboard import Finding, hookimpl, setting
from pegboard_otel.variables import are_exporters_there, destination, is_set_up, why_not

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from contextlib import AbstractAsyncContextManager


@attrs.frozen(eq=False)
class OtelSettings:
    """`[plugins.otel]`; where what is recorded goes say the `OTEL_*` variables, as for every program."""

    content: bool = setting(False, widens=True, help="whether spans hold arguments and results of calls")
    metrics: bool = setting(True, help="whether durations and tokens are counted, beside spans")


_open: WeakKeyDictionary[OtelSettings, Any] = WeakKeyDictionary()
"""What records for a host that runs, by the settings of its board."""


@hookimpl
def provide_settings() -> type[OtelSettings]:
    """`[plugins.otel]`."""
    return OtelSettings


@hookimpl
def open_resources(settings: OtelSettings) -> AbstractAsyncContextManager[Any] | None:
    """The SDK, for as long as the host runs."""
    return _recording(settings) if why_not() is None else None


@contextlib.asynccontextmanager
async def _recording(settings: OtelSettings) -> AsyncIterator[Any]:
    import trio

    def load() -> Any:
        from pegboard_otel import exporting

        return exporting

    exporting = await trio.to_thread.run_sync(load)  # a third of a second of imports
    async with exporting.open_recorder(content=settings.content, metrics=settings.metrics) as recorder:
        _open[settings] = recorder
        yield recorder


@hookimpl
def provide_observers(settings: OtelSettings) -> Iterable[Any] | None:
    """What records calls."""
    found = _open.get(settings)
    return None if found is None else [found]


@hookimpl
def provide_checks(settings: OtelSettings) -> Iterable[Callable[[Any], Iterator[Finding]]]:
    """What is observed, and where it goes."""

    def told(board: Any) -> Iterator[Finding]:
        if (reason := why_not()) is not None:
            yield Finding("nothing is observed", "plugin otel", *reason, "note")
            return
        if not are_exporters_there(["traces", *(["metrics"] if settings.metrics else [])]):
            return  # doctor says which, of the resources that would not open
        what = "spans and metrics" if settings.metrics else "spans"
        held = "with" if settings.content else "without"
        where = "where the program sends them" if is_set_up() else f"to {destination()}"
        yield Finding(
            "calls, MCP and chats are observed", "plugin otel",
            f"{what}, {held} arguments and results, go {where}",
            "OTEL_EXPORTER_OTLP_ENDPOINT says where to, OTEL_SDK_DISABLED=true ends it", "note",
        )  # fmt: skip

    return [told]
