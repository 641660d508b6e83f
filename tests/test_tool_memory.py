"""A tool that somebody else offers and nobody has called takes little: a host may know ten thousand."""

from __future__ import annotations

import gc
import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from pegboard import Tool, load_board
from pegboard_mcp.client import cache, discovery
from pegboard_nats import known, wire

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pegboard import Board

TOOLS = 500
MOST_BYTES = 2.4 * 1024


def shape(number: int) -> dict[str, Any]:
    """Of the parameters: as of many tools of one author, which are alike."""
    return {
        "type": "object",
        "properties": {
            "a": {"type": "number", "title": "A"},
            "where": {"type": "string", "default": "here", "description": "Where it happens."},
            "often": {"type": "integer", "default": number % 3},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def of_mcp(settings: Any, board: Board, count: int) -> None:
    raws = [
        {
            "name": f"tool_{number}",
            "description": f"Do what number {number} is for, and say how it went.",
            "inputSchema": shape(number),
            "outputSchema": {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]},
        }
        for number in range(count)
    ]
    definition = board.sources[0][1].catalogue.definition  # type: ignore[attr-defined]
    entries = tuple(discovery.tool_entries(json.loads(json.dumps(raws)), definition, {}))
    cache.write(cache.path_of(definition), discovery.Listing(tools=entries))


def of_nats(settings: Any, board: Board, count: int) -> None:
    def made(number: int) -> dict[str, Any]:
        said = f"Do what number {number} is for, and say how it went."
        return wire.definition_of(attrs.evolve(alike[number % 3], name=f"tool_{number}", description=said))

    alike = [Tool(name="x", handler=of_nats, input_schema=shape(number), run="thread") for number in range(3)]
    known.write(known.path_of("far", settings), [made(number) for number in range(count)])


CONFIGURED = {
    "mcp": ({"servers": {"far": {"command": "true"}}}, of_mcp),
    "nats": ({"servers": ["nats://127.0.0.1:1"], "groups": {"far": {}}}, of_nats),
}


@pytest.mark.parametrize("plugin", CONFIGURED)
def test_a_discovered_tool_takes_little_memory(plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings, remember = CONFIGURED[plugin]
    config = {"plugins": {plugin: settings}}

    def load(count: int, remember: Callable[..., None]) -> Board:
        board = load_board(config, [plugin])
        remember(next(record.settings for record, _ in board.sources), board, count)
        gc.collect()
        tracemalloc.start()
        try:
            board = load_board(config, [plugin])
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        return board

    sizes: list[int] = []
    load(10, remember)  # what is imported, and made once
    boards = [load(10, remember), load(10 + TOOLS, remember)]
    assert len(boards[1].tools) - len(boards[0].tools) == TOOLS
    assert (sizes[2] - sizes[1]) / TOOLS <= MOST_BYTES
