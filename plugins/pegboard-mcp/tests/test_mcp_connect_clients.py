"""`pegboard connect`: the board goes into a client's configuration, and out of it to the byte."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pegboard import ConfigError
from pegboard.cli import ProgramRun
from pegboard_mcp import places, writing
from pegboard_mcp.commands.connect import connect
from pegboard_mcp.commands.probe import offer

OTHERS = """\
{
    // what I use every day
    "theme": "dark",
    "%s": {
        "files": {"command": "npx", "env": {"TOKEN": "secret-of-another"}}, // mine
        /* "old": {} */
    },
}
"""
Connect = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder and, beside it, a working directory."""
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "APPDATA", "PEGBOARD_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


@pytest.fixture
def run(home: Path) -> Connect:
    """Run the command with options of the program before it."""

    def run(*args: str, **options: Any) -> Result:
        return CliRunner().invoke(connect, list(args), obj=ProgramRun(**options), catch_exceptions=False)

    return run


def lay(program: str, text: str = OTHERS) -> Path:
    """A client's file with other servers in it."""
    place = places.user_place(program)
    place.path.parent.mkdir(parents=True, exist_ok=True)
    place.path.write_text(text % place.key if "%s" in text else text)
    return place.path


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.is_file())


@pytest.mark.parametrize("program", places.PROGRAMS)
def test_what_was_written_is_undone_to_the_byte(run: Connect, program: str) -> None:
    path = lay(program)
    before, there = path.read_bytes(), files_in(path.parent)
    result = run(program)
    assert "secret-of-another" not in result.output
    assert '"pegboard": {' in result.stdout
    added = path.read_text()
    assert "// what I use every day" in added
    assert "// mine" in added
    assert '/* "old": {} */' in added
    assert (path.with_name(path.name + writing.BACKUP)).read_bytes() == before
    run(program, "--remove")
    assert path.read_bytes() == before
    assert files_in(path.parent) == there


@pytest.mark.parametrize("program", places.PROGRAMS)
@pytest.mark.parametrize("options", [[], ["--print"]], ids=["written", "printed"])
def test_it_is_said_how_to_look_at_the_other_servers_first(run: Connect, program: str, options: list[str]) -> None:
    path = lay(program)
    told = f"{path} has files; {offer(path)}\n"
    assert f"pegboard --mcp-config {shlex.quote(str(path))} probe NAME" in told
    for _ in range(2):
        assert told in run(program, *options).stderr
    run(program, "--remove")
    assert "probe" not in run(program, "--remove").stderr


def test_servers_that_are_given_are_offered_to_be_looked_at_too(run: Connect, home: Path) -> None:
    given = home / "my servers.json"
    given.write_text(json.dumps({"mcpServers": {f"s{number}": {"command": "x"} for number in range(7)}}))
    told = run("claude", mcp_config=str(given)).stderr
    assert f"{given} has s0, s1, s2, s3, s4 and 2 more; {offer(given)}\n" in told
    assert told.count("probe") == 1  # where the board itself is all that a client has, nothing is offered


@pytest.mark.parametrize("text", ["", "{}", "{ }", "{\n}", '{"x": 1}', '{"mcpServers": {}}', '{"mcpServers": { }}\n'])
def test_what_had_no_servers_before_has_none_after(run: Connect, text: str) -> None:
    path = lay("cursor", text)
    run("cursor")
    assert "pegboard" in json.loads(path.read_text())["mcpServers"]
    run("cursor", "--remove")
    assert path.read_text() == text
    assert files_in(path.parent) == ["mcp.json"]


def test_a_file_that_was_not_there_is_gone_again(run: Connect, home: Path) -> None:
    result = run("vscode")
    assert "may not be installed" in result.stderr
    path = places.user_place("vscode").path
    assert json.loads(path.read_text())["servers"]["pegboard"]["type"] == "stdio"
    run("vscode", "--remove")
    assert not path.exists()


def test_other_changes_since_stay(run: Connect) -> None:
    path = lay("claude")
    run("claude")
    changed = path.read_text().replace('"dark"', '"light"').replace("every day", "at night")
    path.write_text(changed)
    result = run("claude", "--remove")
    assert path.read_text() == (OTHERS % "mcpServers").replace('"dark"', '"light"').replace("every day", "at night")
    assert "backup: " in result.stderr


