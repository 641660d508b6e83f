"""An MCP server without any SDK that does what its script says. Arguments: a folder, and the script as JSON.

The folder keeps `runs` (a line for each execution of a tool), `starts` (a line for each start, with its pid), `heard`
(every message that came) and `state` (the tools of `grow`, over restarts). The script, all of it optional:

    tools       raw tools beside the built-in ones
    page        how many tools a page has
    lists       how `tools/list` misbehaves: "endless", "repeats", "silent", "refused", "nothing", "changes", "drips"
    modern      speak protocol 2026-07-28 (else 2025-11-25, by a handshake)
    refuses     the number of the error that answers an unknown method, instead of -32601
    start       how it starts: "exits", "silent", "garbage"
    offers      capabilities beside tools: "prompts", "resources"
    listens     what becomes of `subscriptions/listen`: "stays" (default), "missing", "ends"
    log         a line for stderr at the start
    asks        `ask` asks for input (2026-07-28) in so many rounds
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

FOLDER = Path(sys.argv[1])
SCRIPT = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
MODERN = "2026-07-28"
lock = threading.Lock()
cancelled: dict[object, threading.Event] = {}
listening: list[object] = []

ANY = {"type": "object", "properties": {}}
READS, REPEATS = {"readOnlyHint": True}, {"idempotentHint": True}
BUILT_IN = {
    "add": {
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
        "annotations": READS,
        "title": "Adds",
    },
    "pid": {"annotations": READS},
    "die": {},
    "die_once": {},
    "die_once_reading": {"annotations": READS},
    "die_once_repeating": {"annotations": REPEATS},
    "die_always_reading": {"annotations": READS},
    "sleep": {"inputSchema": {"type": "object", "properties": {"s": {"type": "number"}}}, "annotations": READS},
    "hang": {},
    "stop": {},
    "steps": {},
    "answer_late": {},
    "fail": {},
    "refuse": {"inputSchema": {"type": "object", "properties": {"code": {"type": "integer"}}}},
    "grow": {},
    "grow_and_break": {},
    "update": {},
    "ask": {},
    "exit": {},
}


def note(kind: str, line: str) -> int:
    """Write a line, and tell how often it stands there now."""
    with lock, (FOLDER / kind).open("a") as file:
        file.write(line + "\n")
    return (FOLDER / kind).read_text().splitlines().count(line)


def send(message: object) -> None:
    line = message if isinstance(message, str) else json.dumps(message)
    with lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def notify(method: str, **params: object) -> None:
    if SCRIPT.get("modern"):
        for subscription in listening:
            meta = {"io.modelcontextprotocol/subscriptionId": subscription}
            send({"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": meta}})
    else:
        send({"jsonrpc": "2.0", "method": method, "params": params})


def grown() -> list[str]:
    state = FOLDER / "state"
    return state.read_text().split() if state.exists() else []


def tools() -> list[object]:
    built_in = {**BUILT_IN, **{name: {} for name in grown()}}
    made = [
        {"name": name, "description": f"Does {name}.", "inputSchema": ANY, **more} for name, more in built_in.items()
    ]
    return made + SCRIPT.get("tools", [])


class RefusalError(Exception):
    """A JSON-RPC error."""


def list_tools(params: dict[str, object]) -> dict[str, object]:
    how, every = SCRIPT.get("lists"), tools()
    cursor = int(params.get("cursor") or 0)
    if how == "silent" or (how == "breaks" and grown()):
        time.sleep(3600)
    if how == "refused" or (FOLDER / "broken").exists():
        raise RefusalError(-32603, "no list today")
    if how == "nothing":
        return {"tools": "none"}
    if how == "endless":
        return {"tools": [{**every[0], "name": f"t{cursor}"}], "nextCursor": str(cursor + 1)}
    if how == "repeats":
        return {"tools": every, "nextCursor": "1"}
    if how == "drips":
        time.sleep(0.3)
    if how == "changes" and len(grown()) < 2:
        with (FOLDER / "state").open("a") as file:
            file.write(f"grown_{len(grown())}\n")
        notify("notifications/tools/list_changed")
    page = SCRIPT.get("page", len(every))
    listed: dict[str, object] = {"tools": every[cursor : cursor + page]}
    if cursor + page < len(every):
        listed["nextCursor"] = str(cursor + page)
    return listed


def text(said: str) -> dict[str, object]:
    return {"content": [{"type": "text", "text": said}]}


def call_tool(number: object, params: dict[str, object]) -> dict[str, object]:
    name, arguments = params["name"], params.get("arguments") or {}
    meta = params.get("_meta") or {}
    count = note("runs", name)
    if name == "add":
        return text(str(arguments["a"] + arguments["b"]))
    if name == "pid":
        return text(str(os.getpid()))
    if name in ("die", "die_always_reading") or (name.startswith("die_once") and count == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "exit":
        sys.stderr.write("I have had enough\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if name == "sleep":
        time.sleep(arguments.get("s", 0.2))
    if name == "hang":
        cancelled[number].wait(60)
    if name == "answer_late":
        cancelled[number].wait(60)
        return text("too late")
    if name == "steps":
        for done in (1, 2, 3):
            notify_progress(meta, done)
    if name == "fail":
        return {**text("it went wrong"), "isError": True}
    if name == "refuse":
        raise RefusalError(arguments.get("code", -32603), "I refuse")
    if name.startswith("grow"):
        with (FOLDER / "state").open("a") as file:
            file.write(f"grown_{len(grown())}\n")
        if name == "grow_and_break":
            (FOLDER / "broken").touch()
        notify("notifications/tools/list_changed")
    if name == "update":
        notify("notifications/resources/updated", uri="note://one")
    if name == "ask":
        return ask(params)
    return text(f"{name} {count}")


def ask(params: dict[str, object]) -> dict[str, object]:
    asked = int(params.get("requestState") or 0)
    if asked >= SCRIPT.get("asks", 1):
        return text(json.dumps(params.get("inputResponses"), sort_keys=True))
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    wanted = {"method": "elicitation/create", "params": {"mode": "form", "message": "Who?", "requestedSchema": form}}
    return {"resultType": "input_required", "inputRequests": {"who": wanted}, "requestState": str(asked + 1)}


def notify_progress(meta: dict[str, object], done: int) -> None:
    params = {"progressToken": meta.get("progressToken"), "progress": done, "total": 3, "message": f"step {done}"}
    send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})


def capabilities() -> dict[str, object]:
    offered = {kind: {"listChanged": True} for kind in ("tools", *SCRIPT.get("offers", ()))}
    return {**offered, "completions": {}}


def answer(number: object, method: str, params: dict[str, object]) -> dict[str, object] | None:
    info = {"name": "scripted", "version": "1"}
    match method:
        case "server/discover" if SCRIPT.get("modern"):
            meta = {"io.modelcontextprotocol/serverInfo": info}
            return {"supportedVersions": [MODERN], "capabilities": capabilities(), "ttlMs": 0, "_meta": meta,
                    "cacheScope": "private", "resultType": "complete"}  # fmt: skip
        case "initialize" if not SCRIPT.get("modern"):
            return {"protocolVersion": "2025-11-25", "capabilities": capabilities(), "serverInfo": info}
        case "tools/list":
            return list_tools(params)
        case "tools/call":
            return call_tool(number, params)
        case "prompts/list":
            arguments = [{"name": "who", "description": "Whom to greet.", "required": True}]
            return {"prompts": [{"name": "greet", "description": "A greeting.", "arguments": arguments}]}
        case "prompts/get":
            if params["arguments"]["who"] == "silence":
                time.sleep(3600)
            said = {"type": "text", "text": f"Hello {params['arguments']['who']}"}
            return {"messages": [{"role": "user", "content": said}]}
        case "resources/list":
            if SCRIPT.get("lists") == "no resources":
                raise RefusalError(-32603, "none today")
            more = [{"uri": f"more://{number}", "name": str(number)} for number in range(SCRIPT.get("resources", 0))]
            one = {"uri": "note://one", "name": "one", "mimeType": "text/plain", "size": 3}
            return {"resources": [one, *more, {"uri": 7, "name": "odd"}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "note://{name}", "name": "note"}]}
        case "resources/read":
            if params["uri"] == "note://bytes":
                return {"contents": [{"uri": params["uri"], "blob": "AAEC", "mimeType": "application/octet-stream"}]}
            if params["uri"] == "note://latin":
                return {"contents": [{"uri": params["uri"], "blob": "6Q==", "mimeType": "text/plain"}]}
            return {"contents": [{"uri": params["uri"], "text": f"at {params['uri']}"}]}
        case "completion/complete":
            return {"completion": {"values": [params["argument"]["value"] + "!", 7]}}
        case "subscriptions/listen":
            return listen(number, params)
    raise RefusalError(SCRIPT.get("refuses", -32601), f"no {method}")


def listen(number: object, params: dict[str, object]) -> dict[str, object] | None:
    how = SCRIPT.get("listens", "stays")
    if how == "missing":
        raise RefusalError(-32601, "no subscriptions")
    meta = {"io.modelcontextprotocol/subscriptionId": number}
    acknowledged = {"_meta": meta, "notifications": params["notifications"]}
    send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": acknowledged})
    if how == "ends" and note("listens", "one") == 1:
        return {"_meta": meta}
    listening.append(number)
    return None


def serve(message: dict[str, object]) -> None:
    number = message["id"]
    cancelled[number] = threading.Event()
    try:
        result = answer(number, message["method"], message.get("params") or {})
    except RefusalError as problem:
        code, said = problem.args
        send({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": said}})
        return
    if result is not None and (message["method"] == "tools/call" or SCRIPT.get("modern")):
        result.setdefault("resultType", "complete")
    if result is not None:
        send({"jsonrpc": "2.0", "id": number, "result": result})


def main() -> None:
    note("starts", str(os.getpid()))
    if "log" in SCRIPT:
        sys.stderr.write(SCRIPT["log"] + "\n")
        sys.stderr.flush()
    how = SCRIPT.get("start")
    if how == "exits" and not (FOLDER / "repaired").exists():
        sys.exit(7)
    if how == "garbage":
        sys.stdout.write("Welcome! Press any key to continue.\n" * 3)
        sys.stdout.flush()
    for line in sys.stdin:
        if how in ("silent", "garbage"):
            continue
        note("heard", line.strip())
        message = json.loads(line)
        if "id" in message and "method" in message:
            threading.Thread(target=serve, args=(message,), daemon=True).start()
        elif message.get("method") == "notifications/cancelled":
            note("cancelled", "one")
            cancelled.setdefault(message["params"]["requestId"], threading.Event()).set()


main()
