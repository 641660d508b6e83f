"""Contract tests of the tools in the folder above; plain pytest runs them.

Nothing is started or sent: every schema compiles, every example fits, errors have the codes that the manifest says, and
requests and responses are still what `golden/` holds. After a wanted change, `llm-toolgen build` writes it anew.
"""

from __future__ import annotations

from pathlib import Path

from pegboard_manifest.testing import contract_tests

HERE = Path(__file__).resolve().parent

test_contract = contract_tests(HERE.parent / "tool.manifest.json", HERE / "golden")
