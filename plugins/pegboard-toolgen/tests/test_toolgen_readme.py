"""What the README says of files can be read; that its session prints what it shows is held by tests/test_docs.py."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pegboard_toolgen import hints, overrides
from pegboard_toolgen.folder import Folder

README = Path(__file__).parent.parent / "README.md"


@pytest.fixture
def blocks() -> dict[str, str]:
    return dict(re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))


def test_the_hints_are_hints(blocks: dict[str, str]) -> None:
    said = hints.read_hints(blocks["toml"])
    assert said.safe == ("program:dogs run-script",)
    assert said.tools["dogs_show"].examples[0]["input"] == {"name": "Rex"}


def test_the_overrides_are_overrides(blocks: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "overrides").mkdir()
    (tmp_path / "overrides" / "a.json").write_text(blocks["json"])
    dogs = [
        {"id": f"program:dogs {name}", "name": f"dogs_{name}", "examples": [{"input": {}}]}
        for name in ("show", "purge", "list")
    ]
    changed = overrides.apply_overrides({"tools": dogs}, overrides.read_overrides(Folder(tmp_path)))
    assert [tool["name"] for tool in changed["tools"]] == ["dogs_show", "dogs_list"]
    assert len(json.loads(json.dumps(changed))["tools"][1]["examples"]) == 2
