"""Calls of http tools through a board, against real servers on this machine that answer, break off, drip and lie."""

from __future__ import annotations

import contextlib
import functools
import gc
import gzip
import inspect
import json
import logging
import os
import shutil
import ssl
import threading
import types

import httpx2
import pytest
import trio
import trio.testing

import pegboard_manifest.plugin
from pegboard import BinaryContent, Limits, Tool, hookimpl
from pegboard.testing import assert_error, assert_ok
from pegboard_manifest.bindings.http import handler, make_handler, run_of
from pegboard_manifest.bindings.http.answer import read_answer
from pegboard_manifest.bindings.http.client import HttpClient, open_client


class Seen:
    """A server of a test: what was asked of it, and what it answers."""

    def __init__(self, answers):
        self.answers = answers
        self.requests = []
        self.connections = 0
        self.url = ""
        self.port = 0

    async def talk(self, stream):
        self.connections += 1
        buffer = b""
        async with stream:
            while True:
                while b"\r\n\r\n" not in buffer:
                    try:
                        data = await stream.receive_some()
                    except trio.BrokenResourceError:
                        return
                    if not data:
                        return
                    buffer += data
                head, _, buffer = buffer.partition(b"\r\n\r\n")
                lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
                length = int(headers.get("content-length", 0))
                while len(buffer) < length:
                    buffer += await stream.receive_some()
                body, buffer = buffer[:length], buffer[length:]
                method, target, _ = lines[0].split(" ")
                request = types.SimpleNamespace(method=method, target=target, headers=headers, body=body)
                self.requests.append(request)
                answer = self.answers(request, len(self.requests))
                if callable(answer):
                    with contextlib.suppress(trio.BrokenResourceError):
                        await answer(stream)
                    return
                await stream.send_all(answer)


def answer(status=200, body=b"{}", headers=(), media="application/json", length=None):
    head = [f"HTTP/1.1 {status} X", *([f"Content-Type: {media}"] if media else []), *headers]
    head.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


async def reset(stream):
    """Close without an answer."""


def sends(data):
    async def send(stream):
        await stream.send_all(data)

    return send


@pytest.fixture
async def serve(nursery):
    """`await serve(answers)`: bytes, what talks on a connection, or a function of request and count that gives one."""

    async def start(answers, talk=None):
        is_one = isinstance(answers, bytes) or inspect.iscoroutinefunction(answers)
        seen = Seen((lambda request, count: answers) if is_one else answers)
        server = functools.partial(trio.serve_tcp, talk or seen.talk, 0, host="127.0.0.1")
        (listener,) = await nursery.start(server)
        seen.port = listener.socket.getsockname()[1]
        seen.url = f"http://127.0.0.1:{seen.port}"
        return seen

    return start


@pytest.fixture
def tool_of(host_with, monkeypatch):
    """`await tool_of(server, binding...)` registers one tool and gives what calls it."""
    monkeypatch.delenv("HTTP_PROXY", raising=False)

    async def hang(
        base_url,
        *,
        method="GET",
        path="/x",
        parameters=(),
        idempotency="idempotent",
        timeout_s=None,
        server=None,
        output_schema=None,
        http=None,
        **binding,
    ):
        entry = {
            "id": f"http:{method} {path}",
            "name": "ask",
            "idempotency": idempotency,
            "input_schema": {"type": "object", "properties": {}},
            "binding": {
                "kind": "http",
                "server": "s",
                "method": method,
                "path": path,
                "parameters": list(parameters),
                **binding,
            },
        }
        server = {"base_url": base_url, **(server or {})}
        manifest = types.SimpleNamespace(document={"servers": {"s": server}, "tools": [entry]})
        assert run_of(entry, manifest) == "async"
        limits = {} if timeout_s is None else {"limits": Limits(timeout_s=timeout_s)}
        made = Tool(
            name="ask",
            handler=make_handler(entry, manifest),
            description="Ask.",
            input_schema=entry["input_schema"],
            output_schema=output_schema or {"type": "object"},
            **limits,
        )

        class Plugin:
            __name__ = "http_test"

            @hookimpl
            def provide_tools(self):
                return [made]

            @hookimpl
            def open_resources(self):
                return open_client(jitter=lambda: 0.0, http=http)

        host = await host_with(Plugin())
        session = host.session()

        async def ask(timeout_s=None, **arguments):
            return await session.call("ask", arguments, timeout_s=timeout_s)

        ask.host = host
        return ask

    return hang


