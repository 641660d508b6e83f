"""A trace comes in by every interface and goes out on every way, unchanged, on a board that knows nothing of spans.

The interfaces are looked at by a tool that tells which trace it sees: itself, in a thread, and in nested calls. The
ways out are looked at from their other end. Between them lies `pegboard.trace.carrier` alone, so the two tables
together say it of every pair.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pegboard import CallContext, open_host, open_host_sync, tool, trace

for needed in ("pegboard_mcp", "pegboard_http", "pegboard_chat", "pegboard_manifest"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from pegboard.host import Host

    Trace = Mapping[str, Any] | None
    Call = Callable[[Trace], Awaitable[Any]]
    Interface = Callable[[Host], contextlib.AbstractAsyncContextManager[Call]]

# As in the tests of the transports: generators of the SDK's clients over HTTP are left half-way.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator:pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

SCRIPTED = Path(__file__).parent.parent / "plugins" / "pegboard-mcp" / "tests" / "servers" / "scripted.py"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WHOLE = {"traceparent": PARENT, "tracestate": "rojo=00f067aa0ba902b7,congo=t61", "baggage": "tenant=blue;x=1,k=v"}
GIVEN: dict[str, tuple[dict[str, Any] | None, dict[str, str] | None]] = {
    "nothing": (None, None),
    "a whole one": (WHOLE, WHOLE),
    "a parent": ({"traceparent": PARENT}, {"traceparent": PARENT}),
    "what is not part of one": ({**WHOLE, "x-trace": "1", "progress": "2"}, WHOLE),
}
"""What a caller brings, and what a tool sees."""


# -- what is a trace

SHAPES: list[tuple[dict[str, Any], dict[str, str] | None]] = [
    ({"traceparent": PARENT.upper()}, None),
    ({"traceparent": PARENT[:-1]}, None),
    ({"traceparent": f"{PARENT}-more"}, None),
    ({"traceparent": f"01{PARENT[2:]}-more"}, {"traceparent": f"01{PARENT[2:]}-more"}),
    ({"traceparent": f"01{PARENT[2:]}-{'x' * 456}"}, {"traceparent": f"01{PARENT[2:]}-{'x' * 456}"}),
    ({"traceparent": f"01{PARENT[2:]}-{'x' * 457}"}, None),
    ({"traceparent": f"ff{PARENT[2:]}"}, None),
    ({"traceparent": PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32)}, None),
    ({"traceparent": PARENT.replace("b7ad6b7169203331", "0" * 16)}, None),
    ({"traceparent": f"{PARENT}\n"}, None),
    ({"traceparent": [PARENT]}, None),
    ({"traceparent": 7, "tracestate": "a=b"}, None),
    ({"tracestate": "a=b"}, None),
    ({**WHOLE, "tracestate": "a" * 513}, {key: WHOLE[key] for key in ("traceparent", "baggage")}),
    ({**WHOLE, "tracestate": "a" * 512}, {**WHOLE, "tracestate": "a" * 512}),
    ({**WHOLE, "tracestate": "a=b\r\nhost: evil"}, {key: WHOLE[key] for key in ("traceparent", "baggage")}),
    ({**WHOLE, "baggage": "b" * 8193}, {key: WHOLE[key] for key in ("traceparent", "tracestate")}),
    ({"baggage": "b" * 8192}, {"baggage": "b" * 8192}),
    ({"baggage": "k=\u00fc"}, None),
    ({"baggage": "k=\x00"}, None),
    ({"baggage": ""}, None),
    ({"baggage": {"k": "v"}}, None),
]


@pytest.mark.parametrize(("given", "seen"), SHAPES)
def test_what_has_not_the_form_of_a_trace_is_dropped(given: dict[str, Any], seen: dict[str, str] | None) -> None:
    assert trace.of_mapping(given) == seen


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60) | st.sampled_from(list(WHOLE.values())),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*trace.MAX_CHARACTERS, "other"]), json_values))
def test_whatever_is_given_what_is_let_through_is_short_printable_and_of_the_three_keys(given: dict[str, Any]) -> None:
    seen = trace.of_mapping(given) or {}
    assert seen.keys() <= trace.MAX_CHARACTERS.keys()
    assert all(given[key] is value for key, value in seen.items())
    assert all(value.isascii() and value.isprintable() for value in seen.values())
    assert "tracestate" not in seen or "traceparent" in seen
    with trace.following(trace.of_mapping(given)):
        assert trace.of_environment(trace.to_environment()) == (seen or None)


def test_what_came_in_is_known_whatever_spans_lie_below_it() -> None:
    with trace.following({"traceparent": PARENT}):
        current = trace.carrier.set({"traceparent": PARENT.replace("-01", "-00")})
        with trace.following(None):
            assert trace.arrived.get() == {"traceparent": PARENT}
        trace.carrier.reset(current)
    assert trace.arrived.get() is trace.carrier.get() is None


def test_headers_are_read_as_w3c_has_them() -> None:
    parent, other = (b"traceparent", PARENT.encode()), (b"traceparent", PARENT.replace("-01", "-00").encode())
    lists = [(b"tracestate", b"a=1"), (b"baggage", b"k=1 "), (b"tracestate", b"b=2"), (b"baggage", b"k=2")]
    assert trace.of_headers([(b"host", b"x"), parent, *lists]) == {
        "traceparent": PARENT, "tracestate": "a=1,b=2", "baggage": "k=1,k=2"
    }  # fmt: skip
    assert trace.of_headers([parent, other]) is None
    assert trace.of_headers([(b"traceparent", b"\xff" * 55), (b"host", b"x")]) is None
    assert trace.of_headers([(b"host", b"x")]) is None


def test_the_boards_own_variables_come_before_those_of_all_programs() -> None:
    other = PARENT.replace("-01", "-00")
    assert trace.of_environment({"TRACEPARENT": PARENT, "BAGGAGE": "k=v"}) == {"traceparent": PARENT, "baggage": "k=v"}
    assert trace.of_environment({"TRACEPARENT": PARENT, "PEGBOARD_TRACEPARENT": other}) == {"traceparent": other}
    assert trace.of_environment({"TRACEPARENT": PARENT, "PEGBOARD_TRACEPARENT": "nonsense"}) == {"traceparent": PARENT}
    assert trace.of_environment({}) is None


# -- the interfaces


@tool(read_only=True)
async def seen(context: CallContext) -> dict[str, Any]:
    """Tell the trace of this call, from every place where its work may be done."""
    places = {"task": _told()}
    for place in ("thread", "inside"):
        places[place] = (await context.call(place)).data["trace"]
    one, *others = [json.dumps(told, sort_keys=True) for told in places.values()]
    assert others == [one] * len(others), places
    return {"trace": places["task"]}


def _told() -> dict[str, str] | None:
    found = trace.carrier.get()
    return None if found is None else dict(found)


@tool(read_only=True)
def thread(context: CallContext) -> dict[str, Any]:
    """Tell it from a thread, and from a call that the thread makes."""
    assert context.call_sync("inside").data == {"trace": _told()}
    return {"trace": _told()}


@tool(read_only=True, run="inplace")
def inside() -> dict[str, Any]:
    """Tell it in place."""
    return {"trace": _told()}


TOOLS = [seen, thread, inside]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
META = "io.modelcontextprotocol/"
MODERN = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def _params(given: Trace, *, modern: bool) -> dict[str, Any]:
    meta = {**(MODERN if modern else {}), **(given or {})}
    return {"name": "seen", "arguments": {}, **({"_meta": meta} if meta else {})}


def _answer(message: dict[str, Any]) -> Any:
    assert not message["result"].get("isError"), message
    return message["result"]["structuredContent"]["trace"]


@contextlib.asynccontextmanager
async def by_python(host: Host) -> AsyncIterator[Call]:
    async def call(given: Trace) -> Any:
        with trace.following(trace.of_mapping(given or {})):
            result = await host.session().call("seen")
            assert result.ok, result
            return result.data["trace"]

    yield call


@contextlib.asynccontextmanager
async def by_chat(host: Host) -> AsyncIterator[Call]:
    from pegboard_chat import Chat, echo

    async def call(given: Trace) -> Any:
        with trace.following(trace.of_mapping(given or {})):
            async with Chat(host.session(), echo.EchoModel()).ask("seen {}") as events:
                (result,) = [event.result async for event in events if hasattr(event, "result")]
        return result.data["trace"]

    yield call


@contextlib.asynccontextmanager
async def by_memory(host: Host, *, mode: str) -> AsyncIterator[Call]:
    from mcp import Client

    from pegboard_mcp.server.app import make_server

    async with Client(make_server(host), mode=mode, cache=None) as client:

        async def call(given: Trace) -> Any:
            answer = await client.call_tool("seen", {}, meta=dict(given) if given else None)
            return answer.structured_content["trace"]

        yield call


@contextlib.asynccontextmanager
async def by_stdio(host: Host, *, modern: bool) -> AsyncIterator[Call]:
    from pegboard_mcp.server.app import make_server
    from pegboard_mcp.server.stdio import serve_stdio

    (read, write), (read_back, write_back) = os.pipe(), os.pipe()
    numbers = iter(range(1, 1000))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_stdio, make_server(host), read, write_back)
        out, back = trio.lowlevel.FdStream(write), trio.lowlevel.FdStream(read_back)

        async def ask(method: str, params: Any) -> Any:
            message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
            await out.send_all(json.dumps(message).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                line += await back.receive_some()
            return json.loads(line.splitlines()[-1])

        async def call(given: Trace) -> Any:
            return _answer(await ask("tools/call", _params(given, modern=modern)))

        if not modern:
            await ask("initialize", HELLO)
            await out.send_all(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        yield call
        await out.aclose()
        nursery.cancel_scope.cancel()
    await back.aclose()
    for descriptor in (read, write_back):
        os.close(descriptor)


@contextlib.asynccontextmanager
async def served(host: Host, transport: str) -> AsyncIterator[str]:
    from pegboard_mcp.server.http import serve_http
    from pegboard_mcp.settings import McpSettings

    serve = partial(serve_http, host, transport=transport, bind="127.0.0.1", port=0, user_id=None)
    async with trio.open_nursery() as nursery:
        yield await nursery.start(partial(serve, settings=McpSettings()))
        nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def by_http(host: Host, *, modern: bool, in_headers: bool = False, fast: bool = True) -> AsyncIterator[Call]:
    import httpx2

    from pegboard_mcp.server import _sdk

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sdk, "FAST_PATH", fast)
        async with served(host, "http") as url, httpx2.AsyncClient(timeout=20, trust_env=False, verify=False) as client:
            version = "2026-07-28" if modern else "2025-11-25"
            headers = {**BOTH, "mcp-protocol-version": version}
            numbers = iter(range(1, 1000))
            if not modern:
                hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
                answer = await client.post(url, json=hello, headers=BOTH)
                headers["mcp-session-id"] = answer.headers["mcp-session-id"]
                ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                await client.post(url, json=ready, headers=headers)
            else:
                headers |= {"mcp-method": "tools/call", "mcp-name": "seen"}

            async def call(given: Trace) -> Any:
                params = _params(None if in_headers else given, modern=modern)
                message = {"jsonrpc": "2.0", "id": next(numbers), "method": "tools/call", "params": params}
                more = dict(given or {}) if in_headers else {}
                answer = await client.post(url, json=message, headers=headers | more)
                text = answer.text.partition("data: ")[2] if answer.text.startswith(("event", "data", "id")) else ""
                return _answer(json.loads(text.partition("\n")[0] if text else answer.text))

            yield call


@contextlib.asynccontextmanager
async def by_websocket(host: Host, *, modern: bool) -> AsyncIterator[Call]:
    import trio_websocket

    numbers = iter(range(1, 1000))
    # The trace of the handshake is that of the connection, and of none of its requests.
    ambient = [("traceparent", PARENT.replace("-01", "-00").encode())]
    async with (
        served(host, "websocket") as url,
        trio_websocket.open_websocket_url(url, subprotocols=["mcp"], extra_headers=ambient) as socket,
    ):

        async def ask(method: str, params: Any) -> Any:
            message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
            await socket.send_message(json.dumps(message))
            return json.loads(await socket.get_message())

        if not modern:
            await ask("initialize", HELLO)
            await socket.send_message('{"jsonrpc": "2.0", "method": "notifications/initialized"}')

        async def call(given: Trace) -> Any:
            return _answer(await ask("tools/call", _params(given, modern=modern)))

        yield call


@contextlib.asynccontextmanager
async def by_sse(host: Host) -> AsyncIterator[Call]:
    from mcp import ClientSession
    from mcp.client.sse import sse_client

    async with served(host, "sse") as url, sse_client(url) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(given: Trace) -> Any:
            answer = await session.call_tool("seen", {}, meta=dict(given) if given else None)
            return answer.structured_content["trace"]

        yield call


@contextlib.asynccontextmanager
async def by_gateway(host: Host) -> AsyncIterator[Call]:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:

            async def call(given: Trace) -> Any:
                answer = await client.post("/tools/seen", json={}, headers=dict(given or {}))
                return answer.json()["data"]["trace"]

            yield call
        nursery.cancel_scope.cancel()


INTERFACES: dict[str, Interface] = {
    "python": by_python,
    "chat": by_chat,
    "mcp in memory, handshake": partial(by_memory, mode="legacy"),
    "mcp in memory, 2026-07-28": partial(by_memory, mode="auto"),
    "mcp on stdio, handshake": partial(by_stdio, modern=False),
    "mcp on stdio, 2026-07-28": partial(by_stdio, modern=True),
    "mcp over http, handshake": partial(by_http, modern=False),
    "mcp over http, 2026-07-28": partial(by_http, modern=True),
    "mcp over http, handshake, the SDK's own path": partial(by_http, modern=False, fast=False),
    "mcp over http, 2026-07-28, the SDK's own path": partial(by_http, modern=True, fast=False),
    "mcp over http, handshake, in headers": partial(by_http, modern=False, in_headers=True),
    "mcp over http, 2026-07-28, in headers": partial(by_http, modern=True, in_headers=True),
    "mcp over sse": by_sse,
    "mcp over websocket, handshake": partial(by_websocket, modern=False),
    "mcp over websocket, 2026-07-28": partial(by_websocket, modern=True),
    "gateway": by_gateway,
}


@pytest.mark.parametrize("interface", INTERFACES)
async def test_a_tool_sees_the_trace_that_came_in_with_its_call_and_no_other(host_with: Any, interface: str) -> None:
    host = await host_with()
    host.add(*TOOLS)
    with trio.fail_after(60):
        async with INTERFACES[interface](host) as call:
            for what, (given, expected) in [*GIVEN.items(), *GIVEN.items()]:
                assert await call(given) == expected, what
            if interface not in ("mcp over sse", "mcp in memory, 2026-07-28"):  # their client looks at what it sends
                assert await call({"traceparent": "nonsense", "tracestate": "a=b"}) is None
    assert trace.carrier.get() is None


class Measuring:
    """An observer that hears figures."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []

    def measure(self, name: str, value: float, attributes: Any) -> None:
        assert value >= 0
        self.heard.append((name, dict(attributes)))

    def __call__(self, outcome: Any) -> None: ...


