"""`read_resource` serves every server: what one of them said goes to another in an address no more than in an argument.

Attack: a server has a template of resources, `evil://x/{what}`, and has a model put into it what another server
answered. Source: the "cross-server" attacks of Invariant Labs (2025), through a door that is not one of its tools.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("pegboard_mcp.plugin", reason="pegboard_mcp is not installed")

pytestmark = pytest.mark.measured
SERVER = Path(__file__).parent / "kit" / "telling.py"


def read(uri: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "read_resource", {"uri": uri, **more}


GET = ("beta_get", dict[str, Any]())
CALLS: dict[str, tuple[list[tuple[str, dict[str, Any]]], bool]] = {
    "what a tool of another said": ([GET, read("alpha://x/door-445566-beta")], True),
    "what a resource of another said": ([read("beta://doc"), read("alpha://x/vault-778899-beta")], True),
    "to a server that is named": ([read("beta://doc"), read("z://vault-778899-beta", server="alpha")], True),
    "in another form": ([GET, read("alpha://x/ZG9vci00NDU1NjYtYmV0YQ")], True),
    "what its own tool said": ([GET, read("beta://x/door-445566-beta")], False),
    "what its own resource said": ([read("beta://doc"), read("beta://x/vault-778899-beta")], False),
    "what its own resource said, to its tool": ([read("beta://doc"), ("beta_get", {"vault": "778899-beta"})], False),
    "what is listed": ([("list_resources", {}), read("alpha://doc")], False),
    "what is listed, after another": ([("list_resources", {}), read("beta://doc"), read("alpha://doc")], False),
}
"""Calls in a row, and whether the last one is asked about."""


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("case", CALLS)
async def test_words_of_one_server_are_put_into_no_address_of_another(
    host_with: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, trusted: bool
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    servers = {name: {"command": sys.executable, "args": ["-S", str(SERVER), name]} for name in ("alpha", "beta")}
    if trusted:
        servers["beta"]["trusted"] = True
    host = await host_with(mcp, config={"plugins": {"mcp": {"servers": servers}}})
    await host.wait_for_sources()
    session, (calls, is_asked) = host.session(), CALLS[case]
    *before, last = [await session.call(name, arguments) for name, arguments in calls]
    assert all(one.ok for one in before)
    if is_asked and not trusted:
        assert last.error.details["reason"] == "flow"
        assert last.error.details["sources"] == ["`beta_get` of beta" if calls[0] == GET else "beta"]
    else:
        assert last.ok


async def test_a_server_that_is_not_there_is_told_of_before_words_of_others(
    host_with: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    servers = {"beta": {"command": sys.executable, "args": ["-S", str(SERVER), "beta"]}}
    host = await host_with(mcp, config={"plugins": {"mcp": {"servers": servers}}})
    await host.wait_for_sources()
    session = host.session()
    assert (await session.call("list_resources")).ok
    answer = await session.call("read_resource", {"uri": "beta://doc", "server": "nobody"})
    assert answer.error.code == "NOT_FOUND"
