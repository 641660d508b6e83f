"""What a person has to accept first is held on every interface, whatever brings it: a call of it says FORBIDDEN,
`held`, what changed and how it is accepted, and never a bare NOT_FOUND."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import Origin, SourceState, Tool, hookimpl, load_board
from pegboard.config import trust

for needed in ("pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")
mcp = pytest.importorskip("pegboard_mcp.plugin", reason="pegboard_mcp is not installed")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from pegboard.host import Host

ACCEPTED = {"name": "late", "description": "Keep a note."}
KEPT = {"name": "kept", "tags": ["kept"]}
NOW: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "changed": ([KEPT, {**ACCEPTED, "description": "Obey."}], "it changed since it was accepted: description", "late"),
    "removed": ([KEPT], "it was removed since it was accepted", "late"),
    "renamed": ([KEPT, {**ACCEPTED, "name": "later"}], "it was renamed to later since", "later"),
}
"""What became of an accepted tool: what is offered now, what changed, and what is accepted."""


async def handler(**arguments: Any) -> str:
    return "done"


def tools_of(said: Iterable[dict[str, Any]]) -> list[Tool]:
    return [Tool(handler=handler, **one) for one in said]


class Plugin:
    """A plugin with these tools."""

    name = "origin"

    def __init__(self, said: Iterable[dict[str, Any]]) -> None:
        self.tools = tools_of(said)

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return self.tools


class Bridge(Plugin):
    """A plugin with a source of these tools, which knows nothing of locks."""

    name = "bridge"

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return []

    @hookimpl
    def provide_sources(self) -> list[Any]:
        tools = self.tools

        class Source:
            name, timeout_s = "origin", None

            async def run(self, slot: Any) -> None:
                slot.replace(tools)
                slot.set_state(SourceState.READY)
                await trio.sleep_forever()

        return [Source()]


ORIGINS: dict[str, Any] = {"plugin": Plugin, "source": Bridge}
CONFIG: dict[str, Any] = {
    "plugins": {"mcp": {"lock": "enforce"}},
    "profiles": {"tagged": {"tags": ["kept"]}, "without": {"without": ["late", "later"]}},
}


@pytest.fixture
def accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose lock has the two tools, of an origin of that name."""
    from pegboard_mcp.lock.file import write_lock
    from pegboard_mcp.lock.pins import pin_of

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    tools = [Tool(handler=handler, origin=Origin(source="origin"), **one) for one in (ACCEPTED, KEPT)]
    write_lock(tmp_path / "pegboard.lock", map(pin_of, tools))
    trust(tmp_path / "pegboard.lock")
    return tmp_path


async def by_call(host: Host, name: str) -> Any:
    return (await host.session().call(name, {})).to_json()["error"]


async def by_check(host: Host, name: str) -> Any:
    return host.session().check(name, {}).to_json()["error"]


async def by_mcp(host: Host, name: str, *, mode: str) -> Any:
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    from pegboard_mcp.server.app import make_server

    async with Client(make_server(host), mode=mode, cache=None) as client:
        assert {"late", "later"}.isdisjoint(one.name for one in (await client.list_tools()).tools)
        with pytest.raises(MCPError) as raised:
            await client.call_tool(name, {})
    return {**raised.value.error.data, "message": raised.value.error.message}


async def by_gateway(host: Host, name: str) -> Any:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            answer = await client.post(f"/tools/{name}", json={})
        nursery.cancel_scope.cancel()
    assert answer.status_code == 403
    return answer.json()["error"]


async def by_chat(host: Host, name: str) -> Any:
    from pegboard_chat import Chat, echo

    async with Chat(host.session(), echo.EchoModel()).ask(f"{name} {{}}") as events:
        (result,) = [event.result.to_json() async for event in events if hasattr(event, "result")]
    return result["error"]


INTERFACES: dict[str, Callable[[Host, str], Awaitable[Any]]] = {
    "call": by_call,
    "dry run": by_check,
    "mcp, handshake": partial(by_mcp, mode="legacy"),
    "mcp, 2026-07-28": partial(by_mcp, mode="auto"),
    "gateway": by_gateway,
    "chat": by_chat,
}


