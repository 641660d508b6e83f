"""The sections of manifests: what a binding costs beside what it stands on, and what loading many tools takes."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack, closing
from statistics import median
from typing import TYPE_CHECKING

from driver import venvs
from driver.catalog import FASTMCP, HERE, PEGBOARD_MANIFEST
from driver.processes import WorkerError, WorkerProcess, clean_environment

if TYPE_CHECKING:
    from driver.run import Row, Run

BINDERS = (("pegboard", "pegboard_bindings", PEGBOARD_MANIFEST), ("fastmcp", "fastmcp_openapi", FASTMCP))
LOADED = 1_000
"""Tools of the manifest that is loaded."""
LOAD_S = 60


def measure_bindings(run: Run) -> list[Row]:
    """A call of each kind of binding and of what it stands on, in turn, in microseconds."""
    with ExitStack() as stack:
        plan: list[tuple[Row, WorkerProcess]] = []
        for contestant, module, venv in BINDERS:
            if not run.has(contestant, venv):
                continue
            log = run.folder / f"{contestant}-bindings.log"
            python = venvs.program(venv, "python")
            worker = stack.enter_context(closing(WorkerProcess(python, HERE / "worker.py", module, log, run.folder)))
            try:
                paths = worker.ask("describe")["calls"]
            except WorkerError as problem:
                run.skip("bindings", contestant, "", problem)
                continue
            for path, tool in paths:
                row = {"contestant": contestant, "path": path, "tool": tool, "count": None}
                plan.append(({**row, "rounds": [], "wall_rounds": []}, worker))
        for number in range(run.rounds):
            run.say(f"  bindings, round {number + 1} of {run.rounds}")
            for row, worker in plan:
                timed = worker.ask("call", path=row["path"], tool=row["tool"], count=row["count"])
                row["count"] = timed["count"]
                row["rounds"].append(timed["cpu_us"])
                row["wall_rounds"].append(timed["wall_us"])
    rows = [row for row, _ in plan]
    return [{**row, "cpu_us": median(row["rounds"]), "wall_us": median(row["wall_rounds"])} for row in rows]


def measure_load(run: Run) -> list[Row]:
    """Loading a board with a manifest of many tools, in milliseconds of wall time, each in a process of its own."""
    if not run.has("pegboard", PEGBOARD_MANIFEST):
        return []
    rounds: list[float] = []
    for number in range(run.rounds):
        run.say(f"  manifest-load, round {number + 1} of {run.rounds}")
        command = [str(venvs.program(PEGBOARD_MANIFEST, "python")), str(HERE / "manifest_load.py"), str(LOADED)]
        with run.home() as home:
            try:
                done = subprocess.run(
                    command,
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=LOAD_S,
                    cwd=home,
                    env=clean_environment(home),
                )
            except subprocess.SubprocessError as problem:
                raise WorkerError(str(problem)) from problem
        rounds.append(json.loads(done.stdout)["load_ms"])
    row = {"contestant": "pegboard", "path": "load_board", "tools": LOADED, "rounds": rounds}
    return [{**row, "load_ms": median(rounds)}]
