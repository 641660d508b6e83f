"""What servers ask back while a call is in flight, through a real host and its sessions; and what they tell."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import mcp_types as types
import pytest
import trio

from pegboard import CallContext, ErrorCode, ToolError, open_host, tool
from pegboard_mcp.client import elicitation as asks_module
from pegboard_mcp.client.elicitation import (
    MAX_ELICITATIONS,
    MAX_LOGGERS,
    MAX_TRIES,
    Elicitation,
    RefusedError,
    may_open,
)
from pegboard_mcp.client.rpc import tool_error_of
from pegboard_mcp.client.transports._lines import LOGGED_LINES
from pegboard_mcp.definitions import ServerDefinition

FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
}
Answer = Callable[[Any], Awaitable[Any]]


class Stage:
    """A host with a tool whose call is in flight while a test asks in the server's name."""

    def __init__(self, elicitation: Elicitation) -> None:
        self.elicitation = elicitation
        self.shown: list[Any] = []
        self.heard: list[Any] = []

    async def confirm_with(self, answer: Any, confirmation: Any) -> Any:
        self.shown.append(confirmation)
        return await answer(confirmation) if callable(answer) else answer

    @contextlib.asynccontextmanager
    async def in_flight(
        self, host: Any, answer: Any = None, sampler: Any = None, *, can_ask: bool = True
    ) -> AsyncIterator[CallContext]:
        """A call of a session of its own runs while the block does."""
        elicitation, began, end = self.elicitation, trio.Event(), trio.Event()
        contexts: list[CallContext] = []

        async def confirm(confirmation: Any) -> Any:
            return await self.confirm_with(answer, confirmation)

        async def on_progress(*said: Any) -> None:
            self.heard.append(said)

        session = host.session(confirm=confirm if can_ask else None, on_progress=on_progress)
        session.sampler = sampler
        session.hold = (began, end, contexts, elicitation)  # type: ignore[attr-defined]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.call, "held")
            await began.wait()
            yield contexts[0]
            end.set()


@tool
async def held(context: CallContext) -> str:
    """Stay in flight until the test is done."""
    began, end, contexts, elicitation = context.session.hold  # type: ignore[attr-defined]
    with elicitation.calling(context):
        contexts.append(context)
        began.set()
        await end.wait()
    return "done"


@pytest.fixture
def definition() -> ServerDefinition:
    return ServerDefinition(name="files", transport="stdio", argv=("x",), secrets=("s3cret",), roots=("/srv/data",))


@pytest.fixture
def stage(definition: ServerDefinition) -> Stage:
    return Stage(Elicitation(definition, approval_s=10))


@pytest.fixture
async def host() -> AsyncIterator[Any]:
    async with open_host(plugins=[]) as host:
        host.add(held)
        yield host


def sampling(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 50, **more}


async def says_hello(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m", "stopReason": "endTurn"}


# Which call.


async def test_without_a_call_in_flight_every_question_is_declined(stage: Stage) -> None:
    assert await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM}) == {
        "action": "decline"
    }
    with pytest.raises(RefusedError, match="no call is in flight"):
        await stage.elicitation.answer("sampling/createMessage", sampling())


async def test_between_two_sessions_nobody_is_asked(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, True, says_hello), stage.in_flight(host, True, says_hello):
        with pytest.raises(RefusedError, match="several sessions"):
            await stage.elicitation.answer("sampling/createMessage", sampling())
        assert (await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM}))[
            "action"
        ] == "decline"
    assert stage.shown == []


async def test_a_calls_own_task_asks_in_its_own_name_even_then(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, True, says_hello), stage.in_flight(host, False, says_hello) as context:
        with stage.elicitation.calling(context):
            answer = await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
    assert answer == {"action": "decline"}
    assert [shown.session for shown in stage.shown] == [context.session]


async def test_a_question_for_a_call_that_was_given_up_is_put_to_nobody_else(
    stage: Stage, host: Any, autojump_clock: trio.testing.MockClock
) -> None:
    question = {"message": "?", "requestedSchema": FORM}
    ada = host.session()
    with trio.move_on_after(1), stage.elicitation.calling(ada):
        await trio.sleep_forever()
    async with stage.in_flight(host, {"name": "bob"}):
        assert await stage.elicitation.answer("elicitation/create", question) == {"action": "decline"}
        assert stage.shown == []
    await trio.sleep(asks_module.GIVEN_UP_S + 1)
    async with stage.in_flight(host, {"name": "bob"}):
        assert (await stage.elicitation.answer("elicitation/create", question))["action"] == "accept"


