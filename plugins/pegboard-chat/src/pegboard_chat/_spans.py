"""What a chat does as observers hear it, by OpenTelemetry's conventions for GenAI: names, tokens, and no content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_chat._replies import reply_of

if TYPE_CHECKING:
    from pegboard import Host
    from pegboard_chat.contract import Model, ModelRequest, Reply
    from pegboard_chat.conversation import Usage
    from pegboard_chat.events import Events

_PROVIDERS = {"gemini": "gcp.gemini"}
"""Providers that the conventions call otherwise."""


async def observed_reply(
    host: Host, model: Model, request: ModelRequest, events: Events | None = None, received: list[str] | None = None
) -> Reply:
    """`reply_of`, as a span.

    Raises:
        ModelError: as `reply_of`.
    """
    told = {"gen_ai.operation.name": "chat", **model_told(model)}
    with host.span(f"chat {told['gen_ai.request.model']}", "client", told) as ended:
        reply = await reply_of(model, request, events, received)
        ended |= {**usage_told(reply.usage), "gen_ai.response.finish_reasons": (reply.stop.value,)}
        return reply


def model_told(model: Model) -> dict[str, Any]:
    """Which model it is."""
    provider, _, name = model.name.partition(":")
    return {"gen_ai.provider.name": _PROVIDERS.get(provider, provider), "gen_ai.request.model": name or provider}


def usage_told(usage: Usage) -> dict[str, Any]:
    """What it cost, in tokens."""
    told = {"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens}
    return {**told, "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens} if usage.cached_tokens else told
