"""A server on the SDK's lowlevel `Server`, both eras, over stdio; with tools that change and a stream of changes."""

from __future__ import annotations

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

OBJECT = {"type": "object", "properties": {}}
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
names = ["add", "grow", "steps"]
bus = InMemorySubscriptionBus()


async def list_tools(
    context: ServerRequestContext, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    start = int(params.cursor) if params is not None and params.cursor else 0
    tools = [
        types.Tool(name=name, description=f"Does {name}.", inputSchema=NUMBERS if name == "add" else OBJECT)
        for name in names
    ]
    after = str(start + 2) if start + 2 < len(tools) else None
    return types.ListToolsResult(tools=tools[start : start + 2], nextCursor=after)


async def call_tool(context: ServerRequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name == "grow":
        names.append(f"grown_{len(names)}")
        await context.session.send_tool_list_changed()
        await bus.publish(ToolsListChanged())
    if params.name == "steps":
        for done in (1, 2, 3):
            await context.session.report_progress(done, 3, f"step {done}")
    said = str(arguments["a"] + arguments["b"]) if params.name == "add" else params.name
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


server = Server(
    "sdk", version="1", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=ListenHandler(bus)
)


async def main() -> None:
    async with stdio_server() as (read, write):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(read, write, options)


anyio.run(main)