ID = {"parameter": "id", "in": "path", "name": "id"}


async def test_a_call_is_one_request_and_its_answer_is_data(serve, tool_of):
    server = await serve(answer(body=b'{"id": "a"}', headers=["Set-Cookie: sid=1; Path=/"]))
    ask = await tool_of(server.url + "/v1", path="/items/{id}", parameters=[ID])
    for _ in range(2):
        assert_ok(await ask(id="a b"), data={"id": "a"})
    first, second = server.requests
    assert (first.method, first.target) == ("GET", "/v1/items/a%20b")
    assert first.headers["host"] == f"127.0.0.1:{server.port}"
    assert first.headers["user-agent"].startswith("pegboard/")
    assert "cookie" not in second.headers
    assert server.connections == 1


async def test_a_body_is_sent_once_and_a_post_is_not_repeated(serve, tool_of):
    server = await serve(answer(503, b'{"message": "busy"}'))
    ask = await tool_of(
        server.url,
        method="POST",
        idempotency="not_idempotent",
        body={"media_type": "application/json", "parameter": "data"},
    )
    error = assert_error(await ask(data={"a": "ü"}), "UPSTREAM_ERROR", says="(503): busy").error
    assert error.details["status"] == 503
    (request,) = server.requests
    assert (request.body, request.headers["content-length"]) == ('{"a":"ü"}'.encode(), "10")


@pytest.mark.parametrize("value", ["..", "a/b", "%2e%2e", "\x00", "", "http://evil.example/"])
async def test_a_hostile_value_is_refused_before_anything_is_sent(serve, tool_of, value):
    server = await serve(answer())
    ask = await tool_of(server.url, path="/items/{id}", parameters=[ID])
    error = assert_error(await ask(id=value), "INVALID_INPUT", says="id: expected").error
    assert error.details["faults"][0]["path"] == "id"
    assert server.connections == 0


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_what_is_idempotent_is_sent_again(serve, tool_of, autojump_clock, status):
    server = await serve(lambda request, count: answer() if count == 3 else answer(status))
    ask = await tool_of(server.url)
    assert_ok(await ask(), data={})
    assert len(server.requests) == 3


async def test_how_often_is_the_servers_setting(serve, tool_of, autojump_clock):
    server = await serve(answer(503))
    ask = await tool_of(server.url, server={"retries": 1})
    assert_error(await ask(), "UPSTREAM_ERROR")
    assert len(server.requests) == 2
    assert_error(await (await tool_of(server.url, server={"retries": 0}))(), "UPSTREAM_ERROR")
    assert len(server.requests) == 3


async def test_a_server_is_waited_for_as_long_as_it_asks(serve, tool_of, autojump_clock):
    server = await serve(lambda request, count: answer() if count == 2 else answer(429, headers=["Retry-After: 20"]))
    ask = await tool_of(server.url)
    began = trio.current_time()
    assert_ok(await ask())
    assert 20 <= trio.current_time() - began < 21


@pytest.mark.parametrize(("after", "timeout_s"), [(31, 100), (20, 10)])
async def test_a_wait_that_is_too_long_is_told(serve, tool_of, autojump_clock, after, timeout_s):
    server = await serve(answer(429, headers=[f"Retry-After: {after}"]))
    ask = await tool_of(server.url, timeout_s=timeout_s)
    began = trio.current_time()
    error = assert_error(await ask(), "RATE_LIMITED").error
    assert (error.details["retry_after_s"], error.details["retry"]) == (after, "same")
    assert len(server.requests) == 1
    assert trio.current_time() - began < 1


