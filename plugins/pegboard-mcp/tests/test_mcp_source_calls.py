"""Calls through a source: what is answered, in which order, what is given up, and what the server hears of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from pegboard import ErrorCode
from pegboard.testing import assert_error, assert_ok

ERAS = pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])


@ERAS
async def test_a_tool_of_a_server_is_called_as_any_other(serve: Any, define: Any, modern: bool) -> None:
    served = await serve(define(script={"modern": modern}))
    await served.ready()

    assert_ok(await served.call("add", a=1, b=2), text="3")
    assert served.source.connection.modern is modern
    assert_error(await served.call("add", a=1), ErrorCode.INVALID_INPUT, says="b: expected number")
    assert served.lines("runs") == ["add"]


@ERAS
async def test_a_tool_keeps_what_its_server_says_of_it(serve: Any, define: Any, modern: bool) -> None:
    served = await serve(define("files", {"modern": modern}))
    await served.ready()

    tool = served.host.tools["add"]
    assert (tool.title, tool.description, tool.category) == ("Adds", "Does add.", "mcp")
    assert tool.tags == {"mcp", "files"}
    assert tool.annotations.read_only
    assert tool.origin.source == "files"
    assert not served.host.tools["die"].annotations.read_only


async def test_calls_of_one_server_run_at_the_same_time(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(lambda: served.call("sleep", s=0.5))
    assert trio.current_time() - began < 3


async def test_progress_comes_in_order_before_the_answer(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()

    assert_ok(await served.call("steps"))
    assert served.progress == [(1.0, 3, "step 1"), (2.0, 3, "step 2"), (3.0, 3, "step 3")]


@ERAS
async def test_a_call_that_is_given_up_is_cancelled_at_the_server_and_costs_no_later_one(
    serve: Any, define: Any, modern: bool
) -> None:
    served = await serve(define(script={"modern": modern}))
    await served.ready()

    assert_error(await served.call("hang", timeout_s=0.3), ErrorCode.TIMEOUT)
    await served.until(lambda: served.lines("cancelled"))
    assert_ok(await served.call("add", a=1, b=2), text="3")


async def test_an_answer_after_its_cancel_is_dropped(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()

    assert_error(await served.call("answer_late", timeout_s=0.3), ErrorCode.TIMEOUT)
    await served.until(lambda: served.lines("cancelled"))
    for number in range(20):
        assert_ok(await served.call("add", a=number, b=0), text=str(number))
    assert not served.source.connection._waiting


async def test_progress_does_not_extend_the_deadline(serve: Any, define: Any) -> None:
    served = await serve(define(request_s=0.5))
    await served.ready()

    began = trio.current_time()
    error = assert_error(await served.call("hang"), ErrorCode.TIMEOUT).error
    assert error.details["timeout_s"] == 0.5
    assert trio.current_time() - began < 2


async def test_the_servers_own_failure_is_its_text(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()

    assert_error(await served.call("fail"), ErrorCode.UPSTREAM_ERROR, says="it went wrong")
    assert_error(await served.call("refuse", code=-32602), ErrorCode.INVALID_INPUT, says="I refuse")
    assert_error(await served.call("refuse", code=-32601), ErrorCode.NOT_FOUND, says="I refuse")


async def test_a_prompt_is_a_tool_and_a_prompt(serve: Any, define: Any) -> None:
    from pegboard_mcp.capabilities import Capabilities

    served = await serve(define(script={"offers": ["prompts"]}))
    await served.ready()

    assert_ok(await served.call("prompt_greet", who="Ada"), text="Hello Ada")
    assert_error(await served.call("prompt_greet"), ErrorCode.INVALID_INPUT)
    prompt = served.host.resource(Capabilities).prompts["greet"]
    assert [argument.name for argument in prompt.arguments] == ["who"]
    (message,) = await prompt.get(served.session, {"who": "Bo"})
    assert (message.role, message.content.text) == ("user", "Hello Bo")
    assert await prompt.complete(served.session, "who", "A", {}) == ["A!"]


async def test_what_a_server_asks_before_it_answers_goes_to_the_person_of_the_call(serve: Any, define: Any) -> None:
    served = await serve(define(script={"modern": True, "asks": 2}))
    await served.ready()

    served.reply = {"name": "Ada"}
    result = assert_ok(await served.call("ask"))
    assert json.loads(result.text) == {"who": {"action": "accept", "content": {"name": "Ada"}}}
    assert len(served.asked) == 2


async def test_a_server_that_asks_for_ever_is_refused(serve: Any, define: Any) -> None:
    served = await serve(define(script={"modern": True, "asks": 1000}))
    await served.ready()

    served.reply = {"name": "Ada"}
    assert_error(await served.call("ask"), ErrorCode.UPSTREAM_ERROR, says="times before it answered")


async def test_config_reaches_the_server_in_the_initialization(serve: Any, define: Any) -> None:
    served = await serve(define(config={"depth": 3}))
    await served.ready()

    heard = [json.loads(line) for line in served.lines("heard")]
    (initialize,) = [one for one in heard if one["method"] == "initialize"]
    assert initialize["params"]["capabilities"]["experimental"] == {"pegboard-mcp": {"depth": 3}}
    assert initialize["params"]["clientInfo"]["name"] == "pegboard"


async def test_every_request_of_the_modern_era_says_who_asks(serve: Any, define: Any) -> None:
    served = await serve(define(script={"modern": True}, config={"depth": 3}))
    await served.ready()
    await served.call("add", a=1, b=2)

    heard = [json.loads(line) for line in served.lines("heard")]
    (call,) = [one for one in heard if one["method"] == "tools/call"]
    meta = call["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "pegboard"
    capabilities = meta["io.modelcontextprotocol/clientCapabilities"]
    assert capabilities["experimental"] == {"pegboard-mcp": {"depth": 3}}
    assert "elicitation" in capabilities
    assert meta["progressToken"] == call["id"]


async def test_resources_are_listed_and_read(serve: Any, define: Any) -> None:
    served = await serve(define("notes", {"offers": ["resources"]}))
    await served.ready()

    listed = assert_ok(await served.call("list_resources")).data["resources"]
    assert [one.get("uri") or one["uri_template"] for one in listed] == ["note://one", "note://{name}"]
    assert all(one["server"] == "notes" for one in listed)
    assert_ok(await served.call("read_resource", uri="note://one"), text="at note://one")
    assert_ok(await served.call("read_resource", uri="note://two"), text="at note://two")
    assert_ok(await served.call("read_resource", uri="else://x", server="notes"), text="at else://x")
    assert_error(await served.call("read_resource", uri="note://one", server="nobody"), ErrorCode.NOT_FOUND)
    assert_error(await served.call("list_resources", server="nobody"), ErrorCode.NOT_FOUND, says="notes")


async def test_resources_of_servers_that_are_starting_are_waited_for(serve: Any, define: Any) -> None:
    one, dead = define("notes", {"offers": ["resources"]}), define("dead", {"start": "exits"})
    served = await serve(one, dead)

    assert_ok(await served.call("read_resource", uri="note://one"), text="at note://one")
    assert len(assert_ok(await served.call("list_resources")).data["resources"]) == 2


async def test_resources_of_a_server_that_is_known_are_there_for_the_first_call(serve: Any, define: Any) -> None:
    definition = define("notes", {"offers": ["resources"]})
    await (await serve(definition)).ready()
    served = await serve(definition)
    assert served.state() == "known"

    assert_ok(await served.call("read_resource", uri="note://two"), text="at note://two")


async def test_a_source_that_never_comes_is_waited_for_once(autojump_clock: Any) -> None:
    import trio

    from pegboard_mcp.capabilities import SOURCES_WAIT_S, Capabilities

    capabilities = Capabilities(["never"])
    for waited_s in (SOURCES_WAIT_S, 0):
        began = trio.current_time()
        await capabilities.wait_until_listed()
        assert trio.current_time() - began == waited_s


async def test_updates_of_resources_are_passed_on(serve: Any, define: Any) -> None:
    from pegboard_mcp.capabilities import Capabilities

    served = await serve(define(script={"offers": ["resources"]}))
    await served.ready()
    heard: list[tuple[str, str | None]] = []
    served.host.resource(Capabilities).watch(lambda kind, uri: heard.append((kind, uri)))

    await served.call("update")
    await served.until(lambda: heard)
    assert heard == [("updated", "note://one")]


async def test_what_is_not_text_is_read_as_bytes(serve: Any, define: Any) -> None:
    served = await serve(define(script={"offers": ["resources"]}))
    await served.ready()
    for uri, data in (("note://bytes", b"\x00\x01\x02"), ("note://latin", b"\xe9")):
        (block,) = assert_ok(await served.call("read_resource", uri=uri)).content
        assert block.data == data


async def test_many_resources_are_listed_page_by_page(serve: Any, define: Any) -> None:
    served = await serve(define("many", {"offers": ["resources"], "resources": 150}), define("other"))
    await served.ready("many")
    await served.ready("other")

    first = assert_ok(await served.call("list_resources", server="many")).data
    second = assert_ok(await served.call("list_resources", server="many", start=first["next"])).data
    assert len(first["resources"]) == 100
    assert len(second["resources"]) == 52
    assert "next" not in second
    error = assert_error(
        await served.call("read_resource", uri="else://x"), ErrorCode.NOT_FOUND, says="many, other"
    ).error
    assert "`server`" in error.message


async def test_resources_that_cannot_be_listed_cost_no_tool(serve: Any, define: Any) -> None:
    served = await serve(define(script={"offers": ["resources"], "lists": "no resources"}))
    await served.ready()
    assert_ok(await served.call("add", a=1, b=2), text="3")
    assert_ok(await served.call("read_resource", uri="else://x"), text="at else://x")


async def test_headers_that_contradict_have_the_list_read_again_once(serve: Any, define: Any) -> None:
    served = await serve(define(script={"modern": True, "listens": "missing"}))  # of its own accord it reads no more
    await served.ready()
    lists = [line for line in served.lines("heard") if "tools/list" in line]

    assert_error(await served.call("refuse", code=-32020), ErrorCode.UPSTREAM_ERROR)
    assert served.lines("runs") == ["refuse", "refuse"]
    assert len([line for line in served.lines("heard") if "tools/list" in line]) == len(lists) + 1


async def test_a_prompt_that_is_not_given_ends_with_the_servers_deadline(serve: Any, define: Any) -> None:
    from pegboard import ToolError
    from pegboard_mcp.capabilities import Capabilities

    served = await serve(define(script={"offers": ["prompts"]}, request_s=0.4))
    await served.ready()
    prompt = served.host.resource(Capabilities).prompts["greet"]
    with pytest.raises(ToolError, match=r"prompts/get within 0\.4 s") as caught:
        await prompt.get(served.session, {"who": "silence"})
    assert caught.value.code is ErrorCode.TIMEOUT


async def test_settings_make_a_source_for_each_server(server_folder: Any) -> None:
    from pegboard_mcp.client.source import make_sources
    from pegboard_mcp.settings import McpSettings

    class Settings(McpSettings):
        def definitions(self) -> Any:
            from pegboard_mcp.definitions import ServerDefinition

            return tuple(ServerDefinition(name=name, transport="stdio", argv=("x",)) for name in ("a", "b"))

    sources = make_sources(Settings())
    assert [source.name for source in sources] == ["a", "b"]
    assert [source.known() for source in sources] == [None, None]
    assert repr(sources[0]) == "<McpSource a>"
