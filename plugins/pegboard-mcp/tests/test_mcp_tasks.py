"""Calls that last longer become tasks: as the board serves them, as it takes them of servers, where they are kept."""

from __future__ import annotations

import contextlib
import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import trio
import trio.testing
from mcp.shared.exceptions import MCPError

from pegboard import CallContext, ConfigError, ErrorCode, ToolError, hookimpl, open_host, tool
from pegboard_mcp import plugin as mcp_plugin
from pegboard_mcp.checks import check_brought
from pegboard_mcp.client._errors import LinkError, Lost, RpcError
from pegboard_mcp.client.rpc import data_of, tool_error_of
from pegboard_mcp.client.tasks import follow
from pegboard_mcp.server import task_stores
from pegboard_mcp.server.app import make_server
from pegboard_mcp.server.elicitation import Suspended
from pegboard_mcp.server.handles import STATE, TASK, elsewhere
from pegboard_mcp.server.http import serve_http
from pegboard_mcp.server.peer import peer_of
from pegboard_mcp.server.task_stores import MemoryTasks, SqliteTasks, TaskRecord
from pegboard_mcp.settings import McpSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The generators of the SDK's client over HTTP are left half-way, which trio warns of.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. .async_generator:pytest.PytestUnraisableExceptionWarning"
)

PREFIX = "io.modelcontextprotocol/"
ABLE: dict[str, Any] = {"extensions": {f"{PREFIX}tasks": {}}, "elicitation": {}}
YES = {"action": "accept", "content": {}}
TOKENS = {"token-of-ada": "ada", "token-of-bob": "bob"}


class Lasting:
    """Tools that last as long as a test says."""

    def __init__(self) -> None:
        self.started = trio.Event()
        self.go = trio.Event()
        self.ending = trio.Event()
        self.ended: list[str] = []

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        @tool(timeout_s=60)
        async def wait(context: CallContext) -> str:
            """Wait until the test says go."""
            self.started.set()
            await context.progress(1, 2, "half")
            try:
                await self.go.wait()
            except trio.Cancelled:
                self.ended.append("cancelled")
                raise
            self.ended.append("done")
            return f"waited for {context.session.user_id}"

        @tool
        async def job(context: CallContext, how: str = "well") -> str:
            """Become a task, and end as is said."""
            peer = peer_of(context)
            assert peer is not None
            is_task = await peer.start_task()
            if how == "asks":
                first = await peer.elicit("First?", key="same")
                second = await peer.elicit("Second?", key="same")
                return f"{first['action']} {second['action']}"
            if how == "fails":
                raise ToolError(ErrorCode.UPSTREAM_ERROR, "it failed")
            if how == "needs":
                peer.require("sampling")
            return f"a task: {is_task}"

        @tool(requires_confirmation=True)
        async def drop() -> str:
            """Drop it."""
            return "dropped"

        return [wait, job, drop]


class Asker:
    """A client of 2026-07-28 by hand."""

    def __init__(self, url: str, raw: httpx2.AsyncClient) -> None:
        self.url = url
        self.raw = raw
        self.id = 0

    async def ask(self, method: str, params: Any, *, able: Any = ABLE, user: str = "", name: str | None = None) -> Any:
        """A request; its result, or its error."""
        self.id += 1
        meta = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": able}
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": {**params, "_meta": meta}}
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        headers |= {"mcp-method": method, "mcp-name": name or params.get("taskId") or params.get("name", "")}
        headers |= {"authorization": f"Bearer {user}"} if user else {}
        answer = (await self.raw.post(self.url, json=message, headers=headers)).json()
        return answer.get("result") or answer["error"]

    @contextlib.asynccontextmanager
    async def listen(self, *ids: str, able: Any = ABLE, user: str = "", **asked: Any) -> Any:
        """What comes on a stream about these tasks, message by message."""
        self.id += 1
        meta = {f"{PREFIX}protocolVersion": "2026-07-28", f"{PREFIX}clientCapabilities": able}
        params = {"_meta": meta, "notifications": {"taskIds": list(ids), **asked}}
        message = {"jsonrpc": "2.0", "id": self.id, "method": "subscriptions/listen", "params": params}
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        headers |= {"mcp-method": "subscriptions/listen"} | ({"authorization": f"Bearer {user}"} if user else {})
        async with self.raw.stream("POST", self.url, json=message, headers=headers) as stream:
            yield (json.loads(line.removeprefix("data: ")) async for line in stream.aiter_lines() if "{" in line)

    async def call(self, name: str, arguments: Any = None, **more: Any) -> Any:
        return await self.ask("tools/call", {"name": name, "arguments": arguments or {}}, **more)

    async def get(self, id_: str, **more: Any) -> Any:
        return await self.ask("tasks/get", {"taskId": id_}, **more)

    async def until_of(self, user: str, id_: str) -> Any:
        while (await self.get(id_, user=user))["status"] == "working":
            await trio.sleep(0.01)

    async def until(self, id_: str, *states: str) -> Any:
        """The task, once it is in one of these states."""
        while (task := await self.get(id_))["status"] not in states:
            await trio.sleep(0.01)
        return task


