"""Instances of `pegboard serve` that reach each other over NATS, and keep tasks there: on a real server."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import trio

pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")

import httpx2

import pegboard_nats.plugin
from pegboard import CallContext, ConfigError, PluginError, hookimpl, open_host, tool
from pegboard_httpclient import Failure
from pegboard_mcp import plugin as mcp_plugin
from pegboard_mcp.server.handles import Handles, Seal
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.server.peer import peer_of
from pegboard_mcp.server.task_stores import MAX_TASKS, MAX_TASKS_OF_ONE, TaskRecord
from pegboard_mcp.settings import McpSettings
from pegboard_nats import link, tasks, wire
from pegboard_nats.carrier import REQUEST, Carrier
from pegboard_nats.client import Servers, open_client
from pegboard_nats.link import open_link
from pegboard_nats.mailbox import NotConnectedError
from pegboard_nats.settings import NatsSettings
from pegboard_nats.tasks import NatsTasks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from conftest import NatsServer

KEY = "a key that all of them share"
PREFIX = "io.modelcontextprotocol/"
META = {
    f"{PREFIX}protocolVersion": "2026-07-28",
    f"{PREFIX}clientCapabilities": {"elicitation": {}, "extensions": {f"{PREFIX}tasks": {}}},
}
PLAIN = META | {f"{PREFIX}clientCapabilities": {"elicitation": {}}}
YES = {"action": "accept", "content": {}}
ROUNDS, ALL_ROUNDS = 24, 1_000
"""Elicitations of one run, and those with --thorough."""
LONG = 300_000
"""More than one message of the server holds."""


class Tools:
    """Tools of one instance that note what ran."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ran: list[str] = []
        self.started = trio.Event()
        self.cancelled = trio.Event()

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        @tool(requires_confirmation=True, max_result_bytes=1_000_000)
        async def drop(what: str) -> str:
            """Drop something."""
            self.ran.append(what)
            return f"{what} dropped"

        @tool
        async def ask(context: CallContext) -> str:
            """Ask, and wait where the person says no."""
            await context.progress(1, 2, "asking")
            if await context.confirm("Sure?"):
                await context.progress(2, 2, "asked")
                return f"yes, {self.name}"
            self.started.set()
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                self.cancelled.set()
                raise

        @tool(max_result_bytes=1_000_000)
        async def job(context: CallContext, asks: bool = False) -> str:
            """Become a task, and say much."""
            peer = peer_of(context)
            assert peer is not None
            await peer.start_task()
            if asks:
                return f"{(await peer.elicit('Sure?', key='q'))['action']}, {self.name}"
            return self.name * LONG

        return [drop, ask, job]


class Instances:
    """Instances that serve, and a client that gives each request to the next of them."""

    def __init__(self, tools: list[Tools], urls: list[str], scopes: list[trio.CancelScope], prefix: str) -> None:
        self.tools = tools
        self.ended = [trio.Event() for _ in tools]
        self.urls = urls
        self.scopes = scopes
        self.prefix = prefix
        self.next = 0
        self.raw = httpx2.AsyncClient(timeout=30, verify=False, trust_env=False)

    @property
    def ran(self) -> list[str]:
        return [one for tools in self.tools for one in tools.ran]

    def message(self, method: str, params: Any, meta: Any = META) -> Any:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}

    def headers(self, method: str, params: Any) -> dict[str, str]:
        given = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        return given | {"mcp-method": method, "mcp-name": str(params.get("taskId") or params.get("name", ""))}

    def url(self, at: int | None) -> str:
        self.next = self.next + 1 if at is None else at
        return self.urls[self.next % len(self.urls)]

    async def ask(self, method: str, params: Any, at: int | None = None, meta: Any = META) -> Any:
        """A request; the message that answers it."""
        answer = await self.raw.post(
            self.url(at), json=self.message(method, params, meta), headers=self.headers(method, params)
        )
        lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1] if lines else answer.text)

    async def call(self, name: str, arguments: Any, at: int | None = None, meta: Any = PLAIN, **more: Any) -> Any:
        return await self.ask("tools/call", {"name": name, "arguments": arguments, **more}, at, meta)

    async def confirm(self, what: str) -> str:
        """A call that asks, answered with yes, wherever its second round arrives."""
        asked = (await self.call("drop", {"what": what}))["result"]
        answers = dict.fromkeys(asked["inputRequests"], YES)
        done = await self.call("drop", {"what": what}, requestState=asked["requestState"], inputResponses=answers)
        assert "result" in done, done
        return str(done["result"]["content"][0]["text"])


