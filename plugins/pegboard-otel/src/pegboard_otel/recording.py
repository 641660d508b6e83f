"""What is observed, as spans and histograms, by the semantic conventions of GenAI and MCP (status Development).

    execute_tool NAME      INTERNAL   a call of a tool; nested calls lie below
    METHOD TARGET          SERVER     a request that the board answers as an MCP server
    METHOD TARGET          CLIENT     a request to an MCP server; of `tools/call` the call's own span is told of it
    chat MODEL             CLIENT     a request to a model's provider
    GET, POST, ...         CLIENT     a request of a manifest's HTTP tool
    METHOD ROUTE           SERVER     a request that the gateway answers
    invoke_agent NAME      INTERNAL   a question, with all its rounds

A span is current while its work runs, for OpenTelemetry and in `pegboard.trace.carrier`: so spans that a tool opens lie
below it, and every way out names it as the parent. The names are written out here: the constants of the conventions
live in a module that OpenTelemetry keeps private.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pegboard import Stage, Unobserved
from pegboard.guards.audit import hidden_in
from pegboard.secrets.written import beginning, without_secrets
from pegboard.trace import carrier
from pegboard_otel.lazy import LazyContext, records_of
from pegboard_otel.sampling import SPAN, Dropped, decision_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.trace import Span, Tracer

    from pegboard import Outcome, Session, Tool, ToolCall, Verdict

MAX_NAME = 64
"""Of a name that no tool has, in characters: callers make them up."""
MAX_TEXT = 1_000
"""Of any other text of a span, in characters: callers and servers choose ids, methods and descriptions, and spans wait
in a queue that is bounded by their number."""
MAX_TOOLS = 10_000
MAX_CONTENT = 10_000
"""Of arguments and of a result, in characters of their JSON."""
METHODS = frozenset({
    "completion/complete", "initialize", "logging/setLevel", "notifications/cancelled", "notifications/initialized",
    "notifications/progress", "notifications/roots/list_changed", "ping", "prompts/get", "prompts/list",
    "resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe",
    "server/discover", "subscriptions/listen", "tools/call", "tools/list",
})  # fmt: skip
"""What clients of MCP ask, by which is counted."""
OTHER = "_OTHER"
"""Stands for what nobody can count, as the conventions have it."""

_KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_MCP_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_INSTRUMENTS: dict[str, tuple[str, tuple[float, ...]]] = {
    "gen_ai.execute_tool.duration": ("s", _SECONDS),
    "gen_ai.invoke_agent.duration": ("s", _SECONDS),
    "gen_ai.client.operation.duration": ("s", _SECONDS),
    "gen_ai.client.token.usage": ("{token}", _TOKENS),
    "http.client.request.duration": ("s", _HTTP_SECONDS),
    "http.server.request.duration": ("s", _HTTP_SECONDS),
    "mcp.client.operation.duration": ("s", _MCP_SECONDS),
    "mcp.client.session.duration": ("s", _MCP_SECONDS),
    "mcp.server.operation.duration": ("s", _MCP_SECONDS),
    "mcp.server.session.duration": ("s", _MCP_SECONDS),
}
_COUNTED = (
    "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.agent.name", "gen_ai.tool.name",
    "http.request.method", "http.response.status_code", "http.route", "server.address", "server.port", "url.scheme",
    "mcp.method.name", "mcp.protocol.version", "network.transport", "rpc.response.status_code", "error.type",
)  # fmt: skip
"""Attributes by which is counted: few values each."""

_probe = attach(get_current())
CURRENT = _probe.var
"""What `attach`, `detach` and `get_current` of OpenTelemetry set, reset and read, two frames further down: they cost as
much as all else that is done for a call that is not sampled."""
detach(_probe)

_TRACE, _BAGGAGE = TraceContextTextMapPropagator(), W3CBaggagePropagator()


class _Open(Mapping[str, str]):
    """A span that is current until it is left: for OpenTelemetry, and in `carrier`, as W3C has it with the baggage of
    what it lies below. That is written when somebody asks: few calls hand a trace on."""

    __slots__ = ("_above", "_written", "attached", "before", "is_call", "span")

    def __init__(self, span: Span, context: Context, above: Mapping[str, str] | None, *, is_call: bool) -> None:
        self.span, self.is_call = span, is_call
        self._written: dict[str, str] | None = None
        self._above = above
        self.attached = CURRENT.set(Context({**context, SPAN: span}) if context else Context({SPAN: span}))
        # A span without ids: nobody makes spans, and what came in goes on as it is.
        is_some = type(span) is Dropped or span.get_span_context().is_valid
        self.before = carrier.set(self if is_some else above)

    def leave(self) -> None:
        """It is current no more."""
        carrier.reset(self.before)
        CURRENT.reset(self.attached)

    def _baggage(self) -> str | None:
        above = self._above
        while isinstance(above, _Open):
            above = above._above
        return None if above is None else above.get("baggage")

    def _all(self) -> dict[str, str]:
        if self._written is None:
            known = self.span.get_span_context()
            told = {"traceparent": f"00-{known.trace_id:032x}-{known.span_id:016x}-{int(known.trace_flags):02x}"}
            if known.trace_state:
                told["tracestate"] = known.trace_state.to_header()
            if (baggage := self._baggage()) is not None:
                told["baggage"] = baggage
            self._written = told
        return self._written

    def __getitem__(self, key: str) -> str:
        return self._all()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._all(),)  # what a worker process is given


class _NotSampled(_Open, Unobserved):
    """The span of a call that is not sampled; where nothing is counted either, its outcome says nothing new."""

    __slots__ = ()
    end = _Open.leave


class _Root(_NotSampled):
    """That of a call below nothing. What nobody asked for its ids stands for the next such call as well: without ids it
    is like any other, and to make one costs as much as all else that is done for a call that is not sampled."""

    __slots__ = ("_made", "inside", "spare")

    def __init__(self, span: Dropped, spare: list[_Root]) -> None:
        self.span, self.is_call = span, True
        self._written = self._above = None
        self.inside, self._made, self.spare = Context({SPAN: span}), span.made, spare

    def end(self) -> None:
        carrier.reset(self.before)
        CURRENT.reset(self.attached)
        if not self._made:
            self.spare.append(self)


class _Lazy(_Open):
    """That of a call which is sampled, made when somebody asks for it."""

    __slots__ = ("inside",)

    def __init__(self, inside: LazyContext, above: Mapping[str, str] | None) -> None:
        self.is_call, self.inside, self._above, self._written = True, inside, above, None
        self.attached, self.before = CURRENT.set(inside), carrier.set(self)

    @property
    def span(self) -> Span:  # type: ignore[override]
        return self.inside.span()


_AS_ABOVE = Unobserved()
"""Of a call below a span that is not sampled: that span stays current, and stands for the call as well."""


class Recorder:
    """Hears calls, and the other work of a host.

    Args:
        tracer: who makes spans.
        meter: who counts; None: nobody.
        content: whether spans hold arguments and results.
    """

    def __init__(self, tracer: Tracer, meter: Meter | None, *, content: bool) -> None:
        self._tracer = tracer
        self._decision = decision_of(tracer)
        self._drops_roots = self._decision is not None and self._decision.may_drop_root
        self.spare: list[_Root] = []
        self._records = None if content else records_of(tracer, self._decision, MAX_TEXT)
        self._content = content
        self._histograms: dict[str, Histogram] = {}
        if meter is not None:
            for name, (unit, bounds) in _INSTRUMENTS.items():
                self._histograms[name] = meter.create_histogram(
                    name, unit, explicit_bucket_boundaries_advisory=list(bounds)
                )
        self._tools: dict[str, tuple[Tool, str, dict[str, Any]]] = {}

    # -- calls

    def begin(self, call: ToolCall, session: Session, tool: Tool | None, parent_id: str | None) -> _Open | Unobserved:
        """Open the span of a call, before the call is admitted."""
        came, context, links = carrier.get(), CURRENT.get(), None
        if came is not None or context or self._drops_roots:  # else it begins a trace, and is not dropped here
            if (token := self._unobserved(came, context)) is not None:
                return token
            context, links = _parent(came, context)
            span = self._dropped(context) if self._histograms else None
            if span is not None:
                return _Open(span, context, came, is_call=True)
        name, attributes = self._told_of(call, tool)
        told = {**attributes, "gen_ai.tool.call.id": _text(str(call.id))}
        if links is None and self._records is not None and self._records.may_stand_for(context):
            return _Lazy(LazyContext(self._records, name, told, context), came)
        span = self._tracer.start_span(name, context, SpanKind.INTERNAL, told, links)
        return _Open(span, context, came, is_call=True)

    def unobserved(self) -> Unobserved | None:
        """What stands for a call that is not sampled, where nothing is counted either."""
        decision, came, context = self._decision, carrier.get(), CURRENT.get()
        if decision is None or self._histograms:
            return None
        if came is not None or context:
            return self._unobserved(came, context)
        if not (self._drops_roots and decision.drops_root()):
            return None
        try:
            root = self.spare.pop()  # in one step: calls begin in several threads
        except IndexError:
            root = _Root(Dropped(decision), self.spare)
        root.attached, root.before = CURRENT.set(root.inside), carrier.set(root)
        return root

    def _unobserved(self, came: Mapping[str, str] | None, context: Context) -> Unobserved | None:
        decision = self._decision
        if decision is None or self._histograms:
            return None
        here = context.get(SPAN)
        if here is not None and decision.has_dropped(here) and getattr(came, "span", None) is here:
            return _AS_ABOVE
        if came is not None:
            context, _ = _parent(came, context)
        span = decision.dropped(context)
        return None if span is None else _NotSampled(span, context, came, is_call=True)

    def _dropped(self, context: Context) -> Span | None:
        """The span of what is not sampled; None: it is, or the sampler is to be asked."""
        return None if self._decision is None else self._decision.dropped(context)

    def _told_of(self, call: ToolCall, tool: Tool | None) -> tuple[str, dict[str, Any]]:
        """The name of the span, and the attributes that are alike for all calls of a tool."""
        if tool is None:
            asked: Any = call.name  # a model may ask for anything
            name = _text(asked[:MAX_NAME]) if isinstance(asked, str) else OTHER
            return f"execute_tool {name}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        known = self._tools.get(tool.name)
        if known is None or known[0] is not tool:
            if len(self._tools) >= MAX_TOOLS:
                self._tools.clear()
            known = self._tools[tool.name] = (tool, f"execute_tool {tool.name}", _attributes_of(tool))
        return known[1], known[2]

    def __call__(self, outcome: Outcome) -> None:
        """End the span of a call with what became of it."""
        opened: _Open | None = outcome.token
        if opened is None:  # no call at all: a line of `batch` that cannot be read
            return
        opened.leave()
        tool, result = outcome.tool, outcome.result
        error = "cancelled" if result is None else None if result.error is None else result.error.code.value
        verdicts = [one for one in outcome.verdicts if one.verdict != "passed" or one.stage is Stage.APPROVE]
        if error is not None or verdicts or type(opened) is not _Lazy or not opened.inside.end():
            self._end(opened.span, outcome, error, verdicts)
        if self._histograms:
            counted = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool.name if tool else OTHER}
            if error is not None:
                counted["error.type"] = error
            self._histograms["gen_ai.execute_tool.duration"].record(outcome.duration_ms / 1000, counted)

    def _end(self, span: Span, outcome: Outcome, error: str | None, verdicts: list[Verdict]) -> None:
        """End the span of a call with what became of it: who was asked to approve, and which guards did more than let
        it pass; never what about."""
        try:
            if span.is_recording():
                if error is not None:
                    span.set_attribute("error.type", error)
                    span.set_status(Status(StatusCode.ERROR))
                for verdict in verdicts:
                    span.add_event(
                        "pegboard.guard",
                        {
                            "pegboard.guard.name": verdict.guard,
                            "pegboard.guard.stage": verdict.stage.value,
                            "pegboard.guard.verdict": verdict.verdict,
                            "pegboard.guard.duration_us": verdict.duration_us,
                        },
                    )
                if self._content:
                    span.set_attributes(_content_of(outcome))
        finally:  # a value of the program's own class may raise anything when it is shown
            span.end()

    # -- other work

    def span(self, name: str, kind: str, attributes: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
        """Open a span around other work of the host; what is given ends it."""
        current = carrier.get()
        if kind == "client" and isinstance(current, _Open) and current.is_call and _is_tools_call(attributes):
            return self._added_to(current.span, kind, attributes)
        context, links = _parent(current, CURRENT.get())
        started = perf_counter()
        span = self._dropped(context)
        if span is None:
            span = self._tracer.start_span(_text(name), context, _KINDS[kind], _texts(attributes), links)
        opened = _Open(span, context, current, is_call=False)

        def end(found: Mapping[str, Any]) -> None:
            opened.leave()
            _finish(opened.span, found)
            opened.span.end()
            self._count(kind, {**attributes, **found}, perf_counter() - started)

        return end

    def measure(self, name: str, value: float, attributes: Mapping[str, Any]) -> None:
        """Count a figure that belongs to no span; one of another name is left to others."""
        if name in self._histograms:
            self._histograms[name].record(
                value, _texts({key: attributes[key] for key in _COUNTED if key in attributes})
            )

    def _added_to(self, call: Span, kind: str, attributes: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
        """The call has a span already, and the conventions want no second one: its attributes are added to it, but for
        those that it has: the tool's name there is the server's own, without a prefix."""
        call.set_attributes(_texts({key: value for key, value in attributes.items() if not key.startswith("gen_ai.")}))
        started = perf_counter()

        def end(found: Mapping[str, Any]) -> None:
            call.set_attributes(_texts({key: value for key, value in found.items() if key != "error.type"}))
            self._count(kind, {**attributes, **found}, perf_counter() - started)

        return end

    def _count(self, kind: str, told: Mapping[str, Any], seconds: float) -> None:
        if not self._histograms:
            return
        counted = _texts({key: told[key] for key in _COUNTED if key in told})
        if "mcp.method.name" in told:
            if kind == "server":  # clients make names up
                for key, known in (("gen_ai.tool.name", self._tools), ("mcp.method.name", METHODS)):
                    if key in counted and counted[key] not in known:
                        counted[key] = OTHER
            self._histograms[f"mcp.{kind}.operation.duration"].record(seconds, counted)
        elif "http.request.method" in told:
            self._histograms[f"http.{kind}.request.duration"].record(seconds, counted)
        elif told.get("gen_ai.operation.name") == "invoke_agent":
            self._histograms["gen_ai.invoke_agent.duration"].record(seconds, counted)
        else:
            self._histograms["gen_ai.client.operation.duration"].record(seconds, counted)
            for kind_of_token in ("input", "output"):
                tokens = told.get(f"gen_ai.usage.{kind_of_token}_tokens")
                if tokens is not None:
                    self._histograms["gen_ai.client.token.usage"].record(
                        tokens, {**counted, "gen_ai.token.type": kind_of_token}
                    )


_OURS = (_Open, _Lazy, _NotSampled, _Root)


def _parent(came: Mapping[str, str] | None, current: Context) -> tuple[Context, list[Link] | None]:
    """What a new span lies below, and what it is linked to: the trace that a request brought, else what is current.

    A span of another trace that is current, as that of an HTTP framework around an MCP request, becomes a link (the MCP
    conventions).
    """
    if came is None or type(came) in _OURS:  # what came from outside is not a span of ours
        return current, None
    context = _BAGGAGE.extract(came, _TRACE.extract(came, current))
    here = get_current_span(current).get_span_context()
    there = get_current_span(context).get_span_context()
    if here.is_valid and (here.trace_id == there.trace_id):
        return current, None
    return context, [Link(here)] if here.is_valid else None


def _is_tools_call(attributes: Mapping[str, Any]) -> bool:
    return attributes.get("mcp.method.name") == "tools/call"


def _finish(span: Span, found: Mapping[str, Any]) -> None:
    if found and span.is_recording():
        span.set_attributes(_texts(found))
        if "error.type" in found:
            span.set_status(Status(StatusCode.ERROR))


def _attributes_of(tool: Tool) -> dict[str, Any]:
    told = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "extension" if tool.origin.source else "function",
    }
    return _texts({**told, "gen_ai.tool.description": tool.description} if tool.description else told)


def _texts(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in attributes.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _text(text: str) -> str:
    """A text as a span may hold it: of a bounded length, and without half a surrogate pair, which no UTF-8 carries: an
    exporter that meets one sends none of the spans beside it."""
    text = text[:MAX_TEXT]
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _content_of(outcome: Outcome) -> dict[str, str]:
    """Arguments and result as JSON, without secrets as in the audit."""
    secrets = hidden_in(outcome)
    told = {"gen_ai.tool.call.arguments": _json(outcome.call.arguments, secrets)}
    if outcome.result is not None:
        told["gen_ai.tool.call.result"] = _json(outcome.result.to_json(), secrets)
    return told


def _json(value: Any, secrets: tuple[str, ...]) -> str:
    try:
        text = json.dumps(without_secrets(beginning(value, 2 * MAX_CONTENT), secrets), ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # nothing that JSON brought
        return f"what is not JSON, of the type {type(value).__name__}"
    for secret in secrets:  # in what is not JSON, and is shown by its own text
        for form in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
            text = text.replace(form, "***")
    text = text if len(text) <= MAX_CONTENT else text[:MAX_CONTENT] + "..."
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