@pytest.fixture
def served(host_with: Any) -> Callable[..., Any]:
    """`async with served(task_after_s=0) as (client, tools)`."""

    @contextlib.asynccontextmanager
    async def serve(*others: Any, transport: Any = "http", **said: Any) -> Any:
        tools = Lasting()
        settings = McpSettings(**said)
        mcp = {name: value for name, value in said.items() if name.startswith("task_")}
        host = await host_with(tools, *others, mcp_plugin, config={"plugins": {"mcp": {"task_after_s": 30.0, **mcp}}})
        async with trio.open_nursery() as nursery:
            serve = partial(serve_http, host, transport=transport, bind="127.0.0.1", port=0, user_id=None)
            url = await nursery.start(partial(serve, settings=settings))
            async with httpx2.AsyncClient(timeout=20, verify=False) as raw:
                with trio.fail_after(60):
                    yield Asker(url, raw), tools
            nursery.cancel_scope.cancel()
            tools.ending.set()

    return serve


@pytest.mark.usefixtures("either_path")
async def test_a_call_that_lasts_longer_becomes_a_task_and_its_result_is_kept(served: Any) -> None:
    async with served(task_after_s=0.05) as (client, tools):
        for _ in range(2):  # the first goes the SDK's way
            tools.go, tools.started = trio.Event(), trio.Event()
            made = await client.call("wait")
            assert (made["resultType"], made["status"]) == ("task", "working")
            assert made.keys().isdisjoint({"result", "error", "inputRequests", "requestState", "content"})
            working = await client.get(made["taskId"])
            assert (working["status"], working["statusMessage"], working["resultType"]) == (
                "working",
                "half",
                "complete",
            )
            tools.go.set()
            for _ in range(2):  # kept, however often it is asked for
                done = await client.until(made["taskId"], "completed")
                assert done["result"]["content"][0]["text"] == "waited for None"
            assert done["ttlMs"] == 3_600_000
        assert tools.ended == ["done", "done"]


async def test_a_call_of_a_client_that_takes_no_tasks_waits_for_its_result(served: Any) -> None:
    async with served(task_after_s=0.0) as (client, tools):
        tools.go.set()
        assert (await client.call("wait", able={}))["content"][0]["text"] == "waited for None"
        assert (await client.call("job", able={}))["content"][0]["text"] == "a task: False"
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            refused = await client.ask(method, {"taskId": "x"}, able={})
            assert refused["code"] == -32021
            assert refused["data"]["requiredCapabilities"] == {"extensions": {f"{PREFIX}tasks": {}}}


async def test_where_it_is_not_configured_there_are_no_tasks(host_with: Any) -> None:
    tools = Lasting()
    host = await host_with(tools, mcp_plugin)
    async with trio.open_nursery() as nursery:
        serve = partial(serve_http, host, transport="http", bind="127.0.0.1", port=0, user_id=None)
        url = await nursery.start(partial(serve, settings=McpSettings()))
        async with httpx2.AsyncClient(verify=False) as raw:
            client = Asker(url, raw)
            assert (await client.call("job"))["content"][0]["text"] == "a task: False"
            assert (await client.get("x"))["code"] == -32601
            found = await client.ask("server/discover", {})
            assert "extensions" not in found["capabilities"]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [("well", "completed", "a task: True"), ("fails", "completed", "it failed"), ("needs", "failed", "sampling")],
)
async def test_what_a_task_comes_to_is_a_result_or_an_error_of_the_protocol(
    served: Any, how: str, status: str, said: str
) -> None:
    async with served() as (client, _):
        made = await client.call("job", {"how": how})
        assert made["resultType"] == "task"
        done = await client.until(made["taskId"], "completed", "failed")
        assert done["status"] == status
        if status == "completed":
            assert said in done["result"]["content"][0]["text"]
            assert done["result"].get("isError", False) is (how == "fails")
        else:
            assert said in done["error"]["message"]
            assert done["error"]["code"] == -32021