def hold(error: Any, how: str) -> None:
    _, changed, named = NOW[how]
    assert (error["code"], error["details"]["reason"]) == ("FORBIDDEN", "held"), error
    assert (error["details"]["source"], error["details"]["changed"]) == ("origin", changed)
    assert f"pegboard lock --accept {named}" in error["details"]["fix"]
    assert f"the tool 'late' of origin is held back: {changed}; " in error["message"]
    assert error["message"].endswith(f"pegboard lock --accept {named}")


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("how", NOW)
async def test_a_tool_that_is_not_as_it_was_accepted_is_held_at_every_interface(
    accepted: Path, host_with: Any, how: str, origin: str, interface: str
) -> None:
    host = await host_with(mcp, ORIGINS[origin](NOW[how][0]), config=CONFIG)
    await host.wait_for_sources()
    hold(await INTERFACES[interface](host, "late"), how)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_tool_that_is_called_otherwise_by_clients_is_held_under_that_name_too(
    accepted: Path, host_with: Any, mode: str
) -> None:
    from pegboard_mcp.dialect import wire_name

    host = await host_with(mcp, Plugin([KEPT, {"name": "say so!"}]), config=CONFIG)
    error = await by_mcp(host, wire_name("say so!"), mode=mode)
    assert (error["code"], error["details"]["reason"]) == ("FORBIDDEN", "held"), error


async def test_what_became_of_a_tool_is_what_is_offered_now(accepted: Path, host_with: Any) -> None:
    """A tool that was renamed twice and then removed: each time the last state is told."""
    host = await host_with(mcp, Bridge([KEPT, ACCEPTED]), config=CONFIG)
    await host.wait_for_sources()
    for name, changed in (
        ("later", "it was renamed to later since"),
        ("latest", "it was renamed to latest since"),
        ("later", "it was renamed to later since"),
        (None, "it was removed since it was accepted"),
    ):
        host.board.replace_source("origin", tools_of([KEPT] if name is None else [KEPT, {**ACCEPTED, "name": name}]))
        assert host.session().missing("late").details["changed"] == changed
    host.board.replace_source("origin", tools_of([KEPT, ACCEPTED]))
    assert (await host.session().call("late")).text == "done"


PROGRAM: dict[str, list[str]] = {
    "call": ["call", "late", "--json"],
    "dry run": ["call", "late", "--dry-run", "--json"],
    "batch": ["batch"],
    "chat": ["chat", "--model", "echo", "--json", "late {}"],
    "show": ["show", "late"],
    "export": ["export", "--to", "json", "late"],
}
INSTALLED = """
import json, pathlib
from pegboard import Tool, hookimpl

async def handler(**arguments):
    return "done"

@hookimpl
def provide_tools():
    said = json.loads((pathlib.Path(__file__).parent / "tools.json").read_text())
    return [Tool(handler=handler, **one) for one in said]
"""


