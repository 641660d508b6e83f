"""Prompts, resources and completions that the board serves: those of plugins, and those of servers behind it."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

import pytest
import trio
from mcp import Client, MCPError, types

import pegboard_mcp.plugin
from pegboard import BinaryContent, ImageContent, TextContent, ToolError, hookimpl
from pegboard_mcp import Prompt, PromptArgument, Resource, ResourceTemplate
from pegboard_mcp.capabilities import Capabilities, Message
from pegboard_mcp.server.app import make_server
from pegboard_mcp.server.resources import page_of


async def _greet(session: Any, arguments: Any) -> Any:
    if arguments["name"] == "nobody":
        raise ToolError("NOT_FOUND", "there is nobody to greet")
    if arguments["name"] == "broken":
        raise RuntimeError("/secret/path")
    return f"Greet {arguments['name']} for {session.user_id}."


async def _show(session: Any, arguments: Any) -> Any:
    return [
        Message("user", TextContent("Look:")),
        Message("user", ImageContent(b"i")),
        Message("assistant", BinaryContent(b"z", "application/zip", "file:///z.zip")),
    ]


async def _names(session: Any, argument: str, value: str, others: Any) -> list[str]:
    if argument == "many":
        return [f"n{number}" for number in range(150)]
    return [name for name in ("ada", "alan", "bob") if name.startswith(value)] + sorted(others)


async def _ask(session: Any, arguments: Any) -> str:
    from pegboard_mcp.server.peer import peer_of

    peer = peer_of(session)
    assert peer is not None
    answer = await peer.elicit("Which?", {"type": "object", "properties": {"a": {"type": "string"}}}, key="which")
    return f"You said {answer['content']}."


async def _read(session: Any, uri: str) -> Any:
    kinds: dict[str, Any] = {
        "text": "hello",
        "bytes": b"\x00\x01",
        "blocks": [TextContent("one"), ImageContent(b"i", "image/png"), BinaryContent(b"z", "a/b", "board://z")],
    }
    kind = uri.rpartition("/")[2]
    if kind == "gone":
        raise ToolError("NOT_FOUND", "it was there once")
    return kinds.get(kind, f"<{uri}>")


PROMPTS = [
    Prompt(
        name="greet",
        get=_greet,
        title="Greet",
        description="Greet somebody.",
        arguments=(PromptArgument("name", "who", required=True), PromptArgument("many")),
        complete=_names,
    ),
    Prompt(name="show", get=_show),
    Prompt(name="ask", get=_ask),
]
ICONS = ({"src": "https://example.org/board.png"},)
RESOURCES = [
    *(Resource(uri=f"board://x/{kind}", name=kind, read=_read) for kind in ("text", "bytes", "blocks", "gone")),
    Resource(
        uri="board://png",
        name="png",
        read=_read,
        mime_type="text/html",
        title="T",
        size=3,
        description="d",
        icons=ICONS,
    ),
    ResourceTemplate(
        uri_template="board://user/{id}", name="user", read=_read, complete=_names, mime_type="text/x", icons=ICONS
    ),
]


class Stock:
    @hookimpl(optionalhook=True)
    def provide_prompts(self, settings: Any) -> Any:
        return PROMPTS

    @hookimpl(optionalhook=True)
    def provide_resources(self, settings: Any) -> Any:
        return RESOURCES


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The handshake era, and 2026-07-28."""
    return str(request.param)


@pytest.fixture
def stocked(host_with: Any) -> Any:
    """`async with stocked(mode) as (client, offers)`."""

    @contextlib.asynccontextmanager
    async def serve(mode: str, **more: Any) -> Any:
        host = await host_with(Stock(), pegboard_mcp.plugin, config={"user_id": "ada"})
        async with Client(make_server(host), mode=mode, cache=None, **more) as client:
            yield client, host.resource(Capabilities)

    return serve


