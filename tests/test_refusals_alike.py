"""A refusal is the same at every interface: code, message, and what `details` say of its reason, of whether it ran and
of what repeating would do. The table of it stands in docs/reference/errors.md."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import itertools
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

import pegboard.asyncio
from pegboard import ToolCall, open_host, open_host_sync, tool

for needed in ("pegboard_http", "pegboard_chat", "pegboard_inspect"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")
mcp = pytest.importorskip("pegboard_mcp.plugin", reason="pegboard_mcp is not installed")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from pegboard import CallContext
    from pegboard.host import Host

KIT = Path(__file__).parent / "kit"
ERRORS = Path(__file__).parent.parent / "docs" / "reference" / "errors.md"
_spec = importlib.util.spec_from_file_location("refusing", KIT / "refusing.py")
assert _spec is not None
assert _spec.loader is not None
refusing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refusing)
BY_NAME = {case.name: case for case in refusing.CASES}


async def by_call(host: Host, case: Any) -> Any:
    return (await host.session().call(case.name, case.arguments)).to_json()["error"]


async def by_many(host: Host, case: Any) -> Any:
    (result,) = await host.session().call_many([ToolCall("1", case.name, case.arguments)])
    return result.to_json()["error"]


async def by_tool(host: Host, case: Any) -> Any:
    heard = []

    @tool
    async def outer(context: CallContext) -> str:
        heard.append(await context.call(case.name, case.arguments))
        return "done"

    host.add(outer)
    await host.session().call("outer", {})
    return heard[0].to_json()["error"]


async def of_client(client: Any, case: Any) -> Any:
    from mcp.shared.exceptions import MCPError

    try:
        result = await client.call_tool(case.name, case.arguments)
    except MCPError as problem:
        return {**problem.error.data, "message": problem.error.message}
    assert result.is_error
    assert result.content[0].text == result.meta["pegboard-mcp/error"]["message"]
    return result.meta["pegboard-mcp/error"]


async def by_mcp(host: Host, case: Any, *, mode: str) -> Any:
    from mcp import Client

    from pegboard_mcp.server.app import make_server

    async with Client(make_server(host), mode=mode, cache=None) as client:
        return await of_client(client, case)


@contextlib.asynccontextmanager
async def websocket(url: str) -> AsyncIterator[tuple[Any, Any]]:
    from pegboard_mcp.client.transports import open_link
    from pegboard_mcp.definitions import ServerDefinition

    definition = ServerDefinition(name="board", transport="websocket", url=url)
    async with open_link(definition, lambda: None) as link:
        yield link.read, link.write


async def by_mcp_over(host: Host, case: Any, *, transport: str, mode: str) -> Any:
    """The SDK's client over HTTP and SSE, ours over WebSocket, which the SDK does not have."""
    from mcp import Client
    from mcp.client.sse import sse_client

    from pegboard_mcp.server.http import serve_http
    from pegboard_mcp.settings import McpSettings

    serve = partial(
        serve_http, host, transport=transport, bind="127.0.0.1", port=0, user_id=None, settings=McpSettings()
    )
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        where = {"http": lambda _: url, "sse": sse_client, "websocket": websocket}[transport](url)
        async with Client(where, mode=mode, cache=None) as client:
            error = await of_client(client, case)
        nursery.cancel_scope.cancel()
    return error


async def by_gateway(host: Host, case: Any) -> Any:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings
    from pegboard_http.statuses import STATUS_OF

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            answer = await client.post(f"/tools/{case.name}", json=case.arguments)
        nursery.cancel_scope.cancel()
    assert answer.status_code == STATUS_OF[answer.json()["error"]["code"]]
    return answer.json()["error"]


async def by_chat(host: Host, case: Any) -> Any:
    from pegboard_chat import Chat, echo

    question = f"{case.name} {json.dumps(case.arguments)}"
    async with Chat(host.session(), echo.EchoModel()).ask(question) as events:
        (result,) = [event.result.to_json() async for event in events if hasattr(event, "result")]
    return result["error"]


async def by_inspector(host: Host, case: Any) -> Any:
    import httpx2

    from pegboard_inspect import serve_inspector

    told: list[str] = []
    async with trio.open_nursery() as nursery:
        url = await nursery.start(partial(serve_inspector, host, tell=told.append))
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            token = told[-1].partition("#token=")[2]
            entered = await client.post("/enter", json={"token": token}, headers={"origin": url})
            headers = {"origin": url, "sec-fetch-site": "same-origin"}
            body = {"name": case.name, "arguments": case.arguments}
            answer = await client.post(f"{entered.json()['base']}api/call", json=body, headers=headers)
        nursery.cancel_scope.cancel()
    return json.loads(answer.text.splitlines()[-1])["result"]["error"]


INTERFACES: dict[str, Callable[[Host, Any], Awaitable[Any]]] = {
    "call": by_call,
    "call_many": by_many,
    "another tool": by_tool,
    "mcp, handshake": partial(by_mcp, mode="legacy"),
    "mcp, 2026-07-28": partial(by_mcp, mode="auto"),
    "http, handshake": partial(by_mcp_over, transport="http", mode="legacy"),
    "http, 2026-07-28": partial(by_mcp_over, transport="http", mode="auto"),
    "sse": partial(by_mcp_over, transport="sse", mode="legacy"),
    "websocket": partial(by_mcp_over, transport="websocket", mode="auto"),
    "gateway": by_gateway,
    "chat": by_chat,
    "inspector": by_inspector,
}