NO_SESSION = {name for name in INTERFACES if "http, 2026" in name} | {"python", "chat", "gateway"}
"""Where nothing lasts: over HTTP, 2026-07-28 has requests alone."""


@pytest.mark.parametrize("interface", INTERFACES)
async def test_each_session_of_mcp_is_measured_once_when_it_ends(host_with: Any, interface: str) -> None:
    host = await host_with()
    host.add(*TOOLS)
    measuring = Measuring()
    stop = host.add_observer(measuring)
    with trio.fail_after(60):
        async with INTERFACES[interface](host) as call:
            await call(None)
            assert measuring.heard == []
    stop()
    version = "2026-07-28" if "2026" in interface else "2025-11-25"
    told = {"mcp.protocol.version": version, "network.transport": "tcp" if " over " in interface else "pipe"}
    assert measuring.heard == ([] if interface in NO_SESSION else [("mcp.server.session.duration", told)])


@pytest.mark.parametrize("interface", ["python", "mcp over http, 2026-07-28", "mcp over http, handshake", "gateway"])
async def test_calls_at_once_do_not_see_each_others_trace(host_with: Any, interface: str) -> None:
    host = await host_with()
    host.add(*TOOLS)
    told: dict[int, Any] = {}

    def one_of(number: int) -> dict[str, str] | None:
        return None if number % 4 == 0 else {"traceparent": f"00-{number:032x}-{number:016x}-01"}

    with trio.fail_after(60):
        async with INTERFACES[interface](host) as call, trio.open_nursery() as nursery:

            async def one(number: int) -> None:
                told[number] = await call(one_of(number))

            for number in range(24):
                nursery.start_soon(one, number)
    assert told == {number: one_of(number) for number in range(24)}


