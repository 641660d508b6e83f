"""The clock on the wall is set back and forward, by people and by the network: who reads it says what comes of that.

What has to last so long and no longer counts by a clock that nobody sets (`time.monotonic`, `trio.current_time`). The
wall is for what people read, for what several machines have to agree on, and for what outlives the process.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
READS = {
    ("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "utcnow"), ("date", "today"),
    ("datetime", "today"),
}  # fmt: skip

SHOWN = "it is shown, and durations beside it are measured by a clock that nobody sets"
STEPS: dict[str, str] = {
    "core/_session": SHOWN,
    "core/limit_stores/sqlite_store": "only between two starts of the machine: a step then is one period at most",
    "pegboard-audit/_command": "--since counts from now; --follow shows what ends from then on, whatever it says",
    "pegboard-audit/_file": "calls older than `days` go: forward by more than that removes all; back keeps longer",
    "pegboard-httpclient/retries": "a wait that is said as a date: not below zero, and never past the deadline",
    "pegboard-inspect/app": "calls of other programs from here on; set back, all of them count as new",
    "pegboard-inspect/elsewhere": "see pegboard-inspect/app",
    "pegboard-files/_places": "how long a look at links is good: what lies ahead of the clock is looked at again",
    "pegboard-mcp/client/budgets": "they outlast a start. Forward by a period: all comes free; back: it counts longer,"
    " and what lies more than a period ahead not at all",
    "pegboard-mcp/client/journal": SHOWN,
    "pegboard-mcp/client/oauth": "forward: tokens are renewed early; back: one is refused, and logged in again",
    "pegboard-mcp/lock/age": "a lock is signed later than any that counted; a time to come shuts out none",
    "pegboard-mcp/lock/memory": "since when something is known, for people: of a moment ahead its date is said",
    "pegboard-mcp/server/auth": "when a token expires: forward, it is asked about; back, it is known for a minute more",
    "pegboard-mcp/server/handles": "instances agree on it. Forward by more than a question is open: it is asked again;"
    " back by a minute: the instance that was before this one is taken for one beside it",
    "pegboard-mcp/server/task_stores": "in a file of several processes; forward by more than `task_ttl_s` it is gone",
    "pegboard-mcp/server/tasks": "it is told; another instance may take a task for lost, for 10 s after a step",
    "pegboard-memory/_store": "it is shown; the order is that of writing",
    "pegboard-nats/tasks": "machines agree on it; forward by more than `task_ttl_s` what came is gone",
    "pegboard-nats/worker": SHOWN,
    "pegboard-otel/lazy": "of a record, as the SDK has it of its spans: its times are those of the wall",
    "pegboard-tasks/_moments": "ids go on from the last of the process where the clock is set back",
    "pegboard-time/tools": "it is what is asked for",
    "pegboard-toolgen/_recorder": "of the program that is recorded, which is shown another day",
    "pegboard-toolgen/record": "of the program that is recorded",
}
"""By module: what a step of an hour or a day does there."""


def reads_wall_clock(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if (owner, node.attr) in READS:
                return True
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            assert not {one.name for one in node.names} & {"time", "time_ns"}, "import the module, to be found here"
    return False


def test_whoever_reads_the_clock_on_the_wall_says_what_a_step_of_it_does() -> None:
    found = set()
    for package in [ROOT / "core", *sorted((ROOT / "plugins").iterdir())]:
        for path in sorted(package.glob("src/*/**/*.py")):
            if reads_wall_clock(path.read_text("utf-8")):
                within = "/".join(path.relative_to(package / "src").with_suffix("").parts[1:])
                found.add(f"{package.name}/{within}")
    assert found == STEPS.keys()
