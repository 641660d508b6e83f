"""`mcp_server.py KIND stdio|http|stateless [PORT]`: one MCP server with one tool `add`, in the venv of its library.

The floors know no more of MCP than the benchmark needs: they validate, set a deadline, add and answer.
"""

from __future__ import annotations

import json
import os
import sys

ADD_SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


async def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def _lowlevel():
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    async def on_list(ctx, params):
        return ListToolsResult(tools=[Tool(name="add", description="Add two numbers.", input_schema=ADD_SCHEMA)])

    async def on_call(ctx, params):
        return CallToolResult(content=[TextContent(type="text", text=str(await add(**params.arguments)))])

    return Server("bench", on_list_tools=on_list, on_call_tool=on_call)


def lowlevel_stdio() -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    server = _lowlevel()

    async def main():
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(main)


def lowlevel_http(port: int, *, stateless: bool) -> None:
    _uvicorn(_lowlevel().streamable_http_app(json_response=True, stateless_http=stateless), port)


def mcpserver(transport: str, port: int) -> None:
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("bench", log_level="ERROR")
    server.add_tool(add)
    if transport == "stdio":
        server.run("stdio")
    else:
        _uvicorn(server.streamable_http_app(json_response=True), port)


def fastmcp(transport: str, port: int) -> None:
    import logging

    from fastmcp import FastMCP

    logging.disable(logging.WARNING)
    server = FastMCP("bench")
    server.tool(add)
    if transport == "stdio":
        server.run("stdio", show_banner=False)
    else:
        _uvicorn(server.http_app(path="/mcp", json_response=True), port)


def _uvicorn(app, port: int) -> None:
    """As the SDK's own dependencies install it: h11, and asyncio's loop."""
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False, http="h11", loop="asyncio")


def _answer(message, validate):
    method = message.get("method")
    if method == "tools/call":
        arguments = message["params"]["arguments"]
        validate(arguments)
        text = str(arguments["a"] + arguments["b"])
        result = {"content": [{"type": "text", "text": text}], "isError": False, "resultType": "complete"}
    elif method == "tools/list":
        result = {"tools": [{"name": "add", "description": "Add two numbers.", "inputSchema": ADD_SCHEMA}]}
    elif method == "initialize":
        info = {"name": "floor", "version": "0"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    else:
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "not found"}}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def floor_stdio() -> None:
    import fastjsonschema
    import trio

    validate = fastjsonschema.compile(ADD_SCHEMA)

    async def main():
        stdin, stdout = trio.lowlevel.FdStream(os.dup(0)), trio.lowlevel.FdStream(os.dup(1))
        rest = b""

        async def one(message):
            with trio.fail_after(30):
                answer = _answer(message, validate)
            await stdout.send_all(json.dumps(answer).encode() + b"\n")

        async with trio.open_nursery() as nursery:
            async for chunk in stdin:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    message = json.loads(line)
                    if "id" in message:
                        nursery.start_soon(one, message)

    trio.run(main)


def floor_hypercorn(port: int) -> None:
    """Hypercorn alone: an ASGI app that answers the same bytes to anything."""
    import fastjsonschema
    import trio
    from hypercorn.config import Config
    from hypercorn.trio import serve

    validate = fastjsonschema.compile(ADD_SCHEMA)

    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body")
        answer = json.dumps(_answer(json.loads(body), validate)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.accesslog = config.errorlog = None
    config.keep_alive_max_requests = 10**9
    trio.run(serve, app, config)


def floor_h11(port: int) -> None:
    """The parser and a loop: the least that HTTP can cost here."""
    import fastjsonschema
    import h11
    import trio

    validate = fastjsonschema.compile(ADD_SCHEMA)

    async def body_of(connection, stream):
        body = b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(65536))
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return body
            elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                return None

    async def serve(stream):
        connection = h11.Connection(h11.SERVER)
        try:
            while (body := await body_of(connection, stream)) is not None:
                with trio.fail_after(30):
                    answer = json.dumps(_answer(json.loads(body), validate)).encode()
                headers = [("content-type", "application/json"), ("content-length", str(len(answer)))]
                sent = connection.send(h11.Response(status_code=200, headers=headers))
                sent += connection.send(h11.Data(data=answer)) + connection.send(h11.EndOfMessage())
                await stream.send_all(sent)
                if connection.our_state is h11.MUST_CLOSE:
                    return
                connection.start_next_cycle()
        except (trio.BrokenResourceError, h11.RemoteProtocolError):
            pass

    trio.run(trio.serve_tcp, serve, port)


def main() -> None:
    """Serve until stdin ends, or the process is ended."""
    kind, transport, port = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0
    match kind:
        case "lowlevel" if transport == "stdio":
            lowlevel_stdio()
        case "lowlevel":
            lowlevel_http(port, stateless=transport == "stateless")
        case "mcpserver":
            mcpserver(transport, port)
        case "fastmcp":
            fastmcp(transport, port)
        case "trio":
            floor_stdio()
        case "hypercorn":
            floor_hypercorn(port)
        case "h11":
            floor_h11(port)


if __name__ == "__main__":
    main()
