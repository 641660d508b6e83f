"""What tools cost a model, and which fewer of them are proposed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pegboard_toolgen import costs
from pegboard_toolgen.program import toolgen

TOOLS = st.dictionaries(
    st.text("abc", min_size=1, max_size=4), st.tuples(st.integers(1, 50), st.booleans()), min_size=1, max_size=12
)


def of(costing: dict[str, tuple[int, bool]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Tools with these costs, and whether they only read; and what each costs."""
    binding = {"kind": "python"}
    tools = [
        {"name": name, "category": "read" if reads else "write", "risk": "low", "binding": binding}
        for name, (_, reads) in costing.items()
    ]
    return tools, {name: cost for name, (cost, _) in costing.items()}


@given(costing=TOOLS, most=st.integers(0, 200))
def test_a_proposal_fits_and_no_other_tool_would_fit_beside_it(costing: dict[str, tuple[int, bool]], most: int) -> None:
    """Its tools cost at most what they may; whatever was not taken would make it more."""
    tools, tokens = of(costing)
    taken = costs.proposal(tools, tokens, most)
    total = sum(tokens[name] for name in taken)
    assert total <= most
    assert all(total + tokens[name] > most for name in set(tokens) - set(taken))


def test_what_reads_is_proposed_before_what_writes_and_cheap_before_dear() -> None:
    tools, tokens = of({"w": (1, False), "dear": (9, True), "cheap": (2, True), "fair": (4, True)})
    assert costs.proposal(tools, tokens, 7) == ["cheap", "fair", "w"]
    assert costs.proposal(tools, tokens, 6) == ["cheap", "fair"]


def test_init_says_what_the_tools_cost_and_its_proposal_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["init", "--library", "colorsys", "--no-record", "--out", "tools"]
    said = CliRunner().invoke(toolgen, words)
    assert "tokens for a model that is offered all of them" in said.output
    assert "include = " not in said.output
    monkeypatch.setattr(costs, "MOST_TOKENS", 500)
    monkeypatch.setattr(costs.proposal, "__defaults__", (500,))
    said = CliRunner().invoke(toolgen, words)
    line = next(line for line in said.output.splitlines() if line.startswith("  include = "))
    names = tomllib.loads(line)["include"]
    assert 0 < len(names) < 6
    (tmp_path / "tools" / "toolgen.toml").write_text(f"[select]\n{line}\n", encoding="utf-8")
    CliRunner().invoke(toolgen, words)
    made = json.loads((tmp_path / "tools" / "tool.manifest.json").read_text(encoding="utf-8"))
    assert sorted(one["name"] for one in made["tools"]) == names