def test_connecting_again_changes_only_what_is_other(run: Connect) -> None:
    path = lay("cursor")
    before = path.read_bytes()
    run("cursor")
    once = path.read_bytes()
    assert "has this board already" in run("cursor").stderr
    assert path.read_bytes() == once
    run("cursor", read_only=True)
    assert json.loads(path.read_text().split('"pegboard": ')[1].split("},")[0] + "}")["args"][-2:] == [
        "--read-only",
        "serve",
    ]
    run("cursor", "--remove")
    assert path.read_bytes() == before
    assert files_in(path.parent) == ["mcp.json"]


def test_the_options_of_the_run_are_carried_on_and_paths_made_whole(run: Connect, home: Path) -> None:
    result = run(
        "claude", "--print", "--user", "ada",
        config="my.toml", mcp_config="mcp.json", plugins=("dice", "mcp"), profile="reader", read_only=True, strict=True,
        log_json="log.jsonl",
    )  # fmt: skip
    entry = json.loads(result.stdout)["mcpServers"]["pegboard"]
    work = home.parent / "work"
    assert entry["command"] == sys.executable
    assert entry["args"] == [
        "-P", "-m", "pegboard", "--config", f"{work}/my.toml", "--mcp-config", f"{work}/mcp.json", "--plugin", "dice",
        "--plugin", "mcp", "--profile", "reader", "--log-json", f"{work}/log.jsonl", "--read-only", "--strict", "serve",
        "--user", "ada",
    ]  # fmt: skip
    assert not places.user_place("claude").path.exists()


def test_a_program_that_runs_by_its_own_name_is_started_by_its_whole_path(
    run: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "pegboard"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script), "connect"])
    entry = json.loads(run("claude-code", "--print").stdout)["mcpServers"]["pegboard"]
    assert entry == {"type": "stdio", "command": str(script), "args": ["serve"]}
    monkeypatch.setenv("PATH", str(script.parent))
    monkeypatch.setattr(sys, "argv", ["pegboard"])
    assert json.loads(run("cursor", "--print").stdout)["mcpServers"]["pegboard"]["command"] == str(script)


@pytest.mark.parametrize("text", ["{", '{"mcpServers": []}', "[]", '{"mcpServers": {}, "mcpServers": {}}', "not json"])
def test_a_file_that_cannot_be_read_is_refused_and_never_overwritten(run: Connect, text: str) -> None:
    path = lay("cursor", text)
    with pytest.raises(ConfigError, match="is left as it is") as refused:
        run("cursor")
    assert "--print" in (refused.value.hint or "")
    with contextlib.suppress(ConfigError):  # where nothing of ours can be in it, there is nothing to refuse
        run("cursor", "--remove")
    assert path.read_text() == text
    assert files_in(path.parent) == ["mcp.json"]


def test_bytes_that_are_no_text_are_refused(run: Connect) -> None:
    path = lay("cursor")
    path.write_bytes(b'{"mcpServers": {"a": "\xff"}}')
    with pytest.raises(ConfigError, match="not UTF-8"):
        run("cursor")
    assert path.read_bytes() == b'{"mcpServers": {"a": "\xff"}}'


def test_a_folder_in_its_place_is_refused(run: Connect, home: Path) -> None:
    (home / ".claude.json").mkdir()
    with pytest.raises(ConfigError, match="is left as it is"):
        run("claude-code")


def test_a_file_that_cannot_be_written_is_as_it_was(run: Connect, home: Path) -> None:
    (home / ".cursor").write_text("a file in the place of the folder")
    with pytest.raises(ConfigError, match="cannot be written"):
        run("cursor")