async def test_what_a_task_asks_is_answered_by_updates_each_question_under_a_key_of_its_own(served: Any) -> None:
    async with served() as (client, _):
        id_ = (await client.call("job", {"how": "asks"}))["taskId"]
        keys = []
        for _ in range(2):
            while (asked := await client.until(id_, "input_required"))["inputRequests"].keys() <= set(keys):
                pass
            (key,) = asked["inputRequests"]
            assert key not in keys
            keys.append(key)
            wrong = await client.ask("tasks/update", {"taskId": id_, "inputResponses": {key: {"roots": []}}})
            assert wrong["code"] == -32602
            for response in ({"unknown": {}}, {keys[0]: YES, key: YES}):
                assert (await client.ask("tasks/update", {"taskId": id_, "inputResponses": response}))["resultType"]
        done = await client.until(id_, "completed")
        assert done["result"]["content"][0]["text"] == "accept accept"


async def test_a_question_before_the_task_is_one_of_its_request(served: Any) -> None:
    async with served(task_after_s=0.0) as (client, _):
        asked = await client.call("drop")
        if asked["resultType"] == "task":  # a moment later, and it is asked in the task
            asked = await client.until(asked["taskId"], "input_required")
        assert list(asked["inputRequests"])


async def test_a_task_that_is_given_up_ends_and_one_that_ended_stays_as_it_is(served: Any) -> None:
    async with served(task_after_s=0.01) as (client, tools):
        id_ = (await client.call("wait"))["taskId"]
        assert (await client.ask("tasks/cancel", {"taskId": id_})).keys() == {"resultType", "_meta"}
        assert (await client.until(id_, "cancelled", "completed", "failed"))["status"] == "cancelled"
        assert tools.ended == ["cancelled"]
        tools.go.set()
        id_ = (await client.call("job"))["taskId"]
        await client.until(id_, "completed")
        await client.ask("tasks/cancel", {"taskId": id_})
        assert (await client.get(id_))["status"] == "completed"


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_a_task_of_somebody_else_is_not_found(served: Any, method: str) -> None:
    async with served(task_after_s=0.01, tokens=TOKENS) as (client, tools):
        id_ = (await client.call("wait", user="token-of-ada"))["taskId"]
        nobodys = await client.ask(method, {"taskId": "nobody's", "inputResponses": {}}, user="token-of-bob")
        for wrong in (id_, id_[:-1] + ("A" if id_[-1] != "A" else "B"), ""):
            refused = await client.ask(
                method, {"taskId": wrong, "inputResponses": {}}, user="token-of-bob", name=wrong or "x"
            )
            if wrong:
                assert (refused["code"], refused["data"]["code"]) == (-32602, "NOT_FOUND")
                assert refused["message"] == nobodys["message"], "nothing tells whose it is"
        assert tools.ended == []
        tools.go.set()


async def test_a_header_that_names_another_task_is_refused(served: Any) -> None:
    async with served(task_after_s=0.01) as (client, tools):
        id_ = (await client.call("wait"))["taskId"]
        assert (await client.get(id_, name="another"))["code"] == -32020
        tools.go.set()


async def test_where_there_is_no_place_the_call_is_answered_when_it_is_done(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_stores, "MAX_TASKS_OF_ONE", 2)
    async with served() as (client, _):
        kinds = [(await client.call("job"))["resultType"] for _ in range(3)]
    assert kinds == ["task", "task", "complete"]


