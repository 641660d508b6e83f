"""What each word of `lock` lets a model or a client read of a server that changed, as its table in
docs/how-to/use-mcp-servers.md has it: every member of every definition, page by page, through every interface, before
a start and while a conversation runs.

Each member of `LATER` says where it stands; whatever an interface shows is looked through for that.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

for needed in ("pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")
mcp = pytest.importorskip("pegboard_mcp.plugin", reason="pegboard_mcp is not installed")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard import Session
    from pegboard.host import Host

pytestmark = pytest.mark.measured
SERVER = Path(__file__).parent / "kit" / "changing.py"
CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "Its name."}}}


def mark(what: str) -> str:
    return f"MARK {what} KRAM"


def icons(what: str) -> list[dict[str, Any]]:
    return [{"src": f"https://example.org/{mark(what).replace(' ', '%20')}.png"}]


def city(**more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"city": {"type": "string", "description": "Its name.", **more}}}


MEMBERS: dict[str, dict[str, dict[str, Any]]] = {
    "tools": {
        "tool-text": {"description": mark("tool-text")},
        "tool-title": {"title": mark("tool-title")},
        "tool-argument": {"inputSchema": city(description=mark("tool-argument"))},
        "tool-default": {"inputSchema": city(default=mark("tool-default"))},
        "tool-unknown": {"inputSchema": {**CITY, "x-note": mark("tool-unknown")}},
        "tool-result": {"outputSchema": city(description=mark("tool-result"))},
        "tool-heading": {"annotations": {"title": mark("tool-heading")}},
        "tool-icon": {"icons": icons("tool-icon")},
        "tool-meta": {"_meta": {"x": mark("tool-meta")}},
        "tool-execution": {"execution": {"taskSupport": "optional", "x": mark("tool-execution")}},
    },
    "prompts": {
        "prompt-text": {"description": mark("prompt-text")},
        "prompt-title": {"title": mark("prompt-title")},
        "prompt-argument": {"arguments": [{"name": "a", "description": mark("prompt-argument")}]},
        "prompt-icon": {"icons": icons("prompt-icon")},
        "prompt-meta": {"_meta": {"x": mark("prompt-meta")}},
    },
    "resources": {
        "resource-text": {"description": mark("resource-text")},
        "resource-title": {"title": mark("resource-title")},
        "resource-name": {"name": mark("resource-name")},
        "resource-type": {"mimeType": mark("resource-type")},
        "resource-icon": {"icons": icons("resource-icon")},
        "resource-meta": {"_meta": {"x": mark("resource-meta")}},
    },
    "resourceTemplates": {
        "template-text": {"description": mark("template-text")},
        "template-title": {"title": mark("template-title")},
        "template-name": {"name": mark("template-name")},
        "template-icon": {"icons": icons("template-icon")},
        "template-type": {"mimeType": mark("template-type")},
    },
}
NEW: dict[str, dict[str, Any]] = {
    "tools": {"name": "tool-new", "description": mark("tool-new"), "inputSchema": CITY},
    "prompts": {"name": "prompt-new", "description": mark("prompt-new")},
    "resources": {"uri": "note://resource-new", "name": "resource-new", "description": mark("resource-new")},
    "resourceTemplates": {
        "uriTemplate": "template-new://{a}", "name": "template-new", "description": mark("template-new")
    },
}  # fmt: skip
PLAIN: dict[str, Callable[[str], dict[str, Any]]] = {
    "tools": lambda name: {"name": name, "description": "Tell it.", "inputSchema": CITY},
    "prompts": lambda name: {"name": name, "description": "Greet."},
    "resources": lambda name: {"uri": f"note://{name}", "name": name, "description": "A note."},
    "resourceTemplates": lambda name: {"uriTemplate": f"{name}://{{a}}", "name": name, "description": "Notes."},
}
GROW = {"name": "grow", "description": "Have more.", "inputSchema": {"type": "object"}}
FIRST: dict[str, Any] = {kind: [PLAIN[kind](name) for name in members] for kind, members in MEMBERS.items()}
FIRST["tools"].append(GROW)
LATER: dict[str, Any] = copy.deepcopy(FIRST)
for kind, members in MEMBERS.items():
    for place, changed in enumerate(members.values()):
        LATER[kind][place] |= changed
    LATER[kind].append(NEW[kind])
URIS = [one["uri"] for one in LATER["resources"]] + [
    one["uriTemplate"].replace("{a}", "a") for one in LATER["resourceTemplates"]
]
CALLS: list[tuple[str, dict[str, Any]]] = [
    *((one["name"], {"city": "Bonn"}) for one in LATER["tools"] if one is not GROW and one["name"] != "grow"),
    *((f"prompt_{one['name']}", {}) for one in LATER["prompts"]),
    *(("read_resource", {"uri": uri}) for uri in URIS),
    ("list_resources", {}),
]


def marks(shown: str) -> set[str]:
    """Which members stand there."""
    return set(re.findall(r"MARK(?: |%20)([a-z-]+)(?: |%20)KRAM", shown))


async def by_python(session: Session) -> str:
    listed = [one.public_definition for one in session.tools.values()]
    answers = [(await session.call(name, arguments)).to_json() for name, arguments in CALLS]
    checked = [session.check(name, arguments).to_json() for name, arguments in CALLS]
    return json.dumps([listed, answers, checked], default=str)


async def by_chat(session: Session) -> str:
    from pegboard_chat import Chat, echo

    shown: list[Any] = []

    class Model(echo.EchoModel):
        def respond(self, request: Any) -> Any:
            shown.append([one.public_definition for one in request.export.tools])
            return super().respond(request)

    chat = Chat(session, Model())
    for name, arguments in CALLS:
        async with chat.ask(f"{name} {json.dumps(arguments)}") as events:
            shown += [event.result.to_json() async for event in events if hasattr(event, "result")]
    return json.dumps(shown, default=str)


async def by_mcp(session: Session, *, mode: str) -> str:
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    from pegboard_mcp.server.app import make_server

    shown: list[str] = []

    async def ask(asked: Awaitable[Any]) -> None:
        try:
            shown.append((await asked).model_dump_json())
        except MCPError as refused:
            shown.append(json.dumps([refused.error.message, refused.error.data]))

    async with Client(make_server(session.host), mode=mode, cache=None) as client:
        for lists in (
            client.list_tools, client.list_prompts, client.list_resources, client.list_resource_templates
        ):  # fmt: skip
            await ask(lists())
        for name, arguments in CALLS:
            await ask(client.call_tool(name, arguments))
        for one in LATER["prompts"]:
            await ask(client.get_prompt(one["name"]))
        for uri in URIS:
            await ask(client.read_resource(uri))
    return "".join(shown)


async def by_gateway(session: Session) -> str:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, session.host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            shown = [(await client.get(path)).text for path in ("/tools", "/openapi.json")]
            shown += [(await client.post(f"/tools/{name}", json=arguments)).text for name, arguments in CALLS]
        nursery.cancel_scope.cancel()
    return "".join(shown)


INTERFACES: dict[str, Callable[[Session], Awaitable[str]]] = {
    "python": by_python,
    "chat": by_chat,
    "mcp, handshake": partial(by_mcp, mode="legacy"),
    "mcp, 2026-07-28": partial(by_mcp, mode="auto"),
    "gateway": by_gateway,
}
NEWS = {f"{kind}-new" for kind in ("tool", "prompt", "resource", "template")}
MAY_SHOW: dict[str, set[str] | None] = {"off": None, "warn": None, "notice": NEWS, "enforce": set()}
"""What of the changed server may be read before a person accepted it; None: all of it."""
ALWAYS = {"tool-text", "tool-argument", "tool-new"}
"""What every interface shows of tools that nobody holds back."""


class Site:
    """A folder with the server, and the configuration that names it."""

    def __init__(self, folder: Path, lock: str) -> None:
        self.folder = folder
        server = {"command": sys.executable, "args": ["-S", str(SERVER), str(folder)]}
        self.config: dict[str, Any] = {"plugins": {"mcp": {"servers": {"far": server}, "lock": lock}}}
        self.offer(FIRST)
        (folder / "later.json").write_text(json.dumps({"": LATER}))

    def offer(self, offers: dict[str, Any]) -> None:
        (self.folder / "offers.json").write_text(json.dumps({"": offers}))


@pytest.fixture(params=MAY_SHOW)
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return Site(tmp_path, request.param)


async def see_first(host_with: Any, site: Site) -> None:
    from pegboard_mcp import review_lock

    host: Host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    if site.config["plugins"]["mcp"]["lock"] == "enforce":
        review = review_lock(host.board)
        review.accept(review.changes)


def hold(site: Site, shown: str) -> None:
    may_show = MAY_SHOW[site.config["plugins"]["mcp"]["lock"]]
    if may_show is None:
        assert marks(shown) >= ALWAYS
    else:
        assert marks(shown) <= may_show


@pytest.mark.parametrize("by", INTERFACES)
async def test_of_a_server_that_changed_before_a_start_is_shown_what_the_lock_lets(
    site: Site, host_with: Any, by: str
) -> None:
    await see_first(host_with, site)
    site.offer(LATER)
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    hold(site, await INTERFACES[by](host.session()))


@pytest.mark.parametrize("by", INTERFACES)
async def test_of_a_server_that_changes_in_a_conversation_is_shown_what_the_lock_lets(
    site: Site, host_with: Any, by: str
) -> None:
    await see_first(host_with, site)
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    session = host.session()
    before = await INTERFACES[by](session)
    assert not marks(before)
    assert (await session.call("grow")).ok
    known = {**host.board.rejected_tools, **host.tools}
    with trio.fail_after(20):
        while "tool-new" not in known:
            await trio.sleep(0.01)
            known = {**host.board.rejected_tools, **host.tools}
    hold(site, await INTERFACES[by](session))
