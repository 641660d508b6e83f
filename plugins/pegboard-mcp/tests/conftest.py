"""What the tests of the tool sources share: a host whose MCP servers do as they are told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SCRIPTED = Path(__file__).parent / "servers" / "scripted.py"


class Served:
    """A host with servers, a session on it, and what the servers noted in their folder."""

    def __init__(self, host: Any, sources: list[Any], folder: Path) -> None:
        self.host = host
        self.sources = sources
        self.source = sources[0]
        self.folder = folder
        self.progress: list[tuple[float, float | None, str | None]] = []
        self.asked: list[Any] = []
        self.reply: Any = False
        self.session = host.session(on_progress=self._hear, confirm=self._confirm)

    async def _hear(self, call_id: str, done: float, total: float | None, message: str | None) -> None:
        self.progress.append((done, total, message))

    async def _confirm(self, question: Any) -> Any:
        self.asked.append(question)
        return self.reply

    async def call(self, name: str, timeout_s: float | None = 20, **arguments: Any) -> Any:
        """Call a tool of the session."""
        return await self.session.call(name, arguments, timeout_s=timeout_s)

    def lines(self, kind: str) -> list[str]:
        """What the servers noted: `runs`, `starts`, `heard`, `cancelled`."""
        path = self.folder / kind
        return path.read_text().splitlines() if path.exists() else []

    def state(self, name: str | None = None) -> str:
        """The state of a source, as `pegboard list` shows it."""
        return self.host.board.source_states[name or self.source.name][0].value

    def reason(self, name: str | None = None) -> str:
        """Why a source is in its state."""
        return self.host.board.source_states[name or self.source.name][1] or ""

    async def until(self, holds: Callable[[], Any], within_s: float = 15) -> None:
        """Wait until something outside of the loop has come about."""
        import trio

        with trio.fail_after(within_s):
            while not holds():
                await trio.sleep(0.005)

    async def ready(self, name: str | None = None) -> None:
        """Wait until a source is ready."""
        await self.until(lambda: self.state(name) == "ready")


class SourcePlugin:
    """Provides sources that a test made, and the resources beside them."""

    def __init__(self, sources: list[Any], settings: object, tools: list[Any]) -> None:
        from pegboard import hookimpl
        from pegboard_mcp.offers import open_offers

        self.provide_sources = hookimpl(lambda: sources, specname="provide_sources")
        self.open_resources = hookimpl(lambda: open_offers(settings), specname="open_resources")
        self.provide_tools = hookimpl(lambda: tools, specname="provide_tools")


@pytest.fixture
def server_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scripted servers take notes; lists are cached beside it."""
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def define(server_folder: Path) -> Callable[..., Any]:
    """`define("name", script, **fields)` gives the definition of a scripted server."""
    from pegboard_mcp.definitions import ServerDefinition

    def make(name: str = "one", script: dict[str, Any] | None = None, **fields: Any) -> ServerDefinition:
        argv = (sys.executable, "-S", str(SCRIPTED), str(server_folder), json.dumps(script or {}))
        return ServerDefinition(
            **{"name": name, "transport": "stdio", "argv": argv, "connect_s": 10, "request_s": 20, **fields}
        )

    return make


@pytest.fixture
def serve(host_with: Callable[..., Awaitable[Any]], server_folder: Path) -> Callable[..., Awaitable[Served]]:
    """`await serve(definition, ...)` opens a host with these servers."""
    from pegboard_mcp.client.resource_tools import make_tools
    from pegboard_mcp.client.source import Fleet, McpSource

    async def start(*definitions: Any, config: dict[str, Any] | None = None) -> Served:
        fleet, settings = Fleet(), object()
        sources = [McpSource(definition, fleet=fleet, settings=settings) for definition in definitions]
        host = await host_with(SourcePlugin(sources, settings, make_tools()), config=config)
        return Served(host, sources, server_folder)

    return start
