"""A board with a source that nobody trusts, every interface to it, and the interpreter that has AgentDojo."""

from __future__ import annotations

import json
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import SourceState, hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from pegboard import Confirmation, Session, SourceSlot, Tool
    from pegboard.host import Host

    Calls = list[tuple[str, dict[str, Any]]]


class Source:
    """A source of tools that are known at once; `trusted` is there only where it is given."""

    timeout_s = None

    def __init__(self, name: str, tools: Iterable[Tool], **marks: Any) -> None:
        self.name, self.tools = name, list(tools)
        self.__dict__.update(marks)

    def known(self) -> list[Tool]:
        return self.tools

    async def run(self, slot: SourceSlot) -> None:
        slot.set_state(SourceState.READY)
        await trio.sleep_forever()


class Sources:
    """A plugin that brings sources, and tools of its own."""

    def __init__(self, *sources: Source, tools: Iterable[Tool] = (), name: str = "web") -> None:
        self.sources, self.tools, self.name = sources, list(tools), name

    @hookimpl
    def provide_sources(self) -> list[Source]:
        return list(self.sources)

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return self.tools


@pytest.fixture(scope="session")
def source() -> Callable[..., Source]:
    return Source


@pytest.fixture(scope="session")
def sources() -> Callable[..., Sources]:
    return Sources


@pytest.fixture(scope="session")
def person() -> Callable[[str], Person]:
    """`person(model_says)`: somebody to ask, and what their model answers a server that asks it."""
    return Person


@pytest.fixture(scope="session")
def dojo_python(peers: Any) -> Path:
    """An interpreter with AgentDojo; where it cannot be installed, a skip that says why."""
    venv: Path = peers.venv("agentdojo", "agentdojo==0.1.35")
    return venv / "bin" / "python"


# -- every interface: calls of one session, and their answers as JSON; `person` is who is asked there, where somebody is


class Person:
    """Who says yes to all but to words of others, and to a model's question of a server."""

    def __init__(self, model_says: str) -> None:
        self.questions, self.model_says = list[str](), model_says

    def agrees(self, question: str) -> bool:
        self.questions.append(question)
        return "text that came from" not in question

    async def __call__(self, asked: Confirmation) -> Any:
        said_yes = self.agrees(asked.question)
        return dict.fromkeys(asked.schema["properties"], "yes") if asked.schema and said_yes else said_yes

    async def answer_model(self, request: Any) -> dict[str, Any]:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": self.model_says}}

    async def elicit(self, context: Any, asked: Any) -> Any:
        from mcp.types import ElicitResult

        said_yes, form = self.agrees(asked.message), getattr(asked, "requested_schema", None) or {}
        content = dict.fromkeys(form.get("properties", {}), "yes")
        return ElicitResult(action="accept", content=content) if said_yes else ElicitResult(action="decline")

    async def sample(self, context: Any, asked: Any) -> Any:
        from mcp.types import CreateMessageResult

        return CreateMessageResult.model_validate(await self.answer_model(asked))


def session_of(host: Host, person: Person | None) -> Session:
    session = host.session(confirm=person)
    session.sampler = person and person.answer_model
    return session


async def through_python(host: Host, calls: Calls, person: Person | None = None) -> str:
    session = session_of(host, person)
    return json.dumps([(await session.call(name, arguments)).to_json() for name, arguments in calls])


async def through_many(host: Host, calls: Calls, person: Person | None = None) -> str:
    made = [{"name": name, "arguments": arguments} for name, arguments in calls]
    session, last = session_of(host, person), host.tools.get(calls[-1][0])
    # What only reads is called beside the others: who asks for all at once has read nothing of them by then.
    turns = [made[:-1], made[-1:]] if last is not None and last.annotations.read_only else [made]
    return json.dumps([one.to_json() for turn in turns for one in await session.call_many(turn)])


async def through_dry_run(host: Host, calls: Calls) -> str:
    session = host.session()
    *before, last = calls
    said = [(await session.call(*one)).to_json() for one in before]
    return json.dumps([*said, session.check(*last).to_json()])


async def through_chat(host: Host, calls: Calls, person: Person | None = None) -> str:
    from pegboard_chat import Chat, echo

    chat = Chat(session_of(host, person), echo.EchoModel())
    said = []
    for name, arguments in calls:
        async with chat.ask(f"{name} {json.dumps(arguments)}") as events:
            said += [event.result.to_json() async for event in events if hasattr(event, "result")]
    return json.dumps(said)


