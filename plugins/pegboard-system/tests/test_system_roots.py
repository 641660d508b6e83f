"""No command changes what the next one may see: paths of the configuration lead where they led, or nothing runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pegboard import Finding, ToolError, load_board, open_host, thaw
from pegboard.testing import assert_error, assert_ok
from pegboard_system._isolation import probe
from pegboard_system._permissions import CommandPermissions
from pegboard_system.plugin import SystemPlugin

FOUND = probe()
LEVELS = [
    pytest.param(level, marks=pytest.mark.skipif(level not in FOUND.levels, reason=f"no {level} here"))
    for level in ("rlimits", "landlock", "bubblewrap")
]
BUBBLEWRAP = pytest.mark.skipif("bubblewrap" not in FOUND.levels, reason="no bubblewrap here")
CANARY = "canary-77d0"
SWAP = 'mv w/data w/old; ln -s "$OLDPWD/../secret" w/data; ln -s {secret} w/data'


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text(CANARY)
    work = tmp_path / "work"
    (work / "w" / "data").mkdir(parents=True)
    (work / "w" / "data" / "key").write_text("data")
    (work / "r").mkdir()
    monkeypatch.chdir(work)
    return work


def config(level: str, **said: Any) -> dict[str, Any]:
    return {"tools": {"execute_command": {"least_level": level, "unjudged_commands": ["sh"], **said}}}


async def run(host: Any, script: str) -> Any:
    return await host.session().call("execute_command", {"command": ["sh", "-c", script]})


NESTED: dict[str, dict[str, list[str]]] = {
    "an allowed path in a writable one": {"allowed_paths": ["w/data", "r"], "writable_paths": ["w"]},
    "a writable path in a writable one": {"writable_paths": ["w", "w/data"]},
    "a path that is not there yet": {"allowed_paths": ["w/later"], "writable_paths": ["w"]},
    "a path through a link in a writable one": {"allowed_paths": ["w/link/data"], "writable_paths": ["w"]},
    "a link elsewhere into a writable one": {"allowed_paths": ["r/into"], "writable_paths": ["w"]},
    "a denied path through a link in a writable one": {"denied_paths": ["w/link"], "writable_paths": ["w"]},
    "a writable path by another name": {"allowed_paths": ["w/data"], "writable_paths": ["other"]},
    "a path with dots": {"allowed_paths": ["r/../w/./data"], "writable_paths": ["w"]},
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("how", NESTED)
async def test_a_path_that_a_command_could_swap_lets_none_run(work: Path, level: Any, how: str) -> None:
    (work / "w" / "link").symlink_to(work / "r")
    (work / "r" / "into").symlink_to(work / "w" / "data")
    (work / "other").symlink_to("w")
    said = config(level, **NESTED[how])
    async with open_host(said, plugins=[SystemPlugin((level,))]) as host:
        result = assert_error(await run(host, "echo begun"), "FORBIDDEN", reason="nested")
        assert "writable path" in result.text
        assert str(work) not in result.text
    board = load_board(said, plugins=[SystemPlugin((level,))])
    errors = [found for found in board.findings() if found.severity == "error"]
    assert [(type(found), found.what) for found in errors] == [(Finding, "no command may run")]


async def test_paths_beside_each_other_and_around_each_other_are_what_they_were(work: Path) -> None:
    for said in (
        {"allowed_paths": ["."], "writable_paths": ["w"]},
        {"allowed_paths": ["w"], "writable_paths": ["w", "./w/"]},
        {"allowed_paths": ["r"], "writable_paths": ["w"], "denied_paths": ["w/data"]},
        {"writable_paths": ["."]},
    ):
        paths: dict[str, Any] = {name: tuple(said[name]) for name in said}
        policy = CommandPermissions(**paths).policy()
        assert all(os.path.isabs(path) for path in (*policy.readable, *policy.writable))


@pytest.mark.parametrize("level", LEVELS)
async def test_the_next_call_does_not_follow_what_a_command_put_there(work: Path, level: Any) -> None:
    """The working directory lies in what is writable; a command swaps a folder in it for a link out."""
    said = config(level, allowed_commands=["cat"], writable_paths=["w"])
    async with open_host(said, plugins=[SystemPlugin((level,))]) as host:
        assert_ok(await run(host, f"mv w/data w/old && ln -s {work.parent}/secret w/data"))
        assert os.readlink(work / "w" / "data") == f"{work.parent}/secret"
        result = await host.session().call("execute_command", {"command": "cat w/data/key"})
        assert_error(result, "FORBIDDEN", reason="path")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("setting", ["allowed_paths", "writable_paths", "denied_paths"])
async def test_a_path_is_resolved_once(work: Path, level: Any, setting: str) -> None:
    if (level, setting) == ("landlock", "denied_paths"):
        pytest.skip("Landlock takes no part of an allowed folder away")
    link, target = work / "r" / "link", work / "w" / "data"
    link.symlink_to(target)
    said = config(level, **{"allowed_paths": ["r"], setting: ["r/link"]})
    if setting == "denied_paths":
        said["tools"]["execute_command"]["allowed_paths"] = ["r", "w"]
    async with open_host(said, plugins=[SystemPlugin((level,))]) as host:
        before = assert_ok(await run(host, f"cat {target}/key"))
        link.unlink()
        link.symlink_to(work.parent / "secret")
        after = assert_ok(await run(host, f"cat {target}/key; cat {work.parent}/secret/key"))
        assert (level == "rlimits") == (CANARY in after.text)  # which holds nothing that a shell does
        assert thaw(after.data)["stdout"].startswith(thaw(before.data)["stdout"])
        target.rename(work / "w" / "old")
        target.symlink_to(work.parent / "secret")
        assert_error(await run(host, "echo begun"), "FORBIDDEN", reason="moved", says="'r/link'")


@BUBBLEWRAP
async def test_what_is_denied_inside_of_what_is_writable_stays_where_it_is(work: Path) -> None:
    deep = work / "w" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "key").write_text(CANARY)
    (deep / "open").write_text("open")
    said = config("bubblewrap", writable_paths=["w"], denied_paths=["w/a/b/key", "w/data"])
    attempts = [
        "mv w/a w/x", "mv w/a/b w/x", "mv w/a/b/key w/key", "rm -rf w/a", "ln w/a/b/key w/key", "mv w/data w/x",
        "cp -r w/a w/copy", "rmdir w/data", "ln -sf x w/a/b/key",
    ]  # fmt: skip
    async with open_host(said, plugins=[SystemPlugin(("bubblewrap",))]) as host:
        for attempt in attempts:
            result = assert_ok(await run(host, f"{attempt}; grep -rs canary w; cat w/*/b/key w/key; exit 0"))
            assert CANARY not in str(thaw(result.data)), attempt
        assert (deep / "key").read_text() == CANARY
        assert_ok(await run(host, "echo new > w/a/b/made && mv w/a/b/made w/a/made"))
    assert (work / "w" / "a" / "made").read_text() == "new\n"
    assert (work / "w" / "data" / "key").read_text() == "data"


def test_a_refusal_names_the_setting_and_what_stands_there(work: Path) -> None:
    with pytest.raises(ToolError, match=r"^allowed_paths: './w/data' lies inside of a writable path"):
        CommandPermissions(allowed_paths=("./w/data",), writable_paths=("w",)).policy()


@pytest.mark.parametrize("allowed", ["w/tool", "r/to-tool", "w/to-cat", "r/into/tool"])
@pytest.mark.parametrize("setting", ["allowed_commands", "unjudged_commands"])
async def test_a_program_that_a_command_could_replace_is_not_started(work: Path, allowed: str, setting: str) -> None:
    tool = work / "w" / "tool"
    tool.write_text("#!/bin/sh\necho begun\n")
    tool.chmod(0o755)
    (work / "r" / "to-tool").symlink_to(tool)
    (work / "r" / "into").symlink_to(work / "w")
    (work / "w" / "to-cat").symlink_to("/bin/cat")
    level: Any = FOUND.levels[-1]
    said = {"least_level": level, setting: [allowed], "writable_paths": ["w"]}
    async with open_host({"tools": {"execute_command": said}}, plugins=[SystemPlugin((level,))]) as host:
        result = await host.session().call("execute_command", {"command": [allowed]})
        assert_error(result, "FORBIDDEN", reason="command", says="lies where commands may write")
        if setting == "allowed_commands":
            assert "an allowed command is refused" in [found.what for found in host.board.findings()]
