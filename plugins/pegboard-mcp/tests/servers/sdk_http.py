"""A server of the SDK over streamable HTTP, under hypercorn's trio worker. Arguments: a folder, a port, options.

`runs` in the folder gets a line for each execution. `--handshake`: sessions, and no `server/discover`. `--header`: the
tool `route` wants its argument as a header too. Writes its URL to `url` in the folder once it listens.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import hypercorn.trio
import mcp_types as types
import trio
from hypercorn.config import Config
from mcp.server.lowlevel import Server

folder, port, options = Path(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3:])
READS = types.ToolAnnotations(readOnlyHint=True)
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
ROUTE = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
BAD_ROUTE = {"type": "object", "properties": {"region": {"type": "array", "x-mcp-header": "Region"}}}


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    schemas = {"add": NUMBERS, "route": ROUTE, "hang": {"type": "object"}, "hang_reading": {"type": "object"}}
    if "--header" in options:
        schemas["bad_route"] = BAD_ROUTE
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, inputSchema=schema, annotations=READS if name.endswith("reading") else None)
            for name, schema in schemas.items()
        ]
    )


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    arguments = params.arguments or {}
    with (folder / "runs").open("a") as file:
        file.write(params.name + "\n")
    said = params.name
    if params.name == "add":
        said = str(arguments["a"] + arguments["b"])
    if params.name == "route":
        request = context.request
        said = f"{request.headers.get('mcp-param-region')} {request.headers.get('mcp-name')}"
    if params.name.startswith("hang") and not (folder / "go_on").exists():
        await trio.sleep(60)
    return types.CallToolResult(content=[types.TextContent(type="text", text=said)])


server = Server("sdk-http", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
app = server.streamable_http_app()


async def without_discovery(scope: Any, receive: Any, send: Any) -> None:
    headers = dict(scope.get("headers") or ())
    if headers.get(b"mcp-method") != b"server/discover":
        await app(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"not here"})


async def main() -> None:
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.errorlog = config.accesslog = None
    served = without_discovery if "--handshake" in options else app
    async with trio.open_nursery() as nursery:
        (url,) = await nursery.start(partial(hypercorn.trio.serve, served, config, mode="asgi"))
        (folder / "url.new").write_text(f"{url}/mcp")
        (folder / "url.new").rename(folder / "url")


trio.run(main)