@pytest.mark.parametrize("broken", [reset, sends(b"HTTP/1.1 200 OK\r\nContent-"), sends(b"no http at all\r\n\r\n")])
async def test_a_lost_answer_is_asked_for_again_or_its_outcome_is_unknown(serve, tool_of, autojump_clock, broken):
    server = await serve(lambda request, count: answer() if count == 3 else broken)
    ask = await tool_of(server.url)
    assert_ok(await ask())
    lost = await serve(broken)
    again = await tool_of(lost.url)
    error = assert_error(await again(), "UPSTREAM_ERROR", reason="lost").error
    assert (error.details["retry"], error.details["tries"]) == ("same", 3)
    for method, code in (("POST", "OUTCOME_UNKNOWN"), ("GET", "UPSTREAM_ERROR")):
        before = len(lost.requests)
        once = await tool_of(lost.url, method=method, idempotency="unknown")
        assert_error(await once(), code, reason="lost")
        assert len(lost.requests) == before + 1


async def test_an_answer_that_breaks_off_is_asked_for_again_where_that_is_harmless(serve, tool_of, autojump_clock):
    half = sends(answer(body=b'{"a": ', length=100))
    server = await serve(lambda request, count: half if count == 1 else answer(body=b'{"a": 1}'))
    assert_ok(await (await tool_of(server.url))(), data={"a": 1})
    half_server = await serve(half)
    post = await tool_of(half_server.url, method="POST", idempotency="not_idempotent")
    error = assert_error(await post(), "UPSTREAM_ERROR", reason="lost", says="broke off in the middle").error
    assert (error.details["executed"], error.details["status"]) == (True, 200)
    chunked = sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc")
    other = await tool_of((await serve(chunked)).url, method="POST", idempotency="unknown")
    assert_error(await other(), "UPSTREAM_ERROR", reason="lost")


async def test_an_error_whose_body_breaks_off_is_the_error_it_is(serve, tool_of):
    server = await serve(sends(answer(404, b'{"message": "gone"', length=500)))
    assert_error(await (await tool_of(server.url))(), "NOT_FOUND", says="(404)")


async def test_nobody_listens(tool_of, autojump_clock):
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    await listeners[0].aclose()
    for idempotency, tries in (("idempotent", 3), ("unknown", None)):
        ask = await tool_of(f"http://127.0.0.1:{port}", method="POST", idempotency=idempotency)
        error = assert_error(await ask(), "UPSTREAM_ERROR", reason="no_network", says="refuses the connection").error
        assert error.details["executed"] is False
        assert error.details.get("tries") == tries


async def test_an_answer_is_bounded_as_it_is_sent_and_as_it_is_unpacked(serve, tool_of):
    small = {"output": {"max_bytes": 1_000}}
    declared = await tool_of((await serve(answer(body=b" " * 1_001))).url, **small)
    error = assert_error(await declared(), "UPSTREAM_ERROR", says="more than 1,000 bytes").error
    assert error.details["executed"] is True
    undeclared = sends(b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 2_000)
    assert_error(await (await tool_of((await serve(undeclared)).url, **small))(), "UPSTREAM_ERROR", says="1,000 bytes")
    bomb = gzip.compress(b"\x00" * 20_000_000)
    server = await serve(answer(body=bomb, headers=["Content-Encoding: gzip"]))
    error = assert_error(await (await tool_of(server.url))(), "UPSTREAM_ERROR", says="10,000,000 bytes").error
    assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


