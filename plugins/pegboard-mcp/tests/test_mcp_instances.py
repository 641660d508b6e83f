"""Instances behind a balancer that knows nothing: what one of them has, another finds; what was not sealed moves
nothing."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import hypothesis
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pegboard import CallContext, hookimpl, load_board, tool
from pegboard.errors import ConfigError
from pegboard_mcp import plugin as mcp_plugin
from pegboard_mcp.server.handles import SESSION, STATE, TASK, Handles, Name, Seal, bound_to
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.server.peer import peer_of
from pegboard_mcp.servers import LONGEST_INSTANCE
from pegboard_mcp.settings import McpSettings
from pegboard_serving import Caller

if TYPE_CHECKING:
    from collections.abc import Callable

# The generators of the SDK's client over HTTP are left half-way, which trio warns of.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. .async_generator:pytest.PytestUnraisableExceptionWarning"
)

KEY = "a key that all of them share"
PREFIX = "io.modelcontextprotocol/"
META = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": {"elicitation": {}}}
YES = {"action": "accept", "content": {}}
ROUNDS, ALL_ROUNDS = 24, 1_000
"""Elicitations of one run, and those with --thorough."""


class Tools:
    """Tools of one instance that note what ran."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ran: list[str] = []
        self.started = trio.Event()
        self.cancelled = trio.Event()

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        @tool(requires_confirmation=True)
        async def drop(what: str) -> str:
            """Drop something."""
            self.ran.append(what)
            return f"{what} dropped"

        @tool
        async def ask(context: CallContext) -> str:
            """Ask, and then again, and wait where the person says no."""
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

        @tool(run="inplace")
        def where() -> str:
            """Say which instance answers."""
            return self.name

        @tool
        async def last(context: CallContext) -> str:
            """Become a task, and ask."""
            peer = peer_of(context)
            assert peer is not None
            await peer.start_task()
            return f"{(await peer.elicit('Sure?', key='q'))['action']}, {self.name}"

        @tool(max_result_bytes=1_000)
        async def long() -> str:
            """Say more than is shown."""
            return "\n".join(f"{self.name} {number}" for number in range(1_000))

        return [drop, ask, where, last, long]


class Balancer(httpx2.AsyncBaseTransport):
    """Gives each request to the next instance, whatever is in it."""

    def __init__(self, ports: list[int]) -> None:
        self.ports = ports
        self.next = 0
        self.answered: list[int] = []
        self._http = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        port = self.ports[self.next % len(self.ports)]
        self.next += 1
        self.answered.append(port)
        request.url = request.url.copy_with(port=port)
        request.headers["host"] = f"127.0.0.1:{port}"
        return await self._http.handle_async_request(request)

    async def aclose(self) -> None:
        await self._http.aclose()