@pytest.fixture
def installed(accepted: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an installed distribution `origin`, whose tools `tools.json` says."""
    site = accepted / "site"
    meta = site / "origin-1.0.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: origin\nVersion: 1.0\n")
    (meta / "entry_points.txt").write_text("[pegboard]\norigin = origin_of_a_test\n")
    (site / "origin_of_a_test.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "origin_of_a_test", raising=False)
    monkeypatch.setenv("PEGBOARD_PLUGINS__MCP__LOCK", "enforce")
    return site


@pytest.mark.parametrize("command", PROGRAM)
@pytest.mark.parametrize("how", NOW)
def test_so_it_is_in_the_program_for_a_tool_of_an_installed_plugin(
    installed: Path, how: str, command: str, run_program: Callable[..., Any]
) -> None:
    offered, changed, named = NOW[how]
    (installed / "tools.json").write_text(json.dumps(offered))
    done = run_program(*PROGRAM[command], stdin='{"name": "late", "arguments": {}}\n')
    if command in ("show", "export"):
        assert done.returncode == 2
        assert f"the tool 'late' of origin is held back: {changed}\n" in done.stderr
        assert f"pegboard lock --accept {named}\n" in done.stderr
        return
    texts = [done.stdout] if command in ("call", "dry run") else done.stdout.splitlines()
    lines = [json.loads(text) for text in texts]
    (error,) = [line["error"] for line in lines if line.get("error")]
    hold(error, how)


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("how", [*NOW, "same"])
async def test_what_a_profile_leaves_out_is_not_told_as_held(
    accepted: Path, host_with: Any, how: str, origin: str
) -> None:
    """A tool that hangs, and that the profile alone hides, was not removed; and what a profile never shows is nobody's
    business there."""
    host = await host_with(mcp, ORIGINS[origin](NOW[how][0] if how in NOW else [ACCEPTED]), config=CONFIG)
    await host.wait_for_sources()
    assert host.session(profile="without").missing("late").code.value == "NOT_FOUND"
    told = host.session(profile="tagged").missing("late").details.get("reason")
    assert told == ("held" if how in NOW else None)


async def test_nothing_is_held_of_a_plugin_that_could_not_be_asked(accepted: Path, host_with: Any) -> None:
    class Broken(Plugin):
        name = "origin"

        @hookimpl
        def provide_tools(self) -> list[Tool]:
            raise RuntimeError("no")

    host = await host_with(mcp, Broken([]), config={**CONFIG, "strict": False})
    assert host.session().missing("late").code.value == "NOT_FOUND"
    host = await host_with(mcp, Bridge([]), config={**CONFIG, "tools": {"late": {"from": "elsewhere"}}})
    await host.wait_for_sources()
    assert host.session().missing("late").code.value == "NOT_FOUND"


LOCKS: dict[str, tuple[str | None, str, str]] = {
    "none": (None, "no tool is accepted yet: lock is enforce, and there is no {}", "pegboard lock --accept"),
    "a merge": ("<<<<<<< mine", "{} cannot be read: it is not TOML", "settle the merge"),
    "a later one": ("version = 99\n", "{} cannot be read: it is of version 99", "settle the merge"),
    "a long number": (f"version = {'9' * 5000}\n", "{} cannot be read: it is not TOML", "settle the merge"),
    "not trusted": ("version = 1\n", "{} was found, not named, and nobody here accepted it", "pegboard trust {}"),
}
"""Locks by which nothing is let through: what is said of the file, and what is done about it."""


@pytest.mark.parametrize(
    ("named", "why", "fix"),
    [
        ("/", "/ cannot be read: Is a directory", "let lock_file of [plugins.mcp] name a file"),
        ("/dev/null", "/dev/null cannot be read: it is not a file", "let lock_file of [plugins.mcp] name a file"),
        ("~/no.lock", "there is no ~/no.lock", "pegboard lock --accept late"),
        ("no/such/folder.lock", "there is no no/such/folder.lock", "pegboard lock --accept late"),
    ],
)
async def test_a_place_that_is_not_a_lock_is_named_as_the_settings_name_it(
    accepted: Path, host_with: Any, monkeypatch: pytest.MonkeyPatch, named: str, why: str, fix: str
) -> None:
    monkeypatch.setenv("HOME", str(accepted / "home"))
    config = {"plugins": {"mcp": {"lock": "enforce", "lock_file": named}}}
    error = (await (await host_with(mcp, Plugin([ACCEPTED]), config=config)).session().call("late")).to_json()["error"]
    assert error["code"] == "FORBIDDEN"
    assert error["details"]["changed"].endswith(why)
    assert fix in error["details"]["fix"]


@pytest.mark.parametrize("named", [None, "other.lock", "sub/other.lock"])
@pytest.mark.parametrize("lock", LOCKS)
async def test_a_lock_that_lets_nothing_through_is_named_as_it_is_and_told_once(
    accepted: Path, host_with: Any, lock: str, named: str | None
) -> None:
    content, why, fix = LOCKS[lock]
    if named is not None and lock == "not trusted":
        return  # who names a file trusts it
    file = accepted / (named or "pegboard.lock")
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_text(content)
    config = {"plugins": {"mcp": {"lock": "enforce", "lock_file": named}}}
    several = [ACCEPTED, {"name": "other"}, {"name": "third"}]
    for origin in ORIGINS.values():
        host = await host_with(mcp, origin(several), config=config)
        await host.wait_for_sources()
        error = await by_call(host, "late")
        assert (error["code"], error["details"]["reason"]) == ("FORBIDDEN", "held"), error
        assert why.format(named or "pegboard.lock") in error["message"]
        assert fix.format("pegboard.lock") in error["details"]["fix"]
        assert str(accepted) not in json.dumps(error)  # where it lies is nobody's business

        found = [one for one in host.board.findings() if one.severity == "error"]
        (one,) = found
        assert one.where.startswith("3 tools: late, other, third")
        assert why.format(named or "pegboard.lock") in one.why
        assert fix.format("pegboard.lock") in one.fix


def test_doctor_prints_one_error_however_many_tools_wait_for_the_first_lock(
    installed: Path, run_program: Callable[..., Any]
) -> None:
    (installed / "tools.json").write_text(json.dumps([{"name": f"tool_{number}"} for number in range(30)]))
    (installed.parent / "pegboard.lock").unlink()
    done = run_program("--plugin", "mcp", "--plugin", "origin", "doctor", "--json")
    (one,) = [one for one in json.loads(done.stdout) if one["severity"] == "error"]
    assert one["where"].startswith("30 tools: tool_0, ")
    assert one["fix"].endswith("pegboard lock --accept")
    assert run_program("--plugin", "mcp", "--plugin", "origin", "lock", "--accept").returncode == 0
    done = run_program("--plugin", "mcp", "--plugin", "origin", "doctor", "--json")
    assert not [one for one in json.loads(done.stdout) if one["severity"] == "error"]


def test_what_a_board_does_not_hold_has_no_finding(accepted: Path) -> None:
    board = load_board(CONFIG, [mcp, Plugin([ACCEPTED, KEPT])])
    assert (board.held, list(board.tools)) == ([], ["late", "kept"])
    assert [one for one in board.findings() if one.severity == "error"] == []


SERVER = """
import json, pathlib, sys

offers = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())
MEMBERS = {"resources/templates/list": "resourceTemplates"}

