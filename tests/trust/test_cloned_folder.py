"""What somebody clones and runs `pegboard` in brings nothing that is run before a person trusts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.measured

TRAP = "import pathlib\npathlib.Path({mark!r}).write_text('it was run')\nraise SystemExit('trapped')\n"
MODULES = (
    "multiprocessing", "pegboard", "sitecustomize", "usercustomize", "trio", "trio_parallel", "attrs", "mcp", "pickle",
    "keyring", "dotenv", "tomllib", "pluggy",
)  # fmt: skip
"""What anything of ours imports; a file of that name in a folder goes before it where the folder is looked in first."""
CALLS_A_WORKER = """
import sys
sys.path = [one for one in sys.path if one]  # as the program has it
from pegboard import open_host_sync
from working import Plugin
if __name__ == "__main__":
    with open_host_sync(plugins=[Plugin()]) as host:
        print(host.session().call("add_one", {"to": 1}).text)
"""
WORKING = """
from pegboard import hookimpl, tool

@tool(run="process")
def add_one(to: int) -> int:
    "Add one."
    return to + 1

class Plugin:
    name = "working"

    @hookimpl
    def provide_tools(self):
        return [add_one]
"""


@pytest.fixture
def cloned(tmp_path: Path) -> tuple[Path, Path]:
    """A folder of somebody else, and what is there once anything of it has been run."""
    folder, mark = tmp_path / "cloned", tmp_path / "mark"
    folder.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(TRAP.format(mark=str(mark)))
    return folder, mark


def test_no_worker_imports_what_lies_in_the_folder(cloned: tuple[Path, Path], tmp_path: Path) -> None:
    """Attack: `multiprocessing.py` in a project, which a worker process imports before it knows where its parent does.
    Source: CWE-427, uncontrolled search path, for which Python 3.11 has `-P` (gh-57684)."""
    folder, mark = cloned
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "working.py").write_text(WORKING)
    (mine / "main.py").write_text(CALLS_A_WORKER)
    ran = subprocess.run(
        [sys.executable, str(mine / "main.py")], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "2\n", ran.stderr
    assert not mark.exists()


def test_what_is_written_for_other_programs_imports_nothing_of_their_folder(cloned: tuple[Path, Path]) -> None:
    """Attack: a client starts the board in the folder of a project, where `-m` looks first. Source: CWE-427."""
    folder, mark = cloned
    home = {**os.environ, "HOME": str(folder.parent), "XDG_CONFIG_HOME": str(folder.parent / "config")}
    pegboard = [sys.executable, "-P", "-m", "pegboard"]
    told = subprocess.run(
        [*pegboard, "connect", "claude", "--print"], cwd=folder, env=home, capture_output=True, text=True, check=True
    )
    entry = json.loads(told.stdout)["mcpServers"]["pegboard"]
    command = [entry["command"], *entry["args"][: entry["args"].index("serve")], "--version"]
    ran = subprocess.run(command, cwd=folder, env=home, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not mark.exists()
