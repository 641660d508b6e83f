"""What read-only mode refuses is offered by no interface, and a call of it says FORBIDDEN, read_only, at every one."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import ErrorCode, Guard, Stage, ToolError, hookimpl, tool

for needed in ("pegboard_mcp", "pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard import Tool
    from pegboard.host import Host
    from pegboard.session import Session

    Interface = Callable[[Host, str], Awaitable[tuple[set[str], dict[str, Any]]]]
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
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
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


INTERFACES: dict[str, Interface] = {
    "python": through_python,
    "mcp, handshake": partial(through_mcp, mode="legacy"),
    "mcp, 2026-07-28": partial(through_mcp, mode="auto"),
    "gateway": through_the_gateway,
    "chat": through_chat,
}


@pytest.mark.parametrize("name", ["writes", "say so!", "risks"])
@pytest.mark.parametrize("config", [{"read_only": True}, {"profile": "reader"}], ids=["host", "profile"])
@pytest.mark.parametrize("interface", INTERFACES)
async def test_read_only_mode_holds_at_every_interface(
    host_with: Any, interface: str, config: dict[str, Any], name: str
) -> None:
    if "profile" in config:
        config = {**config, "profiles": {"reader": {"read_only": True}}}
    host = await host_with(config=config)
    host.add(*TOOLS)
    offered, answer = await INTERFACES[interface](host, name)
    assert offered == {"reads"}
    if interface == "chat" and name == "say so!":
        return  # the echo takes a question apart at its blanks
    assert answer["ok"] is False
    assert "read-only mode" in json.dumps(answer)
    assert "NOT_FOUND" not in json.dumps(answer)


class Permissions:
    """A plugin whose guard lets eve do nothing; its name comes behind that of the core's own guards."""

    name = "zoo"

    @hookimpl
    def make_guards(self, tool: Tool) -> Guard | None:
        def check(session: Session) -> ToolError | None:
            return ToolError(ErrorCode.FORBIDDEN, "not for eve", reason="zoo") if session.user_id == "eve" else None

        return Guard("zoo", Stage.ADMIT, check) if tool.name == "mine" else None


@tool(name="mine", run="inplace", requires_user=True)
def mine(number: int) -> str:
    """Write for somebody."""
    return str(number)


async def through_check(host: Host, name: str) -> tuple[set[str], dict[str, Any]]:
    return set(), host.session().check(name, {}).to_json()


async def through_many(host: Host, name: str) -> tuple[set[str], dict[str, Any]]:
    return set(), (await host.session().call_many([{"name": name, "arguments": {}}]))[0].to_json()


def errors_in(answer: Any) -> list[tuple[str, str | None]]:
    """The codes and reasons of all errors of the board in an answer of whichever form."""
    if not isinstance(answer, dict):
        return []
    details = answer.get("details") or {}
    own = [(answer["code"], details.get("reason"))] if "code" in answer and "message" in answer else []
    return own or [one for value in answer.values() for one in errors_in(value)]


WHO: dict[tuple[str | None, bool], tuple[str, str | None]] = {
    (None, False): ("UNAUTHORIZED", "user"),
    (None, True): ("UNAUTHORIZED", "user"),
    ("eve", False): ("FORBIDDEN", "zoo"),
    ("eve", True): ("FORBIDDEN", "zoo"),
    ("ada", True): ("FORBIDDEN", "read_only"),
    ("ada", False): ("INVALID_INPUT", None),
}
"""Who calls, and whether in read-only mode, to the refusal: who they are, what they may, the mode, the arguments."""


@pytest.mark.parametrize(("user_id", "read_only"), WHO)
@pytest.mark.parametrize("interface", [*INTERFACES, "dry run", "many"])
async def test_of_several_refusals_every_interface_gives_that_of_the_caller_before_that_of_the_mode(
    host_with: Any, interface: str, user_id: str | None, read_only: bool
) -> None:
    said = {} if user_id is None else {"user_id": user_id}
    host = await host_with(Permissions(), config={"read_only": read_only, **said})
    host.add(mine, *TOOLS)
    _, answer = await {**INTERFACES, "dry run": through_check, "many": through_many}[interface](host, "mine")
    assert errors_in(answer) == [WHO[user_id, read_only]]


@pytest.mark.parametrize(("user_id", "read_only"), [one for one in WHO if one[0] != "eve"])
@pytest.mark.parametrize(
    "words", [("call", "add_task", "--json"), ("call", "add_task", "--dry-run", "--json"), ("batch",)]
)
def test_so_does_the_program(words: tuple[str, ...], user_id: str | None, read_only: bool) -> None:
    pytest.importorskip("pegboard_tasks", reason="pegboard_tasks is not installed")
    command = [sys.executable, "-m", "pegboard", "--plugin", "tasks", *(["--read-only"] if read_only else [])]
    user = [] if user_id is None else ["--user", user_id]
    line = '{"name": "add_task", "arguments": {}}\n'
    done = subprocess.run(
        [*command, *words, *user], input=line, capture_output=True, text=True, timeout=60, check=False
    )
    assert errors_in(json.loads(done.stdout)) == [WHO[user_id, read_only]]