def test_a_program_without_a_loop_brings_its_trace() -> None:
    with open_host_sync(plugins=[]) as host:
        host.add(*TOOLS)
        with trace.following(trace.of_mapping(WHOLE)):
            assert host.call("seen").data == {"trace": WHOLE}
        assert host.call("seen").data == {"trace": None}


def test_so_does_a_program_on_asyncio() -> None:
    import asyncio

    import pegboard.asyncio

    async def main() -> list[Any]:
        async with pegboard.asyncio.open_host(plugins=[]) as host:

            @tool
            async def over_there() -> dict[str, Any]:
                return {"trace": _told()}

            host.add(over_there, *TOOLS)
            with trace.following(trace.of_mapping(WHOLE)):
                first = [(await host.session().call(name)).data["trace"] for name in ("seen", "over_there")]
            return [*first, (await host.session().call("seen")).data["trace"]]

    assert asyncio.run(main()) == [WHOLE, WHOLE, None]


# -- the ways out


def _manifest(folder: Path, url: str) -> Path:
    common: dict[str, Any] = {
        "description": "Tells its trace.", "category": "read", "risk": "low", "idempotency": "idempotent",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "examples": [{"input": {}}],
    }  # fmt: skip
    words = ["-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    program = {
        "kind": "subprocess", "program": "python", "output": {"parser": "json"},
        "arguments": [{"kind": "literal", "value": word} for word in words],
    }  # fmt: skip
    asks = {"kind": "http", "server": "there", "method": "GET", "path": "/told", "output": {"parser": "json"}}
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Trace", "runtime": "other", "execution_model": "subprocess"},
        "programs": {"python": {"argv0": [sys.executable]}},
        "servers": {"there": {"base_url": url}},
        "tools": [
            {**common, "id": "program:tell", "name": "program_tells", "binding": program},
            {**common, "id": "http:tell", "name": "server_tells", "binding": asks},
        ],
    }
    place = folder / "tool.manifest.json"
    place.write_text(json.dumps(document), encoding="utf-8")
    return place


