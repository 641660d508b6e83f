"""The README shows what the program and the library answer."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs

from pegboard_chat import ChatSettings

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_of_the_library_prints_what_is_shown(tmp_path: Path) -> None:
    code = re.search(r"```python\n(import trio.*?)```", README, re.DOTALL)
    shown = re.search(r"prints\n\n((?:    .*\n)+)", README)
    assert code is not None
    assert shown is not None
    program = tmp_path / "example.py"
    # Only these two plugins: others of the machine may want keys, or take long.
    program.write_text(code[1].replace("open_host()", 'open_host({}, plugins=["chat"])'), encoding="utf-8")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [line.strip() for line in shown[1].splitlines()]


def test_the_settings_that_are_shown_are_all_there_are() -> None:
    table = re.search(r"## Settings\n\n((?:    .*\n|\n)+)", README)
    assert table is not None
    said = tomllib.loads(table[1].replace("    [", "["))["plugins"]["chat"]
    assert said.keys() == {field.name for field in attrs.fields(ChatSettings)}
    assert list(ChatSettings.find_faults(said)) == []
    ChatSettings(**said)
