"""What is observed of calls: the spans, their parents, what they hold and what they never do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import trace as trace_api
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from pegboard import CallContext, ErrorCode, Guard, Stage, ToolError, hookimpl, open_host, tool, trace
from pegboard_otel.recording import _INSTRUMENTS, OTHER

if TYPE_CHECKING:
    from collections.abc import Callable

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WHOLE = {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7", "baggage": "tenant=blue"}
SECRET = "s3cret-of-this-test"


@tool
async def inner(text: str = "") -> dict[str, Any]:
    """Tell the trace."""
    return {"trace": dict(trace.carrier.get() or {})}


@tool
async def outer(context: CallContext) -> dict[str, Any]:
    """Call another, below a span of its own."""
    with trace_api.get_tracer("a tool").start_as_current_span("own work"):
        return dict((await context.call("inner")).data or {})


@tool
def threaded() -> str:
    """Open a span in a thread."""
    with trace_api.get_tracer("a tool").start_as_current_span("in a thread"):
        return "done"


@tool(secrets=["SECRET_OF_THIS_TEST"])
async def shown(context: CallContext, text: str) -> str:
    """Say it again."""
    return f"{text} {context.secret('SECRET_OF_THIS_TEST')}"


@tool
async def breaks(text: str) -> None:
    """Fail, and say what was given."""
    raise ToolError(ErrorCode.UPSTREAM_ERROR, f"it broke on {text}")


async def test_a_call_is_a_span_of_the_conventions_and_nested_calls_lie_below(observed: Callable[..., Any]) -> None:
    seen = await observed(inner, outer, threaded)
    with trace.following(WHOLE):
        answer = await seen.host.session().call("outer", {}, id="call-7")
    assert (await seen.host.session().call("threaded")).ok
    assert trace.carrier.get() is None
    spans = seen.spans
    span = spans["execute_tool outer"]
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "outer",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Call another, below a span of its own.",
        "gen_ai.tool.call.id": "call-7",
    }
    assert span.kind is trace_api.SpanKind.INTERNAL
    assert f"{span.context.trace_id:032x}-{span.parent.span_id:016x}" in PARENT
    assert seen.parent_of("execute_tool inner") == "own work"
    assert seen.parent_of("own work") == "execute_tool outer"
    assert seen.parent_of("in a thread") == "execute_tool threaded"
    assert spans["execute_tool threaded"].parent is None
    inside = spans["execute_tool inner"].context
    assert answer.data["trace"] == {
        "traceparent": f"00-{inside.trace_id:032x}-{inside.span_id:016x}-01",
        "tracestate": WHOLE["tracestate"],
        "baggage": WHOLE["baggage"],
    }


async def test_a_span_of_the_caller_is_the_parent_and_that_of_another_trace_a_link(
    observed: Callable[..., Any],
) -> None:
    seen = await observed(inner)
    session = seen.host.session()
    tracer = trace_api.get_tracer("a program")
    with tracer.start_as_current_span("mine"):
        await session.call("inner")
    assert seen.parent_of("execute_tool inner") == "mine"
    seen.exporter.clear()
    with tracer.start_as_current_span("of HTTP") as ambient, trace.following(WHOLE):
        await session.call("inner")
    span = seen.spans["execute_tool inner"]
    assert f"{span.context.trace_id:032x}" in PARENT
    assert [link.context for link in span.links] == [ambient.get_span_context()]


async def test_guards_are_events_and_an_error_is_its_code(observed: Callable[..., Any]) -> None:
    class Guards:
        name = "guards"

        @hookimpl
        def make_guards(self, tool: Any) -> list[Guard]:
            def refuse(context: Any, arguments: Any) -> ToolError | None:
                return ToolError(ErrorCode.FORBIDDEN, "no") if arguments.get("text") == "never" else None

            return [Guard("never", Stage.APPROVE, refuse)]

    seen = await observed(inner, breaks, plugins=(Guards(),))
    session = seen.host.session()
    await session.call("inner", {"text": "never"})
    (event,) = [
        one for one in seen.spans["execute_tool inner"].events if one.attributes["pegboard.guard.name"] == "never"
    ]
    assert event.name == "pegboard.guard"
    assert event.attributes["pegboard.guard.stage"] == "approve"
    assert event.attributes["pegboard.guard.verdict"] == "refused"
    assert seen.spans["execute_tool inner"].attributes["error.type"] == "FORBIDDEN"
    assert seen.spans["execute_tool inner"].status.status_code is trace_api.StatusCode.ERROR
    await session.call("breaks", {"text": "x"})
    await session.call("nobody's")
    assert seen.spans["execute_tool breaks"].attributes["error.type"] == "UPSTREAM_ERROR"
    assert seen.spans["execute_tool nobody's"].attributes["error.type"] == "NOT_FOUND"


async def test_a_cancelled_call_ends_its_span_and_leaves_nothing_behind(observed: Callable[..., Any]) -> None:
    @tool
    async def waits() -> None:
        """Wait."""
        await trio.sleep_forever()

    seen = await observed(waits)
    with trio.CancelScope() as scope:
        scope.cancel()
        await seen.host.session().call("waits")
    assert seen.spans["execute_tool waits"].attributes["error.type"] == "cancelled"
    assert trace.carrier.get() is None
    assert not trace_api.get_current_span().get_span_context().is_valid


async def test_calls_at_once_are_each_below_their_own_parent(observed: Callable[..., Any]) -> None:
    seen = await observed(outer, inner)

    async def one(number: int) -> None:
        with trace.following({"traceparent": f"00-{number:032x}-{number:016x}-01"}):
            told = (await seen.host.session().call("outer")).data["trace"]["traceparent"]
        assert told.split("-")[1] == f"{number:032x}"

    async with trio.open_nursery() as nursery:
        for number in range(1, 30):
            nursery.start_soon(one, number)


def _all_of(spans: Any) -> str:
    return "".join(span.to_json() for span in spans)


@given(st.text(alphabet="abcdefgh", min_size=12, max_size=20))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_without_content_no_span_holds_what_was_given_or_answered(
    monkeypatch: pytest.MonkeyPatch, make_observed: Callable[..., Any], given_text: str
) -> None:
    monkeypatch.setenv("SECRET_OF_THIS_TEST", SECRET)
    told = []

    async def main() -> None:
        for content in (False, True):
            seen = make_observed(content=content)
            async with open_host(plugins=[seen]) as host:
                host.add(shown, breaks)
                session = host.session()
                await session.call("shown", {"text": f"{given_text} {SECRET}"})
                await session.call("breaks", {"text": given_text})
                await session.call("breaks", {given_text: 1})
            told.append(_all_of(seen.exporter.get_finished_spans()))

    trio.run(main)
    without, with_content = told
    assert given_text not in without
    assert SECRET not in without
    assert given_text in with_content
    assert SECRET not in with_content


async def test_with_content_arguments_and_result_are_json(observed: Callable[..., Any]) -> None:
    seen = await observed(inner, content=True)
    await seen.host.session().call("inner", {"text": "hello"})
    attributes = seen.spans["execute_tool inner"].attributes
    assert json.loads(attributes["gen_ai.tool.call.arguments"]) == {"text": "hello"}
    assert json.loads(attributes["gen_ai.tool.call.result"])["ok"] is True


async def test_content_is_without_what_the_host_knows_as_a_secret(
    observed: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TEST_HOST_PASSWORD", "correct+horse7")
    seen = await observed(inner, content=True)
    await seen.host.session().call("inner", {"text": "it is correct+horse7"})
    attributes = seen.spans["execute_tool inner"].attributes
    assert json.loads(attributes["gen_ai.tool.call.arguments"]) == {"text": "it is ***"}


async def test_durations_and_tokens_are_counted_by_few_values(observed: Callable[..., Any]) -> None:
    seen = await observed(inner)
    session = seen.host.session()
    await session.call("inner")
    for number in range(50):
        await session.call(f"made up {number}")
    counted = seen.counted["gen_ai.execute_tool.duration"]
    assert {one["gen_ai.tool.name"] for one in counted} == {"inner", OTHER}
    with seen.host.span("chat m", "client", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}) as ended:
        ended |= {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 7}
    for kind in ("server", "client"):
        with seen.host.span("GET", kind, {"http.request.method": "GET"}):
            pass
        seen.host.measure(f"mcp.{kind}.session.duration", 1.5, {"network.transport": "pipe", "mcp.session.id": "x"})
        seen.host.measure(f"somebody.{kind}.else", 1.5, {})
        with seen.host.span("tools/list", kind, {"mcp.method.name": "tools/list"}):
            pass
    with seen.host.span("invoke_agent a", "internal", {"gen_ai.operation.name": "invoke_agent"}):
        pass
    assert set(seen.counted) == set(_INSTRUMENTS)
    assert seen.counted["mcp.server.session.duration"] == [{"network.transport": "pipe"}]
    assert {one["gen_ai.token.type"] for one in seen.counted["gen_ai.client.token.usage"]} == {"input", "output"}


async def test_where_nobody_makes_spans_a_trace_goes_through_as_it_is(host_with: Any) -> None:
    from pegboard_otel.recording import Recorder

    recorder = Recorder(trace_api.NoOpTracer(), None, content=False)

    class Plugin:
        name = "nobody"

        @hookimpl
        def provide_observers(self) -> list[Any]:
            return [recorder]

    host = await host_with(Plugin())
    host.add(inner)
    with trace.following(WHOLE):
        assert (await host.session().call("inner")).data["trace"] == WHOLE


async def test_what_cannot_be_shown_costs_no_span(observed: Callable[..., Any], caplog: Any) -> None:
    class Shy:
        def __str__(self) -> str:
            raise SystemExit("not shown")

    seen = await observed(inner, content=True)
    for _ in range(2):
        await seen.host.session().call("inner", {"text": Shy()})
    spans = seen.exporter.get_finished_spans()
    assert [span.attributes["error.type"] for span in spans] == ["INVALID_INPUT"] * 2
    assert seen.host.runtime.failed_observers == {"observed": 2}
    assert caplog.text.count("an observer of plugin observed failed") == 1


HALF = "half \ud800 of a pair"


@pytest.mark.parametrize(
    "where", ["name", "id", "argument", "span", "attribute", "found", "client", "found by a client"]
)
async def test_no_text_that_others_choose_costs_the_spans_beside_it_or_more_than_its_share(
    observed: Callable[..., Any], where: str, caplog: Any
) -> None:
    """An exporter encodes a batch at once: one text that UTF-8 cannot carry loses all of it."""
    long = HALF + "x" * 200_000

    @tool
    async def one(context: CallContext, text: str = "") -> None:
        if "client" in where:
            told = {"mcp.method.name": "tools/call", "mcp.session.id": long if where == "client" else ""}
            with context.session.host.span("tools/call one", "client", told) as found:
                found["rpc.response.status_code"] = long if where != "client" else ""

    seen = await observed(one, content=True)
    host = seen.host
    if where in ("span", "attribute", "found"):
        name, given = ("POST " + long if where == "span" else "POST"), (long if where == "attribute" else "")
        with host.span(name, "server", {"url.path": given, "listed": [given]}) as found:
            found["error.type"] = long if where == "found" else "no"
    else:
        given = {"text": HALF if where == "argument" else ""}
        await host.session().call(long if where == "name" else "one", given, id=long if where == "id" else None)
    finished = seen.exporter.get_finished_spans()
    assert finished
    assert len(encode_spans(finished).SerializeToString()) < 30_000
    assert len(encode_metrics(seen.reader.get_metrics_data()).SerializeToString()) < 30_000
    # The encoder leaves an attribute out, and logs that. Readers of other tests log too, from threads of their own.
    assert not [one for one in caplog.records if one.name.startswith("opentelemetry.exporter")]