def of_child(environ: Mapping[str, str]) -> dict[str, str] | None:
    """The trace in the environment of a child, by the names of all programs; the board's own say the same."""
    found = {key: environ[key.upper()] for key in trace.MAX_CHARACTERS if key.upper() in environ}
    own = {key: environ[name] for key in trace.MAX_CHARACTERS if (name := f"PEGBOARD_{key.upper()}") in environ}
    assert own == found
    return found or None


@contextlib.asynccontextmanager
async def a_server() -> AsyncIterator[str]:
    """An HTTP server that answers with the headers that it was sent."""

    async def answer(stream: trio.SocketStream) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += await stream.receive_some()
        lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
        body = json.dumps([[name.lower(), value] for name, _, value in lines]).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        await stream.send_all(head % len(body) + body)
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def to_an_http_server(host: Host, folder: Path) -> dict[str, str] | None:
    result = await host.session().call("server_tells")
    assert result.ok, result
    told = result.data["result"]
    found = [(name, value) for name, value in told if name in trace.MAX_CHARACTERS]
    assert len(dict(found)) == len(found), "each header stands there once"
    return dict(found) or None


async def to_a_program(host: Host, folder: Path) -> dict[str, str] | None:
    result = await host.session().call("program_tells")
    assert result.ok, result
    return of_child(result.data)