async def test_packed_answers_are_read_or_refused(serve, tool_of):
    packed = gzip.compress(b'{"a": 1}')
    good = await serve(answer(body=packed, headers=["Content-Encoding: gzip"]))
    assert_ok(await (await tool_of(good.url))(), data={"a": 1})
    for body, coding, says in (
        (b"not packed", "gzip", "cannot be unpacked"),
        (packed, "br", "nobody asked for"),
        (packed, "gzip, gzip", "nobody asked for"),
    ):
        server = await serve(answer(body=body, headers=[f"Content-Encoding: {coding}"]))
        assert_error(await (await tool_of(server.url))(), "UPSTREAM_ERROR", says=says)
    cut = await serve(answer(body=packed[:-4], headers=["Content-Encoding: gzip"]))
    assert_error(await (await tool_of(cut.url, server={"retries": 0}))(), "UPSTREAM_ERROR", says="broke off")
    plain = await serve(answer(body=b'{"a": 2}', headers=["Content-Encoding: identity"]))
    assert_ok(await (await tool_of(plain.url))(), data={"a": 2})


async def test_head_and_answers_without_a_body(serve, tool_of):
    server = await serve(
        lambda request, count: answer(length=5_000_000_000, body=b"") if request.method == "HEAD" else b""
    )
    head = await tool_of(server.url, method="HEAD")
    assert_ok(await head(), data={"result": None})
    for status in (204, 205):
        empty = await serve(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())
        assert_ok(await (await tool_of(empty.url))(), data={"result": None})


async def test_bytes_come_as_a_resource_named_without_the_query(serve, tool_of):
    server = await serve(answer(body=b"\x89PNG\x00", media="image/png"))
    ask = await tool_of(server.url, parameters=[{"parameter": "q", "in": "query", "name": "q"}])
    result = assert_ok(await ask(q="x"), data={"result": None})
    assert result.content == (BinaryContent(b"\x89PNG\x00", "image/png", f"{server.url}/x"),)


async def test_a_large_answer_is_read_beside_the_loop(serve, tool_of):
    server = await serve(answer(body=json.dumps({"result": "x" * 1_200_000}).encode()))
    result = await (await tool_of(server.url))()
    assert result.ok
    invalid = await serve(answer(body=b'{"result": ' + b" " * 1_200_000))
    assert_error(await (await tool_of(invalid.url))(), "UPSTREAM_ERROR", says="promised JSON")


async def test_huge_headers_are_no_answer(serve, tool_of):
    server = await serve(sends(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2_000_000 + b"\r\n\r\n"))
    assert_error(await (await tool_of(server.url, server={"retries": 0}))(), "UPSTREAM_ERROR", reason="lost")


async def test_a_drip_ends_with_the_deadline_and_leaves_nothing_open(serve, tool_of, autojump_clock):
    async def drip(stream):
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while True:
            await stream.send_all(b" ")
            await trio.sleep(1)

    server = await serve(drip)
    ask = await tool_of(server.url, timeout_s=10)
    assert_ok(await (await tool_of((await serve(answer())).url))())
    gc.collect()
    open_before = len(os.listdir("/proc/self/fd"))
    began = trio.current_time()
    assert_error(await ask(), "TIMEOUT")
    assert trio.current_time() - began < 12
    with trio.fail_after(20):  # the server sees that nobody reads any more
        while len(os.listdir("/proc/self/fd")) > open_before:
            await trio.sleep(1)


async def test_the_body_of_an_error_that_drips_does_not_hold_the_error_up(serve, tool_of, autojump_clock):
    async def drip(stream):
        await stream.send_all(b"HTTP/1.1 403 X\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nno entry")
        await trio.sleep_forever()

    ask = await tool_of((await serve(drip)).url)
    assert_error(await ask(), "FORBIDDEN", says="(403): no entry;")


async def test_a_cancelled_call_closes_its_connection_at_once(serve, tool_of):
    reached, closed = trio.Event(), trio.Event()

    async def wait(stream):
        reached.set()
        assert await stream.receive_some() == b""
        closed.set()

    ask = await tool_of((await serve(wait)).url, method="POST", idempotency="not_idempotent")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await reached.wait()
        nursery.cancel_scope.cancel()
    with trio.fail_after(20):
        await closed.wait()


# Redirects.


def moved(status, location):
    return answer(status, b"", [f"Location: {location}"], media="")


