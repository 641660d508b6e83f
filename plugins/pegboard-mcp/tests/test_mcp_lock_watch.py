"""Tools are held to what was accepted of them, and what nobody accepted is held back where that is asked for."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import Origin, PluginError, Tool, hookimpl, load_board
from pegboard.config import trust
from pegboard_mcp import plugin as mcp
from pegboard_mcp.lock import findings, watch
from pegboard_mcp.lock.file import read_lock, write_lock
from pegboard_mcp.lock.pins import pin_of
from pegboard_mcp.lock.watch import check_tool, watch_of
from pegboard_mcp.settings import McpSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.board import Board


async def handler(**arguments: Any) -> str:
    return "ok"


def a_tool(name: str = "greet", *, source: str | None = "srv", distribution: str = "pegboard-x", **more: Any) -> Tool:
    return Tool(name=name, handler=handler, origin=Origin(distribution, "x", source), **more)


class Offering:
    """A plugin with these tools."""

    name = "offering"

    def __init__(self, *tools: Tool) -> None:
        self.tools = tools

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return list(self.tools)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watch, "LOOK_S", 0.0)
    for name in ("HOME", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return tmp_path


def accept(here: Path, *tools: Tool) -> None:
    write_lock(here / "pegboard.lock", map(pin_of, tools))
    trust(here / "pegboard.lock")


def a_board(lock: str, *tools: Tool) -> Board:
    return load_board({"plugins": {"mcp": {"lock": lock}}}, [mcp, Offering(*tools)])


def test_an_accepted_tool_hangs(here: Path) -> None:
    accept(here, a_tool())
    check_tool(a_tool(), McpSettings(lock="enforce"))


def test_a_changed_tool_is_held_back_with_what_changed_and_how_to_accept_it(here: Path) -> None:
    accept(here, a_tool(description="a"))
    with pytest.raises(PluginError) as caught:
        check_tool(a_tool(description="b", title="B"), McpSettings(lock="enforce"))
    assert caught.value.message == "it changed since it was accepted: title, description"
    assert caught.value.hint == "look at it: pegboard lock greet, then pegboard lock --accept greet"


def test_a_new_tool_is_held_back(here: Path) -> None:
    accept(here, a_tool())
    with pytest.raises(PluginError, match="it is new"):
        check_tool(a_tool("other"), McpSettings(lock="enforce"))
    with pytest.raises(PluginError, match="it is new"):
        check_tool(a_tool(source="else"), McpSettings(lock="enforce"))


def test_without_a_lock_everything_is_held_back_that_is_to_be_accepted(here: Path) -> None:
    with pytest.raises(PluginError, match="no tool is accepted yet"):
        check_tool(a_tool(), McpSettings(lock="enforce"))
    check_tool(a_tool(source=None, distribution="pegboard"), McpSettings(lock="enforce"))
    check_tool(Tool(name="own", handler=handler), McpSettings(lock="enforce"))


def test_a_changed_tool_is_warned_of_once(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    accept(here, a_tool(description="a"))
    settings = McpSettings()
    for _ in range(3):
        check_tool(a_tool(description="b"), settings)
        check_tool(a_tool("new"), settings)
    assert [one.getMessage() for one in caplog.records] == [
        "the tool greet of srv changed since it was accepted: description"
    ]


def test_of_many_tools_that_changed_at_once_the_first_are_warned_of(
    here: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"tool{number}" for number in range(9)]
    accept(here, *(a_tool(name, description="a") for name in names), a_tool("other", source="else", description="a"))
    settings = McpSettings()
    now = 1_000.0
    monkeypatch.setattr(watch.time, "monotonic", lambda: now)
    for _ in range(2):
        for name in names:
            check_tool(a_tool(name, description="b"), settings)
        check_tool(a_tool("other", source="else", description="b"), settings)
    said = [one.getMessage() for one in caplog.records]
    assert said == [
        *(f"the tool {name} of srv changed since it was accepted: description" for name in names[:3]),
        "more tools of srv changed since they were accepted; pegboard lock shows all of them",
        "the tool other of else changed since it was accepted: description",
    ]
    now += 3_600
    check_tool(a_tool(names[-1], description="c"), settings)
    assert caplog.records[-1].getMessage() == "the tool tool8 of srv changed since it was accepted: description"
    assert len(caplog.records) == len(said) + 1


def test_off_is_off(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    accept(here, a_tool(description="a"))
    check_tool(a_tool(description="b"), McpSettings(lock="off"))
    assert not caplog.records


@pytest.mark.parametrize("lock", ["warn", "enforce"])
def test_a_lock_that_cannot_be_read_is_said(here: Path, caplog: pytest.LogCaptureFixture, lock: Any) -> None:
    (here / "pegboard.lock").write_text("<<<<<<< mine")
    settings = McpSettings(lock=lock)
    if lock == "enforce":
        with pytest.raises(PluginError, match="cannot be read: it is not TOML"):
            check_tool(a_tool(), settings)
        check_tool(Tool(name="own", handler=handler), settings)
    else:
        check_tool(a_tool(), settings)
        assert "cannot be read" in caplog.text
    assert [one.what for one in findings(a_board(lock))] == ["the lock cannot be read"]


def test_the_lock_is_the_named_one_or_the_nearest_upwards(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(here, a_tool())
    (here / "inner").mkdir()
    monkeypatch.chdir(here / "inner")
    check_tool(a_tool(), McpSettings(lock="enforce"))
    with pytest.raises(PluginError, match="no tool is accepted yet"):
        check_tool(a_tool(), McpSettings(lock="enforce", lock_file="other.lock"))
    write_lock(here / "inner" / "other.lock", [pin_of(a_tool("new"))])
    check_tool(a_tool("new"), McpSettings(lock="enforce", lock_file="other.lock"))


def test_a_lock_that_is_written_meanwhile_counts(here: Path) -> None:
    settings = McpSettings(lock="enforce")
    with pytest.raises(PluginError):
        check_tool(a_tool(), settings)
    assert [key.name for key in watch_of(settings).held] == ["greet"]
    accept(here, a_tool())
    check_tool(a_tool(), settings)
    assert not watch_of(settings).held
    (here / "pegboard.lock").unlink()
    with pytest.raises(PluginError, match="no tool is accepted yet"):
        check_tool(a_tool(), settings)


def test_without_a_lock_a_board_looks_for_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    looks = 0

    def look(settings: McpSettings) -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr(watch, "lock_path", look)
    monkeypatch.setattr(watch.time, "monotonic", lambda: 100.0)
    settings = McpSettings()
    for number in range(1_000):
        check_tool(a_tool(f"t{number}"), settings)
    assert looks == 1
    check_tool(a_tool(), McpSettings())
    assert looks == 2


def test_a_watch_ends_with_its_settings(here: Path) -> None:
    gc.collect()  # what other tests left behind would go meanwhile
    before = len(watch._watches)
    settings = McpSettings()
    check_tool(a_tool(), settings)
    assert len(watch._watches) == before + 1
    del settings
    gc.collect()
    assert len(watch._watches) == before


def test_a_board_holds_back_and_doctor_says_so(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    old, other = a_tool(description="a", source=None), a_tool("same", source=None)
    pins = [pin_of(load_board({}, [Offering(one)]).tools[one.name]) for one in (old, other)]
    write_lock(here / "pegboard.lock", pins)
    trust(here / "pegboard.lock")
    offered = (a_tool(description="b", source=None), other, a_tool("new", source=None))
    board = a_board("enforce", *offered)
    assert sorted(board.tools) == ["same"]
    assert board.rejected_tools["greet"].fix.startswith("look at it: pegboard lock greet")
    said = [one.where for one in board.findings() if one.what == "a tool is not on the board"]
    assert said == ["tool greet of offering", "tool new of offering"]
    assert list(findings(board)) == []  # nothing is said twice
    board = a_board("warn", *offered)
    assert sorted(board.tools) == ["greet", "new", "same"]
    assert [(one.what, one.where, one.severity) for one in findings(board)] == [
        ("a tool changed since it was accepted", "tool greet of offering", "warning"),
        ("a tool is not accepted yet", "tool new of offering", "note"),
    ]
    assert list(findings(a_board("off", *offered))) == []


@pytest.mark.parametrize(("lock_file", "where"), [(None, "pegboard.lock"), ("other.lock", "other.lock")])
def test_doctor_names_the_lock_that_the_settings_name(here: Path, lock_file: str | None, where: str) -> None:
    configured = {"plugins": {"mcp": {"lock": "enforce", "lock_file": lock_file}}}
    board = load_board(configured, [mcp])
    assert [(one.what, one.where) for one in findings(board)] == [("no tool is accepted", where)]
    (here / where).write_text("version = 99\n", encoding="utf-8")
    board = load_board(configured, [mcp])
    assert [(one.what, one.where) for one in findings(board)] == [("the lock cannot be read", where)]


def test_doctor_says_where_enforce_has_no_lock(here: Path) -> None:
    assert [one.what for one in findings(a_board("enforce"))] == ["no tool is accepted"]
    assert list(findings(a_board("enforce", a_tool()))) == []  # the tool that is held back says so
    assert list(findings(a_board("warn", a_tool()))) == []
    assert list(findings(load_board({}, [Offering(a_tool())]))) == []


def test_doctor_says_what_was_taken_out_of_a_servers_texts(here: Path) -> None:
    class Source:
        name = "srv"
        timeout_s = None

        def __init__(self) -> None:
            self.stripped = {"greet\x1b": ("control characters",)}

        async def run(self, slot: Any) -> None: ...

    class Sources:
        @hookimpl
        def provide_sources(self) -> list[Any]:
            return [Source()]

    (found,) = findings(load_board({}, [mcp, Sources()]))
    assert found.where == "tool greet\\x1b of srv"
    assert found.why == "there were control characters"


def test_a_tool_that_is_no_longer_offered_is_no_longer_remembered(
    here: Path, held_back: Callable[[Board], list[str]]
) -> None:
    board = load_board({"plugins": {"mcp": {"lock": "enforce"}}}, [mcp])
    board.replace_source("srv", [a_tool(), a_tool("b")])
    assert held_back(board) == ["b", "greet"]
    board.replace_source("srv", [a_tool("b")])
    assert held_back(board) == ["b"]
    accept(here, a_tool("b"))
    board.replace_source("srv", [a_tool("b")])
    assert list(board.tools) == ["b"]
    assert read_lock(here / "pegboard.lock").keys() == {("srv", "b")}


@pytest.fixture
def held_back() -> Callable[[Board], list[str]]:
    def names(board: Board) -> list[str]:
        settings = watch.settings_of(board)
        assert settings is not None
        return sorted(key.name for key in watch.seen_on(board, settings))

    return names


def test_nothing_is_imported_for_a_lock_that_is_not_there(tmp_path: Path) -> None:
    code = """