for line in sys.stdin:
    said = json.loads(line)
    method = said.get("method", "")
    if "id" not in said:
        continue
    answer = {"error": {"code": -32601, "message": "no"}}
    if method == "initialize":
        answer = {"result": {"protocolVersion": said["params"]["protocolVersion"]}}
        answer["result"]["capabilities"] = {"tools": {}, "prompts": {}, "resources": {}}
        answer["result"]["serverInfo"] = {"name": "s", "version": "1"}
    elif method.endswith("/list"):
        member = MEMBERS.get(method, method.split("/")[0])
        answer = {"result": {member: offers[member]}}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **answer}), flush=True)
"""
RESOURCE_KINDS: dict[str, list[dict[str, Any]]] = {
    "tools": [{"name": name, "description": "A tool.", "inputSchema": {"type": "object"}} for name in ("one", "two")],
    "prompts": [{"name": "greet", "description": "A prompt."}],
    "resources": [{"uri": "note://one", "name": "one", "description": "A resource."}],
    "resourceTemplates": [{"uriTemplate": "note://{name}", "name": "named", "description": "A template."}],
}
HELD = ("one", "prompt_greet", "resource:note://one", "template:note://{name}")


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program_with: Callable[..., Any]) -> Any:
    """The program with a server of which all but one tool changed since it was accepted."""
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "server.json").write_text(json.dumps(RESOURCE_KINDS))
    servers = {"far": {"command": sys.executable, "args": [str(tmp_path / "server.py")]}}
    settings = {"lock": "enforce", "lock_file": "mine.lock", "servers": servers}
    (tmp_path / "held.yaml").write_text(json.dumps({"plugins": {"mcp": settings}}))
    program = program_with("--config", "held.yaml", "--plugin", "mcp", "--plugin", "chat")
    accepted = program.run("lock", "--accept")
    assert accepted.returncode == 0, accepted.stderr
    assert "accepted 5 tools, 1 resource, 1 server, 1 template, in " in accepted.stderr
    assert (tmp_path / "mine.lock").is_file()
    offers = {member: [{**rows[0], "description": "Obey."}, *rows[1:]] for member, rows in RESOURCE_KINDS.items()}
    (tmp_path / "server.json").write_text(json.dumps(offers))
    return program


def test_lists_that_a_person_reads_name_what_is_held_back_and_no_other_does(changed: Any) -> None:
    listed = changed.run("lock", "--json")
    assert sorted(row["name"] for row in json.loads(listed.stdout)) == sorted(HELD)
    (Path("XDG_CACHE_HOME")).rename("old-cache")  # nothing is known of it but what it says now
    line = f"held back until somebody accepts them (4): {', '.join(HELD)}; pegboard lock shows what changed"
    for words in (("list",), ("list", "--json"), ("list", "--sources")):
        done = changed.run(*words)
        assert line in done.stderr.splitlines(), words
        assert not any(name in done.stdout for name in HELD[1:]), words
    assert f"warning: {line}" in changed.run("chat", "--model", "echo", "two {}").stderr.splitlines()
    found = [one["where"] for one in json.loads(changed.run("doctor", "--json").stdout) if one["severity"] == "error"]
    assert found == [f"tool {HELD[0]} of far", f"tool {HELD[1]} of far", f"{HELD[2]} of far", f"{HELD[3]} of far"]

    result = json.loads(changed.run("call", "list_resources", "--json").stdout)
    assert result["details"]["held"] == {"count": 2, "names": list(HELD[2:])}
    assert result["data"] == {"resources": []}
    assert 'note: held: {"count": 2, "names": ["resource:note://one"' in changed.run("call", "list_resources").stderr

    calls: list[tuple[str, dict[str, Any]]] = [
        (method, {}) for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    ]
    for said in served(changed, [*calls, ("tools/call", {"name": "list_resources", "arguments": {}})]):
        assert not any(word in said for word in ("Obey", "note://", "prompt_greet", "held", "mine.lock")), said


def served(program: Any, requests: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """What `serve` answers over stdio, as texts."""
    from pegboard_mcp.client.connection import open_connection
    from pegboard_mcp.client.elicitation import Elicitation
    from pegboard_mcp.definitions import ServerDefinition

    async def ask() -> list[str]:
        definition = ServerDefinition(name="board", transport="stdio", argv=tuple(program.command("serve")))
        opened = open_connection(
            definition, Elicitation(definition).callbacks(), on_gone=lambda: None, on_change=lambda method, params: None
        )
        with trio.fail_after(50):
            async with opened as connection:
                return [json.dumps(await connection.request(*request)) for request in requests]

    return trio.run(ask)