async def test_no_redirect_is_followed_unless_the_manifest_says_so(serve, tool_of):
    server = await serve(moved(302, "/other"))
    error = assert_error(
        await (await tool_of(server.url))(), "UPSTREAM_ERROR", reason="redirect", says="(302): /other"
    ).error
    assert error.details["status"] == 302
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        (301, "GET", "GET"),
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (302, "PUT", "PUT"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
    ],
)
async def test_a_redirect_on_the_same_origin_is_followed_as_its_status_says(serve, tool_of, status, method, then):
    server = await serve(
        lambda request, count: (
            moved(status, "../b ü?x=%20y") if count == 1 else answer(body=b"" if then == "HEAD" else b"{}")
        )
    )
    ask = await tool_of(
        server.url,
        method=method,
        path="/a/x",
        server={"redirects": "same-origin"},
        body={"media_type": "application/json", "parameter": "data"},
    )
    assert_ok(await ask(data=[1]))
    second = server.requests[1]
    assert (second.method, second.target) == (then, "/b%20%C3%BC?x=%20y")
    assert second.body == (b"[1]" if then == method else b"")
    assert ("content-type" in second.headers) == (then == method)


async def test_credentials_go_with_a_redirect_on_the_same_origin_and_nowhere_else(serve, tool_of, monkeypatch):
    monkeypatch.setenv("TOKEN", "t0ken-value")
    monkeypatch.setenv("KEY", "k3y-value")
    auth = [{"kind": "bearer", "secret_env": "TOKEN"}, {"kind": "query", "name": "key", "secret_env": "KEY"}]
    elsewhere = await serve(answer())
    for location in (
        f"{elsewhere.url}/x",
        f"//127.0.0.1:{elsewhere.port}/x",
        "https://127.0.0.1/x",
        "http://u:p@127.0.0.1/x",
        "http://[broken",
        "\\\\evil",
        "//evil.example",
        "file:///etc/passwd",
        "/" + "x" * 9_000,
        "",
    ):
        server = await serve(moved(307, location))
        ask = await tool_of(server.url, server={"redirects": "same-origin", "auth": auth})
        error = assert_error(await ask(), "UPSTREAM_ERROR", reason="redirect").error
        assert "t0ken" not in str(error.to_json())
        assert len(server.requests) == 1
    assert elsewhere.connections == 0
    server = await serve(lambda request, count: moved(302, "/y?z=1") if count == 1 else answer())
    assert_ok(await (await tool_of(server.url, server={"redirects": "same-origin", "auth": auth}))())
    assert [request.target for request in server.requests] == ["/x?key=k3y-value", "/y?z=1&key=k3y-value"]
    assert server.requests[1].headers["authorization"] == "Bearer t0ken-value"


@pytest.mark.parametrize(
    ("server_says", "location", "is_followed"),
    [
        ({}, "/x/", True),
        ({}, "/x", False),
        ({}, "/x/y", False),
        ({}, "/x/?a=1", False),
        ({"redirects": "none"}, "/x/", False),
    ],
)
async def test_a_slash_at_the_end_is_no_other_address(serve, tool_of, server_says, location, is_followed):
    server = await serve(lambda request, count: moved(308, location) if count == 1 else answer())
    result = await (await tool_of(server.url, method="POST", server=server_says))()
    assert len(server.requests) == 1 + is_followed
    if is_followed:
        assert_ok(result)
        assert (server.requests[1].method, server.requests[1].target) == ("POST", "/x/")
    else:
        assert_error(result, "UPSTREAM_ERROR", reason="redirect")


async def test_a_slash_that_turns_a_write_into_a_read_is_not_followed(serve, tool_of):
    server = await serve(lambda request, count: moved(301, "/x/") if count == 1 else answer())
    assert_error(await (await tool_of(server.url, method="POST"))(), "UPSTREAM_ERROR", reason="redirect")


