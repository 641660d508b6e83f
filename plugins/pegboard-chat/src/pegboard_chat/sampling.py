"""The session's model for others: MCP servers that ask for an answer while they run (`sampling/createMessage`).

A chat puts a sampler on its session while it answers a question. Who asks it has asked the person first. What it costs
counts against the budgets of the question that is being answered, as a request of its own that may write what is left;
where one is used up, it refuses. It offers no tools, stops at no sequences (providers differ in them), and what it says
is in no conversation of the chat.

Shapes: https://modelcontextprotocol.io/specification, "Sampling".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Retry, ToolError, ToolResult
from pegboard_chat.contract import ModelRequest, Stop
from pegboard_chat.conversation import Conversation, Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard import Content, Sampler, Session
    from pegboard_chat.contract import Reply

MAX_TOKENS = 4_096
"""Of an answer for which nobody said a bound."""

_STOPS = {Stop.LENGTH: "maxTokens", Stop.END: "endTurn"}


class ChatSampler:
    """The sampler of one question.

    Questions of several chats may be under way on one session: the one that was asked last answers. One that is over
    leaves those of the others where they are, and never comes back.

    Args:
        ask: sends one request, and counts what it costs; raises a `ToolError` where a budget is used up.
        model: `provider:model`, which the answers name.
    """

    def __init__(self, ask: Callable[[ModelRequest], Awaitable[Reply]], model: str) -> None:
        self._ask = ask
        self._model = model
        self._before: Sampler | None = None

    async def __call__(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer `sampling/createMessage`."""
        reply = await self._ask(request_of(params))
        stop = _STOPS.get(reply.stop, reply.stop.value)
        content = {"type": "text", "text": reply.message.text}
        return {"role": "assistant", "content": content, "model": self._model, "stopReason": stop}

    def put_on(self, session: Session) -> None:
        """Answer for this session from now on."""
        self._before, session.sampler = session.sampler, self

    def take_off(self, session: Session) -> None:
        """Answer no more; what was there before comes back, unless another has been put there since."""
        if session.sampler is self:
            session.sampler = self._before
            return
        above = session.sampler
        while isinstance(above, ChatSampler):
            if above._before is self:
                above._before = self._before
            above = above._before


def request_of(params: Mapping[str, Any]) -> ModelRequest:
    """The parameters of `sampling/createMessage` as a request.

    Raises:
        ToolError: INVALID_INPUT: they are not valid.
    """
    given = params.get("messages")
    if not isinstance(given, list) or not given:
        raise _invalid("messages: expected a list of at least one message")
    system = params.get("systemPrompt")
    if system is not None and not isinstance(system, str):
        raise _invalid("systemPrompt: expected a text")
    messages = tuple(_message(one, f"messages[{index}]") for index, one in enumerate(given))
    if messages[-1].role != "user":
        raise _invalid("messages: expected the last one to be the user's")
    tokens, temperature = params.get("maxTokens", MAX_TOKENS), params.get("temperature")
    if type(tokens) is not int or tokens < 1:
        raise _invalid("maxTokens: expected a positive integer")
    if temperature is not None and type(temperature) not in (int, float):
        raise _invalid("temperature: expected a number")
    return ModelRequest(
        Conversation(system, messages), stream=False, max_tokens=tokens, temperature=temperature, tool_choice="none"
    )


def _message(given: Any, place: str) -> Message:
    match given:
        case {"role": "user" | "assistant" as role, "content": content}:
            blocks = content if isinstance(content, list) else [content]
            return Message(role, tuple(_block(block, place) for block in blocks))
    raise _invalid(f"{place}: expected a role, user or assistant, and content")


def _block(given: Any, place: str) -> Content:
    if not isinstance(given, dict) or given.get("type") not in ("text", "image", "audio"):
        raise _invalid(f"{place}.content: expected text, an image or audio")
    try:
        return ToolResult.from_json({"content": [given]}).content[0]
    except ValueError:
        raise _invalid(f"{place}.content: expected text, an image or audio") from None


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_INPUT, message)


def over_budget(reason: str) -> ToolError:
    """What a server reads that asks for an answer when a budget is used up."""
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"the question that is being answered has used up its budget ({reason}): the model is not asked",
        reason="budget",
        budget=reason,
        executed=False,
        retry=Retry.NEVER.value,
    )
