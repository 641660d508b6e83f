"""Each line of the threat model that claims something names a test, or an attack of the suite, and that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"


def lines_that_hold() -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    held = text[text.index("## What holds") : text.index("## What does not hold")]
    rows = [line for line in held.splitlines() if line.startswith("| ")]
    return [row for row in rows if not re.match(r"\| attack \|", row)]


def test_every_line_that_holds_names_a_test_that_is_there() -> None:
    lines = lines_that_hold()
    missing = []
    for line in lines:
        attack = re.search(r"`(tests/trust/attacks/\w+/\w+\.py)` \|$", line)
        if attack and (ROOT / attack[1]).exists():
            continue
        named = re.search(r"`([\w/.-]+\.py)::(test_\w+)` \|$", line)
        path = ROOT / named[1] if named else PAGE
        tests = {
            node.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8") if named and path.exists() else ""))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        if named is None or named[2] not in tests:
            missing.append(line)
    assert len(lines) > 20
    assert missing == []
