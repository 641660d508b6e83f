"""A board that is in its own list of servers does not start boards without an end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _process, open_link
from pegboard_mcp.definitions import ServerDefinition

ITSELF = f"""
[plugins.mcp.servers.itself]
command = {sys.executable!r}
args = ["-m", "pegboard", "--config", "itself.toml", "--plugin", "mcp", "serve"]
"""


def test_a_board_in_its_own_list_of_servers_is_offered_with_an_end(tmp_path: Path) -> None:
    (tmp_path / "itself.toml").write_text(ITSELF)
    environment = {"HOME": str(tmp_path), "PATH": os.defpath}
    done = subprocess.run(
        [sys.executable, "-m", "pegboard", "--config", "itself.toml", "--plugin", "mcp", "list", "--wait", "50"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "itself-read_resource" in done.stdout


async def test_who_is_too_deep_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_process.DEPTH, str(_process.MAX_DEPTH))
    definition = ServerDefinition(name="one", transport="stdio", argv=(sys.executable,))
    with pytest.raises(LinkError, match="its own list of servers") as caught:
        async with open_link(definition, lambda: None):
            raise AssertionError("it was started")
    assert caught.value.kind == "endless"


@pytest.mark.parametrize(("said", "depth"), [("", 0), ("2", 2), ("-1", 0), ("x", 0), ("9" * 50, 0), ("²", 0)])
def test_the_count_is_read_whatever_stands_there(said: str, depth: int) -> None:
    assert _process.depth_of({_process.DEPTH: said}) == depth
