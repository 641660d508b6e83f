"""An MCP server without any SDK, whose definitions lie in a folder: `offers.json`, by the name of who asks, else under
`""`. It notes every call in `calls`, and says that its lists changed when `grow` is called."""

from __future__ import annotations

import json
import pathlib
import sys

HERE = pathlib.Path(sys.argv[1])
MEMBERS = {"resources/templates/list": "resourceTemplates"}
PAGE = 3
asker = ""


def send(message: object) -> None:
    print(json.dumps(message), flush=True)


def answer(method: str, params: dict[str, object]) -> dict[str, object]:
    global asker
    offers = json.loads((HERE / "offers.json").read_text())
    if method == "initialize":
        asker = params["clientInfo"]["name"]
        capabilities = {kind: {"listChanged": True} for kind in ("tools", "prompts", "resources")}
        about = {"name": "weather-server", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": about}
    if method.endswith("/list"):
        member = MEMBERS.get(method, method.split("/")[0])
        items, at = offers.get(asker, offers[""]).get(member, []), int(params.get("cursor") or 0)
        more = {"nextCursor": str(at + PAGE)} if at + PAGE < len(items) else {}
        return {member: items[at : at + PAGE], **more}
    with (HERE / "calls").open("a") as file:
        file.write(f"{method} {json.dumps(params)}\n")
    if method == "tools/call" and params["name"] == "grow":
        (HERE / "offers.json").write_text((HERE / "later.json").read_text())
        for kind in ("tools", "prompts", "resources"):
            send({"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"})
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "what lies there"}]}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "a prompt"}}]}
    return {"content": [{"type": "text", "text": "sunny"}]}


for line in sys.stdin:
    said = json.loads(line)
    if "id" not in said:
        continue
    known = said["method"] == "initialize" or said["method"].partition("/")[0] in ("tools", "prompts", "resources")
    what = (
        {"result": answer(said["method"], said.get("params") or {})}
        if known
        else {"error": {"code": -32601, "message": "no"}}
    )
    send({"jsonrpc": "2.0", "id": said["id"], **what})
