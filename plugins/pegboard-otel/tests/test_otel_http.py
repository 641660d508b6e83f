"""Over HTTP: each request that is sent is one client span, whose context goes along, and the server's span lies below
that very span: of a tool of a manifest, and of an MCP server."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio
from opentelemetry.trace import SpanKind

from pegboard import tool

for needed in ("pegboard_http", "pegboard_manifest", "pegboard_mcp"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# The SDK's client leaves the stream of a connection that ends to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"
)


@tool(read_only=True)
async def halve(number: float) -> float:
    """Halve a number."""
    return number / 2


def manifest(folder: Path, url: str) -> str:
    """A manifest with one tool, which asks the gateway at that address to halve."""
    number = {"type": "object", "properties": {"number": {"type": "number"}}, "additionalProperties": False}
    halves = {
        "id": "http:halve", "name": "halve_there", "description": "Halve.", "category": "read", "risk": "low",
        "idempotency": "idempotent", "examples": [{"input": {"number": 4}}],
        "input_schema": {**number, "required": ["number"]},
        "binding": {
            "kind": "http", "server": "there", "method": "POST", "path": "/tools/halve", "output": {"parser": "json"},
            "body": {"media_type": "application/json", "fields": [{"parameter": "number", "name": "number"}]},
        },
    }  # fmt: skip
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "There", "runtime": "other", "execution_model": "remote-http"},
        "servers": {"there": {"base_url": url, "redirects": "same-origin"}},
        "tools": [halves],
    }
    place = folder / "tool.manifest.json"
    place.write_text(json.dumps(document), encoding="utf-8")
    return str(place)


def id_of(span: Any) -> str:
    return f"{span.context.span_id:016x}"


async def test_the_servers_span_lies_below_the_clients(
    host_with: Callable[..., Any], make_observed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pegboard_manifest.plugin
    import pegboard_mcp.plugin
    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings
    from pegboard_mcp.server.http import serve_http
    from pegboard_mcp.settings import McpSettings

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    far, near = make_observed(), make_observed()
    board = await host_with(far)
    board.add(halve)
    common: dict[str, Any] = {"bind": "127.0.0.1", "port": 0, "user_id": None}
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            url = await nursery.start(partial(serve_gateway, board, settings=HttpSettings(), **common))
            mcp = await nursery.start(partial(serve_http, board, transport="http", settings=McpSettings(), **common))
            server = {"url": mcp, "transport": "http", "prefix": "far_"}
            config = {
                "plugins": {"manifest": {"files": [manifest(tmp_path, url)]}, "mcp": {"servers": {"far": server}}}
            }
            host = await host_with(near, pegboard_mcp.plugin, pegboard_manifest.plugin, config=config)
            await host.wait_for_sources()
            for name, client in (("halve_there", "POST"), ("far_halve", "execute_tool far_halve")):
                near.exporter.clear()
                far.exporter.clear()
                assert (await host.session().call(name, {"number": 4})).ok
                (asked,) = [span for span in near.exporter.get_finished_spans() if span.name == client]
                (served,) = [span for span in far.exporter.get_finished_spans() if span.kind is SpanKind.SERVER]
                assert (served.parent.trace_id, served.parent.span_id) == (
                    asked.context.trace_id, asked.context.span_id
                )  # fmt: skip
                call = near.spans[f"execute_tool {name}"]
                assert call.attributes["gen_ai.tool.name"] == name, "the server's own name has no prefix"
                assert asked is call or asked.parent.span_id == call.context.span_id
                assert far.spans["execute_tool halve"].parent.span_id == served.context.span_id
            nursery.cancel_scope.cancel()


async def test_what_is_sent_again_is_a_span_of_its_own(
    host_with: Callable[..., Any], make_observed: Any, tmp_path: Path, nursery: Any, autojump_clock: Any
) -> None:
    import pegboard_manifest.plugin

    answers = ["503 Busy", "307 There\r\nLocation: /tools/other", "200 OK"]
    asked: list[str] = []

    async def answer(stream: trio.SocketStream) -> None:
        head = b""
        while b'{"number":4}' not in head.replace(b" ", b""):
            head += await stream.receive_some()
        asked.extend(line.split()[1] for line in head.decode().lower().split("\r\n") if line.startswith("traceparent:"))
        status = answers.pop(0)
        text = (
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}"
        )
        await stream.send_all(text.encode())
        await stream.aclose()

    listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
    url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
    seen = make_observed()
    config = {"plugins": {"manifest": {"files": [manifest(tmp_path, url)]}}}
    host = await host_with(seen, pegboard_manifest.plugin, config=config)
    await host.wait_for_sources()
    assert (await host.session().call("halve_there", {"number": 4})).ok
    sent = [span for span in seen.exporter.get_finished_spans() if span.kind is SpanKind.CLIENT]
    assert [one[36:52] for one in asked] == [id_of(span) for span in sent]
    (call,) = [span for span in seen.exporter.get_finished_spans() if span.kind is SpanKind.INTERNAL]
    assert {span.parent.span_id for span in sent} == {call.context.span_id}
    told = [(span.attributes.get("http.request.resend_count"), span.attributes.get("error.type")) for span in sent]
    assert told == [(None, "503"), (1, None), (2, None)]
