"""The board's tools as MCP clients of both eras see and call them."""

from __future__ import annotations

import base64
import contextlib
import functools
import gc
from typing import Any

import pytest
import trio
from mcp import Client, MCPError, types

from pegboard import (
    AudioContent,
    BinaryContent,
    CallContext,
    ImageContent,
    TextContent,
    ToolError,
    ToolResult,
    hookimpl,
    tool,
)
from pegboard_mcp.server.app import BoardServer, make_server

ICON = {"src": "data:image/png;base64,AAAA", "mimeType": "image/png"}


@tool(read_only=True, title="Add", icons=[ICON], idempotent=True, open_world=False)
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@tool(name="say hello!", run="inplace")
def say_hello() -> str:
    """A name that MCP does not take."""
    return "hello"


@tool(destructive=True)
def fail(reason: str) -> str:
    """Fail."""
    raise ToolError("NOT_FOUND", f"there is no {reason}", near=[])


@tool
def show_all() -> ToolResult:
    """Every block."""
    return ToolResult(
        content=(
            TextContent("a"),
            ImageContent(b"i", "image/png"),
            AudioContent(b"s", "audio/wav"),
            BinaryContent(b"x", "application/zip", "file:///x.zip"),
            BinaryContent(b"y"),
            BinaryContent(None, "text/plain", "https://example.com/a/b.txt"),
        )
    )


@tool
def nothing() -> ToolResult:
    """Nothing."""
    return ToolResult.empty()


@tool
async def work(context: CallContext, steps: int) -> str:
    """Report progress, out of order too."""
    for step in range(steps):
        await context.progress(step, steps, f"step {step}")
    await context.progress(0, steps, "back to the start")
    context.log.info("worked %d steps", steps)
    context.log.debug("and said so")
    return "done"


class Held:
    """A tool that waits until it is let go, and notes how it ended."""

    def __init__(self) -> None:
        self.began = trio.Event()
        self.ended: list[str] = []

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        async def wait() -> str:
            """Wait for ever."""
            self.began.set()
            try:
                await trio.sleep_forever()
            except trio.Cancelled:
                self.ended.append("cancelled")
                raise
            return "never"

        return [tool(wait)]


