"""Servers that people use, as they are published: each is installed once a session, and does its work on the board."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import ErrorCode, ImageContent
from pegboard.testing import assert_error, assert_ok

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The SDK's streams of events are left to the garbage collector where a connection ends; the fault is not ours to
# repair.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
]

NPM = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
]
PYPI = ["mcp-server-time", "mcp-server-git"]


@pytest.fixture(scope="session")
def npm_servers(peer_programs: Any, once_a_run: Callable[..., Path]) -> Path:
    """Where the programs of the npm servers lie; each of them has started once."""

    def install(folder: Path) -> None:
        peer_programs.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *NPM])
        for server in (("everything", "stdio"), ("filesystem", str(folder)), ("memory",)):
            program = folder / "node_modules" / ".bin" / f"mcp-server-{server[0]}"
            peer_programs.run([str(program), *server[1:]], timeout_s=60)

    return once_a_run("npm-servers", install) / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def pypi_servers(peer_programs: Any, once_a_run: Callable[..., Path]) -> Path:
    """Where the programs of the PyPI servers lie; each of them has started once."""

    def install(folder: Path) -> None:
        peer_programs.run(["uv", "venv", "-q", str(folder)])
        peer_programs.run(["uv", "pip", "install", "-q", "--python", str(folder / "bin" / "python"), *PYPI])
        for server in PYPI:
            peer_programs.run([str(folder / "bin" / server), "--help"], timeout_s=60)

    return once_a_run("pypi-servers", install) / "bin"


@pytest.fixture
def everything_over(peer_programs: Any, npm_servers: Path) -> Iterator[Callable[[str], int]]:
    """`everything_over("sse")` starts server-everything and gives its port."""
    with contextlib.ExitStack() as started:

        def start(how: str) -> int:
            port: int = peer_programs.free_port()
            command = [str(npm_servers / "mcp-server-everything"), how]
            environment = {**os.environ, "PORT": str(port)}
            # Its version is asked, since `node -p` has `crypto` where a program does not: Node 18, as in Debian 12.
            if int(peer_programs.run(["node", "-p", "process.versions.node"]).partition(".")[0]) < 19:
                environment["NODE_OPTIONS"] = "--experimental-global-webcrypto"
            server = peer_programs.serving(
                "server-everything", command, lambda: peer_programs.listens(port), env=environment
            )
            started.enter_context(server)
            return port

        yield start


async def try_everything(served: Any) -> None:
    """What server-everything is for: one of each."""
    await served.until(lambda: served.state() == "ready", within_s=120)
    assert_ok(await served.call("echo", message="hello"), text="Echo: hello")
    assert "3" in assert_ok(await served.call("get-sum", a=1, b=2)).text
    assert_error(await served.call("get-sum", a="one", b=2), ErrorCode.INVALID_INPUT)
    image = assert_ok(await served.call("get-tiny-image"))
    assert next(block for block in image.content if isinstance(block, ImageContent)).mime_type == "image/png"
    structured = assert_ok(await served.call("get-structured-content", location="New York"))
    assert structured.data["conditions"]
    links = assert_ok(await served.call("get-resource-links", count=2))
    assert len(links.content) == 3
    assert_ok(await served.call("trigger-long-running-operation", duration=0.3, steps=3))
    assert [done for done, _, _ in served.progress] == [1, 2, 3]
    listed = assert_ok(await served.call("list_resources")).data["resources"]
    assert listed
    read = assert_ok(await served.call("read_resource", uri=next(one["uri"] for one in listed if "uri" in one)))
    assert read.content
    assert assert_ok(await served.call("prompt_simple-prompt")).content


async def test_server_everything_over_stdio(serve: Any, define: Any, npm_servers: Path) -> None:
    served = await serve(define("everything", argv=(str(npm_servers / "mcp-server-everything"), "stdio")))
    await try_everything(served)


@pytest.mark.parametrize(("how", "transport", "path"), [("sse", "sse", "/sse"), ("streamableHttp", "http", "/mcp")])
async def test_server_everything_over_http(
    serve: Any, define: Any, everything_over: Any, how: str, transport: str, path: str
) -> None:
    port = everything_over(how)
    url = f"http://127.0.0.1:{port}{path}"
    served = await serve(define("everything", argv=(), transport=transport, url=url))
    await try_everything(served)


async def test_server_filesystem_reads_and_writes_below_its_folder(
    serve: Any, define: Any, npm_servers: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "note.txt").write_text("written before")
    served = await serve(define("files", argv=(str(npm_servers / "mcp-server-filesystem"), str(folder))))
    await served.until(lambda: served.state() == "ready", within_s=120)

    assert "written before" in assert_ok(await served.call("read_text_file", path=str(folder / "note.txt"))).text
    assert_ok(await served.call("write_file", path=str(folder / "new.txt"), content="written here"))
    assert (folder / "new.txt").read_text() == "written here"
    assert_error(await served.call("read_text_file", path="/etc/hostname"), ErrorCode.UPSTREAM_ERROR, says="denied")
    tools = served.host.tools
    assert tools["read_text_file"].annotations.read_only
    assert not tools["write_file"].annotations.read_only


async def test_server_memory_remembers(serve: Any, define: Any, npm_servers: Path, tmp_path: Path) -> None:
    environment = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    served = await serve(define("memory", argv=(str(npm_servers / "mcp-server-memory"),), env=environment))
    await served.until(lambda: served.state() == "ready", within_s=120)

    entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    assert_ok(await served.call("create_entities", entities=[entity]))
    found = assert_ok(await served.call("search_nodes", query="programs"))
    assert found.data["entities"][0]["name"] == "Ada"


async def test_mcp_server_time_tells_the_time(serve: Any, define: Any, pypi_servers: Path) -> None:
    served = await serve(define("time", argv=(str(pypi_servers / "mcp-server-time"), "--local-timezone", "UTC")))
    await served.until(lambda: served.state() == "ready", within_s=120)

    told = assert_ok(await served.call("get_current_time", timezone="Europe/Paris"))
    assert json.loads(told.text)["timezone"] == "Europe/Paris"
    assert not (await served.call("get_current_time", timezone="Nowhere/Else")).ok


async def test_mcp_server_git_shows_a_repository(serve: Any, define: Any, pypi_servers: Path, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "new.txt").write_text("new")
    server = pypi_servers / "mcp-server-git"
    served = await serve(define("git", argv=(str(server), "--repository", str(folder)), roots=(str(folder),)))
    await served.until(lambda: served.state() == "ready", within_s=120)

    assert "new.txt" in assert_ok(await served.call("git_status", repo_path=str(folder))).text
