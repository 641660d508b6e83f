"""A server that misbehaves, for the tests of faults. No SDK: it starts in a few milliseconds. Argument: FOLDER.

`FOLDER/runs` gets one line, the tool's name, for each execution; `FOLDER/mode` says how it behaves, good without one:

    good          behaves, while its tools do what their names say
    exit          prints a reason to stderr and exits before it reads
    silent        reads and never answers
    garbage       prints a long page of what is not JSON-RPC

       chatty        behaves, but prints a line of no JSON-RPC before each answer
    pages         gives pages of its list without end
    circle        gives the same page of its list again and again
    moving        says that its list changed while it is read, the first two times, and has another tool each time
    broken-list   behaves, but says after each call that its list changed, and answers it with an error from then on
    no-list       answers its list with no list
    no-tools      answers its list with an error
    refuse        answers the initialization with an error
    refuse-and-go does, and exits
"""

import json
import os
import signal
import sys
import time

folder = sys.argv[1]
path = folder + "/runs"
try:
    with open(folder + "/mode") as file:
        mode = file.read()
except FileNotFoundError:
    mode = "good"
write = sys.stdout.buffer.write
flush = sys.stdout.buffer.flush


def send(message: object) -> None:
    if mode == "chatty":
        write(b"Listening on port 3000...\n")
    write(json.dumps(message).encode() + b"\n")
    flush()


def answer(number: object, result: object) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": result})


def refuse(number: object, code: int, message: str) -> None:
    send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})


def tell(method: str) -> None:
    send({"jsonrpc": "2.0", "method": method})


def text(said: object) -> dict[str, object]:
    return {"content": [{"type": "text", "text": str(said)}]}


def note(name: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, name.encode() + b"\n")
    os.close(file)


def tool(name: str, **annotations: bool) -> dict[str, object]:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations}


TOOLS = [
    tool("pid", readOnlyHint=True),
    tool("echo"),
    tool("die"),
    tool("die_reading", readOnlyHint=True),
    tool("die_idempotent", idempotentHint=True),
    tool("die_once_reading", readOnlyHint=True),
    tool("die_once_idempotent", idempotentHint=True),
    tool("exit"),
    tool("stop"),
    tool("never"),
    tool("late"),
    tool("twice"),
    tool("drip"),
    tool("bad_utf8"),
    tool("huge"),
    tool("huge_late_id"),
    tool("endless_line"),
    tool("no_result"),
    tool("grow"),
]
lists = 0
late: list[object] = []


def list_tools(number: object) -> None:
    global lists
    lists += 1
    if mode == "pages":
        answer(number, {"tools": [tool(f"t{lists}")], "nextCursor": f"{lists}"})
    elif mode == "circle":
        answer(number, {"tools": [tool(f"t{lists}")], "nextCursor": "again"})
    elif mode == "no-list":
        answer(number, {"tools": {"pid": {}}})
    elif mode == "moving":
        if lists < 3:
            tell("notifications/tools/list_changed")
        answer(number, {"tools": [*TOOLS, tool(f"version_{lists}")]})
    elif mode == "no-tools" or (mode == "broken-list" and lists > 1):
        refuse(number, -32603, "the list fell over")
    else:
        answer(number, {"tools": TOOLS})


def call(number: object, name: str, arguments: dict[str, object]) -> None:
    note(name)
    if name == "pid":
        answer(number, text(os.getpid()))
    elif name == "echo":
        answer(number, text(arguments.get("said", "")))
    elif name in ("die", "die_reading", "die_idempotent"):
        os.kill(os.getpid(), signal.SIGKILL)
    elif name in ("die_once_reading", "die_once_idempotent"):
        with open(path) as file:
            ran = file.read().split().count(name)
        if ran == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        answer(number, text(f"ran {ran} times"))
    elif name == "exit":
        sys.stderr.write("fatal: the disk is full\n")
        sys.stderr.flush()
        os._exit(7)
    elif name == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
        answer(number, text("went on"))
    elif name == "late":
        late.append(number)
    elif name == "twice":
        answer(number, text("first"))
        answer(number, text("second"))
    elif name == "drip":
        for byte in json.dumps({"jsonrpc": "2.0", "id": number, "result": text("x" * 100)}).encode():
            write(bytes([byte]))
            flush()
            time.sleep(0.01)
    elif name == "bad_utf8":
        line = json.dumps({"jsonrpc": "2.0", "id": number, "result": text("a?b")}).encode()
        write(line.replace(b"?", b"\xff\xfe\xc3") + b"\n")
        flush()
    elif name == "huge":
        answer(number, text("x" * int(str(arguments["bytes"]))))
    elif name == "huge_late_id":
        write(b'{"jsonrpc": "2.0", "result": {"content": [{"type": "text", "text": "')
        write(b"x" * int(str(arguments["bytes"])))
        write(b'"}]}, "id": %s}\n' % json.dumps(number).encode())
        flush()
    elif name == "endless_line":
        for _ in range(100):
            write(b"x" * 65_536)
        flush()
    elif name == "no_result":
        send({"jsonrpc": "2.0", "id": number, "result": 5})
    elif name == "grow":
        TOOLS.append(tool("grown"))
        tell("notifications/tools/list_changed")
        answer(number, text("grown"))
    elif name != "never":
        refuse(number, -32602, f"Unknown tool: {name}")


def main() -> None:
    if mode == "exit":
        sys.stderr.write("Traceback (most recent call last):\nKeyError: 'DATABASE_URL'\n")
        sys.exit(3)
    if mode == "garbage":
        write(b"<html>not the server you look for</html>\n" * 1_500)
        flush()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if mode in ("silent", "garbage"):
            continue
        if mode.startswith("refuse") and number is not None:
            refuse(
                number, -32000, f"set \x1b[1mNOTES_TOKEN\u202e, {os.environ.get('NOTES_TOKEN')} is over\n" + "x" * 9_000
            )
            if mode == "refuse-and-go":
                os._exit(4)
        elif method == "initialize":
            capabilities = {"tools": {"listChanged": True}}
            server = {"name": "rogue", "version": "1"}
            version = params.get("protocolVersion")
            answer(number, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": server})
        elif method == "tools/list":
            list_tools(number)
        elif method == "tools/call":
            call(number, params["name"], params.get("arguments") or {})
            if mode == "broken-list":
                tell("notifications/tools/list_changed")
        elif method == "notifications/cancelled":
            for waiting in late:
                answer(waiting, text("too late"))
            late.clear()
        elif number is not None:
            refuse(number, -32601, "Method not found")


main()