async def ask_over_mcp(client: Any, name: str, arguments: dict[str, Any], heard: list[str]) -> Any:
    """A call of a tool, or another method of MCP by its name and parameters."""
    from mcp.types import PromptReference, ResourceTemplateReference

    async def hear(done: float, total: float | None, message: str | None) -> None:
        heard.append(str(message))

    if name == "prompts/get":
        return await client.get_prompt(arguments["name"], arguments.get("arguments"))
    if name == "resources/read":
        return await client.read_resource(arguments["uri"])
    if name == "completion/complete":
        kinds = {"ref/prompt": PromptReference, "ref/resource": ResourceTemplateReference}
        ref, others = kinds[arguments["ref"]["type"]](**arguments["ref"]), arguments.get("context", {}).get("arguments")
        return await client.complete(ref, arguments["argument"], others)
    if name.endswith("/list"):
        listed = name.removesuffix("/list").replace("resources/templates", "resource_templates")
        return await getattr(client, f"list_{listed}")()
    return await client.call_tool(name, arguments, progress_callback=hear)


async def through_mcp(host: Host, calls: Calls, person: Person | None = None, *, mode: str) -> str:
    from mcp import Client, MCPError

    from pegboard_mcp.server.app import make_server

    answers, heard = list[Any](), list[str]()
    able: dict[str, Any] = {"elicitation_callback": person.elicit, "sampling_callback": person.sample} if person else {}
    able["input_required_max_rounds"] = 30
    async with Client(make_server(host), mode=mode, cache=None, **able) as client:
        for name, arguments in calls:
            try:
                answers.append(await ask_over_mcp(client, name, arguments, heard))
            except MCPError as refused:
                answers.append(refused.error)
    return json.dumps([*(one.model_dump(by_alias=True, mode="json") for one in answers), *heard])


async def through_the_gateway(host: Host, calls: Calls) -> str:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            answers = [(await client.post(f"/tools/{name}", json=arguments)).text for name, arguments in calls]
        nursery.cancel_scope.cancel()
    return "".join(answers)


INTERFACES: dict[str, tuple[str | None, Callable[..., Awaitable[str]]]] = {
    "python": (None, through_python),
    "many": (None, through_many),
    "dry run": (None, through_dry_run),
    "chat": ("pegboard_chat", through_chat),
    "mcp, handshake": ("pegboard_mcp", partial(through_mcp, mode="legacy")),
    "mcp, 2026-07-28": ("pegboard_mcp", partial(through_mcp, mode="auto")),
    "gateway": ("pegboard_http", through_the_gateway),
}


# -- what an interface lists, before anything is called


async def list_in_python(host: Host) -> str:
    session = host.session()
    said = [await session.call("list_resources")] if "list_resources" in host.tools else []
    parts = ("name", "title", "description", "input_schema", "output_schema")
    tools = [{part: getattr(one, part) for part in parts} for one in session.tools.values()]
    return json.dumps([*tools, *(one.to_json() for one in said)], default=dict)


async def list_over_mcp(host: Host, *, mode: str) -> str:
    from mcp import Client

    from pegboard_mcp.server.app import make_server

    async with Client(make_server(host), mode=mode, cache=None) as client:
        ask = (client.list_tools, client.list_prompts, client.list_resources, client.list_resource_templates)
        listed = [(await one()).model_dump_json(by_alias=True) for one in ask]
        return "".join([*listed, str(client.instructions)])


async def list_at_the_gateway(host: Host) -> str:
    import httpx2

    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

    serve = partial(serve_gateway, host, bind="127.0.0.1", port=0, user_id=None, settings=HttpSettings())
    async with trio.open_nursery() as nursery:
        url = await nursery.start(serve)
        async with httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False, verify=False) as client:
            listed = [(await client.get(path)).text for path in ("/tools", "/openapi.json")]
        nursery.cancel_scope.cancel()
    return "".join(listed)


LISTINGS: dict[str, tuple[str | None, Callable[..., Awaitable[str]]]] = {
    "python": (None, list_in_python),
    "mcp, handshake": ("pegboard_mcp", partial(list_over_mcp, mode="legacy")),
    "mcp, 2026-07-28": ("pegboard_mcp", partial(list_over_mcp, mode="auto")),
    "gateway": ("pegboard_http", list_at_the_gateway),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "interface" in metafunc.fixturenames:
        metafunc.parametrize("interface", INTERFACES)


@pytest.fixture(scope="session")
def interfaces() -> dict[str, Callable[..., Awaitable[str]]]:
    """`await interfaces[name](host, calls)`, of every one whose package is installed: for tests of one board at all."""
    return {name: ask for name, (package, ask) in INTERFACES.items() if not package or find_spec(package)}


@pytest.fixture(scope="session")
def listings() -> dict[str, Callable[..., Awaitable[str]]]:
    """`await listings[name](host)`: all that a model or a client is shown before it calls anything."""
    return {name: ask for name, (package, ask) in LISTINGS.items() if not package or find_spec(package)}


@pytest.fixture
def through(interface: str) -> Callable[..., Awaitable[str]]:
    """`await through(host, calls)`: the answers to the calls, each a name and arguments, through the interface."""
    package, ask = INTERFACES[interface]
    if package:
        pytest.importorskip(package, reason=f"{package} is not installed")
    return ask
