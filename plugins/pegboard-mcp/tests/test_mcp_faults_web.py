"""An HTTP server that is restarted, through a real host: its sessions are renewed, and no lost call is repeated."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, open_host
from pegboard_mcp import plugin

SERVER = Path(__file__).parent / "servers" / "rogue_web.py"


class Web:
    """The server's process; started again it listens on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-B", str(SERVER), str(self.port), str(self.folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def restart(self) -> None:
        self.kill()
        self.start()

    def runs(self, tool: str) -> int:
        return (self.folder / "runs").read_text().split().count(tool)


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    web = Web(tmp_path)
    (tmp_path / "lost").write_text("404")
    (tmp_path / "runs").touch()
    web.start()
    yield web
    web.kill()


@pytest.fixture
def opened(web: Web) -> Callable[[], Any]:
    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        server = {"url": f"http://127.0.0.1:{web.port}/mcp", "timeout": 2, "request_timeout": 5}
        with trio.fail_after(30):
            async with open_host({"plugins": {"mcp": {"servers": {"web": server}}}}, [plugin]) as host:
                await host.wait_for_sources("pid")
                yield host

    return opened


@pytest.mark.parametrize("lost", ["404", "-32600"])
@pytest.mark.parametrize("tool", ["pid", "count"])
async def test_a_restart_between_calls_is_not_seen_by_any(
    web: Web, opened: Callable[[], Any], lost: str, tool: str
) -> None:
    (web.folder / "lost").write_text(lost)
    async with opened() as host:
        session = host.session()
        before = await session.call(tool)
        assert before.ok, before
        for _ in range(3):
            web.restart()
            after = await session.call(tool)
            assert after.ok, after
            assert after.text != before.text
            before = after
    assert web.runs(tool) == 4


async def test_a_server_that_breaks_on_an_unknown_session_costs_one_call_which_is_not_repeated(
    web: Web, opened: Callable[[], Any]
) -> None:
    (web.folder / "lost").write_text("-32603")
    async with opened() as host:
        session = host.session()
        assert (await session.call("count")).ok
        web.restart()
        result = await session.call("count")
        assert result.error is not None
        assert result.error.code is ErrorCode.UPSTREAM_ERROR
        assert (await session.call("count")).ok
    assert web.runs("count") == 2


async def test_a_server_that_is_away_is_named_and_used_again_when_it_is_back(
    web: Web,
    opened: Callable[[], Any],
    in_time: Any,
) -> None:
    async with opened() as host:
        session = host.session()
        assert (await session.call("count")).ok
        web.kill()
        with in_time():
            result = await session.call("count")
        assert result.error is not None
        assert result.error.code is ErrorCode.UPSTREAM_ERROR
        assert result.error.details["executed"] is False
        assert "'web'" in result.error.message
        assert f"127.0.0.1:{web.port}" in result.error.message
        web.start()
        while not (await session.call("count")).ok:
            await trio.sleep(0.1)
    assert web.runs("count") == 2


@pytest.mark.parametrize(
    ("tool", "code", "says"),
    [
        ("five", ErrorCode.UPSTREAM_ERROR, "cannot be read"),
        ("cut", ErrorCode.OUTCOME_UNKNOWN, "broke off"),
        ("down", ErrorCode.UPSTREAM_ERROR, "HTTP 503"),
    ],
)
async def test_a_call_that_ran_and_has_no_answer_does_not_pass_for_one_that_was_refused(
    web: Web, opened: Callable[[], Any], tool: str, code: ErrorCode, says: str
) -> None:
    async with opened() as host:
        error = (await host.session().call(tool)).error
        assert error is not None
        assert error.code is code
        assert says in error.message
        assert "executed" not in error.details
        assert error.details["retry"] == "unknown"
        assert (await host.session().call("pid")).ok
    assert web.runs(tool) == 1


async def test_a_call_in_flight_when_the_server_is_killed_is_not_repeated(web: Web, opened: Callable[[], Any]) -> None:
    async with opened() as host:
        results = []

        async def call() -> None:
            results.append(await host.session().call("slow"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            while web.runs("slow") == 0:
                await trio.sleep(0.01)
            web.restart()
        assert results[0].error.code is ErrorCode.OUTCOME_UNKNOWN
        assert (await host.session().call("pid")).ok
    assert web.runs("slow") == 1
