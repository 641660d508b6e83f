"""Contract tests of the tools in the folder above; plain pytest runs them.

Nothing is started or sent: every schema compiles, every example fits, errors have the codes that the manifest says, and
requests and answers are still what `golden/` holds. After a wanted change, `pegboard toolgen build` writes it anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pegboard_manifest.testing import contract_cases

FOLDER = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("case", contract_cases(FOLDER), ids=str)
def test_tool_keeps_its_contract(case: Any) -> None:
    case.check()
