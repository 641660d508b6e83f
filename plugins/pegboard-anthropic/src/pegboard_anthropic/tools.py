"""The tool `claude_conversation`: a question to a model, of which the caller knows nothing but the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

from pegboard import Example, Tool, ToolResult, tool
from pegboard.schema import MaxLen, Pattern

if TYPE_CHECKING:
    from pegboard_anthropic.provider import AnthropicProvider

TIMEOUT_S = 120.0
MAX_MESSAGE = 200_000
"""Characters; some 50,000 tokens."""
MAX_MODEL = 200
SILENT = "The model answered without text."
REFUSED = "The model refused to answer."
CUT = "[The answer was cut at the limit of output tokens.]"


class Answered(TypedDict):
    """Which model answered, why it stopped, and what it cost in tokens."""

    model: str
    stop: Literal["end", "calls", "length", "refused", "other"]
    usage: dict[str, int]


def make_tools(provider: AnthropicProvider) -> tuple[Tool, ...]:
    """Make `claude_conversation`; it is registered without a key too, and then says what to set.

    Args:
        provider: opens the model that is asked.

    .. versionadded:: 0.1
    """

    @tool(
        title="Ask Claude",
        category="ai",
        tags=("ai", "model", "network"),
        destructive=False,  # but not read-only: each call spends money
        open_world=True,
        parallel=True,
        timeout_s=TIMEOUT_S,
        rate_limit="30/minute",
        concurrency=4,
        examples=(
            Example({"message": "Name three rivers of France."}, "a question"),
            Example(
                {"message": "To be, or not to be", "system_prompt": "Translate into German."}, "with a system prompt"
            ),
        ),
    )
    async def claude_conversation(
        message: Annotated[str, MaxLen(MAX_MESSAGE), Pattern(r"\S")],
        model: Annotated[str, MaxLen(MAX_MODEL)] | None = None,
        system_prompt: Annotated[str, MaxLen(MAX_MESSAGE)] | None = None,
    ) -> Annotated[ToolResult, Answered]:
        """Ask a Claude model of Anthropic and get its answer. Each call is paid for by tokens.

        The model sees the message and the system prompt alone: no tools, nothing of this conversation and nothing of
        earlier calls.

        Args:
            message: what to ask, with everything that the model has to know.
            model: the model's name; leave it out for the one that is set up.
            system_prompt: what the model is told before the message.
        """
        from pegboard_chat import Conversation, ModelRequest, Reply, Stop

        conversation = Conversation(system_prompt).ask(message)
        request = ModelRequest(conversation, stream=False)
        async with provider.open(model) as asked, asked.respond(request) as stream:
            replies = [item async for item in stream if isinstance(item, Reply)]
        reply = replies[-1]
        text = reply.message.text or (REFUSED if reply.stop is Stop.REFUSED else SILENT)
        if reply.stop is Stop.LENGTH:
            text = f"{text}\n{CUT}"
        data: Answered = {
            "model": asked.name.partition(":")[2],
            "stop": reply.stop.value,
            "usage": dict(reply.usage.to_json()),
        }
        return ToolResult.text(text, data=data)

    return (claude_conversation,)
