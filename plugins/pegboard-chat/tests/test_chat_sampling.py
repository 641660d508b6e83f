"""The session's model for MCP servers that ask for it."""

from __future__ import annotations

import base64
import itertools
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import pegboard_chat.plugin
from pegboard import CallContext, ErrorCode, ImageContent, TextContent, ToolError, tool
from pegboard_chat import Budget, Chat, Message, ModelError, Reply, Stop, Usage
from pegboard_chat.budget import LEAST_TOKENS
from pegboard_chat.sampling import ChatSampler, request_of

HELLO = {"role": "user", "content": {"type": "text", "text": "hello"}}
PARAMS = {"messages": [HELLO], "maxTokens": 50, "systemPrompt": "Be kind.", "temperature": 0.5}

answers: list[Any] = []


@tool(read_only=True)
async def think(context: CallContext) -> str:
    """Ask the model behind the session."""
    sampler = context.session.sampler
    assert sampler is not None
    answers.append(await sampler(PARAMS))
    return str(answers[-1]["content"]["text"])


@pytest.fixture
async def host(host_with: Any) -> Any:
    answers.clear()
    host = await host_with(pegboard_chat.plugin)
    host.add(think)
    return host


async def test_a_tool_asks_the_model_of_the_chat(host: Any, scripted: Any, all_events: Any) -> None:
    session = host.session()
    model = scripted([("think", {})], "inner", "outer")
    chat = Chat(session, model)
    events = await all_events(chat.ask("go"))
    assert answers == [
        {
            "role": "assistant",
            "content": {"type": "text", "text": "inner"},
            "model": "fake:model",
            "stopReason": "endTurn",
        }
    ]
    inner = model.requests[1]
    assert (inner.export, inner.stream, inner.max_tokens, inner.temperature) == (None, False, 50, 0.5)
    assert inner.conversation.system == "Be kind."
    assert (events[-1].text, events[-1].usage) == ("outer", Usage(30, 15)), "it counts for the question"
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.sampler is None, "no question, no model"


async def test_a_sampler_of_somebody_else_comes_back(host: Any, scripted: Any) -> None:
    async def mine(params: Any) -> Any:
        raise NotImplementedError

    session = host.session()
    session.sampler = mine
    async with Chat(session, scripted("x")).ask("go"):
        assert session.sampler is not mine
    assert session.sampler is mine


async def test_a_sampler_that_was_put_there_meanwhile_stays(host: Any, scripted: Any) -> None:
    async def mine(params: Any) -> Any:
        raise NotImplementedError

    session = host.session()
    async with Chat(session, scripted("x")).ask("go"):
        session.sampler = mine
    assert session.sampler is mine


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_samplers_go_in_any_order_and_none_of_them_comes_back(host: Any, order: tuple[int, ...]) -> None:
    async def mine(params: Any) -> Any:
        raise NotImplementedError

    async def never(request: Any) -> Any:
        raise NotImplementedError

    session = host.session()
    session.sampler = mine
    samplers = [ChatSampler(never, f"fake:{number}") for number in range(3)]
    for sampler in samplers:
        sampler.put_on(session)
    left = [0, 1, 2]
    for number in order:
        samplers[number].take_off(session)
        left.remove(number)
        assert session.sampler is (samplers[left[-1]] if left else mine)


async def test_two_questions_on_one_session_are_answered_at_once(host: Any, scripted: Any, all_events: Any) -> None:
    def says(request: Any) -> Any:
        if request.export is None:
            return "inner"
        return "outer" if request.conversation.messages[-1].results else [("think", {})]

    session = host.session()
    chats = [Chat(session, scripted(says)) for _ in range(2)]
    async with trio.open_nursery() as nursery:
        for chat in chats:
            nursery.start_soon(all_events, chat.ask("go"))
    assert [len(chat.conversation.messages) for chat in chats] == [4, 4]
    assert all(chat.conversation.messages[2].results[0].ok for chat in chats)
    assert session.sampler is None


async def test_an_answer_that_was_cut_says_so(host: Any, scripted: Any, all_events: Any) -> None:
    cut = Reply(Message("assistant", (TextContent("half"),)), (), Usage(), Stop.LENGTH)
    await all_events(Chat(host, scripted([("think", {})], cut, "outer")).ask("go"))
    assert answers[0]["stopReason"] == "maxTokens"


