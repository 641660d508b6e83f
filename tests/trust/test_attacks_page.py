"""The page of attacks has every file in `attacks`, and says of it what the file says."""

from __future__ import annotations

import importlib.util
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def drawing() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("attacks", ROOT / "docs" / "attacks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_case_is_on_the_page_as_its_file_says_it(drawing: types.ModuleType) -> None:
    assert drawing.draw() == drawing.PAGE.read_text(encoding="utf-8"), "write it anew: python docs/attacks.py"


def test_every_folder_is_on_the_page(drawing: types.ModuleType) -> None:
    assert {path.parent.name for path in drawing.FOLDER.glob("*/*.py")} == set(drawing.FOLDERS)