async def test_a_session_that_gave_up_a_call_is_asked_for_its_next(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, {"name": "ada"}) as context:
        with trio.move_on_after(0), stage.elicitation.calling(context):
            await trio.sleep_forever()
        said = await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
    assert said["action"] == "accept"


async def test_a_prompt_or_a_resource_is_asked_for_by_a_session_alone(stage: Stage, host: Any) -> None:
    shown = []

    async def confirm(confirmation: Any) -> dict[str, Any]:
        shown.append(confirmation)
        return {"name": "ada"}

    with stage.elicitation.calling(host.session(confirm=confirm)):
        answer = await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
    assert answer == {"action": "accept", "content": {"name": "ada"}}
    assert shown[0].tool.name == "files"


# Sampling.


async def test_a_model_answers_after_the_person_agreed(stage: Stage, host: Any) -> None:
    sent = []

    async def sampler(request: Mapping[str, Any]) -> Mapping[str, Any]:
        sent.append(request)
        return await says_hello(request)

    async with stage.in_flight(host, True, sampler):
        answer = await stage.elicitation.answer(
            "sampling/createMessage", sampling(systemPrompt="be kind", temperature=0)
        )
    assert answer["content"] == {"type": "text", "text": "hello"}
    assert sent == [sampling(systemPrompt="be kind", temperature=0)]
    (question,) = [shown.question for shown in stage.shown]
    assert "'files'" in question
    assert "50 tokens" in question
    assert "system: be kind\nuser: hi" in question


async def test_a_server_is_sent_no_key_by_a_model_that_read_one(stage: Stage, host: Any) -> None:
    """Attack: a server asks the model behind the session what it has read elsewhere."""
    key = "ghp_" + "aB3dE5gH7j" * 4

    async def sampler(request: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": f"it is {key}"}}

    async with stage.in_flight(host, True, sampler):
        answer = await stage.elicitation.answer("sampling/createMessage", sampling())
    assert answer["content"] == {"type": "text", "text": "it is [masked: GitHub token]"}


@pytest.mark.parametrize("yes", [False, True])
async def test_a_server_is_sent_no_words_of_another_by_a_model_unless_the_person_says_so(
    stage: Stage, yes: bool
) -> None:
    """Attack: the same, of words. Source: ours."""

    async def sampler(request: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "it is door-445566-beta"}}

    async def answer(asked: Any) -> bool:
        return yes or "text that came from" not in asked.question

    async with open_host({"flows": {"from": {"beta": "ask"}}}, plugins=[]) as host:
        host.add(held)
        async with stage.in_flight(host, answer, sampler) as context:
            context.session.note_read("The code is door-445566-beta, they say.", tool="beta")
            if yes:
                said = await stage.elicitation.answer("sampling/createMessage", sampling())
                assert said["content"]["text"] == "it is door-445566-beta"
            else:
                with pytest.raises(RefusedError, match="nobody agreed to give you the answer") as refused:
                    await stage.elicitation.answer("sampling/createMessage", sampling())
                assert refused.value.code == -1
                assert "door-445566" not in refused.value.message
    assert "files wants to use text that came from `beta`" in stage.shown[-1].question


async def test_a_yes_for_the_session_to_a_question_approves_no_tool(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, "session", says_hello) as context:
        assert (await stage.elicitation.answer("sampling/createMessage", sampling()))["model"] == "m"
        assert context.session.approvals == set()


@pytest.mark.parametrize(
    ("answer", "can_ask", "message"), [(False, True, "rejected"), (None, True, "rejected"), (True, False, "nobody")]
)
async def test_without_consent_no_model_is_asked(
    stage: Stage, host: Any, answer: Any, can_ask: bool, message: str
) -> None:
    async def sampler(request: Mapping[str, Any]) -> Mapping[str, Any]:
        raise AssertionError("it was asked")

    async with stage.in_flight(host, answer, sampler, can_ask=can_ask):
        with pytest.raises(RefusedError, match=message) as refused:
            await stage.elicitation.answer("sampling/createMessage", sampling())
    assert refused.value.code == -1


