"""Servers that fail in the middle of their work, through a real host: what each call answers, and what runs again."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, SourceState, open_host
from pegboard_mcp import plugin

ROGUE = Path(__file__).parent / "servers" / "rogue.py"
LIMIT = 262_144


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "rogue"
    folder.mkdir()
    return folder


@pytest.fixture
def runs(folder: Path) -> Callable[[], Counter[str]]:
    """How often each tool was executed, whatever came of it."""
    return lambda: Counter((folder / "runs").read_text().split())


@pytest.fixture
async def host(folder: Path) -> AsyncIterator[Any]:
    server = {
        "command": sys.executable,
        "args": ["-S", "-E", "-B", str(ROGUE), str(folder)],
        "timeout": 3,
        "request_timeout": 1,
        "max_message_bytes": LIMIT,
    }
    with trio.fail_after(30):
        async with open_host({"strict": True, "plugins": {"mcp": {"servers": {"rogue": server}}}}, [plugin]) as host:
            await host.wait_for_sources("pid")
            yield host


async def pid_of(host: Any) -> int:
    result = await host.session().call("pid")
    assert result.ok, result
    return int(result.text)


async def pid_of_the_next(host: Any) -> int:
    """The process after one that takes its time to end."""
    while not (result := await host.session().call("pid")).ok:
        await trio.sleep(0.1)
    return int(result.text)


async def test_a_server_that_is_killed_while_idle_is_seen_dead_at_once(host: Any) -> None:
    pid = await pid_of(host)
    os.kill(pid, signal.SIGKILL)
    with trio.fail_after(30):
        while host.board.source_states["rogue"][0] is SourceState.READY:
            await trio.sleep(0.005)
    state, reason = host.board.source_states["rogue"]
    assert state in (SourceState.BACKING_OFF, SourceState.STARTING)
    if reason is not None:
        assert "SIGKILL" in reason
    assert await pid_of(host) != pid


@pytest.mark.parametrize("tool", ["die", "exit"])
async def test_a_call_whose_server_dies_is_answered_at_once_and_not_repeated(
    host: Any,
    runs: Callable[[], Counter[str]],
    tool: str,
    in_time: Any,
) -> None:
    with in_time():
        result = await host.session().call(tool)
    assert result.error is not None
    assert result.error.code is ErrorCode.OUTCOME_UNKNOWN
    assert result.error.details["retry"] == "unknown"
    assert "'rogue'" in result.error.message
    assert {"die": "SIGKILL", "exit": "status 7; its last words: fatal: the disk is full"}[tool] in result.error.message
    await pid_of(host)
    assert runs()[tool] == 1


@pytest.mark.parametrize("tool", ["die_once_reading", "die_once_idempotent"])
async def test_a_lost_call_that_may_be_repeated_is_repeated(
    host: Any, runs: Callable[[], Counter[str]], tool: str
) -> None:
    result = await host.session().call(tool)
    assert result.text == "ran 2 times"
    assert runs()[tool] == 2


@pytest.mark.parametrize("tool", ["die_reading", "die_idempotent"])
async def test_and_no_more_than_once(host: Any, runs: Callable[[], Counter[str]], tool: str) -> None:
    result = await host.session().call(tool)
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert "lost twice" in result.error.message
    assert runs()[tool] == 2


async def test_of_calls_in_flight_each_is_answered_when_the_server_dies(
    host: Any,
    runs: Callable[[], Counter[str]],
    in_time: Any,
) -> None:
    session = host.session()
    results: list[Any] = []
    with in_time():

        async def call(tool: str) -> None:
            results.append(await session.call(tool))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(call, "never")
            while await pid_of(host) and runs()["never"] < 5:
                pass
            nursery.start_soon(call, "die")
    assert [result.error.code for result in results] == [ErrorCode.OUTCOME_UNKNOWN] * 6
    assert runs()["never"] == 5


async def test_a_server_that_is_stopped_costs_each_call_its_deadline_and_no_more(host: Any) -> None:
    pid = await pid_of(host)
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.perf_counter()
        result = await host.session().call("pid")
        took_s = time.perf_counter() - began
        assert took_s > 0.9
        assert result.error is not None
        assert result.error.code is ErrorCode.TIMEOUT
        for word in ("'rogue'", "rogue.py", "did not answer 'pid'", "hangs", "`request_timeout`"):
            assert word in result.error.message
        assert result.error.details["retry"] == "same"
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (await host.session().call("echo", {"said": "on"})).text == "on"


async def test_a_host_closes_while_a_server_is_stopped(folder: Path) -> None:
    server = {"command": sys.executable, "args": ["-S", "-E", "-B", str(ROGUE), str(folder)], "timeout": 3}
    with trio.fail_after(30):
        async with open_host({"plugins": {"mcp": {"servers": {"rogue": server}}}}, [plugin]) as host:
            await host.wait_for_sources("pid")
            pid = await pid_of(host)
            os.kill(pid, signal.SIGSTOP)
    assert not Path(f"/proc/{pid}").exists()


async def test_bytes_that_trickle_in_do_not_extend_the_deadline(host: Any, in_time: Any) -> None:
    session = host.session()
    with in_time():
        result = await session.call("drip")
    assert result.error is not None
    assert result.error.code is ErrorCode.TIMEOUT
    assert "'rogue'" in result.error.message
    assert result.error.details["retry"] == "unknown"


async def test_an_answer_after_its_cancel_reaches_nobody(host: Any) -> None:
    session = host.session()
    result = await session.call("late", timeout_s=0.2)
    assert result.error is not None
    assert result.error.code is ErrorCode.TIMEOUT
    for said in ("a", "b", "c"):
        assert (await session.call("echo", {"said": said})).text == said


async def test_a_second_answer_reaches_nobody(host: Any) -> None:
    session = host.session()
    for said in ("a", "b", "c"):
        assert (await session.call("twice")).text == "first"
        assert (await session.call("echo", {"said": said})).text == said


async def test_bytes_that_are_no_utf8_cost_no_more_than_themselves(host: Any) -> None:
    session = host.session()
    text = (await session.call("bad_utf8")).text
    assert text.startswith("a�")
    assert text.endswith("�b")
    assert (await session.call("echo", {"said": "on"})).text == "on"


@pytest.mark.parametrize("tool", ["huge", "huge_late_id"])
async def test_an_answer_that_is_too_long_names_the_limit_and_costs_itself_alone(host: Any, tool: str) -> None:
    session = host.session()
    pid = await pid_of(host)
    result = await session.call(tool, {"bytes": LIMIT + 10})
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert f"{LIMIT:,} bytes" in result.error.message
    assert "ask for less, or raise `max_message_bytes`" in result.error.message
    assert result.error.details["reason"] == "too_long"
    assert result.error.details["executed"] is True
    assert (await session.call("echo", {"said": "on"})).text == "on"
    assert await pid_of(host) == pid


async def test_an_answer_just_within_the_limit_arrives_whole(host: Any) -> None:
    result = await host.session().call("huge", {"bytes": LIMIT - 200})
    assert result.ok


async def test_a_line_without_an_end_is_given_up(host: Any) -> None:
    session = host.session()
    result = await session.call("endless_line")
    assert result.error is not None
    assert result.error.code in (ErrorCode.OUTCOME_UNKNOWN, ErrorCode.UPSTREAM_ERROR)
    assert f"{LIMIT:,} bytes" in result.error.message
    assert await pid_of_the_next(host)


async def test_an_answer_of_twenty_megabytes_is_refused_in_linear_time(
    folder: Path,
    in_time: Any,
) -> None:
    server = {"command": sys.executable, "args": ["-S", "-E", "-B", str(ROGUE), str(folder)], "timeout": 3}
    with trio.fail_after(20):
        async with open_host({"plugins": {"mcp": {"servers": {"rogue": server}}}}, [plugin]) as host:
            await host.wait_for_sources("pid")
            session = host.session()
            with in_time():
                result = await session.call("huge", {"bytes": 20_000_000})
            assert result.error is not None
            assert result.error.code is ErrorCode.UPSTREAM_ERROR
            assert "16,777,216 bytes" in result.error.message
            assert (await session.call("echo", {"said": "on"})).text == "on"


async def test_an_answer_that_is_none_fails_its_call_at_once_and_that_alone(host: Any) -> None:
    session = host.session()
    began = trio.current_time()
    result = await session.call("no_result")
    assert trio.current_time() - began < 1
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert result.error.details["reason"] == "protocol"
    assert "its `result` is not an object" in result.error.message
    assert "update the server" in result.error.message
    assert (await session.call("echo", {"said": "on"})).text == "on"
