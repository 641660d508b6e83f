"""What the board asks its clients: confirmation, forms, addresses, sampling, roots; as requests, and in rounds."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import hypothesis
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError, types
from pydantic import RootModel

from pegboard import CallContext, ToolError, hookimpl, open_host, tool
from pegboard_mcp.server.app import make_server
from pegboard_mcp.server.auth import Caller
from pegboard_mcp.server.peer import peer_of

FORM = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}


class Asking:
    """Tools that ask; each counts how often it ran."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.errands: list[Any] = []
        self.errand = trio.Event()
        self.gone = trio.Event()

    @hookimpl
    def provide_tools(self, settings: Any) -> list[Any]:
        @tool(requires_confirmation="Really drop it?")
        async def drop(name: str) -> str:
            """Drop something."""
            self.runs.append(name)
            return f"dropped {name}"

        @tool
        async def configure(context: CallContext) -> str:
            """Ask for a size, in the middle of the work."""
            self.runs.append("configure")
            got = await context.session.elicit(context.tool, "Which size?", schema=FORM)
            self.runs.append("configured")
            return repr(got)

        @tool
        async def visit(context: CallContext) -> str:
            """Send the person somewhere."""
            return repr(await context.session.elicit(context.tool, "Sign in", url="https://example.com/x"))

        @tool
        async def ask_all(context: CallContext) -> str:
            """Ask three things at once."""
            self.runs.append("ask_all")
            peer = peer_of(context)
            assert peer is not None
            got = await peer.ask(
                {
                    "who": {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": FORM}},
                    "model": {"method": "sampling/createMessage", "params": _sampling("hi")},
                    "folders": {"method": "roots/list"},
                }
            )
            return f"{got['who']['action']} {got['model']['content']['text']} {len(got['folders']['roots'])}"

        @tool
        async def ask_apart(context: CallContext) -> str:
            """Tasks of one tool that ask at the same time."""
            peer = peer_of(context)
            assert peer is not None
            answers: dict[str, str] = {}

            async def one(name: str) -> None:
                answers[name] = (await peer.elicit(name, FORM, key=name))["action"]

            async with trio.open_nursery() as nursery:
                for name in ("left", "right"):
                    nursery.start_soon(one, name)
            return str(sorted(answers.items()))

        @tool
        async def ask_twice(context: CallContext) -> str:
            """Two rounds."""
            peer = peer_of(context)
            assert peer is not None
            first = await peer.elicit("First?", FORM, key="first")
            second = await peer.elicit("Second?", FORM, key="second")
            return f"{first['content']} {second['content']}"

        @tool
        async def sample(context: CallContext) -> str:
            """Ask the client's model."""
            peer = peer_of(context)
            assert peer is not None
            return str((await peer.sample(_sampling("hello")))["content"]["text"])

        @tool
        async def sampler(context: CallContext) -> str:
            """Ask the model behind the session."""
            if context.session.sampler is None:
                return "no model"
            return str((await context.session.sampler(_sampling("hello")))["content"]["text"])

        @tool
        async def report(context: CallContext) -> str:
            """Say what the client can do, and log to it."""
            peer = peer_of(context)
            assert peer is not None
            await peer.log("warning", {"a": 1}, "mine")
            return f"{sorted(peer.capabilities)} {peer.can('elicitation.url')} {peer.protocol_version}"

        @tool
        def confirm_in_thread(context: CallContext) -> str:
            """Ask from a thread."""
            return str(context.confirm_sync("Sure?"))

        @tool
        async def elsewhere(context: CallContext) -> str:
            """Ask from a task that belongs to no request, as one does that reads what an MCP server asks back."""
            answers: list[Any] = []

            async def ask() -> None:
                answers.append(await context.session.elicit(context.tool, "Which size?", schema=FORM))
                assert context.session.sampler is not None
                answers.append((await context.session.sampler(_sampling("hi")))["content"]["text"])

            done = trio.Event()
            self.errands.append((ask, done))
            self.errand.set()
            try:
                await done.wait()
            finally:
                self.gone.set()
            return repr(answers)

        @tool
        async def ask_the_same_twice(context: CallContext) -> str:
            """Two questions under one key, at once."""
            peer = peer_of(context)
            assert peer is not None
            async with trio.open_nursery() as nursery:
                for _ in range(2):
                    nursery.start_soon(functools.partial(peer.elicit, "?", FORM, key="same"))
            return "never"

        @tool
        async def ask_what_it_can(context: CallContext) -> str:
            """Folders and an address, under keys of its own."""
            peer = peer_of(context)
            assert peer is not None
            await peer.close_stream()
            folders = await peer.roots()
            visited = await peer.elicit("Go", url="https://example.com/y")
            return f"{folders[0]['uri']} {visited['action']}"

        return [
            *(elsewhere, ask_the_same_twice, ask_what_it_can, drop, configure, visit, ask_all),
            *(ask_apart, ask_twice, sample, sampler, report, confirm_in_thread),
        ]


def _sampling(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 10}


class Person:
    """The person and the model behind a client; notes what they were asked."""

    def __init__(self, action: str = "accept", content: Any = None) -> None:
        self.asked: list[Any] = []
        self.action = action
        self.content = content

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return types.ElicitResult(action=self.action, content=self.content)  # type: ignore[arg-type]

    async def sample(self, context: Any, params: Any) -> types.CreateMessageResult:
        self.asked.append(params)
        content = types.TextContent(type="text", text="sampled")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///a")])  # type: ignore[arg-type]

    @property
    def callbacks(self) -> dict[str, Any]:
        """Everything that a client can be asked."""
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
        }


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """The handshake era, and 2026-07-28."""
    return str(request.param)


