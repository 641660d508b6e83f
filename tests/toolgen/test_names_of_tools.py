"""The names that discovery leaves to the tools of our own packages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pegboard_toolgen.names import OWN_TOOLS


def test_they_are_those_of_all_packages(
    base_env: dict[str, str], run_program: Callable[..., Any], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pegboard", "list", "--json"]
    listed = json.loads(run_program(command, cwd=tmp_path, env=base_env).stdout)
    ours = {one["name"] for one in listed if one["origin"]["distribution"].startswith("pegboard")}
    assert ours == OWN_TOOLS
