"""`import pegboard` and a board that only lists stay light: what is heavy comes in where it is first used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "trio",
    "fastjsonschema",
    "rich",
    "yaml",
    "cattrs",
    "trio_parallel",
    "jsonschema_rs",
    "httpx2",
    "asyncio",
    "click",
    "opentelemetry",
}


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after the code, without those it began with."""
    program = f"""import sys
before = set(sys.modules)
{code}
import json
print(json.dumps(sorted(set(sys.modules) - before)))"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


PLUGINS = [
    "pegboard.guards.access",
    "pegboard.guards.audit",
    "pegboard.guards.concurrency",
    "pegboard.guards.confirmation",
    "pegboard.guards.rate",
    "pegboard.guards.read_only",
    "pegboard.dialects.text",
    "pegboard.dialects.json",
    "pegboard.validation",
    "pegboard.hookspecs",
    "pegboard.contract",
    "pegboard.trace",
]


@pytest.mark.parametrize("code", ["import pegboard", *(f"import {name}" for name in PLUGINS)])
def test_an_import_brings_in_nothing_heavy(code: str) -> None:
    found = modules_after(code)
    assert not HEAVY & {name.partition(".")[0] for name in found}


def test_a_tool_is_made_and_a_board_lists_without_the_loop() -> None:
    code = """
import pegboard
@pegboard.tool
def add(a: float, b: list[int] | None = None) -> float:
    return a
board = pegboard.load_board({}, [])
board.add(add)
list(board.tools), board.categories(), board.search("add")
"""
    found = modules_after(code)
    heavy = {"trio", "fastjsonschema", "rich", "trio_parallel", "asyncio", "pathlib", "decimal", "base64", "signal"}
    assert not heavy & {name.partition(".")[0] for name in found}


def test_the_counts_of_modules_stay_where_they_are() -> None:
    """Ceilings a little above what was counted, so that a new import is a decision."""
    assert len(modules_after("import pegboard")) <= 200
    assert len({name for name in modules_after("import pegboard") if name.startswith("pegboard")}) <= 31
    listed = modules_after("import pegboard; pegboard.load_board({}, []).tools")
    assert len({name for name in listed if name.startswith("pegboard")}) <= 66