class Tools:
    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        return [add, say_hello, fail, show_all, nothing, work]


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The handshake era, and 2026-07-28."""
    return str(request.param)


@pytest.fixture
def served(either_path: None, host_with: Any) -> Any:
    """`async with served(plugin, ..., mode=..., config=..., **callbacks) as (client, server)`."""

    @contextlib.asynccontextmanager
    async def serve(*plugins: Any, mode: str, config: Any = None, user_id: str | None = None, **more: Any) -> Any:
        host = await host_with(*(plugins or (Tools(),)), config=config)
        server = make_server(host, user_id=user_id)
        async with Client(server, mode=mode, cache=None, **more) as client:
            yield client, server

    return serve


async def test_tools_are_listed_with_all_that_their_authors_said(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        tools = {one.name: one for one in (await client.list_tools()).tools}
    plus = tools["add"]
    assert (plus.title, plus.description) == ("Add", "Add two integers.")
    assert plus.input_schema["properties"].keys() == {"a", "b"}
    assert plus.output_schema is not None
    assert plus.annotations is not None
    said = plus.annotations.model_dump(exclude_none=True)
    assert said == {"title": "Add", "read_only_hint": True, "idempotent_hint": True, "open_world_hint": False}
    assert plus.icons is not None
    assert plus.icons[0].mime_type == "image/png"
    assert tools["fail"].annotations is not None
    assert tools["fail"].annotations.destructive_hint is True
    assert tools["nothing"].output_schema is None


async def test_a_call_is_answered_with_text_and_structure(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        result = await client.call_tool("add", {"a": 1, "b": 2})
    assert result.structured_content == {"result": 3}
    assert [block.text for block in result.content] == ["3"]
    assert not result.is_error


async def test_every_kind_of_block_keeps_its_place(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        result = await client.call_tool("show_all", {})
    kinds = [block.type for block in result.content]
    assert kinds == ["text", "image", "audio", "resource", "resource", "resource_link"]
    assert base64.b64decode(result.content[1].data) == b"i"
    assert (result.content[3].resource.uri, result.content[3].resource.blob) == ("file:///x.zip", "eA==")
    assert result.content[4].resource.uri.startswith("urn:sha256:")
    assert result.content[5].name == "b.txt"


async def test_a_result_that_is_cut_comes_without_its_structure_as_an_error_that_says_how_to_read_on(
    served: Any, mode: str
) -> None:
    """Clients hold every other answer to the output schema, and fail on one that has no data."""

    @tool(max_result_bytes=1_000)
    def count(n: int) -> list[int]:
        """Count."""
        return list(range(n))

    class Counting:
        @hookimpl
        def provide_tools(self, settings: Any) -> list[Any]:
            return [count]

    async with served(Counting(), mode=mode) as (client, _):
        small = await client.call_tool("count", {"n": 3})
        large = await client.call_tool("count", {"n": 1_000})
    assert (small.is_error, small.structured_content) == (False, {"result": [0, 1, 2]})
    assert large.is_error
    assert large.structured_content is None
    assert large.content[0].text.startswith("[0")
    assert "read_result" in large.content[1].text


async def test_a_result_with_nothing_has_no_content(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        result = await client.call_tool("nothing", {})
    assert result.content == []
    assert result.structured_content is None


async def test_a_name_that_mcp_does_not_take_has_another_and_both_work(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        names = {one.name for one in (await client.list_tools()).tools}
        (alias,) = (name for name in names if name.startswith("say-hello"))
        by_alias = await client.call_tool(alias, {})
        by_name = await client.call_tool("say hello!", {})
    assert by_alias.content[0].text == by_name.content[0].text == "hello"


@pytest.mark.parametrize("arguments", [{"a": 1}, {"a": "x", "b": 2}, {"a": 1, "b": 2, "c": 3}])
async def test_wrong_arguments_are_a_result_that_a_model_can_read(served: Any, mode: str, arguments: Any) -> None:
    async with served(mode=mode) as (client, _):
        result = await client.call_tool("add", arguments)
    assert result.is_error
    assert result.meta["pegboard-mcp/error"]["code"] == "INVALID_INPUT"
    assert result.content[0].text


async def test_what_a_tool_says_of_itself_is_a_result_and_no_error_of_the_protocol(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        result = await client.call_tool("fail", {"reason": "moon"})
    assert result.is_error
    assert result.content[0].text == "there is no moon"
    assert result.meta["pegboard-mcp/error"]["code"] == "NOT_FOUND"


async def test_an_unknown_tool_is_an_error_with_the_number_and_the_string(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        with pytest.raises(MCPError) as caught:
            await client.call_tool("ad", {})
    assert caught.value.code == -32001
    assert caught.value.data["code"] == "NOT_FOUND"
    assert "'add'" in caught.value.message


async def test_a_disabled_tool_is_an_error_with_its_own_number(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, server):
        server.host.disable("add")
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add", {"a": 1, "b": 2})
    assert (caught.value.code, caught.value.data["code"]) == (-32004, "FORBIDDEN")


async def test_lists_are_paged_and_a_foreign_cursor_is_refused(host_with: Any, mode: str) -> None:
    host = await host_with(Tools())
    for number in range(230):
        host.add(tool(name=f"tool_{number:03}", run="inplace")(lambda: "x"))
    async with Client(make_server(host), mode=mode, cache=None) as client:
        names: list[str] = []
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [one.name for one in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="bm9uZQ==")
    assert len(names) == len(set(names)) == 236
    assert caught.value.code == -32602


async def test_progress_reaches_the_client_and_only_grows(served: Any, mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with served(mode=mode) as (client, _):
        await client.call_tool("work", {"steps": 3}, progress_callback=hear)
        await trio.testing.wait_all_tasks_blocked()
    assert heard == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]


async def test_a_call_that_wants_no_progress_gets_none(served: Any, mode: str) -> None:
    async with served(mode=mode) as (client, _):
        result = await client.call_tool("work", {"steps": 3})
    assert result.content[0].text == "done"


async def test_logs_reach_a_client_of_the_handshake_era_at_the_level_it_set(served: Any) -> None:
    heard: list[types.LoggingMessageNotificationParams] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params)

    async with served(mode="legacy", logging_callback=hear) as (client, _):
        await client.call_tool("work", {"steps": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert [(one.level, one.logger, one.data) for one in heard] == [("info", "work", "worked 1 steps")]
        await _set_level(client, "debug")
        await client.call_tool("work", {"steps": 1})
        await trio.testing.wait_all_tasks_blocked()
        assert [one.level for one in heard] == ["info", "info", "debug"]
        await _set_level(client, "error")
        await client.call_tool("work", {"steps": 1})
        await trio.testing.wait_all_tasks_blocked()
    assert len(heard) == 3


async def _set_level(client: Client, level: str) -> None:
    request = types.SetLevelRequest(params=types.SetLevelRequestParams(level=level))  # type: ignore[arg-type]
    await client.session.send_request(request, types.EmptyResult)


async def test_logs_reach_a_modern_client_only_for_requests_that_ask(served: Any) -> None:
    heard: list[str] = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.level)

    async with served(mode="auto", logging_callback=hear) as (client, _):
        await client.call_tool("work", {"steps": 1})
        assert heard == []
        await client.call_tool("work", {"steps": 1}, meta={"io.modelcontextprotocol/logLevel": "debug"})
        assert heard == ["info", "debug"]
        await client.call_tool("work", {"steps": 1}, meta={"io.modelcontextprotocol/logLevel": "warning"})
    assert heard == ["info", "debug"]


async def test_a_cancelled_call_ends_its_tool(host_with: Any, mode: str) -> None:
    held = Held()
    host = await host_with(held)
    async with Client(make_server(host), mode=mode) as client:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.call_tool, "wait", {})
                await held.began.wait()
                nursery.cancel_scope.cancel()
            while not held.ended:
                await trio.testing.wait_all_tasks_blocked()
    assert held.ended == ["cancelled"]


async def test_a_change_of_tools_is_told_in_the_handshake_era(served: Any) -> None:
    heard = trio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    async with served(mode="legacy", message_handler=hear) as (client, server):
        assert client.server_capabilities.tools.list_changed
        server.host.add(tool(name="new", run="inplace")(lambda: "x"))
        with trio.fail_after(60):
            await heard.wait()
        assert "new" in {one.name for one in (await client.list_tools()).tools}


async def test_a_change_of_tools_is_told_on_a_stream_of_the_modern_era(served: Any) -> None:
    from mcp.client.subscriptions import ToolsListChanged

    async with served(mode="auto") as (client, server):
        with trio.fail_after(60):
            async with client.listen(tools_list_changed=True) as events:
                server.host.add(tool(name="new", run="inplace")(lambda: "x"))
                async for event in events:
                    assert isinstance(event, ToolsListChanged)
                    break


async def test_a_profile_selects_what_is_listed_and_called(host_with: Any, mode: str) -> None:
    host = await host_with(Tools(), config={"profiles": {"small": {"without": ["fail"]}}})
    async with Client(make_server(host, profile="small"), mode=mode) as client:
        assert "fail" not in {one.name for one in (await client.list_tools()).tools}
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("fail", {"reason": "x"})


async def test_the_user_is_whom_the_server_was_told(host_with: Any, mode: str) -> None:
    class Who:
        @hookimpl
        def provide_tools(self, settings: Any) -> list[Any]:
            @tool
            async def whoami(context: CallContext) -> str:
                """Who calls."""
                return f"{context.session.user_id} on {context.session.channel}"

            return [whoami]

    host = await host_with(Who())
    async with Client(make_server(host, user_id="ada"), mode=mode) as client:
        assert (await client.call_tool("whoami", {})).content[0].text == "ada on mcp"


async def test_a_connection_has_a_session_of_its_own_that_goes_with_it(host_with: Any) -> None:
    from mcp import ClientSession
    from mcp.server.runner import serve_loop
    from mcp.shared.memory import create_client_server_memory_streams

    server: BoardServer = make_server(await host_with(Tools()))

    @contextlib.asynccontextmanager
    async def connect(serving: Any) -> Any:
        async with create_client_server_memory_streams() as (ours, theirs), trio.open_nursery() as nursery:
            nursery.start_soon(functools.partial(serve_loop, server, *theirs, lifespan_state=serving))
            async with ClientSession(*ours) as client:
                await client.initialize()
                await client.call_tool("nothing", {})
                yield
            nursery.cancel_scope.cancel()

    async with server.lifespan(server) as serving:
        async with connect(serving), connect(serving):
            assert len({one.session.id for one in serving.sessions.connections()}) == 2
        gc.collect()
        assert serving.sessions.connections() == []


async def test_params_that_are_none_are_refused_with_their_number(served: Any) -> None:
    async with served(mode="legacy") as (client, _):
        dispatcher = client.session
        for params in ({"name": 1}, {"name": "add", "arguments": []}, {}):
            request = _Anything(method="tools/call", params=params)
            with pytest.raises(MCPError) as caught:
                await dispatcher.send_request(request, types.EmptyResult)  # type: ignore[arg-type]
            assert caught.value.code == -32602


class _Anything(types.Request[dict[str, Any], str]):
    """A request whose params nobody looked at."""


async def test_sessions_of_callers_without_a_connection_are_bounded(
    host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_mcp.server.auth import Caller

    monkeypatch.setattr("pegboard_mcp.server.sessions.MAX_CALLERS", 2)
    user = "a"
    host = await host_with(Tools())
    server = make_server(host, identify=lambda request: Caller(user))
    seen: dict[str, Any] = {}
    async with Client(server, mode="2026-07-28", cache=None) as client:
        (serving,) = server.servings
        for user in ("a", "b", "a", "c", "a", "b"):
            await client.call_tool("nothing", {})
            session = next(reversed(serving.sessions._by_caller.values())).session
            assert session.user_id == user
            if user == "a":
                assert seen.setdefault("a", session) is session
            seen[user] = session
        assert len(serving.sessions._by_caller) == 2


@pytest.mark.parametrize(
    ("number", "level"), [(10, "debug"), (20, "info"), (25, "info"), (30, "warning"), (40, "error"), (50, "critical")]
)
def test_levels_of_logging_are_those_of_the_protocol(number: int, level: str) -> None:
    from pegboard_mcp.server.logs import level_of

    assert level_of(number) == level


async def test_the_level_of_the_loggers_is_as_it_was_when_serving_ends(host_with: Any) -> None:
    import logging

    logger = logging.getLogger("pegboard.tool")
    before = (logger.level, list(logger.handlers))
    host = await host_with(Tools())
    async with Client(make_server(host), mode="legacy"), Client(make_server(host), mode="legacy") as client:
        await _set_level(client, "debug")
        assert logger.level == logging.DEBUG
    assert (logger.level, list(logger.handlers)) == before


async def test_a_first_page_waits_a_moment_for_sources_that_start(host_with: Any) -> None:
    ready = trio.Event()

    class Source:
        name = "late"
        timeout_s = None

        async def run(self, slot: Any) -> None:
            await ready.wait()
            slot.replace([tool(name="late", run="inplace")(lambda: "x")])
            await trio.sleep_forever()

    class Late:
        @hookimpl
        def provide_sources(self, settings: Any) -> list[Any]:
            return [Source()]

    host = await host_with(Late())
    async with Client(make_server(host), mode="legacy") as client, trio.open_nursery() as nursery:
        names: list[str] = []

        async def list_them() -> None:
            names.extend(one.name for one in (await client.list_tools()).tools)

        nursery.start_soon(list_them)
        await trio.testing.wait_all_tasks_blocked()
        assert names == []
        ready.set()
    assert names == ["late"]


async def test_a_tool_that_two_plugins_claim_is_an_error_that_says_so(host_with: Any, mode: str) -> None:
    class Other:
        @hookimpl
        def provide_tools(self, settings: Any) -> list[Any]:
            return [tool(name="add", run="inplace")(lambda: "x")]

    host = await host_with(Tools(), Other())
    async with Client(make_server(host), mode=mode, cache=None) as client:
        assert "add" not in {one.name for one in (await client.list_tools()).tools}
        with pytest.raises(MCPError) as caught:
            await client.call_tool("add", {})
    assert (caught.value.code, caught.value.data["code"]) == (-32005, "CONFLICT")
