"""Both sides of MCP: one span a message, below what it came with, beside those of the SDK."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
from opentelemetry.trace import SpanKind

from pegboard import tool, trace

pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SCRIPTED = Path(__file__).parents[2] / "pegboard-mcp" / "tests" / "servers" / "scripted.py"


@tool(run="inplace")
def add(a: float, b: float) -> float:
    """Add."""
    return a + b


@tool
def fail() -> None:
    """Fail."""
    raise ValueError("no")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_served_call_is_one_server_span_with_the_call_below(observed: Callable[..., Any], mode: str) -> None:
    from mcp import Client

    from pegboard_mcp.server.app import make_server

    seen = await observed(add, fail)
    async with Client(make_server(seen.host), mode=mode, cache=None) as client:
        await client.list_tools()
        await client.call_tool("fail", {})
        seen.exporter.clear()
        await client.call_tool("add", {"a": 1, "b": 2}, meta={"traceparent": PARENT})  # type: ignore[arg-type]
        served = [span for span in seen.exporter.get_finished_spans() if span.kind is SpanKind.SERVER]
        called = seen.spans["execute_tool add"]
    (span,) = served
    assert span.name == "tools/call add"
    assert called.parent.span_id == span.context.span_id
    told = dict(span.attributes)
    assert told.pop("jsonrpc.request.id")
    assert told.pop("mcp.protocol.version")
    assert told.pop("network.transport") == "pipe"
    assert told == {
        "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"
    }  # fmt: skip
    session = {"mcp.protocol.version": "2025-11-25" if mode == "legacy" else "2026-07-28", "network.transport": "pipe"}
    assert seen.counted["mcp.server.session.duration"] == [session]  # it ended with the client
    assert {"tool_error"} <= {one.get("error.type") for one in seen.counted["mcp.server.operation.duration"]}


async def test_a_call_of_a_server_has_the_attributes_of_the_client_and_no_second_span(
    observed: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    from pegboard_mcp.client.source import McpSource, SourceGroup
    from pegboard_mcp.definitions import ServerDefinition

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notes = tmp_path / "notes"
    notes.mkdir()
    definition = ServerDefinition(
        name="one", transport="stdio", argv=(sys.executable, "-S", str(SCRIPTED), str(notes)), connect_s=20
    )
    source = McpSource(definition, group=SourceGroup(), settings=object())

    class Plugin:
        name = "sources"

        from pegboard import hookimpl

        @hookimpl
        def provide_sources(self) -> list[Any]:
            return [source]

    seen = await observed(plugins=(Plugin(),))
    await seen.host.wait_for_sources()
    seen.exporter.clear()
    with trace.following({"traceparent": PARENT}):
        assert (await seen.host.session().call("add", {"a": 1, "b": 2})).ok
        await seen.host.session().call("fail")
    assert set(seen.spans) == {"execute_tool add", "execute_tool fail"}
    told = dict(seen.spans["execute_tool add"].attributes)
    assert told["mcp.method.name"] == "tools/call"
    assert told["network.transport"] == "pipe"
    assert told["gen_ai.tool.type"] == "extension"
    heard = [json.loads(line) for line in (notes / "heard").read_text().splitlines()]
    meta = next(one["params"]["_meta"] for one in heard if one.get("method") == "tools/call")
    context = seen.spans["execute_tool add"].context
    assert meta["traceparent"] == f"00-{context.trace_id:032x}-{context.span_id:016x}-01"
    assert seen.counted["mcp.client.operation.duration"]
    assert "mcp.client.session.duration" not in seen.counted
    seen.host.restart_source("one")
    with trio.fail_after(20):
        while "mcp.client.session.duration" not in seen.counted:
            await trio.sleep(0.01)
    (ended,) = seen.counted["mcp.client.session.duration"]
    assert (ended["network.transport"], ended.get("error.type")) == ("pipe", None)
    assert ended["mcp.protocol.version"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_without_us_the_spans_of_the_sdk_are_there(
    observed: Callable[..., Any], host_with: Any, mode: str
) -> None:
    """A program that has OpenTelemetry, and a board that has nothing of it."""
    from mcp import Client

    from pegboard_mcp.server.app import make_server

    seen = await observed()  # it is who the spans of libraries go to
    host = await host_with()
    host.add(add)
    async with Client(make_server(host), mode=mode, cache=None) as client:
        seen.exporter.clear()
        await client.call_tool("add", {"a": 1, "b": 2}, meta={"traceparent": PARENT})  # type: ignore[arg-type]
        served = [one.name for one in seen.exporter.get_finished_spans() if one.kind is SpanKind.SERVER]
    assert served.count("tools/call add") == 1
    assert not [one for one in seen.exporter.get_finished_spans() if one.name.startswith("execute_tool")]


async def test_names_that_clients_make_up_are_not_counted(observed: Callable[..., Any]) -> None:
    seen = await observed(add)
    for number in range(30):
        told = {"mcp.method.name": f"made/up{number}", "gen_ai.tool.name": f"made up {number}"}
        with seen.host.span("x", "server", told):
            pass
    (counted,) = seen.counted["mcp.server.operation.duration"]
    assert counted == {"mcp.method.name": "_OTHER", "gen_ai.tool.name": "_OTHER"}