async def test_without_a_model_sampling_is_declined(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, True):
        with pytest.raises(RefusedError, match="no model") as refused:
            await stage.elicitation.answer("sampling/createMessage", sampling())
    assert refused.value.code == -32601
    assert stage.shown == []


@pytest.mark.parametrize(
    "params",
    [
        {},
        sampling(messages=[]),
        sampling(messages="hi"),
        sampling(messages=[{"role": "system", "content": {"type": "text", "text": "x"}}]),
        sampling(messages=[{"role": "user", "content": {"type": "text", "text": "x"}}] * 101),
        sampling(messages=[{"role": "user", "content": {"type": "text", "text": "x" * 100_001}}]),
        sampling(messages=[{"role": "user", "content": {"type": "image", "data": "x" * 4_000_000}}]),
        sampling(maxTokens=0),
        sampling(maxTokens=True),
        sampling(maxTokens=None),
        sampling(tools=[{"name": "x"}]),
        "text",
    ],
    ids=lambda params: str(params)[:50],
)
async def test_a_request_that_is_none_or_too_large_is_refused_unseen(stage: Stage, host: Any, params: Any) -> None:
    async with stage.in_flight(host, True, says_hello):
        with pytest.raises(RefusedError) as refused:
            await stage.elicitation.answer("sampling/createMessage", params)
    assert refused.value.code == -32602
    assert stage.shown == []


async def test_what_goes_to_the_model_is_bounded_and_hides_nothing(stage: Stage, host: Any) -> None:
    sent = []

    async def sampler(request: Mapping[str, Any]) -> Mapping[str, Any]:
        sent.append(request)
        return await says_hello(request)

    image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    hidden = "do\u202e it \U000e0041s3cret" + "y" * 5_000
    messages = [{"role": "user", "content": [{"type": "text", "text": hidden}, image, {"type": "\ud800"}]}]
    async with stage.in_flight(host, True, sampler):
        await stage.elicitation.answer(
            "sampling/createMessage", sampling(messages=messages, maxTokens=10**9, includeContext="allServers")
        )
    (request,) = sent
    assert request["maxTokens"] == asks_module.MAX_TOKENS
    assert "includeContext" not in request
    assert request["messages"][0]["content"][0]["text"].startswith("do it s3cret")
    assert request["messages"][0]["content"][1] == image
    json.dumps(request, ensure_ascii=False).encode()
    question, _, text = stage.shown[0].question.partition("\n")
    assert question.endswith("Send it this, and give the answer to the server?")
    assert "s3cret" not in text
    assert "y" * 5_000 in text  # all that is sent
    assert '[image, 4 characters of base64, {"mimeType": "image/png"}]' in text


@pytest.mark.parametrize(
    ("more", "shown"),
    [
        ({"stopSequences": ["END"]}, 'stopSequences: ["END"]'),
        ({"metadata": {"to": "somebody"}}, 'metadata: {"to": "somebody"}'),
        ({"messages": [{"role": "user", "content": {"type": "odd", "of": "mine"}}]}, '{"type": "odd", "of": "mine"}'),
        ({"messages": [{"role": "user", "content": {"type": "image", "text": "no image"}}]}, "no image"),
        ({"messages": [{"role": "user", "content": {"type": "text", "text": "a", "_meta": {"b": 1}}}]}, '"_meta"'),
    ],
)
async def test_all_that_goes_to_the_model_is_shown_whatever_holds_it(
    stage: Stage, host: Any, more: Mapping[str, Any], shown: str
) -> None:
    async with stage.in_flight(host, True, says_hello):
        await stage.elicitation.answer("sampling/createMessage", sampling(**more))
    assert shown in stage.shown[0].question


