"""The wire of `pegboard serve` on stdio: lines, messages, and what becomes of both ends."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from pegboard import CallContext, hookimpl, tool
from pegboard_mcp.server.app import make_server
from pegboard_mcp.server.stdio import NoMessageError, Stdio, message_of, serve_stdio

INIT = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


# -- lines


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), inner, max_size=5),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
@settings(max_examples=200)
def test_any_line_is_a_message_or_says_why_not(line: bytes) -> None:
    """Whatever a line holds, it is a message of JSON-RPC or an error with a number and, where it had one, its id."""
    problem = None
    try:
        message_of(line)
    except NoMessageError as raised:
        problem = raised
    if problem is not None:
        assert problem.number in (-32700, -32600)
        assert problem.id is None or isinstance(problem.id, (str, int))


def test_messages_are_told_apart() -> None:
    assert isinstance(message_of(b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), JSONRPCRequest)
    assert isinstance(message_of(b'{"jsonrpc":"2.0","method":"x"}'), JSONRPCNotification)
    assert isinstance(message_of(b'{"jsonrpc":"2.0","id":"a","result":{}}'), JSONRPCResponse)


@pytest.mark.parametrize(
    ("line", "number", "id_"),
    [
        (b"\xff{}", -32700, None),
        (b"{", -32700, None),
        (b'{"a": 1e999}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"1", -32600, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":3}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
    ],
)
def test_what_is_not_a_message_is_refused_with_its_number(line: bytes, number: int, id_: Any) -> None:
    with pytest.raises(NoMessageError) as caught:
        message_of(line)
    assert (caught.value.number, caught.value.id) == (number, id_)


# -- both ends


class Slow:
    """Tools that wait to be let go, and that ask."""

    def __init__(self) -> None:
        self.began = trio.Event()
        self.go = trio.Event()
        self.ended = trio.Event()

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        @tool
        async def slow() -> str:
            """Wait to be let go."""
            self.began.set()
            try:
                await self.go.wait()
            finally:
                self.ended.set()
            return "done"

        @tool
        async def ask(context: CallContext) -> str:
            """Ask a person."""
            self.began.set()
            try:
                return str(await context.confirm("Sure?"))
            finally:
                self.ended.set()

        @tool
        def big(size: int) -> str:
            """Much text."""
            return "x" * size

        return [slow, ask, big]


class Wire:
    """A client of plain bytes at the other ends of two pipes."""

    def __init__(self, write_fd: int, read_fd: int) -> None:
        self.write_fd = write_fd
        self.out = trio.lowlevel.FdStream(write_fd)
        self.into = trio.lowlevel.FdStream(read_fd)
        self._left = b""

    async def send(self, *messages: Any) -> None:
        """Write messages, or lines as they are."""
        lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in messages]
        await self.out.send_all(b"".join(line + b"\n" for line in lines))

    async def receive(self) -> Any:
        """The next message; None at the end."""
        with trio.fail_after(30):
            while b"\n" not in self._left:
                more = await self.into.receive_some(65536)
                if not more:
                    assert not self._left
                    return None
                self._left += more
        line, _, self._left = self._left.partition(b"\n")
        return json.loads(line)

    async def call(self, id_: Any, name: str, **arguments: Any) -> None:
        """Call a tool."""
        params = {"name": name, "arguments": arguments}
        await self.send({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})


@pytest.fixture
async def wire(host_with: Any) -> Any:
    """`async with wire(drain_s=...) as (wire, slow)`: a served board at the end of two pipes, after the handshake."""

    @contextlib.asynccontextmanager
    async def open_wire(capabilities: Any = None, **options: Any) -> Any:
        slow = Slow()
        server = make_server(await host_with(slow))
        (there_read, here_write), (here_read, there_write) = os.pipe(), os.pipe()
        ended = trio.Event()

        stdio = Stdio(there_read, there_write, on_end=server.end_listening, **options)

        async def serve() -> None:
            try:
                await server.run(stdio, stdio.out, server.create_initialization_options())
            finally:
                os.close(there_read)
                os.close(there_write)
                ended.set()

        client = Wire(here_write, here_read)
        client.ended, client.stdio = ended, stdio  # type: ignore[attr-defined]
        async with trio.open_nursery() as nursery, client.out, client.into:
            nursery.start_soon(serve)
            init = {**INIT, "params": {**INIT["params"], "capabilities": capabilities or {}}}
            await client.send(init, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert (await client.receive())["id"] == 0
            yield client, slow
            nursery.cancel_scope.cancel()

    return open_wire


@pytest.mark.usefixtures("either_path")
async def test_garbage_is_answered_and_the_next_call_works(wire: Any) -> None:
    async with wire(max_message_bytes=5_000) as (client, _):
        await client.send(b"nonsense", b"\xff\xfe", b"", b"  ", b"x" * 20_000, b'{"jsonrpc":"2.0","id":3,"method":1}')
        answers = [await client.receive() for _ in range(4)]
        assert [(one["id"], one["error"]["code"]) for one in answers] == [
            (None, -32700), (None, -32700), (None, -32600), (3, -32600),
        ]  # fmt: skip
        assert "5000 bytes" in answers[2]["error"]["message"]
        await client.call(4, "big", size=3)
        assert (await client.receive())["result"]["content"][0]["text"] == "xxx"


@pytest.mark.parametrize("head", ['{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"', None])
async def test_a_call_that_is_too_long_is_refused_by_its_id(wire: Any, head: str | None) -> None:
    body = "x" * 20_000
    line = f'{{"method":"ping","params":{{"x":"{body}"}},"id":7}}' if head is None else f'{head}{body}"}}}}'
    async with wire(max_message_bytes=5_000) as (client, _):
        await client.send(line.encode())
        answer = await client.receive()
        assert (answer["id"], answer["error"]["code"]) == (7, -32600)


async def test_a_large_answer_arrives_whole_though_the_client_reads_late(wire: Any) -> None:
    async with wire() as (client, _):
        for number in range(3):
            await client.call(number, "big", size=20_000)
        await trio.testing.wait_all_tasks_blocked()
        answers = [await client.receive() for _ in range(3)]
    assert {len(one["result"]["content"][0]["text"]) for one in answers} == {20_000}
    assert sorted(one["id"] for one in answers) == [0, 1, 2]


@pytest.mark.unmeasured
async def test_a_client_that_only_writes_is_read_only_so_far(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_mcp.server.stdio.MAX_IN_FLIGHT", 3)
    monkeypatch.setattr("pegboard_mcp.server.stdio.READ_BYTES", 100)
    async with wire() as (client, slow):
        asked = 2_000
        written = trio.Event()

        async def write() -> None:
            for id_ in range(1, asked):
                await client.call(id_, "slow")
            written.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(write)
            await slow.began.wait()
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not written.is_set()
            slow.go.set()
            assert {(await client.receive())["id"] for _ in range(1, asked)} == set(range(1, asked))


async def test_an_answer_is_read_though_much_is_in_flight(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_mcp.server.stdio.MAX_IN_FLIGHT", 1)
    async with wire({"elicitation": {}}) as (client, _):
        await client.call(1, "ask")
        question = await client.receive()
        await client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}})
        assert (await client.receive())["result"]["content"][0]["text"] == "True"


async def test_the_end_is_heard_though_much_is_in_flight(wire: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_mcp.server.stdio.MAX_IN_FLIGHT", 1)
    async with wire(drain_s=0.1) as (client, slow):
        await client.call(1, "slow")
        await slow.began.wait()
        client.stdio.end()
        assert (await client.receive())["error"]["code"] == -32000
        assert await client.receive() is None


async def test_at_the_end_of_input_calls_in_flight_are_answered(wire: Any) -> None:
    async with wire() as (client, slow):
        await client.call(1, "slow")
        await slow.began.wait()
        await client.out.aclose()
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert not client.ended.is_set()
        slow.go.set()
        assert (await client.receive())["result"]["content"][0]["text"] == "done"
        assert await client.receive() is None


async def test_at_the_end_of_input_a_call_has_only_so_long(wire: Any) -> None:
    async with wire(drain_s=0.1) as (client, slow):
        await client.call(1, "slow")
        await slow.began.wait()
        await client.out.aclose()
        assert (await client.receive())["error"]["code"] == -32000
        assert await client.receive() is None
        assert slow.ended.is_set()


async def test_at_the_end_of_input_nobody_waits_for_a_cancelled_call_or_a_listener(wire: Any) -> None:
    async with wire(drain_s=60) as (client, slow):
        await client.call(1, "slow")
        await slow.began.wait()
        await client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        await slow.ended.wait()
        await client.out.aclose()
        assert await client.receive() is None


async def test_at_the_end_of_input_a_question_has_no_answer(wire: Any) -> None:
    async with wire({"elicitation": {}}, drain_s=60) as (client, slow):
        await client.call(1, "ask")
        assert (await client.receive())["method"] == "elicitation/create"
        await client.out.aclose()
        answer = await client.receive()
        assert (answer["id"], answer["result"]["isError"]) == (1, True)
        assert await client.receive() is None
        assert slow.ended.is_set()


async def test_a_client_that_reads_no_more_ends_the_server(wire: Any) -> None:
    async with wire(drain_s=60) as (client, _):
        await client.into.aclose()
        await client.call(1, "big", size=10)
        with trio.fail_after(30):
            await client.ended.wait()


async def test_descriptors_are_as_blocking_as_they_were(host_with: Any) -> None:
    server = make_server(await host_with())
    (there_read, here_write), (here_read, there_write) = os.pipe(), os.pipe()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_stdio, server, there_read, there_write)
            await trio.testing.wait_all_tasks_blocked()
            assert os.get_blocking(there_read)
            assert os.get_blocking(there_write)
            nursery.cancel_scope.cancel()
    finally:
        for fd in (there_read, here_write, here_read, there_write):
            os.close(fd)


async def test_a_listener_of_the_modern_era_is_ended_with_the_input(host_with: Any) -> None:
    server = make_server(await host_with())
    (there_read, here_write), (here_read, there_write) = os.pipe(), os.pipe()
    client = Wire(here_write, here_read)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    async with client.out, client.into:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_serve_to_end, server, there_read, there_write)
                await client.send({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
                assert (await client.receive())["method"] == "notifications/subscriptions/acknowledged"
                await client.out.aclose()
                assert (await client.receive())["id"] == 1
        finally:
            os.close(there_read)
            os.close(there_write)


async def _serve_to_end(server: Any, read_fd: int, write_fd: int) -> None:
    with trio.fail_after(30):
        await serve_stdio(server, read_fd, write_fd, drain_s=60, on_end=server.end_listening)
