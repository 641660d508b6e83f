"""A server that asks back while a call runs, for the tests of what servers may ask. No SDK.

Its one tool sends the requests of its argument `ask`, a list of `{"method", "params"}`, one after another, then the
notifications of `tell`, and answers with what came back, as JSON. The tool `capabilities` answers what the client said
of itself.
"""

import json
import sys
import time

waiting: list[dict[str, object]] = []


def send(message: object) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read() -> dict[str, object]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)


def ask(request: dict[str, object], number: str) -> object:
    send({"id": number, "method": request["method"], "params": request.get("params", {})})
    while (message := read()).get("id") != number:
        waiting.append(message)
    return message.get("result", message.get("error"))


capabilities: object = None
while True:
    message = waiting.pop(0) if waiting else read()
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        capabilities = params["capabilities"]
        server = {"name": "asking", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
        send({"id": number, "result": result})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "capabilities")]
        send({"id": number, "result": {"tools": tools}})
    elif method == "tools/call":
        arguments = params["arguments"]
        back = capabilities
        time.sleep(0.05)  # so that the client has seen the call before to its end
        if params["name"] == "ask":
            back = [ask(request, f"ask-{index}") for index, request in enumerate(arguments.get("ask", []))]
            for note in arguments.get("tell", []):
                note["params"].setdefault("progressToken", params.get("_meta", {}).get("progressToken"))
                send(note)
        send({"id": number, "result": {"content": [{"type": "text", "text": json.dumps(back)}]}})
    elif number is not None and method is not None:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
