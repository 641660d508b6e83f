"""The simulation of many machines: it is the package's own code, and each run of one seed is the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SMALL = """
import json, sys
import scale
plan = scale.Plan(hosts=3, workers=6, tools=20, groups=2, groups_a_host=1, slow_hosts=1, cut=0.5, seed=int(sys.argv[1]))
phases = [scale.start, scale.rest, scale.call, scale.partition]
print(json.dumps(scale.run(plan, phases=phases)))
"""


def both(*command: str, **options: Any) -> list[str]:
    """What two processes print that run at once."""
    two = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) for _ in range(2)]
    try:
        printed = [one.communicate(timeout=120)[0] for one in two]
    finally:
        for one in two:
            one.kill()
            one.wait()
    assert [one.returncode for one in two] == [0, 0]
    return printed


def test_a_small_system_is_simulated_the_same_twice_and_keeps_what_is_promised() -> None:
    # Two processes: how many calls there were is part of the name of a call, and each byte takes its time.
    first, second = (
        json.loads(text)
        for text in both(
            sys.executable,
            "-c",
            SMALL,
            "7",
            cwd=BENCHMARKS,
            env=os.environ | {"PYTHONHASHSEED": "0", "XDG_CACHE_HOME": os.devnull},
        )
    )
    assert first == second
    assert first["start"]["most_s"] < 2
    assert first["call"]["ok"] == first["call"]["calls"] > 0
    lost = first["partition"]
    # Those that are cut off are given calls until the server misses them; each is told within `alive_s`.
    assert lost["the first 20 s: OUTCOME_UNKNOWN"] > 0
    assert lost["the first 20 s: unknown_after_most_s"] < 1.5
    for later in ("after 40 s", "10 s after it"):
        assert lost[f"{later}: ok"] == lost[f"{later}: calls"] > 0
