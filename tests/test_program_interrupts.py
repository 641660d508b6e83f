"""Ctrl-C from the first moment of a program to its last: one word, status 130, and never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
WAYS = {
    "pegboard": [str(BIN / "pegboard"), "list"],
    "python -m pegboard": [sys.executable, "-m", "pegboard", "list"],
    "llm-toolgen": [str(BIN / "llm-toolgen"), "--help"],
}
AT_A_MOMENT = """
import atexit, os, signal, sys
class Presser:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["MOMENT"]:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Presser())
if os.environ["MOMENT"] == "the end":
    atexit.register(signal.raise_signal, signal.SIGINT)
"""
"""What Python runs at its start: it presses Ctrl-C where that module is looked for."""
MOMENTS = ("pegboard.starting", "attr", "pegboard._api", "click", "the end")


def ended(way: str, moment: str, tmp_path: Path, **more: object) -> subprocess.CompletedProcess[str]:
    (tmp_path / "sitecustomize.py").write_text(AT_A_MOMENT)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MOMENT": moment, "HOME": str(tmp_path)}
    return subprocess.run(
        WAYS[way], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, **more
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a signal that is raised is not one of Windows' console")
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_is_one_word_at_any_moment_of_a_program(way: str, moment: str, tmp_path: Path) -> None:
    ending = ended(way, moment, tmp_path)
    assert (ending.stderr, ending.returncode) == ("interrupted\n", 130)


@pytest.mark.skipif(sys.platform == "win32", reason="there a parent cannot have its children ignore it")
@pytest.mark.parametrize("way", WAYS)
def test_who_is_started_with_ctrl_c_ignored_goes_on(way: str, tmp_path: Path) -> None:
    ending = ended(way, "attr", tmp_path, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert (ending.stderr.count("interrupted"), ending.returncode) == (0, 0)
    assert ending.stdout