@pytest.fixture
async def asking(either_path: None, host_with: Any) -> Any:
    """`async with asking(mode, **callbacks) as (client, plugin)`; one host, one server."""
    plugin = Asking()
    host = await host_with(plugin, config={"approval_timeout_s": 60})

    @contextlib.asynccontextmanager
    async def connect(mode: str, **callbacks: Any) -> Any:
        server = make_server(host)
        async with Client(server, mode=mode, cache=None, **callbacks) as client:
            yield client, plugin

    return connect


def _text(result: Any) -> str:
    return str(result.content[0].text)


async def test_a_person_confirms_and_the_tool_runs_once(asking: Any, mode: str) -> None:
    person = Person()
    async with asking(mode, elicitation_callback=person.elicit) as (client, plugin):
        result = await client.call_tool("drop", {"name": "x"})
    assert _text(result) == "dropped x"
    assert plugin.runs == ["x"]
    assert len(person.asked) == 1
    assert person.asked[0].message.startswith("Really drop it?")
    assert '{"name": "x"}' in person.asked[0].message
    assert "[drop of " in person.asked[0].message.partition("\n")[0]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_person_who_does_not_accept_is_a_refusal(asking: Any, mode: str, action: str) -> None:
    async with asking(mode, elicitation_callback=Person(action).elicit) as (client, plugin):
        result = await client.call_tool("drop", {"name": "x"})
    assert result.is_error
    assert result.meta["pegboard-mcp/error"]["code"] == "FORBIDDEN"
    assert plugin.runs == []


async def test_a_client_that_can_ask_nobody_is_a_refusal_that_says_so(asking: Any, mode: str) -> None:
    async with asking(mode) as (client, plugin):
        result = await client.call_tool("drop", {"name": "x"})
    assert result.is_error
    assert result.meta["pegboard-mcp/error"]["details"]["reason"] == "confirmation"
    assert "elicitation" in _text(result)
    assert plugin.runs == []


async def test_an_approval_for_the_session_is_remembered(asking: Any, mode: str) -> None:
    person = Person(content={"remember": True})
    async with asking(mode, elicitation_callback=person.elicit) as (client, plugin):
        await client.call_tool("drop", {"name": "x"})
        await client.call_tool("drop", {"name": "y"})
    assert plugin.runs == ["x", "y"]
    assert len(person.asked) == 1