async def test_a_circle_of_redirects_ends(serve, tool_of):
    server = await serve(moved(302, "/x"))
    ask = await tool_of(server.url, server={"redirects": "same-origin"})
    assert_error(await ask(), "UPSTREAM_ERROR", reason="redirect", says="more than 5 times")
    assert len(server.requests) == 6


async def test_a_location_in_another_character_set_is_no_way_out(serve, tool_of):
    for location in ("/é".encode(), b"/\xe9"):
        first = b"HTTP/1.1 302 X\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
        server = await serve(lambda request, count, first=first: first if count == 1 else answer())
        assert_ok(await (await tool_of(server.url, server={"redirects": "same-origin"}))())
        assert server.requests[1].target == "/%C3%A9"


async def test_a_switch_of_protocols_is_not_an_answer(serve, tool_of):
    server = await serve(b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
    ask = await tool_of(server.url, server={"retries": 0})
    assert_error(await ask(), "UPSTREAM_ERROR", reason="lost")


# Credentials.


async def test_a_server_that_says_the_credentials_back_says_nothing(serve, tool_of, monkeypatch, caplog):
    monkeypatch.setenv("PASS", "hunter2/+secret")
    monkeypatch.setenv("KEY", "k3y w1th blank")
    caplog.set_level(logging.DEBUG)
    auth = [
        {"kind": "basic", "secret_env": "PASS", "username_env": "NAME"},
        {"kind": "query", "name": "key", "secret_env": "KEY"},
    ]
    monkeypatch.setenv("NAME", "me")

    def echo(request, count):
        said = {"authorization": request.headers["authorization"], "url": request.target, "pass": "hunter2/+secret"}
        return answer(200 if count == 1 else 400, json.dumps(said if count == 1 else {"message": str(said)}).encode())

    server = await serve(echo)
    ask = await tool_of(server.url, server={"auth": auth})
    shown = json.dumps((await ask()).to_json()) + json.dumps((await ask()).to_json())
    basic = server.requests[0].headers["authorization"].removeprefix("Basic ")
    assert server.requests[0].target == "/x?key=k3y%20w1th%20blank"
    for secret in ("hunter2", "k3y%20w1th", "k3y w1th", basic):
        assert secret not in shown
        assert secret not in caplog.text
    assert "***" in shown


async def test_what_is_required_is_asked_for_before_anything_is_sent(serve, tool_of, monkeypatch):
    monkeypatch.delenv("MY_TOKEN", raising=False)
    server = await serve(answer())
    ask = await tool_of(server.url, server={"auth": [{"kind": "bearer", "secret_env": "MY_TOKEN", "required": True}]})
    assert_error(await ask(), "UNAUTHORIZED", reason="credentials", says="MY_TOKEN")
    assert server.connections == 0
    optional = await tool_of(server.url, server={"auth": [{"kind": "bearer", "secret_env": "MY_TOKEN"}]})
    assert_ok(await optional())
    assert "authorization" not in server.requests[0].headers


# Where requests go.


async def test_the_environment_may_name_another_base_url(serve, tool_of, monkeypatch):
    first, second = await serve(answer()), await serve(answer())
    ask = await tool_of(first.url, server={"base_url_env": "BASE", "allowed_hosts": [f"127.0.0.1:{first.port}"]})
    assert_ok(await ask())
    monkeypatch.setenv("BASE", f"{second.url}/deep/")
    assert_ok(await ask())
    monkeypatch.setenv("BASE", "nonsense")
    assert_error(await ask(), "INTERNAL_ERROR", reason="base_url", says="BASE")
    monkeypatch.delenv("BASE")
    assert_ok(await ask())
    assert [request.target for request in first.requests] == ["/x", "/x"]
    assert [request.target for request in second.requests] == ["/deep/x"]


async def test_this_machine_is_asked_without_a_proxy_and_others_with_one(serve, tool_of, monkeypatch):
    here, proxy = await serve(answer(body=b'{"by": "server"}')), await serve(answer(body=b'{"by": "proxy"}'))
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "")
    assert_ok(await (await tool_of(here.url))(), data={"by": "server"})
    assert_ok(await (await tool_of("http://api.example"))(), data={"by": "proxy"})
    assert proxy.requests[0].target == "http://api.example/x"
    monkeypatch.setenv("HTTP_PROXY", "nonsense://x")
    assert_error(
        await (await tool_of("http://api.example"))(), "UPSTREAM_ERROR", reason="no_network", says="HTTP_PROXY"
    )


