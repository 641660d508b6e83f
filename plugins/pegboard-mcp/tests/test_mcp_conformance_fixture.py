"""The plugin of the conformance suite loads on a host, and what it offers is served, in both eras of the protocol.

The suite itself is run by `nox -s conformance`; here its fixture is held to work without a network, in memory.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pegboard_jsonschema_rs.plugin
import pegboard_mcp.plugin
from pegboard import open_host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from mcp.client.client import Client

SOURCES = Path(__file__).parents[3] / "conformance" / "fixture_plugin" / "src"

pytestmark = pytest.mark.skipif(not SOURCES.is_dir(), reason="the fixture lies in the repository, beside the packages")
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"], ids=["handshake", "stateless"])


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """Serves the fixture in memory, and gives the SDK's client of it."""
    monkeypatch.syspath_prepend(str(SOURCES))
    for name in [name for name in sys.modules if name.partition(".")[0] == "pegboard_conformance"]:
        monkeypatch.delitem(sys.modules, name)
    fixture = importlib.import_module("pegboard_conformance")

    @contextlib.asynccontextmanager
    async def connect(mode: str, **options: Any) -> AsyncIterator[Client]:
        from mcp.client.client import Client

        from pegboard_mcp.server.app import make_server

        async with open_host(None, [pegboard_mcp.plugin, pegboard_jsonschema_rs.plugin, fixture]) as host:
            await host.wait_for_sources()
            async with Client(make_server(host), mode=mode, **options) as client:
                yield client

    return connect


@ERAS
async def test_it_offers_what_the_suite_calls(connect: Any, mode: str) -> None:
    async with connect(mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        resources = {str(resource.uri) for resource in (await client.list_resources()).resources}
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
    assert {"test_simple_text", "json_schema_2020_12_tool", "test_sampling", "test_trigger_tool_change"} <= tools
    assert {"test_simple_prompt", "test_input_required_result_prompt"} <= prompts
    assert {"test://static-text", "test://static-binary", "test://watched-resource"} == resources
    assert templates == ["test://template/{id}/data"]


@ERAS
async def test_its_blocks_keep_their_order_and_its_failing_tool_answers_as_an_error(connect: Any, mode: str) -> None:
    async with connect(mode) as client:
        mixed = await client.call_tool("test_multiple_content_types", {})
        failed = await client.call_tool("test_error_handling", {})
    assert [block.type for block in mixed.content] == ["text", "image", "resource"]
    assert failed.is_error
    assert failed.content[0].text == "This tool intentionally returns an error for testing"


@ERAS
async def test_it_asks_the_person_behind_the_client(connect: Any, mode: str) -> None:
    from mcp_types import ElicitResult

    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"name": "Ada", "color": "green"})

    async with connect(mode, elicitation_callback=elicit) as client:
        greeted = await client.call_tool("test_input_required_result_elicitation", {})
        both = await client.call_tool("test_input_required_result_multi_round", {})
    assert greeted.content[0].text == "Hello, Ada!"
    assert asked[1:] == ["Step 1: What is your name?", "Step 2: What is your favorite color?"]
    assert "green" in both.content[0].text


@ERAS
async def test_its_template_is_read_and_its_prompt_takes_arguments(connect: Any, mode: str) -> None:
    async with connect(mode) as client:
        read = await client.read_resource("test://template/7/data")
        got = await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
    assert '"id": "7"' in read.contents[0].text
    assert got.messages[0].content.text == "Prompt with arguments: arg1='one', arg2='two'"