def plugins_of(case: Any) -> list[str]:
    return ["refusing", "rival", *(["away"] if case.name == "brought_later" else [])]


def objects_of(case: Any) -> list[Any]:
    return [getattr(refusing, name) for name in plugins_of(case)]


def in_trio(case: Any, ask: Callable[[Host, Any], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        plugins = [*objects_of(case), mcp, importlib.import_module("pegboard_inspect.plugin")]
        async with open_host(refusing.CONFIG, plugins) as host:
            for _ in range(case.before):
                assert (await host.session().call(case.name, case.arguments)).ok
            with trio.fail_after(60):
                return await ask(host, case)

    return trio.run(main)


def in_a_thread(case: Any) -> Any:
    with open_host_sync(refusing.CONFIG, objects_of(case)) as host:
        for _ in range(case.before):
            assert host.call(case.name, case.arguments).ok
        return host.call(case.name, case.arguments).to_json()["error"]


def in_asyncio(case: Any) -> Any:
    async def main() -> Any:
        async with pegboard.asyncio.open_host(refusing.CONFIG, objects_of(case)) as host:
            session = host.session()
            for _ in range(case.before):
                assert (await session.call(case.name, case.arguments)).ok
            return (await session.call(case.name, case.arguments)).to_json()["error"]

    return asyncio.run(main())


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the plugins as installed distributions."""
    site = tmp_path / "site"
    for name in ("refusing", "rival", "away"):
        meta = site / f"{name}-1.0.dist-info"
        meta.mkdir(parents=True)
        (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (meta / "entry_points.txt").write_text(f"[pegboard]\n{name} = refusing_of_a_test:{name}\n")
    (site / "refusing_of_a_test.py").write_text((KIT / "refusing.py").read_text())
    (tmp_path / "pegboard.toml").write_text("[tools.disabled]\nenabled = false\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(site)
    yield tmp_path
    sys.modules.pop("refusing_of_a_test", None)


def by_program(case: Any, run_program: Callable[..., Any], *, batch: bool) -> Any:
    program = ["--config", "pegboard.toml", *(word for name in plugins_of(case) for word in ("--plugin", name))]
    lines = [{"name": case.name, "arguments": case.arguments}] * (case.before + 1)
    if batch:
        done = run_program(*program, "batch", stdin="\n".join(map(json.dumps, lines)))
        return json.loads(done.stdout.splitlines()[-1])["error"]
    for _ in lines:
        done = run_program(*program, "call", case.name, "--args", json.dumps(case.arguments), "--json")
    assert done.returncode == 1
    return json.loads(done.stdout)["error"]


def told(error: Any, case: Any) -> Any:
    """An error without what no two calls have in common: moments, and who could be asked there."""
    text = json.dumps({**error, "message": ""} if case.name == "wants_person" else error, sort_keys=True)
    return re.sub(r"\d+(\.\d+)?", "N", text)


def hold(error: Any, case: Any) -> None:
    details = error["details"]
    found = (error["code"], details.get("reason"), details["retry"], details.get("executed"))
    assert found == (case.code, case.reason, case.retry, case.executed), error
    assert error["message"]
    assert "/secret" not in json.dumps(error)


@pytest.fixture(scope="module")
def of_call() -> Callable[[Any], Any]:
    """What a plain call answers, once for each case."""
    known: dict[str, Any] = {}

    def ask(case: Any) -> Any:
        if case.name not in known:
            known[case.name] = in_trio(case, by_call)
        return known[case.name]

    return ask


ASKED = {("inspector", "wants_person")}
"""Where somebody is there to be asked."""


@pytest.mark.filterwarnings(  # the SDK's client of the handshake era leaves its streams to the garbage collector
    "ignore:Async generator .* was garbage collected:ResourceWarning",
    "ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning",
)
@pytest.mark.parametrize(
    ("interface", "name"), [pair for pair in itertools.product(INTERFACES, BY_NAME) if pair not in ASKED]
)
def test_a_refusal_is_the_same_at_every_interface(name: str, interface: str, of_call: Callable[[Any], Any]) -> None:
    case = BY_NAME[name]
    error = in_trio(case, INTERFACES[interface])
    hold(error, case)
    assert told(error, case) == told(of_call(case), case)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("where", [in_a_thread, in_asyncio])
def test_so_it_is_in_programs_without_trio(
    name: str, where: Callable[[Any], Any], of_call: Callable[[Any], Any]
) -> None:
    case = BY_NAME[name]
    error = where(case)
    hold(error, case)
    assert told(error, case) == told(of_call(case), case)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("batch", [False, True], ids=["call", "batch"])
def test_so_it_is_in_the_program(
    name: str, batch: bool, installed: Path, run_program: Callable[..., Any], of_call: Callable[[Any], Any]
) -> None:
    case = BY_NAME[name]
    error = by_program(case, run_program, batch=batch)
    hold(error, case)
    assert told(error, case) == told(of_call(case), case)


def test_the_table_of_the_docs_is_that_of_the_code() -> None:
    said = {True: "yes", False: "no", None: ""}
    rows = [
        f"| {case.title} | `{case.code}` | {f'`{case.reason}`' if case.reason else ''} | `{case.retry}` "
        f"| {said[case.executed]} |"
        for case in refusing.CASES
    ]
    assert "\n".join(rows) in ERRORS.read_text(), "\n".join(rows)
