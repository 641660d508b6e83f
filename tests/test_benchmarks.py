"""The program of the benchmarks starts, and what it names is there. What it measures is not a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
NAMED = """
from driver.catalog import BRIDGES, CONTESTANTS, PEERS
import bench
modules = {one.module for one in (*CONTESTANTS, *BRIDGES)} | {one.chat_module for one in CONTESTANTS} - {None}
print(*sorted(modules))
print(*PEERS)
"""


def test_the_program_starts_and_every_contestant_that_it_names_is_there() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NAMED], cwd=BENCHMARKS, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    modules, peers = (line.split() for line in done.stdout.splitlines())
    assert modules
    assert [name for name in modules if not (BENCHMARKS / "contestants" / f"{name}.py").is_file()] == []
    assert not [name for name in peers if name.startswith(("pegboard", "floors"))]
