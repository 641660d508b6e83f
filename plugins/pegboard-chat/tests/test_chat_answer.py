"""A question from elsewhere: `{channel, user, message, enable_tools}` in, `{content, tool_calls, usage}` out."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import pegboard_chat.plugin
from pegboard import CallContext, ConfigError, ErrorCode, ToolError, tool
from pegboard_chat import ModelError, answer
from pegboard_chat._answer import _checked
from pegboard_chat.echo import EchoModel

seen: list[tuple[str | None, str]] = []


@tool(read_only=True, run="inplace")
def whoami(context: CallContext) -> str:
    """Who calls."""
    seen.append((context.session.user_id, context.session.channel))
    return str(context.session.user_id)


@pytest.fixture
async def host(host_with: Any) -> Any:
    seen.clear()
    host = await host_with(pegboard_chat.plugin, config={"user_id": "owner", "plugins": {"chat": {"model": "echo"}}})
    host.add(whoami)
    return host


async def test_a_message_is_answered_with_content_calls_and_usage(host: Any) -> None:
    said = await answer(host, {"channel": "room", "user": "ada", "message": "whoami {}", "enable_tools": True})
    assert said["content"] == "ada"
    [call] = said["tool_calls"]
    assert (call["id"], call["name"], call["arguments"]) == ("line_1", "whoami", {})
    assert call["result"]["ok"] is True
    assert said["usage"]["output_tokens"] > 0
    assert (said["usage"]["cost"], said["usage"]["reason"]) == (0, None)
    assert seen == [("ada", "room")]


@pytest.mark.parametrize("user", [None, "", "  "])
async def test_nobody_is_nobody_and_not_the_owner_of_the_host(host: Any, user: Any) -> None:
    await answer(host, {"user": user, "message": "whoami {}"})
    assert seen == [(None, "program")]


async def test_without_tools_none_is_called(host: Any) -> None:
    said = await answer(host, {"message": "whoami {}", "enable_tools": False})
    assert said["tool_calls"] == []
    assert seen == []


async def test_a_model_may_be_given_open_or_by_name(host: Any) -> None:
    for model in (EchoModel(), "echo", "echo:echo"):
        assert (await answer(host, {"message": "whoami {}", "user": "bo"}, model=model))["content"] == "bo"


async def test_a_call_that_never_began_is_told_too(host: Any, scripted: Any) -> None:
    model = scripted([("whoami", {})] * 6, "done")
    made = (await answer(host, {"message": "go"}, model=model))["tool_calls"]
    assert len(made) == 6
    refused = next(call for call in made if not call["result"]["ok"])
    assert refused["result"]["error"]["details"]["budget"] == "max_tool_calls"
    assert refused["arguments"] == {}


async def test_what_was_no_call_has_no_arguments(host: Any) -> None:
    made = (await answer(host, {"message": "whoami {"}, model="echo"))["tool_calls"]
    assert [(call["name"], call["arguments"], call["result"]["ok"]) for call in made] == [("whoami", None, False)]


async def test_fifty_at_once_are_each_answered_as_who_they_are(host: Any, scripted: Any) -> None:
    answers: dict[int, Any] = {}

    async def ask(number: int) -> None:
        model = scripted([("whoami", {})], f"answer {number}")
        answers[number] = await answer(host, {"message": "who?", "user": f"user {number}"}, model=model)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(ask, number)
    for number, said in answers.items():
        assert said["content"] == f"answer {number}"
        assert said["tool_calls"][0]["result"]["content"] == [{"type": "text", "text": f"user {number}"}]


async def test_the_profile_and_read_only_mode_of_the_host_hold(host_with: Any, scripted: Any) -> None:
    @tool(run="inplace")
    def write() -> None:
        """Write."""
        raise NotImplementedError

    @tool(read_only=True, run="inplace", tags=["open"])
    def read() -> str:
        """Read."""
        return "read"

    profiles = {"guest": {"without": ["whoami"], "read_only": True}}
    host = await host_with(pegboard_chat.plugin, config={"profile": "guest", "profiles": profiles})
    host.add(whoami, write, read)
    model = scripted([("whoami", {}), ("write", {}), ("read", {})], "done")
    made = (await answer(host, {"message": "go", "user": "ada"}, model=model))["tool_calls"]
    codes = {call["name"]: (call["result"]["error"] or {}).get("code") for call in made}
    assert codes == {"whoami": "NOT_FOUND", "write": "FORBIDDEN", "read": None}
    assert [one["name"] for one in model.requests[0].export.definitions] == ["read"]


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ({}, "message"),
        ({"message": ""}, "message"),
        ({"message": 5}, "message"),
        ({"message": "x", "user": 5}, "user"),
        ({"message": "x", "user": "u" * 201}, "user"),
        ({"message": "x", "channel": ""}, "channel"),
        ({"message": "x", "channel": "a\nb"}, "channel"),
        ({"message": "x", "channel": None}, "channel"),
        ({"message": "x", "enable_tools": "yes"}, "enable_tools"),
        ({"message": "x", "model": "gpt"}, "model"),
        ("hello", ""),
        (None, ""),
    ],
)
async def test_a_wrong_request_is_refused_with_its_place(host: Any, request_: Any, where: str) -> None:
    with pytest.raises(ToolError) as caught:
        await answer(host, request_)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert [fault["path"] for fault in caught.value.details["faults"]] == [where]


async def test_all_faults_are_told_at_once(host: Any) -> None:
    with pytest.raises(ToolError) as caught:
        await answer(host, {"channel": 1, "user": 2, "message": 3, "enable_tools": 4, "more": 5})
    assert len(caught.value.details["faults"]) == 5


async def test_a_provider_that_fails_is_a_typed_error(host: Any, scripted: Any) -> None:
    problem = ModelError(ErrorCode.RATE_LIMITED, "fake: slow down", provider="fake", reason="limit")
    with pytest.raises(ModelError, match="slow down"):
        await answer(host, {"message": "go"}, model=scripted(problem))
    with pytest.raises(ConfigError, match="no provider"):
        await answer(host, {"message": "go"}, model="nope:model")


@settings(max_examples=100)
@given(
    request=st.dictionaries(
        st.sampled_from(["channel", "user", "message", "enable_tools", "x"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.text(max_size=2), max_size=2),
    )
)
def test_any_request_is_taken_or_refused_as_invalid(request: Any) -> None:
    """Whatever a service sends is four values of their types, or INVALID_INPUT with every fault."""
    problem: ToolError | None = None
    try:
        channel, user, message, enable_tools = _checked(request)
    except ToolError as raised:
        problem = raised
    if problem is not None:
        assert problem.code is ErrorCode.INVALID_INPUT
        assert problem.details["faults"]
    else:
        assert channel
        assert message.strip()
        assert isinstance(user, str)
        assert isinstance(enable_tools, bool)
