"""The README shows what the program answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
SHOWN = re.findall(r"^    \$ (.*)\n((?:    (?!\$).*\n)*)", TEXT, re.MULTILINE)


def shown_as(printed: str) -> re.Pattern[str]:
    """What was printed, `...` standing for anything within a line."""
    lines = "\n".join(line.removeprefix("    ") for line in printed.splitlines()).strip()
    return re.compile(re.escape(lines).replace(r"\.\.\.", ".*?"))


def test_the_readme_shows_a_call_and_its_answer() -> None:
    assert next(printed for command, printed in SHOWN if "call add_note" in command).strip() == "note 1: Buy tea"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with what the README has in it."""
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (toml,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "notes.py").write_text(program)
    (tmp_path / "pegboard.toml").write_text(toml)
    return tmp_path


def test_the_program_answers_as_the_readme_says(project: Path) -> None:
    environment = {
        "HOME": str(project / "home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "PEGBOARD_CONFIG": str(project / "pegboard.toml"),
        "COLUMNS": "100",
    }
    own = f'"{sys.executable}" -m pegboard --plugin mcp'
    for command, printed in SHOWN:
        ran = subprocess.run(
            command.replace("pegboard ", f"{own} ", 1), shell=True, cwd=project, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
        )  # fmt: skip
        assert shown_as(printed).fullmatch(ran.stdout.strip()), f"{command}\n{ran.stdout}"
