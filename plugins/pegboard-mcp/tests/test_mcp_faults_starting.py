"""Servers that cannot be started, through a real host: what a call answers names the server, the cause and the fix."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, SourceState, ToolResult, open_host
from pegboard_mcp import plugin

ROGUE = Path(__file__).parent / "servers" / "rogue.py"
Config = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "rogue"
    folder.mkdir()
    return folder


@pytest.fixture
def rogue(folder: Path) -> Callable[..., Config]:
    """The configuration of a host with one rogue server."""

    def configure(**more: Any) -> Config:
        args = ["-S", "-E", "-B", str(ROGUE), str(folder)]
        env = {"NOTES_TOKEN": "hunter2-hunter2"}
        server = {"command": sys.executable, "args": args, "env": env, "timeout": 1.5, "request_timeout": 5, **more}
        return {"strict": True, "plugins": {"mcp": {"servers": {"rogue": server}, "lock": "off"}}}

    return configure


async def remember(config: Config) -> None:
    """Let a good server be listed, so that its tools hang from the cache from now on."""
    with trio.fail_after(120):
        async with open_host(config, [plugin]) as host:
            await host.wait_for_sources("pid")
            assert "pid" in host.tools


async def called(config: Config) -> tuple[ToolResult, tuple[SourceState, str | None]]:
    """What a tool of the server answers, and the state of the server."""
    with trio.fail_after(120):
        async with open_host(config, [plugin]) as host:
            assert host.board.source_states["rogue"][0] is SourceState.KNOWN
            result = await host.session().call("pid")
            return result, host.board.source_states["rogue"]


STARTS = [
    ("exit", "exited", ["exited with status 3", "KeyError: 'DATABASE_URL'", "in a terminal"]),
    ("silent", "silent", ["says nothing", "within 1.5 s (time-out)", "`timeout`"]),
    ("refuse", "refused", ["refused the initialization: set", "NOTES_TOKEN, *** is over", "another version"]),
    (
        "refuse-and-go",
        "refused",
        ["refused the initialization: set", "*** is over", "exited with status 4"],
    ),
    ("garbage", "garbage", ["speaks no MCP", "not the server you look for", "stderr"]),
    ("pages", "endless", ["does not end", "500 pages"]),
    ("circle", "endless", ["same page again", "repeats a cursor"]),
    ("no-list", "endless", ["without a list of tools", "Update the server"]),
    ("no-tools", "refused", ["refused to list", "the list fell over"]),
]


@pytest.mark.parametrize(("mode", "kind", "says"), STARTS, ids=[mode for mode, _, _ in STARTS])
async def test_a_server_that_cannot_start_is_named_with_cause_and_fix(
    folder: Path, rogue: Callable[..., Config], mode: str, kind: str, says: list[str]
) -> None:
    await remember(rogue())
    (folder / "mode").write_text(mode)
    waits_in_vain = mode in ("silent", "garbage")
    result, (state, reason) = await called(rogue() if waits_in_vain else rogue(timeout=60))
    assert result.error is not None
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert result.error.details["executed"] is False
    assert result.error.details["kind"] == kind
    for word in ["'rogue'", "rogue.py", *says]:
        assert word in result.error.message
    for word in says:
        assert word in (reason or "")
    assert state is SourceState.BACKING_OFF
    for said in (result.error.message, reason or ""):
        assert "hunter2" not in said
        assert said.isprintable()
        assert len(said) < 1_500


@pytest.mark.parametrize(
    ("wrong", "kind", "says"),
    [
        (
            {"command": "no-such-server-anywhere"},
            "missing_command",
            ["server-anywhere' does not exist", "PATH"],
        ),
        ({"command": "npx-is-not-here/npx"}, "missing_command", ["npx-is-not-here/npx", "does not exist"]),
        ({"command": str(ROGUE)}, "not_executable", ["not executable", "chmod +x"]),
        ({"cwd": "no/such/folder"}, "missing_folder", ["no/such/folder", "does not exist"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_missing_is_named_and_not_tried_again_in_vain(
    rogue: Callable[..., Config], wrong: Config, kind: str, says: list[str]
) -> None:
    config = rogue(required=False, start="eager", **wrong)
    with trio.fail_after(120):
        async with open_host(config, [plugin]) as host:
            await host.wait_for_sources()
            state, reason = host.board.source_states["rogue"]
    assert state is SourceState.FAILED
    for word in says:
        assert word in (reason or "")


async def test_a_server_that_is_repaired_serves_the_next_call(folder: Path, rogue: Callable[..., Config]) -> None:
    await remember(rogue())
    (folder / "mode").write_text("exit")
    with trio.fail_after(120):
        async with open_host(rogue(), [plugin]) as host:
            session = host.session()
            assert (await session.call("pid")).error is not None
            (folder / "mode").write_text("good")
            while not (result := await session.call("pid")).ok:
                assert result.error is not None
                assert result.error.details["retry"] == "same"
                await trio.sleep(0.2)
    assert result.ok


async def test_a_server_that_does_not_start_costs_no_other_server_anything(
    folder: Path,
    rogue: Callable[..., Config],
    in_time: Any,
) -> None:
    config = rogue()
    (folder / "other").mkdir()
    (folder / "mode").write_text("silent")
    servers = config["plugins"]["mcp"]["servers"]
    servers["other"] = {**servers["rogue"], "args": [*servers["rogue"]["args"][:-1], str(folder / "other")]}
    with trio.fail_after(120):
        async with open_host(config, [plugin]) as host:
            await host.wait_for_sources("pid")
            with in_time():
                assert (await host.session().call("pid")).ok
            assert host.board.source_states["rogue"][0] is SourceState.STARTING


async def test_a_server_that_must_be_there_stops_the_host_with_its_reason(
    folder: Path, rogue: Callable[..., Config]
) -> None:
    (folder / "mode").write_text("exit")
    from pegboard import PluginError

    with trio.fail_after(120), pytest.RaisesGroup(PluginError, allow_unwrapped=True) as raised:
        async with open_host(rogue(required=True), [plugin]):
            raise AssertionError("it opened")
    assert "DATABASE_URL" in str(raised.value)


async def test_lines_that_are_no_messages_cost_nothing_between_those_that_are(
    folder: Path, rogue: Callable[..., Config]
) -> None:
    (folder / "mode").write_text("chatty")
    with trio.fail_after(120):
        async with open_host(rogue(), [plugin]) as host:
            await host.wait_for_sources("echo")
            assert (await host.session().call("echo", {"said": "hello"})).text == "hello"


async def test_a_list_that_changes_while_it_is_read_is_read_again(folder: Path, rogue: Callable[..., Config]) -> None:
    (folder / "mode").write_text("moving")
    with trio.fail_after(120):
        async with open_host(rogue(), [plugin]) as host:
            await host.wait_for_sources("pid")
            versions = {name for name in host.tools if name.startswith("version_")}
            assert versions == {"version_3"}
            assert (await host.session().call("pid")).ok


async def test_the_old_list_stays_where_the_new_one_cannot_be_read(
    folder: Path, rogue: Callable[..., Config], caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "mode").write_text("broken-list")
    with trio.fail_after(120):
        async with open_host(rogue(), [plugin]) as host:
            await host.wait_for_sources("pid")
            session = host.session()
            assert (await session.call("echo", {"said": "a"})).ok
            while "the old one stays" not in caplog.text:
                await trio.sleep(0.02)
            assert (await session.call("echo", {"said": "b"})).text == "b"
            assert host.board.source_states["rogue"][0] is SourceState.READY


async def test_a_list_that_changes_while_it_is_used_is_swapped(rogue: Callable[..., Config]) -> None:
    with trio.fail_after(120):
        async with open_host(rogue(), [plugin]) as host:
            await host.wait_for_sources("grow")
            assert (await host.session().call("grow")).ok
            while "grown" not in host.tools:
                await trio.sleep(0.02)