async def to_a_command(host: Host, folder: Path) -> dict[str, str] | None:
    result = await host.session().call("execute_command", {"command": "printenv"})
    if result.error is not None and result.error.details.get("reason") == "level":
        pytest.skip(f"no isolation here: {result.error.message}")
    assert result.ok, result
    return of_child(dict(line.split("=", 1) for line in result.data["stdout"].splitlines()))


async def to_an_mcp_server(host: Host, folder: Path, *, name: str) -> dict[str, str] | None:
    await host.session().call(name, {"a": 1, "b": 2})
    heard = [json.loads(line) for line in (folder / name / "heard").read_text().splitlines()]
    *_, last = [message for message in heard if message.get("method") == "tools/call"]
    meta = last["params"].get("_meta", {})
    return {key: meta[key] for key in trace.MAX_CHARACTERS if key in meta} or None


WAYS: dict[str, Callable[[Host, Path], Awaitable[dict[str, str] | None]]] = {
    "an HTTP server": to_an_http_server,
    "a program of a manifest": to_a_program,
    "a command": to_a_command,
    "an MCP server, handshake": partial(to_an_mcp_server, name="old_add"),
    "an MCP server, 2026-07-28": partial(to_an_mcp_server, name="new_add"),
}


async def test_a_trace_goes_out_on_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    servers = {}
    for name, script in (("old", {}), ("new", {"modern": True})):
        notes = tmp_path / f"{name}_add"
        notes.mkdir()
        argv = ["-S", str(SCRIPTED), str(notes), json.dumps(script)]
        servers[name] = {"command": sys.executable, "args": argv, "prefix": f"{name}_", "allowed_tools": ["add"]}
    async with a_server() as url:
        config = {
            "plugins": {"mcp": {"servers": servers}, "manifest": {"files": [str(_manifest(tmp_path, url))]}},
            "tools": {"execute_command": {"allowed_commands": ["printenv"]}},
        }
        plugins = ["mcp", "manifest", "system"]
        with trio.fail_after(60):
            async with open_host(config, plugins) as host:
                await host.wait_for_sources()
                for way, ask in WAYS.items():
                    for what, (given, expected) in [*GIVEN.items(), ("nothing again", (None, None))]:
                        with trace.following(trace.of_mapping(given or {})):
                            assert await ask(host, tmp_path) == expected, (way, what)


