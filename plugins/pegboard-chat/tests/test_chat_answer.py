"""A question from elsewhere: `{channel, user, message, enable_tools}` in, `{content, tool_calls, usage}` out."""

from __future__ import annotations

from typing import Any

import pytest
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
    assert refused["arguments"] is None


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


@settings(max_examples=100, deadline=None)
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