@pytest.mark.parametrize("budget", [Budget(max_tokens=15), Budget(max_rounds=2)])
async def test_a_budget_that_is_used_up_refuses(host: Any, scripted: Any, all_events: Any, budget: Budget) -> None:
    @tool(read_only=True)
    async def twice(context: CallContext) -> str:
        """Ask twice."""
        await context.session.sampler(PARAMS)  # type: ignore[misc]
        await context.session.sampler(PARAMS)  # type: ignore[misc]
        return "never"  # pragma: no cover

    host.add(twice)
    small = scripted([("twice", {})], "inner", "outer", usage=Usage(5, 5))
    chat = Chat(host, small, budget=budget)
    events = await all_events(chat.ask("go"))
    error = chat.conversation.messages[2].results[0].error
    assert (error.code, error.details["reason"]) == (ErrorCode.FORBIDDEN, "budget")
    assert events[-1].reason in ("max_tokens", "max_rounds")


async def test_the_last_call_that_may_be_made_does_not_hide_that_tokens_are_used_up(
    host: Any, scripted: Any, all_events: Any
) -> None:
    model = scripted([("think", {})], "inner", usage=Usage(5, 5))
    chat = Chat(host, model, budget=Budget(max_tool_calls=1, max_tokens=5))
    events = await all_events(chat.ask("go"))
    assert [request.max_tokens for request in model.requests] == [LEAST_TOKENS, LEAST_TOKENS], "none is the server's"
    assert chat.conversation.messages[2].results[0].error.details["budget"] == "max_tokens"
    assert events[-1].reason == "max_tokens"


async def test_questions_of_many_tools_at_once_are_counted_before_they_are_answered(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    async def slow(request: Any) -> str:
        await trio.sleep(1)
        return "inner"

    model = scripted([("think", {})] * 9, slow)
    chat = Chat(host, model, budget=Budget(max_tool_calls=9, max_rounds=4))
    await all_events(chat.ask("go"))
    results = chat.conversation.messages[2].results
    assert [result.ok for result in results].count(True) == 2, "which two, trio decides"
    assert len(results) == 9
    assert len(model.requests) == 4


async def test_a_server_gets_no_more_tokens_than_the_question_has_left(
    host: Any, scripted: Any, all_events: Any
) -> None:
    @tool(read_only=True)
    async def ponder(context: CallContext) -> str:
        """Ask for much."""
        answer = await context.session.sampler({**PARAMS, "maxTokens": 4_096})  # type: ignore[misc]
        return str(answer["content"]["text"])

    host.add(ponder)
    model = scripted([("ponder", {})], "inner", "outer")
    await all_events(Chat(host, model, budget=Budget(max_tokens=2_015)).ask("go"))
    assert [request.max_tokens for request in model.requests] == [2_015, 2_000, 1_985]


async def test_a_model_that_fails_fails_the_tool_alone(host: Any, scripted: Any, all_events: Any) -> None:
    problem = ModelError(ErrorCode.UPSTREAM_ERROR, "fake: overloaded", provider="fake", reason="server")
    chat = Chat(host, scripted([("think", {})], problem, "outer"))
    events = await all_events(chat.ask("go"))
    assert chat.conversation.messages[2].results[0].error.code is ErrorCode.UPSTREAM_ERROR
    assert events[-1].text == "outer"


def test_images_go_to_the_model() -> None:
    image = {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"}
    request = request_of({"messages": [{"role": "user", "content": [image, HELLO["content"]]}]})
    assert request.conversation.messages[0].content == (ImageContent(b"png"), TextContent("hello"))
    assert request.max_tokens is not None


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}, "messages[0]"),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": {"type": "video"}}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": {"type": "image", "data": "%", "mimeType": "x"}}]}, "content"),
        ({"messages": [{"role": "user", "content": "hello"}]}, "content"),
        ({"messages": [{"role": "assistant", "content": HELLO["content"]}]}, "the last one"),
        ({**PARAMS, "maxTokens": 0}, "maxTokens"),
        ({**PARAMS, "systemPrompt": 5}, "systemPrompt"),
        ({**PARAMS, "temperature": "hot"}, "temperature"),
    ],
)
def test_what_is_not_a_request_is_refused_with_its_place(params: Any, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        request_of(params)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert says in caught.value.message


@settings(max_examples=100)
@given(
    params=st.recursive(
        st.none() | st.integers(-1, 3) | st.sampled_from(["user", "text", "image", "x"]),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(["messages", "role", "content", "type", "text", "data", "maxTokens"]), inner
            )
            | st.lists(inner, max_size=3)
        ),
        max_leaves=10,
    ).filter(lambda value: isinstance(value, dict))
)
def test_any_parameters_are_a_request_or_a_typed_error(params: Any) -> None:
    """Whatever a server sends becomes a request whose last word is the user's, or INVALID_INPUT."""
    problem: ToolError | None = None
    try:
        request = request_of(params)
    except ToolError as raised:
        problem = raised
    if problem is not None:
        assert problem.code is ErrorCode.INVALID_INPUT
    else:
        assert request.conversation.messages[-1].role == "user"
