"""The package's interface: what it exports, and how little it imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pegboard_mcp

LATER = ["mcp", "mcp_types", "trio", "anyio", "httpx2", "starlette", "hypercorn", "pydantic", "keyring", "tomlkit"]
LOAD = """
import sys
import pegboard_mcp, pegboard_mcp.plugin, pegboard
servers = {"a": {"command": "x"}, "b": {"url": "http://127.0.0.1:1/"}}
pegboard.load_board({"plugins": {"mcp": {"servers": servers}}}, ["mcp"])
print(*sorted(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_every_export_is_there_and_says_since_when() -> None:
    for name in pegboard_mcp.__all__:
        assert "versionadded" in (getattr(pegboard_mcp, name).__doc__ or ""), name
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        pegboard_mcp.nope  # noqa: B018 - what is asked for is what fails


def test_a_board_with_configured_servers_imports_nothing_of_the_sdk_and_no_loop() -> None:
    done = subprocess.run([sys.executable, "-c", LOAD, *LATER], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