PROGRAM: dict[str, list[str]] = {
    "call": ["call", "program_tells", "--json"],
    "batch": ["batch"],
    "chat": ["chat", "--model", "echo", "--json", "program_tells {}"],
}


@pytest.mark.parametrize("command", PROGRAM)
def test_the_program_hands_on_the_trace_of_its_environment(
    tmp_path: Path, command: str, run_program: Callable[..., Any]
) -> None:
    file = tmp_path / "pegboard.toml"
    file.write_text(f"[plugins.manifest]\nfiles = ['{_manifest(tmp_path, 'http://127.0.0.1:1')}']\n")
    plain = {name: value for name, value in os.environ.items() if name not in trace.VARIABLES}
    for prefix, brought, expected in (("PEGBOARD_", WHOLE, WHOLE), ("", WHOLE, WHOLE), ("PEGBOARD_", {}, None)):
        env = plain | {f"{prefix}{key.upper()}": value for key, value in brought.items()}
        line = '{"name": "program_tells", "arguments": {}}\n'
        done = run_program("--config", str(file), *PROGRAM[command], env=env, stdin=line)
        assert done.returncode == 0, done.stderr
        texts = [done.stdout] if command == "call" else done.stdout.splitlines()
        (data,) = [data for text in texts if (data := json.loads(text).get("data"))]
        assert of_child(data) == expected
    assert trace.carrier.get() is None


def test_a_trace_of_the_environment_is_no_setting(run_program: Callable[..., Any]) -> None:
    assert run_program("list", env=os.environ | {"PEGBOARD_TRACEPARENT": "nonsense"}).returncode == 0
    assert run_program("list", env=os.environ | {"PEGBOARD_TRACEPARENTS": "x"}).returncode == 2