async def test_a_certificate_that_nobody_signed_is_not_trusted(serve, tool_of, tmp_path):
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    how = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=here"
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    await trio.run_process([openssl, *how.split(), *more], capture_stderr=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def talk(stream):
        with contextlib.suppress(trio.BrokenResourceError):
            await trio.SSLStream(stream, context, server_side=True).receive_some()

    server = await serve(b"", talk=talk)
    ask = await tool_of(server.url.replace("http", "https"), method="POST", idempotency="not_idempotent")
    error = assert_error(await ask(), "UPSTREAM_ERROR", reason="no_network", says="is not trusted").error
    assert error.details["executed"] is False


async def test_a_server_without_tls_is_named(serve, tool_of, autojump_clock):
    server = await serve(b"", talk=sends(b"this is not TLS"))
    ask = await tool_of(server.url.replace("http", "https"))
    assert_error(await ask(), "UPSTREAM_ERROR", reason="no_network", says="TLS with")


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [("ALL_PROXY", "socks5://127.0.0.1:1", "httpx2[socks]"), ("SSL_CERT_FILE", "/no/such/file", "SSL_CERT_FILE")],
)
async def test_an_environment_that_cannot_be_used_is_named(tool_of, monkeypatch, variable, value, says):
    monkeypatch.setenv(variable, value)
    ask = await tool_of("https://api.example")
    error = assert_error(await ask(), "UPSTREAM_ERROR", reason="no_network", says=says).error
    assert error.details["executed"] is False


async def test_a_transport_of_a_test_takes_the_place_of_sockets(tool_of):
    def reply(request):
        return httpx2.Response(200, json={"url": str(request.url), "body": request.content.decode()})

    body = {"media_type": "application/json", "parameter": "data"}
    ask = await tool_of("https://api.example", method="PUT", http=httpx2.MockTransport(reply), body=body)
    assert_ok(await ask(data=[1]), data={"url": "https://api.example/x", "body": "[1]"})

    def fail(request):
        raise httpx2.ProxyError("refused", request=request)

    ask = await tool_of("https://api.example", http=httpx2.MockTransport(fail))
    assert_error(await ask(), "UPSTREAM_ERROR", says="the proxy refused")

    def late(request):
        raise httpx2.ConnectTimeout("late", request=request)

    ask = await tool_of("https://api.example", http=httpx2.MockTransport(late), server={"retries": 0})
    assert_error(await ask(), "UPSTREAM_ERROR", says="does not answer")

    def odd(request):
        raise httpx2.LocalProtocolError("what h11 would not send", request=request)

    ask = await tool_of("https://api.example", http=httpx2.MockTransport(odd))
    assert_error(await ask(), "INVALID_INPUT", says="nothing was sent")


async def test_a_name_that_nobody_knows_is_named(tool_of, autojump_clock):
    ask = await tool_of("http://no-such-host.invalid", server={"retries": 0})
    assert_error(await ask(), "UPSTREAM_ERROR", reason="no_network", says="no-such-host.invalid")


async def test_many_calls_leave_no_descriptor_and_no_task(serve, tool_of, autojump_clock):
    def mixed(request, count):
        return [answer(), answer(404), reset, sends(answer(body=b"x", length=9)), answer(body=b"x" * 70_000)][count % 5]

    server = await serve(mixed)
    ask = await tool_of(server.url, idempotency="unknown", output={"parser": "text", "max_bytes": 60_000})
    await ask()
    with trio.fail_after(60):
        await trio.testing.wait_all_tasks_blocked(0.01)
    tasks, files = trio.lowlevel.current_statistics().tasks_living, len(os.listdir("/proc/self/fd"))
    for _ in range(40):
        await ask()
    gc.collect()
    await trio.testing.wait_all_tasks_blocked(0.01)
    assert trio.lowlevel.current_statistics().tasks_living <= tasks + 2
    assert len(os.listdir("/proc/self/fd")) <= files + 4


