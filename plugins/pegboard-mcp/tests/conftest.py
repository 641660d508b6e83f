"""What the tests of the tool sources share: a host whose MCP servers do as they are told."""

from __future__ import annotations

import json
import shutil
import subprocess
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

    async def until(self, holds: Callable[[], Any], within_s: float = 60) -> None:
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
        from pegboard_mcp.capabilities import open_capabilities

        self.provide_sources = hookimpl(lambda: sources, specname="provide_sources")
        named = [source.name for source in sources]
        self.open_resources = hookimpl(lambda: open_capabilities(settings, named), specname="open_resources")
        self.provide_tools = hookimpl(lambda: tools, specname="provide_tools")


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that signed itself, with its key, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    argv = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    argv += ["-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    subprocess.run(argv, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text((folder / "key").read_text() + (folder / "cert").read_text())
    return both


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
    from pegboard_mcp.client.source import McpSource, SourceGroup

    async def start(*definitions: Any, config: dict[str, Any] | None = None) -> Served:
        group, settings = SourceGroup(), object()
        sources = [McpSource(definition, group=group, settings=settings) for definition in definitions]
        host = await host_with(SourcePlugin(sources, settings, make_tools()), config=config)
        return Served(host, sources, server_folder)

    return start


@pytest.fixture(params=["fast path", "SDK's own path"])
def either_path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with the fast path of calls, once without: a client cannot tell which of them answers."""
    from pegboard_mcp.server import _sdk

    monkeypatch.setattr(_sdk, "FAST_PATH", request.param == "fast path")


class OverHttp:
    """A board that is served, its raw client, and what its tools noted."""

    def __init__(self, url: str, raw: Any, tools: Any, scope: Any) -> None:
        self.url = url
        self.raw = raw
        self.tools = tools
        self._scope = scope
        self.id = 0

    def stop(self) -> None:
        """End serving; calls in flight go on."""
        self._scope.cancel()

    def message(self, name: str, arguments: Any = None, *, modern: bool = True, **meta: Any) -> dict[str, Any]:
        """A `tools/call`."""
        self.id += 1
        params: dict[str, Any] = {"name": name, "arguments": arguments or {}}
        if modern:
            prefix = "io.modelcontextprotocol/"
            params["_meta"] = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}, **meta}
        elif meta:
            params["_meta"] = meta
        return {"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params}

    def headers(self, message: dict[str, Any] | None = None, **more: str) -> dict[str, str]:
        """The headers of a request from 2026-07-28 on; `a_b="c"` adds `a-b: c`."""
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if message is not None:
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": message["method"]}
            headers["mcp-name"] = message["params"]["name"]
        return headers | {key.replace("_", "-"): value for key, value in more.items()}

    async def call(self, name: str, arguments: Any = None, *, meta: Any = None, **headers: str) -> Any:
        """One call, as a plain HTTP answer."""
        message = self.message(name, arguments, **(meta or {}))
        return await self.raw.post(self.url, json=message, headers=self.headers(message, **headers))

    async def open_session(self, capabilities: Any = None, **headers: str) -> dict[str, str]:
        """The handshake of 2025-06-18; returns the headers of the session."""
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": "2025-06-18", "capabilities": capabilities or {}, "clientInfo": info}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = await self.raw.post(self.url, json=message, headers=self.headers(**headers))
        assert answer.status_code == 200, answer.text
        session = self.headers(
            mcp_session_id=answer.headers["mcp-session-id"], mcp_protocol_version="2025-06-18", **headers
        )
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self.raw.post(self.url, json=ready, headers=session)).status_code == 202
        return session


class HttpTools:
    """Tools of a board that is served, and what became of their calls."""

    def __init__(self) -> None:
        import trio

        self.started = trio.Event()
        self.go = trio.Event()
        self.outcomes: list[str] = []

    def make(self, settings: Any) -> list[Any]:
        """`add`, `who`, `wait`, `tell`, `ask`."""
        import trio

        from pegboard import CallContext, tool

        @tool(run="inplace")
        def add(a: float, b: float) -> float:
            """Add two numbers."""
            return a + b

        @tool
        async def who(context: CallContext) -> str:
            """Say who calls."""
            return f"{context.session.user_id} {context.session.profile} {context.session.id}"

        @tool
        async def wait() -> str:
            """Wait until the test says go."""
            self.started.set()
            try:
                await self.go.wait()
            except trio.Cancelled:
                self.outcomes.append("cancelled")
                raise
            self.outcomes.append("done")
            return "waited"

        @tool
        async def tell(context: CallContext) -> str:
            """Report progress, then wait until the test says go."""
            await context.progress(1, 2, "half")
            self.started.set()
            await self.go.wait()
            return "told"

        @tool
        async def ask(context: CallContext) -> str:
            """Ask the person."""
            self.started.set()
            return "yes" if await context.confirm("Sure?") else "no"

        return [add, who, wait, tell, ask]


@pytest.fixture
def over_http(host_with: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    """`async with over_http("http", **settings) as served`: a board on a free port of loopback."""
    import contextlib

    @contextlib.asynccontextmanager
    async def serve(
        transport: str = "http", *, user_id: str | None = None, bind: str = "127.0.0.1", config: Any = None, **said: Any
    ) -> Any:
        import httpx2
        import trio

        from pegboard import hookimpl
        from pegboard_mcp.server.http import serve_http
        from pegboard_mcp.settings import McpSettings

        tools = HttpTools()

        class Plugin:
            @hookimpl
            def provide_tools(self, settings: Any) -> list[Any]:
                return tools.make(settings)

        host = await host_with(Plugin(), config=config)
        settings = McpSettings(**said)
        async with trio.open_nursery() as nursery:
            scope = trio.CancelScope()

            async def run(task_status: Any) -> None:
                with scope:
                    await serve_http(
                        host,
                        transport=transport,  # type: ignore[arg-type]
                        bind=bind,
                        port=0,
                        user_id=user_id,
                        settings=settings,
                        task_status=task_status,
                    )

            with trio.fail_after(20):
                url = await nursery.start(run)
            async with httpx2.AsyncClient(timeout=20, verify=False) as raw:
                with trio.fail_after(30):
                    yield OverHttp(url, raw, tools, scope)
            scope.cancel()

    return serve
