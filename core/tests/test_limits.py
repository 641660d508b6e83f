"""How deep JSON may nest is said in one table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pegboard import limits

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("core/src", "plugins") for path in (ROOT / folder).rglob("*.py") if "/src/" in f"{path}"]


def test_what_holds_another_may_nest_deeper() -> None:
    assert limits.JSON_LEVELS < limits.MESSAGE_LEVELS < limits.MANIFEST_LEVELS
    assert limits.TURN_LEVELS < limits.CONVERSATION_LEVELS
    assert limits.TURN_LEVELS < limits.ANSWER_LEVELS


@pytest.mark.parametrize("package", sorted({path.relative_to(ROOT).parts[1] for path in SOURCES}))
def test_whoever_reads_json_bounds_it_by_the_table(package: str) -> None:
    own = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[1] == package
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "max_depth" and ast.unparse(keyword.value) not in {*limits.__all__, "max_depth"}
    ]
    assert own == []