class Cluster:
    """Instances that serve, and a client that reaches them through a balancer."""

    def __init__(self, tools: list[Tools], balancer: Balancer, raw: httpx2.AsyncClient, path: str) -> None:
        self.tools = tools
        self.balancer = balancer
        self.raw = raw
        self.url = f"http://127.0.0.1{path}"
        self.id = 0

    @property
    def ran(self) -> list[str]:
        return [one for tools in self.tools for one in tools.ran]

    async def post(self, message: Any, at: int | None = None, **headers: str) -> Any:
        """Post a message: to the next instance, or to one that is named."""
        if at is not None:
            self.balancer.next = at
        given = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if "params" in message and "name" in message["params"] and "mcp-session-id" not in headers:
            given |= {"mcp-protocol-version": "2026-07-28", "mcp-method": message["method"]}
            given["mcp-name"] = message["params"]["name"]
        return await self.raw.post(self.url, json=message, headers=given | headers)

    async def call(self, name: str, arguments: Any = None, at: int | None = None, user: str = "", **more: Any) -> Any:
        """A `tools/call` of 2026-07-28; the message that answers it."""
        self.id += 1
        params = {"name": name, "arguments": arguments or {}, "_meta": META, **more}
        message = {"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params}
        headers = {"authorization": f"Bearer {user}"} if user else {}
        return answer_of(await self.post(message, at, **headers))

    async def confirm(self, what: str) -> Any:
        """A call that asks, answered with yes, wherever its second round arrives."""
        asked = (await self.call("drop", {"what": what}))["result"]
        assert asked["resultType"] == "input_required", asked
        answers = dict.fromkeys(asked["inputRequests"], YES)
        return await self.call("drop", {"what": what}, requestState=asked["requestState"], inputResponses=answers)

    async def handshake(self, capabilities: Any = None) -> dict[str, str]:
        """A session of the handshake era; its headers."""
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": "2025-06-18", "capabilities": capabilities or {}, "clientInfo": info}
        answer = await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert answer.status_code == 200, answer.text
        session = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
        ready = await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        assert ready.status_code == 202, ready.text
        return session


def messages_of(answer: Any) -> list[Any]:
    if answer.headers["content-type"].startswith("text/event-stream"):
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    return [answer.json()]


def answer_of(answer: Any) -> Any:
    return messages_of(answer)[-1]


def text_of(message: Any) -> str:
    return str(message["result"]["content"][0]["text"])


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def cluster(host_with: Any) -> Callable[..., Any]:
    """`async with cluster(3) as cluster`: instances that know each other, as the configuration says it."""

    @contextlib.asynccontextmanager
    async def serve(
        count: int,
        *,
        transport: Any = "http",
        key: str | None = KEY,
        know: bool = True,
        swapped: bool = False,
        each: Callable[[int], dict[str, Any]] = lambda index: {},
        **said: Any,
    ) -> Any:
        ports = free_ports(count)
        tools = [Tools(f"i{index}") for index in range(count)]
        others = {f"i{index}": f"http://127.0.0.1:{port}" for index, port in enumerate(ports)}
        if swapped:
            others = dict(zip(others, reversed(others.values()), strict=True))
        async with trio.open_nursery() as nursery:
            for index, port in enumerate(ports):
                names = {"instance": f"i{index}", "instances": others} if know else {}
                settings = McpSettings(state_key=key, **names, **said, **each(index))
                mcp = {"plugins": {"mcp": {"task_after_s": 30.0}}}
                host = await host_with(tools[index], mcp_plugin, config=mcp)
                serve = partial(serve_http, host, transport=transport, bind="127.0.0.1", port=port)
                await nursery.start(partial(serve, user_id=None, settings=settings))
            balancer = Balancer(ports)
            async with httpx2.AsyncClient(transport=balancer, timeout=20) as raw:
                with trio.fail_after(120):
                    yield Cluster(tools, balancer, raw, "/sse" if transport == "sse" else "/mcp")
            nursery.cancel_scope.cancel()

    return serve


# -- rounds


@pytest.mark.parametrize("count", [2, 5])
async def test_every_elicitation_is_completed_though_each_round_meets_another_instance(
    cluster: Any, count: int, thorough: bool
) -> None:
    rounds = ALL_ROUNDS if thorough else ROUNDS
    async with cluster(count) as served:
        for number in range(rounds):
            assert text_of(await served.confirm(f"{number}")) == f"{number} dropped"
        assert len(set(served.balancer.answered)) == count
        assert sorted(served.ran) == sorted(map(str, range(rounds)))


async def test_what_is_asked_at_once_is_completed_too(cluster: Any) -> None:
    async with cluster(2) as served:
        async with trio.open_nursery() as nursery:
            for number in range(ROUNDS):
                nursery.start_soon(served.confirm, f"{number}")
        assert sorted(served.ran) == sorted(map(str, range(ROUNDS)))


async def test_without_addresses_the_others_say_that_the_same_request_may_be_sent_again(cluster: Any) -> None:
    async with cluster(3, know=False) as served:
        asked = (await served.call("drop", {"what": "x"}, at=0))["result"]
        again = {"requestState": asked["requestState"], "inputResponses": dict.fromkeys(asked["inputRequests"], YES)}
        for at in (1, 2):
            refused = (await served.call("drop", {"what": "x"}, at=at, **again))["error"]
            assert (refused["data"]["details"]["retry"], refused["data"]["details"]["reason"]) == ("same", "instance")
        assert text_of(await served.call("drop", {"what": "x"}, at=0, **again)) == "x dropped"


async def test_an_instance_that_is_down_is_no_end_of_the_call(cluster: Any) -> None:
    (nobody,) = free_ports(1)
    named = {"instance": "i0", "instances": {"down": f"http://127.0.0.1:{nobody}"}}
    async with cluster(1, know=False, **named) as served:
        state = Handles(Seal(KEY), Name("down", "p")).give(STATE, "x", bound_to=_bound("drop", {"what": "x"}), for_s=60)
        refused = (await served.call("drop", {"what": "x"}, requestState=state))["error"]
        assert refused["data"]["details"]["retry"] == "same"


async def test_without_a_shared_key_a_state_of_another_is_none(cluster: Any) -> None:
    async with cluster(2, key=None, know=False) as served:
        asked = (await served.call("drop", {"what": "x"}, at=0))["result"]
        refused = (await served.call("drop", {"what": "x"}, at=1, requestState=asked["requestState"]))["error"]
        assert refused["code"] == -32602


async def test_instances_that_point_at_each_other_answer_all_the_same(cluster: Any) -> None:
    async with cluster(2, swapped=True) as served:
        asked = (await served.call("drop", {"what": "x"}, at=0))["result"]
        refused = (await served.call("drop", {"what": "x"}, at=1, requestState=asked["requestState"]))["error"]
        assert refused["data"]["details"]["reason"] == "instance"


async def test_progress_and_the_end_of_a_client_pass_through_the_other_instance(cluster: Any) -> None:
    async with cluster(2) as served:
        asked = (await served.call("ask", at=0))["result"]
        (key,) = asked["inputRequests"]
        params = {"name": "ask", "arguments": {}, "_meta": META | {"progressToken": "t"}}
        params |= {"requestState": asked["requestState"], "inputResponses": {key: YES}}
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
        *told, last = messages_of(await served.post(message, at=1))
        assert [one["params"]["progress"] for one in told] == [2]
        assert text_of(last) == "yes, i0"
        asked = (await served.call("ask", at=0))["result"]
        no = {key: {"action": "decline"}}
        async with trio.open_nursery() as nursery:
            again = {"requestState": asked["requestState"], "inputResponses": no}
            nursery.start_soon(partial(served.call, "ask", at=1, **again))
            await served.tools[0].started.wait()
            nursery.cancel_scope.cancel()
        await served.tools[0].cancelled.wait()


async def test_a_task_is_found_from_every_instance(cluster: Any) -> None:
    able = {f"{PREFIX}clientCapabilities": {"elicitation": {}, "extensions": {f"{PREFIX}tasks": {}}}}
    async with cluster(3) as served:

        async def ask(method: str, at: int, **params: Any) -> Any:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META | able}}
            headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
            headers["mcp-name"] = params.get("taskId") or params["name"]
            return answer_of(await served.post(message, at, **headers))["result"]

        for give_up in (False, True):
            id_ = (await ask("tools/call", 0, name="last", arguments={}))["taskId"]
            while (task := await ask("tasks/get", 1, taskId=id_))["status"] != "input_required":
                pass
            if give_up:
                await ask("tasks/cancel", 2, taskId=id_)
            else:
                await ask("tasks/update", 2, taskId=id_, inputResponses=dict.fromkeys(task["inputRequests"], YES))
            while (task := await ask("tasks/get", 1, taskId=id_))["status"] in ("working", "input_required"):
                pass
            assert task["status"] == ("cancelled" if give_up else "completed")
            assert give_up or task["result"]["content"][0]["text"] == "accept, i0"


