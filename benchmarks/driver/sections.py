"""What is measured, one function a section; each returns rows for the JSON file.

All go round: one batch of the first contestant, one of the second, and so on, then again. A row keeps every round, so
that two rows can be compared round by round: a ratio is the median of the rounds' ratios, not the ratio of two medians.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Any

from driver import venvs
from driver.binding_sections import measure_bindings, measure_load
from driver.catalog import FLOORS, PEGBOARD, SERVER, SERVER_FILE
from driver.chat_sections import measure_export, measure_loop, measure_tokens
from driver.mcp_sections import measure_bridge, measure_http, measure_servers, measure_stdio
from driver.processes import WorkerError, measure_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from driver.catalog import Contestant
    from driver.processes import WorkerProcess
    from driver.run import Row, Run

QUICK_BUILD_S = 2.0
"""A contestant that registers its tools within this is asked to in every round; a slower one only once."""
ENOUGH_MS = 30.0
"""How long a timed row of calls by name should take."""
SMALL = 10
"""The size of the registry that a large one is compared with."""


def measure_calls(run: Run) -> list[Row]:
    """One validated call of `add` and of the 12-parameter tool, in microseconds of CPU."""
    with ExitStack() as stack:
        plans: list[list[tuple[Row, WorkerProcess]]] = []
        for contestant in run.contestants:
            worker = stack.enter_context(run.worker(contestant))
            try:
                paths = worker.ask("describe")["calls"]
            except WorkerError as problem:
                run.skip("calls", contestant.name, "", problem)
                continue
            plans.append([({"contestant": contestant.name, "path": p, "tool": t}, worker) for p, t in paths])
        plan = list(_in_turns(plans))
        for number in range(run.rounds):
            run.say(f"  calls, round {number + 1} of {run.rounds}")
            for row, worker in plan:
                if "failed" not in row:
                    _time_call(run, row, worker)
    rows = [row for row, _ in plan if "failed" not in row]
    for row in rows:
        row["cpu_us"] = median(row["rounds"])
    order = [contestant.name for contestant in run.contestants]
    return sorted(rows, key=lambda row: order.index(row["contestant"]))


def _time_call(run: Run, row: Row, worker: WorkerProcess) -> None:
    try:
        timed = worker.ask("call", path=row["path"], tool=row["tool"], count=row.get("count"))
    except WorkerError as problem:
        row["failed"] = True
        run.skip("calls", row["contestant"], f"{row['path']} {row['tool']}", problem)
        return
    row["count"] = timed["count"]
    row.setdefault("rounds", []).append(timed["cpu_us"])


def _in_turns(plans: Sequence[Sequence[Any]]) -> Iterator[Any]:
    """The first of each, the second of each, and so on."""
    for index in range(max(map(len, plans), default=0)):
        yield from (plan[index] for plan in plans if index < len(plan))


def measure_parallel(run: Run) -> list[Row]:
    """Many calls at once of a tool that waits, in milliseconds for all of them."""
    rows: list[Row] = []
    with ExitStack() as stack:
        plan: list[tuple[Row, WorkerProcess]] = []
        for contestant in run.contestants:
            worker = stack.enter_context(run.worker(contestant))
            try:
                for path in worker.ask("describe")["parallels"]:
                    row = {"contestant": contestant.name, "path": path, "rounds": [], "cpu_rounds": []}
                    worker.ask("parallel", path=path, count=run.parallel)  # grows what has to grow
                    plan.append((row, worker))
            except WorkerError as problem:
                run.skip("parallel", contestant.name, "", problem)
        for _ in range(run.rounds):
            for row, worker in plan:
                timed = worker.ask("parallel", path=row["path"], count=run.parallel)
                row["rounds"].append(timed["wall_ms"])
                row["cpu_rounds"].append(timed["cpu_ms"])
    for row, _ in plan:
        rows.append(
            {**row, "calls": run.parallel, "wall_ms": median(row["rounds"]), "cpu_ms": median(row["cpu_rounds"])}
        )
    return rows


def measure_registry(run: Run) -> list[Row]:
    """Registering, listing and calling with ten tools and with very many."""
    rows: dict[tuple[str, str], Row] = {}
    slow: set[str] = set()
    for number in range(run.rounds):
        for contestant in run.contestants:
            if contestant.name in slow:
                continue
            run.say(f"  registry, round {number + 1} of {run.rounds}: {contestant.name}")
            try:
                measured = _registry_round(run, contestant)
            except WorkerError as problem:
                run.skip("registry", contestant.name, "", problem)
                slow.add(contestant.name)
                continue
            for registry, values in measured.items():
                row = rows.setdefault(
                    (contestant.name, registry),
                    {"contestant": contestant.name, "registry": registry, "tools": run.tools, "rounds": []},
                )
                row["rounds"].append(values)
                if values["register_us"] * run.tools > QUICK_BUILD_S * 1e6:
                    slow.add(contestant.name)
    for row in rows.values():
        for key in row["rounds"][0]:
            row[key] = median(values[key] for values in row["rounds"])
    return list(rows.values())


def _registry_round(run: Run, contestant: Contestant) -> dict[str, dict[str, float]]:
    with run.worker(contestant) as probe:
        registries = probe.ask("describe")["registries"]
    measured = {}
    for registry in registries:
        with run.worker(contestant) as few, run.worker(contestant) as many:
            few.ask("build", registry=registry, tools=SMALL)
            built = many.ask("build", registry=registry, tools=run.tools)
            lists = [many.ask("list_many", registry=registry)["list_ms"] for _ in range(3)]
            call_few, call_many = _calls_by_name(few, registry, SMALL), _calls_by_name(many, registry, run.tools)
            pairs = [(call_few(), call_many()) for _ in range(5)]
        measured[registry] = {
            **built,
            "list_ms": median(lists),
            "call_us_of_few": median(small for small, _ in pairs),
            "call_us": median(large for _, large in pairs),
            "call_ratio": median(large / small for small, large in pairs),
        }
    return measured


def _calls_by_name(worker: WorkerProcess, registry: str, tools: int) -> Callable[[], float]:
    """A timed row of calls of warmed-up tools; the first row compiles what is compiled at the first call."""

    def timed(repeat: int = 1) -> float:
        return float(worker.ask("call_many", registry=registry, tools=tools, repeat=repeat)["call_us"])

    timed()
    repeat = max(1, min(100, int(ENOUGH_MS * 1e3 / (100 * timed()))))
    return lambda: timed(repeat)


BATCH_TOOLS = {"in place": "bench_add", "async": "bench_add_async"}
_BARE_LOOP = """
import fastjsonschema, json, sys
number = {"type": "number"}
check = fastjsonschema.compile({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]})
for line in open(sys.argv[1]):
    call = json.loads(line)
    given = call["arguments"]
    check(given)
    value = given["a"] + given["b"]
    answer = {"id": call["id"], "name": call["name"], "ok": True, "content": [{"type": "text", "text": str(value)}]}
    print(json.dumps(answer | {"data": {"result": value}}))
