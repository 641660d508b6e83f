"""A request whose JSON can be read is answered under its own id, whatever else is wrong with it, on every interface."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

for needed in ("pegboard_mcp", "pegboard_http", "pegboard_calculator"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "my own id"
LIMIT = 20_000
"""The longest body of HTTP here, in bytes; arguments may be as long as that too."""
WRONG = {
    "half a surrogate pair": b'"\\ud800"',
    "half a surrogate pair as bytes": b'"\xed\xa0\x80"',
    "too large": b"1e999",
    "too many digits": b"9" * 5_000,
    "nested too deep": b"[" * 200 + b"]" * 200,
    "nested far too deep": b"[" * 9_000 + b"]" * 9_000,
    "NaN": b"NaN",
    "too long": b'"' + b"x" * 30_000 + b'"',
}
CONFIG = f"""
max_arguments_bytes = {LIMIT}
plugins.mcp.max_body_bytes = {LIMIT}
plugins.http.max_body_bytes = {LIMIT}
"""
PROGRAM = [sys.executable, "-m", "pegboard", "--plugin", "mcp", "--plugin", "http", "--plugin", "calculator"]
INIT = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def call_of(wrong: bytes, *, id_last: bool, twice: bool = False) -> bytes:
    """A call of MCP, as clients of different houses order its members."""
    method = b'"method":"tools/call","params":{"name":"calculator","arguments":{"expression":' + wrong + b"}}"
    envelope = b'"jsonrpc": "2.0", "id": "my own id"' + (b', "method":"ping"' if twice else b"")
    return b"{" + (method + b", " + envelope if id_last else envelope + b", " + method) + b"}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pegboard.toml").write_text(CONFIG)
    return tmp_path


@contextlib.contextmanager
def running(folder: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program, with pipes."""
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
    command = [*PROGRAM, "--config", str(folder / "pegboard.toml"), *more]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def listening(folder: Path, *more: str) -> Iterator[int]:
    """The port of the program that serves."""
    with running(folder, *more, "--port", "0") as process:
        assert process.stderr is not None
        while b"://127.0.0.1:" not in (line := process.stderr.readline()):
            assert line
        yield int(line.split(b"127.0.0.1:")[1].split(b"/")[0].split(b" ")[0])


