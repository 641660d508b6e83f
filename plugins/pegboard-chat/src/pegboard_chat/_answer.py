"""A question from elsewhere: another plugin, a service, a message of a chat room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Fault, ToolCall, ToolError
from pegboard_chat.events import CallEnded, CallStarted, ChatEnded, RoundEnded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Host
    from pegboard_chat.contract import Model

MAX_MESSAGE = 1_000_000
"""Characters."""
MAX_WORD = 200

_MEMBERS = ("channel", "user", "message", "enable_tools")


async def answer(host: Host, request: Mapping[str, Any], *, model: Model | str | None = None) -> dict[str, Any]:
    """Answer one message with the board's tools.

    Args:
        host: whose tools and settings.
        request: `{"channel", "user", "message", "enable_tools"}`: how the message came (a word, for the audit), who
            sent it (null or blank: nobody), its text, and whether tools may be called (true, where it is missing).
            Only `message` is required. Who calls says who the user is; what the message says of it counts for nothing.
        model: an open model, `provider:model`, or None: the model of the configuration.

    Returns:
        `{"content", "tool_calls", "usage"}`: the answer's text; the calls in the order they ended, each
        `{"id", "name", "arguments", "result"}` with the result as a line of `batch`, and null for arguments that were

               not a JSON object; and
        `{"input_tokens", "output_tokens", "cached_tokens", "cost", "reason"}`, where `reason` is the budget that cut it
        short, or null.

    Raises:
        ToolError: INVALID_INPUT: the request is not valid; `details["faults"]` lists everything that is wrong with it.
        ModelError: the provider did not answer.
        ConfigError: no such model, or none is ready.

    .. versionadded:: 0.1
    """
    channel, user, message, enable_tools = _checked(request)
    if model is None or isinstance(model, str):
        from pegboard_chat.models import open_model

        async with open_model(host, model) as opened:
            return await _answered(host, opened, channel, user, message, enable_tools)
    return await _answered(host, model, channel, user, message, enable_tools)


async def _answered(
    host: Host, model: Model, channel: str, user: str, message: str, enable_tools: bool
) -> dict[str, Any]:
    from pegboard_chat.loop import Chat

    chat = Chat(host.session(user_id=user, channel=channel), model, tools=None if enable_tools else (), stream=False)
    asked: dict[str, Any] = {}
    made: list[dict[str, Any]] = []
    ended: ChatEnded | None = None
    async with chat.ask(message) as events:
        async for event in events:
            if isinstance(event, RoundEnded):
                asked = {call.id: call.arguments for call in event.reply.calls if isinstance(call, ToolCall)}
            elif isinstance(event, CallStarted):  # of a tool that was called through another, its own
                asked[event.call.id] = event.call.arguments
            elif isinstance(event, CallEnded):
                result = event.result
                made.append(
                    {
                        "id": result.id,
                        "name": result.name,
                        "arguments": asked.pop(result.id, None),
                        "result": result.to_json(),
                    }
                )
            elif isinstance(event, ChatEnded):
                ended = event
    assert ended is not None, "a question that raises nothing ends"
    usage = {**ended.usage.to_json(), "cost": ended.cost, "reason": ended.reason}
    return {"content": ended.text, "tool_calls": made, "usage": usage}


def _checked(request: Any) -> tuple[str, str, str, bool]:
    """The members of a request: channel, user, message, enable_tools."""
    if not hasattr(request, "keys"):
        raise _invalid([Fault((), "an object with a message", type(request).__name__)])
    faults = [
        Fault((str(key)[:60],), f"one of {', '.join(_MEMBERS)}", "another member")
        for key in request.keys() - set(_MEMBERS)
    ]
    channel = request.get("channel", "program")
    if not isinstance(channel, str) or not 0 < len(channel) <= MAX_WORD or not channel.isprintable():
        faults.append(Fault(("channel",), f"a word of at most {MAX_WORD} characters", _got(channel)))
    user = request.get("user")
    if user is not None and (not isinstance(user, str) or len(user) > MAX_WORD):
        faults.append(Fault(("user",), f"a text of at most {MAX_WORD} characters, or null", _got(user)))
    message = request.get("message")
    if not isinstance(message, str) or not message.strip() or len(message) > MAX_MESSAGE:
        faults.append(Fault(("message",), f"a text of 1 to {MAX_MESSAGE} characters", _got(message)))
    enable_tools = request.get("enable_tools", True)
    if not isinstance(enable_tools, bool):
        faults.append(Fault(("enable_tools",), "true or false", _got(enable_tools)))
    if faults:
        raise _invalid(faults)
    return channel, user or "", message, enable_tools


def _got(value: Any) -> str:
    if isinstance(value, str):
        return f"a text of {len(value)} characters" if value.strip() else "a blank text"
    return "nothing" if value is None else type(value).__name__


def _invalid(faults: list[Fault]) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_INPUT,
        "the request is wrong: " + "; ".join(map(str, faults[:10])),
        faults=[fault.to_json() for fault in faults[:50]],
    )
