"""What a real MCP server says about how long its answers are good (`ttlMs`, `cacheScope` of 2026-07-28), through the
client and pegboard-cache, over stdio and over HTTP."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import open_host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = """
import sys
from functools import partial
from pathlib import Path
import mcp_types as types
import trio
from mcp.server.lowlevel import Server

folder = Path(sys.argv[1])
TTL_MS = {"memo:lasting": 60_000, "memo:public": 60_000, "memo:stale": 0}

async def list_resources(context, params):
    return types.ListResourcesResult(resources=[types.Resource(uri=uri, name=uri) for uri in TTL_MS])

async def read_resource(context, params):
    with (folder / "runs").open("a") as file:
        file.write(f"{params.uri}\\n")
    scope = "public" if "public" in params.uri else "private"
    text = types.TextResourceContents(uri=params.uri, text="read", mime_type="text/plain")
    return types.ReadResourceResult(contents=[text], ttl_ms=TTL_MS[params.uri], cache_scope=scope)

server = Server("hints", version="1", on_list_resources=list_resources, on_read_resource=read_resource)

async def stdio():
    from mcp.server.stdio import stdio_server
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

async def http():
    import hypercorn.trio
    from hypercorn.config import Config
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.errorlog = config.accesslog = None
    async with trio.open_nursery() as nursery:
        (url,) = await nursery.start(partial(hypercorn.trio.serve, server.streamable_http_app(), config, mode="asgi"))
        print(f"{url}/mcp", flush=True)

trio.run(http if sys.argv[2:] else stdio)
"""


@contextlib.contextmanager
def a_server(transport: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The server's table in a configuration."""
    script = folder / "server.py"
    script.write_text(SERVER, encoding="utf-8")
    if transport == "stdio":
        yield {"command": sys.executable, "args": [str(script), str(folder)]}
        return
    command = [sys.executable, str(script), str(folder), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield {"url": process.stdout.readline().strip()}
        finally:
            process.kill()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_resource_is_read_again_when_its_server_says_so_and_goes_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with a_server(transport, tmp_path) as table:
        plugins = {"mcp": {"servers": {"hints": table}}, "cache": {"tools": {"read_resource": {"cache_s": 3600}}}}
        with trio.fail_after(60):
            async with open_host({"plugins": plugins}, ["mcp", "cache"]) as host:
                await host.wait_for_sources()
                told = [
                    [
                        (await host.session(user).call("read_resource", {"uri": f"memo:{name}"})).details
                        for name in ("lasting", "public", "stale")
                    ]
                    for user in ("ada", "ada", "bob")
                ]
    assert [[one["cache"] for one in row] for row in told] == [
        ["miss", "miss", "miss"], ["hit", "hit", "miss"], ["miss", "miss", "miss"]
    ]  # fmt: skip
    assert [(one["ttl_ms"], one["cache_scope"]) for one in told[0]] == [
        (60_000, "private"), (60_000, "public"), (0, "private")
    ]  # fmt: skip
    runs = (tmp_path / "runs").read_text().split()
    assert {uri: runs.count(uri) for uri in runs} == {"memo:lasting": 2, "memo:public": 2, "memo:stale": 3}
