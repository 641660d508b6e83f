"""llmock plays the providers: it calls tools that are offered, breaks on demand, and judges the client afterwards."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from pegboard import ErrorCode
from pegboard_chat import CallEnded, ChatEnded, ModelError, RoundEnded, Stop, TextDelta

PATHS = {
    "openai": "/v1",
    "openai-responses": "/v1",
    "anthropic": "/anthropic",
    "cohere": "/cohere",
    "gemini": "/gemini",
}
STREAMED = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
ASKS_IN_VAIN = {"truncated_stream_accepted", "malformed_chunk_ignored", "gave_up"}
"""What it also says of a client that reports a broken answer and does not ask again by itself, as ours does."""

every_provider = pytest.mark.parametrize("provider", PATHS)
streamed_or_not = pytest.mark.parametrize("stream", STREAMED)


def of(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def script(llmock: Any, *behaviors: dict[str, Any]) -> None:
    llmock.tell("/_llmock/scenario", {"behaviors": list(behaviors)})


def verdict(llmock: Any) -> set[str]:
    """What it has against the client."""
    findings = llmock.tell("/_llmock/verdict", method="GET")["findings"]
    return {finding["code"] for finding in findings} - ASKS_IN_VAIN


@every_provider
@streamed_or_not
async def test_a_tool_is_called_and_its_result_is_answered(llmock, reach, heard, provider, stream) -> None:
    calls = [{"name": "calculator", "arguments": {"expression": "19 * 23"}}]
    script(llmock, {"type": "reply", "tool_calls": calls})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator", "get_time", stream=stream)
        events = await heard(chat, "Please calculate 19 * 23.")
    (ended,) = of(CallEnded, events)
    assert ended.result.ok
    assert "437" in str(reached.wire.sent[1].body), "the result was not sent"
    asked, told = of(RoundEnded, events)
    assert (asked.reply.stop, told.reply.stop) == (Stop.CALLS, Stop.END)
    over = events[-1]
    assert isinstance(over, ChatEnded)
    assert over.text == chat.conversation.last_text != ""
    assert over.usage.input_tokens > 0
    assert over.usage.output_tokens > 0
    assert "".join(delta.text for delta in of(TextDelta, events)) == (over.text if stream else "")
    assert not verdict(llmock)


@every_provider
@streamed_or_not
async def test_several_calls_of_one_turn_are_all_answered_in_their_order(
    llmock, reach, heard, provider, stream
) -> None:
    calls = [{"name": "calculator", "arguments": {"expression": f"{at} * 1000"}} for at in (3, 1, 2)]
    script(llmock, {"type": "reply", "text": "Let me see.", "tool_calls": calls})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator", stream=stream)
        events = await heard(chat, "Please calculate.")
    _, turn, answers, answer = chat.conversation.messages
    assert turn.text == "Let me see."
    assert [call.arguments["expression"] for call in turn.calls] == ["3 * 1000", "1 * 1000", "2 * 1000"]
    assert [result.id for result in answers.results] == [call.id for call in turn.calls]
    assert len({call.id for call in turn.calls}) == 3
    assert all(result.ok for result in answers.results)
    assert answer.text
    assert len(of(CallEnded, events)) == 3
    assert [text in str(reached.wire.sent[1].body) for text in ("3000", "1000", "2000")] == [True] * 3


@every_provider
async def test_a_hundred_calls_of_one_turn_are_all_answered_and_few_run(llmock, reach, heard, provider) -> None:
    calls = [{"name": "calculator", "arguments": {"expression": f"{at} + 1000"}} for at in range(100)]
    script(llmock, {"type": "reply", "tool_calls": calls})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator")
        events = await heard(chat, "Please calculate.")
    results = chat.conversation.messages[2].results
    assert [result.id for result in results] == [call.id for call in chat.conversation.messages[1].calls]
    assert [result.ok for result in results] == [True] * 5 + [False] * 95
    assert len(of(CallEnded, events)) == 100
    assert events[-1].reason == "max_tool_calls"
    assert events[-1].text


@every_provider
async def test_arguments_of_ten_megabytes_are_refused_and_do_not_go_back(llmock, reach, heard, provider) -> None:
    calls = [{"name": "calculator", "arguments": {"expression": "1" * 10_000_000}}]
    script(llmock, {"type": "reply", "tool_calls": calls})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator", stream=False)
        events = await heard(chat, "Please calculate.")
    (ended,) = of(CallEnded, events)
    assert ended.result.error.code is ErrorCode.INVALID_INPUT
    assert events[-1].text
    assert len(str(reached.wire.sent[1].body)) < 1_000_000


@every_provider
@streamed_or_not
@pytest.mark.parametrize(
    ("fault", "code"),
    [("malformed_arguments", ErrorCode.INVALID_INPUT), ("unknown_tool", ErrorCode.FORBIDDEN)],
)
async def test_a_broken_call_is_answered_with_an_error_that_goes_back(
    llmock, reach, heard, provider, stream, fault, code
) -> None:
    script(llmock, {"type": "tool_fault", "kind": fault})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator", stream=stream)
        events = await heard(chat, "Please calculate.")
    first = of(CallEnded, events)[0].result
    assert not first.ok
    assert first.error.code is code
    assert isinstance(events[-1], ChatEnded)
    assert not chat.conversation.open_calls
    assert len(reached.wire.sent) >= 2, "the model was not told"


@every_provider
@streamed_or_not
async def test_a_limit_is_waited_for_as_long_as_it_says(llmock, reach, heard, provider, stream) -> None:
    script(llmock, {"type": "fail", "status": 429, "retry_after": 0.15})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        events = await heard(reached.chat(stream=stream), "Hello?")
    assert events[-1].text
    assert len(reached.wire.sent) == 2
    assert not verdict(llmock)


@every_provider
async def test_a_server_that_fails_once_is_asked_again(llmock, reach, heard, provider) -> None:
    script(llmock, {"type": "fail", "status": 500})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        events = await heard(reached.chat(), "Hello?")
    assert events[-1].text
    assert len(reached.wire.sent) == 2
    assert not verdict(llmock)


@every_provider
async def test_a_server_that_fails_for_good_is_asked_a_few_times_and_then_said(llmock, reach, heard, provider) -> None:
    script(llmock, {"type": "fail", "status": 429, "retry_after": 0.05, "times": None})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat()
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
        assert caught.value.code is ErrorCode.RATE_LIMITED
        assert caught.value.details["status"] == 429
        assert caught.value.details["reason"] == "limit"
        assert 1 < len(reached.wire.sent) <= 5
        llmock.tell("/_llmock/scenario", method="DELETE")
        assert (await heard(chat))[-1].text
    assert not verdict(llmock)


@every_provider
@streamed_or_not
@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (400, ErrorCode.INVALID_INPUT, "refused"),
        (401, ErrorCode.UNAUTHORIZED, "wrong_key"),
        (403, ErrorCode.FORBIDDEN, "wrong_key"),
        (404, ErrorCode.NOT_FOUND, "no_model"),
    ],
)
async def test_what_cannot_succeed_is_asked_once_and_said_with_what_to_do(
    llmock, reach, heard, provider, stream, status, code, reason
) -> None:
    script(llmock, {"type": "fail", "status": status})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat(stream=stream)
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
    error = caught.value
    assert (error.code, error.details["reason"], error.details["status"]) == (code, reason, status)
    assert error.details["provider"] == provider
    assert provider.partition("-")[0] in error.message.lower()
    assert "0123456789" not in f"{error.message} {error.details}", "a key"
    assert len(reached.wire.sent) == 1
    assert not verdict(llmock)


@every_provider
@pytest.mark.parametrize(
    ("kind", "reasons"),
    [
        ("disconnect", {"half_answer"}),
        ("truncate", {"half_answer"}),
        ("malformed", {"no_json", "half_answer"}),
    ],
)
async def test_a_stream_that_breaks_is_an_error_and_the_conversation_goes_on(
    llmock, reach, heard, provider, kind, reasons
) -> None:
    script(
        llmock,
        {"type": "stream_fault", "kind": kind, "after_chunks": 3},
        {"type": "reply", "text": "one two three four five six"},
    )
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat()
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
        assert caught.value.details["reason"] in reasons
        assert len(reached.wire.sent) == 1, "what was sent and may have been done was sent again"
        assert [message.role for message in chat.conversation.messages if message.cut is None] == ["user"]
        assert (await heard(chat))[-1].text
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant"]
    assert not verdict(llmock)


@pytest.mark.parametrize("provider", sorted(PATHS.keys() - {"gemini"}))  # there a call comes whole, with the end
@pytest.mark.parametrize("kind", ["disconnect", "truncate"])
async def test_a_stream_that_breaks_in_a_call_runs_no_tool(llmock, reach, heard, provider, kind) -> None:
    calls = [{"name": "calculator", "arguments": {"expression": "1 + 1"}}]
    script(llmock, {"type": "stream_fault", "kind": kind, "after_chunks": 3}, {"type": "reply", "tool_calls": calls})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator")
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Please calculate.")
    assert caught.value.details["reason"] == "half_answer"
    assert [message.role for message in chat.conversation.messages] == ["user"]


@every_provider
@pytest.mark.parametrize(
    "slow",
    [
        {"type": "slow_first_token", "seconds": 0.15},
        {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 0.15},
        {"type": "delay", "seconds": 0.15},
    ],
    ids=lambda slow: slow.get("kind", slow["type"]),
)
async def test_a_slow_answer_is_waited_for(llmock, reach, heard, provider, slow) -> None:
    script(llmock, slow, {"type": "reply", "text": "one two three four five six"})
    async with reach(provider, llmock.address + PATHS[provider]) as reached:
        events = await heard(reached.chat(), "Hello?")
    assert events[-1].text == "one two three four five six"
    assert len(reached.wire.sent) == 1


@every_provider
@pytest.mark.parametrize(
    ("stream", "slow"),
    [
        (True, {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 20}),
        (False, {"type": "delay", "seconds": 20}),
    ],
    ids=["in the middle of a stream", "before an answer"],
)
async def test_an_answer_that_hangs_ends_with_the_deadline_of_the_request(
    llmock, reach, heard, provider, stream, slow
) -> None:
    script(llmock, slow, {"type": "reply", "text": "one two three four five six"})
    address = llmock.address + PATHS[provider]
    with trio.fail_after(30):
        async with reach(provider, address, chat={"timeout_s": 0.4}) as reached:
            chat = reached.chat(stream=stream)
            with pytest.raises(ModelError) as caught:
                await heard(chat, "Hello?")
            assert caught.value.code is ErrorCode.TIMEOUT
            assert caught.value.details["reason"] == "timeout"
            with trio.fail_after(30):
                while reached.wire.connections:
                    await trio.sleep(0.01)
    assert [message.role for message in chat.conversation.messages if message.cut is None] == ["user"]


@every_provider
async def test_a_conversation_goes_through_every_provider_in_turn(llmock, reach, heard, provider) -> None:
    """From each provider to the next, calls and results and all; the order turns with the first."""
    names = list(PATHS)
    start = names.index(provider)
    conversation = None
    for at, name in enumerate([*names[start:], *names[:start]]):
        calls = [{"name": "calculator", "arguments": {"expression": f"{at} + 1000"}}]
        script(llmock, {"type": "reply", "text": "I calculate.", "tool_calls": calls})
        async with reach(name, llmock.address + PATHS[name]) as reached:
            chat = reached.chat("calculator", conversation=conversation, stream=bool(at % 2))
            events = await heard(chat, f"Please calculate number {at}.")
        assert of(CallEnded, events)[0].result.ok
        assert all(f"{1000 + earlier}" in str(reached.wire.sent[-1].body) for earlier in range(at + 1))
        conversation = chat.conversation
    assert len(conversation.messages) == 4 * len(names)
