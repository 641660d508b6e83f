"""Servers that mean no good, over real sockets: every call is answered, and a request is sent as often as it may be."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import logging
import os
import random
import shutil
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from pegboard import load_board
from pegboard.testing import assert_error, assert_ok
from pegboard_manifest import plugin
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.bindings.http import client

SECRET = "kept/secret+of=faults"
SOON_S = 120.0
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Server:
    """What was asked of it; `answers(stream, head, count)` says whether the connection is closed after it."""

    def __init__(self, answers):
        self.answers = answers
        self.heads = []
        self.port = 0

    async def talk(self, stream):
        buffer = b""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async with stream:
                while True:
                    while b"\r\n\r\n" not in buffer:
                        data = await stream.receive_some()
                        if not data:
                            return
                        buffer += data
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    self.heads.append(head)
                    if await self.answers(stream, head, len(self.heads)):
                        return


def says(data, *, closes=True):
    async def answers(stream, head, count):
        await stream.send_all(data)
        return closes

    return answers


def floods(begin, piece):
    async def answers(stream, head, count):
        await stream.send_all(begin)
        while True:
            await stream.send_all(piece)

    return answers


def redirects(location, status=302):
    line = location if isinstance(location, bytes) else location.encode()
    return says(b"HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, line), closes=False)


async def resets(stream, head, count):
    stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    return True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(client, "FIRST_WAIT_S", 0.001)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def serve(nursery):
    async def start(answers):
        server = Server(answers)
        (listener,) = await nursery.start(partial(trio.serve_tcp, server.talk, 0, host="127.0.0.1"))
        server.port = listener.socket.getsockname()[1]
        return server

    return start


@pytest.fixture
def host_for(host_with, tmp_path):
    """`await host_for(server, ...)` is a host on which `get` (idempotent) and `post` (nobody knows) hang."""

    async def make(server, *, timeout_ms=5_000, redirects="same-origin", more=(), programs=None, modules=None, **said):
        def a_tool(name, method, idempotency):
            return {
                "id": f"http:{method} /x",
                "name": name,
                "description": "Ask.",
                "category": "read",
                "risk": "low",
                "idempotency": idempotency,
                "timeout_ms": timeout_ms,
                "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
                "examples": [{"input": {}}],
                "binding": {"kind": "http", "server": "s", "method": method, "path": "/x"},
            }

        base = {"base_url": f"http://127.0.0.1:{server.port}", "redirects": redirects, **said}
        document = {
            "manifest_version": "1.0",
            "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
            "project": {"name": "Faults", "runtime": "other", "execution_model": "remote-http"},
            "servers": {"s": base},
            "programs": programs or {},
            "modules": modules or {},
            "tools": [a_tool("get", "GET", "idempotent"), a_tool("post", "POST", "unknown"), *more],
        }
        file = tmp_path / "m.json"
        file.write_text(json.dumps(document))
        audit = {"file": str(tmp_path / "audit.jsonl"), "arguments": True}
        return await host_with(plugin, config={"plugins": {"manifest": {"files": [str(file)]}, "audit": audit}})

    return make


async def both(host):
    """What `get` and what `post` answer."""
    session = host.session()
    with trio.fail_after(SOON_S):
        return await session.call("get", {}), await session.call("post", {})


LOST = {
    "nothing": says(b""),
    "a reset": resets,
    "half a status line": says(b"HTTP/1.1 20"),
    "half a head": says(OK + b"X-A"),
    "garbage": says(b"\x16\x03\x01\x02\x00"),
    "no version": says(b"hello\r\n\r\n"),
    "another version": says(b"HTTP/2 200 OK\r\n\r\n"),
    "a switch": says(b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhello"),
    "no status": says(b"HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n"),
    "two lengths": says(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x"),
    "no length": says(OK + b"Content-Length: -2\r\n\r\n{}"),
    "a length without end": says(OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n{}"),
    "headers without end": floods(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1000),
    "one header without end": floods(b"HTTP/1.1 200 OK\r\nX-A: ", b"b" * 10_000),
    "a space in a name": says(b"HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 0\r\n\r\n"),
}


@pytest.mark.parametrize("what", LOST)
async def test_no_answer_is_asked_for_again_where_that_is_harmless_alone(serve, host_for, what):
    server = await serve(LOST[what])
    get, post = await both(await host_for(server))
    assert assert_error(get, "UPSTREAM_ERROR").error.details["tries"] == 3
    assert_error(post, "OUTCOME_UNKNOWN")
    assert [head.split(b" ")[0] for head in server.heads] == [b"GET"] * 3 + [b"POST"]


BROKEN = {
    "too short": says(OK + b"Content-Length: 20\r\n\r\n{}"),
    "a chunk without end": floods(OK + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x" * 4096),
    "trailers without end": floods(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X-A: b\r\n" * 1000),
    "no chunk": says(OK + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n"),
    "half of gzip": says(OK + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b"{}" * 99)[:15]),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_half_an_answer_is_asked_for_again_where_that_is_harmless_alone(serve, host_for, what):
    server = await serve(BROKEN[what])
    get, post = await both(await host_for(server))
    assert_error(get, "UPSTREAM_ERROR")
    assert assert_error(post, "UPSTREAM_ERROR").error.details["executed"]
    assert [head.split(b" ")[0] for head in server.heads] == [b"GET"] * 3 + [b"POST"]


ONCE = {
    "no JSON": says(OK + b"Content-Length: 3\r\n\r\nNaN"),
    "deep JSON": says(OK + b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000),
    "a long number": says(OK + b"Content-Length: 20000\r\n\r\n" + b"9" * 20_000),
    "another character set": says(OK.replace(b"json", b"json; charset=utf-16") + b"Content-Length: 3\r\n\r\n{} "),
    "an unknown packing": says(OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}"),
    "no packing": says(OK + b"Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n" + b"\xff" * 20),
    "a bomb": says(OK + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(b"\x00" * 50_000_000)),
    "a body without end": floods(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65_536 + b"\r\n"),
    "a length that is too much": says(OK + b"Content-Length: 99999999999\r\n\r\n{}"),
    "a strange status": says(b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n"),
    "another host": redirects("http://example.com/x"),
    "another port": redirects("http://127.0.0.1:1/x"),
    "a file": redirects("file:///etc/passwd"),
    "a user": redirects("http://user:pass@127.0.0.1/x"),
    "a script": redirects("javascript:alert(1)"),
    "half an address": redirects("http://[::1"),
    "no port": redirects("http://127.0.0.1:99999999/"),
    "no text": redirects(b"http://127.0.0.1/\xff\xfe"),
    "a backslash": redirects("\\\\example.com\\x"),
    "nowhere": redirects(""),
    "a long way": redirects("/" + "x" * 20_000),
}


@pytest.mark.parametrize("what", ONCE)
async def test_an_answer_that_cannot_be_used_is_asked_for_once(serve, host_for, what):
    server = await serve(ONCE[what])
    get, post = await both(await host_for(server))
    for result in (get, post):
        error = assert_error(result, "UPSTREAM_ERROR").error
        assert error.message.isprintable()
        assert len(error.message) < 700
        assert "pass@" not in str(error.to_json())
    assert [head.split(b" ")[0] for head in server.heads] == [b"GET", b"POST"]


@pytest.mark.parametrize(
    "answers",
    [
        floods(b"", b"HTTP/1.1 103 X\r\nLink: x\r\n\r\n" * 100),
        floods(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 1000),
    ],
)
async def test_small_pieces_without_end_leave_the_loop_the_air_to_end_with_the_deadline(
    serve, host_for, in_time, answers
):
    server = await serve(answers)
    host = await host_for(server, timeout_ms=300)
    with in_time():
        assert_error(await host.session().call("get", {}), "TIMEOUT")


async def test_a_circle_of_redirects_ends_and_is_not_begun_again(serve, host_for):
    server = await serve(redirects("/x?again", 307))
    get, post = await both(await host_for(server))
    for result in (get, post):
        assert_error(result, "UPSTREAM_ERROR", says="more than 5 times")
    assert len(server.heads) == 12


async def test_cookies_of_answers_are_never_sent(serve, host_for):
    huge = b"a=b; expires=Mon, 01-Jan-2030; " * 2_000
    lines = b"".join(b"Set-Cookie: %s\r\n" % one for one in (b"id=1; Path=/", b"id2=2; Domain=127.0.0.1", huge))
    server = await serve(says(OK + lines + b"Content-Length: 2\r\n\r\n{}", closes=False))
    host = await host_for(server)
    for _ in range(2):
        get, post = await both(host)
        assert_ok(get)
        assert_ok(post)
    assert len(server.heads) == 4
    assert not any(b"cookie" in head.lower() for head in server.heads)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_what_may_pass_is_asked_again_where_that_is_harmless_alone(serve, host_for, status):
    server = await serve(says(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status, closes=False))
    get, post = await both(await host_for(server))
    assert not get.ok
    assert not post.ok
    assert [head.split(b" ")[0] for head in server.heads] == [b"GET"] * 3 + [b"POST"]


@pytest.mark.parametrize(
    "auth",
    [
        [{"kind": "bearer", "secret_env": "FAULTS_TOKEN"}],
        [{"kind": "basic", "secret_env": "FAULTS_TOKEN", "username_env": "FAULTS_USER"}],
        [{"kind": "query", "name": "key", "secret_env": "FAULTS_TOKEN", "required": True}],
        [{"kind": "header", "name": "X-Key", "secret_env": "FAULTS_TOKEN"}],
    ],
    ids=lambda auth: auth[0]["kind"],
)
async def test_a_server_that_says_everything_back_says_no_secret(serve, host_for, monkeypatch, caplog, auth, tmp_path):
    """Invariant: no credential, nor what is made of one, is in a result, an error, a log or audit line or a repr."""
    import base64
    from urllib.parse import quote, quote_plus

    monkeypatch.setenv("FAULTS_TOKEN", SECRET)
    monkeypatch.setenv("FAULTS_USER", "ada")
    kinds = [
        lambda head: OK + b"Content-Length: %d\r\n\r\n" % len(head) + head,
        lambda head: b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(head) + head,
        lambda head: b"HTTP/1.1 400 X\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(head) + head,
        lambda head: (
            b"HTTP/1.1 302 X\r\nLocation: http://example.com/"
            + head.split(b" ")[1].lstrip(b"/")
            + b"\r\nContent-Length: 0\r\n\r\n"
        ),
        lambda head: b"",
    ]

    async def answers(stream, head, count):
        as_json = json.dumps({"said": head.decode("latin-1")}).encode()
        kind = kinds[count % len(kinds)]
        await stream.send_all(kind(as_json if kind is kinds[0] else head.replace(b"\r\n", b" ")))
        return not kind(head)

    server = await serve(answers)
    said = ""
    with caplog.at_level(logging.DEBUG):
        host = await host_for(server, auth=auth)
        session = host.session()
        for _ in kinds:
            for name in ("get", "post"):
                result = await session.call(name, {})
                said += json.dumps(result.to_json()) + repr(result) + repr(result.error)
    said += caplog.text + repr([source for _, source in host.board.sources]) + repr(list(host.tools.values()))
    with trio.fail_after(SOON_S):  # the lines are written by a thread
        while (audit := (tmp_path / "audit.jsonl").read_text()).count("\n") < 2 * len(kinds):
            await wait_all_tasks_blocked(0.01)
    said += audit
    assert server.heads
    whole = b"\n".join(server.heads).decode("latin-1")
    forms = [SECRET, quote(SECRET, safe=""), quote_plus(SECRET), base64.b64encode(f"ada:{SECRET}".encode()).decode()]
    assert any(form in whole for form in forms)
    for form in forms:
        assert form not in said


def test_no_secret_is_in_what_is_said_of_a_manifest(tmp_path, monkeypatch):
    monkeypatch.setenv("FAULTS_TOKEN", SECRET)
    server = {"base_url": "http://example.com", "auth": [{"kind": "bearer", "secret_env": "FAULTS_TOKEN"}]}
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Faults", "runtime": "other", "execution_model": "remote-http"},
        "servers": {"s": server},
        "tools": [],
    }
    (tmp_path / "m.json").write_text(json.dumps(document))
    board = load_board({"plugins": {"manifest": {"files": [str(tmp_path / "m.json")]}}}, [plugin])
    assert SECRET not in str(board.findings())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
@pytest.mark.skipif(shutil.which("cat") is None, reason="needs cat")
@pytest.mark.unmeasured
async def test_thousands_of_mixed_calls_cancelled_at_any_moment_leave_nothing(serve, host_for, monkeypatch):
    """Invariant: descriptors, threads, tasks and children are as many after as before, whatever was cancelled when."""
    drawn = random.Random(6)

    async def answers(stream, head, count):
        fate = drawn.randrange(6)
        if fate == 0:
            return await resets(stream, head, count)
        if fate == 1:
            await stream.send_all(OK + b"Content-Length: 20\r\n\r\n{}")
        elif fate == 2:
            await stream.receive_some()  # no answer at all, until the client is gone
        else:
            await stream.send_all(OK + b"Content-Length: 2\r\n\r\n{}")
        return fate in (1, 2)

    def a_tool(name, binding, schema=None):
        return {
            "id": f"x:{name}",
            "name": name,
            "description": "Do it.",
            "category": "read",
            "risk": "low",
            "idempotency": "idempotent",
            "input_schema": {"type": "object", "properties": schema or {}, "additionalProperties": False},
            "examples": [{"input": {}}],
            "binding": binding,
        }

    library = type(sys)("faultsmixed")
    library.twice = lambda a: a * 2
    library.fails = lambda a: 1 // 0
    monkeypatch.setitem(sys.modules, "faultsmixed", library)
    parameters = [{"parameter": "a", "pass": "positional"}]
    python = {"kind": "python", "module": "m", "parameters": parameters}
    number = {"a": {"type": "integer"}}
    tools = [
        a_tool("twice", {**python, "qualified_name": "faultsmixed.twice", "run": "inline"}, number),
        a_tool("fails", {**python, "qualified_name": "faultsmixed.fails", "run": "thread"}, number),
        a_tool(
            "cat",
            {
                "kind": "subprocess",
                "program": "p",
                "arguments": [],
                "stdin": {"parameter": "a"},
                "output": {"parser": "json"},
            },
            number,
        ),
    ]
    server = await serve(answers)
    host = await host_for(
        server, more=tools, programs={"p": {"argv0": ["cat"]}}, modules={"m": {"import": "faultsmixed"}}
    )
    session = host.session()
    names = ["twice"] * 8 + ["fails"] * 6 + ["get"] * 4 + ["post"] * 3 + ["cat"]
    finished = 0

    async def one():
        nonlocal finished
        name = drawn.choice(names)
        arguments = {} if name in ("get", "post") else {"a": drawn.randrange(9)}
        with trio.move_on_after(drawn.choice((0, 0.0005, 0.002, 0.01, 0.03))):
            result = await session.call(name, arguments)
            assert result.ok or result.error
            finished += 1

    async def rounds(count):
        for _ in range(count):
            async with trio.open_nursery() as nursery:
                for _ in range(50):
                    nursery.start_soon(one)

    def counted():
        gc.collect()
        tasks = trio.lowlevel.current_statistics().tasks_living
        return len(os.listdir("/proc/self/fd")), threading.active_count(), tasks

    def children():
        text = (Path("/proc/self/task") / str(threading.get_native_id()) / "children").read_text()
        return [one for one in text.split() if one not in of_others]

    of_others = set()
    of_others.update(children())  # workers of tests before this one
    await rounds(6)
    before = counted()
    await rounds(50)
    # A few connections are kept for the next request; each has two ends and a task here.
    room = (50, 20, 50)
    with trio.move_on_after(SOON_S):
        while children() or any(now > then + more for now, then, more in zip(counted(), before, room, strict=True)):
            await wait_all_tasks_blocked(0.01)
    _quiet.restore()
    assert children() == []
    for now, then, more in zip(counted(), before, room, strict=True):
        assert now <= then + more
    assert finished > 300
