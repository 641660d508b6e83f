"""What a tool answers is said once: by the class of its data, from which its output schema is derived."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pegboard

ROOT = Path(__file__).parents[1]
SOURCES = [*(ROOT / "core/src").rglob("*.py"), *ROOT.glob("plugins/*/src/**/*.py"), *(ROOT / "examples").rglob("*.py")]
WITHOUT_DATA = {"read_resource": "it answers what the server answers, as content; there is no data"}
"""Tools of our packages that promise nothing, and why."""


def written_by_hand(source: str) -> list[int]:
    """The lines where a function becomes a tool with an output schema beside it."""
    return [
        call.lineno
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call) and isinstance(call.func, (ast.Name, ast.Attribute))
        if (call.func.id if isinstance(call.func, ast.Name) else call.func.attr) == "tool"
        if any(keyword.arg == "output_schema" for keyword in call.keywords)
    ]


def test_a_schema_by_hand_would_be_seen() -> None:
    assert written_by_hand("@tool(title='x', output_schema=SCHEMA)\ndef f(): ...") == [1]
    assert written_by_hand("x = pegboard.tool(output_schema={})(f)") == [1]


@pytest.mark.parametrize("package", sorted({path.relative_to(ROOT).parts[1] for path in SOURCES}))
def test_no_tool_has_an_output_schema_by_hand(package: str) -> None:
    paths = [path for path in SOURCES if path.relative_to(ROOT).parts[1] == package]
    found = [f"{path.relative_to(ROOT)}:{line}" for path in paths for line in written_by_hand(path.read_text("utf-8"))]
    assert found == []


def test_every_tool_of_ours_says_what_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    board = pegboard.load_board({"plugins": {"mcp": {"servers": {"one": {"command": "none"}}}}})
    assert {"calculator", "roll_dice", "list_resources", "read_file"} <= board.tools.keys()
    assert {name for name, one in board.tools.items() if one.output_schema is None} == WITHOUT_DATA.keys()
