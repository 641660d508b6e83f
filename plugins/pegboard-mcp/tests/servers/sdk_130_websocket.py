"""A WebSocket server on the SDK 1.30, the last that had one, under uvicorn. It prints its port."""

import socket
from typing import Any

import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.websocket import websocket_server

server: Any = Server("old")


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [types.Tool(name="say", inputSchema={"type": "object", "properties": {"text": {"type": "string"}}})]


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
    return [types.TextContent(type="text", text=arguments["text"])]


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        async with websocket_server(scope, receive, send) as (read, write):
            await server.run(read, write, server.create_initialization_options())


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="wsproto")).run([listener])
