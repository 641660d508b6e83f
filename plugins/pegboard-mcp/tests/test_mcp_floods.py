"""Servers that say far too much: everybody else has a turn, and nothing piles up."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import open_host
from pegboard_mcp import plugin

SERVER = Path(__file__).parent / "servers" / "flooding.py"
LINES = {
    "notifications": '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"x"}}',
    "unknown notifications": '{"jsonrpc":"2.0","method":"notifications/x"}',
    "changes": '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}',
    "answers to nothing": '{"jsonrpc":"2.0","id":1073749999,"result":{}}',
    "garbage": "x",
}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes are read as POSIX has them")


@pytest.fixture
async def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server = {"command": sys.executable, "args": ["-S", "-E", "-B", str(SERVER)], "start": "eager"}
    with trio.fail_after(30):
        async with open_host({"strict": True, "plugins": {"mcp": {"servers": {"one": server}}}}, [plugin]) as host:
            await host.wait_for_sources("flood")
            yield host


class Turns:
    """Counts how often another task had a turn, and the most tasks there were."""

    def __init__(self) -> None:
        self.count = self.most_tasks = 0

    async def run(self) -> None:
        while True:
            self.count += 1
            self.most_tasks = max(self.most_tasks, trio.lowlevel.current_statistics().tasks_living)
            await trio.lowlevel.checkpoint()


async def flooded(host: Any, turns: Turns, **arguments: Any) -> Any:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(turns.run)
        result = await host.session().call("flood", arguments, timeout_s=20)
        nursery.cancel_scope.cancel()
    return result


@pytest.mark.parametrize("what", LINES)
@pytest.mark.unmeasured
async def test_a_flood_of_short_lines_lets_others_have_their_turn(host: Any, what: str) -> None:
    turns, line = Turns(), LINES[what]
    times = 400_000 // len(line) if len(line) > 1 else 30_000

    result = await flooded(host, turns, line=line, times=times, err=False)

    assert result.text == "done"
    assert turns.count > times / 60  # a turn at least for every 50 lines
    assert turns.most_tasks < 300


async def test_a_flood_on_stderr_lets_others_have_their_turn(host: Any) -> None:
    turns, times = Turns(), 200_000

    result = await flooded(host, turns, line="x", times=times, err=True)

    assert result.text == "done"
    assert turns.count > times / 100  # the last ones may still lie in the pipe


async def test_questions_whose_answers_are_not_taken_do_not_pile_up(
    host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    turns = Turns()

    result = await flooded(host, turns, line='{"jsonrpc":"2.0","id":7,"method":"ping"}', times=20_000, err=False)

    assert result.text == "done"
    assert turns.most_tasks < 400
    assert [record.message for record in caplog.records if record.name == "pegboard.mcp"] == [
        "the MCP server one asks, and does not take the answers: more is dropped"
    ]