async def test_prompts_are_listed_and_got(stocked: Any, mode: str) -> None:
    async with stocked(mode) as (client, _):
        prompts = {one.name: one for one in (await client.list_prompts()).prompts}
        got = await client.get_prompt("greet", {"name": "bob"})
        shown = await client.get_prompt("show")
    greet = prompts["greet"]
    assert (greet.title, greet.description) == ("Greet", "Greet somebody.")
    assert [(one.name, one.required or False) for one in greet.arguments] == [("name", True), ("many", False)]
    assert [(one.role, one.content.text) for one in got.messages] == [("user", "Greet bob for ada.")]
    assert [one.content.type for one in shown.messages] == ["text", "image", "resource"]
    assert shown.messages[2].role == "assistant"


@pytest.mark.parametrize(
    ("name", "arguments", "number", "code"),
    [
        ("greet", {}, -32602, "INVALID_INPUT"),
        ("greet", {"name": "x", "other": "y"}, -32602, "INVALID_INPUT"),
        ("nope", {}, -32602, "NOT_FOUND"),
        ("greet", {"name": "nobody"}, -32001, "NOT_FOUND"),
        ("greet", {"name": "broken"}, -32603, "INTERNAL_ERROR"),
    ],
)
async def test_a_prompt_that_cannot_be_given_is_an_error(
    stocked: Any, mode: str, name: str, arguments: Any, number: int, code: str
) -> None:
    async with stocked(mode) as (client, _):
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
    assert (caught.value.code, caught.value.data["code"]) == (number, code)
    assert "/secret" not in str(caught.value.error)


async def test_a_prompt_asks_too(stocked: Any, mode: str) -> None:
    async def person(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"a": "b"})

    async with stocked(mode, elicitation_callback=person) as (client, _):
        got = await client.get_prompt("ask")
    assert got.messages[0].content.text == "You said {'a': 'b'}."


async def test_resources_are_listed_and_read(stocked: Any, mode: str) -> None:
    async with stocked(mode) as (client, _):
        resources = {one.name: one for one in (await client.list_resources()).resources}
        templates = (await client.list_resource_templates()).resource_templates
        text = (await client.read_resource("board://x/text")).contents
        data = (await client.read_resource("board://x/bytes")).contents
        blocks = (await client.read_resource("board://x/blocks")).contents
        user = (await client.read_resource("board://user/7")).contents
    assert (resources["png"].mime_type, resources["png"].size, resources["png"].title) == ("text/html", 3, "T")
    assert [one.uri_template for one in templates] == ["board://user/{id}"]
    shown = [icon.src for one in (resources["png"], *templates) for icon in one.icons or ()]
    assert shown == [ICONS[0]["src"]] * 2, "of a template as of a resource"
    assert (text[0].text, text[0].mime_type) == ("hello", "text/plain")
    assert base64.b64decode(data[0].blob) == b"\x00\x01"
    assert [one.uri for one in blocks] == ["board://x/blocks", "board://x/blocks", "board://z"]
    assert (user[0].text, user[0].mime_type) == ("<board://user/7>", "text/x")


@pytest.mark.parametrize("uri", ["board://nope", "board://x/gone", "board://user/a/b"])
async def test_a_resource_that_is_not_there_is_an_error_of_its_era(stocked: Any, mode: str, uri: str) -> None:
    async with stocked(mode) as (client, _):
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    assert caught.value.code == (-32002 if mode == "legacy" else -32602)
    assert caught.value.data["code"] == "NOT_FOUND"


async def test_arguments_are_completed(stocked: Any, mode: str) -> None:
    prompt = types.PromptReference(type="ref/prompt", name="greet")
    template = types.ResourceTemplateReference(type="ref/resource", uri="board://user/{id}")
    async with stocked(mode) as (client, _):
        names = (await client.complete(prompt, {"name": "name", "value": "a"}, {"z": "1"})).completion
        many = (await client.complete(prompt, {"name": "many", "value": ""})).completion
        ids = (await client.complete(template, {"name": "id", "value": "b"})).completion
        other = types.PromptReference(type="ref/prompt", name="show")
        none = (await client.complete(other, {"name": "x", "value": ""})).completion
        with pytest.raises(MCPError) as caught:
            await client.complete(types.PromptReference(type="ref/prompt", name="nope"), {"name": "x", "value": ""})
    assert names.values == ["ada", "alan", "z"]
    assert (len(many.values), many.total, many.has_more) == (100, 150, True)
    assert (ids.values, none.values) == (["bob"], [])
    assert caught.value.code == -32602


