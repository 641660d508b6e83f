"""What the answers of both APIs share: who gave one, what it cost, and text that can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode
from pegboard_chat import ModelError, Usage
from pegboard_chat.wire import tokens_of

if TYPE_CHECKING:
    from pegboard_chat import Message

_INPUT = ("prompt_tokens", "input_tokens")
_OUTPUT = ("completion_tokens", "output_tokens")
_DETAILS = ("prompt_tokens_details", "input_tokens_details")


def provider_of(model: str | None) -> str:
    """The provider in `provider:model`."""
    return (model or "").partition(":")[0]


def is_of(message: Message, provider: str | None, model: str) -> bool:
    """Whether a turn is one of this very model: what it thought goes to no other.

    Args:
        message: the turn; one that says no model is anybody's.
        provider: that of the model; None: any.
        model: as the provider calls it.
    """
    said_by, _, named = (message.model or "").partition(":")
    return not named or (named == model and provider in (None, said_by))


def no_answer(provider: str, why: str) -> ModelError:
    """What came is JSON, but no answer of this API."""
    return ModelError(
        ErrorCode.UPSTREAM_ERROR,
        f"{provider} sent what is not an answer: {why}; check the base_url, or ask again",
        provider=provider,
        reason="no_json",
    )


def cleaned(text: str) -> str:
    """The same text, where UTF-8 can carry it; half characters are replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def usage_of(value: Any) -> Usage:
    """Tokens as a server counts them; what it does not count, or counts in some other way, is 0.

    DeepSeek counts cached ones as `prompt_cache_hit_tokens`, Kimi as `cached_tokens`.
    """
    if not isinstance(value, dict):
        return Usage()
    details: dict[str, Any] = next((value[key] for key in _DETAILS if isinstance(value.get(key), dict)), {})
    cached = (details.get("cached_tokens"), value.get("prompt_cache_hit_tokens"), value.get("cached_tokens"))
    return Usage(
        max(tokens_of(value.get(key)) for key in _INPUT),
        max(tokens_of(value.get(key)) for key in _OUTPUT),
        max(map(tokens_of, cached)),
    )
