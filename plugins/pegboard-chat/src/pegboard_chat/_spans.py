"""What a chat does as observers hear it, by OpenTelemetry's conventions for GenAI: names, tokens, and no content."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pegboard import freeze
from pegboard_chat._replies import reply_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    name, told = _request_told(model.name)
    with host.span(name, "client", told) as ended:
        reply = await reply_of(model, request, events, received)
        ended.update(usage_told(reply.usage))
        ended["gen_ai.response.finish_reasons"] = (reply.stop.value,)
        return reply


@lru_cache(maxsize=64)
def _request_told(name: str) -> tuple[str, Mapping[str, Any]]:
    """The name of a request's span and what it says of the model of that name: every round of a chat needs it."""
    told = {"gen_ai.operation.name": "chat", **model_told(name)}
    return f"chat {told['gen_ai.request.model']}", freeze(told)


def model_told(name: str) -> dict[str, Any]:
    """Which model it is, by its name."""
    provider, _, model = name.partition(":")
    return {"gen_ai.provider.name": _PROVIDERS.get(provider, provider), "gen_ai.request.model": model or provider}


def usage_told(usage: Usage) -> dict[str, Any]:
    """What it cost, in tokens."""
    told = {"gen_ai.usage.input_tokens": usage.input_tokens, "gen_ai.usage.output_tokens": usage.output_tokens}
    return {**told, "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens} if usage.cached_tokens else told