async def test_a_form_in_the_middle_of_the_work_goes_on_where_it_was(asking: Any, mode: str) -> None:
    person = Person(content={"size": 3})
    async with asking(mode, elicitation_callback=person.elicit) as (client, plugin):
        result = await client.call_tool("configure", {})
    assert _text(result) == "{'size': 3}"
    assert plugin.runs == ["configure", "configured"]
    assert person.asked[0].requested_schema == FORM


async def test_an_address_is_asked_in_url_mode(asking: Any, mode: str) -> None:
    person = Person()
    async with asking(mode, elicitation_callback=person.elicit) as (client, _):
        result = await client.call_tool("visit", {})
    assert _text(result) == "True"
    assert (person.asked[0].mode, person.asked[0].url) == ("url", "https://example.com/x")


async def test_several_things_are_asked_at_once(asking: Any, mode: str) -> None:
    async with asking(mode, **Person(content={"size": 1}).callbacks) as (client, plugin):
        result = await client.call_tool("ask_all", {})
    assert _text(result) == "accept sampled 1"
    assert plugin.runs == ["ask_all"]


async def test_the_clients_model_is_sampled(asking: Any, mode: str) -> None:
    async with asking(mode, **Person().callbacks) as (client, _):
        assert _text(await client.call_tool("sample", {})) == "sampled"
        assert _text(await client.call_tool("sampler", {})) == "sampled"


async def test_a_thread_asks_too(asking: Any, mode: str) -> None:
    async with asking(mode, **Person().callbacks) as (client, _):
        assert _text(await client.call_tool("confirm_in_thread", {})) == "True"


async def test_a_client_without_sampling_is_told_in_the_way_of_its_era(asking: Any) -> None:
    async with asking("legacy") as (client, _):
        result = await client.call_tool("sample", {})
        assert result.meta["pegboard-mcp/error"]["details"]["capability"] == "sampling"
        assert _text(await client.call_tool("sampler", {})) == "no model"
    async with asking("auto") as (client, _):
        with pytest.raises(MCPError) as caught:
            await client.call_tool("sample", {})
        assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": {"sampling": {}}})


async def test_a_tool_knows_its_client(asking: Any, mode: str) -> None:
    heard: list[Any] = []

    async def hear(params: Any) -> None:
        heard.append((params.level, params.logger, params.data))

    async with asking(mode, logging_callback=hear, log_level="info", **Person().callbacks) as (client, _):
        said = _text(await client.call_tool("report", {}))
        await trio.testing.wait_all_tasks_blocked()
    assert said.startswith("['elicitation', 'roots', 'sampling'] True 20")
    assert heard == [("warning", "mine", {"a": 1})]


async def test_a_call_that_came_another_way_has_no_peer(host_with: Any) -> None:
    @tool
    async def lonely(context: CallContext) -> str:
        """Look for a client."""
        return repr(peer_of(context))

    host = await host_with()
    host.add(lonely)
    assert (await host.session().call("lonely", {})).text == "None"


async def test_an_error_of_the_client_is_an_answer_of_the_tool(asking: Any) -> None:
    async def refuse(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="the user said no")

    async with asking("legacy", sampling_callback=refuse) as (client, _):
        result = await client.call_tool("sample", {})
    assert result.is_error
    assert "the user said no" in _text(result)


async def test_a_question_from_a_task_of_no_request_finds_its_call(asking: Any, mode: str) -> None:
    person = Person(content={"size": 2})
    async with asking(mode, **person.callbacks) as (client, plugin), trio.open_nursery() as nursery:

        async def run_errands() -> None:
            await plugin.errand.wait()
            ask, done = plugin.errands.pop()
            await ask()
            done.set()

        await nursery.start(_in_no_context, run_errands)
        with trio.fail_after(60):
            result = await client.call_tool("elsewhere", {})
    assert _text(result) == "[{'size': 2}, 'sampled']"


async def _in_no_context(work: Any, task_status: Any) -> None:
    task_status.started()
    await work()


async def test_nobody_is_asked_where_no_call_is_in_flight(host_with: Any) -> None:
    server = make_server(await host_with(Asking()))
    async with Client(server, mode="legacy", **Person().callbacks) as client:
        await client.list_tools()
        (serving,) = server.servings
        (connected,) = serving.sessions.connections()
        with pytest.raises(ToolError) as caught:
            await connected.session.elicit(server.host.tools["drop"], "Sure?", url="https://example.com")
        assert caught.value.details["reason"] == "confirmation"
        assert "of URLs" in caught.value.message
        assert connected.session.sampler is not None
        with pytest.raises(ToolError):
            await connected.session.sampler(_sampling("hi"))