@contextlib.asynccontextmanager
async def instances(
    server: NatsServer, count: int, *, named: bool = False, name: str = "i {index}.é"
) -> AsyncIterator[Instances]:
    """Instances that know of each other what NATS tells."""
    prefix, urls, scopes = f"t{secrets.token_hex(4)}", [], []
    tools = [Tools(f"i{index}") for index in range(count)]
    nats = {"servers": [server.url], "prefix": prefix, "alive_s": 0.2}

    async def serve(index: int, task_status: trio.TaskStatus[Any]) -> None:
        said: dict[str, Any] = {"state_key": KEY, "carrier": "nats", "task_store": "nats", "task_after_s": 30.0}
        said |= {"instance": name.format(index=index)} if named else {}
        plugins = [tools[index], mcp_plugin, pegboard_nats.plugin]
        with trio.CancelScope() as scope:
            async with open_host({"plugins": {"nats": nats, "mcp": said}}, plugins) as host, trio.open_nursery() as own:
                settings = McpSettings(**said)
                run = partial(serve_http, host, transport="http", bind="127.0.0.1", port=0, user_id=None)
                url = await own.start(partial(run, settings=settings))
                task_status.started((url, scope))
        served.ended[index].set()

    served = Instances(tools, urls, scopes, prefix)
    async with trio.open_nursery() as nursery:
        for index in range(count):
            url, scope = await nursery.start(serve, index)
            urls.append(url)
            scopes.append(scope)
        with trio.fail_after(120):
            for one in link._links.values():  # else who asks first is told to ask again: the links come up beside that
                await one.client.wait_connected()
                await one.client.flush()
            async with served.raw:
                yield served
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("count", [2, 5])
async def test_every_elicitation_is_completed_though_each_round_meets_another_instance(
    nats_server: NatsServer, count: int, thorough: bool
) -> None:
    rounds = ALL_ROUNDS if thorough else ROUNDS
    async with instances(nats_server, count) as served:
        numbers = iter(range(rounds))

        async def person() -> None:
            for number in numbers:
                assert await served.confirm(f"{number}") == f"{number} dropped"

        async with trio.open_nursery() as nursery:
            for _ in range(2 * count):
                nursery.start_soon(person)
        assert sorted(served.ran) == sorted(map(str, range(rounds)))


async def test_what_is_longer_than_a_message_comes_whole_both_ways(nats_server: NatsServer) -> None:
    async with instances(nats_server, 2) as served:
        assert await served.confirm("é" * LONG) == "é" * LONG + " dropped"


async def test_progress_and_the_end_of_a_client_pass_through_the_other_instance(nats_server: NatsServer) -> None:
    async with instances(nats_server, 2) as served:
        asked = (await served.call("ask", {}, at=0))["result"]
        (key,) = asked["inputRequests"]
        params = {"name": "ask", "arguments": {}, "requestState": asked["requestState"]}
        message = served.message("tools/call", {**params, "inputResponses": {key: YES}}, PLAIN | {"progressToken": "t"})
        answer = await served.raw.post(served.url(1), json=message, headers=served.headers("tools/call", params))
        told = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        assert told[0]["params"]["progress"] == 2
        assert told[-1]["result"]["content"][0]["text"] == "yes, i0"
        asked = (await served.call("ask", {}, at=0))["result"]
        no = {"requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(served.call, "ask", {}, at=1, **no))
            await served.tools[0].started.wait()
            nursery.cancel_scope.cancel()
        await served.tools[0].cancelled.wait()


async def test_tasks_are_found_from_every_instance_and_outlive_theirs(nats_server: NatsServer) -> None:
    async with instances(nats_server, 3) as served:
        asks = (await served.call("job", {"asks": True}, at=0, meta=META))["result"]["taskId"]
        long = (await served.call("job", {}, at=0, meta=META))["result"]["taskId"]

        async def until(id_: str, at: int, *states: str) -> Any:
            while (task := (await served.ask("tasks/get", {"taskId": id_}, at))["result"])["status"] not in states:
                await trio.sleep(0.01)
            return task

        asked = await until(asks, 1, "input_required")
        answers = dict.fromkeys(asked["inputRequests"], YES)
        await served.ask("tasks/update", {"taskId": asks, "inputResponses": answers}, at=2)
        assert (await until(asks, 1, "completed"))["result"]["content"][0]["text"] == "accept, i0"
        await until(long, 1, "completed")
        served.scopes[0].cancel()
        for at in (1, 2):
            while "result" not in (found := await served.ask("tasks/get", {"taskId": long}, at)):
                await trio.sleep(0.05)
            assert found["result"]["result"]["content"][0]["text"] == "i0" * LONG


@pytest.mark.parametrize("named", [False, True])
async def test_a_round_of_an_instance_that_is_gone_is_answered_all_the_same(
    nats_server: NatsServer, named: bool
) -> None:
    async with instances(nats_server, 2, named=named) as served:
        asked = (await served.call("drop", {"what": "x"}, at=0))["result"]
        again = {"requestState": asked["requestState"], "inputResponses": dict.fromkeys(asked["inputRequests"], YES)}
        served.scopes[0].cancel()
        await served.ended[0].wait()
        refused = (await served.call("drop", {"what": "x"}, at=1, **again))["error"]["data"]["details"]
        assert (refused["reason"], refused["retry"]) == ("instance", "same")
        assert served.ran == []


async def test_two_programs_with_one_name_do_not_take_each_other_for_gone(nats_server: NatsServer) -> None:
    async with instances(nats_server, 2, named=True, name="same") as served:
        for number in range(4):
            assert await served.confirm(f"{number}") == f"{number} dropped"
        made = (await served.call("job", {"asks": True}, at=0, meta=META))["result"]
        state = await served.ask("tasks/get", {"taskId": made["taskId"]}, at=1)
        assert state["result"]["status"] in ("working", "input_required")
        served.scopes[0].cancel()
        await served.ended[0].wait()
        state = await served.ask("tasks/get", {"taskId": made["taskId"]}, at=1)
        assert (state["result"]["status"], state["result"]["error"]["data"]["code"]) == ("failed", "OUTCOME_UNKNOWN")


async def test_a_session_of_the_handshake_era_is_found_from_every_instance(nats_server: NatsServer) -> None:
    async with instances(nats_server, 3) as served:
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        accept = {"accept": "application/json, text/event-stream"}
        opened = await served.raw.post(served.url(0), json=hello, headers=accept)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await served.raw.post(served.url(1), json=ready, headers=accept | session)).status_code == 202
        listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for at in range(3):
            assert "drop" in (await served.raw.post(served.url(at), json=listed, headers=accept | session)).text
        assert (await served.raw.delete(served.url(1), headers=session)).status_code == 200
        for at in range(3):
            gone = await served.raw.post(served.url(at), json=listed, headers=accept | session)
            assert gone.status_code == 404


