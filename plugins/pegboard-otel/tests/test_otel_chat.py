"""A question is one span, with each request to the model and each call below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pegboard import tool

pytest.importorskip("pegboard_chat", reason="pegboard_chat is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable


@tool(run="inplace")
def add(a: float, b: float) -> float:
    """Add."""
    return a + b


async def test_a_question_is_a_span_with_its_requests_and_calls_below(observed: Callable[..., Any]) -> None:
    from pegboard_chat import Chat, echo

    seen = await observed(add)
    async with Chat(seen.host.session(), echo.EchoModel()).ask('add {"a": 1, "b": 2}') as events:
        async for _ in events:
            pass
    spans = seen.exporter.get_finished_spans()
    (agent,) = [span for span in spans if span.name == "invoke_agent pegboard"]
    chats = [span for span in spans if span.name.startswith("chat ")]
    assert len(chats) == 2
    assert {span.parent.span_id for span in spans if span is not agent} == {agent.context.span_id}
    assert "execute_tool add" in {span.name for span in spans}
    told = dict(chats[0].attributes)
    assert told["gen_ai.operation.name"] == "chat"
    assert told["gen_ai.request.model"] == chats[0].name.removeprefix("chat ")
    assert told["gen_ai.usage.input_tokens"] >= 0
    total = sum(span.attributes["gen_ai.usage.output_tokens"] for span in chats)
    assert agent.attributes["gen_ai.usage.output_tokens"] == total