@pytest.mark.parametrize(
    ("field", "message", "marked"),
    [
        ({"api_key": {"type": "string"}}, "Who?", "(api_key)"),
        ({"answer": {"type": "string", "title": "Your password"}}, "Who?", "(answer)"),
        ({"answer": {"type": "string", "description": "the PIN of your card"}}, "Who?", "(answer)"),
        ({"answer": {"type": "string"}}, "Please type your GitHub token", "(the message)"),
        ({"name": {"type": "string", "title": "Full name"}}, "Who?", None),
        ({"keyboard": {"type": "string"}, "spinner": {"type": "boolean"}}, "Which monkey?", None),
    ],
)
async def test_a_form_that_asks_for_a_password_or_a_key_is_marked_as_such(
    stage: Stage, host: Any, field: dict[str, Any], message: str, marked: str | None
) -> None:
    form = {"type": "object", "properties": field}
    async with stage.in_flight(host, False):
        await stage.elicitation.answer("elicitation/create", {"message": message, "requestedSchema": form})
    question = stage.shown[0].question.partition("\n")[0]
    if marked is None:
        assert question == f"The server 'files' asks: {message}"
    else:
        assert question.startswith(f"The server 'files' asks for what looks like a password or a key {marked}: ")


async def test_a_long_message_is_shown_whole_and_one_that_is_longer_is_refused(stage: Stage, host: Any) -> None:
    form = {"type": "object", "properties": {"ok": {"type": "boolean", "description": "z" * 5_000}}}
    async with stage.in_flight(host, False):
        await stage.elicitation.answer("elicitation/create", {"message": "w" * 90_000, "requestedSchema": form})
        with pytest.raises(RefusedError, match="at most"):
            await stage.elicitation.answer("elicitation/create", {"message": "w" * 100_001, "requestedSchema": form})
    assert stage.shown[0].question.count("w") == 90_000
    assert stage.shown[0].schema["properties"]["ok"]["description"] == "z" * 5_000