async def test_what_was_not_sealed_with_the_key_is_not_served(nats_server: NatsServer) -> None:
    async with instances(nats_server, 1) as served, open_client(Servers(urls=(nats_server.url,))) as client:
        await client.wait_connected()
        state = (await served.call("drop", {"what": "x"}))["result"]["requestState"]
        process = Handles(Seal(KEY)).read("state", state, bound_to=_bound())
        assert process is not None
        to = f"{served.prefix}-mcp.process.{wire.escape(process.name.process)}"
        other = Seal("another key").seal("forwarded", ["127.0.0.1", 1], for_s=60)
        body = json.dumps(served.message("tools/list", {})).encode()
        for headers in ([], [["pegboard-forwarded", other]], [["pegboard-forwarded", KEY]]):
            told = {"method": "POST", "target": "/mcp", "headers": headers, "size": len(body), "sender": "nobody"}
            with client.replies() as answers:
                await client.ask(answers, to, wire.to_bytes(told) + b"\n" + body, headers={wire.KIND: REQUEST})
                kinds = [(await answers.get()) for _ in range(2)]
            assert wire.from_bytes(kinds[1].payload)["status"] == 403
        rubbish: list[Any] = [b"", b"\n", b"{}", b"[1]\n", b"\xff\n"]
        rubbish += [
            wire.to_bytes(told | change)
            for change in (
                {"size": -1},
                {"size": 1e30},
                {"target": 3},
                {"method": 3},
                {"headers": [3]},
                {"headers": [["é", "x"]]},
            )
        ]
        for payload in rubbish:
            answer = await client.request(to, payload, headers={wire.KIND: REQUEST})
            assert answer.headers[wire.KIND] == "refused", payload
        for kind in ("part", "cancel", "nonsense"):
            client.publish_nowait(to, b"x", headers={wire.KIND: kind, wire.CALL_ID: "nobody's"})
        assert await served.confirm("x") == "x dropped"


def _bound() -> str:
    from pegboard_mcp.server.handles import bound_to
    from pegboard_serving import Caller

    return bound_to(Caller(), "tools/call", {"name": "drop", "arguments": {"what": "x"}})


# -- the store


@pytest.fixture
def settings(nats_server: NatsServer) -> NatsSettings:
    return NatsSettings(servers=(nats_server.url,), prefix=f"t{secrets.token_hex(4)}")


def record(id_: str, owner: str = "ada", until_s: float | None = None, **more: Any) -> TaskRecord:
    now = time.time()
    until_s = now + 60 if until_s is None else until_s
    said: dict[str, Any] = {"status": "working", "created_s": now, "updated_s": now, **more}
    return TaskRecord(id=id_, owner=owner, until_s=until_s, **said)


