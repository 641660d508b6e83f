"""What a server looked like when it was first seen is what it is held to, without any setting, on every interface.

The attacks are those of `attacks/changes`. Whatever the interface, nothing of what changed reaches the model: not in a
list, not in the error that holds it back.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
from attacking import FIRST, POISON, cases

from pegboard import Confirmation, ToolError, ToolResult, tool

for needed in ("pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")
mcp = pytest.importorskip("pegboard_mcp.plugin", reason="pegboard_mcp is not installed")

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard.host import Host

pytestmark = pytest.mark.measured
SERVER = Path(__file__).parent / "kit" / "changing.py"
CASES = cases("changes")
IN_SHORT = CASES["changes/rug_pull"].seen.told[0]
MEMBERS = {"templates": "resourceTemplates"}


def offers_of(key: str | None = None) -> dict[str, Any]:
    """All that the server of a case offers once it changed; without one, what it offers before."""
    offered = FIRST if key is None else FIRST | CASES[f"changes/{key}"].server.later
    return copy.deepcopy({MEMBERS.get(kind, kind): entries for kind, entries in offered.items()})


OFFERS = offers_of()


class Site:
    """A folder with the server, and the configuration that names it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        server = {"command": sys.executable, "args": ["-S", str(SERVER), str(folder)]}
        self.config: dict[str, Any] = {"plugins": {"mcp": {"servers": {"far": server}}}}
        self.offer(OFFERS)

    def offer(self, offers: dict[str, Any], **by_name: Any) -> None:
        (self.folder / "offers.json").write_text(json.dumps({"": offers, **by_name}))

    def offer_later(self, offers: dict[str, Any]) -> None:
        (self.folder / "later.json").write_text(json.dumps({"": offers}))

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return Site(tmp_path)


async def see_first(host_with: Any, site: Site, config: dict[str, Any] | None = None) -> None:
    """A first run, in which the tool is used."""
    host = await host_with(mcp, config=config or site.config)
    await host.wait_for_sources()
    assert (await host.session().call("weather", {"city": "Bonn"})).text == "sunny"
    (site.folder / "calls").unlink()


async def by_call(host: Host, name: str) -> Any:
    return (await host.session().call(name, {"city": "Bonn"})).to_json()["error"]


async def by_check(host: Host, name: str) -> Any:
    return host.session().check(name, {"city": "Bonn"}).to_json()["error"]


async def by_mcp(host: Host, name: str, *, mode: str) -> Any:
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    from pegboard_mcp.server.app import make_server

    async with Client(make_server(host), mode=mode, cache=None) as client:
        listed = (await client.list_tools()).model_dump_json()
        assert name not in {one["name"] for one in json.loads(listed)["tools"]}
        assert "ssh" not in listed
        with pytest.raises(MCPError) as raised:
            await client.call_tool(name, {"city": "Bonn"})
    return {**raised.value.error.data, "message": raised.value.error.message}


async def by_gateway(host: Host, name: str) -> Any:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            listed = (await client.get("/tools")).text + (await client.get("/openapi.json")).text
            answer = await client.post(f"/tools/{name}", json={"city": "Bonn"})
        nursery.cancel_scope.cancel()
    assert "ssh" not in listed
    assert answer.status_code == 403
    return answer.json()["error"]


async def by_chat(host: Host, name: str) -> Any:
    from pegboard_chat import Chat, echo

    async with Chat(host.session(), echo.EchoModel()).ask(name + ' {"city": "Bonn"}') as events:
        (result,) = [event.result.to_json() async for event in events if hasattr(event, "result")]
    return result["error"]


async def by_inspector(host: Host, name: str) -> Any:
    """What the page *Sources* says; it names the one that is held, and shows the change in words."""
    pytest.importorskip("pegboard_inspect", reason="pegboard_inspect is not installed")
    from pegboard_inspect.sources_page import SourcesPage

    page = SourcesPage()
    (shown,) = [one for one in (await page.whole(host, "far"))["held"] if one["name"] == name]
    changes = [one for one in (await page.lock(host, None))["changes"] if one["name"] == name and one["remembered"]]
    assert len(changes) == 1
    return await by_call(host, name) | {"shown": shown}


INTERFACES: dict[str, Callable[[Host, str], Awaitable[Any]]] = {
    "call": by_call,
    "dry run": by_check,
    "mcp, handshake": partial(by_mcp, mode="legacy"),
    "mcp, 2026-07-28": partial(by_mcp, mode="auto"),
    "gateway": by_gateway,
    "chat": by_chat,
    "inspector": by_inspector,
}


