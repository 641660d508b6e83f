"""The sections of MCP: the board as a client, as a server on stdio and over HTTP, and with many servers configured."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing
from statistics import median
from typing import TYPE_CHECKING, Any

from driver import venvs
from driver.catalog import BRIDGES, HERE, HTTP_SERVERS, PEGBOARD_MCP, STDIO_SERVERS
from driver.processes import WorkerError, WorkerProcess, measure_command
from driver.wire import HttpLoad, ServerProcess, StdioLoad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from driver.catalog import Server
    from driver.run import Row, Run

BRIDGE_CALLS = 200
STDIO_CALLS = 200
HTTP_CALLS = 1_000
CONNECTIONS = 32
SERVERS = 50
"""How many are configured in the last section."""
TOOLS = 10
"""Of each of them."""
START_S = 1.0
"""How long each of them takes to start."""


def measure_bridge(run: Run) -> list[Row]:
    """One call of a tool of an MCP server on stdio, in microseconds of CPU of the client."""
    with ExitStack() as stack:
        plan: list[tuple[Row, Callable[[], float]]] = []
        for bridge in BRIDGES:
            if not run.has(bridge.contestant, bridge.venv):
                continue
            log = run.folder / f"{bridge.module}.log"
            worker = WorkerProcess(
                venvs.program(bridge.venv, "python"), HERE / "worker.py", bridge.module, log, run.folder
            )
            stack.enter_context(closing(worker))
            try:
                ((version, tool),) = worker.ask("describe")["calls"]
            except WorkerError as problem:
                run.skip("mcp-bridge", bridge.contestant, bridge.path, problem)
                continue
            row = {"contestant": bridge.contestant, "path": bridge.path, "version": version}
            plan.append((row, _asking(worker, version, tool)))
        return _rounds(run, "mcp-bridge", plan)


def _asking(worker: WorkerProcess, path: str, tool: str) -> Callable[[], float]:
    return lambda: float(worker.ask("call", path=path, tool=tool, count=BRIDGE_CALLS)["cpu_us"])


def measure_stdio(run: Run) -> list[Row]:
    """One round trip of a server on stdio, in microseconds of CPU of the server."""
    return _measure_servers(run, "mcp-stdio", STDIO_SERVERS, lambda process, way: StdioLoad(process, way), STDIO_CALLS)


def measure_http(run: Run) -> list[Row]:
    """One request to a server over HTTP, in microseconds of CPU of the server."""
    return _measure_servers(
        run, "mcp-http", HTTP_SERVERS, lambda process, way: HttpLoad(process, way, CONNECTIONS), HTTP_CALLS
    )


def _measure_servers(
    run: Run,
    section: str,
    servers: Sequence[Server],
    load: Callable[[ServerProcess, str], StdioLoad | HttpLoad],
    calls: int,
) -> list[Row]:
    with ExitStack() as stack:
        folder = stack.enter_context(run.home())
        plan: list[tuple[Row, Callable[[], float]]] = []
        for server in servers:
            if not run.has(server.contestant, server.venv):
                continue
            for way in server.ways:
                log = run.folder / f"{section}-{server.contestant}.log"
                process = ServerProcess(server, log, folder)
                stack.enter_context(closing(process))
                try:
                    loaded = load(process, way)
                except (WorkerError, OSError) as problem:
                    run.skip(section, server.contestant, f"{server.name} {way}", problem)
                    continue
                row = {"contestant": server.contestant, "path": server.name, "way": way}
                plan.append((row, _loading(loaded, calls)))
        return _rounds(run, section, plan)


def _loading(load: StdioLoad | HttpLoad, calls: int) -> Callable[[], float]:
    return lambda: load.run(calls)


def _rounds(run: Run, section: str, plan: Sequence[tuple[Row, Callable[[], float]]]) -> list[Row]:
    """All in turn, in a round that warms up and is not kept, and then in those that are."""
    for number in range(run.rounds + 1):
        run.say(f"  {section}, round {number} of {run.rounds}")
        for row, measure in plan:
            if "failed" in row:
                continue
            try:
                cost = measure()
            except (WorkerError, OSError) as problem:
                row["failed"] = True
                run.skip(section, row["contestant"], f"{row['path']} {row.get('way', '')}".strip(), problem)
                continue
            if number:
                row.setdefault("rounds", []).append(cost)
    return [{**row, "cpu_us": median(row["rounds"])} for row, _ in plan if "failed" not in row]


_LISTED = "`pegboard list`"
_STARTED = "start"


def measure_servers(run: Run) -> list[Row]:
    """Many servers: listing what a cache knows of them, and starting them all."""
    if not run.has("pegboard", PEGBOARD_MCP):
        return []
    python, program = venvs.program(PEGBOARD_MCP, "python"), venvs.program(PEGBOARD_MCP, "pegboard")
    with run.home() as folder:
        files = {count: _configuration(folder, count) for count in (0, 1, SERVERS)}
        script = HERE / "mcp_fleet.py"

        def started(count: int) -> dict[str, float]:
            out = folder / "answer.json"
            with out.open("wb") as answer:
                measure_command([python, script, files[count]], folder, answer)
            told: dict[str, float] = json.loads(out.read_text())
            if told["tools"] != count * TOOLS:
                raise WorkerError(f"{told['tools']} tools of {count} servers were listed")
            return told

        rows: dict[tuple[str, int], Row] = {}

        def note(what: str, count: int, **values: float) -> None:
            row = rows.setdefault((what, count), {"what": what, "servers": count})
            for key, value in values.items():
                row.setdefault(key, []).append(value)

        def listed(count: int, own: int = 0) -> dict[str, float]:
            command: list[str | Path] = [program, "--config", files[count], "list"]
            costs = [_wall_and_cpu(command, folder, {"BENCH_TOOLS": str(own)}) for _ in range(3)]
            return {"rounds": median(wall for wall, _ in costs), "cpu_rounds": median(cpu for _, cpu in costs)}

        started(SERVERS)  # fills the cache
        for number in range(run.rounds):
            run.say(f"  mcp-servers, round {number + 1} of {run.rounds}")
            note(f"{_LISTED}, no servers", 0, **listed(0))
            note(f"{_LISTED}, no servers, {SERVERS * TOOLS} tools of a plugin", 0, **listed(0, SERVERS * TOOLS))
            note(f"{_LISTED}, {SERVERS} servers of {TOOLS} tools", SERVERS, **listed(SERVERS))
            for count in (1, SERVERS):
                told = started(count)
                note(_STARTED, count, rounds=told["ready_ms"], cpu_rounds=told["cpu_ms"])
        return [{**row, "wall_ms": median(row["rounds"]), "cpu_ms": median(row["cpu_rounds"])} for row in rows.values()]


def _wall_and_cpu(command: Sequence[str | Path], folder: Path, more: dict[str, str]) -> tuple[float, float]:
    began = time.perf_counter()
    cpu_ms = measure_command(command, folder, more=more)
    return (time.perf_counter() - began) * 1e3, cpu_ms


def _configuration(folder: Path, count: int) -> Path:
    path = folder / f"{count}.toml"
    python = venvs.program(PEGBOARD_MCP, "python")
    server: dict[str, Any] = {"command": str(python), "start": "eager", "request_timeout": 30}
    lines: list[str] = []
    for index in range(count):
        given = {**server, "args": ["-ISE", str(HERE / "mcp_slow_server.py"), str(index), str(TOOLS), str(START_S)]}
        lines += [f"[plugins.mcp.servers.s{index}]", *(f"{key} = {json.dumps(value)}" for key, value in given.items())]
    path.write_text("\n".join(lines) + "\n")
    return path