@contextlib.contextmanager
def over_stdio(folder: Path) -> Iterator[Callable[[bytes], Any]]:
    # Lines of stdio are longer than bodies: the limit there is the protocol's largest message.
    with running(folder, "serve") as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(body: bytes) -> Any:
            process.stdin.write(body + b"\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]

        assert ask(json.dumps(INIT).encode())["id"] == 0
        yield ask


@contextlib.contextmanager
def over_http(folder: Path) -> Iterator[Callable[[bytes], Any]]:
    with listening(folder, "serve", "--transport", "http") as port:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

        def ask(body: bytes) -> Any:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
                client.request("POST", "/mcp", body, headers)
                return json.loads(client.getresponse().read().rpartition(b"data: ")[2])

        yield ask


@contextlib.contextmanager
def over_sse(folder: Path) -> Iterator[Callable[[bytes], Any]]:
    with (
        listening(folder, "serve", "--transport", "sse") as port,
        contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as stream,
    ):
        stream.request("GET", "/sse", headers={"accept": "text/event-stream"})
        events = stream.getresponse()
        while not (line := events.readline()).startswith(b"data: "):
            assert line
        path = line[6:].strip().decode()

        def ask(body: bytes) -> Any:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
                client.request("POST", path, body, {"content-type": "application/json"})
                return json.loads(client.getresponse().read())

        yield ask


@contextlib.contextmanager
def over_websocket(folder: Path) -> Iterator[Callable[[bytes], Any]]:
    from wsproto import ConnectionType, WSConnection
    from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Request, TextMessage

    with listening(folder, "serve", "--transport", "websocket") as port:
        import socket

        with socket.create_connection(("127.0.0.1", port), timeout=20) as link:
            client = WSConnection(ConnectionType.CLIENT)
            link.sendall(client.send(Request(host=f"127.0.0.1:{port}", target="/ws")))

            def events() -> Iterator[Any]:
                while True:
                    yield from (event for event in client.events() if not isinstance(event, Ping))
                    client.receive_data(link.recv(65_536) or None)

            heard = events()
            assert isinstance(next(heard), AcceptConnection)

            def ask(body: bytes) -> Any:
                try:
                    link.sendall(client.send(TextMessage(data=body.decode())))
                except UnicodeDecodeError:  # no text frame can carry it
                    link.sendall(client.send(BytesMessage(data=body)))
                    assert json.loads(next(heard).data)["id"] is None
                    return {"id": KEY, "error": {"code": -32700}}
                said = next(heard)
                assert not isinstance(said, CloseConnection)
                return json.loads(said.data)

            yield ask


INTERFACES = {"stdio": over_stdio, "http": over_http, "sse": over_sse, "websocket": over_websocket}


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_request_of_mcp_that_is_refused_is_answered_under_its_id(folder: Path, interface: str) -> None:
    with INTERFACES[interface](folder) as ask:
        for name, wrong in WRONG.items():
            if interface == "stdio" and name == "too long":
                wrong = b'"' + b"x" * 70_000_000 + b'"'
            for id_last in (False, True):
                answer = ask(call_of(wrong, id_last=id_last))
                assert (answer["id"], answer["error"]["code"] in (-32700, -32600)) == (KEY, True), (name, id_last)
        answer = ask(call_of(b'"1"', id_last=False, twice=True))
        assert (answer["id"], answer["error"]["message"]) == (KEY, 'Parse error: the key "method" is there twice')
        for shape in ({"jsonrpc": "1.0", "method": "ping"}, {"jsonrpc": "2.0", "method": 3}, {"jsonrpc": "2.0"}):
            answer = ask(json.dumps({**shape, "id": KEY}).encode())
            assert (answer["id"], answer["error"]["code"]) == (KEY, -32600), shape
        assert ask(b'{"id": "my own id", ')["id"] is None


@pytest.mark.parametrize("interface", ["stdio", "http", "websocket"])
def test_a_byte_order_mark_is_not_part_of_a_request(folder: Path, interface: str) -> None:
    with INTERFACES[interface](folder) as ask:
        answer = ask(b"\xef\xbb\xbf" + json.dumps({**INIT, "id": KEY}).encode())
    assert (answer["id"], "result" in answer) == (KEY, True)


def test_a_line_of_batch_that_is_refused_is_answered_under_its_id(folder: Path) -> None:
    lines: list[bytes] = []
    for name, wrong in WRONG.items():
        wrong = b'"' + b"x" * 200_000 + b'"' if name == "too long" else wrong
        call = b'"name": "calculator", "arguments": {"expression": ' + wrong + b"}"
        lines += [b'{"id": "my own id", ' + call + b"}", b"{" + call + b', "id": "my own id"}']
    for twice in (b'"user_id": "ada"', b'"name": "calculator"', b'"id": "my own id"'):
        lines.append(b'{"id": "my own id", "name": "calculator", "user_id": "bob", ' + twice + b"}")
    with running(folder, "batch") as process:
        out, said = process.communicate(b"\n".join(lines), timeout=60)
    answers = [json.loads(line) for line in out.splitlines()]
    assert len(answers) == len(lines), said
    for number, answer in enumerate(answers, 1):
        assert (answer["id"], answer["name"]) == (KEY, "calculator"), answer["error"]
        assert (answer["error"]["code"], answer["error"]["details"]["line"]) == ("INVALID_INPUT", number)
    assert 'the key "user_id" is there twice' in answers[-3]["error"]["message"]


def test_a_call_of_the_gateway_that_is_refused_is_answered_under_its_id(folder: Path) -> None:
    with listening(folder, "gateway") as port:
        for name, wrong in WRONG.items():
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
                headers = {"content-type": "application/json", "x-request-id": "my-own-id"}
                client.request("POST", "/tools/calculator", b'{"expression": ' + wrong + b"}", headers)
                answer = json.loads(client.getresponse().read())
            assert (answer["id"], answer["name"], answer["error"]["code"]) == (
                "my-own-id", "calculator", "INVALID_INPUT",
            ), name  # fmt: skip
