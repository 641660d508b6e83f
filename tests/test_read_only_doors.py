"""What read-only mode refuses is offered by no door, and a call of it says FORBIDDEN, read_only, at every one."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import tool

for needed in ("pegboard_mcp", "pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard.host import Host

    Door = Callable[[Host, str], Awaitable[tuple[set[str], dict[str, Any]]]]
    """A host and the name of a tool, to what is offered and the answer of a call of that tool."""

NAMES = ("reads", "writes", "say so!", "risks")


def _nothing() -> str:
    return "done"


TOOLS = [
    tool(name="reads", run="inplace", read_only=True)(_nothing),
    tool(name="writes", run="inplace")(_nothing),
    tool(name="say so!", run="inplace")(_nothing),  # called otherwise by MCP and by models
    tool(name="risks", run="inplace", read_only=True, risk="high")(_nothing),
]


def _of_profile(host: Host) -> str | None:
    return "reader" if "reader" in host.board.config.profiles else None


async def through_python(host: Host, name: str) -> tuple[set[str], dict[str, Any]]:
    session = host.session(profile=_of_profile(host))
    return set(session.tools), (await session.call(name)).to_json()


async def through_mcp(host: Host, name: str, *, mode: str) -> tuple[set[str], dict[str, Any]]:
    from mcp import Client

    from pegboard_mcp.dialect import wire_name
    from pegboard_mcp.server.app import make_server

    async with Client(make_server(host), mode=mode, cache=None) as client:
        listed = {one.name for one in (await client.list_tools()).tools}
        answer = await client.call_tool(wire_name(name), {})
    meta = answer.model_dump(by_alias=True, exclude_none=True).get("_meta", {})
    return {own for own in NAMES if wire_name(own) in listed}, {"ok": not answer.is_error, "said": str(answer), **meta}


async def through_the_gateway(host: Host, name: str) -> tuple[set[str], dict[str, Any]]:
    import httpx2
    import trio

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False) as client:
            rows = (await client.get("/tools")).json()
            paths = (await client.get("/openapi.json")).json()["paths"]
            answer = (await client.post(f"/tools/{name}", json={})).json()
        nursery.cancel_scope.cancel()
    offered = {row["name"] for row in rows}
    assert {row["state"] for row in rows} == {"ready"}
    assert len(paths) == 2 + len(offered)
    return offered, answer


async def through_chat(host: Host, name: str) -> tuple[set[str], dict[str, Any]]:
    from pegboard_chat import Chat, echo

    chat = Chat(host.session(profile=_of_profile(host)), echo.EchoModel())
    async with chat.ask(f"{name} {{}}") as events:
        results = [event.result.to_json() async for event in events if hasattr(event, "result")]
    return set(chat._offered().tools), results[0] if results else {}


DOORS: dict[str, Door] = {
    "python": through_python,
    "mcp, handshake": partial(through_mcp, mode="legacy"),
    "mcp, 2026-07-28": partial(through_mcp, mode="auto"),
    "gateway": through_the_gateway,
    "chat": through_chat,
}


@pytest.mark.parametrize("name", ["writes", "say so!", "risks"])
@pytest.mark.parametrize("config", [{"read_only": True}, {"profile": "reader"}], ids=["host", "profile"])
@pytest.mark.parametrize("door", DOORS)
async def test_read_only_mode_holds_at_every_door(host_with: Any, door: str, config: dict[str, Any], name: str) -> None:
    if "profile" in config:
        config = {**config, "profiles": {"reader": {"read_only": True}}}
    host = await host_with(config=config)
    host.add(*TOOLS)
    offered, answer = await DOORS[door](host, name)
    assert offered == {"reads"}
    if door == "chat" and name == "say so!":
        return  # the echo takes a question apart at its blanks
    assert answer["ok"] is False
    assert "read-only mode" in json.dumps(answer)
    assert "NOT_FOUND" not in json.dumps(answer)