async def test_what_serving_ends_is_known_to_be_unknown(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task outlives its process in the file: what it came to, or that nobody knows."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    said: dict[str, Any] = {
        "task_after_s": 0.01,
        "task_store": "sqlite",
        "state_key": "a key for all of them",
        "instance": "a",
    }
    said["stop_timeout_s"] = 0.1
    async with served(**said) as (client, tools):
        cut_off = (await client.call("wait"))["taskId"]
        done = (await client.call("job"))["taskId"]
        await client.until(done, "completed")
    assert tools.ended == ["cancelled"]
    async with served(**said) as (client, _):
        assert (await client.get(done))["result"]["content"][0]["text"] == "a task: True"
        lost = await client.get(cut_off)
        assert (lost["status"], lost["error"]["data"]["code"]) == ("failed", "OUTCOME_UNKNOWN")
    assert (tmp_path / "pegboard" / "tasks.sqlite").stat().st_mode & 0o777 == 0o600


async def test_ids_outlive_the_program_whatever_carries_them(host_with: Any) -> None:
    """A client on stdio starts the program anew; what it has of the one before is read, and known to be lost."""
    said = {"state_key": "a key for all of them", "instance": "a"}
    before, after = [make_server(await host_with(mcp_plugin, config={"plugins": {"mcp": said}})) for _ in range(2)]
    sealed = after.handles.read(TASK, before.handles.give(TASK, "x", bound_to="ada"), bound_to="ada")
    assert sealed is not None
    assert sealed.id == "x"
    assert after.handles.is_over(sealed.name)
    suspended = Suspended(60, after.handles)
    with pytest.raises(MCPError) as caught:
        suspended.take(before.handles.give(STATE, "x", bound_to="r"), None, "r")  # type: ignore[arg-type]
    assert caught.value.error.data["code"] == "OUTCOME_UNKNOWN"