async def test_who_listens_hears_of_a_task_of_another_instance(cluster: Any) -> None:
    able = {f"{PREFIX}clientCapabilities": {"elicitation": {}, "extensions": {f"{PREFIX}tasks": {}}}}
    async with cluster(3) as served:

        def message(method: str, **params: Any) -> Any:
            return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META | able}}

        def headers(method: str, **more: str) -> Any:
            return {"mcp-protocol-version": "2026-07-28", "mcp-method": method, **more}

        made = [
            answer_of(await served.post(message("tools/call", name="last", arguments={}), at=at))["result"]["taskId"]
            for at in (0, 2)
        ]
        given = {"accept": "text/event-stream, application/json", **headers("subscriptions/listen")}
        served.balancer.next = 1
        listen = message("subscriptions/listen", notifications={"taskIds": ["x", *made], "toolsListChanged": True})
        async with served.raw.stream("POST", served.url, json=listen, headers=given) as stream:
            told = _events(stream)
            honoured = (await anext(told))["params"]["notifications"]
            assert honoured == {"toolsListChanged": True, "taskIds": made[:1]}, "each instance tells of its own"
            while (state := (await anext(told))["params"])["status"] != "input_required":
                pass
            update = message("tasks/update", taskId=made[0], inputResponses=dict.fromkeys(state["inputRequests"], YES))
            await served.post(update, at=2, **headers("tasks/update", **{"mcp-name": made[0]}))
            while (state := (await anext(told))["params"])["status"] != "completed":
                pass
            assert state["result"]["content"][0]["text"] == "accept, i0"