"""


def measure_batch(run: Run) -> list[Row]:
    """`pegboard batch` over a file of calls, CPU of the whole program divided by the lines."""
    commands: dict[str, tuple[str | Path, ...]] = {}
    names = {one.name for one in run.contestants}
    if "floors" in names:
        commands["bare loop"] = (venvs.program(FLOORS, "python"), "-c", _BARE_LOOP)
    if "pegboard" in names:
        commands |= {kind: (venvs.program(PEGBOARD, "pegboard"), "batch") for kind in BATCH_TOOLS}
    rows: dict[str, Row] = {kind: {"kind": kind, "lines": run.lines, "rounds": []} for kind in commands}
    with run.home() as folder:
        files = {kind: _calls_file(folder, BATCH_TOOLS.get(kind, "bench_add"), run.lines) for kind in commands}
        for number in range(run.rounds):
            for kind, command in commands.items():
                if kind not in rows:
                    continue
                run.say(f"  batch, round {number + 1} of {run.rounds}: {kind}")
                try:
                    rows[kind]["rounds"].append(_measure_batch([*command, files[kind]], folder, run.lines))
                except WorkerError as problem:
                    run.skip("batch", "pegboard", kind, problem)
                    del rows[kind]
    return [{**row, "cpu_us": median(row["rounds"])} for row in rows.values()]


def _measure_batch(command: Sequence[str | Path], folder: Path, lines: int) -> float:
    answers = folder / "answers.jsonl"
    with answers.open("wb") as out:
        cpu_ms = measure_command(command, folder, out)
    with answers.open() as answered:
        right = sum(json.loads(line)["data"] == {"result": 4.0} for line in answered)
    if right != lines:
        raise WorkerError(f"{right} of {lines} lines were answered right")
    return cpu_ms * 1e3 / lines


def _calls_file(folder: Path, name: str, lines: int) -> Path:
    path = folder / f"{name}.jsonl"
    with path.open("w") as out:
        for index in range(lines):
            print(json.dumps({"id": str(index), "name": name, "arguments": {"a": 1.5, "b": 2.5}}), file=out)
    return path


def measure_cold(run: Run) -> list[Row]:
    """Starting a program and ending it, as a multiple of `python -c pass` in the same venv."""
    plan: list[tuple[Row, list[str | Path], list[str | Path]]] = []
    with run.home() as folder:
        (folder / SERVER_FILE).write_text(SERVER)
        for contestant in run.contestants:
            venv = contestant.cold_venv or contestant.venv
            nothing: list[str | Path] = [venvs.program(venv, "python"), "-c", "pass"]
            for label, (name, *arguments) in contestant.cold.items():
                command: list[str | Path] = [venvs.program(venv, name), *arguments]
                try:
                    for _ in range(2):  # writes what bytecode is missing
                        measure_command(command, folder)
                except WorkerError as problem:
                    run.skip("cold", contestant.name, label, problem)
                    continue
                plan.append(
                    ({"contestant": contestant.name, "command": label, "rounds": [], "ratios": []}, nothing, command)
                )
        for number in range(run.rounds):
            run.say(f"  cold start, round {number + 1} of {run.rounds}")
            for row, nothing, command in plan:
                least = median(measure_command(nothing, folder) for _ in range(3))
                cost = measure_command(command, folder)
                row["rounds"].append(cost)
                row["ratios"].append(cost / least)
    return [{**row, "cpu_ms": median(row["rounds"]), "ratio": median(row["ratios"])} for row, _, _ in plan]


SECTIONS: Mapping[str, Callable[[Run], list[Row]]] = {
    "calls": measure_calls,
    "registry": measure_registry,
    "parallel": measure_parallel,
    "batch": measure_batch,
    "cold": measure_cold,
    "mcp-bridge": measure_bridge,
    "mcp-stdio": measure_stdio,
    "mcp-http": measure_http,
    "mcp-servers": measure_servers,
    "loop": measure_loop,
    "export": measure_export,
    "tokens": measure_tokens,
    "bindings": measure_bindings,
    "manifest-load": measure_load,
}