async def test_what_sources_offer_is_served_behind_what_plugins_do(stocked: Any, mode: str) -> None:
    async def other(session: Any, arguments: Any) -> str:
        return "other"

    async with stocked(mode) as (client, capabilities):
        capabilities.replace_prompts("server", [Prompt(name="show", get=other), Prompt(name="more", get=other)])
        capabilities.replace_resources("server", [Resource(uri="far://a", name="a", read=_read)])
        assert {"show", "more", "greet", "ask"} == {one.name for one in (await client.list_prompts()).prompts}
        assert "far://a" in {str(one.uri) for one in (await client.list_resources()).resources}
        assert len((await client.get_prompt("show")).messages) == 3
        assert (await client.get_prompt("more")).messages[0].content.text == "other"


async def test_subscribers_hear_of_their_resources_alone(stocked: Any) -> None:
    heard: list[Any] = []
    more = trio.Event()

    async def hear(message: Any) -> None:
        heard.append(message)
        more.set()

    async with stocked("legacy", message_handler=hear) as (client, capabilities):
        request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="board://x/text"))
        await client.session.send_request(request, types.EmptyResult)
        capabilities.updated("board://x/bytes")
        capabilities.updated("board://x/text")
        capabilities.replace_prompts("server", [])
        with trio.fail_after(60):
            while len(heard) < 2:
                more = trio.Event()
                await more.wait()
        kinds = [(type(one).__name__, getattr(one.params, "uri", None)) for one in heard]
        assert kinds == [("PromptListChangedNotification", None), ("ResourceUpdatedNotification", "board://x/text")]
        end = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri="board://x/text"))
        await client.session.send_request(end, types.EmptyResult)
        wrong = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="board://nope"))
        with pytest.raises(MCPError) as caught:
            await client.session.send_request(wrong, types.EmptyResult)
        assert caught.value.code == -32002


async def test_listeners_of_the_modern_era_hear_what_they_asked_for(stocked: Any) -> None:
    from mcp.client.subscriptions import PromptsListChanged, ResourceUpdated

    async with stocked("auto") as (client, capabilities):
        with trio.fail_after(60):
            listening = client.listen(prompts_list_changed=True, resource_subscriptions=["board://x/text"])
            async with listening as events:
                capabilities.updated("board://x/bytes")
                capabilities.updated("board://x/text")
                capabilities.replace_prompts("server", [])
                found = set()
                async for event in events:
                    found.add(type(event))
                    if len(found) == 2:
                        break
    assert found == {PromptsListChanged, ResourceUpdated}


async def test_a_hook_that_fails_loses_its_own_offers(host_with: Any) -> None:
    class Broken:
        @hookimpl(optionalhook=True)
        def provide_prompts(self, settings: Any) -> Any:
            raise RuntimeError("no")

    host = await host_with(Broken(), Stock(), pegboard_mcp.plugin, config={"strict": False})
    async with Client(make_server(host), mode="legacy") as client:
        assert len((await client.list_prompts()).prompts) == 3


def test_pages_miss_nothing_and_repeat_nothing_while_elements_come_and_go() -> None:
    things = {f"t{number:02}": number for number in range(10)}
    first, cursor = page_of(things, None, 4)
    del things["t03"]
    things["t00a"] = 99
    second, cursor = page_of(things, cursor, 4)
    third, cursor = page_of(things, cursor, 4)
    assert (first, second, third, cursor) == ([0, 1, 2, 3], [4, 5, 6, 7], [8, 9], None)
    for wrong in ("", "x", "é", base64.urlsafe_b64encode(b"2:a").decode()):
        with pytest.raises(MCPError):
            page_of(things, wrong, 4)
