"""Workers, hosts and the server are killed at random moments: nothing is executed twice, and what is told is true."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import kill_rounds


def test_whoever_is_killed_nothing_is_executed_twice_and_what_is_told_is_true(tmp_path: Path, thorough: bool) -> None:
    try:
        kill_rounds.nats_server()
    except FileNotFoundError as problem:
        pytest.skip(str(problem))
    # Seed 2 kills each of the three within its first rounds. How late is told is for a quiet machine to say.
    told = kill_rounds.run(100 if thorough else 6, tmp_path, seed=2, late_s=30)
    assert set(told.kills) == {"worker", "host", "server"}
    assert told.codes["ok"] > 0
    assert told.faults == [], str(told)