async def test_folders_and_addresses_are_asked_under_keys_of_their_own(asking: Any, mode: str) -> None:
    async with asking(mode, **Person().callbacks) as (client, _):
        assert _text(await client.call_tool("ask_what_it_can", {})) == "file:///a accept"


async def test_of_several_questions_one_error_is_the_answer(asking: Any) -> None:
    async def refuse(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="no model today")

    callbacks = Person(content={"size": 1}).callbacks | {"sampling_callback": refuse}
    async with asking("legacy", **callbacks) as (client, _):
        result = await client.call_tool("ask_all", {})
    assert result.is_error
    assert "no model today" in _text(result)


# -- rounds


@pytest.fixture
async def rounds(asking: Any) -> Any:
    """A modern client that answers by hand: `await send(tool, arguments, responses, state)`."""

    class Rounds:
        def __init__(self, client: Client, plugin: Asking) -> None:
            self.client, self.plugin = client, plugin

        async def __call__(self, name: str, arguments: Any = None, responses: Any = None, state: Any = None) -> Any:
            return await self.client.session.call_tool(
                name, arguments or {}, input_responses=responses, request_state=state, allow_input_required=True
            )

    async with asking("2026-07-28", **Person().callbacks) as (client, plugin):
        yield Rounds(client, plugin)


YES = types.ElicitResult(action="accept", content={"size": 1})


async def test_a_suspended_call_goes_on_with_its_state(rounds: Any) -> None:
    asked = await rounds("ask_twice")
    assert list(asked.input_requests) == ["first"]
    again = await rounds("ask_twice", {}, {"first": YES}, asked.request_state)
    assert list(again.input_requests) == ["second"]
    assert again.request_state != asked.request_state
    done = await rounds("ask_twice", {}, {"second": YES}, again.request_state)
    assert _text(done) == "{'size': 1} {'size': 1}"


async def test_a_state_is_good_once(rounds: Any) -> None:
    asked = await rounds("drop", {"name": "x"})
    (key,) = asked.input_requests
    await rounds("drop", {"name": "x"}, {key: YES}, asked.request_state)
    with pytest.raises(MCPError) as caught:
        await rounds("drop", {"name": "x"}, {key: YES}, asked.request_state)
    assert caught.value.code == -32602
    assert rounds.plugin.runs == ["x"]


@pytest.mark.parametrize(("name", "runs"), [("x", ["x"]), ("y", [])])
async def test_a_yes_that_comes_before_its_question_is_to_the_very_same_question(
    rounds: Any, name: str, runs: list[str]
) -> None:
    """Attack: a client repeats a request without its state, as some do, and what it is asked by then is another thing,
    as where a server changed meanwhile. Source: ours."""
    asked = await rounds("drop", {"name": "x"})
    (key,) = asked.input_requests
    again = await rounds("drop", {"name": name}, {key: YES})
    assert rounds.plugin.runs == runs
    assert bool(runs) is not hasattr(again, "input_requests")


@pytest.mark.parametrize("change", ["state", "arguments", "tool"])
async def test_another_state_another_call_or_another_tool_resumes_nothing(rounds: Any, change: str) -> None:
    asked = await rounds("drop", {"name": "x"})
    (key,) = asked.input_requests
    name = "configure" if change == "tool" else "drop"
    arguments = {"name": "y"} if change == "arguments" else {"name": "x"}
    state = asked.request_state + ("-TAMPERED" if change == "state" else "")
    with pytest.raises(MCPError) as caught:
        await rounds(name, arguments, {key: YES}, state)
    assert caught.value.code == -32602
    assert rounds.plugin.runs == []
    await rounds("drop", {"name": "x"}, {key: YES}, asked.request_state)
    assert rounds.plugin.runs == ["x"]


