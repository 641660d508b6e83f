"""Which texts of a server's table are its keys: secret by their names, and not only as every variable is."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import load_board
from pegboard_mcp import plugin

TABLES = [
    ({"command": "x", "env": {"API_KEY": "k3y-of-w1", "LANG": "en_US.UTF-8"}}, {"k3y-of-w1"}),
    ({"command": "x", "args": ["--token", "t0ken-of-w1", "--mode", "pr0duction"]}, {"t0ken-of-w1"}),
    (
        {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer b3arer-w1", "X-Team": "team-0ne"}},
        {"Bearer b3arer-w1", "b3arer-w1"},
    ),
    ({"url": "https://ada:pa55-w1rd@example.org/mcp"}, {"ada", "pa55-w1rd"}),
]


@pytest.mark.parametrize(("table", "keys"), TABLES, ids=["env", "args", "headers", "address"])
def test_the_keys_of_a_server_are_known_and_belong_to_it(table: dict[str, Any], keys: set[str]) -> None:
    board = load_board({"plugins": {"mcp": {"servers": {"w1": table}}}}, plugins=[plugin])
    (source,) = (one for _, one in board._sources.provided)
    assert {one for one in keys if len(one) >= 6} <= source.secrets <= set(source.definition.secrets)
    assert not source.secrets & {"en_US.UTF-8", "pr0duction", "team-0ne"}
    assert board._sources.secrets_of("w1") >= source.secrets
