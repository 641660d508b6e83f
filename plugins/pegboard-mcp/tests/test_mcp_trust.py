"""What `pegboard trust` holds of a configured server: one changed byte of it asks again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HELD = ["server.py", ".env", "conf.json", "run", "work/tool.js", "more.json", "two.sh"]
FREE = ["data.db", "notes.md", "not-named.py"]
FOUND = """
[plugins.mcp]
config_file = "more.json"

[plugins.mcp.servers.a]
command = "python"
args = ["server.py", "--config=conf.json", "data.db", "notes.md"]
env_file = ".env"

[plugins.mcp.servers.b]
command = "./run"

[plugins.mcp.servers.c]
command = "node"
args = ["tool.js"]
cwd = "work"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "work").mkdir(parents=True)
    for name in (*HELD, *FREE):
        (folder / name).write_text("A=1\n")
    (folder / "conf.json").write_text("{}")
    (folder / "more.json").write_text(json.dumps({"mcpServers": {"d": {"command": "sh", "args": ["two.sh"]}}}))
    (folder / "pegboard.toml").write_text(FOUND)
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {"XDG_CONFIG_HOME": str(folder.parent / "config"), "XDG_STATE_HOME": str(folder.parent / "state")}
    return subprocess.run(
        [sys.executable, "-m", "pegboard", *words],
        capture_output=True, text=True, check=False, cwd=folder, env={**os.environ, **variables},
    )  # fmt: skip


def test_one_changed_byte_of_what_a_server_is_made_of_asks_again(project: Path) -> None:
    assert run(project, "config").returncode == 2
    said = run(project, "trust")
    assert said.returncode == 0, said.stderr
    assert {line.removeprefix("  with ") for line in said.stdout.splitlines()[1:]} == {
        str(project / name) for name in HELD
    }
    assert run(project, "config").returncode == 0
    for name in HELD:
        before = (project / name).read_bytes()
        (project / name).write_bytes(before + b"\n")
        refused = run(project, "config")
        assert refused.returncode == 2, name
        assert "pegboard trust" in refused.stderr
        assert Path(name).name in refused.stderr
        (project / name).write_bytes(before)
    for name in FREE:
        (project / name).write_text("B=2\n")
    assert run(project, "config").returncode == 0
    (project / "server.py").write_text("print(2)\n")
    assert run(project, "trust").returncode == 0
    assert run(project, "config").returncode == 0


def test_a_configuration_that_does_not_load_is_accepted_without_what_it_names_and_says_so(project: Path) -> None:
    (project / ".env").unlink()
    said = run(project, "trust")
    assert (said.returncode, said.stdout.count("\n")) == (0, 1)
    assert "what it names was not accepted, for it does not load" in said.stderr
    assert "servers.a.env_file" in said.stderr
    (project / ".env").write_text("A=1\n")
    assert "pegboard trust" in run(project, "config").stderr
    run(project, "trust")
    assert run(project, "config").returncode == 0


TAKEN = {
    "npx": ('command = "npx"\nargs = ["-y", "@scope/name@1"]', [
        ".npmrc", ".yarnrc.yml", "bunfig.toml", "node_modules/@scope/name/package.json", "node_modules/.bin/name",
    ]),
    "a shell": ('command = "sh"\nargs = ["-c", "exec npx name"]', ["node_modules/.bin/name", ".npmrc"]),
    "its own command": ('command = "npx"\nargs = ["name"]', ["package.json"]),
    "uv": ('command = "uv"\nargs = ["run", "name"]', ["uv.toml", "pyproject.toml"]),
    "a module": ('command = "python3"\nargs = ["-m", "some.name"]', [
        "some/__init__.py", "some/name.py", "some/name/__main__.py",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("kind", TAKEN)
def test_what_a_command_takes_from_the_folder_unnamed_asks_again_when_it_comes(tmp_path: Path, kind: str) -> None:
    """Attack: the configuration that somebody trusted stays as it is, and a later commit brings the file that says what
    its command runs. Source: npm reads `.npmrc` of a project, and npx runs what lies in `node_modules/.bin` first."""
    table, names = TAKEN[kind]
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pegboard.toml").write_text(f"[plugins.mcp.servers.a]\n{table}\n")
    assert run(folder, "trust").returncode == 0
    assert run(folder, "config").returncode == 0
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('{"bin": "evil.js"}')
        refused = run(folder, "config")
        assert refused.returncode == 2, name
        assert "pegboard trust" in refused.stderr
        (folder / name).unlink()
    assert run(folder, "config").returncode == 0


def test_what_nothing_takes_from_the_folder_asks_nobody(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pegboard.toml").write_text(
        '[plugins.mcp.servers.a]\ncommand = "npx"\nargs = ["name"]\n'
        '[plugins.mcp.servers.b]\ncommand = "python3"\nargs = ["-P", "-m", "name"]\n'
        '[plugins.mcp.servers.c]\ncommand = "uvx"\nargs = ["name"]\n'
    )
    assert run(folder, "trust").returncode == 0
    for name in ("package.json", "name.py", "uv.toml", "pyproject.toml", "package-lock.json"):
        (folder / name).write_text("# nothing that says what is run" if name.endswith("toml") else "{}")
    assert run(folder, "config").returncode == 0