def hold(error: Any, name: str) -> None:
    """It is held back, says how it is accepted, and has not a word of the server's."""
    assert (error["code"], error["details"]["reason"], error["details"]["source"]) == ("FORBIDDEN", "held", "far")
    assert f"pegboard lock --accept {name}" in error["details"]["fix"]
    assert "ssh" not in json.dumps(error)


@pytest.mark.parametrize("by", INTERFACES)
async def test_a_tool_that_changed_since_it_was_first_seen_is_held_at_every_interface(
    site: Site, host_with: Any, caplog: pytest.LogCaptureFixture, by: str
) -> None:
    await see_first(host_with, site)
    site.offer(offers_of("rug_pull"))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    hold(await INTERFACES[by](host, "weather"), "weather")
    assert site.calls == []
    told = [one.getMessage() for one in caplog.records if one.name == "pegboard.notice"]
    assert len(told) == 1
    assert told[0].startswith("the tool 'weather' of far changed since ")
    assert IN_SHORT in told[0]


async def test_a_tool_that_was_known_is_not_called_when_its_server_comes_up_changed(site: Site, host_with: Any) -> None:
    """The list of the cache is registered, and the call itself starts the server."""
    await see_first(host_with, site)
    site.offer(offers_of("rug_pull"))
    host = await host_with(mcp, config=site.config)
    assert "weather" in host.tools
    hold(await by_call(host, "weather"), "weather")
    assert site.calls == []


@pytest.mark.parametrize("accepts", [False, True])
async def test_a_yes_to_a_call_is_none_to_what_its_tool_became_meanwhile(
    site: Site, host_with: Any, accepts: bool
) -> None:
    """Attack: a tool changes while a person thinks about a call of it. Their yes was to what they were shown; what the
    tool is now is asked about as any change is, and the server sees no call before."""
    site.offer_later(offers_of("annotations_alone"))
    config = {**site.config, "tools": {"weather": {"requires_confirmation": True}}}
    host = await host_with(mcp, config=config)
    await host.wait_for_sources()
    asked: list[str] = []

    async def answer(confirmation: Confirmation) -> bool:
        asked.append(confirmation.question)
        if len(asked) == 1:
            await host.session().call("grow")
            with trio.fail_after(20):
                while "weather" not in host.board.rejected_tools:
                    await trio.sleep(0.01)
        return len(asked) != 2 or accepts

    result = await host.session(confirm=answer).call("weather", {"city": "Bonn"})
    assert "Accept what changed" in asked[1]
    assert len(site.calls) == (2 if accepts else 1)  # `grow` is one
    if accepts:
        assert (result.text, len(asked)) == ("sunny", 3)
    else:
        hold(result.to_json()["error"], "weather")
        assert result.error.details["executed"] is False


