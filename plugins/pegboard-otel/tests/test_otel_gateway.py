"""The gateway: one server span a request, below what it came with, and the call below that."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio
from opentelemetry.trace import SpanKind

from pegboard import tool

pytest.importorskip("pegboard_http", reason="pegboard_http is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


@tool
async def halve(number: float) -> float:
    """Halve a number."""
    return number / 2


async def test_a_request_is_a_server_span_with_its_call_below(observed: Callable[..., Any]) -> None:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    seen = await observed(halve)
    serve = partial(serve_gateway, seen.host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    asked = (
        ("POST", "/tools/halve", {"json": {"number": "a secret"}, "params": {"q": "a secret"}}, 400),
        ("POST", "/tools/halve", {"json": {"number": 4}}, 200),
        ("GET", "/tools", {}, 200),
        ("GET", "/nowhere/a", {}, 404),
        ("MADEUP", "/nowhere/b", {}, 404),
    )
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            url = await nursery.start(serve)
            async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
                for method, path, more, status in asked:
                    answer = await client.request(method, path, headers={"traceparent": PARENT}, **more)
                    assert answer.status_code == status, answer.text
            nursery.cancel_scope.cancel()
    served = [span for span in seen.exporter.get_finished_spans() if span.kind is SpanKind.SERVER]
    assert [span.name for span in served] == [
        "POST /tools/{name}", "POST /tools/{name}", "GET /tools", "GET", "HTTP"
    ]  # fmt: skip
    for span, (method, path, _, status) in zip(served, asked, strict=True):
        assert f"{span.parent.trace_id:032x}-{span.parent.span_id:016x}" == f"{TRACE}-{SPAN}"
        told = dict(span.attributes)
        assert told.pop("http.route", None) == (span.name.partition(" ")[2] or None)
        assert told == {
            "http.request.method": "_OTHER" if method == "MADEUP" else method,
            "http.response.status_code": status,
            "url.path": path,
            "url.scheme": "http",
        }
    called = [span for span in seen.exporter.get_finished_spans() if span.name == "execute_tool halve"]
    assert [span.parent.span_id for span in called] == [span.context.span_id for span in served[:2]]
    counted = seen.counted["http.server.request.duration"]
    assert {one.get("http.route") for one in counted} == {"/tools/{name}", "/tools", None}
    assert not any("url.path" in one for one in counted)