@contextlib.asynccontextmanager
async def store_of(settings: NatsSettings) -> AsyncIterator[NatsTasks]:
    async with open_link(settings) as link:
        await link.client.wait_connected()
        yield NatsTasks(settings)


async def test_the_first_task_waits_for_the_link(settings: NatsSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ASK_AGAIN_S", 60)
    async with open_link(settings) as link:
        assert not link.client.connected
        store, first = NatsTasks(settings), record("first")
        assert await store.put(first)
        assert await store.get("first") == first
    monkeypatch.setattr(tasks, "ASK_AGAIN_S", 0)
    async with open_link(settings):
        for ask in (lambda: store.put(first), lambda: store.get("first")):
            with pytest.raises(NotConnectedError):
                await ask()


@pytest.mark.parametrize("size", [10, LONG])
async def test_a_store_keeps_a_task_for_every_instance(settings: NatsSettings, size: int) -> None:
    done = record("a-_", status="completed", result={"content": [{"type": "text", "text": "é\u2028" * size}]})
    async with store_of(settings) as store:
        assert await store.get("a-_") is None
        assert await store.put(record("a-_"))
        assert await store.put(done)
        assert await store.get("b") is None
        assert await store.put(record("old", until_s=time.time() - 1))
        assert await store.get("old") is None
        assert await NatsTasks(settings).get("a-_") == done


async def test_a_store_keeps_so_many_and_of_one_caller_fewer(
    settings: NatsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (tasks.MAX_TASKS, tasks.MAX_TASKS_OF_ONE) == (MAX_TASKS, MAX_TASKS_OF_ONE)
    monkeypatch.setattr(tasks, "MAX_TASKS", 3)
    monkeypatch.setattr(tasks, "MAX_TASKS_OF_ONE", 2)
    made = (("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1))
    async with store_of(settings) as store:
        assert [await store.put(record(f"{owner}{n}", owner)) for owner, n in made] == [True, True, False, True, False]
        assert await store.put(record("a1", "a", status="completed")), "what is kept may change"


async def test_a_store_keeps_no_more_where_many_come_at_once(
    settings: NatsSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each asked how many there are before any was made: 130 of 130 were kept, where 100 may be."""
    monkeypatch.setattr(tasks, "MAX_TASKS_OF_ONE", 5)
    kept: list[bool] = []
    async with store_of(settings) as store:
        async with trio.open_nursery() as nursery:

            async def put(number: int) -> None:
                kept.append(await store.put(record(f"a{number}", "a")))

            for number in range(20):
                nursery.start_soon(put, number)
        assert sum(kept) == 5


async def test_an_old_server_keeps_no_tasks(settings: NatsSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_nats.jetstream.NEEDED", (99, 0))
    async with store_of(settings) as store:
        with pytest.raises(PluginError, match=r"tasks need nats-server 99\.0 or newer"):
            await store.put(record("a"))


@pytest.mark.parametrize("told", [{}, {"status": "x"}, {"status": 200}, {"status": 200, "headers": [3]}])
async def test_an_answer_that_cannot_be_read_is_lost(settings: NatsSettings, told: Any) -> None:
    other = NatsSettings(servers=settings.servers, prefix=settings.prefix)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await served[0]._publish("head", wire.to_bytes(told))
        await trio.sleep_forever()

    async with open_link(settings) as one, open_link(other) as two:
        await one.client.wait_connected()
        await two.client.wait_connected()
        carrier = Carrier(settings)
        served = _Values(carrier._served)
        async with carrier.open("p", "", app):
            await one.client.flush()
            answer = await Carrier(other).send("p", "", "GET", "/mcp", [], b"")
        assert isinstance(answer, Failure)
        assert not answer.never_stood


class _Values:
    """The values of a mapping, by their places."""

    def __init__(self, mapping: Any) -> None:
        self.mapping = mapping

    def __getitem__(self, at: int) -> Any:
        return list(self.mapping.values())[at]


async def test_what_no_setting_or_plugin_fits_is_said_before_anything_is_served(nats_server: NatsServer) -> None:
    plugins = [mcp_plugin, pegboard_nats.plugin]
    with pytest.raises(ConfigError, match="state_key"):
        async with open_host({"plugins": {"mcp": {"carrier": "nats"}}}, plugins):
            pass
    for said in ({"task_after_s": 1.0, "task_store": "nat"}, {"carrier": "nat", "state_key": KEY}):
        async with open_host({"plugins": {"mcp": said}}, plugins) as host:
            serve = partial(serve_http, host, transport="http", bind="127.0.0.1", port=0, user_id=None)
            with pytest.raises(ConfigError, match=r"no plugin of that name"):
                await serve(settings=McpSettings(**said))