LONG = "w" * 100_001
REFUSED = {
    "a long question": ({"message": LONG, "requestedSchema": FORM}, "100,001"),
    "a long question about a page": ({"mode": "url", "message": LONG, "url": "https://h.example/"}, "100,001"),
    "a long description": (
        {"message": "?", "requestedSchema": {"properties": {"a": {"type": "string", "description": LONG}}}},
        "100,001",
    ),
    "too many fields": (
        {"message": "?", "requestedSchema": {"properties": {f"f{i}": {"type": "string"} for i in range(51)}}},
        "51 fields",
    ),
    "no form": ({"message": "?", "requestedSchema": []}, "expected an object schema"),
    "an address that is not valid": ({"mode": "url", "message": "?", "url": "file:///etc"}, "expected an address"),
    "an unknown mode": ({"mode": "s3cret\x1b[31m\nmode", "message": "?"}, "expected form or url"),
    "not parameters": ([], "expected an object"),
    "a long prompt": (sampling(systemPrompt=LONG), "100,001"),
    "a long text": (sampling(messages=[{"role": "user", "content": {"type": "text", "text": LONG}}]), "100,001"),
    "a long request": (sampling(metadata={"a": "x" * 4_000_000}), "4,000,"),
    "many messages": (sampling(messages=[{"role": "user", "content": {"type": "text", "text": "a"}}] * 101), "101"),
    "tools": (sampling(tools=[{"name": "x"}]), "was not declared"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_the_person_is_told_of_a_question_that_is_refused_unseen(
    stage: Stage, host: Any, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    params, why = REFUSED[case]
    method = "sampling/createMessage" if "maxTokens" in params else "elicitation/create"
    async with stage.in_flight(host, True, says_hello):
        with pytest.raises(RefusedError) as refused:
            await stage.elicitation.answer(method, params)
    assert refused.value.code == -32602
    assert why in refused.value.message
    assert stage.shown == []
    [told] = [record.getMessage() for record in caplog.records if record.name == "pegboard.notice"]
    assert "the MCP server 'files' was refused" in told
    assert why in told
    assert len(told) < 500
    assert told.isprintable()
    assert "s3cret" not in told


async def test_what_a_person_or_their_model_declines_is_not_a_news_to_them(
    stage: Stage, host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage.in_flight(host, False, says_hello):
        await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
        with pytest.raises(RefusedError, match="rejected"):
            await stage.elicitation.answer("sampling/createMessage", sampling())
    assert [record for record in caplog.records if record.name == "pegboard.notice"] == []


async def test_that_a_call_asks_too_often_is_told_once(
    stage: Stage, host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage.in_flight(host, False):
        for _ in range(MAX_ELICITATIONS):
            await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
        for _ in range(3):
            with pytest.raises(RefusedError, match="too often"):
                await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
    assert [record.name for record in caplog.records].count("pegboard.notice") == 1


@pytest.mark.parametrize("answer", [None, {}, {"content": "text"}, "text"])
async def test_a_model_that_answers_nothing_usable_is_an_error(stage: Stage, host: Any, answer: Any) -> None:
    async def sampler(request: Mapping[str, Any]) -> Any:
        return answer

    async with stage.in_flight(host, True, sampler):
        with pytest.raises(RefusedError, match="no answer") as refused:
            await stage.elicitation.answer("sampling/createMessage", sampling())
    assert refused.value.code == -32603


async def test_a_model_that_breaks_is_an_error_without_its_inside(
    stage: Stage, host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaks(request: Mapping[str, Any]) -> Any:
        raise RuntimeError("/home/ada/key")

    async def refuses(request: Mapping[str, Any]) -> Any:
        raise ToolError(ErrorCode.RATE_LIMITED, f"the model is busy for {key}")

    key = "ghp_" + "aB3dE5gH7j" * 4
    async with stage.in_flight(host, True, breaks):
        with pytest.raises(RefusedError, match=r"^the model failed$"):
            await stage.elicitation.answer("sampling/createMessage", sampling())
    async with stage.in_flight(host, True, refuses):
        with pytest.raises(RefusedError, match=r"busy for \[masked: GitHub token\]$"):
            await stage.elicitation.answer("sampling/createMessage", sampling())
    assert "RuntimeError" in caplog.text


# Elicitation.


async def test_a_form_is_filled_in_by_the_person(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, {"name": "Ada", "age": 36.0}):
        answer = await stage.elicitation.answer(
            "elicitation/create", {"message": "Who?\x1b[2J", "requestedSchema": FORM}
        )
    assert answer == {"action": "accept", "content": {"name": "Ada", "age": 36}}
    (shown,) = stage.shown
    assert shown.question == "The server 'files' asks: Who?"
    assert shown.schema["properties"]["age"] == {"type": "integer", "minimum": 0}
    assert shown.tool is not None


@pytest.mark.parametrize(
    ("answer", "action"), [(False, "decline"), (True, "decline"), (None, "cancel"), ("session", "decline")]
)
async def test_a_form_that_is_not_filled_in(stage: Stage, host: Any, answer: Any, action: str) -> None:
    async with stage.in_flight(host, answer):
        said = await stage.elicitation.answer("elicitation/create", {"message": "Who?", "requestedSchema": FORM})
    assert said == {"action": action}


async def test_where_nobody_can_be_asked_a_form_is_declined(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, can_ask=False):
        said = await stage.elicitation.answer("elicitation/create", {"message": "Who?", "requestedSchema": FORM})
    assert said == {"action": "decline"}


async def test_what_does_not_fit_is_asked_for_again_and_never_sent(stage: Stage, host: Any) -> None:
    answers = iter([{"name": 5, "other": 1}, {"name": "Ada"}])

    async def fill(confirmation: Any) -> Any:
        return next(answers)

    async with stage.in_flight(host, fill):
        said = await stage.elicitation.answer("elicitation/create", {"message": "Who?", "requestedSchema": FORM})
    assert said == {"action": "accept", "content": {"name": "Ada"}}
    assert "name: expected a text" in stage.shown[1].question
    assert "other: there is no such field" in stage.shown[1].question


async def test_a_form_is_not_asked_for_without_end(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, {"age": -1}):
        said = await stage.elicitation.answer("elicitation/create", {"message": "Who?", "requestedSchema": FORM})
    assert said == {"action": "cancel"}
    assert len(stage.shown) == MAX_TRIES


@pytest.mark.parametrize(
    "params",
    [
        {"message": "?"},
        {"message": "?", "requestedSchema": {"properties": {"x": {"type": "object"}}}},
        {"message": "?", "mode": "voice"},
        {"message": "?", "mode": "url"},
        {"message": "?", "mode": "url", "url": "javascript:alert(1)"},
        {"message": "?", "mode": "url", "url": "https://evil.example\\.bank.example/"},
        {"message": "?", "mode": "url", "url": "file:///etc/passwd"},
        {"message": "?", "mode": "url", "url": "https://good.example@evil.example/"},
        {"message": "?", "mode": "url", "url": "https://а.example/"},
        {"message": "?", "mode": "url", "url": "https://a.example/ b"},
        {"message": "?", "mode": "url", "url": "https://[broken"},
        {"message": "?", "mode": "url", "url": "https://a.example/" + "x" * 2_000},
        None,
    ],
    ids=lambda params: str(params)[:70],
)
async def test_a_question_that_is_none_is_refused_unseen(stage: Stage, host: Any, params: Any) -> None:
    async with stage.in_flight(host, True):
        with pytest.raises(RefusedError) as refused:
            await stage.elicitation.answer("elicitation/create", params)
    assert refused.value.code == -32602
    assert stage.shown == []


@pytest.mark.parametrize(("answer", "action"), [(True, "accept"), (False, "decline"), (None, "cancel")])
async def test_a_page_is_shown_and_opened_by_nobody_here(stage: Stage, host: Any, answer: Any, action: str) -> None:
    url = "https://login.example:8443/authorize?x=1"
    async with stage.in_flight(host, answer):
        said = await stage.elicitation.answer(
            "elicitation/create", {"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"}
        )
    assert said == {"action": action}
    assert stage.shown[0].url == url
    assert "login.example:8443" in stage.shown[0].question


ELSEWHERE = [
    "http://192.168.1.1/reboot",
    "http://127.0.0.1:8000/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::1]/",
    "https://10.0.0.1/",
    "https://router.local/",
    "https://localhost./",
    "http://a.example/",
    "https://a%40b/",
]
OWN = {
    "http": "https://mcp.example/mcp",
    "sse": "https://mcp.example/sse",
    "websocket": "wss://mcp.example/ws",
    "confined": None,
}


@pytest.mark.parametrize("how", OWN)
async def test_no_server_leads_a_person_into_their_networks(host: Any, how: str) -> None:
    """Attack: a server that is elsewhere, or in a sandbox, has a person open a page of their router or of a program of
    this machine, by a question and by the error that wants a page to be visited first. Source: the same of logins,
    SSRF by a browser (CWE-918)."""
    kind: Any = "stdio" if how == "confined" else how
    definition = ServerDefinition(name="files", transport=kind, url=OWN[how], confine=how == "confined")
    stage = Stage(Elicitation(definition, approval_s=10))

    async def ask(url: str) -> Any:
        params = {"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"}
        return await stage.elicitation.answer("elicitation/create", params)

    async with stage.in_flight(host, True) as context:
        for url in ELSEWHERE:
            with stage.elicitation.calling(context), pytest.raises(RefusedError, match="public one over https"):
                await ask(url)
        assert stage.shown == []
        with stage.elicitation.calling(context):
            assert await ask("https://login.example/x") == {"action": "accept"}
    may = ["https://login.example/x"] + (["https://mcp.example/mine"] if OWN[how] else [])
    wanted = {"elicitations": [{"url": url} for url in ELSEWHERE + may]}
    error = tool_error_of(-32042, "?", wanted, server="files", tool="t", may_open=partial(may_open, definition))
    assert error.details["urls"] == may


async def test_no_server_is_sent_a_key_by_a_client_that_fills_in_its_form(stage: Stage, host: Any) -> None:
    """Attack: a client has its model fill in forms, and nobody looks; a form asks for what the model has read
    elsewhere. What a person types at this machine is theirs to say."""
    key = "ghp_" + "aB3dE5gH7j" * 4
    asked = {"message": "?", "requestedSchema": FORM}
    async with stage.in_flight(host, {"name": key}) as context:
        assert (await stage.elicitation.answer("elicitation/create", asked))["content"] == {"name": key}
        context.session.channel = "mcp"
        assert (await stage.elicitation.answer("elicitation/create", asked))["content"] == {
            "name": "[masked: GitHub token]"
        }
        bounded = {"type": "object", "properties": {"name": {"type": "string", "minLength": 40, "maxLength": 44}}}
        asked = {"message": "?", "requestedSchema": bounded}
        assert await stage.elicitation.answer("elicitation/create", asked) == {"action": "decline"}


# Nothing hangs.


async def never(confirmation: Any) -> Any:
    await trio.sleep_forever()


async def test_a_person_who_does_not_answer_is_not_waited_for(
    stage: Stage, host: Any, autojump_clock: trio.testing.MockClock
) -> None:
    async with stage.in_flight(host, never, says_hello):
        began = trio.current_time()
        said = await stage.elicitation.answer("elicitation/create", {"message": "Who?", "requestedSchema": FORM})
        with pytest.raises(RefusedError, match="in time"):
            await stage.elicitation.answer("sampling/createMessage", sampling())
        assert trio.current_time() - began == pytest.approx(20, abs=1)
    assert said == {"action": "cancel"}


async def test_a_question_ends_with_its_call(stage: Stage, host: Any) -> None:
    said = []

    async def ask() -> None:
        said.append(await stage.elicitation.answer("elicitation/create", {"message": "Who?", "requestedSchema": FORM}))

    async with trio.open_nursery() as nursery, stage.in_flight(host, never):
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
    assert said == [{"action": "cancel"}]


async def test_a_call_may_not_ask_without_end(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host, False):
        for _ in range(MAX_ELICITATIONS):
            await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})
        with pytest.raises(RefusedError, match="too often"):
            await stage.elicitation.answer("elicitation/create", {"message": "?", "requestedSchema": FORM})


async def test_a_call_that_is_over_asks_nothing_more(stage: Stage, host: Any) -> None:
    call = stage.elicitation.calling(host.session())
    with call:
        pass
    with pytest.raises(RefusedError, match="over"):
        await call.answer("sampling/createMessage", sampling())


# Roots, and methods that are not valid.


async def test_roots_are_the_configured_folders(stage: Stage, host: Any) -> None:
    roots = {"roots": [{"uri": "file:///srv/data", "name": "data"}]}
    assert await stage.elicitation.answer("roots/list", None) == roots
    assert await stage.elicitation.calling(host.session()).answer("roots/list", None) == roots


def test_a_root_may_be_a_path_or_a_uri() -> None:
    elicitation = Elicitation(
        ServerDefinition(name="one", transport="stdio", roots=("/srv/a b", "file:///srv/c%20d", "/", "file:///"))
    )
    assert elicitation.roots()["roots"] == [
        {"uri": "file:///srv/a%20b", "name": "a b"},
        {"uri": "file:///srv/c%20d", "name": "c d"},
        {"uri": "file:///", "name": "/"},
        {"uri": "file:///", "name": "file:///"},
    ]


async def test_a_method_that_is_none_is_refused(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host):
        with pytest.raises(RefusedError) as refused:
            await stage.elicitation.answer("tools/call", {})
    assert refused.value.code == -32601


# As the SDK's session calls it.


async def test_the_sdk_gets_its_own_types(stage: Stage, host: Any, definition: ServerDefinition) -> None:
    back: Any = stage.elicitation.callbacks()
    params = types.CreateMessageRequestParams.model_validate(sampling())
    form = types.ElicitRequestFormParams(message="Who?", requested_schema=FORM)
    page = types.ElicitRequestURLParams(message="Go", url="https://a.example/")

    async def agree(confirmation: Any) -> Any:
        return {"name": "Ada"} if confirmation.schema else True

    async with stage.in_flight(host, agree, says_hello):
        message = await back["sampling_callback"](None, params)
        assert isinstance(message, types.CreateMessageResult)
        assert message.stop_reason == "endTurn"
        filled = await back["elicitation_callback"](None, form)
        assert filled == types.ElicitResult(action="accept", content={"name": "Ada"})
        assert (await back["elicitation_callback"](None, page)).action == "accept"
    refused = await back["sampling_callback"](None, params)
    assert isinstance(refused, types.ErrorData)
    assert refused.code == -1
    roots = await back["list_roots_callback"](None)
    assert str(roots.roots[0].uri) == "file:///srv/data"


@pytest.mark.parametrize(
    ("content", "kind"),
    [([{"type": "text", "text": "a"}], types.CreateMessageResultWithTools), ({"type": "odd"}, types.ErrorData)],
)
async def test_a_models_answer_of_another_shape(stage: Stage, host: Any, content: Any, kind: type) -> None:
    async def sampler(request: Mapping[str, Any]) -> Any:
        return {"role": "assistant", "content": content, "model": "m"}

    async with stage.in_flight(host, True, sampler):
        params = types.CreateMessageRequestParams.model_validate(sampling())
        assert isinstance(await stage.elicitation.sampling_callback(None, params), kind)  # type: ignore[arg-type]


# What servers tell.


@pytest.mark.parametrize(
    ("level", "number"),
    [("debug", 10), ("info", 20), ("notice", 20), ("warning", 30), ("error", 40), ("critical", 50), ("alert", 50),
     ("emergency", 50)],
)  # fmt: skip
async def test_each_level_has_its_standard_one(
    stage: Stage, caplog: pytest.LogCaptureFixture, level: Any, number: int
) -> None:
    caplog.set_level(logging.DEBUG)
    await stage.elicitation.logging_callback(types.LoggingMessageNotificationParams(level=level, data="x"))
    assert [(one.name, one.levelno, one.message) for one in caplog.records] == [
        ("pegboard.mcp.server.files", number, "x")
    ]


def test_logs_are_harmless_and_hold_no_secret(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.elicitation.tell("error", "db.pool", {"password": "s3cret", "text": "\x1b[2J" + "x" * 10_000})
    (record,) = caplog.records
    assert record.name == "pegboard.mcp.server.files.db.pool"
    assert "s3cret" not in record.message
    assert "\x1b" not in record.message
    assert len(record.message) <= 2_000


def test_loggers_are_bounded_in_number_and_form(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    for index in range(MAX_LOGGERS + 20):
        stage.elicitation.tell("error", f"l{index}", "x")
    assert len({record.name for record in caplog.records}) == MAX_LOGGERS + 1
    caplog.clear()
    for odd in ("x" * 300, 5, "", None):
        stage.elicitation.tell(7, odd, 5)
        stage.elicitation.tell("error", odd, float("nan"))
    assert {record.name for record in caplog.records} == {"pegboard.mcp.server.files"}


def test_the_name_of_a_logger_is_made_of_words(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.elicitation.tell("error", "..a b\n../é..x", "m")
    stage.elicitation.tell("error", "...", "m")
    assert [record.name for record in caplog.records] == [
        "pegboard.mcp.server.files.a-b.é.x",
        "pegboard.mcp.server.files",
    ]


def test_of_a_flood_of_logs_some_are_kept_and_the_rest_is_counted(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, logger="pegboard.mcp.server")
    now = [0.0]
    monkeypatch.setattr("pegboard_mcp.client.elicitation.monotonic", lambda: now[0])
    for _ in range(5_000):
        stage.elicitation.tell("info", None, "word")
    assert len(caplog.records) == LOGGED_LINES
    now[0] += 1
    stage.elicitation.tell("error", None, "at last")
    assert [record.message for record in caplog.records[LOGGED_LINES:]] == [
        f"{5_000 - LOGGED_LINES} more lines were not logged",
        "at last",
    ]


async def test_what_looks_like_a_secret_is_not_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="pegboard.mcp.server")
    stage.elicitation.tell("info", None, "go to https://ada:pa55w0rd@a.example")
    assert "pa55w0rd" not in caplog.text
    assert "a.example" in caplog.text


async def test_notifications_are_logged_for_who_looks_closely(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="pegboard.mcp.server")
    await stage.elicitation.message_handler(
        types.ToolListChangedNotification(method="notifications/tools/list_changed")
    )
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("DEBUG", "it told of notifications/tools/list_changed")
    ]


async def test_faults_on_the_wire_are_logged_and_do_not_flood(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(asks_module.MAX_FAULTS + 5):
        await stage.elicitation.message_handler(ValueError("garbage s3cret"))
    assert len(caplog.records) == asks_module.MAX_FAULTS
    assert "s3cret" not in caplog.text


async def test_progress_of_a_server_is_progress_of_the_call(stage: Stage, host: Any) -> None:
    async with stage.in_flight(host) as context:
        hear = stage.elicitation.progress_of(context)
        await hear(1, 2, "half\x1b s3cret")
        await hear(2.0)
        await hear(float("nan"), None, None)
        await hear(1, float("inf"), None)
    assert stage.heard == [(context.call_id, 1, 2, "half ***"), (context.call_id, 2.0, None, None)]


async def test_a_listener_for_progress_that_breaks_costs_nothing(
    stage: Stage, host: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage.in_flight(host) as context:

        async def broken(*said: Any) -> None:
            raise RuntimeError("listener")

        context.session._on_progress = broken
        await stage.elicitation.progress_of(context)(1, None, None)
    assert "RuntimeError: listener" in caplog.text