async def test_a_result_that_is_too_long_is_read_on_from_every_instance(cluster: Any) -> None:
    async with cluster(3) as served:
        shown = (await served.call("long", at=0))["result"]["content"]
        (id_,) = re.findall(r'read_result\(id="([^"]+)"', shown[1]["text"])
        for at in range(3):
            assert "i0 " in text_of(await served.call("read_result", {"id": id_, "page": 2}, at=at))
        for wrong in (id_[:-1] + "#", id_.replace("i0.", "i1."), f"x.{id_}", "", "..."):
            refused = await served.call("read_result", {"id": wrong, "page": 2}, at=1)
            said = refused["error"]["data"] if "error" in refused else refused["result"]["_meta"]["pegboard-mcp/error"]
            assert said["code"] in ("NOT_FOUND", "INVALID_INPUT")


# -- what moves nothing

TOKENS = {"token-of-ada": "ada", "token-of-bob": "bob"}


@pytest.mark.parametrize("at", [0, 1], ids=["at its instance", "at another"])
@pytest.mark.parametrize("change", ["user", "tool", "arguments", "text", "key", "end"])
async def test_a_state_is_good_for_its_user_its_tool_and_its_arguments_alone(
    cluster: Any, at: int, change: str
) -> None:
    async with cluster(2, tokens=TOKENS) as served:
        asked = (await served.call("drop", {"what": "x"}, at=0, user="token-of-ada"))["result"]
        state, answers = asked["requestState"], dict.fromkeys(asked["inputRequests"], YES)
        raw = base64.urlsafe_b64decode(state + "==")
        if change == "text":  # the id of another, under the same seal
            state = base64.urlsafe_b64encode(raw[:-4] + b'y"]').rstrip(b"=").decode()
        elif change == "end":
            state += "=" if at else "A"
        elif change == "key":
            state = Handles(Seal("the key of somebody else"), Name("i0", "p")).give(STATE, "x", for_s=60)
        refused = await served.call(
            "where" if change == "tool" else "drop",
            {"what": "y" if change == "arguments" else "x"},
            at=at,
            user="token-of-bob" if change == "user" else "token-of-ada",
            requestState=state,
            inputResponses=answers,
        )
        assert refused["error"]["code"] == -32602
        assert served.ran == []
        done = await served.call(
            "drop",
            {"what": "x"},
            at=at,
            user="token-of-ada",
            requestState=asked["requestState"],
            inputResponses=answers,
        )
        assert text_of(done) == "x dropped"


async def test_no_client_says_where_a_request_goes(cluster: Any) -> None:
    async with trio.open_nursery() as nursery:
        reached: list[Any] = []
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        trap = listener.socket.getsockname()[1]

        async def note(stream: trio.SocketStream) -> None:
            reached.append(await stream.receive_some())

        nursery.start_soon(trio.serve_listeners, note, [listener])
        async with cluster(2) as served:
            address = f"http://127.0.0.1:{trap}"
            for key in ("", "another key, as good as any", KEY):
                # Even who has the key names instances alone.
                for name in (Name(address, "p"), Name("i1/../x", "../../x"), Name("", address)):
                    bound = _bound("drop", {"what": "x"})
                    state = Handles(Seal(key), name).give(STATE, "x", bound_to=bound, for_s=60)
                    refused = (await served.call("drop", {"what": "x"}, requestState=state))["error"]
                    assert refused["code"] in (-32602, -32005)
                    headers = {
                        "mcp-session-id": state,
                        "pegboard-forwarded": state,
                        "mcp-protocol-version": "2025-06-18",
                    }
                    listed = await served.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, **headers)
                    assert listed.status_code in (404, 503)
        assert reached == []
        nursery.cancel_scope.cancel()


def _bound(name: str, arguments: Any) -> str:
    return bound_to(Caller(), "tools/call", {"name": name, "arguments": arguments})


_VALUES = st.lists(st.text(max_size=5) | st.integers() | st.none(), max_size=3)