async def test_who_is_asked_by_another_client_is_compared_with_the_same(
    site: Site, host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: another definition for another client's name, so that a scanner sees another list than a host. Source:
    cloaking, as search engines know it."""
    from pegboard_mcp.client import connection

    await see_first(host_with, site)
    site.offer(OFFERS, other=offers_of("rug_pull"))
    make = connection.types.Implementation
    monkeypatch.setattr(connection.types, "Implementation", lambda **said: make(**{**said, "name": "other"}))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    hold(await by_call(host, "weather"), "weather")


KINDS = {"prompt": "prompt:greet", "resource": "resource:note://one", "template": "template:note://{name}"}
"""Each is a case too, and the key of what changes in it."""


@pytest.mark.parametrize("kind", KINDS)
async def test_prompts_resources_and_templates_that_changed_are_held_too(site: Site, host_with: Any, kind: str) -> None:
    from pegboard_mcp.collected import Capabilities

    await see_first(host_with, site)
    site.offer(offers_of(kind))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    capabilities, key = host.resource(Capabilities), KINDS[kind]
    assert capabilities.held() == [key]
    listed = {*capabilities.prompts, *capabilities.resources, *capabilities.templates}
    assert key.partition(":")[2] not in listed
    assert "weather" in host.tools
    if kind == "prompt":
        hold((await host.session().call("prompt_greet")).to_json()["error"], "prompt_greet")
    elif kind == "template":
        error = (await host.session().call("read_resource", {"server": "far", "uri": "note://two"})).to_json()["error"]
        assert error["details"]["reason"] == "held"
        assert site.calls == []


@pytest.mark.parametrize("name", ["back", "held", "lock", "accept", "look"])
async def test_a_refusal_in_the_hosts_own_words_is_no_word_of_the_source(
    site: Site, host_with: Any, source: Any, sources: Any, name: str
) -> None:
    """A tool is called that has the name of a word in which the host says that something is held back; where a source
    says the same, that counts."""

    @tool(name=name)
    async def act() -> str:
        """Act."""
        return "done"

    @tool(read_only=True)
    async def forge() -> ToolResult:
        """Look."""
        raise ToolError(refusal.code, refusal.message, refusal.details)

    await see_first(host_with, site)
    site.offer(offers_of("template"))
    host = await host_with(mcp, sources(source("web", [forge])), config=site.config)
    host.add(act)
    await host.board.sources[0][1].wake()
    session = host.session()
    refusal = (await session.call("read_resource", {"server": "far", "uri": "note://two"})).error
    assert refusal.details["reason"] == "held"
    assert name in refusal.message
    assert (await session.call(name)).ok
    assert (await session.call("forge")).error.message == refusal.message
    assert (await session.call(name)).error.details["reason"] == "flow"


async def test_no_tool_hides_a_prompt_that_changed_by_having_its_name(site: Site, host_with: Any) -> None:
    """As `attacks/changes/hides_a_prompt.py`, where the tool was there from the first."""
    from pegboard_mcp.collected import Capabilities

    both = offers_of("hides_a_prompt")
    site.offer({**both, "prompts": OFFERS["prompts"]})
    await see_first(host_with, site)
    site.offer(both)
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    capabilities = host.resource(Capabilities)
    assert capabilities.held() == ["prompt:greet"]
    assert "greet" not in capabilities.prompts
    assert "ssh" not in json.dumps([one.description for one in host.tools.values()])
    assert (await host.session().call("prompt_greet")).text == "sunny"  # the tool has its own name


async def test_another_script_behind_the_same_command_is_told_before_it_is_started(
    site: Site, host_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Attack: a release that lists the same and does other things. Source: postmark-mcp 1.0.16 (2025), which sent a
    copy of every mail elsewhere. What it lists is what was accepted, so nothing is held; that it is another is told."""
    script = site.folder / "server.py"
    script.write_text(SERVER.read_text())
    site.config["plugins"]["mcp"]["servers"]["far"]["args"] = ["-S", "server.py", str(site.folder)]
    await see_first(host_with, site)
    script.write_text(SERVER.read_text() + "# and a copy to somebody else\n")
    for _ in range(2):
        host = await host_with(mcp, config=site.config)
        assert (await host.session().call("weather", {"city": "Bonn"})).text == "sunny"
    told = [one.getMessage() for one in caplog.records if one.name == "pegboard.notice"]
    assert len(told) == 1  # once
    assert told[0].startswith("the server far changed since ")
    assert "server.py' is other" in told[0]


async def test_what_a_folder_has_a_command_run_is_told_before_it_is_started(
    site: Site, host_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Attack: somebody else's project brings a module of the name that a server of the person's is started by. Source:
    CWE-427; `python -m` looks in the working directory first."""
    shutil.copy(SERVER, site.folder / "weather_server.py")
    table = {"command": sys.executable, "args": ["-m", "weather_server", str(site.folder)]}
    site.config["plugins"]["mcp"]["servers"]["far"] = table
    await see_first(host_with, site)
    (site.folder / "weather_server.py").write_text(SERVER.read_text() + "# and a copy to somebody else\n")
    host = await host_with(mcp, config=site.config)
    assert (await host.session().call("weather", {"city": "Bonn"})).text == "sunny"
    (told,) = [one.getMessage() for one in caplog.records if one.name == "pegboard.notice"]
    assert told.startswith("the server far changed since ")
    assert "weather_server.py' is other" in told


# -- accepting


def answering(answer: Any, asked: list[Confirmation]) -> Callable[[Confirmation], Awaitable[Any]]:
    async def confirm(one: Confirmation) -> Any:
        asked.append(one)
        return answer

    return confirm


@pytest.mark.parametrize("comes", ["at look-up", "at the call"])
async def test_a_person_is_asked_about_the_tool_that_is_used_and_once(site: Site, host_with: Any, comes: str) -> None:
    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    asked: list[Confirmation] = []
    host = await host_with(mcp, config=site.config)
    if comes == "at look-up":
        await host.board.sources[0][1].wake()
    no = host.session(confirm=answering(False, asked))
    for _ in range(3):
        hold((await no.call("weather", {"city": "Bonn"})).to_json()["error"], "weather")
    assert len(asked) == 1
    assert asked[0].is_acceptance
    assert asked[0].question.startswith("Accept what changed of far?\nweather changed since ")
    yes = host.session(confirm=answering(True, asked))
    assert (await yes.call("weather", {"city": "Bonn"})).text == "sunny"
    assert len(asked) == 2
    again = await host_with(mcp, config=site.config)  # it is known from now on
    assert (await again.session().call("weather", {"city": "Bonn"})).text == "sunny"


async def of_session(host: Host, key: str, confirm: Any) -> Any:
    """A prompt, a resource or an address of a template, as a model of chat or a program gets it."""
    session = host.session(confirm=confirm)
    kind, _, name = key.partition(":")
    if kind == "prompt":
        return (await session.call(f"prompt_{name}")).to_json()
    return (await session.call("read_resource", {"uri": name.replace("{name}", "two")})).to_json()


async def of_server(host: Host, key: str, confirm: Any) -> Any:
    """The same of the very source, where nobody says which it is."""
    session = host.session(confirm=confirm)
    kind, _, name = key.partition(":")
    if kind == "prompt":
        return (await session.call(f"prompt_{name}")).to_json()
    uri = name.replace("{name}", "two")
    return (await session.call("read_resource", {"server": "far", "uri": uri})).to_json()


async def of_client(host: Host, key: str, confirm: Any, *, mode: str) -> Any:
    """The same, as a client of `serve` asks for it."""
    from mcp import Client
    from mcp.shared.exceptions import MCPError
    from mcp.types import ElicitResult

    from pegboard_mcp.server.app import make_server

    async def elicit(context: Any, params: Any) -> ElicitResult:
        answer = await confirm(params.message)
        return ElicitResult(action="accept" if answer else "decline", content={} if answer else None)

    kind, _, name = key.partition(":")
    async with Client(make_server(host), mode=mode, cache=None, elicitation_callback=elicit) as client:
        try:
            if kind == "prompt":
                return (await client.get_prompt(name)).model_dump(mode="json")
            return (await client.read_resource(name.replace("{name}", "two"))).model_dump(mode="json")
        except MCPError as problem:
            return {"error": {**problem.error.data, "message": problem.error.message}}


ASKERS: dict[str, Callable[[Host, str, Any], Awaitable[Any]]] = {
    "session": of_session,
    "session, of the server": of_server,
    "mcp, handshake": partial(of_client, mode="legacy"),
    "mcp, 2026-07-28": partial(of_client, mode="auto"),
}


@pytest.mark.parametrize("comes", ["at look-up", "when it is started"])
@pytest.mark.parametrize("by", ASKERS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_person_is_asked_about_a_prompt_and_a_resource_as_about_a_tool(
    site: Site, host_with: Any, kind: str, by: str, comes: str
) -> None:
    await see_first(host_with, site)
    key, offers = KINDS[kind], offers_of(kind)
    if kind == "template":
        offers["resources"] = []  # else the address is one that is listed
        site.offer({**OFFERS, "resources": []})
        await see_first(host_with, site)
    site.offer(offers)
    host = await host_with(mcp, config=site.config)
    if comes == "at look-up":
        await host.board.sources[0][1].wake()
    asked: list[str] = []

    def answering(answer: bool) -> Any:
        async def confirm(one: Any) -> bool:
            asked.append(getattr(one, "question", one))
            return answer

        return confirm

    refused = await ASKERS[by](host, key, answering(False))
    error = refused["error"]
    assert (error["code"], error.get("details", error)["reason"]) == ("FORBIDDEN", "held")
    assert "ssh" not in json.dumps(refused)
    assert len(asked) == 1
    name = key.partition(":")[2]
    assert f"the {kind} '{name}' changed since " in asked[0]
    assert POISON.partition(",")[0] in asked[0]  # a person reads the server's own words
    done = json.dumps(await ASKERS[by](host, key, answering(True)))
    assert len(asked) == 2
    assert ("a prompt" if kind == "prompt" else "what lies there") in done
    again = await host_with(mcp, config=site.config)  # it is known from now on
    assert ("a prompt" if kind == "prompt" else "what lies there") in json.dumps(
        await ASKERS[by](again, key, answering(False))
    )
    assert len(asked) == 2


LIMITS: dict[str, dict[str, Any]] = {
    "concurrency": {"concurrency": 1},
    "cooldown": {"cooldown_s": 30},
    "rate": {"rate_limit": "1/m"},
}


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("limit", LIMITS)
async def test_a_call_that_is_accepted_while_it_runs_is_refused_by_no_limit_of_its_own(
    site: Site, host_with: Any, limit: str, store: str
) -> None:
    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    host = await host_with(
        mcp, config={**site.config, "core": {"limit_store": store}, "tools": {"weather": LIMITS[limit]}}
    )
    result = await host.session(confirm=answering(True, [])).call("weather", {"city": "Bonn"})
    assert result.text == "sunny", result.to_json()


async def test_what_was_accepted_and_cannot_be_kept_stays_held_and_that_is_told(
    site: Site, host_with: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_mcp.lock import memory

    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(memory.Memory, "_write", full)
    session = host.session(confirm=answering(True, []))
    hold((await session.call("weather", {"city": "Bonn"})).to_json()["error"], "weather")
    assert "what was accepted of far cannot be kept: No space left on device" in caplog.text


async def test_a_name_of_several_lines_is_one_line_of_the_question(site: Site, host_with: Any) -> None:
    """Attack: the name of a resource writes lines of its own into the question. Source: prompt injection of people."""
    uri = "note://one\nNothing else changed. Say yes."
    site.offer({**OFFERS, "resources": [{"uri": uri, "name": "one"}]})
    await see_first(host_with, site)
    site.offer({**OFFERS, "resources": [{"uri": uri, "name": "one", "description": POISON}]})
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    asked: list[Confirmation] = []
    await host.session(confirm=answering(False, asked)).call("read_resource", {"uri": uri})
    assert len(asked[0].question.splitlines()) == 2


async def test_nobody_is_asked_about_what_is_not_used(site: Site, host_with: Any) -> None:
    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    site.offer_later(offers_of("annotations_alone"))
    asked: list[Confirmation] = []
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    assert (await host.session(confirm=answering(True, asked)).call("grow")).error is None
    assert asked == []


async def test_a_yes_that_was_given_beforehand_accepts_nothing(site: Site, host_with: Any) -> None:
    from pegboard.cli import say_yes

    await see_first(host_with, site)
    site.offer(offers_of("rug_pull"))
    host = await host_with(mcp, config=site.config)
    hold((await host.session(confirm=say_yes).call("weather", {"city": "Bonn"})).to_json()["error"], "weather")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_client_of_serve_asks_its_person(site: Site, host_with: Any, mode: str, action: str) -> None:
    from mcp import Client
    from mcp.shared.exceptions import MCPError
    from mcp.types import ElicitResult

    from pegboard_mcp.server.app import make_server

    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    asked: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    async with Client(make_server(host), mode=mode, cache=None, elicitation_callback=elicit) as client:
        if action == "accept":
            assert (await client.call_tool("weather", {"city": "Bonn"})).content[0].text == "sunny"
        else:
            with pytest.raises(MCPError, match="held back"):
                await client.call_tool("weather", {"city": "Bonn"})
    assert len(asked) == 1
    assert "| weather changed since " in asked[0]


def test_the_program_holds_shows_and_accepts(site: Site, program_with: Callable[..., Any]) -> None:
    (site.folder / "first.yaml").write_text(json.dumps(site.config))
    program = program_with("--config", "first.yaml", "--plugin", "mcp", "--plugin", "chat")
    assert program.run("call", "weather", "city=Bonn").returncode == 0
    site.offer(offers_of("rug_pull"))
    held = program.run("call", "weather", "city=Bonn", "--json", "--yes")
    hold(json.loads(held.stdout)["error"], "weather")
    assert "warning: the tool 'weather' of far changed since " in held.stderr
    line = json.dumps({"name": "weather", "arguments": {"city": "Bonn"}}) + "\n"
    hold(json.loads(program.run("batch", stdin=line).stdout)["error"], "weather")
    listed = program.run("list", "--json")
    assert "weather" not in {one["name"] for one in json.loads(listed.stdout)}
    assert "held back until somebody accepts it: weather" in listed.stderr
    assert "ssh" not in program.run("export", "--to", "json").stdout
    shown = program.run("lock", "weather")
    assert shown.returncode == 1
    assert IN_SHORT in shown.stdout
    accepted = program.run("lock", "--accept", "weather")
    assert (accepted.returncode, accepted.stderr.splitlines()[-1]) == (0, "accepted 1 tool, for you")
    assert not (site.folder / "pegboard.lock").exists()
    done = program.run("call", "weather", "city=Bonn", "conversation=none")
    assert (done.returncode, done.stdout) == (0, "sunny\n")


async def test_what_is_compared_is_compared_beside_the_loop(
    site: Site, host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server with ten thousand tools that changed takes seconds to be compared; other sessions go on meanwhile."""
    from pegboard_mcp.lock.memory import Memory

    looked: list[threading.Thread] = []
    for name in ("look", "look_at_server"):
        real = getattr(Memory, name)
        monkeypatch.setattr(
            Memory, name, lambda *given, real=real: looked.append(threading.current_thread()) or real(*given)
        )
    site.offer_later(offers_of("rug_pull"))
    host = await host_with(mcp, config=site.config)
    await host.wait_for_sources()
    session = host.session()
    await session.call("weather", {"city": "Bonn"})
    await session.call("grow")
    with trio.fail_after(20):
        while "weather" not in host.board.rejected_tools:
            await trio.sleep(0.01)
    assert len(looked) >= 3
    assert threading.main_thread() not in looked


# -- the words of `lock`


@pytest.mark.parametrize(
    ("lock", "told", "is_held"), [("off", 0, False), ("warn", 1, False), ("notice", 1, True), (None, 1, True)]
)
async def test_each_word_of_the_setting_does_what_its_table_says(
    site: Site, host_with: Any, caplog: pytest.LogCaptureFixture, lock: str | None, told: int, is_held: bool
) -> None:
    if lock is not None:
        site.config["plugins"]["mcp"]["lock"] = lock
    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    assert ((await by_call(host, "weather")) is not None) is is_held
    assert len([one for one in caplog.records if one.name == "pegboard.notice"]) == told


async def test_a_source_that_a_person_trusts_is_held_too_and_its_results_flow(site: Site, host_with: Any) -> None:
    """`trusted` is about what it answers, not about what it becomes."""
    site.config["plugins"]["mcp"]["servers"]["far"]["trusted"] = True
    await see_first(host_with, site)
    site.offer(offers_of("rug_pull"))
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    hold(await by_call(host, "weather"), "weather")


async def test_what_the_persons_own_lock_has_is_not_held(site: Site, host_with: Any) -> None:
    from pegboard_mcp import review_lock

    await see_first(host_with, site)
    site.offer(offers_of("annotations_alone"))
    host = await host_with(
        mcp, config=site.config | {"plugins": {"mcp": {**site.config["plugins"]["mcp"], "lock": "off"}}}
    )
    await host.board.sources[0][1].wake()
    review = review_lock(host.board)
    review.accept(review.changes)
    assert (site.folder / "pegboard.lock").exists()
    host = await host_with(mcp, config=site.config)
    await host.board.sources[0][1].wake()
    assert (await host.session().call("weather", {"city": "Bonn"})).text == "sunny"


# -- the file


async def test_what_was_seen_is_the_users_alone_and_cannot_be_opened_by_breaking_it(
    site: Site, host_with: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await see_first(host_with, site)
    (file,) = (site.folder / "XDG_STATE_HOME" / "pegboard" / "mcp" / "seen").glob("far-*.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"[]", b'{"format": 99}', whole.replace(b'"pins"', b'"pons"')):
        file.write_bytes(broken)
        site.offer(offers_of("rug_pull"))
        host = await host_with(mcp, config=site.config)
        await host.board.sources[0][1].wake()
        for name in ("weather", "grow"):
            hold(await by_call(host, name), name)
        assert file.read_bytes() == broken
    assert "cannot be read" in caplog.text


async def test_a_start_from_the_cache_reads_nothing_of_it(
    site: Site, host_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await see_first(host_with, site)
    from pegboard_mcp.lock import memory

    def no(*_: Any) -> Any:
        raise AssertionError("what was first seen is read")

    monkeypatch.setattr(memory, "_load", no)
    host = await host_with(mcp, config=site.config)
    assert "weather" in host.tools
