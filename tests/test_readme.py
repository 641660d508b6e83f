"""The head of the README: the picture is what the program prints, and each cell of the comparison can be looked up."""

from __future__ import annotations

import importlib.util
import re
import types
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
MEASURED = {
    "one validated call, CPU us": (
        "One validated call",
        "add",
        [
            "pegboard: session.call, async",
            "fastmcp: FastMCP.call_tool",
            "llm: execute_tool_call (no validation)",
            "pydantic-ai: ToolManager.handle_call",
        ],
    ),
    "list tools, cold, CPU beside `python -c pass`": (
        "Cold start",
        "against `python -c pass`",
        [
            "pegboard: pegboard list",
            "fastmcp: fastmcp list",
            "llm: llm tools list",
            "pydantic-ai: import, list one tool",
        ],
    ),
}
"""What the figures of the comparison are: a section of the benchmarks, a column there, and its rows."""


def rows(text: str) -> list[list[str]]:
    """The cells of every table's rows, without the lines that only draw it."""
    found = [re.split(r"(?<!\\)\|", line.strip())[1:-1] for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in found if not set("".join(row)) <= set("-: ")]


def comparison() -> dict[str, list[str]]:
    """The comparison's rows, by their first cells."""
    block = README[README.index("| | Pegboard |") :].partition("\n\n")[0]
    return {row[0]: row[1:] for row in rows(block)[1:]}


@pytest.mark.parametrize("row", comparison())
def test_every_cell_of_the_comparison_has_a_command_or_a_link(row: str) -> None:
    cells = comparison()[row]
    assert len(cells) == 4
    assert [cell for cell in cells if not re.search(r"`[^`]+`|\]\([^)]+\)", cell)] == []


@pytest.mark.parametrize("row", MEASURED)
def test_the_figures_of_the_comparison_are_those_of_the_benchmarks(row: str) -> None:
    heading, column, names = MEASURED[row]
    section = BENCHMARKS[BENCHMARKS.index(f"\n## {heading}\n") + 1 :].partition("\n## ")[0]
    head, *body = rows(section)
    measured = {one[0]: one[head.index(column)] for one in body}
    anchor = heading.lower().replace(" ", "-")
    shown = [f"[{measured[name]}](docs/reference/benchmarks.md#{anchor})" for name in names]
    assert [cell[: cell.index(")") + 1] for cell in comparison()[row]] == shown


def test_every_command_of_the_comparison_is_one_of_the_program() -> None:
    program = (ROOT / "docs" / "reference" / "program.md").read_text(encoding="utf-8")
    said = re.findall(
        r"`pegboard (?:--[\w-]+ [A-Z]+ )?(\w+(?: init)?)", "".join(row[0] for row in comparison().values())
    )
    assert said
    assert [one for one in said if f"### `pegboard {one}`" not in program] == []


def test_the_platforms_and_their_marks_are_those_of_the_workflow() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8"))["jobs"].values()
    names = {"ubuntu-latest": "Linux", "macos-latest": "macOS", "windows-latest": "Windows"}
    marked = {
        (names[system], job.get("continue-on-error", False))
        for job in jobs
        for system in job.get("strategy", {}).get("matrix", {}).get("system", [job["runs-on"]])
    }
    table = README[README.index("## Platforms") :].partition("\n## ")[0]
    assert {(row[0].partition(",")[0], "not yet seen green" in row[1]) for row in rows(table)[1:]} == marked


@pytest.fixture(scope="module")
def picture() -> types.ModuleType:
    """The script that draws it."""
    spec = importlib.util.spec_from_file_location("picture", ROOT / "docs" / "picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_what_is_printed(picture: types.ModuleType) -> None:
    drawn = picture.PICTURE.read_text(encoding="utf-8")
    assert picture.draw(picture.run_session()) == drawn, "draw it anew: python docs/picture.py"


def test_the_picture_is_well_formed_asks_nobody_and_is_light_and_dark(picture: types.ModuleType) -> None:
    drawn = picture.draw([("echo '<&>'", ["<&>", "error: " + "x" * 300])])
    root = ET.fromstring(drawn)
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == ["$ echo '<&>'", "<&>"]
    assert max(map(len, texts)) == picture.COLUMNS
    assert unescape("".join(texts[2:])) == "error: " + "x" * 300
    assert "prefers-color-scheme: dark" in drawn
    assert re.findall(r"(?:href|src|url)\b", drawn) == []