def test_a_change_by_somebody_else_in_between_is_not_lost(run: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    path = lay("cursor")
    shown = writing.diff
    monkeypatch.setattr(writing, "diff", lambda *args: path.write_text("{}") and shown(*args))
    with pytest.raises(ConfigError, match="somebody else"):
        run("cursor")
    assert path.read_text() == "{}"


def test_rights_and_links_stay(run: Connect, home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text('{"mcpServers": {}}')
    real.chmod(0o600)
    (home / ".claude.json").symlink_to(real)
    run("claude-code")
    assert (home / ".claude.json").is_symlink()
    assert "pegboard" in json.loads(real.read_text())["mcpServers"]
    backup = home / f".claude.json{writing.BACKUP}"
    assert stat.S_IMODE(real.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_the_file_of_a_project_is_the_one_in_this_folder(run: Connect, home: Path) -> None:
    run("claude-code", "--project")
    path = home.parent / "work" / ".mcp.json"
    assert "pegboard" in json.loads(path.read_text())["mcpServers"]
    assert not (home / ".claude.json").exists()
    run("claude-code", "--project", "--remove")
    assert not path.exists()
    with pytest.raises(ConfigError, match="no file for a project"):
        run("claude", "--project")


def test_two_boards_may_be_connected_under_two_names(run: Connect) -> None:
    path = lay("cursor")
    before = path.read_bytes()
    run("cursor", "--name", "reader", profile="reader")
    run("cursor", "--name", "all of it")
    run("cursor", "--name", "reader", "--remove")
    assert b'"reader"' not in path.read_bytes()
    run("cursor", "--name", "all of it", "--remove")
    assert path.read_bytes() == before
    with pytest.raises(ConfigError, match="not a name"):
        run("cursor", "--name", "a\nb")


def test_removing_what_is_not_there_changes_nothing(run: Connect) -> None:
    assert "nothing to take out" in run("cursor", "--remove").stderr
    path = lay("cursor")
    before = path.read_bytes()
    assert "nothing to take out" in run("cursor", "--remove").stderr
    assert path.read_bytes() == before


def test_what_a_removal_would_do_is_shown_and_not_done(run: Connect) -> None:
    path = lay("cursor")
    run("cursor")
    added = path.read_bytes()
    result = run("cursor", "--remove", "--print")
    assert '-        "pegboard": {' in result.stdout
    assert path.read_bytes() == added


def test_a_configuration_that_is_only_found_from_here_is_pointed_out(run: Connect, home: Path) -> None:
    (home.parent / "work" / "pegboard.toml").write_text("timeout_s = 3\n")
    assert "is not read from there" in run("cursor").stderr
    assert "is not read from there" not in run("cursor", config="pegboard.toml").stderr


def test_an_unknown_client_is_refused(run: Connect) -> None:
    result = run("emacs")
    assert result.exit_code == 2


def test_a_backup_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    contents = [b"one", b"two", b"three", b"two"]
    for content in contents:
        file.write_bytes(content)
        assert writing.keep_backup(file).read_bytes() == content
    assert [backup.read_bytes() for backup in writing.backups_of(file)] == [b"one", b"two", b"three"]


def test_the_program_connects_and_disconnects(home: Path) -> None:
    def pegboard(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pegboard", *args]
        return subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=60, check=False)

    path = lay("claude-code")
    before = path.read_bytes()
    done = pegboard("connect", "claude-code")
    assert (done.returncode, done.stdout[:3]) == (0, "---"), done.stderr
    assert pegboard("connect", "claude-code", "--remove").returncode == 0
    assert path.read_bytes() == before
    path.write_text("{")
    refused = pegboard("connect", "claude-code")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 2)
    assert "hint: repair the file" in refused.stderr


def lay_project(text: str = OTHERS % "mcpServers") -> Path:
    """A project's file in the working directory."""
    path = Path.cwd() / ".mcp.json"
    path.write_text(text)
    return path


def test_a_backup_goes_through_no_link(run: Connect, tmp_path: Path) -> None:
    path, elsewhere = lay_project(), tmp_path / "profile"
    path.with_name(path.name + writing.BACKUP).symlink_to(elsewhere)

    assert run("claude-code", "--project").exit_code == 0

    assert not elsewhere.exists()
    assert path.with_name(f"{path.name}{writing.BACKUP}-2").read_text() == OTHERS % "mcpServers"


def test_a_link_that_is_not_a_backup_is_not_read_for_one(run: Connect, tmp_path: Path) -> None:
    path = lay_project()
    (tmp_path / "other").write_text(path.read_text())
    path.with_name(path.name + writing.BACKUP).symlink_to(tmp_path / "other")

    run("claude-code", "--project")

    assert (path.with_name(f"{path.name}{writing.BACKUP}-2")).is_file()


@pytest.mark.parametrize("folder", [False, True])
def test_a_projects_file_that_leads_out_of_the_project_is_left(run: Connect, tmp_path: Path, folder: bool) -> None:
    (tmp_path / "mine").mkdir()
    mine = tmp_path / "mine" / "mcp.json"
    mine.write_text('{"servers": {}}')
    link = Path.cwd() / ".vscode"
    if folder:
        link.symlink_to(mine.parent)
    else:
        link.mkdir()
        (link / "mcp.json").symlink_to(mine)

    with pytest.raises(ConfigError, match="leads out of the project"):
        run("vscode", "--project")

    assert [one.name for one in mine.parent.iterdir()] == ["mcp.json"]
    assert mine.read_text() == '{"servers": {}}'


def test_the_diff_sends_nothing_to_the_terminal_but_text(run: Connect) -> None:
    lay_project('{\n  // \x1b]0;title\x07 \u202e\n  "mcpServers": {}\n}\n')

    shown = run("claude-code", "--project").output

    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b]0;title" in shown