async def test_calls_at_once_share_one_client(serve, tool_of):
    server = await serve(lambda request, count: answer(body=json.dumps({"target": request.target}).encode()))
    ask = await tool_of(server.url, path="/{id}", parameters=[ID])
    found = {}

    async def one(number):
        found[number] = (await ask(id=str(number))).data

    async with trio.open_nursery() as nursery:
        for number in range(30):
            nursery.start_soon(one, number)
    assert found == {number: {"target": f"/{number}"} for number in range(30)}
    assert server.connections <= 30


async def test_a_client_that_was_never_used_opens_nothing():
    async with open_client() as client:
        assert isinstance(client, HttpClient)


async def test_a_manifest_on_the_board_reaches_its_server(serve, host_with, tmp_path, monkeypatch):
    monkeypatch.setenv("HTTP_TEST_TOKEN", "t0ken-0123456789")
    server = await serve(lambda request, count: answer(body=json.dumps(request.headers).encode()))
    one = {
        "id": "http:GET /me",
        "name": "get_me",
        "description": "Who am I.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "output_schema": {"type": "object", "properties": {"authorization": {"type": "string"}}},
        "examples": [{"input": {}}],
        "binding": {"kind": "http", "server": "main", "method": "GET", "path": "/me"},
    }
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "who", "runtime": "other", "execution_model": "remote-http"},
        "servers": {
            "main": {"base_url": server.url, "auth": [{"kind": "bearer", "secret_env": "HTTP_TEST_TOKEN"}]},
        },
        "tools": [one],
    }
    (tmp_path / "tool.manifest.json").write_text(json.dumps(document), "utf-8")
    files = [str(tmp_path / "tool.manifest.json")]
    host = await host_with(pegboard_manifest.plugin, config={"plugins": {"manifest": {"files": files}}})
    result = assert_ok(await host.session().call("get_me", {}))
    assert result.data["authorization"] == "Bearer ***"
    assert server.requests[0].headers["authorization"] == "Bearer t0ken-0123456789"
    assert_error(await host.session().call("get_me", {"x": 1}), "INVALID_INPUT")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("size", "parser", "in_loop"),
    [
        (90_000, "auto", True),
        (110_000, "auto", False),
        (110_000, "json", False),
        (900_000, "text", True),
        (1_100_000, "text", False),
    ],
)
async def test_what_takes_long_to_read_is_read_beside_the_loop(serve, tool_of, monkeypatch, size, parser, in_loop):
    seen = []

    def read(*arguments):
        seen.append(threading.current_thread() is threading.main_thread())
        return read_answer(*arguments)

    monkeypatch.setattr(handler, "read_answer", read)
    server = await serve(answer(body=b'"' + b"x" * size + b'"'))
    ask = await tool_of(server.url, output={"parser": parser})
    assert_ok(await ask())
    assert seen == [in_loop]


async def test_a_call_that_is_given_up_waits_for_no_reader(serve, tool_of, monkeypatch):
    reading, given_up, ended = trio.Event(), threading.Event(), []

    def read(*arguments):
        trio.from_thread.run_sync(reading.set)
        ended.append(given_up.wait(3))
        return read_answer(*arguments)

    monkeypatch.setattr(handler, "read_answer", read)
    server = await serve(answer(body=b'"' + b"x" * 110_000 + b'"'))
    ask = await tool_of(server.url)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        with trio.fail_after(60):
            await reading.wait()
        nursery.cancel_scope.cancel()
    waited = list(ended)
    given_up.set()
    assert waited == []
