"""What answers for an instance and is not one, and two programs that are called alike."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import trio

from pegboard import tool
from pegboard_mcp import plugin as mcp_plugin
from pegboard_mcp.server import handles
from pegboard_mcp.server.handles import SESSION, STATE, TASK, Handles, Name, Seal, bound_to, owner_text
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.settings import McpSettings
from pegboard_serving import Caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

KEY = "a key that all of them share"
PREFIX = "io.modelcontextprotocol/"
TASKS = {f"{PREFIX}tasks": {}}
META = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": {"extensions": TASKS}}
NOBODY = Caller(None, None, None)
BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def answer(status: str, body: bytes = b"", *more: str, kind: str = "application/json") -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more, "", ""]
    return "\r\n".join(head).encode() + body


THIRD_PARTIES = {
    "hangs up": b"",
    "speaks no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "ends within the head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "has a head without end": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000,
    "goes over to another protocol": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "says a wrong length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    "ends within its JSON": answer("200 OK", b'{"jsonrpc":')[:-1],
    "packs what cannot be unpacked": answer("200 OK", b"\x1f\x8bxx", "Content-Encoding: gzip"),
    "answers another": answer("200 OK", b'{"jsonrpc":"2.0","id":99,"result":{}}'),
    "answers nothing": answer("200 OK"),
    "has a page": answer("200 OK", b"<h1>secret intranet</h1>", kind="text/html"),
    "is a proxy whose server is down": answer("502 Bad Gateway", b"<h1>nginx</h1>", kind="text/html"),
    "does not have it": answer("404 Not Found", b"no", kind="text/plain"),
    "wants another method": answer("405 Method Not Allowed"),
    "wants a credential": answer("401 Unauthorized", b"", 'WWW-Authenticate: Basic realm="intranet"'),
    "sends elsewhere": answer("302 Found", b"", "Location: http://127.0.0.1:9/"),
    "takes it, it says": answer("202 Accepted"),
    "has a status of its own": answer("999 X"),
    "has an old mark": answer("200 OK", b'{"jsonrpc":"2.0","id":1,"result":{}}', "Pegboard-Answered: AAAA"),
}


@contextlib.asynccontextmanager
async def third_party(says: bytes) -> AsyncIterator[str]:
    """The address of somebody who answers every request so."""

    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            with contextlib.suppress(trio.BrokenResourceError):
                await stream.receive_some(65_536)
                if says:
                    await stream.send_all(says)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


@pytest.fixture
def instance(host_with: Any) -> Callable[..., Any]:
    """`async with instance(others, ...) as (client, url)`: an instance called `me`, and a client of it."""

    @contextlib.asynccontextmanager
    async def serve(others: Any, transport: Any = "http", name: str = "me", key: str = KEY) -> Any:
        @tool(run="inplace")
        def where() -> str:
            """Say who answers."""
            return name

        host = await host_with(mcp_plugin, config={"plugins": {"mcp": {"task_after_s": 30.0}}})
        host.add(where)
        settings = McpSettings(state_key=key, instance=name, instances=others)
        async with trio.open_nursery() as nursery, httpx2.AsyncClient(timeout=20, verify=False) as client:
            start = partial(serve_http, host, transport=transport, bind="127.0.0.1", port=0)
            url = await nursery.start(partial(start, user_id=None, settings=settings))
            with trio.fail_after(60):
                yield client, url
            nursery.cancel_scope.cancel()

    return serve


def belongs_to(name: Name, transport: str = "http") -> dict[str, tuple[str, dict[str, str], Any]]:
    """Requests that belong to an instance: the method, headers and message of each."""
    other = Handles(Seal(KEY), name)
    called = {"name": "where", "arguments": {}, "_meta": META}
    state = other.give(STATE, "x", bound_to=bound_to(NOBODY, "tools/call", called), for_s=60)
    task = other.give(TASK, "x", bound_to=owner_text(NOBODY), for_s=60)
    session = other.give(SESSION, "0" * 32, bound_to=owner_text(NOBODY))
    old = {"mcp-session-id": session, "mcp-protocol-version": "2025-06-18"}
    new = {"mcp-protocol-version": "2026-07-28"}
    ping = {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    if transport == "sse":
        at = {"path": f"/messages/?session_id={session}"}
        return {"session": ("POST", at, ping), "note": ("POST", at, note)}
    again = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {**called, "requestState": state}}
    asked = {"jsonrpc": "2.0", "id": 5, "method": "tasks/get", "params": {"taskId": task, "_meta": META}}
    return {
        "state": ("POST", new | {"mcp-method": "tools/call", "mcp-name": "where"}, again),
        "task": ("POST", new | {"mcp-method": "tasks/get", "mcp-name": task}, asked),
        "session": ("POST", old, ping),
        "note": ("POST", old, note),
        "stream": ("GET", old, None),
        "end": ("DELETE", old, None),
    }


async def ask(client: Any, url: str, method: str, headers: dict[str, str], message: Any) -> Any:
    headers = dict(headers)
    if path := headers.pop("path", None):
        url = url.removesuffix("/sse") + path
    return await client.request(method, url, headers=BOTH | headers, json=message)


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize("how", THIRD_PARTIES)
async def test_only_an_instance_answers_for_an_instance(
    instance: Any, how: str, transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with third_party(THIRD_PARTIES[how]) as address, instance({"other": address}, transport) as (client, url):
        for what, request in belongs_to(Name("other", "p"), transport).items():
            said = await ask(client, url, *request)
            assert "intranet" not in said.text + str(said.headers), what
            if request[2] is None or "id" not in request[2]:
                assert (said.status_code, said.headers["content-type"]) == (404, "text/plain; charset=utf-8"), what
                continue
            error = said.json()["error"]
            assert said.json()["id"] == 5
            # What became of a task might be known here, where the request is then answered.
            assert error["data"]["code"] in {"OUTCOME_UNKNOWN", "UPSTREAM_ERROR" if what == "task" else ""}, what
            assert error["data"]["details"]["reason"] == "instance", what
    told = [one.getMessage() for one in caplog.records if "is not reached" in one.getMessage()]
    assert len(told) <= 1  # said once, whatever is asked
    assert "intranet" not in caplog.text


async def test_an_instance_with_another_key_answers_for_nobody(instance: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with instance({}, name="other", key="another key for these ones") as (_, there):
        others = {"other": there.removesuffix("/mcp")}
        async with instance(others) as (client, url):
            for what in ("state", "session"):
                said = await ask(client, url, *belongs_to(Name("other", "p"))[what])
                assert said.json()["error"]["data"]["code"] == "OUTCOME_UNKNOWN"
    assert "does not have the same state_key" in caplog.text


@contextlib.asynccontextmanager
async def between(
    url: str, asked: Callable[[bytes], bytes] = bytes, answered: Callable[[bytes], bytes] = bytes
) -> AsyncIterator[dict[str, str]]:
    """The instance at a URL as `other`, with somebody between who changes what is said."""
    port = int(url.rsplit(":", 1)[1].split("/")[0])

    async def relay(stream: trio.SocketStream) -> None:
        async with stream, await trio.open_tcp_stream("127.0.0.1", port) as on:
            await on.send_all(asked(await stream.receive_some(65_536)))
            got = b""
            while b"\r\n\r\n" not in got or got.endswith(b"\r\n\r\n"):
                got += await on.receive_some(65_536)
            await stream.send_all(answered(got))

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, relay, 0, host="127.0.0.1"))
        yield {"other": f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"}
        nursery.cancel_scope.cancel()


async def test_an_instance_that_does_not_serve_the_name_of_its_host_is_not_there(
    instance: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def renamed(request: bytes) -> bytes:
        return re.sub(rb"(?i)\r\nhost: [^\r]+", b"\r\nHost: pegboard-b.internal", request)

    async with instance({}, name="other") as (_, there), between(there, renamed) as others:
        async with instance(others) as (client, url):
            said = await ask(client, url, *belongs_to(Name("other", "p"))["state"])
        assert (said.status_code, said.json()["error"]["data"]["details"]["retry"]) == (503, "same")
    assert "see allowed_hosts there" in caplog.text


async def test_an_answer_that_breaks_off_is_no_half_of_one(instance: Any) -> None:
    """An instance that dies while it answers: the client reads JSON, and that nobody knows how far it came."""
    async with (
        instance({}, name="other") as (_, there),
        between(there, answered=lambda said: said[:-10]) as others,
        instance(others) as (client, url),
    ):
        said = await ask(client, url, *belongs_to(Name("other", "p"))["state"])
        assert json.loads(said.text)["error"]["data"]["code"] == "OUTCOME_UNKNOWN"


# -- instances that are gone, and such that are called alike


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_session_of_an_instance_that_is_gone_is_not_found(instance: Any, transport: str) -> None:
    async with instance({}, transport) as (client, url):
        for what, request in belongs_to(Name("me", "before"), transport).items():
            said = await ask(client, url, *request)
            if what in {"state", "task"}:
                assert said.json()["error"]["data"]["code"] == "OUTCOME_UNKNOWN"
            else:
                assert said.status_code == 404, what
            if what == "session":
                assert said.json()["error"]["data"]["details"]["executed"] is False


@pytest.mark.parametrize("later_s", [0.0, 30.0, 90.0])
async def test_two_programs_of_one_name_are_told(
    instance: Any, later_s: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    async with instance({}) as (client, url):
        with monkeypatch.context() as patched:
            now = handles.time.time()
            patched.setattr(handles.time, "time", lambda: now + later_s)
            requests = belongs_to(Name("me", "twin"))
        answers = {what: await ask(client, url, *request) for what, request in requests.items()}
    is_told = later_s > handles.APART_S
    assert caplog.text.count("another program serves as the instance 'me'") == is_told
    for what in ("state", "task", "session"):
        details = answers[what].json()["error"]["data"]["details"]
        assert details["retry"] == ("same" if is_told else "changed" if what == "session" else "unknown"), what


def test_processes_of_one_program_are_no_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (Handles(Seal(KEY), Name("me", f"program-{number}")) for number in (1, 2))
    now = handles.time.time()
    monkeypatch.setattr(handles.time, "time", lambda: now + 1_000)
    for giver, reader in ((one, other), (other, one)):
        sealed = reader.read(SESSION, giver.give(SESSION, "x"))
        assert sealed is not None
        assert not reader.has_twin(sealed.name)


@pytest.mark.parametrize(
    "values", [[], ["me", "p"], ["me", "p", "x"], ["me", "p", 5, 5], ["me", "p", "x", 1, 2], [None]]
)
def test_what_another_version_sealed_is_nothing(values: list[Any]) -> None:
    reader = Handles(Seal(KEY), Name("me", "p"))
    assert reader.read(SESSION, reader.seal.seal(SESSION, values)) is None