async def test_a_task_that_runs_is_waited_for_when_serving_ends(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    said = {"task_after_s": 0.01, "task_store": "sqlite", "state_key": "a key for all of them", "instance": "a"}
    async with trio.open_nursery() as nursery, served(**said) as (client, tools):
        id_ = (await client.call("wait"))["taskId"]

        async def end_it() -> None:
            await tools.ending.wait()
            await trio.testing.wait_all_tasks_blocked(0.05)
            tools.go.set()

        nursery.start_soon(end_it)
    async with served(**said) as (client, _):
        assert (await client.get(id_))["result"]["content"][0]["text"] == "waited for None"


# -- streams that tell of tasks


async def test_who_listens_is_told_of_every_state_of_a_task_as_tasks_get_would_say_it(served: Any) -> None:
    async with served() as (client, _):
        id_ = (await client.call("job", {"how": "asks"}))["taskId"]
        async with client.listen(id_) as told:
            acknowledged = await anext(told)
            assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
            assert acknowledged["params"]["notifications"] == {"taskIds": [id_]}
            answered: set[str] = set()
            states = []
            async for message in told:
                state = message["params"]
                assert (message["method"], state["taskId"]) == ("notifications/tasks", id_)
                assert state["_meta"] == acknowledged["params"]["_meta"] == {f"{PREFIX}subscriptionId": 2}
                states.append(state["status"])
                for key in set(state.get("inputRequests", ())) - answered:
                    answered.add(key)
                    await client.ask("tasks/update", {"taskId": id_, "inputResponses": {key: YES}})
                if state["status"] == "completed":
                    break
        assert len(answered) == 2
        assert states[-1] == "completed"
        found = await client.get(id_)
        assert {**state, "_meta": 0, "resultType": "complete"} == {**found, "_meta": 0}


async def test_who_listens_too_late_is_told_what_the_task_came_to(served: Any) -> None:
    async with served() as (client, _):
        id_ = (await client.call("job"))["taskId"]
        await client.until(id_, "completed")
        async with client.listen(id_, id_, toolsListChanged=True) as told:
            assert (await anext(told))["params"]["notifications"] == {"taskIds": [id_], "toolsListChanged": True}
            assert (await anext(told))["params"]["result"]["content"][0]["text"] == "a task: True"


async def test_nobody_is_told_of_the_tasks_of_others_or_without_the_extension(served: Any) -> None:
    async with served(task_after_s=0.01, tokens=TOKENS) as (client, tools):
        id_ = (await client.call("wait", user="token-of-ada"))["taskId"]
        wrong = (id_, id_[:-1], "", "x" * 5_000)
        async with client.listen(*wrong, user="token-of-bob", toolsListChanged=True) as told:
            assert (await anext(told))["params"]["notifications"] == {"toolsListChanged": True}
            tools.go.set()
            await client.until_of("token-of-ada", id_)
        async with client.listen(id_, user="token-of-ada", able={}) as told:
            refused = (await anext(told))["error"]
            assert (refused["code"], refused["data"]["requiredCapabilities"]) == (
                -32021,
                {"extensions": {f"{PREFIX}tasks": {}}},
            )


@pytest.mark.parametrize("asked", [None, 3, "x", {}, [3, None, {}]])
async def test_ids_that_are_none_are_no_tasks(served: Any, asked: Any) -> None:
    async with served() as (client, _), client.listen(taskIds=asked, promptsListChanged=True) as told:
        assert (await anext(told))["params"]["notifications"] == {"promptsListChanged": True}


async def test_what_cannot_be_kept_is_answered_by_the_process_that_has_it(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(store: Any, record: Any) -> bool:
        if record.status == "working":
            return True
        raise OSError("no space")

    monkeypatch.setattr(MemoryTasks, "put", fail)
    async with served() as (client, _):
        id_ = (await client.call("job"))["taskId"]
        for _ in range(3):
            assert (await client.until(id_, "completed", "failed"))["result"]["content"][0]["text"] == "a task: True"


@pytest.mark.parametrize("keeps_new", [True, False])
async def test_a_person_is_told_once_why_tasks_are_not_kept(
    served: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, keeps_new: bool
) -> None:
    """On a full disk no call became a task, and nobody was told."""

    async def fail(store: Any, record: Any) -> bool:
        if keeps_new and record.status == "working":
            return True
        raise OSError("the disk is full")

    monkeypatch.setattr(MemoryTasks, "put", fail)
    async with served() as (client, _):
        for _ in range(3):
            answer = await client.call("job")
            if keeps_new:
                await client.until(answer["taskId"], "completed")
    (told,) = (one.getMessage() for one in caplog.records if one.name == "pegboard.notice")
    assert "cannot be kept" in told
    assert "OSError: the disk is full" in told
    assert "`task_store`" in told


async def test_a_task_that_is_worked_on_says_so_until_it_ends(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that another instance knows when its process is gone; that this cannot be kept now and then does no harm."""
    monkeypatch.setattr("pegboard_mcp.server.tasks.RENEW_S", 0.01)
    kept: list[TaskRecord] = []
    heard, keep = trio.Event(), MemoryTasks.put

    async def put(store: Any, record: TaskRecord) -> bool:
        kept.append(record)
        if len(kept) == 3:
            raise OSError("no space")
        if len(kept) > 5:
            heard.set()
        return await keep(store, record)

    monkeypatch.setattr(MemoryTasks, "put", put)
    async with served(task_after_s=0.01) as (client, tools):
        id_ = (await client.call("wait"))["taskId"]
        await heard.wait()
        tools.go.set()
        await client.until(id_, "completed")
    statuses = [one.status for one in kept]
    assert statuses == ["working"] * (len(kept) - 1) + ["completed"], "what it came to is the last word"
    until = [one.alive_until_s or 0 for one in kept[:-1]]
    assert until == sorted(until)
    assert until[0] < until[-1]


# -- the stores


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: list[float]) -> Any:
    read = lambda: clock[0]  # noqa: E731
    return (
        MemoryTasks(read, read) if request.param == "memory" else SqliteTasks(tmp_path / "state" / "tasks.sqlite", read)
    )


@pytest.fixture
def clock() -> list[float]:
    return [1_000.0]


def record(id_: str, owner: str = "ada", until_s: float = 2_000.0, **more: Any) -> TaskRecord:
    said: dict[str, Any] = {"status": "working", "created_s": 1_000.0, "updated_s": 1_000.0, **more}
    return TaskRecord(id=id_, owner=owner, until_s=until_s, **said)


async def test_a_store_keeps_a_task_until_its_time_is_over(store: Any, clock: list[float]) -> None:
    first = record("a", result={"content": [{"type": "text", "text": "é\u2028"}]}, status="completed", message="x")
    assert await store.put(record("a"))
    assert await store.put(first)
    assert await store.get("a") == first
    assert await store.get("b") is None
    clock[0] = 2_000.0
    assert await store.get("a") is None
    await store.aclose()


async def test_a_store_keeps_so_many_and_of_one_caller_fewer(
    store: Any, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_stores, "MAX_TASKS", 3)
    monkeypatch.setattr(task_stores, "MAX_TASKS_OF_ONE", 2)
    kept = [
        await store.put(record(f"{owner}{n}", owner)) for owner, n in (("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1))
    ]
    assert kept == [True, True, False, True, False]
    assert await store.put(record("a1", "a", status="completed")), "what is kept may change"
    clock[0] = 2_000.0
    assert await store.put(record("a3", "a", 3_000.0)), "what is over makes room"
    await store.aclose()


@pytest.mark.parametrize("step_s", [-86_400.0, -3_600.0, 3_600.0])
async def test_a_clock_that_is_set_ends_no_task_of_this_process_and_keeps_none_for_longer(step_s: float) -> None:
    wall, elapsed = [1_000_000.0], [50.0]
    store = MemoryTasks(lambda: wall[0], lambda: elapsed[0])
    kept = record("a", until_s=1_000_060.0)
    assert await store.put(kept)
    wall[0] += step_s
    elapsed[0] += 59
    assert await store.get("a") == kept
    elapsed[0] += 1
    assert await store.get("a") is None


async def test_two_processes_see_the_same_file(tmp_path: Path) -> None:
    one, other = (SqliteTasks(tmp_path / "tasks.sqlite") for _ in range(2))
    kept = record("a", until_s=time.time() + 60)
    assert await one.put(kept)
    assert await other.get("a") == kept
    await one.aclose()
    await other.aclose()


@pytest.mark.parametrize(
    ("gives", "said"), [(None, "brought none"), (OSError("no disk"), "no disk"), (SystemExit(3), "SystemExit")]
)
async def test_a_plugin_that_is_named_and_brings_no_store_is_said(gives: Any, said: str) -> None:
    class Brings:
        name = "brings"

        @hookimpl(optionalhook=True)
        def provide_task_store(self) -> Any:
            if isinstance(gives, BaseException):
                raise gives
            return gives

    config = {"plugins": {"mcp": {"task_after_s": 1.0, "task_store": "brings"}}}
    async with open_host(config, [Brings(), mcp_plugin]) as host:
        with pytest.raises(ConfigError, match=said):
            make_server(host)
        settings = next(one.settings for one in host.board.plugins if isinstance(one.settings, McpSettings))
        (found,) = check_brought(host.board, settings)
        assert said in found.why


async def test_a_plugin_brings_the_store_of_tasks(served: Any) -> None:
    store = MemoryTasks()

    class Brings:
        name = "brings"

        @hookimpl(optionalhook=True)
        def provide_task_store(self) -> Any:
            return store

    async with served(Brings(), task_store="brings") as (client, _):
        id_ = (await client.call("job"))["taskId"]
        await client.until(id_, "completed")
    assert [one.status for one in store._kept.values()] == ["completed"]


# -- tasks of servers


@contextlib.asynccontextmanager
async def board_of(client: Asker, confirm: Any = None, **server: Any) -> Any:
    """A session on a board whose one source is the served board."""
    servers = {"far": {"url": client.url, "transport": "http", "prefix": "", **server}}
    async with open_host({"plugins": {"mcp": {"lock": "off", "servers": servers}}}, [mcp_plugin]) as host:
        await host.wait_for_sources(timeout_s=30)
        heard: list[Any] = []

        async def hear(call_id: str, done: float, total: float | None, message: str | None) -> None:
            heard.append(message)

        yield host.session("ada", on_progress=hear, confirm=confirm), heard


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks are asked about as often as they may be."""
    monkeypatch.setattr("pegboard_mcp.server.tasks.POLL_MS", 10)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_task_of_a_server_is_one_result_with_progress(served: Any, transport: str) -> None:
    async with (
        served(task_after_s=0.01, transport=transport) as (client, tools),
        board_of(client, transport=transport) as (session, heard),
    ):
        results = []

        async def call() -> None:
            results.append(await session.call("wait", {}))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)
            await tools.started.wait()
            while "half" not in heard:
                await trio.sleep(0.01)
            tools.go.set()
        assert results[0].text == "waited for None"
        failed = await session.call("job", {"how": "fails"})
        assert (failed.error.code, failed.error.message) == (ErrorCode.UPSTREAM_ERROR, "it failed")


@pytest.mark.usefixtures("quick")
async def test_what_a_task_of_a_server_asks_the_person_of_the_call_is_asked(served: Any) -> None:
    asked: list[str] = []

    async def confirm(question: Any) -> Any:
        asked.append(question.question)
        return {}

    async with served() as (client, _), board_of(client, confirm) as (session, _):
        result = await session.call("job", {"how": "asks"})
        assert result.text == "accept accept"
        assert len(asked) == 2


@pytest.mark.usefixtures("quick")
async def test_a_call_whose_time_is_over_gives_its_task_up(served: Any) -> None:
    async with served(task_after_s=0.01) as (client, tools), board_of(client) as (session, _):
        result = await session.call("wait", {}, timeout_s=1)
        assert result.error.code is ErrorCode.TIMEOUT
        while not tools.ended:
            await trio.sleep(0.01)
        assert tools.ended == ["cancelled"]


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_server_that_tells_of_its_tasks_is_not_asked(
    served: Any, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pegboard_mcp.server.tasks.POLL_MS", 30_000)
    asked: list[str] = []

    async def note(task: Any, method: str, params: Any) -> Any:
        asked.append(method)
        return await task._connection.send(method, params)

    async def confirm(question: Any) -> Any:
        return {}

    monkeypatch.setattr("pegboard_mcp.client.tasks._Task._ask", note)
    async with (
        served(transport=transport) as (client, _),
        board_of(client, confirm, transport=transport) as (session, _),
    ):
        assert (await session.call("job", {"how": "asks"})).text == "accept accept"
    assert asked == ["tasks/update"] * 2


class Scripted:
    """A connection whose server says of its task what a test wrote."""

    def __init__(self, *states: Any) -> None:
        self.states = list(states)
        self.sent: list[str] = []
        self.later: list[Any] = []

    async def send(self, method: str, params: Any) -> Any:
        await trio.lowlevel.checkpoint()
        self.sent.append(method)
        if method != "tasks/get":
            return {}
        state = self.states.pop(0) if self.states else {"status": "working"}
        if isinstance(state, Exception):
            raise state
        return state

    def start_soon(self, work: Any) -> bool:
        self.later.append(work)
        return True

    def hear_of_task(self, id_: str, on_news: Any) -> Any:
        self.on_news = on_news
        return lambda: None


MADE = {"taskId": "t", "status": "working"}
AWAY = RpcError(-32005, "away", data_of(elsewhere()))
GONE = Lost(written=False, why=LinkError("closed", "it closed", "Start it."))


@pytest.mark.parametrize(
    ("states", "comes_to"),
    [
        ([{"status": "completed", "result": {"content": []}}], {"content": []}),
        ([AWAY, AWAY, {"status": "completed", "result": {"a": 1}}], {"a": 1}),
        ([{"status": "failed", "error": {"code": -32001, "message": "no"}}], (-32001, None)),
        ([{"status": "failed", "error": {"code": True, "message": 3}}], (-32603, None)),
        ([{"status": "failed"}], (-32005, "OUTCOME_UNKNOWN")),
        ([{"status": "cancelled"}], (-32005, "OUTCOME_UNKNOWN")),
        ([{"status": "completed", "result": 3}], (-32005, "OUTCOME_UNKNOWN")),
        ([{"status": ["odd"]}], (-32005, "OUTCOME_UNKNOWN")),
        ([{"status": 10**400}], (-32005, "OUTCOME_UNKNOWN")),
        ([{"status": "input_required", "inputRequests": {"a": 3}}], (-32005, "OUTCOME_UNKNOWN")),
        ([RpcError(-32602, "no such task")], (-32005, "OUTCOME_UNKNOWN")),
        ([AWAY] * 5, (-32005, "OUTCOME_UNKNOWN")),
        ([GONE], "lost"),
    ],
)
async def test_whatever_a_server_says_of_its_task_the_call_ends_and_is_never_sent_again(
    autojump_clock: Any, states: list[Any], comes_to: Any
) -> None:
    connection: Any = Scripted(*states)
    try:
        found: Any = await follow(connection, MADE, None)
    except RpcError as problem:
        found = (problem.code, (problem.data or {}).get("code"))
        if found[1] is not None:  # what the caller of the tool reads
            read = tool_error_of(problem.code, problem.message, problem.data, server="one", tool="job")
            assert (read.code, read.details["retry"]) == ("OUTCOME_UNKNOWN", "unknown")
    except Lost as problem:
        found = "lost" if problem.written else "sent again"
    assert found == comes_to
    assert set(connection.sent) <= {"tasks/get"}
    # It is given up where its server did not say that it ended.
    statuses = [state["status"] for state in states if isinstance(state, dict)]
    has_ended = bool(statuses) and statuses[-1] in ("completed", "failed", "cancelled")
    assert len(connection.later) == (not has_ended and found != "lost")


@pytest.mark.parametrize("id_", [None, "", 3, "x" * 5_000])
async def test_a_task_without_an_id_is_an_error(id_: Any) -> None:
    connection: Any = Scripted()
    with pytest.raises(RpcError):
        await follow(connection, {"taskId": id_, "status": "working"}, None)


@pytest.mark.parametrize(
    ("said", "pause_s"),
    [(None, 1), (True, 1), ("1", 1), (0, 0.05), (250, 0.25), (1e12, 30), (10**400, 30), (-(10**400), 0.05)],
)
async def test_a_server_says_how_often_it_is_asked_within_bounds(
    autojump_clock: Any, said: Any, pause_s: float
) -> None:
    connection: Any = Scripted({"status": "completed", "result": {}})
    began = trio.current_time()
    await follow(connection, {**MADE, "pollIntervalMs": said}, None)
    assert trio.current_time() - began == pytest.approx(pause_s)


async def test_who_waits_no_more_gives_the_task_up(autojump_clock: Any) -> None:
    connection: Any = Scripted()
    with trio.move_on_after(10):
        await follow(connection, MADE, None)
    (give_up,) = connection.later
    await give_up()
    assert connection.sent[-1] == "tasks/cancel"


ACK = "notifications/subscriptions/acknowledged"
DONE = {"taskId": "t", "status": "completed", "result": {"a": 1}}


async def test_a_server_that_tells_of_its_task_is_seldom_asked(autojump_clock: Any) -> None:
    connection: Any = Scripted()
    found: list[Any] = []

    async def call() -> None:
        found.append(await follow(connection, MADE, None))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        connection.on_news(ACK, {"notifications": {"taskIds": ["t"]}})
        await trio.sleep(20)
        assert connection.sent == ["tasks/get"], "once, before it was heard that it tells"
        connection.on_news("notifications/tasks", {**DONE, "taskId": "another"})
        await trio.sleep(1)
        assert not found
        connection.on_news("notifications/tasks", DONE)
    assert found == [{"a": 1}]


@pytest.mark.parametrize(
    "said", [{}, {"notifications": 3}, {"notifications": {"taskIds": "t"}}, {"notifications": {"taskIds": ["x"]}}]
)
async def test_a_server_that_does_not_say_that_it_tells_is_asked_as_ever(autojump_clock: Any, said: Any) -> None:
    connection: Any = Scripted(*[{"status": "working"}] * 5, DONE)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow, connection, MADE, None)
        await trio.testing.wait_all_tasks_blocked()
        connection.on_news(ACK, said)
    assert trio.current_time() - began == pytest.approx(6)


async def test_a_word_that_is_lost_or_a_stream_that_ends_costs_a_pause(autojump_clock: Any) -> None:
    for end, pause_s in ((False, 31), (True, 2)):
        connection: Any = Scripted({"status": "working"}, DONE)
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow, connection, MADE, None)
            await trio.testing.wait_all_tasks_blocked()
            connection.on_news(ACK, {"notifications": {"taskIds": ["t"]}})
            await trio.sleep(1.5)
            if end:
                connection.on_news("", {})
        assert trio.current_time() - began == pytest.approx(1 + pause_s, abs=1)
