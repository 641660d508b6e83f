"""Servers over HTTP that come, go and come back."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import ErrorCode
from pegboard.testing import assert_error, assert_ok

if TYPE_CHECKING:
    from collections.abc import Iterator

# The SDK's streams of events are left to the garbage collector where a connection ends; the fault is not ours to
# repair.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
]

SERVER = Path(__file__).parent / "servers" / "sdk_http.py"


class HttpServer:
    """A server process on one port, which can be ended and started again."""

    def __init__(self, folder: Path, port: int, *options: str) -> None:
        self.folder, self.port, self.options = folder, port, options
        self.process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    async def start(self) -> None:
        (self.folder / "url").unlink(missing_ok=True)
        command = [sys.executable, str(SERVER), str(self.folder), str(self.port), *self.options]
        self.process = subprocess.Popen(command)
        with trio.fail_after(120):
            while not (self.folder / "url").exists():
                assert self.process.poll() is None
                await trio.sleep(0.01)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def runs(self) -> list[str]:
        path = self.folder / "runs"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def http(server_folder: Path, peer_programs: Any) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:

        def make(*options: str) -> HttpServer:
            server = HttpServer(server_folder, peer_programs.free_port(), *options)
            stack.callback(server.kill)
            return server

        yield make


ERAS = pytest.mark.parametrize("options", [["--handshake"], []], ids=["handshake", "modern"])


@ERAS
async def test_a_server_that_was_restarted_is_greeted_anew(
    serve: Any, define: Any, http: Any, options: list[str]
) -> None:
    server = http(*options)
    await server.start()
    served = await serve(define(transport="http", argv=(), url=server.url))
    await served.ready()
    assert served.source.connection.modern is (not options)
    assert_ok(await served.call("add", a=1, b=2), text="3")

    server.kill()
    await server.start()
    await served.ready()  # a stream that broke was noticed, and an attempt may have met nobody a moment ago
    assert_ok(await served.call("add", a=2, b=2), text="4")
    assert server.runs() == ["add", "add"]


@ERAS
async def test_a_call_while_the_server_is_away_says_so_and_did_not_run(
    serve: Any, define: Any, http: Any, options: list[str]
) -> None:
    server = http(*options)
    await server.start()
    served = await serve(define(transport="http", argv=(), url=server.url))
    await served.ready()

    server.kill()
    error = assert_error(await served.call("add", a=1, b=2), ErrorCode.UPSTREAM_ERROR, says="nothing listens").error
    assert error.details["executed"] is False
    assert str(server.port) in error.message
    await server.start()
    await served.until(lambda: trio.current_time() > served.source._lifecycle._failed_at + 1)
    assert_ok(await served.call("add", a=1, b=2), text="3")
    assert server.runs() == ["add"]


@ERAS
async def test_a_call_that_breaks_off_may_have_run_and_is_not_sent_again(
    serve: Any, define: Any, http: Any, options: list[str]
) -> None:
    server = http(*options)
    await server.start()
    served = await serve(define(transport="http", argv=(), url=server.url))
    await served.ready()
    results: dict[str, Any] = {}

    async def call(name: str) -> None:
        results[name] = await served.call(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, "hang")
        await served.until(lambda: server.runs() == ["hang"])
        server.kill()
    assert_error(results["hang"], ErrorCode.OUTCOME_UNKNOWN)
    await server.start()
    assert server.runs() == ["hang"]


async def test_arguments_travel_as_headers_where_the_schema_says_so(serve: Any, define: Any, http: Any) -> None:
    server = http("--header")
    await server.start()
    served = await serve(define(transport="http", argv=(), url=server.url))
    await served.ready()

    assert_ok(await served.call("route", region="eu"), text="eu route")
    assert "bad_route" not in served.host.tools
    assert "x-mcp-header" in served.source.listing.left_out["bad_route"]
