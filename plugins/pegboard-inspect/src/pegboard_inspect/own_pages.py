"""Sources and Health: two pages of the inspector itself, made as any plugin makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_inspect.pages import Page, text_of
from pegboard_inspect.sources_page import sources

if TYPE_CHECKING:
    from pegboard import Host


def pages() -> list[Page]:
    """Both."""
    return [sources(), health()]


def health() -> Page:
    """What doctor finds, the configuration in force, the plugins."""
    module, actions = text_of("page_health.js"), {"doctor": _doctor}
    return Page(title="Health", path="health", module=module, data=_health, actions=actions)


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
