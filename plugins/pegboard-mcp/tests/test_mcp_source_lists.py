"""What a server offers: read to its last page, tool by tool, and read again when it changes."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import SourceState
from pegboard.testing import assert_ok
from pegboard_mcp.client import discovery

SDK = Path(__file__).parent / "servers" / "sdk.py"
ERAS = pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
ANY = {"type": "object", "properties": {}}


def offered(served: Any) -> set[str]:
    return set(served.host.tools) - {"list_resources", "read_resource"}


@ERAS
async def test_every_page_is_read(serve: Any, define: Any, modern: bool) -> None:
    extra = [{"name": f"extra_{number}", "inputSchema": ANY} for number in range(20)]
    served = await serve(define(script={"modern": modern, "page": 3, "tools": extra}))
    await served.ready()
    assert {f"extra_{number}" for number in range(20)} < offered(served)


@pytest.mark.parametrize(("more", "is_apart"), [(0, False), (30, True)])
async def test_a_long_list_is_looked_at_beside_the_loop(
    serve: Any, define: Any, monkeypatch: pytest.MonkeyPatch, more: int, is_apart: bool
) -> None:
    threads = []
    look = discovery.tool_entries

    def noted(*said: Any) -> Any:
        threads.append(threading.current_thread())
        return look(*said)

    monkeypatch.setattr(discovery, "tool_entries", noted)
    monkeypatch.setattr(discovery, "MANY", 25)
    tools = [{"name": f"extra_{number}", "inputSchema": ANY} for number in range(more)]
    served = await serve(define(script={"tools": tools}))
    await served.ready()
    assert [one is not threading.main_thread() for one in threads] == [is_apart]


async def test_one_bad_tool_costs_that_tool_alone(serve: Any, define: Any) -> None:
    bad: list[Any] = [
        {"name": "no_schema"},
        {"name": "list_schema", "inputSchema": []},
        {"name": "text_schema", "inputSchema": {"type": "string"}},
        {"name": "bad_output", "inputSchema": ANY, "outputSchema": 7},
        {"name": "bad_type", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}},
        {"name": "bad_reference", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}},
        {"name": "", "inputSchema": ANY},
        {"name": 7, "inputSchema": ANY},
        {"name": "hid\u202eden", "inputSchema": ANY},
        {"name": "add", "inputSchema": ANY, "description": "another add"},
        "no object",
        None,
    ]
    script = {"tools": [*bad, {"name": "good", "inputSchema": ANY}]}
    served = await serve(define(script=script), config={"strict": False})
    await served.ready()

    names = offered(served)
    assert {"good", "add"} <= names
    assert not names & {"no_schema", "list_schema", "text_schema", "bad_output", "bad_type", "bad_reference", "7"}
    assert served.host.tools["add"].description == "Does add."
    left_out = served.source.listing.left_out
    assert {"no_schema", "list_schema", "text_schema", "bad_output"} <= set(left_out)
    assert all(left_out.values())
    assert {"bad_type", "bad_reference"} <= set(served.host.board.rejected_tools)
    assert_ok(await served.call("good"))


async def test_hidden_characters_of_descriptions_are_taken_out(serve: Any, define: Any) -> None:
    sly = {"name": "sly", "title": "A\u202e title", "description": "Plain\u200b text.", "inputSchema": ANY}
    served = await serve(define(script={"tools": [sly]}))
    await served.ready()
    tool = served.host.tools["sly"]
    assert (tool.title, tool.description) == ("A title", "Plain text.")


async def test_an_output_schema_of_no_object_describes_the_result(serve: Any, define: Any) -> None:
    numbers = {"name": "numbers", "inputSchema": ANY, "outputSchema": {"type": "array", "items": {"type": "integer"}}}
    served = await serve(define(script={"tools": [numbers]}))
    await served.ready()
    schema = served.host.tools["numbers"].output_schema
    assert schema["properties"]["result"]["type"] == "array"


async def test_only_what_is_allowed_is_offered(serve: Any, define: Any) -> None:
    served = await serve(
        define("few", allowed_tools=frozenset({"add", "pid"}), prefix="few_"),
        define("most", disabled_tools=frozenset({"die"}), prefix="most_"),
        define("none", {"offers": ["prompts"]}, load_tools=False, load_prompts=False),
    )
    for name in ("few", "most", "none"):
        await served.ready(name)
    names = offered(served)
    assert {name for name in names if name.startswith("few_")} == {"few_add", "few_pid"}
    assert "most_add" in names
    assert "most_die" not in names
    assert all(name.startswith(("few_", "most_")) for name in names)
    assert_ok(await served.call("few_add", a=1, b=2), text="3")


async def test_a_server_of_which_its_table_leaves_no_tool_says_so(serve: Any, define: Any) -> None:
    served = await serve(define(allowed_tools=frozenset({"ad"})))
    await served.ready()
    (one,) = served.host.board.source_statuses()
    assert one.reason.startswith("it has no tool that its `allowed_tools` and `disabled_tools` leave")
    served.host.board.set_source_state("one", SourceState.KNOWN)  # as a program says it of what another one saw
    assert served.host.board.source_statuses()[0].reason == one.reason


async def test_one_server_under_two_names_has_its_tools_twice(serve: Any, define: Any) -> None:
    served = await serve(define("a"), define("b"))
    await served.ready("a")
    await served.ready("b")

    await served.until(lambda: {"a-add", "b-add"} <= offered(served))
    assert "add" not in offered(served)
    assert not served.host.board.rejected_tools
    assert_ok(await served.call("a-add", a=1, b=2), text="3")
    assert_ok(await served.call("b-add", a=1, b=2), text="3")
    again = await serve(define("b"), define("a"))
    assert offered(again) == offered(served)


async def test_names_that_two_servers_have_do_not_follow_from_who_starts_first(serve: Any, define: Any) -> None:
    only = define("a", allowed_tools=frozenset({"add"}))
    first = await serve(only)
    await first.ready()
    assert offered(first) == {"add"}

    both = await serve(only, define("b", allowed_tools=frozenset({"add", "pid"})))
    assert offered(both) == {"add"}  # as of now nobody knows what the other one has
    await both.ready("b")
    assert offered(both) == {"a-add", "b-add", "pid"}
    assert_ok(await both.call("a-add", a=1, b=2), text="3")


def test_a_tool_whose_name_is_taken_goes_behind_that_of_its_server(define: Any) -> None:
    from pegboard_mcp.client.discovery import Listing
    from pegboard_mcp.client.source import McpSource

    source = McpSource(define("files"))
    source.catalogue.take(Listing(tools=({"key": "read", "input_schema": ANY}, {"key": "write", "input_schema": ANY})))
    assert [tool.name for tool in source.known() or ()] == ["read", "write"]
    assert source.other_name("read") == "files-read"
    assert [tool.name for tool in source.known() or ()] == ["files-read", "write"]
    assert source.other_name("files-read") is None
    assert source.other_name("nothing") is None


@ERAS
async def test_a_list_that_changed_is_read_again(serve: Any, define: Any, modern: bool) -> None:
    served = await serve(define(script={"modern": modern}))
    await served.ready()
    if modern:
        await served.until(lambda: any("subscriptions/listen" in line for line in served.lines("heard")))

    assert_ok(await served.call("grow"))
    await served.until(lambda: "grown_0" in offered(served))
    assert_ok(await served.call("grown_0"))


async def test_a_server_of_the_sdk_tells_of_its_changes(serve: Any, define: Any) -> None:
    served = await serve(define(argv=(sys.executable, str(SDK))))
    await served.ready()
    assert served.source.connection.modern
    await served.call("steps")  # by then the stream of changes is open
    assert served.progress == [(1.0, 3, "step 1"), (2.0, 3, "step 2"), (3.0, 3, "step 3")]
    assert_ok(await served.call("grow"))
    await served.until(lambda: "grown_3" in offered(served))


async def test_a_server_that_comes_back_as_it_was_changes_no_list(serve: Any, define: Any) -> None:
    from pegboard_mcp.capabilities import Capabilities

    served = await serve(define(script={"offers": ["prompts", "resources"]}))
    await served.ready()
    heard: list[Any] = []
    served.host.resource(Capabilities).watch(lambda kind, uri: heard.append(kind))
    served.host.watch(lambda old, new: heard.append("tools"))

    assert_ok(await served.call("die_once_reading"))
    assert len(served.lines("starts")) == 2
    assert heard == []


async def test_the_old_list_stays_where_the_new_one_cannot_be_read(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()
    before = offered(served)

    assert_ok(await served.call("grow_and_break"))
    await served.until(lambda: sum("tools/list" in line for line in served.lines("heard")) >= 2)
    assert_ok(await served.call("add", a=1, b=2), text="3")
    assert offered(served) == before
    assert served.state() == "ready"


@ERAS
async def test_a_list_that_changes_while_it_is_read_is_read_again(serve: Any, define: Any, modern: bool) -> None:
    served = await serve(define(script={"lists": "changes", "modern": modern, "page": 5}))
    await served.ready()
    await served.until(lambda: "grown_1" in offered(served))


async def test_a_stream_of_changes_that_ends_is_opened_again(
    serve: Any, define: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_mcp.client import lists

    monkeypatch.setattr(lists, "RELISTEN_S", (0.02, 0.05))
    served = await serve(define(script={"modern": True, "listens": "ends"}))
    await served.ready()
    await served.until(lambda: sum("subscriptions/listen" in line for line in served.lines("heard")) == 2)
    assert_ok(await served.call("grow"))
    await served.until(lambda: "grown_0" in offered(served))


async def test_a_server_without_a_stream_of_changes_is_asked_once(serve: Any, define: Any) -> None:
    served = await serve(define(script={"modern": True, "listens": "missing"}))
    await served.ready()
    await served.until(lambda: any("subscriptions/listen" in line for line in served.lines("heard")))
    for number in range(20):
        assert_ok(await served.call("add", a=number, b=0))
    assert sum("subscriptions/listen" in line for line in served.lines("heard")) == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
keys = st.sampled_from([
    "name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "arguments", "uri",
    "uriTemplate", "mimeType", "size", "required", "type", "properties", "readOnlyHint", "src",
])  # fmt: skip
raw_items = json_values | st.dictionaries(
    keys, json_values | st.dictionaries(keys, json_values, max_size=4), max_size=8
)


@settings(max_examples=150)
@given(st.lists(raw_items, max_size=6))
def test_any_json_of_a_server_gives_entries_that_can_be_written_and_read_or_nothing(raws: list[Any]) -> None:
    from pegboard_mcp.client import cache, discovery
    from pegboard_mcp.client.source import McpSource
    from pegboard_mcp.definitions import ServerDefinition

    definition = ServerDefinition(name="one", transport="stdio")
    left_out: dict[str, str] = {}
    listing = discovery.Listing(
        tools=tuple(discovery.tool_entries(raws, definition, left_out)),
        prompts=tuple(discovery._entries(raws, discovery.prompt_entry, "prompt", left_out, definition)),
        resources=tuple(discovery._entries(raws, discovery.resource_entry, "resource", left_out, definition)),
        templates=tuple(discovery._entries(raws, discovery.template_entry, "template", left_out, definition)),
    )
    content = {"format": cache.FORMAT, "version": cache.__version__, "server": {}}
    content |= {name: getattr(listing, name) for name in cache.LISTS}
    assert cache.parse(json.dumps(content, ensure_ascii=False, allow_nan=False).encode()) == listing
    source = McpSource(definition)
    source.catalogue.take(listing)
    source.catalogue.names = source.catalogue.names_on_board(frozenset())
    assert len(source.catalogue.tools()) == len(listing.tools) + len(listing.prompts)
    source.catalogue.prompts(listing)
    source.catalogue.resources(listing)
