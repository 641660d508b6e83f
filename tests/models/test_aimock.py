"""aimock plays the providers from one set of fixtures: the same conversation in every dialect, and chaos on demand."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from pegboard import ErrorCode
from pegboard_chat import CallEnded, ChatEnded, ModelError, RoundEnded, Stop, TextDelta, ThinkingDelta

PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "", "cohere": "", "gemini": ""}
STREAMED = [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]

CALL = {
    "match": {"userMessage": "calculate", "hasToolResult": False},
    "response": {
        "content": "Let me see.",
        "toolCalls": [
            {"name": "get_time", "arguments": {}},
            {"name": "calculator", "arguments": {"expression": "19 * 23"}},
        ],
    },
}
ANSWER = {
    "match": {"userMessage": "calculate", "hasToolResult": True, "toolResultContains": "437"},
    "response": {"content": "It is 437, and “late” – ¿no? 👍"},
}
HELLO = {"match": {"userMessage": "Hello"}, "response": {"content": "one two three four five six"}, "chunkSize": 5}
THOUGHT = {"match": {"userMessage": "Think"}, "response": {"content": "Done.", "reasoning": "Hm, hm, hm."}}

every_provider = pytest.mark.parametrize("provider", PATHS)
streamed_or_not = pytest.mark.parametrize("stream", STREAMED)


def of(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def script(aimock: Any, *fixtures: dict[str, Any], **chaos: float) -> None:
    aimock.tell("/__aimock/fixtures", {"fixtures": list(fixtures)})
    if chaos:
        aimock.tell("/__aimock/chaos", chaos)


@every_provider
@streamed_or_not
async def test_calls_and_their_results_come_to_an_answer(aimock, reach, heard, provider, stream) -> None:
    script(aimock, CALL, ANSWER)
    async with reach(provider, aimock.address + PATHS[provider]) as reached:
        chat = reached.chat("calculator", "get_time", stream=stream)
        events = await heard(chat, "Please calculate 19 * 23.")
    assert sorted(ended.result.name for ended in of(CallEnded, events)) == ["calculator", "get_time"]
    assert all(ended.result.ok for ended in of(CallEnded, events))
    asked, told = of(RoundEnded, events)
    assert asked.reply.stop is Stop.CALLS
    assert asked.reply.message.text == "Let me see."
    assert told.reply.stop is Stop.END
    over = events[-1]
    assert isinstance(over, ChatEnded)
    assert over.text == "It is 437, and “late” – ¿no? 👍"
    spoken = "".join(delta.text for delta in of(TextDelta, events))
    assert spoken == ("Let me see." + over.text if stream else "")
    assert len(reached.wire.sent) == 2


@pytest.mark.parametrize("provider", [name for name in PATHS if name != "cohere"])  # it says a thought as text there
@streamed_or_not
async def test_what_a_model_thinks_is_not_part_of_its_answer(aimock, reach, heard, provider, stream) -> None:
    script(aimock, THOUGHT, HELLO)
    async with reach(provider, aimock.address + PATHS[provider]) as reached:
        chat = reached.chat(stream=stream)
        events = await heard(chat, "Think of something.")
        assert events[-1].text == "Done."
        if stream:
            assert "".join(delta.text for delta in of(ThinkingDelta, events)) in ("Hm, hm, hm.", "")
        assert (await heard(chat, "Hello?"))[-1].text == "one two three four five six"


@every_provider
async def test_no_request_comes_before_the_time_that_a_refusal_names(aimock, reach, heard, provider) -> None:
    """Its 429 comes with a Retry-After of a second."""
    script(aimock, HELLO)
    aimock.tell("/__aimock/error", {"status": 429, "body": {"message": "not now"}})
    began = trio.current_time()
    async with reach(provider, aimock.address + PATHS[provider]) as reached:
        events = await heard(reached.chat(), "Hello?")
    assert events[-1].text == "one two three four five six"
    assert len(reached.wire.sent) == 2
    assert trio.current_time() - began >= 1


@every_provider
async def test_a_server_that_only_fails_is_given_up(aimock, reach, heard, provider) -> None:
    script(aimock, HELLO, dropRate=1)
    async with reach(provider, aimock.address + PATHS[provider]) as reached:
        chat = reached.chat()
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
        assert caught.value.code is ErrorCode.UPSTREAM_ERROR
        assert caught.value.details["status"] == 500
        assert 1 < len(reached.wire.sent) <= 5
        aimock.tell("/__aimock/chaos", method="DELETE")
        assert (await heard(chat))[-1].text == "one two three four five six"


@every_provider
@streamed_or_not
@pytest.mark.parametrize(
    ("chaos", "reasons"),
    [
        ({"malformedRate": 1}, {"no_json"}),
        ({"disconnectRate": 1}, {"half_answer"}),
    ],
    ids=["malformed", "disconnect"],
)
async def test_chaos_is_said_in_words_and_the_conversation_goes_on(
    aimock, reach, heard, provider, stream, chaos, reasons
) -> None:
    script(aimock, HELLO, **chaos)
    async with reach(provider, aimock.address + PATHS[provider]) as reached:
        chat = reached.chat(stream=stream)
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
        assert caught.value.details["reason"] in reasons
        assert caught.value.details["provider"] == provider
        assert "0123456789" not in str(caught.value), "a key"
        assert len(reached.wire.sent) == 1, "what was sent and may have been done was sent again"
        assert [message.role for message in chat.conversation.messages] == ["user"]
        aimock.tell("/__aimock/chaos", method="DELETE")
        assert (await heard(chat))[-1].text == "one two three four five six"


@every_provider
async def test_a_stream_that_ends_in_the_middle_is_half_an_answer(aimock, reach, heard, provider) -> None:
    script(aimock, {**HELLO, "latency": 20, "truncateAfterChunks": 4})
    async with reach(provider, aimock.address + PATHS[provider]) as reached:
        chat = reached.chat()
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
    assert caught.value.details["reason"] == "half_answer"
    assert sum(reached.wire.answered) > 100, "it was to break after the first words"
    said = [(message.role, message.cut) for message in chat.conversation.messages]
    kept = [] if provider == "openai-responses" else [("assistant", "half_answer")]  # its first events hold no text
    assert said == [("user", None), *kept]


@every_provider
async def test_a_slow_drip_arrives_piece_by_piece_as_it_comes(aimock, reach, provider) -> None:
    script(aimock, {**HELLO, "latency": 40}, latencyMs=100)
    times = []
    async with reach(provider, aimock.address + PATHS[provider]) as reached, reached.chat().ask("Hello?") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                times.append(trio.current_time())
    assert len(times) == 6
    assert times[-1] - times[0] >= 0.05, "the pieces were held back"


@every_provider
async def test_a_drip_that_never_ends_ends_with_the_deadline(aimock, reach, heard, provider) -> None:
    script(aimock, {**HELLO, "latency": 300, "chunkSize": 1})
    async with reach(provider, aimock.address + PATHS[provider], chat={"timeout_s": 0.4}) as reached:
        with trio.fail_after(30), pytest.raises(ModelError) as caught:
            await heard(reached.chat(), "Hello?")
    assert caught.value.code is ErrorCode.TIMEOUT
    assert len(reached.wire.sent) == 1