@given(_VALUES, st.text(max_size=5), st.text(max_size=5), st.data())
@hypothesis.settings(max_examples=60)
def test_a_sealed_text_opens_for_its_use_alone_and_no_other_text_does(
    values: list[Any], kind: str, bound: str, data: Any
) -> None:
    """Of all texts only the very one that was sealed opens, for the same kind, bound to the same."""
    seal = Seal(KEY)
    text = seal.seal(kind, values, bound_to=bound)
    assert seal.open(kind, text, bound_to=bound) == values
    assert Seal(KEY).open(kind, text, bound_to=bound) == values
    assert Seal("another key").open(kind, text, bound_to=bound) is None
    assert seal.open(kind + "x", text, bound_to=bound) is None
    assert seal.open(kind, text, bound_to=bound + "x") is None
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("Aa0-_=. \né") | st.just(""))
    if other != text[at]:
        assert seal.open(kind, text[:at] + other + text[at + 1 :], bound_to=bound) is None
    assert seal.open(kind, data.draw(st.none() | st.integers() | st.text()), bound_to=bound) is None


@pytest.mark.parametrize("sign", ["x", "é", "\U0001f600", "\x01", '"', "."])
def test_what_an_instance_of_any_name_gives_out_is_read(sign: str) -> None:
    name = sign * LONGEST_INSTANCE
    load_board({"plugins": {"mcp": {"state_key": KEY, "instance": name}}}, [mcp_plugin])
    own, other = (Handles(Seal(KEY), Name(name, process)) for process in ("one", "two"))
    for kind in (STATE, SESSION, TASK):
        sealed = other.read(kind, own.give(kind, "i" * 32, bound_to="b", for_s=1e9), bound_to="b")
        assert sealed is not None
        assert sealed.name == own.own
    assert other.owner_of_result(own.result_id()) == own.own


def test_a_sealed_text_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    seal, now = Seal(), [100.0]
    monkeypatch.setattr("pegboard_mcp.server.handles.time.time", lambda: now[0])
    text = seal.seal("state", [1], for_s=60)
    now[0] = 159.0
    assert seal.open("state", text) == [1]
    now[0] = 160.0
    assert seal.open("state", text) is None


# -- the handshake era


async def test_a_session_of_the_handshake_era_is_found_from_every_instance(cluster: Any) -> None:
    async with cluster(3) as served:
        session = await served.handshake()
        home = served.tools[0].name
        for number in range(6):
            params = {"name": "where", "arguments": {}}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            assert text_of(answer_of(await served.post(message, **session))) == home
        gone = await served.raw.delete(served.url, headers=session)
        assert gone.status_code == 200
        for at in range(3):
            listed = await served.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, at, **session)
            assert listed.status_code == 404


