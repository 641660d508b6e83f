"""What becomes of a reply before it goes into a conversation: whole, with ids of its own, every call answered.

No session and no event loop are needed for it, but to ask (`reply_of`).
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry, TextContent, Tool, ToolCall, ToolDefinitionError, ToolError, ToolResult
from pegboard_chat.contract import ModelError, Reply, Stop, TextDelta
from pegboard_chat.conversation import Conversation, Message, Usage, own_id
from pegboard_chat.portable.calls import INVALID_JSON, draw_id, refused
from pegboard_chat.wire.faults import TOOL_USE_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pegboard import Host
    from pegboard_chat.contract import Model, ModelDialect, ModelRequest
    from pegboard_chat.events import Events

AT_ONCE = 100
"""Tools that are compiled at once, to see what all of them cost."""


async def reply_of(
    model: Model, request: ModelRequest, events: Events | None = None, received: list[str] | None = None
) -> Reply:
    """Ask, and give the pieces of the answer on as they come; `heard` gets its texts.

    Raises:
        ModelError: the provider did not answer.
    """
    reply: Reply | None = None
    async with model.respond(request) as stream:
        async for piece in stream:
            if isinstance(piece, Reply):
                reply = piece
            elif events is not None:
                if received is not None and isinstance(piece, TextDelta):
                    received.append(piece.text)
                events.put(piece)
                if events.is_full:
                    await events.room()
    if reply is None or len(reply.calls) != len(reply.message.calls):
        raise ModelError(
            ErrorCode.UPSTREAM_ERROR,
            f"{model.name} gave no whole answer; ask again",
            provider=model.name.partition(":")[0],
            reason="half_answer",
        )
    return reply


def tools_called(conversation: Conversation) -> list[Tool]:
    """A tool for each name that a conversation calls, for providers that want them defined where none is offered."""
    names = dict.fromkeys(call.name for message in conversation.messages for call in message.calls)
    tools: list[Tool] = []
    for name in names:
        with contextlib.suppress(ToolDefinitionError):  # a model may call anything a tool
            tools.append(Tool(name=name, handler=_not_called, description="It cannot be called any more."))
    return tools


async def _not_called(**arguments: Any) -> None:
    """Stands for a tool that is called no more."""


def definitions(dialect: ModelDialect, tools: Sequence[Tool]) -> Iterator[Any]:
    """The definitions of the tools, some at a time: of thousands not all are compiled to see that they are too many."""
    for start in range(0, len(tools), AT_ONCE):
        yield from dialect.export(tools[start : start + AT_ONCE]).definitions


def says_something(message: Message) -> bool:
    return any(not isinstance(block, TextContent) or block.text for block in message.content)


def closed(conversation: Conversation) -> Conversation:
    """The conversation with an answer to every call at its end that has none."""
    calls = conversation.open_calls
    if not calls:
        return conversation
    return conversation.add(Message("tool", results=tuple(error_of(left_error(), call) for call in calls)))


def error_of(error: ToolError, call: ToolCall) -> ToolResult:
    return attrs.evolve(ToolResult.of_error(error), id=call.id, name=call.name)


def without_a_cut_call(reply: Reply) -> Reply:
    """The reply with an error for a call that the limit of output tokens cut before it had any arguments.

    Such a call looks like one without arguments, and a tool that needs none would run as nobody meant it.
    """
    last = reply.calls[-1] if reply.calls and reply.stop is Stop.LENGTH else None
    if not isinstance(last, ToolCall) or last.arguments:
        return reply
    error = ToolError(ErrorCode.INVALID_INPUT, "the call ended before its arguments", reason="truncated")
    return attrs.evolve(reply, calls=(*reply.calls[:-1], error_of(error, last)))


def misspoken(problem: ModelError, request: ModelRequest, model: str) -> Reply | None:
    """A call that the provider could not read, as a reply whose call is answered: the model writes it anew.

    None: that is not what went wrong. Source: https://console.groq.com/docs/tool-use, `tool_use_failed`.
    """
    written = problem.details.get("failed_generation")
    if written is None or request.export is None:
        return None
    named = [alias for alias in request.export.aliases if re.search(rf"(?<!\w){re.escape(alias)}(?!\w)", written)]
    name = request.export.aliases[max(named, key=len)] if named else "unknown_tool"
    call = ToolCall(draw_id(), name, {INVALID_JSON: written})
    why = (
        "this call could not be read. Call one of the tools that are offered, with arguments as its schema says, and "
        "nothing around them"
    )
    message = Message("assistant", calls=(call,), model=model)
    return Reply(message, (refused(call.id, name, why, reason=TOOL_USE_FAILED),), Usage(), Stop.CALLS)


def with_advice(result: ToolResult) -> ToolResult:
    """The error of a call that was cut in the middle, with what to do about it."""
    if result.error is None:
        return result
    message = f"{result.error.message}; it was cut at the limit of output tokens: write a shorter call"
    error = ToolError(result.error.code, message, {**result.error.details, "cut": True})
    return attrs.evolve(ToolResult.of_error(error), id=result.id, name=result.name)


def left_error() -> ToolError:
    return ToolError(
        ErrorCode.OUTCOME_UNKNOWN, "the conversation was left before the call was answered; it may have run"
    )


def never_error() -> ToolError:
    return ToolError(
        ErrorCode.FORBIDDEN,
        "the conversation was left before the call began: it did not run",
        reason="left",
        executed=False,
        retry=Retry.SAME.value,
    )


def time_error(seconds: float) -> ToolError:
    return ToolError(
        ErrorCode.TIMEOUT,
        f"this question may take {seconds:g} s and they are over; the call was ended and may have run in part; "
        "answer with what is known",
        reason="budget",
        budget="max_seconds",
    )


def refusal_of(message: str, reason: str) -> ToolError:
    return ToolError(ErrorCode.FORBIDDEN, message, reason=reason, executed=False, retry=Retry.CHANGED.value)


def sendable(reply: Reply, host: Host, taken: set[str]) -> Reply:
    """The reply as it can be sent back: an id of its own for each call, and none larger than the host reads.

    Where that changes a call the provider's raw turn is dropped, and its dialect builds another.

    Args:
        taken: the ids of the calls before it.
    """
    calls = reply.message.calls
    if not calls:
        return reply
    most = host.board.config.core.max_arguments_bytes
    ids = {call.id for call in calls}
    large = {index for index, call in enumerate(calls) if len(repr(call.arguments)) > most}
    if len(ids) == len(calls) and "" not in ids and ids.isdisjoint(taken) and not large:
        return reply
    said: list[ToolCall] = []
    asked: list[ToolCall | ToolResult] = []
    for index, (written, call) in enumerate(zip(calls, reply.calls, strict=True)):
        name = own_id(written.id, taken, ids)
        if index in large:
            written = ToolCall(name, written.name, {"INVALID_JSON": f"(more than {most} characters)"})
            error = ToolError(
                ErrorCode.INVALID_INPUT, f"the arguments have more than {most} characters; write a shorter call"
            )
            call = ToolResult.of_error(error)
        said.append(attrs.evolve(written, id=name))
        asked.append(attrs.evolve(call, id=name, name=written.name))
    message = attrs.evolve(reply.message, calls=tuple(said), raw=None, dialect=None)
    return attrs.evolve(reply, message=message, calls=tuple(asked))


def leaf(problem: BaseException) -> BaseException:
    """What nurseries wrapped: the interrupt in it, else what is alone in it, else the group."""
    if not isinstance(problem, BaseExceptionGroup):
        return problem
    leaves = [leaf(one) for one in problem.exceptions]
    interrupts = [one for one in leaves if isinstance(one, KeyboardInterrupt)]
    return next(iter(interrupts), leaves[0] if len(leaves) == 1 else problem)
