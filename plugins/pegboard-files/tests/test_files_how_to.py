"""The page "give a model your files" shows what a new user sees; it is read from top to bottom."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "give-a-model-your-files.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not here; it lies in the repository")
def test_the_page_shows_what_a_new_user_sees(tmp_path: Path) -> None:
    folder, home, programs = tmp_path / "notes", tmp_path / "home", tmp_path / "bin"
    for path in (folder, home, programs):
        path.mkdir()
    program = programs / "pegboard"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pegboard --plugin files "$@"\n')
    program.chmod(0o755)
    environment = {"HOME": str(home), "PATH": f"{programs}:{os.defpath}", "COLUMNS": "100"}
    ran = 0
    blocks = re.finditer(r"^```([\w-]+)(?: file=(\S+))?\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for language, file, text in (match.groups() for match in blocks):
        if file is not None:
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        elif language in ("shell-session", "console"):
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, expected = part.partition("\n")
                done = subprocess.run(
                    ["/bin/sh", "-c", command],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=60,
                )
                pattern = re.escape(expected.rstrip("\n")).replace(r"\.\.\.", "(?s:.*)")
                assert re.fullmatch(pattern, done.stdout.rstrip("\n")), f"$ {command}\n{done.stdout}"
                ran += 1
    assert ran > 10