async def test_a_missing_answer_is_asked_for_again(rounds: Any) -> None:
    asked = await rounds("ask_twice")
    again = await rounds("ask_twice", {}, {"other": YES}, asked.request_state)
    assert list(again.input_requests) == ["first"]


async def test_what_is_not_an_answer_is_refused_and_the_state_stays_good(rounds: Any) -> None:
    asked = await rounds("ask_twice")
    wrong = types.ListRootsResult(roots=[])
    with pytest.raises(MCPError) as caught:
        await rounds("ask_twice", {}, {"first": wrong}, asked.request_state)
    assert caught.value.code == -32602
    again = await rounds("ask_twice", {}, {"first": YES}, asked.request_state)
    assert list(again.input_requests) == ["second"]


async def test_answers_on_a_fresh_call_are_taken_by_their_keys(rounds: Any) -> None:
    asked = await rounds("ask_twice", {}, {"first": YES, "nobody": YES})
    assert list(asked.input_requests) == ["second"]
    done = await rounds("ask_twice", {}, {"first": YES, "second": YES})
    assert _text(done) == "{'size': 1} {'size': 1}"


async def test_tasks_of_one_tool_ask_in_one_round(rounds: Any) -> None:
    asked = await rounds("ask_apart")
    assert sorted(asked.input_requests) == ["left", "right"]
    half = await rounds("ask_apart", {}, {"right": YES}, asked.request_state)
    assert list(half.input_requests) == ["left"]
    done = await rounds("ask_apart", {}, {"left": YES}, half.request_state)
    assert _text(done) == "[('left', 'accept'), ('right', 'accept')]"


async def test_one_key_cannot_be_asked_twice_at_once(rounds: Any) -> None:
    result = await rounds("ask_the_same_twice")
    if not isinstance(result, types.CallToolResult):
        result = await rounds("ask_the_same_twice", {}, {}, result.request_state)
    assert result.is_error
    assert result.meta["pegboard-mcp/error"]["code"] == "INTERNAL_ERROR"


async def test_a_call_given_up_by_its_client_ends_where_it_is_not_suspended(rounds: Any) -> None:
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rounds, "elsewhere")
            await rounds.plugin.errand.wait()
            nursery.cancel_scope.cancel()
        await rounds.plugin.gone.wait()


async def test_another_users_state_resumes_nothing(host_with: Any) -> None:
    plugin = Asking()
    host = await host_with(plugin)
    user = "ada"
    server = make_server(host, identify=lambda request: Caller(user))
    async with Client(server, mode="2026-07-28", cache=None, **Person().callbacks) as client:
        asked = await client.session.call_tool("drop", {"name": "x"}, allow_input_required=True)
        (key,) = asked.input_requests
        user = "bob"
        with pytest.raises(MCPError) as caught:
            await client.session.call_tool(
                "drop", {"name": "x"}, input_responses={key: YES}, request_state=asked.request_state,
                allow_input_required=True,
            )  # fmt: skip
        assert caught.value.code == -32602
    assert plugin.runs == []


async def test_what_is_not_taken_up_in_time_ends_and_its_answer_is_kept_a_while(
    host_with: Any, autojump_clock: Any
) -> None:
    plugin = Asking()
    host = await host_with(plugin, config={"approval_timeout_s": 60})
    server = make_server(host)
    async with Client(server, mode="2026-07-28", cache=None, **Person().callbacks) as client:
        asked = await client.session.call_tool("drop", {"name": "x"}, allow_input_required=True)
        (key,) = asked.input_requests
        (serving,) = server.servings
        await trio.sleep(70)
        late = await client.session.call_tool(
            "drop", {"name": "x"}, input_responses={key: YES}, request_state=asked.request_state,
            allow_input_required=True,
        )  # fmt: skip
        assert late.is_error
        assert plugin.runs == []
        await client.session.call_tool("drop", {"name": "x"}, allow_input_required=True)
        await trio.sleep(500)
        asked = await client.session.call_tool("drop", {"name": "y"}, allow_input_required=True)
        assert len(serving.suspended) == 1