import sys
from pegboard import Tool
from pegboard_mcp.lock.watch import check_tool
from pegboard_mcp.settings import McpSettings
check_tool(Tool(name="t", handler=print), McpSettings())
heavy = ("mcp", "trio", "tomllib", "pegboard_mcp.lock.compare", "pegboard_mcp.lock.schemas")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"


def test_a_lock_that_was_found_and_not_trusted_lets_nothing_through_before_it_is_trusted(here: Path) -> None:
    write_lock(here / "pegboard.lock", [pin_of(a_tool())])
    board = a_board("enforce", a_tool())
    assert "greet" not in board.tools
    assert board.rejected_tools["greet"].why.endswith("nobody here accepted it as it stands")
    assert board.rejected_tools["greet"].fix.startswith("look at it, then: pegboard trust ")
    trust(here / "pegboard.lock")
    assert "greet" in a_board("enforce", a_tool()).tools
    write_lock(here / "pegboard.lock", [pin_of(a_tool()), pin_of(a_tool("other"))])
    assert "greet" not in a_board("enforce", a_tool()).tools


def test_a_lock_that_is_named_needs_no_trust(here: Path) -> None:
    write_lock(here / "named.lock", [pin_of(a_tool())])
    settings = {"lock": "enforce", "lock_file": str(here / "named.lock")}
    board = load_board({"plugins": {"mcp": settings}}, [mcp, Offering(a_tool())])
    assert "greet" in board.tools
