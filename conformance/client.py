"""One scenario of a client, driven through pegboard's own bridge: what the suite starts, once for each.

The suite gives the URL of its server as the last argument, and the scenario in the environment. A host is opened that
has nothing but pegboard-mcp and that one server; its tools, prompts and resources are used as any session would use
them. Where a person would answer, `_answer` does: it says yes, and fills forms with their defaults. Where a person
would read on stderr where to log in, and open that page, `_PromptReader` does.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import threading
import urllib.request
from typing import TYPE_CHECKING, Any, TextIO

import trio

import pegboard_mcp.plugin
from pegboard import Tool, open_host, thaw
from pegboard_mcp.capabilities import Capabilities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard.host import Host
    from pegboard.session import Confirmation, Session

NAME = "suite"
SOURCES_WAIT_S = 60.0
METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""What the suite takes for who we are, where it reads that instead of registering us; nobody opens it."""


class _PromptReader(io.TextIOBase):
    """Reads what is written to stderr, and opens the page to log in at that is named there; it writes on as it is."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write, and see whether a login is asked for."""
        if text.startswith("Log in to "):
            (address,) = re.findall(r"^  (http\S+)$", text, re.MULTILINE)
            threading.Thread(target=_open_page, args=(address,), daemon=True).start()
        return self._out.write(text)

    def flush(self) -> None:
        """Flush."""
        self._out.flush()


def _open_page(address: str) -> None:
    """Open a page as a browser would whose person says yes to everything: follow where it leads."""
    with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=20) as page:
        page.read()


async def _answer(asked: Confirmation) -> bool | Mapping[str, Any]:
    """Yes; and where values are asked for, the defaults."""
    if asked.schema is None:
        return True
    fields = asked.schema.get("properties", {})
    return {name: thaw(field["default"]) for name, field in fields.items() if "default" in field}


def _config(url: str, scenario: str, context: Mapping[str, Any]) -> dict[str, Any]:
    server: dict[str, Any] = {"url": url, "transport": "http", "start": "eager", "timeout": 60.0}
    if scenario.startswith("auth/"):
        server["oauth"] = True
        if scenario == "auth/pre-registration":  # the authorization server knows us already
            server |= {
                f"oauth_{key}": context[key] for key in ("client_id", "client_secret", "issuer") if context.get(key)
            }
        server["oauth_metadata_url"] = METADATA_URL
    return {"plugins": {"mcp": {"lock": "off", "servers": {NAME: server}}}}


async def _use(host: Host, session: Session, scenario: str, context: Mapping[str, Any]) -> None:
    """What each scenario wants to see done."""
    tools = dict(session.tools)
    match scenario:
        case "initialize" | "request-metadata" | "json-schema-ref-no-deref":
            pass
        case "tools_call":
            await session.call("add_numbers", {"a": 5, "b": 3})
        case "json-schema-2020-12-preservation":
            schema = thaw(tools["json_schema_2020_12_tool"].input_schema)
            (echo,) = (name for name in tools if "echo" in name)
            await session.call(echo, {"schema": schema})
        case "http-custom-headers":
            for call in context["toolCalls"]:
                await session.call(call["name"], call["arguments"])
            await session.call("test_custom_headers_null", {"region": "us-east1", "priority": 1, "query": "SELECT 1"})
        case "http-standard-headers":
            await _call_all(session, tools)
            capabilities = host.resource(Capabilities)
            for resource in capabilities.resources.values():
                await resource.read(session, resource.uri)
            for prompt in capabilities.prompts.values():
                await prompt.get(session, {})
        case _:
            await _call_all(session, tools)


async def _call_all(session: Session, tools: Mapping[str, Tool]) -> None:
    for name, tool in tools.items():
        if tool.origin.source is not None:
            await session.call(name, _sample(tool.input_schema))


def _sample(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for what a schema requires."""
    values = {"number": 1, "integer": 1, "boolean": True, "array": [], "object": {}}
    fields = schema.get("properties", {})
    return {name: values.get(fields.get(name, {}).get("type"), "x") for name in schema.get("required", ())}


async def main(url: str) -> None:
    """Open a host with the suite's server, and do what the scenario is about."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if scenario.startswith("auth/"):
        sys.stderr = _PromptReader(sys.stderr)
    async with open_host(_config(url, scenario, context), [pegboard_mcp.plugin]) as host:
        await host.wait_for_sources(timeout_s=SOURCES_WAIT_S)
        session = host.session("conformance", channel="conformance", confirm=_answer)
        for name, (state, reason) in host.board.source_states.items():
            print(f"{name}: {state}: {reason}", file=sys.stderr)
        await _use(host, session, scenario, context)


if __name__ == "__main__":
    import logging

    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    trio.run(main, sys.argv[-1])