@pytest.mark.parametrize("at", [0, 1], ids=["at its instance", "at another"])
async def test_a_stream_that_is_opened_anew_is_sent_nothing_again(cluster: Any, at: int) -> None:
    """Attack: a client names the last event that another one was sent. No event is kept; and to be told that a session
    is gone would have a client begin anew, without its label."""
    async with cluster(2, tokens=TOKENS) as served:
        served.raw.headers["authorization"] = "Bearer token-of-ada"
        served.balancer.next = 0
        again = {**await served.handshake(), "accept": "text/event-stream", "last-event-id": "1"}
        for user, status in (("bob", 404), ("ada", 200)):
            served.balancer.next = at
            again["authorization"] = f"Bearer token-of-{user}"
            async with served.raw.stream("GET", served.url, headers=again) as stream:
                assert stream.status_code == status


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_session_is_good_for_who_its_client_was(cluster: Any, transport: str) -> None:
    """Attack: a token is another user's, or has another profile, since the configuration was read anew, and a session
    from before goes on as who it was, at a process that has the old one still."""

    def each(index: int) -> dict[str, Any]:
        return {"tokens": {"token": "ada" if index == 0 else "bob"}}

    key = {"authorization": "Bearer token"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with cluster(2, each=each, transport=transport) as served:
        served.raw.headers.update(key)
        served.balancer.next = 0
        if transport == "http":
            about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
            began = await served.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}, 0)
            session = {"mcp-session-id": began.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
            answers = [(await served.post(ping, at, **session)).status_code for at in (0, 1)]
            assert answers == [200, 404]
            return
        async with served.raw.stream("GET", served.url) as stream:
            address = [line async for line in _until(stream.aiter_lines(), "data: /messages/")][-1]
            place = f"http://127.0.0.1{address.removeprefix('data: ')}"
            answers = []
            for at in (0, 1):
                served.balancer.next = at
                answers.append((await served.raw.post(place, json=ping)).status_code)
            assert answers == [202, 400]


async def test_a_session_that_names_what_another_instance_has_is_no_lost_one(cluster: Any) -> None:
    """Attack: a model repeats an id of another instance, out of a text or of a conversation before, and the client is
    told that its session is gone: it begins anew, and what it was given is forgotten."""
    async with cluster(2) as served:
        shown = (await served.call("long", at=1))["result"]["content"]
        (id_,) = re.findall(r'read_result\(id="([^"]+)"', shown[1]["text"])
        served.balancer.next = 0
        session = await served.handshake()
        for at in range(2):
            params = {"name": "read_result", "arguments": {"id": id_}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            answer = await served.post(message, at, **session)
            assert (answer.status_code, "NOT_FOUND" in answer.text) == (200, True)


async def test_what_a_session_is_asked_it_may_answer_to_another_instance(cluster: Any) -> None:
    async with cluster(2) as served:
        session = await served.handshake({"elicitation": {}})
        params = {"name": "ask", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        served.balancer.next = 1
        given = {"accept": "application/json, text/event-stream", "content-type": "application/json", **session}
        async with served.raw.stream("POST", served.url, json=message, headers=given) as stream:
            told = [one async for one in _events(stream, until="elicitation/create")]
            yes = {"jsonrpc": "2.0", "id": told[-1]["id"], "result": YES}
            assert (await served.post(yes, at=1, **session)).status_code == 202
            last = [one async for one in _events(stream)][-1]
        assert text_of(last) == "yes, i0"


async def _events(stream: Any, until: str = "") -> Any:
    if not hasattr(stream, "lines_once"):
        stream.lines_once = stream.aiter_lines()
    async for line in stream.lines_once:
        if line.startswith("data: {"):
            message = json.loads(line[6:])
            yield message
            if message.get("method") == until:
                return


async def test_a_session_of_sse_is_found_from_every_instance(cluster: Any) -> None:
    async with cluster(2, transport="sse") as served, served.raw.stream("GET", served.url) as stream:
        lines = stream.aiter_lines()
        address = [line async for line in _until(lines, "data: /messages/")][-1].removeprefix("data: ")
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        served.url = f"http://127.0.0.1{address}"
        assert (await served.post(hello, at=1)).status_code == 202
        answered = [line async for line in _until(lines, "data: {")][-1]
        assert json.loads(answered[6:])["id"] == 0


async def _until(lines: Any, begins: str) -> Any:
    async for line in lines:
        yield line
        if line.startswith(begins):
            return


# -- what is said of the configuration, and what it costs nobody


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({"state_key": "short"}, "state_key"),
        ({"instances": {"a": "http://a:1"}}, "state_key"),
        ({"state_key": KEY, "instances": {"a": "http://a:1"}}, "instance"),
        ({"state_key": KEY, "instance": "a", "instances": {"a": "a:1"}}, "instances.a"),
        ({"state_key": KEY, "instance": "a", "instances": {"a": "http://a:1/mcp"}}, "instances.a"),
        ({"instance": " "}, "instance"),
        ({"instance": "x" * 65}, "instance"),
    ],
)
def test_what_is_wrong_with_instances_is_said_when_the_configuration_loads(said: Any, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_board({"plugins": {"mcp": said}}, [mcp_plugin])
    assert where in str(caught.value)
    assert KEY not in str(caught.value)


async def test_who_serves_alone_imports_nothing_of_it(over_http: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("brought", "instances", "processes", "task_stores", "tasks"):
        monkeypatch.setitem(sys.modules, f"pegboard_mcp.server.{name}", None)
    async with over_http() as served:
        for _ in range(2):
            assert (await served.call("add", {"a": 1, "b": 2})).status_code == 200
        await served.open_session()


async def test_our_own_client_repeats_a_round_that_met_another_instance(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: Any
) -> None:
    from pegboard_mcp.client._errors import RpcError
    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.client.rpc import data_of, number_of
    from pegboard_mcp.server.handles import elsewhere, lost

    said = [elsewhere(), elsewhere(), None, lost(), None]

    async def send(self: Any, *_: Any) -> Any:
        await trio.lowlevel.checkpoint()
        if (error := said.pop(0)) is not None:
            raise RpcError(number_of(error), error.message, data_of(error))
        return {"content": []}

    monkeypatch.setattr(Connection, "_send", send)
    connection = Connection.__new__(Connection)
    assert await connection._send_round("tools/call", {}, None) == {"content": []}
    with pytest.raises(RpcError, match="is gone"):  # it may have run
        await connection._send_round("tools/call", {}, None)