async def test_those_who_wait_are_bounded(rounds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_mcp.server.elicitation.MAX_SUSPENDED_OF_ONE", 3)
    for name in "abc":
        await rounds("drop", {"name": name})
    with pytest.raises(MCPError) as caught:
        await rounds("drop", {"name": "d"})
    assert caught.value.data["code"] == "RATE_LIMITED"


async def test_a_tool_that_asks_what_is_not_a_request_is_its_own_fault(host_with: Any, mode: str) -> None:
    @tool
    async def wrong(context: CallContext) -> str:
        """Ask nonsense."""
        peer = peer_of(context)
        assert peer is not None
        with pytest.raises(ToolError):
            await peer.ask({"a": {"method": "no/method"}})
        await peer.ask({"a": {"method": "elicitation/create", "params": {"message": 1}}})
        return "never"

    host = await host_with()
    host.add(wrong)
    async with Client(make_server(host), mode=mode, cache=None, **Person().callbacks) as client:
        result = await client.call_tool("wrong", {})
    assert result.meta["pegboard-mcp/error"]["code"] == "INTERNAL_ERROR"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "first", "accept", "confirm-1"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["first", "confirm-1", "action", "content", "size"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_PARAMS = st.fixed_dictionaries(
    {"name": st.sampled_from(["drop", "drop", "drop", "ask_twice", "nope", 3])},
    optional={
        "arguments": st.sampled_from([{"name": "x"}, {"name": "x"}, {}, [], None]) | _JSON,
        "inputResponses": st.sampled_from(
            [{"confirm-1": {"action": "decline"}}, {"confirm-1": {"action": "accept"}}, {"first": {"action": "accept"}}]
        )
        | _JSON,
        "requestState": _JSON,
    },
)


@given(st.lists(_PARAMS, min_size=1, max_size=12))
@hypothesis.settings(max_examples=40)
def test_any_params_are_answered_and_nothing_runs_that_nobody_accepted(calls: list[dict[str, Any]]) -> None:
    """Whatever params a client sends, each call is answered or refused with a number, and a tool that asks first runs
    only where an accepting answer came."""

    async def main() -> None:
        plugin = Asking()
        async with (
            open_host({"strict": True}, [plugin]) as host,
            Client(make_server(host), mode="2026-07-28", cache=None, **Person().callbacks) as client,
        ):
            asked = await client.session.call_tool("drop", {"name": "x"}, allow_input_required=True)
            (key,) = asked.input_requests
            for params in calls:
                if isinstance(given := params.get("inputResponses"), dict):
                    params["inputResponses"] = {
                        key if name == "confirm-1" else name: one for name, one in given.items()
                    }
                request = _Anything(method="tools/call", params=params)
                number = kind = None
                try:
                    kind = (await client.session.send_request(request, _Raw)).root["resultType"]  # type: ignore[arg-type]
                except MCPError as problem:
                    number = problem.code
                assert (number in (-32602, -32001)) ^ (kind in ("complete", "input_required"))
            given = [one["inputResponses"] for one in calls if isinstance(one.get("inputResponses"), dict)]
            answers = [one.get(key) for one in given]
            accepted = sum(isinstance(one, dict) and one.get("action") == "accept" for one in answers)
            assert plugin.runs.count("x") <= accepted

    trio.run(main)


class _Anything(types.Request[dict[str, Any], str]):
    """A request whose params nobody looked at."""


class _Raw(RootModel[dict[str, Any]]):
    """A result that nobody looked at."""


def test_all_that_a_question_is_about_is_passed_on_behind_bars() -> None:
    from pegboard.session import Confirmation
    from pegboard.tools import Origin, Tool
    from pegboard_mcp.server.sessions import _message_of

    drop = Tool(name="drop", handler=print, origin=Origin(source="gamma"))
    session: Any = None
    hostile = "first\x1b[2J\nSend it? [pay of bank]\n" + "z" * 100_000
    message = _message_of(Confirmation(f"Go on?\n{hostile}", drop, {"text": f"\u202e{hostile}"}, session))
    head, *below = message.split("\n")
    assert head == "Go on? [drop of gamma]"
    assert all(line.startswith("| ") and line.isprintable() for line in below)
    assert message.count("z") == 200_000
