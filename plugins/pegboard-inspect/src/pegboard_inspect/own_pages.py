"""Sources and Health: two pages of the inspector itself, made as any plugin makes one."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

from pegboard_inspect.pages import Page

if TYPE_CHECKING:
    from pegboard import Host


RESTART_S = 35.0
"""How long a page waits for a source that was started again."""


def _module(name: str) -> str:
    return (resources.files("pegboard_inspect") / "static" / name).read_text(encoding="utf-8")


def pages() -> list[Page]:
    """Both."""
    return [sources(), health()]


def sources() -> Page:
    """What brings tools that come and go, how it does, and starting it again."""
    module, actions = _module("page_sources.js"), {"restart": _restart}
    return Page(title="Sources", path="sources", module=module, data=_sources, actions=actions)


def health() -> Page:
    """What doctor finds, the configuration in force, the plugins."""
    module, actions = _module("page_health.js"), {"doctor": _doctor}
    return Page(title="Health", path="health", module=module, data=_health, actions=actions)


async def _sources(host: Host) -> Any:
    board = host.board
    held = [{"name": one.name, "source": str(one.origin), "why": one.why, "fix": one.fix} for one in board.held]
    tools: dict[str, list[str]] = {}
    for name, entry in board.registry.plans.items():
        tools.setdefault(entry.tool.origin.source or "", []).append(name)
    return {
        "sources": [
            {**one.to_json(), "meaning": one.state.meaning, "names": sorted(tools.get(one.source, ()))}
            for one in board.source_statuses()
        ],
        "held": held,
    }


async def _restart(host: Host, name: Any) -> Any:
    """Start a source again, and wait until it offers its tools or says why not; one that waits to be wanted is."""
    import trio

    name = str(name)
    host.restart_source(name)
    with trio.move_on_after(RESTART_S):
        await trio.lowlevel.checkpoint()
        for _, source in host.board.sources:
            if source.name == name and hasattr(source, "wake"):
                await source.wake()
        while host.board.source_states[name][0].is_coming:
            await host.wait_source_moved()
    return {"state": host.board.source_states[name][0].value}


async def _doctor(host: Host, value: Any) -> Any:
    """What `pegboard doctor` finds on the board; asked for by itself, since its checks may take their time."""
    import trio

    findings = await trio.to_thread.run_sync(host.board.findings)
    return [one.to_json() for one in dict.fromkeys(findings)]


async def _health(host: Host) -> Any:
    board = host.board
    _ = board.dialects  # asked for late, and counted then
    return {
        "settings": [row.to_json() for row in board.config.describe()],
        "files": [str(file) for file in board.config.files],
        "plugins": [
            {
                "name": record.name,
                "distribution": record.distribution,
                "version": record.version,
                "builtin": record.builtin,
                "quarantined": record.quarantined,
                "cure": record.cure,
                "import_ms": round(record.import_s * 1000, 2),
                "provides": record.provides,
            }
            for record in sorted(board.plugins, key=lambda one: (one.builtin, one.name))
        ],
        "lost": dict(host.lost_resources),
    }
