"""What a command of the program imports and makes before it answers, with every package of this repository installed.

A short command is nothing but its start, so what it does without need is what a person waits for. Times differ from
machine to machine; these are counts, with ceilings a little above what was counted, so that more is a decision.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, re, sys
before = set(sys.modules)
patterns = []
compile_pattern = re._compiler.compile
re._compiler.compile = lambda pattern, flags=0: patterns.append(pattern) or compile_pattern(pattern, flags)
from pegboard.cli import main
try:
    main(sys.argv[2:])
except SystemExit as end:
    assert not end.code, end.code
classes = [
    one for module in list(sys.modules.values()) for one in list(vars(module).values())
    if isinstance(one, type) and one.__module__ == module.__name__ and "__attrs_attrs__" in vars(one)
]
methods = [vars(one).get(name) for one in classes for name in ("__repr__", "__eq__")]
written = [one for one in methods if "by attrs" in (getattr(one, "__doc__", None) or "")]
with open(sys.argv[1], "w") as file:
    json.dump([sorted(set(sys.modules) - before), len(classes), len(written), len(patterns)], file)
"""


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`count(*words)`: the modules that a command of the program imports, and how many classes of attrs it makes, how
    many of their methods it has written, and how many expressions it compiles; without any configuration."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))

    def one(*words: str) -> tuple[set[str], int, int, int]:
        told = tmp_path / "counts.json"
        command = [sys.executable, "-c", PROGRAM, str(told), *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
        modules, *counts = json.loads(told.read_text())
        return (set(modules), *counts)

    return one


def test_list_imports_and_makes_no_more_than_it_shows(count: Any) -> None:
    modules, classes, written, patterns = count("list")
    unused = {
        "trio", "asyncio", "fastjsonschema", "jsonschema_rs", "cattrs", "mcp", "httpx2", "sqlite3",
        "importlib.metadata", "pathlib", "decimal", "email", "ssl", "signal", "base64", "difflib", "tomllib", "yaml",
        "pegboard.schema.structure", "pegboard.schema.explain", "pegboard_chat.settings", "pegboard_cohere.settings",
        "pegboard_gemini.settings", "pegboard_http.settings", "pegboard_mcp.definitions", "pegboard_openai.settings",
        "pegboard_serving", "dataclasses", "pegboard_audit._writer", "pegboard_otel.exporting", "opentelemetry",
        "pegboard_nats.client", "pegboard_nats.source", "pegboard_nats.limit_store", "cryptography",
    }  # fmt: skip
    assert not unused & modules
    assert len(modules) <= 253
    assert classes <= 68
    assert written <= 40
    assert patterns <= 36  # the last: what splits the names of tools into words, which may deny what the tool says


def test_a_call_imports_nothing_of_other_tools_interfaces_and_models(count: Any) -> None:
    modules, classes, _, patterns = count("call", "calculator", "2+2")
    unused = {
        "asyncio", "fastjsonschema", "jsonschema_rs", "cattrs", "mcp", "httpx2", "email", "importlib.metadata",
        "yaml",
        "pegboard_chat.settings", "pegboard_http.settings", "pegboard_openai.settings", "pegboard_mcp.definitions",
        "pegboard_mcp.capabilities", "pegboard_memory._store", "pegboard_tasks._threads", "opentelemetry",
    }  # fmt: skip
    assert not unused & modules
    assert len(modules) <= 408
    assert classes <= 130
    assert patterns <= 43
