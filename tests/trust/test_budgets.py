"""A budget of a server holds for all that is asked of it, and other servers go on; each interface counts, as
`attacks/floods/calls_over_a_budget.py` shows.

Attack: what may not be called often is asked for otherwise: as a prompt, a resource or a completion. Source: OWASP
API4:2023, unrestricted resource consumption, by way of an endpoint that nobody counted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

from pegboard import ToolError, open_host
from pegboard.testing import assert_ok
from pegboard_mcp.collected import Capabilities

SERVER = Path(__file__).parent / "kit" / "telling.py"


def config(**budget: Any) -> dict[str, Any]:
    servers = {
        name: {"command": sys.executable, "args": [str(SERVER), name], "start": "eager"} for name in ("alpha", "beta")
    }
    servers["alpha"].update(budget)
    return {"plugins": {"mcp": {"servers": servers, "lock": "off", "remember": False}}}


async def test_a_dry_run_takes_nothing(interfaces: Any) -> None:
    async with open_host(config(calls_per_minute=2), plugins=["mcp"]) as host:
        await host.wait_for_sources(timeout_s=60)
        for _ in range(4):
            assert "calls_per_minute" not in await interfaces["dry run"](host, [("alpha_get", {})])


WAYS: dict[str, Any] = {
    "a tool": lambda session, capabilities: session.call("alpha_get"),
    "a resource": lambda session, capabilities: capabilities.resources["alpha://doc"].read(session, "alpha://doc"),
    "a template": lambda session, capabilities: capabilities.find_reader("alpha://x/1")(session, "alpha://x/1"),
    "read_resource": lambda session, capabilities: session.call("read_resource", {"uri": "alpha://doc"}),
    "an address that nobody lists": lambda session, capabilities: session.call(
        "read_resource", {"uri": "other://doc", "server": "alpha"}
    ),
    "a prompt": lambda session, capabilities: capabilities.prompts["alpha_ask"].get(session, {"about": "it"}),
    "a completion": lambda session, capabilities: capabilities.prompts["alpha_ask"].complete(session, "about", "i", {}),
}


@pytest.mark.parametrize("way", WAYS)
async def test_whatever_is_asked_of_a_server_counts(way: str) -> None:
    async with open_host(config(calls_per_minute=1), plugins=["mcp"]) as host:
        await host.wait_for_sources(timeout_s=60)
        session = host.session()
        capabilities = session.resource(Capabilities)
        assert_ok(await session.call("alpha_get"))
        try:
            refused = (await WAYS[way](session, capabilities)).error
        except ToolError as error:
            refused = error
        assert refused is not None
        assert (refused.code, refused.details["reason"], refused.details["executed"]) == (
            "RATE_LIMITED", "budget", False,
        )  # fmt: skip
        assert "calls_per_minute" in refused.message
        assert_ok(await session.call("beta_get"))
